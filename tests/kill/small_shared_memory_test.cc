// SPDX-License-Identifier: Apache-2.0
// A shared-memory file system that is too small, at set-up and later. It must show itself as drops, never as SIGBUS.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <thread>

#include "tests/kill/child.h"

namespace lens::tests {
namespace {

/// A small tmpfs; none where this user may not mount.
class SmallMemory {
 public:
  explicit SmallMemory(const std::string& size) {
    if (mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, ("size=" + size + ",mode=0700").c_str()) != 0)
      problem_ = strerror(errno);
  }
  ~SmallMemory() {
    if (problem_.empty()) umount2(directory_.path().c_str(), MNT_DETACH);
  }
  const std::filesystem::path& path() const { return directory_.path(); }
  const std::string& problem() const { return problem_; }

 private:
  TemporaryDirectory directory_;
  std::string problem_;
};

#define LENS_SKIP_WITHOUT(memory) \
  if (!(memory).problem().empty()) GTEST_SKIP() << "no tmpfs can be mounted here: " << (memory).problem()

/// Records in a child with its rings in `directory`; the lines that it had to say.
std::string errors_of(const RunPlace& place, const std::filesystem::path& directory,
                      const std::function<void()>& body) {
  const std::filesystem::path errors = place.rings().parent_path() / "errors";
  Child child([&] {
    std::ofstream lines(errors);
    Config config = place.config();
    config.shm_dir = directory;
    config.on_error = [&](std::string_view line) { lines << line << std::endl; };
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    body();
  });
  EXPECT_EQ(child.wait(), 0);
  std::ostringstream text;
  text << std::ifstream(errors).rdbuf();
  return text.str();
}

std::size_t lines_in(const std::string& text) { return std::size_t(std::ranges::count(text, '\n')); }

// Contract: 2.shm
TEST(SmallSharedMemory, AtSetUpMeansPrivateMemorySaidOnce) {
  const SmallMemory memory("64k");
  LENS_SKIP_WITHOUT(memory);
  const RunPlace place;
  const std::string errors = errors_of(place, memory.path(), [] {
    for (int i = 0; i < 1000; ++i) auto span = managed_span(SpanGroup::step, "step");
  });
  EXPECT_EQ(lines_in(errors), 1u) << errors;
  EXPECT_NE(errors.find("private memory"), std::string::npos) << errors;
  EXPECT_EQ(place.trace().count("step"), 1000u);
  EXPECT_TRUE(std::filesystem::is_empty(memory.path()));
}

TEST(SmallSharedMemory, FullOfOthersMeansPrivateMemory) {
  const SmallMemory memory("4m");
  LENS_SKIP_WITHOUT(memory);
  std::ofstream(memory.path() / "others") << std::string(4 << 20, 'x');
  const RunPlace place;
  const std::string errors = errors_of(place, memory.path(), [] { auto span = managed_span(SpanGroup::step, "step"); });
  EXPECT_NE(errors.find("private memory"), std::string::npos) << errors;
  EXPECT_EQ(place.trace().count("step"), 1u);
}

// Room for the file and the first thread's ring, not for a second one.
TEST(SmallSharedMemory, LaterMeansDropsOfThatThread) {
  const SmallMemory memory("4500k");
  LENS_SKIP_WITHOUT(memory);
  const RunPlace place;
  const std::string errors = errors_of(place, memory.path(), [] {
    auto first = managed_span(SpanGroup::step, "first");
    std::thread([] {
      for (int i = 0; i < 10; ++i) auto span = managed_span(SpanGroup::step, "second");
    }).join();
    for (int i = 0; i < 10'000; ++i) auto span = managed_span(SpanGroup::step, "first's child");
  });
  const RecordedTrace trace = place.trace();
  EXPECT_EQ(trace.count("first"), 1u);
  EXPECT_EQ(trace.count("first's child"), 10'000u);
  EXPECT_EQ(trace.count("second"), 0u);
  EXPECT_EQ(trace.counters->spans_dropped, 10u);
  EXPECT_NE(errors.find("telemetry lost 10 of 10011 spans: 10 (no ring for their thread)"), std::string::npos)
      << errors;
}

// Room for the ring, not for a long list of what is open in it.
TEST(SmallSharedMemory, TooSmallForWhatIsOpenIsSaidByRecovery) {
  const SmallMemory memory("4100k");
  LENS_SKIP_WITHOUT(memory);
  const RunPlace place;
  constexpr int count = 5000;
  Child child([&] {
    Config config = place.config();
    config.shm_dir = memory.path();
    auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
    std::deque<SpanHandle> handles;
    for (int i = 0; i < count; ++i) handles.push_back(start_span(SpanGroup::step, "request", {}, attribute("n", i)));
    telemetry.force_flush(std::chrono::seconds(30));
    raise(SIGKILL);
  });
  EXPECT_EQ(child.wait(), SIGKILL);
  auto files = trace::find_ring_files(memory.path(), "");
  ASSERT_EQ(files.size(), 1u);
  const auto recovery = trace::recover(files[0]);
  ASSERT_TRUE(recovery);
  EXPECT_THAT(recovery->problems,
              testing::ElementsAre(testing::StartsWith("ring 1: not all that was open found room; ")));
  EXPECT_GT(recovery->truncated, 10u);
  EXPECT_LT(recovery->truncated, std::uint64_t{count});
}

}  // namespace
}  // namespace lens::tests
