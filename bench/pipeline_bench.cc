// SPDX-License-Identifier: Apache-2.0
// What the pipeline thread pays: from the bytes of a ring to those of OTLP, and on to a compressed message of the trace
// directory.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "bench/recording.h"
#include "bench/sites.h"
#include "src/assemble/assembler.h"
#include "src/otlp/framing.h"
#include "src/record/clock.h"
#include "src/record/names.h"

namespace lens::bench {
namespace {

constexpr std::uint64_t block = 8192;

assemble::ClockReading reading() {
  const auto sample = record::ClockSample::now();
  return {sample.ticks, sample.monotonic_ns, sample.unix_ns};
}

// The records of `block` spans with three attributes, as a thread leaves them in its ring.
struct RecordedSpans {
  std::vector<std::byte> bytes;
  detail::Position first = 0;

  RecordedSpans() {
    spans_with_attributes(1);  // makes the ring, whose first record is not a span
    first = own_ring().head.position.load();
    give_ring_back();
    spans_with_attributes(block);
    const std::byte* from = detail::thread_state.ring + (first & detail::thread_state.mask);
    bytes.assign(from, from + (own_ring().head.position.load() - first));
    give_ring_back();
  }
};

struct Encoding : assemble::SpanSink {
  explicit Encoding(const assemble::TimeLine& time)
      : encoder(record::Names::text, [time](std::uint64_t ticks) { return time.unix_ns(ticks); }, {}, {}) {}
  void on_span(const otlp::SpanRecord& span) override {
    encoder.encode(span, out);
    ++count;
  }
  otlp::SpanEncoder encoder;
  base::Buffer out;
  std::uint64_t count = 0;
};

void assemble_spans(benchmark::State& state, bool compress) {
  if (!start_recording()) return state.SkipWithError("no memory for rings");
  const RecordedSpans recorded;
  const assemble::TimeLine time(reading());
  Encoding sink(time);
  assemble::Assembler assembler(record::Recorder::instance().keys(), time);
  otlp::Framer framer;
  std::uint64_t bytes = 0;
  while (state.KeepRunningBatch(block)) {
    sink.out.clear();
    assembler.begin_cycle(reading());
    assembler.take(recorded.first, recorded.bytes, sink);
    assembler.end_cycle(sink);
    bytes = sink.out.size();
    if (compress) bytes = framer.frame(sink.out.view()).size();
  }
  if (sink.count != std::uint64_t(state.iterations())) state.SkipWithError("spans are missing");
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes_per_span"] = double(bytes) / double(block);
}

void to_otlp(benchmark::State& state) { assemble_spans(state, false); }
void to_file(benchmark::State& state) { assemble_spans(state, true); }

[[maybe_unused]] const bool registered = [] {
  benchmark::RegisterBenchmark("pipeline/otlp", to_otlp);
  benchmark::RegisterBenchmark("pipeline/compressed", to_file);
  return true;
}();

}  // namespace
}  // namespace lens::bench
