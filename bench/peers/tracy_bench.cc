// SPDX-License-Identifier: Apache-2.0
// The same spans recorded by Tracy, with no viewer connected: built without TRACY_ON_DEMAND, it queues all of them.
#include <benchmark/benchmark.h>

#include <string>
#include <tracy/Tracy.hpp>

namespace {

void span(benchmark::State& state) {
  for (auto _ : state) {
    ZoneScopedN("bench.span");
  }
  state.SetItemsProcessed(state.iterations());
}

void span_with_attributes(benchmark::State& state) {
  std::uint64_t count = 0;
  const std::string text = "sixteen letters.";
  for (auto _ : state) {
    ZoneScopedN("bench.span");
    ZoneValue(count);
    ZoneText(text.data(), text.size());
    ++count;
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(span)->Name("tracy/attributes:0")->Iterations(1'000'000);
BENCHMARK(span_with_attributes)->Name("tracy/attributes:2")->Iterations(1'000'000);

}  // namespace
