// SPDX-License-Identifier: Apache-2.0
// What recording costs the caller, beside the floor in the same run; times are per span. After each block of spans the
// ring is given back by hand: the pipeline, which is timed in pipeline_bench.cc, is not running.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/recording.h"
#include "bench/sites.h"

namespace lens::bench {
namespace {

// A block fills a small part of the smallest ring that the benchmarks use.
constexpr std::uint64_t block = 2048;

template <class Block>
void time_blocks(benchmark::State& state, Block&& run, void (*give_back)()) {
  if (!start_recording()) return state.SkipWithError("no memory for rings");
  const std::uint64_t dropped = record::Recorder::instance().dropped();
  const auto began = std::chrono::steady_clock::now();
  while (state.KeepRunningBatch(block)) {
    run();
    give_back();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
  if (record::Recorder::instance().dropped() != dropped) state.SkipWithError("spans were dropped");
  // By the clock, summed over the threads: by processor time two threads would always look like one.
  state.counters["items_per_second"] = double(state.iterations()) / elapsed.count();
}

void nothing() {}

void floor_of_recording(benchmark::State& state) {
  time_blocks(
      state, [] { floor_records(block); }, drain_floor);
}
void empty(benchmark::State& state) {
  time_blocks(
      state, [] { empty_loop(block); }, nothing);
}
void disabled(benchmark::State& state) {
  time_blocks(
      state, [] { disabled_sites(block); }, nothing);
}
void disabled_with_attributes(benchmark::State& state) {
  time_blocks(
      state, [] { disabled_sites_with_attributes(block); }, nothing);
}
void span_without(benchmark::State& state) {
  time_blocks(
      state, [] { spans(block); }, give_ring_back);
}
void span_with_three(benchmark::State& state) {
  time_blocks(
      state, [] { spans_with_attributes(block); }, give_ring_back);
}
void span_with_text_name(benchmark::State& state) {
  const std::string name = "bench.name_formed_at_run_time";
  time_blocks(
      state, [&] { spans_with_text(block, name); }, give_ring_back);
}
// Another thread reads the file of rings all the time, as `lens top` would once a second.
void span_with_reader(benchmark::State& state) {
  if (!start_recording()) return state.SkipWithError("no memory for rings");
  spans(1);  // makes the ring
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> copies{0};
  std::thread reader([&done, &copies, &ring = own_ring(), data = detail::thread_state.ring] {
    std::vector<std::byte> copy(ring.data_bytes);
    for (; !done.load(std::memory_order_relaxed); copies.fetch_add(1, std::memory_order_relaxed)) {
      benchmark::DoNotOptimize(ring.head.position.load(std::memory_order_acquire));
      std::memcpy(copy.data(), data, copy.size());
      benchmark::ClobberMemory();
    }
  });
  while (copies.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
  time_blocks(
      state, [] { spans(block); }, give_ring_back);
  done.store(true);
  reader.join();
}
void span_nested(benchmark::State& state) {
  const auto depth = static_cast<int>(state.range(0));
  time_blocks(
      state, [depth] { nested_spans(block, depth); }, give_ring_back);
}

[[maybe_unused]] const bool registered = [] {
  benchmark::RegisterBenchmark("floor", floor_of_recording);
  benchmark::RegisterBenchmark("empty", empty);
  benchmark::RegisterBenchmark("disabled", disabled);
  benchmark::RegisterBenchmark("disabled/attributes:3", disabled_with_attributes);
  benchmark::RegisterBenchmark("span/attributes:0", span_without);
  benchmark::RegisterBenchmark("span/attributes:3", span_with_three);
  benchmark::RegisterBenchmark("floor", floor_of_recording)->Threads(2);
  benchmark::RegisterBenchmark("span/attributes:0", span_without)->Threads(2);
  benchmark::RegisterBenchmark("span/attributes:3", span_with_three)->Threads(2);
  benchmark::RegisterBenchmark("span/reader", span_with_reader);
  benchmark::RegisterBenchmark("span/text_name", span_with_text_name);
  benchmark::RegisterBenchmark("span/nested", span_nested)->ArgName("depth")->Arg(1)->Arg(8)->Arg(64);
  return true;
}();

}  // namespace
}  // namespace lens::bench
