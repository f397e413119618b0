// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpt {
namespace {

Arguments parse(std::vector<const char*> words) {
  words.insert(words.begin(), "gpt");
  bool help = false;
  return parse_arguments(static_cast<int>(words.size()), words.data(), help);
}

std::string refusal(const std::vector<const char*>& words, int world_size = 1) {
  try {
    validate(parse(words), world_size);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Arguments, TakeAValueBehindASpaceOrAnEqualsSign) {
  const Arguments arguments = parse({"--num-layers", "8", "--lr=0.5", "--save", "out", "--prompt="});
  EXPECT_EQ(arguments.num_layers, 8);
  EXPECT_EQ(arguments.lr, 0.5);
  EXPECT_EQ(arguments.save, "out");
  EXPECT_EQ(arguments.prompt, "");
}

TEST(Arguments, LastOneWins) { EXPECT_EQ(parse({"--seed=1", "--seed=2"}).seed, 2); }

TEST(Arguments, TurnSwitchesOnAndOff) {
  EXPECT_FALSE(parse({"--no-cpu-offloading"}).cpu_offloading);
  EXPECT_TRUE(parse({"--no-cpu-offloading", "--cpu-offloading"}).cpu_offloading);
  EXPECT_TRUE(parse({"--otel-enabled"}).otel_enabled);
  EXPECT_EQ(refusal({"--otel-enabled=1"}), "--otel-enabled takes no value");
}

TEST(Arguments, PositionsFollowTheSequence) {
  EXPECT_EQ(parse({"--seq-length=64"}).max_position_embeddings, 64);
  EXPECT_EQ(parse({"--seq-length=64", "--max-position-embeddings=256"}).max_position_embeddings, 256);
  EXPECT_NE(refusal({"--seq-length=64", "--max-position-embeddings=32"}), "");
}

TEST(Arguments, NameTheNearestFlag) {
  EXPECT_EQ(refusal({"--hidden_size=4"}), "unknown flag --hidden_size; did you mean --hidden-size?");
  EXPECT_EQ(refusal({"--train-iter", "4"}), "unknown flag --train-iter; did you mean --train-iters?");
  EXPECT_EQ(refusal({"--no-seed"}), "unknown flag --no-seed; did you mean --seed?");
}

TEST(Arguments, RefuseNumbersThatAreNot) {
  EXPECT_EQ(refusal({"--seed=1.5"}), "--seed 1.5: expected an integer of at least 0");
  EXPECT_EQ(refusal({"--seed="}), "--seed : expected an integer of at least 0");
  EXPECT_EQ(refusal({"--lr=inf"}), "--lr inf: expected a number of at least 0");
  EXPECT_EQ(refusal({"--micro-batch-size=0"}), "--micro-batch-size 0: expected an integer of at least 1");
  EXPECT_EQ(refusal({"--train-iters=99999999999999999999"}),
            "--train-iters 99999999999999999999: expected an integer of at least 0");
}

TEST(Arguments, RefuseWordsThatAreNotOneOfTheirs) {
  EXPECT_EQ(refusal({"--recompute-granularity=full", "--otel-pipeline-context=adopt"}), "");
  EXPECT_EQ(refusal({"--recompute-granularity=selective"}), "--recompute-granularity selective: only full is known");
  EXPECT_EQ(refusal({"--otel-pipeline-context=both"}), "--otel-pipeline-context both: link or adopt");
}

TEST(Arguments, DefaultsFitOneRankAndTwoByTwo) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({"--pipeline-model-parallel-size=2"}, 4), "");
}

TEST(Arguments, HelpNamesEveryDefault) {
  bool help = false;
  const char* words[] = {"gpt", "--unknown-after-help-does-not-matter", "--help"};
  EXPECT_THROW(parse_arguments(3, words, help), UsageError);
  const char* asked[] = {"gpt", "-h", "--unknown"};
  parse_arguments(3, asked, help);
  EXPECT_TRUE(help);
  EXPECT_NE(usage().find("--prompt"), std::string::npos);
  EXPECT_NE(usage().find("(\"And God said\")"), std::string::npos);
}

}  // namespace
}  // namespace gpt
