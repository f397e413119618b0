// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/optimizer.h"

#include <gtest/gtest.h>

#include <limits>

namespace gpt {
namespace {

TEST(LearningRate, RisesThenFallsAlongACosine) {
  Arguments arguments;
  arguments.lr = 1;
  arguments.min_lr = 0.1;
  arguments.lr_warmup_iters = 10;
  arguments.train_iters = 110;
  EXPECT_DOUBLE_EQ(learning_rate(arguments, 1), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(arguments, 10), 1);
  EXPECT_NEAR(learning_rate(arguments, 60), 0.55, 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(arguments, 110), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(arguments, 200), 0.1);
}

TEST(LearningRate, StartsHighWithoutWarmUp) {
  Arguments arguments;
  arguments.lr_warmup_iters = 0;
  EXPECT_NEAR(learning_rate(arguments, 1), arguments.lr, arguments.lr * 0.01);
}

class OneRankOptimizer : public testing::Test {
 protected:
  void set_gradient(std::vector<float> values) {
    gradients_.zero();
    gradients_.expect_last();
    (weights_ * torch::tensor(values)).sum().backward();
    gradients_.finish();
  }

  Arguments arguments_;
  Layout layout_;
  Groups groups_{layout_, std::chrono::seconds(10)};
  at::Tensor weights_ = torch::ones(2).requires_grad_(true);
  GradSync gradients_{{weights_}, groups_.data, 100};
  Optimizer optimizer_{arguments_, {weights_}, gradients_, groups_.pipeline};
};

TEST_F(OneRankOptimizer, ReportsTheNormBeforeClipping) {
  set_gradient({3, 4});
  const auto step = optimizer_.step(0.1);
  EXPECT_TRUE(step.updated);
  EXPECT_DOUBLE_EQ(step.grad_norm, 5);
  EXPECT_NEAR(weights_.grad().norm().item<double>(), arguments_.clip_grad, 1e-6);
}

TEST_F(OneRankOptimizer, MovesAgainstTheGradientByTheLearningRate) {
  set_gradient({3, -4});
  optimizer_.step(0.1);
  EXPECT_NEAR(weights_[0].item<double>(), 0.9, 1e-5);  // AdamW's first step has the size of the rate
  EXPECT_NEAR(weights_[1].item<double>(), 1.1, 1e-5);
}

TEST_F(OneRankOptimizer, LeavesTheWeightsWhenTheGradientIsNotFinite) {
  set_gradient({1, std::numeric_limits<float>::infinity()});
  const auto step = optimizer_.step(0.1);
  EXPECT_FALSE(step.updated);
  EXPECT_EQ(weights_.sum().item<double>(), 2);
}

TEST_F(OneRankOptimizer, AccumulatesMicrobatchesAndStartsOverAtZero) {
  set_gradient({1, 1});
  (weights_ * 2).sum().backward();
  EXPECT_EQ(weights_.grad()[0].item<double>(), 3);
  set_gradient({1, 1});
  EXPECT_EQ(weights_.grad()[0].item<double>(), 1);
}

}  // namespace
}  // namespace gpt
