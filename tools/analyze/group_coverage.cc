// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/group_coverage.h"

#include <algorithm>
#include <map>
#include <set>

#include "lens/megatron.h"
#include "tools/analyze/group_spans.h"

namespace lens::analyze {
namespace {

struct NameCounts : trace::TraceVisitor {
  void on_resource(trace::Encoded) override {}
  void on_span(const trace::Span& span) override {
    const auto found = counts.find(span.name);
    ++(found != counts.end() ? found->second : counts[std::string(span.name)]);
  }
  std::map<std::string, std::uint64_t, std::less<>> counts;
};

using Names = std::set<std::string, std::less<>>;

struct Told {
  Names enabled, hit;
  bool is_complete = false;  // every process of the trace says which groups had spans
};

Told told_by_processes(const trace::Trace& trace) {
  Told told;
  Names processes;
  for (const trace::Status& status : trace.statuses) {
    if (!status.groups) continue;
    processes.insert(status.process);
    told.hit.insert(status.groups->with_spans.begin(), status.groups->with_spans.end());
    told.enabled.insert(status.groups->without_spans.begin(), status.groups->without_spans.end());
  }
  told.enabled.insert(told.hit.begin(), told.hit.end());
  const auto is_told = [&](const auto& file) { return processes.contains(trace::process_of(file)); };
  told.is_complete = !processes.empty() && std::ranges::all_of(trace.files, is_told);
  return told;
}

}  // namespace

GroupCoverage group_coverage(const trace::Trace& trace, const std::string& spec, const Vocabulary& vocabulary) {
  GroupCoverage coverage;
  NameCounts names;
  coverage.problems = trace::read_spans(trace, names).problems;
  Told told = told_by_processes(trace);
  std::uint64_t known = 0;
  for (const GroupSpan& entry : group_spans()) {
    const auto found = names.counts.find(entry.span);
    if (found == names.counts.end()) continue;
    told.hit.emplace(entry.group);
    known += found->second;
  }
  for (const auto& [name, count] : names.counts) coverage.span_count += count;
  coverage.other_span_count = coverage.span_count - known;
  if (trace.run) coverage.spec = trace.run->span_groups;
  if (!told.is_complete) {
    if (coverage.spec.empty()) coverage.spec = spec;
    const Vocabulary& words = known > 0 ? MegatronSpanGroup::vocabulary() : vocabulary;
    for (const std::string& group : words.resolve(coverage.spec)) told.enabled.insert(group);
  }
  const bool is_told = told.is_complete || coverage.other_span_count == 0;
  for (const std::string& group : told.enabled)
    (told.hit.contains(group) ? coverage.hit : is_told ? coverage.never_hit : coverage.unknown).push_back(group);
  return coverage;
}

}  // namespace lens::analyze
