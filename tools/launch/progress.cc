// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/progress.h"

#include <charconv>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "src/base/text.h"

namespace lens::launch {
namespace {

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
    for (trace::RingFile& file : trace::find_ring_files(shm_dir_, run_id_)) {
      Rank& rank = ranks_[file.path()];
      if (!rank.rings) rank.rings.emplace(std::move(file));
    }
  }
  if (ranks_.empty()) return std::nullopt;
  SpanCounts sum;
  for (auto& [path, rank] : ranks_) {
    if (rank.rings) {
      const trace::RingFileFacts facts = rank.rings->read_facts();
      rank.counts = {facts.spans_recorded, facts.spans_dropped};
      if (facts.state == record::FileState::closed) rank.rings.reset();
    }
    sum.recorded += rank.counts.recorded;
    sum.dropped += rank.counts.dropped;
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
    parts.push_back(fmt::format("{}, {} dropped", base::counted(spans->recorded, "span"), spans->dropped));
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace lens::launch
