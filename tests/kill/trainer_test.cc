// SPDX-License-Identifier: Apache-2.0
// A rank of the real trainer, killed at a random moment. LENS_KILL_ROUNDS says how often (default 3).
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <thread>

#include "tests/kill/child.h"

namespace lens::tests {
namespace {

constexpr int ranks = 2;  // two stages of a pipeline
constexpr int error = 2;  // the status of a span

int free_port() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(socket_fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(socket_fd);
  return ntohs(address.sin_port);
}

/// Becomes a rank of the trainer, its output in `output`.
void train(const RunPlace& place, const std::string& output, int rank, int port) {
  const std::map<std::string, std::string> environment{{"RANK", std::to_string(rank)},
                                                       {"LOCAL_RANK", std::to_string(rank)},
                                                       {"WORLD_SIZE", std::to_string(ranks)},
                                                       {"MASTER_ADDR", "127.0.0.1"},
                                                       {"MASTER_PORT", std::to_string(port)},
                                                       {"MEGATRON_OTEL_EXPORT_STRATEGY", "all_ranks"},
                                                       {"MEGATRON_OTEL_EXPORTER", "file"},
                                                       {"MEGATRON_OTEL_FILE_DIR", place.traces().string()},
                                                       {"MEGATRON_OTEL_SHM_DIR", place.rings().string()}};
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execl(LENS_GPT, "gpt", "--pipeline-model-parallel-size=2", "--num-layers=4", "--hidden-size=32",
        "--num-attention-heads=2", "--seq-length=32", "--micro-batch-size=2", "--global-batch-size=8",
        "--train-iters=1000000", "--eval-interval=7", "--eval-iters=1", "--otel-enabled", "--otel-span-groups=all",
        nullptr);
  _exit(127);
}

/// The last iteration that the rank has told of.
std::int64_t printed_iteration(const std::string& output) {
  std::ifstream lines(output);
  const std::regex iteration(" iteration +([0-9]+)/.*");
  std::int64_t last = 0;
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, iteration)) last = std::stoll(match[1]);
  return last;
}

/// How many spans of each name lie below a step.
using Contents = std::map<std::string, int>;

/// By iteration: what lies below each step of a rank that was done; one that a lost peer broke off has the status
/// error.
std::map<std::int64_t, Contents> steps_of(const RecordedTrace& trace, const std::string& job_trace_id) {
  std::map<std::string, const RecordedSpan*> by_id;
  for (const RecordedSpan& span : trace.spans) by_id[span.span_id] = &span;
  std::map<std::int64_t, Contents> steps;
  for (const RecordedSpan& span : trace.spans) {
    if (span.trace_id != job_trace_id) continue;
    const RecordedSpan* step = &span;
    while (step && step->name != "megatron.train_step") {
      const auto parent = by_id.find(step->parent_id);
      EXPECT_TRUE(step->parent_id.empty() || parent != by_id.end())
          << "the parent of a " << step->name << " is missing";
      step = parent == by_id.end() ? nullptr : parent->second;
    }
    if (step && !step->truncated() && step->status != error)
      ++steps[step->at<std::int64_t>("megatron.iteration")][span.name];
  }
  return steps;
}

void expect_nothing_missing(const RecordedTrace& trace, const RecordedSpan& job, std::int64_t at_least) {
  const auto steps = steps_of(trace, job.trace_id);
  EXPECT_GE(std::int64_t(steps.size()), at_least);
  std::int64_t expected = 0;
  for (const auto& [iteration, contents] : steps) {
    EXPECT_EQ(iteration, ++expected) << "a step is missing";
    if (iteration > 2) {
      EXPECT_EQ(contents, steps.at(2)) << "in step " << iteration;
    }
  }
}

int rounds() {
  const char* rounds = getenv("LENS_KILL_ROUNDS");
  return rounds ? std::atoi(rounds) : 3;
}

TEST(KillOfATrainersRank, AtARandomMomentLosesNothingThatHadEnded) {
  std::mt19937 random{std::random_device{}()};
  for (int round = 0; round < rounds(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const RunPlace place;
    const int port = free_port();
    std::vector<std::unique_ptr<Child>> children;
    const auto output = [&](int rank) { return place.rings().parent_path() / ("out" + std::to_string(rank)); };
    for (int rank = 0; rank < ranks; ++rank)
      children.push_back(std::make_unique<Child>([&] { train(place, output(rank), rank, port); }));
    while (printed_iteration(output(1)) < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300'000));
    children[random() % ranks]->kill();
    children.clear();  // the other one waits for it, or has failed
    place.recover();
    const std::int64_t printed = printed_iteration(output(1));
    const RecordedTrace trace = place.trace();
    int jobs = 0;
    for (const RecordedSpan& span : trace.spans) {
      if (span.name != "megatron.pretrain") continue;
      ++jobs;
      EXPECT_TRUE(span.truncated() || span.status == error);
      expect_nothing_missing(trace, span, printed - 1);  // the last stage prints what the first may still be ending
    }
    EXPECT_EQ(jobs, ranks);
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace lens::tests
