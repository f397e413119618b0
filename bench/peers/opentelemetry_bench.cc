// SPDX-License-Identifier: Apache-2.0
// The same spans recorded by the OpenTelemetry C++ SDK, through a batch processor to an exporter that discards.
#include <benchmark/benchmark.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/exporter.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/provider.h>
#include <opentelemetry/trace/scope.h>

namespace {

namespace otel = opentelemetry;

class Discard : public otel::sdk::trace::SpanExporter {
 public:
  std::unique_ptr<otel::sdk::trace::Recordable> MakeRecordable() noexcept override {
    return std::make_unique<otel::sdk::trace::SpanData>();
  }
  otel::sdk::common::ExportResult Export(
      const otel::nostd::span<std::unique_ptr<otel::sdk::trace::Recordable>>&) noexcept override {
    return otel::sdk::common::ExportResult::kSuccess;
  }
  bool ForceFlush(std::chrono::microseconds) noexcept override { return true; }
  bool Shutdown(std::chrono::microseconds) noexcept override { return true; }
};

otel::nostd::shared_ptr<otel::trace::Tracer> tracer() {
  static const std::shared_ptr<otel::trace::TracerProvider> provider =
      otel::sdk::trace::TracerProviderFactory::Create(otel::sdk::trace::BatchSpanProcessorFactory::Create(
          std::make_unique<Discard>(), otel::sdk::trace::BatchSpanProcessorOptions{}));
  return provider->GetTracer("bench");
}

void span(benchmark::State& state) {
  const auto recorder = tracer();
  for (auto _ : state) {
    auto span = recorder->StartSpan("bench.span");
    otel::trace::Scope scope(span);
    span->End();
  }
  state.SetItemsProcessed(state.iterations());
}

void span_with_attributes(benchmark::State& state) {
  const auto recorder = tracer();
  std::int64_t count = 0;
  for (auto _ : state) {
    auto span = recorder->StartSpan(
        "bench.span",
        {{"bench.count", count}, {"bench.half", 0.5 * double(count)}, {"bench.text", "sixteen letters."}});
    otel::trace::Scope scope(span);
    span->End();
    ++count;
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(span)->Name("opentelemetry/attributes:0");
BENCHMARK(span_with_attributes)->Name("opentelemetry/attributes:3");

}  // namespace
