// SPDX-License-Identifier: Apache-2.0
// What the library has to say, on its way to Config::on_error. Background failures: the same line at most once in
// a minute.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lens::telemetry {

using ErrorSink = std::function<void(std::string_view)>;

/// Where set-up and shutdown say what the program's owner must know: a mistyped variable, spans that were lost.
inline ErrorSink announcing(const ErrorSink& on_error) {
  if (on_error) return on_error;
  return
      [](std::string_view line) { std::fprintf(stderr, "lens: %.*s\n", static_cast<int>(line.size()), line.data()); };
}

/// What set-up warns of is the same on thousands of ranks: without `on_error`, that of rank 0 is enough.
inline void tell_warnings(const std::vector<std::string>& warnings, const ErrorSink& on_error, int rank) {
  if (!on_error && rank != 0) return;
  const ErrorSink announce = announcing(on_error);
  for (const std::string& warning : warnings) announce(warning);
}

inline ErrorSink rate_limited(ErrorSink sink) {
  if (!sink) return [](std::string_view) {};
  struct State {
    std::mutex mutex;
    std::unordered_map<std::string, std::chrono::steady_clock::time_point> last;
  };
  return [sink = std::move(sink), state = std::make_shared<State>()](std::string_view line) {
    constexpr std::chrono::minutes quiet{1};
    constexpr std::size_t max_lines = 64;
    try {
      std::unique_lock lock(state->mutex);
      const auto now = std::chrono::steady_clock::now();
      const auto [known, is_new] = state->last.try_emplace(std::string(line), now);
      if (!is_new && now - known->second < quiet) return;
      known->second = now;
      if (state->last.size() > max_lines) state->last.clear();
      lock.unlock();
      sink(line);
    } catch (...) {
      // What the callback throws must not end the pipeline.
    }
  };
}

}  // namespace lens::telemetry
