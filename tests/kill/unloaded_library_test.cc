// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/kill/child.h"

namespace lens::tests {
namespace {

RecordedTrace trace_of(const char* scenario) {
  constexpr int most_tries = 10, another_try = 3;
  for (int tries = 1;; ++tries) {
    const RunPlace place;
    Child host([&] {
      execl(PLUGIN_HOST, PLUGIN_HOST, place.traces().c_str(), scenario, PLUGIN_A, PLUGIN_B, nullptr);
      _exit(99);
    });
    const int status = host.wait();
    if (WEXITSTATUS(status) == another_try && tries < most_tries) continue;
    EXPECT_EQ(status, 0);
    return place.trace();
  }
}

// Contract: C16
TEST(UnloadedLibrary, KeepsItsNamesThoughAnotherTakesItsPlace) {
  const RecordedTrace trace = trace_of("replace");
  EXPECT_EQ(trace.names(), "a inner a outer b inner b outer");
  for (const std::string name : {"a", "b"}) {
    EXPECT_EQ(trace.only(name + " outer").attributes, (Attributes{{name + "_size", name}}));
    EXPECT_EQ(trace.only(name + " inner").parent_id, trace.only(name + " outer").span_id);
  }
}

// Contract: C16
TEST(UnloadedLibrary, SharesTheSwitchOfAGroupOfOneName) { EXPECT_EQ(trace_of("share").names(), "a inner b inner"); }

TEST(UnloadedLibrary, LoadedAfterTheGroupsWereSetFollowsThem) { EXPECT_EQ(trace_of("load late").names(), "b outer"); }

}  // namespace
}  // namespace lens::tests
