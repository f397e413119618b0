// SPDX-License-Identifier: Apache-2.0
// An MPI communicator as a communicator of trace contexts.
// Include it in programs that link MPI, which the library itself does not; `lens::broadcast_trace_context` takes what
// it defines.
//
// Threads:   as MPI was initialised for; one broadcast at a time.
// Ownership: a duplicate of the communicator, so that no other message is taken for a context. Making it is collective.
//            The limit does not cover that: a rank that never makes it keeps all others waiting.
// Errors:    std::runtime_error with MPI's own text, or naming the ranks that did not come within the limit. A source
//            serves the others all the same, and names who is missing until it has come. A rank whose source did not
//            come takes nothing more from that one, and repeats the error: what comes late is of another step.
// Cost:      a message from the source to each other rank: all wait for the source, and it waits for none of them
//            before it has sent its next one. There it waits, half of the limit at most, for who did not come to this
//            one; for who did not come to the last, in `finish`.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lens/propagation.h"
#include "lens/time_limit.h"

namespace lens {

class MpiCommunicator : public PutBack {
 public:
  explicit MpiCommunicator(MPI_Comm communicator, std::chrono::milliseconds limit = std::chrono::seconds(60))
      : limit_(detail::bounded(limit)) {
    check(MPI_Comm_dup(communicator, &communicator_));
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
    receivers_.resize(static_cast<std::size_t>(size_));
  }

  ~MpiCommunicator() {
    if (is_finalized()) return;
    bool all_come = failures_.empty();
    for (Receiver& receiver : receivers_) {
      all_come = all_come && !receiver.is_missing;
      for (Sent& sent : receiver.outstanding) abandon(sent);
    }
    if (all_come) MPI_Comm_free(&communicator_);  // a collective, in theory
  }

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void broadcast(std::span<std::byte> bytes, int source) {
    if (source < 0 || source >= size_)
      throw std::invalid_argument("there is no rank " + std::to_string(source) + " in this MPI communicator");
    if (take(bytes, source)) return;
    if (rank_ == source)
      send(bytes);
    else
      receive(bytes, source);
  }

  /// Where the job ends, before MPI_Finalize: waits for those who have not come to this rank's last broadcast, and
  /// throws naming them, unless that was said before. Not a collective; on ranks that were no source, and after
  /// MPI_Finalize, it does nothing. Who goes on with broadcasts after it threw finds the others there.
  void finish() {
    if (is_finalized()) return;
    if (settle_all_but(0, limit_)) raise_missing(limit_);
  }

 private:
  static void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::runtime_error("MPI: " + std::string(text, static_cast<std::size_t>(length)));
  }

  static bool is_finalized() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized != 0;
  }

  struct Sent {
    std::shared_ptr<const std::vector<std::byte>> bytes;  // the same for all receivers
    MPI_Request request = MPI_REQUEST_NULL;
  };

  struct Receiver {
    std::deque<Sent> outstanding;  // in the order in which it takes them: the last one, and one before when it is late
    bool is_missing = false;       // has been named; until it has taken all that is outstanding
  };

  // MPI's own collectives can be neither timed nor cancelled, and do not tell who is missing: so one message each, of
  // the kind that is done when its receiver has come. They are on their way before anybody is waited for: the others
  // must not miss the source because the source misses one of them. Who is missing gets no more of them to keep.
  void send(std::span<const std::byte> bytes) {
    const auto message = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    for (int peer = 0; peer < size_; ++peer) {
      Receiver& receiver = receivers_[static_cast<std::size_t>(peer)];
      if (peer == rank_ || (receiver.is_missing && !has_taken_all_but(0, receiver))) continue;
      receiver.is_missing = false;
      Sent& sent = receiver.outstanding.emplace_back(Sent{.bytes = message});
      check(MPI_Issend(message->data(), static_cast<int>(message->size()), MPI_BYTE, peer, tag, communicator_,
                       &sent.request));
    }
    // Those who wait for the next one meanwhile have the whole limit, and must not find the source missing.
    settle_all_but(1, limit_ / 2);
    raise_missing(limit_ / 2);
  }

  static bool has_taken_all_but(std::size_t latest, Receiver& receiver) {
    for (int done = 0; receiver.outstanding.size() > latest; receiver.outstanding.pop_front()) {
      check(MPI_Test(&receiver.outstanding.front().request, &done, MPI_STATUS_IGNORE));
      if (!done) return false;
    }
    return true;
  }

  /// Waits for those who have not come to this rank's broadcasts; whether it finds somebody missing who was not before.
  bool settle_all_but(std::size_t latest, std::chrono::milliseconds limit) {
    const auto is_late = [&](Receiver& receiver) {
      return !receiver.is_missing && !has_taken_all_but(latest, receiver);
    };
    if (wait(limit, [&] { return std::ranges::none_of(receivers_, is_late); })) return false;
    bool found = false;
    for (Receiver& receiver : receivers_)
      if (is_late(receiver)) receiver.is_missing = found = true;
    return found;
  }

  void raise_missing(std::chrono::milliseconds limit) const {
    std::string missing;
    for (int peer = 0; peer < size_; ++peer)
      if (receivers_[static_cast<std::size_t>(peer)].is_missing) missing += (missing.empty() ? "" : ", ") + name(peer);
    if (!missing.empty())
      throw std::runtime_error(missing + " did not come to the broadcast of " + name(rank_) + within(limit));
  }

  // Who has not taken it yet may still do so: its bytes are MPI's from here on.
  static void abandon(Sent& sent) {
    int done = 0;
    MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    if (done || sent.request == MPI_REQUEST_NULL) return;
    MPI_Request_free(&sent.request);
    static_cast<void>(new auto(std::move(sent.bytes)));
  }

  void receive(std::span<std::byte> bytes, int source) {
    if (const auto failure = failures_.find(source); failure != failures_.end())
      throw std::runtime_error("an earlier broadcast in this MPI communicator failed: " + failure->second);
    try {
      receive_within_limit(bytes, source);
    } catch (const std::exception& error) {
      failures_[source] = error.what();
      throw;
    }
  }

  void receive_within_limit(std::span<std::byte> bytes, int source) {
    MPI_Request request;
    check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, source, tag, communicator_, &request));
    const auto has_come = [&] {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
      return done != 0;
    };
    if (wait(limit_, has_come)) return;
    MPI_Status status;
    int cancelled = 0;
    check(MPI_Cancel(&request));
    check(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled) throw std::runtime_error(name(source) + " did not come to its broadcast" + within(limit_));
  }

  /// Asks until it is so; false when the limit has passed.
  template <class Condition>
  static bool wait(std::chrono::milliseconds limit, const Condition& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;; std::this_thread::yield()) {
      if (is_so()) return true;
      if (std::chrono::steady_clock::now() >= deadline) return false;
    }
  }

  /// Of a rank of this communicator, with its number in the job where that is another.
  std::string name(int rank) const {
    MPI_Group here = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int world_rank = MPI_UNDEFINED;
    MPI_Comm_group(communicator_, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(here, 1, &rank, world, &world_rank);
    MPI_Group_free(&here);
    MPI_Group_free(&world);
    const std::string number = "rank " + std::to_string(rank);
    if (world_rank == rank) return number;
    if (world_rank == MPI_UNDEFINED) return number + " of the communicator";
    return number + " of the communicator (rank " + std::to_string(world_rank) + " of MPI_COMM_WORLD)";
  }

  static std::string within(std::chrono::milliseconds limit) {
    return " within " + std::to_string(limit.count()) + " ms";
  }

  static constexpr int tag = 0;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::chrono::milliseconds limit_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<Receiver> receivers_;      // of this rank's messages, by rank
  std::map<int, std::string> failures_;  // by source: what went wrong first
};

}  // namespace lens
