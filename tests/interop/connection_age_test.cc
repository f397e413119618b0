// SPDX-License-Identifier: Apache-2.0
// A collector that ends each connection when it is a second old, as operators have it behind a load balancer.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/export/certificates.h"
#include "tests/export/exporter_under_test.h"
#include "tests/interop/receiver.h"

namespace lens::tests {
namespace {

class ConnectionAge : public testing::TestWithParam<bool> {};

// Contract: 7.lost-trailers
TEST_P(ConnectionAge, NoSpanIsMissingAndNoneComesTwice) {
  const auto program = find_peer("otelcol");
  if (!program) GTEST_SKIP() << "otelcol is not installed: scripts/interop-setup";
  const Certificates certificates;
  if (!certificates.made()) GTEST_SKIP() << "no openssl to make certificates with";
  const bool tls = GetParam();
  Collector collector(*program, {.tls = tls ? certificates.of_collector() : "",
                                 .keepalive = "{server_parameters: {max_connection_age: 1s}}"});
  auto options = options_for(OtlpProtocol::grpc, collector.endpoint(OtlpProtocol::grpc));
  if (tls) options.otlp.endpoint.replace(0, 4, "https");
  options.otlp.certificate = certificates.path("ca.pem");
  int count = 0;
  {  // whose connection the collector would wait for when it stops
    ExporterUnderTest exporter(options);
    const auto end = std::chrono::steady_clock::now() + 3s;
    for (; std::chrono::steady_clock::now() < end; ++count) {
      exporter.take(spans_of("a", count, 1, count % 10 == 0 ? 100'000 : 0), 1);
      const auto next = std::chrono::steady_clock::now() + 1ms;
      exporter.until([&] { return std::chrono::steady_clock::now() > next && (*exporter).is_ready(); });
    }
    ASSERT_TRUE(exporter.until_flushed());
    EXPECT_EQ(exporter.exported(), std::uint64_t(count)) << exporter.said();
    EXPECT_EQ(exporter.said(), "");
  }
  auto arrived = span_names(collector.received({}, 0)), sent = names_of("svc", "a", 0, count);
  std::ranges::sort(arrived);
  std::ranges::sort(sent);
  EXPECT_EQ(arrived.size(), sent.size());
  EXPECT_TRUE(arrived == sent);
}

INSTANTIATE_TEST_SUITE_P(With, ConnectionAge, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

}  // namespace
}  // namespace lens::tests
