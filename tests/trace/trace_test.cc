// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "src/otlp/json.h"
#include "tests/otlp/trace_message.h"
#include "tests/support/temporary_directory.h"
#include "tests/trace/trace_forms.h"

namespace lens::trace {
namespace {

using namespace lens::tests;
using testing::ElementsAre;
using testing::IsEmpty;

class Counter : public otlp::TraceVisitor {
 public:
  void on_resource(otlp::Encoded) override {}
  void on_span(const otlp::Span&) override { ++spans; }
  int spans = 0;
};

std::vector<std::string> names(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.filename().string());
  return names;
}

std::vector<std::string> problem_names(const std::vector<Problem>& problems) {
  std::vector<std::string> names;
  for (const Problem& problem : problems) names.push_back(problem.file.filename().string());
  return names;
}

const std::string good = framed(compressed(request_of_span("")));

TEST(Trace, knows_what_stands_beside_the_spans_of_a_run) {
  TemporaryDirectory directory;
  for (const char* name : {"run.json", "status-rank0-1-1.json"}) directory.write(name, "{}");
  for (const char* name : {"rank0.log", "metrics-rank0-1-1.otlp.zst", "logs-rank0-1-1.otlp.zst", ".hidden"})
    directory.write(name, "x");
  for (const char* name : {"traces-rank1-1-1.otlp.zst", "traces-rank0-1-1.otlp.zst", "collector.jsonl"})
    directory.write(name, good);
  Trace trace = open_trace(directory.path());
  EXPECT_THAT(names(trace.files),
              ElementsAre("collector.jsonl", "traces-rank0-1-1.otlp.zst", "traces-rank1-1-1.otlp.zst"));
  EXPECT_TRUE(trace.run);
  EXPECT_EQ(trace.statuses.size(), 1u);
  EXPECT_THAT(trace.problems, IsEmpty());
}

TEST(Trace, has_the_files_of_a_process_in_the_order_in_which_it_wrote_them) {
  TemporaryDirectory directory;
  for (const char* name : {"traces-rank0-1-2.10.otlp.zst", "traces-rank0-1-2.2.otlp.zst", "traces-rank0-1-2.otlp.zst",
                           "traces-rank0-1-2-recovered.otlp.zst", "traces-rank1-1-3.otlp.zst", "logs-rank0-1-2.2.jsonl",
                           "logs-rank0-1-2.jsonl"})
    directory.write(name, good);
  const Trace trace = open_trace(directory.path());
  EXPECT_THAT(names(trace.files),
              ElementsAre("traces-rank0-1-2.otlp.zst", "traces-rank0-1-2.2.otlp.zst", "traces-rank0-1-2.10.otlp.zst",
                          "traces-rank0-1-2-recovered.otlp.zst", "traces-rank1-1-3.otlp.zst"));
  EXPECT_THAT(names(trace.logs_files), ElementsAre("logs-rank0-1-2.jsonl", "logs-rank0-1-2.2.jsonl"));
}

TEST(Trace, reads_what_it_can_and_names_the_files_that_it_cannot) {
  TemporaryDirectory directory;
  directory.write("notes.txt", "not a trace");
  directory.write("run.json", "not json");
  directory.write("status-rank0-1-1.json", "not json");
  directory.write("traces-rank0-1-1.otlp.zst", good);
  directory.write("traces-rank1-1-1.otlp.zst", good + good.substr(0, 10));
  directory.write("traces-rank2-1-1.otlp.zst", framed("\x0a\x7f") + good);
  Trace trace = open_trace(directory.path());
  EXPECT_THAT(problem_names(trace.problems), ElementsAre("status-rank0-1-1.json", "run.json"));
  Counter counter;
  ReadResult result = read_spans(trace, counter);
  EXPECT_EQ(counter.spans, 3);
  EXPECT_EQ(result.file_count, 3u);
  EXPECT_THAT(problem_names(result.problems),
              ElementsAre("notes.txt", "traces-rank1-1-1.otlp.zst", "traces-rank2-1-1.otlp.zst"));
}

TEST(Trace, skips_other_signals_in_a_json_file) {
  TemporaryDirectory directory;
  std::string spans;
  otlp::append_json(spans, Signal::traces, request_of_span(""));
  directory.write("all.jsonl", R"({"resourceLogs":[]})"
                               "\n" +
                                   spans +
                                   "\n"
                                   R"({"resourceMetrics":[]})"
                                   "\n");
  Counter counter;
  ReadResult result = read_spans(open_trace(directory.path()), counter);
  EXPECT_EQ(counter.spans, 1);
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(Trace, names_a_file_that_holds_metrics) {
  TemporaryDirectory directory;
  std::string metric = bytes_field(1, bytes_field(2, bytes_field(2, bytes_field(1, "loss"))));
  directory.write("collector.proto", framed(metric));
  Counter counter;
  ReadResult result = read_spans(open_trace(directory.path()), counter);
  EXPECT_EQ(result.file_count, 0u);
  EXPECT_EQ(result.problems.size(), 1u);
}

TEST(Trace, may_be_a_single_file) {
  TemporaryDirectory directory;
  Counter counter;
  read_spans(open_trace(directory.write("anything", good + good)), counter);
  EXPECT_EQ(counter.spans, 2);
}

TEST(Trace, throws_for_a_path_that_is_not_there) { EXPECT_THROW(open_trace("/nowhere/at/all"), std::invalid_argument); }

TEST(NewestRun, is_the_directory_that_changed_last) {
  TemporaryDirectory directory;
  EXPECT_FALSE(newest_run(directory.path()));
  EXPECT_FALSE(newest_run(directory.path() / "missing"));
  auto older = directory.path() / "b", newer = directory.path() / "a";
  std::filesystem::create_directory(older);
  std::filesystem::create_directory(newer);
  auto time = std::filesystem::last_write_time(newer);
  std::filesystem::last_write_time(older, time - std::chrono::seconds(1));
  EXPECT_EQ(newest_run(directory.path()), newer);
  std::filesystem::last_write_time(older, time + std::chrono::seconds(1));
  EXPECT_EQ(newest_run(directory.path()), older);
}

}  // namespace
}  // namespace lens::trace
