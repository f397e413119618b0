// SPDX-License-Identifier: Apache-2.0
// Groups turned on and off from outside, and a control block in which there is anything.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <thread>

#include "src/record/layout.h"
#include "tests/kill/child.h"
#include "tools/trace/group_request.h"

namespace lens::tests {
namespace {

using record::ControlBlock;
using record::FileHeader;
using testing::HasSubstr;

Group own_group{"group_of_a_library"};

/// A process with telemetry on, and its own file as another program sees it.
class Controlled {
 public:
  Controlled() : telemetry_(setup_telemetry(config(), {.rank = 0, .world_size = 1})) {
    for (const auto& entry : std::filesystem::directory_iterator(place_.rings())) path_ = entry.path();
  }

  trace::GroupAnswer ask(std::string_view spec) {
    trace::GroupRequest request(path_);
    EXPECT_TRUE(request.write(spec));
    return answer_of(request);
  }
  static trace::GroupAnswer answer_of(const trace::GroupRequest& request) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      if (auto answer = request.read_answer()) return *answer;
      std::this_thread::yield();
    }
    return {false, "no answer"};
  }

  void store(std::size_t offset, const std::string& bytes) {
    const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(pwrite(file, bytes.data(), bytes.size(), off_t(offsetof(FileHeader, control) + offset)),
              ssize_t(bytes.size()));
    close(file);
  }
  void store(std::size_t offset, std::uint64_t word) {
    store(offset, std::string(reinterpret_cast<const char*>(&word), sizeof word));
  }

  /// Whether the pipeline thread still goes round.
  bool goes_on() { return telemetry_.force_flush(std::chrono::seconds(30)); }
  const std::filesystem::path& path() const { return path_; }

 private:
  Config config() const {
    Config config = place_.config();
    config.span_groups = "job";
    return config;
  }

  RunPlace place_;
  TelemetryHandle telemetry_;
  std::filesystem::path path_;
};

/// In a process of its own, since a process has one file of rings for its life.
void in_a_process(const std::function<void(Controlled&)>& body) {
  Child child([&] {
    Controlled process;
    body(process);
  });
  EXPECT_EQ(child.wait(), 0);
}

// Contract: 1.set
TEST(Control, TurnsGroupsOnAndOff) {
  in_a_process([](Controlled& process) {
    const trace::GroupAnswer answer = process.ask(" Per_Step, layer");
    EXPECT_TRUE(answer.is_applied);
    EXPECT_THAT(answer.text, HasSubstr("layer, load_checkpoint"));
    EXPECT_TRUE(MegatronSpanGroup::layer.enabled());
    EXPECT_TRUE(SpanGroup::optimizer.enabled());
    EXPECT_FALSE(MegatronSpanGroup::microbatch.enabled());
    EXPECT_EQ(process.ask("").text, "");
    EXPECT_TRUE(enabled_span_groups().empty());
    EXPECT_EQ(process.ask("Group_of_a_library,job").text, "group_of_a_library, job");
    EXPECT_TRUE(own_group.enabled());
  });
}

// Contract: 1.set
TEST(Control, LeavesTheGroupsWhereAWordIsUnknown) {
  in_a_process([](Controlled& process) {
    const trace::GroupAnswer answer = process.ask("step,\x1b[31mred");
    EXPECT_FALSE(answer.is_applied);
    EXPECT_THAT(answer.text, HasSubstr("unknown span group or preset \"?[31mred\""));
    EXPECT_EQ(enabled_span_groups(), GroupSet(SpanGroup::job));
  });
}

TEST(Control, IsOneProgramsAtATime) {
  in_a_process([](Controlled& process) {
    trace::GroupRequest first(process.path());
    EXPECT_TRUE(first.write("step"));
    trace::GroupRequest second(process.path());
    EXPECT_FALSE(second.write("job"));
    EXPECT_FALSE(second.read_answer());
    EXPECT_EQ(Controlled::answer_of(first).text, "step");
  });
}

TEST(Control, WithAnythingInItHarmsNobody) {
  in_a_process([](Controlled& process) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    constexpr std::size_t request = offsetof(ControlBlock, request), spec = offsetof(ControlBlock, spec);
    for (const std::string& text : {std::string(sizeof ControlBlock::spec, '\xff'), std::string(1024, ','),
                                    std::string(1024, 'a'), std::string("step\0,job", 9)}) {
      process.store(spec, text);
      for (const std::uint64_t number : {most - 1, most, std::uint64_t{3}, std::uint64_t{1} << 63, std::uint64_t{0}}) {
        process.store(request, number);
        EXPECT_TRUE(process.goes_on());
      }
    }
    process.store(request, std::uint64_t{77});  // of one who died while he wrote
    EXPECT_EQ(process.ask("step").text, "step");
    process.store(request, most);
    EXPECT_EQ(process.ask("job").text, "job");
  });
}

TEST(Control, WithAnythingInItIsReadByWhoAsks) {
  in_a_process([](Controlled& process) {
    trace::GroupRequest request(process.path());
    EXPECT_TRUE(request.write("step"));
    EXPECT_EQ(Controlled::answer_of(request).text, "step");
    process.store(offsetof(ControlBlock, outcome), std::string(4, '\xff'));
    process.store(offsetof(ControlBlock, answer), std::string(sizeof ControlBlock::answer, 'x'));
    ASSERT_TRUE(request.read_answer());
    EXPECT_FALSE(request.read_answer()->is_applied);
    EXPECT_EQ(request.read_answer()->text.size(), sizeof ControlBlock::answer);
    process.store(offsetof(ControlBlock, answered), std::uint64_t{99});
    EXPECT_FALSE(request.read_answer());
  });
}

}  // namespace
}  // namespace lens::tests
