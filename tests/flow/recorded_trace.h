// SPDX-License-Identifier: Apache-2.0
// Runs a piece of a program with telemetry on and reads back what it left in its trace directory.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lens/lens.h"
#include "lens/megatron.h"
#include "tests/support/recorded_span.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {

struct RecordedTrace {
  Attributes resource;
  std::vector<RecordedSpan> spans;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> problems;          // of reading: a sound directory has none
  std::optional<TelemetryCounters> counters;  // as the status file tells; none without one

  /// The one span of this name; fails the test when there is none, or more than one.
  const RecordedSpan& only(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  /// The names, sorted, with a blank between two.
  std::string names() const;
};

RecordedTrace read_trace(const std::filesystem::path& directory);

/// Telemetry on, with every group of Megatron's, to files in `directory`.
Config recording_config(const std::filesystem::path& directory, std::string span_groups = "all");

/// What `body` recorded, with telemetry set up before and shut down after it.
RecordedTrace record(const std::function<void()>& body, const std::function<void(Config&)>& change = {});
RecordedTrace record(std::string span_groups, const std::function<void()>& body);

/// A span that outlives its statement, to be ended in any order or on any thread.
std::unique_ptr<ScopedSpan> open_scope(const Group& group, Name name);

/// Runs `body` in a forked child and returns what waitpid says of it. The child leaves by _exit(0) when `body` returns.
int run_in_child(const std::function<void()>& body);

/// Threads of this process now.
std::size_t thread_count();

}  // namespace lens::tests
