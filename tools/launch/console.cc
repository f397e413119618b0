// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/console.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace lens::launch {
namespace {

constexpr std::string_view clear_line = "\r\x1b[K";
constexpr std::chrono::seconds plain_line_interval{5};

}  // namespace

Console::Console(int output, int errors) : output_(output), errors_(errors), is_terminal_(isatty(errors) == 1) {}

void Console::print_rank_line(int rank, bool is_error, std::string_view line) {
  std::string text = fmt::format("[{}] {}\n", rank, line);
  if (is_terminal_ && !progress_.empty()) write(errors_, clear_line);
  write(is_error ? errors_ : output_, text);
  if (is_terminal_ && !progress_.empty()) write(errors_, drawn());
}

void Console::print_message(std::string_view message) {
  if (is_terminal_ && !progress_.empty()) write(errors_, clear_line);
  write(errors_, fmt::format("lens: {}\n", message));
  if (is_terminal_ && !progress_.empty()) write(errors_, drawn());
}

void Console::show_progress(const std::string& text) {
  if (text.empty() || text == progress_) return;
  auto now = std::chrono::steady_clock::now();
  if (is_terminal_) {
    progress_ = text;
    write(errors_, std::string(clear_line) + drawn());
  } else if (now >= next_plain_line_) {
    progress_ = text;
    next_plain_line_ = now + plain_line_interval;
    write(errors_, fmt::format("lens: {}\n", text));
  }
}

void Console::end_progress(const std::string& text) {
  if (is_terminal_) {
    if (!progress_.empty()) write(errors_, clear_line);
    progress_.clear();
  } else {
    next_plain_line_ = {};
    show_progress(text);
  }
}

// Lines wrap off while it is drawn: one that is longer than the terminal is wide could not be cleared again.
std::string Console::drawn() const { return "\x1b[?7l" + progress_ + "\x1b[?7h"; }

void Console::write(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // a terminal that another program made non-blocking
      pollfd writable{fd, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace lens::launch
