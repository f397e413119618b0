// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/group_coverage.h"

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

}  // namespace

GroupCoverage group_coverage(const trace::Trace& trace, const std::string& spec, const Vocabulary& vocabulary) {
  GroupCoverage coverage;
  NameCounts names;
  coverage.problems = trace::read_spans(trace, names).problems;
  std::set<std::string, std::less<>> hit;
  std::uint64_t known = 0;
  for (const GroupSpan& entry : group_spans()) {
    const auto found = names.counts.find(entry.span);
    if (found == names.counts.end()) continue;
    hit.emplace(entry.group);
    known += found->second;
  }
  for (const auto& [name, count] : names.counts) coverage.span_count += count;
  coverage.other_span_count = coverage.span_count - known;
  coverage.spec = trace.run && !trace.run->span_groups.empty() ? trace.run->span_groups : spec;
  const Vocabulary& known_words = known > 0 ? MegatronSpanGroup::vocabulary() : vocabulary;
  for (const std::string& group : known_words.resolve(coverage.spec))
    (hit.contains(group) ? coverage.hit : coverage.never_hit).push_back(group);
  return coverage;
}

}  // namespace lens::analyze
