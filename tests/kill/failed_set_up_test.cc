// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kill/child.h"
#include "tests/support/refused_calls.h"
#include "tests/support/sanitized.h"

namespace lens::tests {
namespace {

// Contract: 3.set-up-fails
TEST(SetUpThatFailsHalfway, RecordsNothingAndLeavesNoFile) {
  if (!can_refuse_calls()) GTEST_SKIP() << "this kernel filters no system calls";
  if (is_sanitized) GTEST_SKIP() << "a sanitizer's look for leaks takes a thread";
  TemporaryDirectory directory;
  Config config = recording_config(directory.path());
  config.shm_dir = directory.path() / "rings";
  Child child([&] {
    refuse_threads();
    try {
      auto telemetry = setup_telemetry(config, Rank{});
      ADD_FAILURE() << "there is no thread for it";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("no thread can be started for telemetry: "));
    }
    auto ungated = span_cm("ungated");
    EXPECT_FALSE(ungated);
    auto gated = managed_span(SpanGroup::job, "gated");
    EXPECT_FALSE(gated);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(config.shm_dir));
}

}  // namespace
}  // namespace lens::tests
