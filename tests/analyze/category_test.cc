// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/category.h"

#include <gtest/gtest.h>

namespace lens::analyze {
namespace {

TEST(Category, of_megatrons_spans) {
  EXPECT_EQ(category_of("megatron.microbatch.forward"), Category::forward);
  EXPECT_EQ(category_of("megatron.layer.mlp"), Category::forward);
  EXPECT_EQ(category_of("megatron.microbatch.backward"), Category::backward);
  EXPECT_EQ(category_of("megatron.forward_backward"), Category::forward_backward);
  EXPECT_EQ(category_of("megatron.p2p.recv_forward"), Category::communication);
  EXPECT_EQ(category_of("megatron.p2p.send_backward"), Category::communication);
  EXPECT_EQ(category_of("megatron.grad_sync.finish"), Category::communication);
  EXPECT_EQ(category_of("megatron.pp.recv_forward.linked"), Category::communication);
  EXPECT_EQ(category_of("megatron.optimizer_step"), Category::optimizer);
  EXPECT_EQ(category_of("megatron.data_loading.get_batch"), Category::data);
  EXPECT_EQ(category_of("megatron.activation.offload"), Category::rest);
  EXPECT_EQ(category_of("megatron.train_step"), Category::rest);
}

TEST(Category, of_other_names_is_told_by_the_last_word) {
  EXPECT_EQ(category_of("forward"), Category::forward);
  EXPECT_EQ(category_of("policy/backward"), Category::backward);
  EXPECT_EQ(category_of("nccl.all_reduce"), Category::communication);
  EXPECT_EQ(category_of("forward.hook"), Category::rest);
  EXPECT_EQ(category_of(""), Category::rest);
}

TEST(StepPreference, puts_megatrons_step_before_others) {
  EXPECT_EQ(step_preference("megatron.train_step"), 0);
  EXPECT_LT(step_preference("train_step"), step_preference("rl.train_step"));
  EXPECT_LT(step_preference("rl.train_step"), step_preference("rl.step"));
  EXPECT_NE(step_preference("step"), no_step);
}

TEST(StepPreference, takes_no_evaluation_for_a_training_step) {
  EXPECT_EQ(step_preference("megatron.evaluate.step"), no_step);
  EXPECT_EQ(step_preference("megatron.optimizer_step"), no_step);
  EXPECT_EQ(step_preference("footstep"), no_step);
}

}  // namespace
}  // namespace lens::analyze
