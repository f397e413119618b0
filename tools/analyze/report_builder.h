// SPDX-License-Identifier: Apache-2.0
// Collects a report's findings span by span; memory grows with the number of names and processes only.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/analyze/nesting.h"
#include "tools/analyze/quantiles.h"
#include "tools/analyze/report.h"
#include "tools/trace/trace.h"

namespace lens::analyze {

class ReportBuilder : public trace::TraceVisitor {
 public:
  explicit ReportBuilder(std::string step_span) : step_span_(std::move(step_span)) {}

  void on_resource(trace::Encoded attributes) override;
  void on_span(const trace::Span& span) override;

  /// The findings of what was visited.
  Report finish() const;

 private:
  struct Process {
    std::optional<int> rank;
    Nesting nesting;
  };
  struct RankTime {
    std::uint64_t count = 0, total_ns = 0;
  };
  struct Steps {
    std::uint64_t worst_ns = 0;
    std::optional<std::int64_t> worst_iteration;
    std::optional<int> worst_rank;
    CategoryTimes split_ns{};
  };
  struct Name {
    std::string text;
    Category category;
    int step_preference;
    std::uint64_t total_ns = 0, self_ns = 0;
    Quantiles durations;
    std::map<int, RankTime> ranks;
    Steps steps;
    int last_rank = -1;  // most spans follow one of the same rank: its entry is kept at hand
    RankTime* last_rank_time = nullptr;
  };

  Name& name_of(std::string_view text);
  void count_rank(Name& name, std::uint64_t duration_ns);
  void count_step(Steps& steps, const trace::Span& span, const CategoryTimes& split, std::uint64_t duration_ns);
  NameRow row_of(const Name& name) const;
  std::optional<StepTime> step_time() const;

  std::string step_span_;
  RunFacts run_;
  std::uint64_t truncated_count_ = 0;
  std::unordered_map<std::string, Process> processes_;
  Process* process_ = nullptr;  // whose spans are being visited
  std::deque<Name> names_;      // a deque, so that the index may point into it
  std::unordered_map<std::string_view, Name*> index_;
};

}  // namespace lens::analyze
