// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/text_format.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "src/base/utf8.h"

namespace lens::cli {
namespace {

constexpr std::string_view indent = "  ", gap = "  ";
constexpr std::size_t min_first_column = 16;

std::string three_digits(double value, std::string_view unit) {
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, unit);
}

// The end of a span's name tells more than its middle does. Names are ASCII in practice; others are left whole.
std::string shortened(const std::string& text, std::size_t width) {
  if (text.size() <= width || display_width(text) != text.size()) return text;
  std::size_t tail = (width - 1) * 2 / 3, head = width - 1 - tail;
  return text.substr(0, head) + "…" + text.substr(text.size() - tail);
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

}  // namespace

std::string format_duration(std::uint64_t ns) {
  auto value = static_cast<double>(ns);
  if (ns < 1000) return fmt::format("{} ns", ns);
  if (value < 999.5e3) return three_digits(value / 1e3, "µs");
  if (value < 999.5e6) return three_digits(value / 1e6, "ms");
  if (value < 600e9) return three_digits(value / 1e9, "s");
  std::uint64_t minutes = ns / 60'000'000'000;
  if (minutes < 600) return fmt::format("{} min {} s", minutes, ns / 1'000'000'000 % 60);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string format_count(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string result;
  const std::string repaired = base::repaired_utf8(text);
  for (std::size_t i = 0; i < repaired.size(); ++i) {
    const auto byte = static_cast<unsigned char>(repaired[i]);
    // U+0080 to U+009F, which some terminals take for the escape sequences they are short for.
    const bool is_long_control = byte == 0xc2 && static_cast<unsigned char>(repaired[i + 1]) < 0xa0;
    if (byte >= 0x20 && byte != 0x7f && !is_long_control)
      result += repaired[i];
    else
      result += replacement;
    if (is_long_control) ++i;
  }
  return result;
}

std::size_t terminal_width(int fd) {
  winsize size{};
  return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::size_t total = indent.size() + std::accumulate(widths.begin(), widths.end(), gap.size() * (widths.size() - 1));
  if (width != 0 && total > width) {
    std::size_t excess = std::min(total - width, widths[0] - std::min(widths[0], min_first_column));
    widths[0] -= excess;
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string cell = i == 0 ? shortened(row[i], widths[0]) : row[i];
      std::string padding = spaces(widths[i] - std::min(widths[i], display_width(cell)));
      line += i == 0 ? cell + padding : std::string(gap) + padding + cell;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace lens::cli
