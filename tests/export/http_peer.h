// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server on loopback that does what a test tells it, faults of all kinds included.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lens::tests {

struct HttpRequest {
  std::string method, path;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

/// What is answered: bytes as they are, then perhaps a fault.
struct Answer {
  std::string bytes = {};
  enum class Then { keep_alive, close, reset, hang } then = Then::keep_alive;
  std::size_t repeated = 1;  // the bytes of `tail` so many times behind `bytes`
  std::string tail = {};
  bool before_body = false;  // does not read the request's body first
  std::chrono::milliseconds after{0};
};

Answer answer(int status, const std::string& body = {}, const std::string& headers = {});
inline Answer accept_all(int, const HttpRequest&) { return answer(200); }
inline Answer reset() { return {.then = Answer::Then::reset}; }
inline Answer hang() { return {.then = Answer::Then::hang}; }

class HttpPeer {
 public:
  /// Called for each request, one at a time, with its number from 0.
  using Script = std::function<Answer(int number, const HttpRequest& request)>;

  /// Port 0: any that is free. A path instead listens on a Unix socket.
  explicit HttpPeer(Script script, int port = 0, const std::string& unix_path = {});
  ~HttpPeer();

  int port() const noexcept { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<HttpRequest> requests() const;
  int connections() const noexcept { return connections_; }
  /// Of requests that had come and were not answered, as many as there ever were in one moment.
  int most_at_once() const noexcept { return most_at_once_; }

 private:
  void accept_all();
  void serve(int socket);
  void begin_request();
  bool respond(int socket, const Answer& answer);

  Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<int> at_once_{0}, most_at_once_{0};
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  int begun_ = 0;                        // requests whose head has come
  std::map<int, HttpRequest> requests_;  // that have come whole, by number
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace lens::tests
