// SPDX-License-Identifier: Apache-2.0
// What the OpenTelemetry Collector refuses at its defaults, and what becomes of it.
#include <gmock/gmock.h>

#include "tests/export/exporter_under_test.h"
#include "tests/interop/receiver.h"
#include "tests/interop/ways.h"

namespace lens::tests {
namespace {

class CollectorLimits : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    const auto program = find_peer("otelcol");
    if (!program) GTEST_SKIP() << "otelcol is not installed: scripts/interop-setup";
    collector_.emplace(*program);
  }

  exporting::OtlpExporterOptions options(OtlpProtocol speaks, OtlpProtocol port) const {
    auto options = options_for(speaks, collector_->endpoint(port));
    options.otlp.compression = GetParam().compression;
    return options;
  }
  std::vector<std::string> names_received() { return span_names(collector_->received({}, 0)); }

  std::optional<Collector> collector_;
};

// Its bounds are 4 MiB by gRPC and 20 MiB by HTTP, of what it unpacks.
TEST_P(CollectorLimits, ARequestBeyondThemIsSplitUntilItFits) {
  ExporterUnderTest exporter(options(GetParam().protocol, GetParam().protocol));
  exporter.take(spans_of("a", 0, 50, 500'000), 50);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 50; })) << exporter.said();
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_THAT(names_received(), testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 50)));
}

TEST_P(CollectorLimits, ASpanBeyondThemIsRefusedAndItsNeighboursArrive) {
  ExporterUnderTest exporter(options(GetParam().protocol, GetParam().protocol));
  exporter.take(spans_of("a", 0, 3) + spans_of("large", 0, 1, 21 << 20) + spans_of("a", 3, 3), 7);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() + exporter.refused() == 7; })) << exporter.said();
  EXPECT_EQ(exporter.refused(), 1u);
  EXPECT_THAT(exporter.said(), testing::HasSubstr("large"));
  EXPECT_THAT(names_received(), testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 6)));
}

TEST_P(CollectorLimits, TheOtherProtocolsPortIsNamedInOneWarning) {
  const bool is_grpc = GetParam().protocol == OtlpProtocol::grpc;
  ExporterUnderTest exporter(options(GetParam().protocol, is_grpc ? OtlpProtocol::http_protobuf : OtlpProtocol::grpc));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_THAT(exporter.said(), testing::HasSubstr(is_grpc ? "gRPC port (4317)" : "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"));
  EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
}

INSTANTIATE_TEST_SUITE_P(By, CollectorLimits, testing::ValuesIn(all_ways()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace lens::tests
