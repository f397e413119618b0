// SPDX-License-Identifier: Apache-2.0
// The same spans recorded by LTTng-UST, into a session that scripts/bench-lttng opens and into buffers that drop when
// full. Without a session the tracepoints are off, and that is what is measured: the script says so.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/peers/lttng_tracepoints.h"

#include <benchmark/benchmark.h>

namespace {

constexpr std::uint32_t name = 7;

void span(benchmark::State& state) {
  for (auto _ : state) {
    lttng_ust_tracepoint(lens_bench, begin, name);
    lttng_ust_tracepoint(lens_bench, end, name);
  }
  state.SetItemsProcessed(state.iterations());
}

void span_with_attributes(benchmark::State& state) {
  std::int64_t count = 0;
  for (auto _ : state) {
    lttng_ust_tracepoint(lens_bench, begin_with_attributes, name, count, 0.5 * double(count), "sixteen letters.");
    lttng_ust_tracepoint(lens_bench, end, name);
    ++count;
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(span)->Name("lttng/attributes:0");
BENCHMARK(span_with_attributes)->Name("lttng/attributes:3");

}  // namespace

BENCHMARK_MAIN();
