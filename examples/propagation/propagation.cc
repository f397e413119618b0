// SPDX-License-Identifier: Apache-2.0
// A request to another service: its span there is a child of the one here.
//   NEMO_LENS_ENABLED=1 NEMO_LENS_EXPORTER=console TRACEPARENT=00-…-01 ./propagation
#include <lens/lens.h>
#include <lens/megatron.h>

#include <iostream>
#include <map>
namespace mg = lens::megatron;
using namespace lens::literals;

using Headers = std::map<std::string, std::string>;

void serve(const Headers& headers) {
  const lens::Propagation received = lens::extract(headers);
  auto span = lens::managed_span(mg::SpanGroup::inference, "serve", {.parent = received.context});
  for (const lens::BaggageMember& member : received.baggage) span.set(lens::attribute(member.key, member.value));
}

void call() {
  auto span = lens::managed_span(mg::SpanGroup::inference, "call");
  Headers headers{{"accept", "*/*"}};
  lens::inject(headers);
  serve(headers);
}

int main() try {
  auto config = lens::Config::from_env({.vocabulary = lens::MegatronSpanGroup::vocabulary()});
  auto telemetry = lens::setup_telemetry(config, lens::Rank::from_env());
  call();
} catch (const std::exception& error) {
  std::cerr << "propagation: " << error.what() << '\n';
  return 1;
}
