// SPDX-License-Identifier: Apache-2.0
#include "tests/export/http2_peer.h"

#include <poll.h>

#include <map>

namespace lens::tests {
namespace {

enum FrameType : unsigned char {
  data_type = 0,
  headers_type = 1,
  reset_type = 3,
  settings_type = 4,
  ping_type = 6,
  go_away_type = 7,
  window_type = 8
};

constexpr unsigned char end_of_stream = 1, acknowledgement = 1, end_of_headers = 4;
constexpr std::uint32_t no_error = 0, refused_stream_error = 7;
constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t frame_head_bytes = 9;

std::string big_endian(std::uint32_t value, int bytes = 4) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> 8 * bytes);
  return text;
}

std::uint32_t number_in(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

std::string frame(FrameType type, unsigned char flags, std::uint32_t stream, std::string_view payload = {}) {
  return big_endian(static_cast<std::uint32_t>(payload.size()), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + big_endian(stream) + std::string(payload);
}

/// HPACK's literal that enters no table; names and values are shorter than 127 bytes.
std::string field(std::string_view name, std::string_view value) {
  std::string encoded(1, '\0');
  for (const std::string_view text : {name, value}) encoded += static_cast<char>(text.size()) + std::string(text);
  return encoded;
}

/// What has come of one connection, and is not read yet.
class Input {
 public:
  Input(int socket, const std::atomic<bool>& stop) : socket_(socket), stop_(stop) {}

  /// Empty: there will be no more.
  std::string take(std::size_t size) {
    while (bytes_.size() < size)
      if (!receive()) return {};
    const std::string taken = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return taken;
  }

 private:
  bool receive() {
    pollfd readable{socket_, POLLIN, 0};
    while (!stop_)
      if (poll(&readable, 1, 20) > 0) {
        char buffer[16 << 10];
        const ssize_t size = recv(socket_, buffer, sizeof buffer, 0);
        if (size <= 0) return false;
        bytes_.append(buffer, static_cast<std::size_t>(size));
        return true;
      }
    return false;
  }

  int socket_;
  const std::atomic<bool>& stop_;
  std::string bytes_;
};

}  // namespace

namespace http2 {

std::string response_headers(std::uint32_t stream) {
  constexpr char status_200 = '\x88';  // of HPACK's static table
  return frame(headers_type, end_of_headers, stream, status_200 + field("content-type", "application/grpc"));
}

std::string data(std::uint32_t stream, std::string_view bytes) { return frame(data_type, 0, stream, bytes); }

std::string trailers(std::uint32_t stream, Fields fields) {
  std::string block;
  for (const auto& [name, value] : fields) block += field(name, value);
  return frame(headers_type, end_of_headers | end_of_stream, stream, block);
}

std::string go_away(std::uint32_t last_stream) {
  return frame(go_away_type, 0, 0, big_endian(last_stream) + big_endian(no_error));
}

std::string refused_stream(std::uint32_t stream) {
  return frame(reset_type, 0, stream, big_endian(refused_stream_error));
}

}  // namespace http2

void Http2Peer::serve(int client, const std::atomic<bool>& stop) {
  Input input(client, stop);
  if (input.take(preface.size()) != preface || !send_all(client, frame(settings_type, 0, 0))) return;
  std::map<std::uint32_t, std::string> bodies;
  for (;;) {
    const std::string head = input.take(frame_head_bytes);
    if (head.empty()) return;
    const std::uint32_t size = number_in(head.substr(0, 3)), stream = number_in(head.substr(5));
    const unsigned type = number_in(head.substr(3, 1)), flags = number_in(head.substr(4, 1));
    const std::string payload = input.take(size);
    if (payload.size() != size) return;
    if (type == settings_type && !(flags & acknowledgement)) send_all(client, frame(settings_type, acknowledgement, 0));
    if (type == ping_type && !(flags & acknowledgement))
      send_all(client, frame(ping_type, acknowledgement, 0, payload));
    if (type == data_type && size > 0)
      for (const std::uint32_t window : {0u, stream}) send_all(client, frame(window_type, 0, window, big_endian(size)));
    if (type == data_type) bodies[stream] += payload;
    if (type != data_type || !(flags & end_of_stream)) continue;
    {
      std::lock_guard lock(mutex_);
      bodies_.push_back(std::move(bodies[stream]));
    }
    const Answer answer = script_(requests_++, stream);
    if (!send_all(client, answer.frames)) return;
    if (!answer.closes) continue;
    // In order: whoever closes on what it has not read resets the connection, and may take back what it has sent.
    shutdown(client, SHUT_WR);
    while (!input.take(1).empty()) {
    }
    return;
  }
}

}  // namespace lens::tests
