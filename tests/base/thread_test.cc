// SPDX-License-Identifier: Apache-2.0
#include "src/base/thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <fstream>
#include <string>
#include <thread>

namespace lens::base {
namespace {

/// What the kernel says of the calling thread, from /proc/thread-self/sched; empty where it does not say it.
std::string scheduler_says(const std::string& key) {
  std::ifstream lines("/proc/thread-self/sched");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) return line.substr(line.rfind(' ') + 1);
  return {};
}

TEST(Thread, ShortSlicesAreTheCallingThreadsAlone) {
  const std::string before = scheduler_says("se.slice");
  std::string within;
  bool asked = false;
  std::thread([&] {
    setpriority(PRIO_PROCESS, 0, 5);
    asked = ask_for_short_slices();
    within = scheduler_says("se.slice");
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 5) << "it stays as nice as it was";
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  }).join();
  EXPECT_EQ(scheduler_says("se.slice"), before);
  if (!asked || within.empty()) GTEST_SKIP() << "this kernel does not tell the slices of threads";
  EXPECT_EQ(within, "100000");
}

}  // namespace
}  // namespace lens::base
