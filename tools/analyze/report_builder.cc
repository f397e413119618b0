// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/report_builder.h"

#include <algorithm>
#include <cstring>

namespace lens::analyze {
namespace {

using trace::AttributeValue;

std::optional<std::int64_t> find_integer(trace::Encoded attributes, std::string_view key) {
  auto value = trace::find_attribute(attributes, key);
  if (!value || value->kind != AttributeValue::Kind::integer) return std::nullopt;
  return value->integer;
}

std::string find_text(trace::Encoded attributes, std::string_view key) {
  auto value = trace::find_attribute(attributes, key);
  return value && value->kind == AttributeValue::Kind::string ? std::string(value->bytes) : std::string();
}

// Ids have eight bytes, or none for the parent of a root; they are random, so any order of them makes a key.
std::uint64_t key_of(std::string_view id) {
  std::uint64_t key = 0;
  if (!id.empty()) std::memcpy(&key, id.data(), sizeof key);
  return key;
}

constexpr std::uint32_t has_remote_parent = 0x200;  // of Span.flags in OTLP

bool is_truncated(const trace::Span& span) {
  return std::ranges::any_of(
      span.events, [](std::string_view event) { return trace::decode_event(event).name == "nemo.span.truncated"; });
}

std::optional<std::int64_t> iteration_of(const trace::Span& span) {
  for (std::string_view key : {"megatron.iteration", "iteration", "step"}) {
    if (auto iteration = find_integer(span.attributes, key)) return iteration;
  }
  return std::nullopt;
}

}  // namespace

void ReportBuilder::on_resource(trace::Encoded attributes) {
  auto rank = find_integer(attributes, "dl.rank");
  std::string host = find_text(attributes, "host.name");
  std::string pid = std::to_string(find_integer(attributes, "process.pid").value_or(0));
  std::string instance = find_text(attributes, "service.instance.id");
  auto [found, is_new] = processes_.try_emplace(instance + '\n' + host + '\n' + pid);
  process_ = &found->second;
  if (!is_new) return;

  if (rank) process_->rank = static_cast<int>(*rank);
  if (rank) run_.ranks.insert(static_cast<int>(*rank));
  if (!host.empty()) run_.hosts.insert(host);
  if (auto stage = find_integer(attributes, "dl.pipeline_parallel.rank")) run_.stages.insert(static_cast<int>(*stage));
  int world_size = static_cast<int>(find_integer(attributes, "dl.world_size").value_or(0));
  run_.world_size = std::max(run_.world_size, world_size);
  if (run_.run_id.empty()) run_.run_id = find_text(attributes, "nemo.run.id");
  if (run_.service.empty()) run_.service = find_text(attributes, "service.name");
}

void ReportBuilder::on_span(const trace::Span& span) {
  Name& name = name_of(span.name);
  std::uint64_t end_ns = std::max(span.start_ns, span.end_ns);
  std::uint64_t duration_ns = end_ns - span.start_ns;
  EndedSpan ended{key_of(span.span_id), key_of(span.parent_span_id),          span.start_ns, end_ns,
                  name.category,        (span.flags & has_remote_parent) != 0};

  bool is_step = name.step_preference != no_step;
  CategoryTimes split;
  name.self_ns += process_->nesting.end_span(ended, is_step ? &split : nullptr);
  name.total_ns += duration_ns;
  name.durations.add(duration_ns);
  count_rank(name, duration_ns);
  if (is_step) count_step(name.steps, span, split, duration_ns);

  if (run_.span_count++ == 0) run_.start_ns = span.start_ns;
  run_.start_ns = std::min(run_.start_ns, span.start_ns);
  run_.end_ns = std::max(run_.end_ns, end_ns);
  run_.error_count += span.status == trace::StatusCode::error;
  if (!span.events.empty()) truncated_count_ += is_truncated(span);
}

ReportBuilder::Name& ReportBuilder::name_of(std::string_view text) {
  if (auto found = index_.find(text); found != index_.end()) return *found->second;
  int preference = step_span_.empty() ? step_preference(text) : text == step_span_ ? 0 : no_step;
  Name& name = names_.emplace_back();
  name.text = text;
  name.category = category_of(text);
  name.step_preference = preference;
  // What a step does itself belongs to none of its parts.
  if (preference != no_step) name.category = Category::rest;
  index_.emplace(name.text, &name);
  return name;
}

void ReportBuilder::count_rank(Name& name, std::uint64_t duration_ns) {
  if (!process_->rank) return;
  if (name.last_rank_time == nullptr || name.last_rank != *process_->rank) {
    name.last_rank = *process_->rank;
    name.last_rank_time = &name.ranks[name.last_rank];
  }
  ++name.last_rank_time->count;
  name.last_rank_time->total_ns += duration_ns;
}

void ReportBuilder::count_step(Steps& steps, const trace::Span& span, const CategoryTimes& split,
                               std::uint64_t duration_ns) {
  for (std::size_t i = 0; i < category_count; ++i) steps.split_ns[i] += split[i];
  if (duration_ns < steps.worst_ns) return;
  steps.worst_ns = duration_ns;
  steps.worst_iteration = iteration_of(span);
  steps.worst_rank = process_->rank;
}

NameRow ReportBuilder::row_of(const Name& name) const {
  NameRow row{.name = name.text,
              .count = name.durations.count(),
              .total_ns = name.total_ns,
              .self_ns = name.self_ns,
              .median_ns = name.durations.at(0.5),
              .p95_ns = name.durations.at(0.95)};
  for (const auto& [rank, time] : name.ranks) {
    std::uint64_t mean_ns = time.total_ns / time.count;
    if (row.slowest_rank && mean_ns <= row.slowest_mean_ns) continue;
    row.slowest_rank = rank;
    row.slowest_mean_ns = mean_ns;
  }
  return row;
}

std::optional<StepTime> ReportBuilder::step_time() const {
  const Name* best = nullptr;
  for (const Name& name : names_) {
    if (name.step_preference == no_step) continue;
    if (best == nullptr || name.step_preference < best->step_preference) best = &name;
  }
  if (best == nullptr) return std::nullopt;
  return StepTime{.span_name = best->text,
                  .count = best->durations.count(),
                  .median_ns = best->durations.at(0.5),
                  .p95_ns = best->durations.at(0.95),
                  .worst_ns = best->steps.worst_ns,
                  .worst_iteration = best->steps.worst_iteration,
                  .worst_rank = best->steps.worst_rank,
                  .split_ns = best->steps.split_ns,
                  .total_ns = best->total_ns};
}

Report ReportBuilder::finish() const {
  Report report;
  report.run = run_;
  report.run.process_count = processes_.size();
  report.step = step_time();
  report.losses.spans_truncated = truncated_count_;
  for (const Name& name : names_) report.names.push_back(row_of(name));
  std::ranges::sort(report.names, [](const NameRow& left, const NameRow& right) {
    return std::pair(right.self_ns, left.name) < std::pair(left.self_ns, right.name);
  });
  return report;
}

}  // namespace lens::analyze
