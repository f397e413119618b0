// SPDX-License-Identifier: Apache-2.0
// Groups, export strategy, samplers and exporter decide independently of each other: every combination of them, held
// against the four decisions taken one by one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/export/http_peer.h"
#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using namespace lens::literals;

constexpr int world_size = 8;

struct Sampling {
  const char* name;
  bool by_rank = false;
  int every_n_steps = 1;
  const char* traces = "parentbased_always_on";
  double ratio = 1;
};

constexpr Sampling samplings[] = {{"none"},
                                  {"rank-aware", true},
                                  {"every second step", false, 2},
                                  {"rank-aware and every second step", true, 2, "always_on"},
                                  {"no trace", false, 1, "parentbased_always_off"},
                                  {"all traces by their ids", false, 2, "traceidratio", 1},
                                  {"no trace by its id", true, 1, "traceidratio", 0},
                                  {"off", true, 2, "always_off"}};

void train() {
  auto job = managed_span(SpanGroup::job, "job");
  for (int iteration = 1; iteration <= 4; ++iteration) {
    auto step = managed_span(SpanGroup::step, "step", "iteration"_a = iteration);
    auto forward = managed_span(SpanGroup::forward_backward, "forward");
  }
  auto save = managed_span(SpanGroup::checkpoint, "save");
}

bool is_in_tenth(int rank) { return rank == 3 || rank == 5 || rank == 6; }

bool is_chosen(const std::string& strategy, const Rank& rank) {
  return strategy == "all_ranks" || (strategy == "single_rank" && rank.rank == 3) ||
         (strategy == "sampled" && is_in_tenth(rank.rank)) ||
         (strategy == "first_rank_per_node" && rank.local_rank == 0);
}

/// The names, as RecordedTrace has them, that the rank leaves.
std::string expected(const std::string& groups, const std::string& strategy, const Sampling& sampling,
                     const Rank& rank) {
  if (!is_chosen(strategy, rank) || (sampling.by_rank && !is_in_tenth(rank.rank))) return "";
  if (std::string_view(sampling.traces).ends_with("off") || sampling.ratio == 0) return "";
  const bool half = sampling.every_n_steps == 2;
  if (groups == "default") return "job save";
  if (groups == "step,optimizer") return half ? "step step" : "step step step step";
  return half ? "forward forward job save step step" : "forward forward forward forward job save step step step step";
}

/// Takes what is written to standard output.
class Output {
 public:
  explicit Output(const std::filesystem::path& file) : before_(dup(STDOUT_FILENO)) {
    const int taking = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(taking, STDOUT_FILENO);
    close(taking);
  }
  ~Output() {
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

 private:
  int before_;
};

RecordedTrace printed_spans(const std::string& text) {
  RecordedTrace trace;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto request = nlohmann::json::parse(line);
    for (const auto& span : request.at("resourceSpans")[0].at("scopeSpans")[0].at("spans"))
      trace.spans.emplace_back().name = span.at("name");
  }
  return trace;
}

class Controls : public testing::TestWithParam<const char*> {
 protected:
  Config config(const std::string& groups, const std::string& strategy, const Sampling& sampling) {
    Config config = recording_config(directory_.path() / std::to_string(++run_), groups);
    config.on_error = [](std::string_view) {};  // some combinations leave nobody, which is said
    config.exporter = GetParam();
    config.metrics_enabled = false;
    config.export_strategy = strategy;
    config.export_rank = 3;
    config.export_sample_rate = 0.1;
    config.sampler_enabled = sampling.by_rank;
    config.sample_every_n_steps = sampling.every_n_steps;
    config.standard.traces_sampler = sampling.traces;
    config.standard.traces_sampler_ratio = sampling.ratio;
    config.standard.otlp_traces.protocol = OtlpProtocol::http_protobuf;
    config.standard.otlp_traces.endpoint = collector_.url();
    config.spool_size_bytes = 0;
    return config;
  }

  /// The names of the spans that reached the exporter's destination.
  std::string exported(const Config& config, const Rank& rank) {
    const std::filesystem::path printed = directory_.path() / "printed";
    TelemetryCounters counters;
    {
      const Output output(printed);
      auto telemetry = setup_telemetry(config, rank);
      train();
      EXPECT_TRUE(telemetry.force_flush(std::chrono::seconds(60)));
      counters = telemetry.counters();
    }
    EXPECT_EQ(counters.spans_recorded, counters.spans_exported + counters.spans_sampled_out);
    if (config.exporter == "file")
      return std::filesystem::exists(config.file_dir) ? read_trace(config.file_dir).names() : "";
    if (config.exporter == "console") return printed_spans(directory_.read("printed")).names();
    if (config.exporter == "otlp") return sent_spans().names();
    return std::string(counters.spans_exported, '.');
  }

  /// What the collector was sent since the last question.
  RecordedTrace sent_spans() {
    RecordedTrace trace;
    const std::vector<HttpRequest> requests = collector_.requests();
    for (; requests_seen_ < requests.size(); ++requests_seen_)
      std::ranges::move(read_request(requests[requests_seen_].body).spans, std::back_inserter(trace.spans));
    return trace;
  }

  std::string as_exported(const std::string& names) const {
    if (GetParam() != std::string("none")) return names;
    return std::string(names.empty() ? 0u : std::size_t(std::ranges::count(names, ' ')) + 1, '.');  // only counted
  }

 private:
  TemporaryDirectory directory_;
  HttpPeer collector_{[](int, const HttpRequest&) { return answer(200); }};
  std::size_t requests_seen_ = 0;
  int run_ = 0;
};

// Contract: 2.orthogonal
TEST_P(Controls, CombineFreely) {
  for (const char* groups : {"default", "per_step", "all", "step,optimizer"})
    for (const char* strategy : {"single_rank", "all_ranks", "sampled", "first_rank_per_node"})
      for (const Sampling& sampling : samplings)
        for (const int rank : {0, 3}) {
          const Rank here{.rank = rank, .world_size = world_size, .local_rank = rank % 4};
          EXPECT_EQ(exported(config(groups, strategy, sampling), here),
                    as_exported(expected(groups, strategy, sampling, here)))
              << groups << ", " << strategy << ", " << sampling.name << ", rank " << rank;
        }
}

// Contract: 2.orthogonal
TEST_P(Controls, GiveStepsOfATenthOfTheRanksByTheExportOfOne) {
  std::string of_all_ranks;
  for (int rank = 0; rank < world_size; ++rank)
    of_all_ranks += exported(config("per_step", "single_rank", {"rank-aware", true}),
                             {.rank = rank, .world_size = world_size, .local_rank = rank});
  EXPECT_EQ(of_all_ranks, as_exported("forward forward forward forward job save step step step step"));
}

INSTANTIATE_TEST_SUITE_P(WithEveryExporter, Controls, testing::Values("file", "console", "otlp", "none"),
                         [](const auto& exporter) { return std::string(exporter.param); });

}  // namespace
}  // namespace lens::tests
