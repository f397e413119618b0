// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/dataset.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <vector>

namespace gpt {
namespace {

std::vector<uint8_t> counting_text(size_t size) {
  std::vector<uint8_t> text(size);
  std::iota(text.begin(), text.end(), uint8_t{0});
  return text;
}

TEST(Sampler, TargetsAreTheTextOneByteLater) {
  const auto text = counting_text(200);
  const Batch batch = Sampler(text, "text", 16, 1).batch(0, 8);
  ASSERT_EQ(batch.tokens.sizes(), (std::vector<int64_t>{8, 16}));
  EXPECT_TRUE(torch::equal(batch.targets, batch.tokens + 1));
}

TEST(Sampler, SampleIsAFunctionOfSeedAndIndexAlone) {
  const auto text = counting_text(200);
  const Sampler sampler(text, "text", 16, 1);
  const auto together = sampler.batch(0, 8).tokens;
  EXPECT_TRUE(torch::equal(together.narrow(0, 5, 2), sampler.batch(5, 2).tokens));
  EXPECT_FALSE(torch::equal(together, Sampler(text, "text", 16, 2).batch(0, 8).tokens));
  EXPECT_FALSE(torch::equal(together, sampler.batch(8, 8).tokens));
}

TEST(Sampler, ReachesBothEndsOfTheText) {
  const auto text = counting_text(20);
  const auto tokens = Sampler(text, "text", 16, 1).batch(0, 200);
  EXPECT_EQ(tokens.tokens.min().item<int64_t>(), 0);
  EXPECT_EQ(tokens.targets.max().item<int64_t>(), 19);
}

TEST(Sampler, RefusesATextThatIsTooShort) {
  const auto text = counting_text(16);
  EXPECT_THROW(Sampler(text, "text", 16, 1), std::runtime_error);
  EXPECT_NO_THROW(Sampler(text, "text", 15, 1));
}

TEST(UnigramEntropy, IsThatOfTheByteFrequencies) {
  const std::vector<uint8_t> even{1, 2, 3, 4, 1, 2, 3, 4}, one(10, 7);
  EXPECT_NEAR(unigram_entropy(even), std::log(4), 1e-12);
  EXPECT_EQ(unigram_entropy(one), 0);
}

TEST(Dataset, HoldsOutTheEndOfTheText) {
  const std::string path = testing::TempDir() + "gpt-dataset-test.txt";
  std::ofstream(path) << std::string(900, 'a') << std::string(100, 'b');
  const Dataset data(path, 0.1, 16, 1, true);
  EXPECT_EQ(data.train.batch(0, 50).targets.max().item<int64_t>(), 'a');
  EXPECT_EQ(data.valid->batch(0, 50).tokens.min().item<int64_t>(), 'b');
}

}  // namespace
}  // namespace gpt
