// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/model.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace gpt {
namespace {

constexpr ModelShape shape{.num_layers = 4, .hidden_size = 16, .num_attention_heads = 2, .max_positions = 12};

TEST(Stage, WeightsDoNotDependOnTheNumberOfStages) {
  std::map<std::string, at::Tensor> whole;
  for (const auto& parameter : Stage(shape, 0, 1, 7).named_parameters()) whole[parameter.key()] = parameter.value();
  size_t seen = 0;
  for (int stage = 0; stage < 4; ++stage)
    for (const auto& parameter : Stage(shape, stage, 4, 7).named_parameters()) {
      ASSERT_TRUE(whole.contains(parameter.key())) << parameter.key();
      EXPECT_TRUE(torch::equal(parameter.value(), whole[parameter.key()])) << parameter.key();
      ++seen;
    }
  EXPECT_EQ(seen, whole.size());
}

TEST(Stage, NoTwoMatricesBeginAlike) {
  Stage model(shape, 0, 1, 7);
  const auto parameters = model.named_parameters();
  EXPECT_FALSE(torch::equal(parameters["layer_0.qkv.weight"], parameters["layer_1.qkv.weight"]));
  EXPECT_FALSE(
      torch::equal(parameters["layer_0.qkv.weight"], Stage(shape, 0, 1, 8).named_parameters()["layer_0.qkv.weight"]));
}

TEST(Stage, StagesInARowComputeWhatTheWholeModelDoes) {
  const auto tokens = torch::randint(vocabulary_size, {2, 12}, torch::kInt64);
  auto x = tokens;
  for (int stage = 0; stage < 2; ++stage) x = Stage(shape, stage, 2, 7).forward(x);
  EXPECT_TRUE(torch::allclose(x, Stage(shape, 0, 1, 7).forward(tokens)));
}

TEST(Stage, APositionDoesNotSeeWhatFollows) {
  Stage model(shape, 0, 1, 7);
  auto tokens = torch::randint(vocabulary_size, {1, 12}, torch::kInt64);
  const auto before = model.forward(tokens);
  tokens[0][8] = (tokens[0][8] + 1) % vocabulary_size;
  const auto after = model.forward(tokens);
  EXPECT_TRUE(torch::allclose(before.narrow(1, 0, 8), after.narrow(1, 0, 8)));
  EXPECT_FALSE(torch::allclose(before.narrow(1, 8, 4), after.narrow(1, 8, 4)));
}

TEST(Stage, ListsTheActivationsOfAsManyLayersAsAsked) {
  Stage model(shape, 0, 1, 7);
  const auto tokens = torch::zeros({1, 12}, torch::kInt64);
  SavedActivations one, all;
  model.forward(tokens, &one, 1);
  model.forward(tokens, &all, 4);
  EXPECT_GT(one.size(), 0U);
  EXPECT_EQ(all.size(), 4 * one.size());
}

}  // namespace
}  // namespace gpt
