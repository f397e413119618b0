// SPDX-License-Identifier: Apache-2.0
// What the user sees of a run: the ranks' lines, each with its rank, and how far the run is. On a terminal the progress
// is one line that stays at the bottom; elsewhere it is a plain line now and then.
//
// Errors: none. A reader that went away (a closed pipe) must not end a training run.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace lens::launch {

class Console {
 public:
  /// Lines of the ranks go to the descriptor of their own stream; progress and messages go to `errors`.
  Console(int output, int errors);

  void print_rank_line(int rank, bool is_error, std::string_view line);
  void print_message(std::string_view message);
  /// To be called often; a plain line is printed every five seconds at most, and only if it is news.
  void show_progress(const std::string& text);
  /// Takes the line at the bottom away, or prints the last plain line.
  void end_progress(const std::string& text);

 private:
  void write(int fd, std::string_view text);
  std::string drawn() const;

  int output_, errors_;
  bool is_terminal_;
  std::string progress_;
  std::chrono::steady_clock::time_point next_plain_line_{};
};

}  // namespace lens::launch
