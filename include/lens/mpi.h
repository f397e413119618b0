// SPDX-License-Identifier: Apache-2.0
// An MPI communicator as a communicator of trace contexts.
// Include it in programs that link MPI, which the library itself does not; `lens::broadcast_trace_context` takes what
// it defines.
//
// Threads:   as MPI was initialised for; one broadcast at a time.
// Ownership: a duplicate of the communicator, so that no other message is taken for a context. Making it is collective.
// Errors:    std::runtime_error with MPI's own text, or naming the ranks that did not come within the limit. After
//            that it is of no more use: each further broadcast throws at once.
// Cost:      a message from the source to each other rank: all wait for the source, and it waits for none of them.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lens {

class MpiCommunicator {
 public:
  explicit MpiCommunicator(MPI_Comm communicator, std::chrono::milliseconds limit = std::chrono::seconds(60))
      : limit_(limit) {
    check(MPI_Comm_dup(communicator, &communicator_));
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
  }

  ~MpiCommunicator() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && !failed_) MPI_Comm_free(&communicator_);
  }

  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void broadcast(std::span<std::byte> bytes, int source) {
    if (failed_) throw std::runtime_error("an earlier broadcast in this MPI communicator failed");
    failed_ = true;  // unless it ends well
    if (rank_ == source)
      send(bytes);
    else
      receive(bytes, source);
    failed_ = false;
  }

 private:
  static void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw std::runtime_error("MPI: " + std::string(text, static_cast<std::size_t>(length)));
  }

  // MPI's own collectives can be neither timed nor cancelled, and do not tell who is missing: so one message each.
  void send(std::span<const std::byte> bytes) {
    // A message that nobody takes is MPI's for good, and so are its bytes.
    auto sent = std::make_unique<std::vector<std::byte>>(bytes.begin(), bytes.end());
    std::vector<MPI_Request> requests(static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      check(MPI_Isend(sent->data(), static_cast<int>(sent->size()), MPI_BYTE, peer, tag, communicator_,
                      &requests[static_cast<std::size_t>(peer)]));
    }
    if (wait([&](int& done) { return MPI_Testall(size_, requests.data(), &done, MPI_STATUSES_IGNORE); })) return;
    static_cast<void>(sent.release());
    std::string missing;
    for (int peer = 0; peer < size_; ++peer) {
      int done = 0;
      check(MPI_Test(&requests[static_cast<std::size_t>(peer)], &done, MPI_STATUS_IGNORE));
      if (!done) missing += (missing.empty() ? "" : ", ") + std::to_string(peer);
    }
    throw std::runtime_error("rank " + missing + " did not come to the broadcast of rank " + std::to_string(rank_) +
                             within());
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
};

}  // namespace lens
