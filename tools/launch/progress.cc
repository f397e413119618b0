// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/progress.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "src/base/text.h"
#include "src/record/layout.h"

namespace lens::launch {
namespace {

namespace fs = std::filesystem;

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  text = base::trim(text);
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Iteration> parse_position(std::string_view field) {
  auto slash = field.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto number = parse_number<std::int64_t>(field.substr(0, slash));
  auto total = parse_number<std::int64_t>(field.substr(slash + 1));
  if (!number || !total) return std::nullopt;
  return Iteration{.number = *number, .total = *total};
}

// Only the header is read, and by value: a mapping would fault when the file shrinks under it.
std::optional<SpanCounts> read_counts(const fs::path& file, const std::string& run_id) {
  alignas(record::FileHeader) char bytes[sizeof(record::FileHeader)];
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(bytes, sizeof bytes)) return std::nullopt;
  const auto& header = *reinterpret_cast<const record::FileHeader*>(bytes);
  bool is_ours = std::memcmp(header.magic, record::layout_magic, sizeof header.magic) == 0 &&
                 header.version == record::layout_version &&
                 run_id == std::string_view(header.run_id, strnlen(header.run_id, sizeof header.run_id));
  if (!is_ours) return std::nullopt;
  // Relaxed: a copy of a number that only grows.
  return SpanCounts{header.counters.spans_recorded.load(std::memory_order_relaxed),
                    header.counters.spans_dropped.load(std::memory_order_relaxed)};
}

}  // namespace

std::optional<Iteration> parse_iteration(std::string_view line) {
  auto start = line.find("iteration ");
  if (start == std::string_view::npos || line.find('|') == std::string_view::npos) return std::nullopt;
  auto fields = base::split(line.substr(start + std::strlen("iteration ")), '|');
  std::optional<Iteration> iteration = parse_position(fields.front());
  if (!iteration) return std::nullopt;
  for (std::string_view field : fields) {
    auto colon = field.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = base::trim(field.substr(0, colon));
    if (name == "elapsed time per iteration (ms)")
      iteration->step_time_ms = parse_number<double>(field.substr(colon + 1));
    if (name == "lm loss" || name == "loss") iteration->loss = parse_number<double>(field.substr(colon + 1));
  }
  return iteration;
}

std::optional<SpanCounts> SharedCounters::read() {
  if (!shm_dir_.empty()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(shm_dir_, ignored)) {
      if (auto counts = read_counts(entry.path(), run_id_)) files_[entry.path()] = *counts;
    }
  }
  if (files_.empty()) return std::nullopt;
  SpanCounts sum;
  for (const auto& [file, counts] : files_) {
    sum.recorded += counts.recorded;
    sum.dropped += counts.dropped;
  }
  return sum;
}

std::string progress_text(const std::optional<Iteration>& iteration, const std::optional<SpanCounts>& spans) {
  std::vector<std::string> parts;
  if (iteration) {
    parts.push_back(fmt::format("iteration {}/{}", iteration->number, iteration->total));
    if (iteration->step_time_ms) parts.push_back(fmt::format("{:.4g} ms a step", *iteration->step_time_ms));
    if (iteration->loss) parts.push_back(fmt::format("loss {:.4g}", *iteration->loss));
  }
  bool has_begun = spans && (iteration || spans->recorded > 0 || spans->dropped > 0);
  if (has_begun) {
    parts.push_back(fmt::format("{} spans, {} dropped", spans->recorded, spans->dropped));
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace lens::launch
