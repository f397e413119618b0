// SPDX-License-Identifier: Apache-2.0
// An MPI communicator as a communicator of trace contexts.
// Include it in programs that link MPI, which the library itself does not; `lens::broadcast_trace_context` takes what
// it defines.
//
// Threads:   as MPI was initialised for; one broadcast at a time.
// Ownership: a duplicate of the communicator, so that no other message is taken for a context. Making it is collective.
//            The limit does not cover that: a rank that never makes it keeps all others waiting.
// Errors:    std::runtime_error with MPI's own text, or naming the ranks that did not come within the limit. After one
//            from a broadcast it is of no more use: each further broadcast throws at once.
// Cost:      a message from the source to each other rank: all wait for the source, and it waits for none of them
//            before it has sent its next one. There it learns who did not come to this one; of the last, in `finish`.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <deque>
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
  }

  ~MpiCommunicator() {
    if (is_finalized()) return;
    abandon_all();
    if (!failed_ && !missed_) MPI_Comm_free(&communicator_);
  }

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void broadcast(std::span<std::byte> bytes, int source) {
    if (source < 0 || source >= size_)
      throw std::invalid_argument("there is no rank " + std::to_string(source) + " in this MPI communicator");
    if (failed_) throw std::runtime_error("an earlier broadcast in this MPI communicator failed");
    if (take(bytes, source)) return;
    failed_ = true;  // unless it ends well
    if (rank_ == source)
      send(bytes);
    else
      receive(bytes, source);
    failed_ = false;
  }

  /// Where the job ends, before MPI_Finalize: waits for those who have not come to this rank's last broadcast, and
  /// throws naming them. Not a collective; on ranks that were no source, and after MPI_Finalize, it does nothing. Who
  /// goes on with broadcasts after it threw finds the others there.
  void finish() {
    if (failed_ || sent_.empty() || is_finalized()) return;  // a failure was told
    try {
      settle_all_but(0);
    } catch (...) {
      missed_ = true;
      abandon_all();
      throw;
    }
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

  struct Message {
    std::vector<std::byte> bytes;
    std::vector<MPI_Request> requests;  // by receiver
  };

  // MPI's own collectives can be neither timed nor cancelled, and do not tell who is missing: so one message each, of
  // the kind that is done when its receiver has come. They are on their way before anybody is waited for: the others
  // must not miss the source because the source misses one of them.
  void send(std::span<const std::byte> bytes) {
    Message& message = sent_.emplace_back();
    message.bytes.assign(bytes.begin(), bytes.end());
    message.requests.assign(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      check(MPI_Issend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, peer, tag, communicator_,
                       &message.requests[static_cast<std::size_t>(peer)]));
    }
    settle_all_but(1);
  }

  void settle_all_but(std::size_t latest) {
    for (; sent_.size() > latest; sent_.pop_front()) settle(sent_.front());
  }

  /// Waits for those who have not come to this rank's broadcast before.
  void settle(Message& message) const {
    auto& requests = message.requests;
    const int count = static_cast<int>(requests.size());
    if (wait([&](int& done) { return MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE); })) return;
    std::string missing;
    for (int peer = 0; peer < size_; ++peer) {
      int done = 0;
      check(MPI_Test(&requests[static_cast<std::size_t>(peer)], &done, MPI_STATUS_IGNORE));
      if (!done) missing += (missing.empty() ? "" : ", ") + std::to_string(peer);
    }
    throw std::runtime_error("rank " + missing + " did not come to the broadcast of rank " + std::to_string(rank_) +
                             within());
  }

  // Who has not taken it yet may still do so: its bytes are MPI's from here on.
  static void abandon(Message& message) {
    int done = 0;
    MPI_Testall(static_cast<int>(message.requests.size()), message.requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done) return;
    for (MPI_Request& request : message.requests)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    static_cast<void>(new std::vector<std::byte>(std::move(message.bytes)));
  }

  void abandon_all() {
    for (Message& message : sent_) abandon(message);
    sent_.clear();
  }

  void receive(std::span<std::byte> bytes, int source) {
    MPI_Request request;
    check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, source, tag, communicator_, &request));
    if (wait([&](int& done) { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); })) return;
    MPI_Status status;
    int cancelled = 0;
    check(MPI_Cancel(&request));
    check(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled)
      throw std::runtime_error("rank " + std::to_string(source) + " did not come to its broadcast" + within());
  }

  /// Asks until it is done; false when the limit has passed.
  template <class Test>
  bool wait(const Test& test) const {
    const auto deadline = std::chrono::steady_clock::now() + limit_;
    for (int done = 0;; std::this_thread::yield()) {
      check(test(done));
      if (done) return true;
      if (std::chrono::steady_clock::now() >= deadline) return false;
    }
  }

  std::string within() const { return " within " + std::to_string(limit_.count()) + " ms"; }

  static constexpr int tag = 0;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::chrono::milliseconds limit_;
  int rank_ = 0;
  int size_ = 0;
  bool failed_ = false;
  bool missed_ = false;       // a rank that may not have the communicator any more, or still wait in it
  std::deque<Message> sent_;  // from here: the last one, and before it those that a rank did not come to
};

}  // namespace lens
