// SPDX-License-Identifier: Apache-2.0
#include "tests/flow/recorded_trace.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/trace/trace.h"
#include "tools/trace/trace_file.h"

namespace {
bool is_child = false;
}

// What the leak sanitizer asks a program, where it is linked in.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off();
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {
  return is_child;  // a child leaves the parent's pipeline, whose thread it does not have, where it is
}

namespace lens::tests {

const RecordedSpan& RecordedTrace::only(std::string_view name) const {
  static const RecordedSpan none;
  const RecordedSpan* found = &none;
  for (const RecordedSpan& span : spans)
    if (span.name == name) found = &span;
  EXPECT_EQ(count(name), 1u) << "of " << name << " in: " << names();
  return *found;
}

std::size_t RecordedTrace::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count(spans, name, &RecordedSpan::name));
}

std::string RecordedTrace::names() const {
  std::vector<std::string> sorted;
  for (const RecordedSpan& span : spans) sorted.push_back(span.name);
  std::ranges::sort(sorted);
  std::string text;
  for (const std::string& name : sorted) text += (text.empty() ? "" : " ") + name;
  return text;
}

RecordedTrace read_trace(const std::filesystem::path& directory) {
  RecordedTrace recorded;
  const trace::Trace trace = trace::open_trace(directory);
  recorded.files = trace.files;
  for (const trace::Problem& problem : trace.problems) recorded.problems.push_back(problem.reason);
  for (const trace::Status& status : trace.statuses)
    recorded.counters = {status.spans_recorded, status.spans_exported, status.spans_dropped, status.spans_truncated,
                         status.spans_sampled_out};
  for (const std::filesystem::path& path : trace.files) {
    trace::TraceFile file(path);
    while (const auto message = file.next()) {
      RecordedRequest request = read_request(*message);
      recorded.resource = std::move(request.resource);
      std::ranges::move(request.spans, std::back_inserter(recorded.spans));
    }
    for (const trace::Problem& problem : file.problems()) recorded.problems.push_back(problem.reason);
  }
  return recorded;
}

Config recording_config(const std::filesystem::path& directory, std::string span_groups) {
  Config config;
  config.enabled = true;
  config.exporter = "file";
  config.file_dir = directory;
  config.shm_dir = "";
  config.run_id = "test";
  config.vocabulary = MegatronSpanGroup::vocabulary();
  config.span_groups = std::move(span_groups);
  config.shutdown_timeout = std::chrono::seconds(60);  // a sanitizer on a busy machine takes its time
  config.replace_running = true;
  config.on_error = [](std::string_view line) { ADD_FAILURE() << "background failure: " << line; };
  return config;
}

RecordedTrace record(const std::function<void()>& body, const std::function<void(Config&)>& change) {
  TemporaryDirectory directory;
  Config config = recording_config(directory.path());
  if (change) change(config);
  {
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    body();
  }
  RecordedTrace recorded = read_trace(directory.path());
  EXPECT_TRUE(recorded.problems.empty()) << recorded.problems.front();
  return recorded;
}

RecordedTrace record(std::string span_groups, const std::function<void()>& body) {
  return record(body, [&](Config& config) { config.span_groups = span_groups; });
}

std::unique_ptr<ScopedSpan> open_scope(const Group& group, Name name) {
  return std::unique_ptr<ScopedSpan>(new ScopedSpan(managed_span(group, name)));
}

int run_in_child(const std::function<void()>& body) {
  std::fflush(nullptr);  // or the child writes it once more
  const pid_t child = fork();
  if (child == 0) {
    is_child = true;
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task"), end;
  return static_cast<std::size_t>(std::distance(tasks, end));
}

}  // namespace lens::tests
