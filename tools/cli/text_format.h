// SPDX-License-Identifier: Apache-2.0
// Numbers and columns as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lens::cli {

/// Three significant digits and a unit: "512 ns", "1.23 µs", "45.6 ms", "7.89 s", "12 min 30 s".
std::string format_duration(std::uint64_t ns);

/// "1,234,567".
std::string format_count(std::uint64_t count);

/// "1 span", "1,234 spans".
std::string format_count(std::uint64_t count, std::string_view noun);

/// "512 B", "1.2 KiB", "3.4 MiB".
std::string format_bytes(std::uint64_t bytes);

/// Words, and "and" before the last.
std::string format_list(const std::vector<std::string>& words);

/// Text of a program that was traced, for a terminal or a log: control characters, which would move the cursor or end
/// the line, and bytes that are no UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// The width of the terminal behind a file descriptor; 0 when it is none, and lines may be as long as they like.
std::size_t terminal_width(int fd);

/// How many columns UTF-8 text takes (of letters that are one column wide).
std::size_t display_width(std::string_view text);

/// Rows of cells, made printable, in aligned columns; the first is aligned left, the others right, as numbers are.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row);

  /// With `width` (0: no limit) the first column is shortened in its middle until the lines fit.
  std::string text(std::size_t width = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lens::cli
