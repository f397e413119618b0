// SPDX-License-Identifier: Apache-2.0
// Each way to record a span, one after the other.
//   NEMO_LENS_ENABLED=1 NEMO_LENS_SPAN_GROUPS=all NEMO_LENS_EXPORTER=console ./spans
#include <lens/lens.h>
#include <lens/megatron.h>

#include <chrono>
#include <future>
#include <iostream>
#include <numeric>
#include <thread>
#include <vector>
namespace mg = lens::megatron;
using namespace lens::literals;

double norm(const std::vector<double>& x) { return std::inner_product(x.begin(), x.end(), x.begin(), 0.0); }

std::vector<double> forward(int index, std::vector<double> x) {
  auto span = lens::managed_span(
      mg::SpanGroup::layer, mg::layer_forward,
      "megatron.layer"_a = index,           // costs nothing to form
      "norm"_a = [&] { return norm(x); });  // called only when the group is on
  for (double& value : x) value *= 2;
  if (span) span.add_event("doubled", "values"_a = x.size());
  return x;
}

void note_overflow() {
  lens::current_span().set("overflow"_a = true);  // whoever's span it is
}

void evaluate_all() {
  auto evaluate = lens::trace_fn(mg::SpanGroup::evaluate, mg::evaluate_step, [](int batch) { return 1.0 / batch; });
  for (int batch = 1; batch <= 3; ++batch) evaluate(batch);
}

void serve() {
  const auto accepted_at = std::chrono::system_clock::now();
  lens::SpanHandle request =
      lens::start_span(mg::SpanGroup::inference, "request", {.kind = lens::SpanKind::server, .start = accepted_at});
  std::async(std::launch::async, [request = std::move(request)]() mutable {
    {
      auto scope = request.activate();  // current on this thread while the scope lives
      auto decode = lens::managed_span(mg::SpanGroup::inference, "decode");
    }
    request.end();  // or when the handle is destroyed
  }).wait();
}

void load() {
  auto span = lens::managed_span(mg::SpanGroup::data_loading, "load");
  std::jthread worker{lens::with_current_context([] {
    auto shard = lens::managed_span(mg::SpanGroup::data_loading, "shard");  // nests under "load"
  })};
}

void train(int iterations, int interval, lens::SpanContext previous) {
  for (int done = 0; done < iterations; done += interval) {
    auto root = lens::managed_span(mg::SpanGroup::job, mg::train, {.root = true, .links = {previous}});
    previous = root.context();
    for (int i = done; i < std::min(done + interval, iterations); ++i) forward(i, {1.0, 2.0});
  }
}

int main() try {
  const auto began = std::chrono::system_clock::now();
  auto config = lens::Config::from_env({.vocabulary = lens::MegatronSpanGroup::vocabulary()});
  const auto ended = std::chrono::system_clock::now();
  auto telemetry = lens::setup_telemetry(config, lens::Rank::from_env());
  lens::record_span(mg::SpanGroup::job, "startup.configuration", began, ended, "warnings"_a = config.warnings.size());
  lens::SpanContext startup;
  {
    auto job = lens::span_cm("start");  // no group: recorded whenever telemetry is on
    startup = job.context();
    note_overflow();
    evaluate_all();
    serve();
    load();
  }
  train(4, 2, startup);
} catch (const std::exception& error) {
  std::cerr << "spans: " << error.what() << '\n';
  return 1;
}
