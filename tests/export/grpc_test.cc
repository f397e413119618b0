// SPDX-License-Identifier: Apache-2.0
// OTLP/gRPC against a real gRPC server.
#include <gmock/gmock.h>

#include "tests/export/exporter_under_test.h"
#include "tests/export/fault_proxy.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/retry_info.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr int resource_exhausted = 8, out_of_range = 11, unimplemented = 12;

exporting::OtlpExporterOptions grpc(int port) {
  return options_for(OtlpProtocol::grpc, "http://127.0.0.1:" + std::to_string(port));
}

// Contract: 7.content
TEST(Grpc, CallsTheTraceService) {
  GrpcPeer peer(accept_all_calls);
  auto options = grpc(peer.port());
  options.otlp.headers = {{"Api-Key", "k=1"}};
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 3), 3);
  ASSERT_TRUE(exporter.until_flushed());
  ASSERT_EQ(peer.requests().size(), 1u);
  const GrpcRequest request = peer.requests()[0];
  EXPECT_EQ(request.method, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
  EXPECT_THAT(request.metadata, Contains(Pair("api-key", "k=1")));
  EXPECT_EQ(spans_in(request.message), names_of("svc", "a", 0, 3));
  EXPECT_EQ(exporter.exported(), 3u);
  EXPECT_EQ(exporter.said(), "");
}

// Contract: 7.timeout
TEST(Grpc, SaysHowLongItWaits) {
  GrpcPeer peer(accept_all_calls);
  auto options = grpc(peer.port());
  for (const auto timeout : {7'000ms, 0ms, std::chrono::milliseconds(200'000'000)}) {
    options.otlp.timeout = timeout;
    ExporterUnderTest exporter(options);
    exporter.take(spans_of("a", 0, 1), 1);
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  }
  const auto requests = peer.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_LE(requests[0].timeout, 7s);
  EXPECT_GT(requests[0].timeout, 5s);
  EXPECT_GT(requests[1].timeout, std::chrono::hours(24 * 365)) << "0 is no limit";
  EXPECT_GT(requests[2].timeout, 199'000s) << "more than eight digits of milliseconds go as seconds";
}

TEST(Grpc, SendsManyLargeRequests) {
  GrpcPeer peer(accept_all_calls);
  ExporterUnderTest exporter(grpc(peer.port()));
  constexpr int batches = 40, spans = 20;
  for (int i = 0; i < batches; ++i) {
    exporter.take(spans_of("a", i * spans, spans, 20'000), spans);
    ASSERT_TRUE(exporter.until_flushed());
  }
  std::vector<std::string> names;
  for (const GrpcRequest& request : peer.requests())
    for (const std::string& name : spans_in(request.message)) names.push_back(name);
  EXPECT_EQ(names, names_of("svc", "a", 0, batches * spans));
  EXPECT_EQ(exporter.exported(), batches * std::uint64_t{spans});
}

// Contract: 7.keep-alive
TEST(Grpc, KeepsItsConnection) {
  GrpcPeer peer(accept_all_calls);
  FaultProxy proxy(peer.port(), {});
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, proxy.url()));
  for (int i = 0; i < 5; ++i) {
    exporter.take(spans_of("a", i, 1, 200'000), 1);
    ASSERT_TRUE(exporter.until_flushed());
  }
  EXPECT_EQ(exporter.exported(), 5u);
  EXPECT_EQ(proxy.connections(), 1);
}

TEST(Grpc, AConnectionThatFailedIsNotTakenAgain) {
  GrpcPeer peer(accept_all_calls);
  FaultProxy proxy(peer.port(), {{Fault::Kind::half_open}});
  auto options = options_for(OtlpProtocol::grpc, proxy.url());
  options.otlp.timeout = 2s;
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 4; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    ASSERT_TRUE(exporter.until_flushed());
  }
  EXPECT_EQ(exporter.exported(), 4u);
  EXPECT_EQ(peer.requests().size(), 4u);
  EXPECT_EQ(proxy.connections(), 2);
}

TEST(Grpc, AKeptConnectionThatTheCollectorClosedIsReplacedUnnoticed) {
  auto first = std::make_unique<GrpcPeer>(accept_all_calls);
  const int port = first->port();
  ExporterUnderTest exporter(grpc(port));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  first.reset();
  GrpcPeer second(accept_all_calls, {.address = "127.0.0.1:" + std::to_string(port)});
  for (int i = 0; i < 3; ++i) exporter.take(spans_of("b", i, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 4u);
  EXPECT_EQ(second.requests().size(), 3u);
  EXPECT_EQ(exporter.said(), "");
}

// Contract: C21
TEST(Grpc, CompressesAndReadsACompressedAnswer) {
  GrpcPeer peer([](int, const GrpcRequest&) {
    const std::string partial = message({varint_field(1, 2), bytes_field(2, "two were " + std::string(500, 'x'))});
    return GrpcAnswer{.message = bytes_field(1, partial), .compressed = true};
  });
  auto options = grpc(peer.port());
  options.otlp.compression = OtlpCompression::gzip;
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 5, 10'000), 5);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(spans_in(peer.requests().at(0).message), names_of("svc", "a", 0, 5));
  EXPECT_EQ(exporter.exported(), 3u);
  EXPECT_EQ(exporter.refused(), 2u);
  EXPECT_THAT(exporter.said(), HasSubstr("rejected 2 spans: two were"));
}

class GrpcStatus : public testing::TestWithParam<int> {};

// Contract: 7.grpc-retry
TEST_P(GrpcStatus, IsRetriedWhereTheSpecificationSaysSo) {
  const int status = GetParam();
  const bool retried = status == 1 || status == 4 || status == 10 || status == 11 || status == 14 || status == 15;
  GrpcPeer peer([&](int number, const GrpcRequest&) {
    return number == 0 ? GrpcAnswer{.status = status, .error = "tr\xc3\xa9s 100% bad"} : GrpcAnswer{};
  });
  ExporterUnderTest exporter(grpc(peer.port()));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(peer.requests().size(), retried ? 2u : 1u);
  EXPECT_EQ(exporter.exported(), retried ? 2u : 0u);
  EXPECT_EQ(exporter.refused(), retried ? 0u : 2u);
  EXPECT_THAT(exporter.said(), HasSubstr("tr\xc3\xa9s 100% bad"));
}

INSTANTIATE_TEST_SUITE_P(All, GrpcStatus, testing::Range(1, 17));

// Contract: 7.grpc-retry
TEST(Grpc, ResourceExhaustedIsRetriedAfterItsRetryInfo) {
  GrpcPeer peer([](int number, const GrpcRequest&) {
    if (number > 0) return GrpcAnswer{};
    return GrpcAnswer{
        .status = resource_exhausted, .error = "slow down", .details = status_with_retry_info(0, 300'000'000)};
  });
  ExporterUnderTest exporter(grpc(peer.port()));
  const auto begin = std::chrono::steady_clock::now();
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 300ms);
  EXPECT_EQ(exporter.exported(), 2u);
}

// Contract: 7.request-size
TEST(Grpc, WhatIsTooLargeIsHalvedUntilItIsTaken) {
  GrpcPeer peer(accept_all_calls, {.most_message_bytes = 30'000});
  ExporterUnderTest exporter(grpc(peer.port()));
  exporter.take(spans_of("a", 0, 20, 5'000), 20);
  ASSERT_TRUE(exporter.until_flushed());
  std::vector<std::string> names;
  for (const GrpcRequest& request : peer.requests())
    for (const std::string& name : spans_in(request.message)) names.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 20)));
  EXPECT_EQ(exporter.exported(), 20u);
  EXPECT_EQ(exporter.refused(), 0u);
}

TEST(Grpc, ASpanThatIsTooLargeByItselfIsRefused) {
  GrpcPeer peer(accept_all_calls, {.most_message_bytes = 30'000});
  ExporterUnderTest exporter(grpc(peer.port()));
  exporter.take(spans_of("a", 0, 1, 50'000) + spans_of("a", 1, 1), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
  EXPECT_EQ(exporter.refused(), 1u);
}

TEST(Grpc, OutOfRangeForTheSizeIsNoReasonToTryTheSameAgain) {
  GrpcPeer peer([](int, const GrpcRequest& request) {
    if (request.message.size() < 30'000) return GrpcAnswer{};
    return GrpcAnswer{.status = out_of_range, .error = "decoded message length too large"};
  });
  ExporterUnderTest exporter(grpc(peer.port()));
  exporter.take(spans_of("a", 0, 10, 5'000), 10);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 10u);
}

TEST(Grpc, AnHttpPortIsNamedAsSuchOnce) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(400); });
  auto options = grpc(peer.port());
  TemporaryDirectory directory;
  options.spool = spool_in(directory.path(), 1 << 20, "run");
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"));
  exporter.drain(1s);
  EXPECT_THAT(exporter.announced(), HasSubstr("2 spans wait in"));
}

// Contract: 7.wrong-protocol
TEST(Grpc, AGrpcPortIsNamedAsSuchToHttp) {
  GrpcPeer peer(accept_all_calls);
  auto options = options_for(OtlpProtocol::http_protobuf, "http://127.0.0.1:" + std::to_string(peer.port()));
  ExporterUnderTest exporter(options);
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until([&] { return !exporter.said().empty(); }));
  EXPECT_THAT(exporter.said(), HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=grpc"));
}

TEST(Grpc, AnotherServiceIsNamed) {
  GrpcPeer peer(
      [](int, const GrpcRequest&) { return GrpcAnswer{.status = unimplemented, .error = "unknown service"}; });
  ExporterUnderTest exporter(grpc(peer.port()));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_THAT(exporter.said(), HasSubstr("UNIMPLEMENTED: unknown service; is this the collector's OTLP/gRPC port"));
}

// Contract: 7.unix
TEST(Grpc, SpeaksToASocketOfThisHost) {
  TemporaryDirectory directory;
  const std::string address = "unix:" + (directory.path() / "collector.sock").string();
  GrpcPeer peer(accept_all_calls, {.address = address});
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, address));
  exporter.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_EQ(exporter.exported(), 1u);
}

}  // namespace
}  // namespace lens::tests
