// SPDX-License-Identifier: Apache-2.0
// A resource that finds no room in the file of rings: what of it is kept for recovery, and what is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "src/otlp/envelope.h"
#include "src/record/recorder.h"
#include "src/setup/plan.h"
#include "tests/flow/recorded_trace.h"

namespace lens::tests {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class LongResource : public testing::Test {
 protected:
  LongResource() {
    config_.on_error = [this](std::string_view line) { said_.emplace_back(line); };
  }

  void add(std::string key, std::size_t bytes) {
    config_.standard.resource_attributes.emplace_back(std::move(key), std::string(bytes, 'x'));
  }

  /// What the process keeps of its resource, encoded.
  std::string kept() {
    auto telemetry = setup_telemetry(config_, rank_);
    const record::FileHeader& header = record::Recorder::instance().file()->header();
    return {reinterpret_cast<const char*>(&header) + header.envelope_offset, header.resource_bytes};
  }

  /// Beside the resource.
  std::size_t bytes_of_others() const {
    std::size_t bytes = otlp::Envelope({}, "lens", version).scope().size();
    for (const std::string& key : config_.redacted_keys) bytes += key.size() + 1;
    return bytes;
  }

  /// One after the other: the longest, of equal ones the first, while what is left is too long.
  std::string expected() const {
    ResourceAttributes resource = setup::make_plan(config_, rank_).resource;
    const auto bytes = [](const auto& attribute) { return otlp::Envelope({attribute}, "", "").resource().size(); };
    for (;;) {
      const otlp::Envelope envelope(resource, "lens", version);
      if (envelope.resource().size() + bytes_of_others() <= record::RingFile::envelope_room) return envelope.resource();
      resource.erase(std::ranges::max_element(resource, {}, bytes));
    }
  }

  const Rank rank_{.rank = 0, .world_size = 1, .local_rank = 0};
  TemporaryDirectory directory_;
  Config config_ = recording_config(directory_.path() / "traces");
  std::vector<std::string> said_;
};

TEST_F(LongResource, LosesItsLongestAttributesAndSaysWhich) {
  for (const int number : {0, 1, 2, 3, 4, 5, 6, 7}) add("short" + std::to_string(number), 1000);
  for (const int number : {0, 1, 2}) add("long" + std::to_string(number), 5000);
  EXPECT_EQ(kept(), expected());
  EXPECT_THAT(said_, ElementsAre(EndsWith("will lack long2, long1")));
}

TEST_F(LongResource, IsKeptToTheLastByte) {
  add("filling", 0);
  std::size_t kept_whole = 0;
  const std::size_t left = record::RingFile::envelope_room - bytes_of_others() - expected().size();
  for (std::size_t bytes = left - 10; bytes <= left; ++bytes) {  // the lengths before the text become longer too
    config_.standard.resource_attributes.back().second = std::string(bytes, 'x');
    said_.clear();
    EXPECT_EQ(kept(), expected()) << bytes;
    kept_whole += said_.empty();
  }
  EXPECT_GT(kept_whole, 0u);
  EXPECT_LT(kept_whole, 10u);
}

TEST_F(LongResource, OfManyAttributesIsSetUpInTimeAndNamesAFew) {
  for (int i = 0; i < 20'000; ++i) add("key" + std::to_string(i), 1);
  const auto began = std::chrono::steady_clock::now();
  const std::string resource = kept();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  EXPECT_THAT(resource, HasSubstr("key0"));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0],
              testing::ContainsRegex("will lack [^,]+, [^,]+, [^,]+, [^,]+, [^,]+ and [0-9]+ more attributes$"));
  EXPECT_GT(resource.size(), record::RingFile::envelope_room * 9 / 10);
}

}  // namespace
}  // namespace lens::tests
