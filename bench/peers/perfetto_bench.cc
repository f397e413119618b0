// SPDX-License-Identifier: Apache-2.0
// The same spans recorded by Perfetto's SDK, in its process, into a ring buffer.
#include <benchmark/benchmark.h>
#include <perfetto.h>

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("bench"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

namespace {

void span(benchmark::State& state) {
  for (auto _ : state) {
    TRACE_EVENT("bench", "bench.span");
  }
  state.SetItemsProcessed(state.iterations());
}

void span_with_attributes(benchmark::State& state) {
  std::int64_t count = 0;
  for (auto _ : state) {
    TRACE_EVENT("bench", "bench.span", "bench.count", count, "bench.half", 0.5 * double(count), "bench.text",
                "sixteen letters.");
    ++count;
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(span)->Name("perfetto/attributes:0");
BENCHMARK(span_with_attributes)->Name("perfetto/attributes:3");

}  // namespace

int main(int argc, char** argv) {
  perfetto::TracingInitArgs arguments;
  arguments.backends = perfetto::kInProcessBackend;
  perfetto::Tracing::Initialize(arguments);
  perfetto::TrackEvent::Register();
  perfetto::TraceConfig config;
  config.add_buffers()->set_size_kb(65'536);
  config.add_data_sources()->mutable_config()->set_name("track_event");
  auto session = perfetto::Tracing::NewTrace();
  session->Setup(config);
  session->StartBlocking();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  session->StopBlocking();
}
