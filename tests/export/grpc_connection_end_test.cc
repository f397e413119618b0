// SPDX-License-Identifier: Apache-2.0
// OTLP/gRPC where the server ends the connection beside its answer, as collectors and gateways do with old ones.
#include <gmock/gmock.h>

#include "src/export/compression.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/http2_peer.h"

namespace lens::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t any_stream = 0x7fffffff;
const std::string empty_message(5, '\0');

std::string success(std::uint32_t stream, std::string_view message = empty_message) {
  return http2::response_headers(stream) + http2::data(stream, message);
}

std::string status_ok(std::uint32_t stream) { return http2::trailers(stream, {{"grpc-status", "0"}}); }

struct Ending {
  const char* name;
  Http2Peer::Answer (*answer)(std::uint32_t stream);
};

const Ending endings[] = {
    {"GoAwayBefore",
     [](std::uint32_t stream) {
       return Http2Peer::Answer{http2::go_away(any_stream) + success(stream) + status_ok(stream)};
     }},
    {"GoAwayBeforeAndClosed",
     [](std::uint32_t stream) {
       return Http2Peer::Answer{http2::go_away(stream) + success(stream) + status_ok(stream), true};
     }},
    {"GoAwayBetween",
     [](std::uint32_t stream) {
       return Http2Peer::Answer{success(stream) + http2::go_away(stream) + status_ok(stream), true};
     }},
    {"GoAwayBehind",
     [](std::uint32_t stream) {
       return Http2Peer::Answer{success(stream) + status_ok(stream) + http2::go_away(stream), true};
     }},
    {"ClosedBehindTheMessage",
     [](std::uint32_t stream) {
       return Http2Peer::Answer{success(stream), true};
     }},
};

class GrpcConnectionEnd : public testing::TestWithParam<Ending> {};

// Contract: 7.lost-trailers
TEST_P(GrpcConnectionEnd, NothingIsSentTwice) {
  Http2Peer peer([](int, std::uint32_t stream) { return GetParam().answer(stream); });
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
  constexpr int batches = 5;
  for (int i = 0; i < batches; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  }
  EXPECT_EQ(exporter.exported(), std::uint64_t{batches});
  EXPECT_EQ(peer.requests(), batches);
  EXPECT_EQ(exporter.said(), "");
}

INSTANTIATE_TEST_SUITE_P(All, GrpcConnectionEnd, testing::ValuesIn(endings),
                         [](const auto& ending) { return std::string(ending.param.name); });

TEST(GrpcConnectionEnds, APartialSuccessIsReadThoughItsTrailersAreLost) {
  Http2Peer peer([](int, std::uint32_t stream) {
    const std::string partial = bytes_field(1, message({varint_field(1, 2), bytes_field(2, "two were bad")}));
    const std::string head = {0, 0, 0, 0, static_cast<char>(partial.size())};
    return Http2Peer::Answer{http2::go_away(stream) + success(stream, head + partial) + status_ok(stream), true};
  });
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  EXPECT_EQ(exporter.exported(), 3u);
  EXPECT_EQ(exporter.refused(), 2u);
  EXPECT_EQ(peer.requests(), 1);
}

// Contract: 7.resent
TEST(GrpcConnectionEnds, ARefusedStreamIsSentAgainFromItsBeginning) {
  for (const std::size_t refused : {0u, 1u}) {
    SCOPED_TRACE(refused);
    Http2Peer peer([&](int number, std::uint32_t stream) {
      if (std::size_t(number) == refused) return Http2Peer::Answer{http2::refused_stream(stream)};
      return Http2Peer::Answer{success(stream) + status_ok(stream)};
    });
    ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
    for (const char* prefix : {"a", "b"}) {
      exporter.take(spans_of(prefix, 0, 40, 10'000), 40);
      ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
    }
    EXPECT_EQ(exporter.exported(), 80u);
    EXPECT_EQ((*exporter).counts().retries, 0u) << "it is libcurl that sends it again";
    EXPECT_EQ(exporter.said(), "");
    const auto bodies = peer.bodies();
    ASSERT_EQ(bodies.size(), 3u);
    EXPECT_TRUE(bodies[refused + 1] == bodies[refused]);
    constexpr std::size_t frame_head_bytes = 5;
    EXPECT_EQ(spans_in(bodies[2].substr(frame_head_bytes)), names_of("svc", "b", 0, 40));
  }
}

TEST(GrpcConnectionEnds, WithinTheMessageIsNoAnswer) {
  Http2Peer peer([](int number, std::uint32_t stream) {
    if (number > 0) return Http2Peer::Answer{success(stream) + status_ok(stream)};
    return Http2Peer::Answer{success(stream, empty_message.substr(1)), true};
  });
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  EXPECT_EQ(exporter.exported(), 2u);
  EXPECT_EQ(peer.requests(), 2);
}

std::string compressed_message(const std::string& gzip, std::size_t claimed_bytes) {
  return std::string({1, 0, 0, 0, static_cast<char>(claimed_bytes)}) + gzip;
}

// The server says that it has taken the spans: they are, whatever has become of its words.
// Contract: C22
TEST(GrpcConnectionEnds, ASuccessWhoseMessageIsCutOrDamagedIsOneAndSaysSo) {
  const std::string gzip = exporting::gzipped(std::string(100, 'x')).value(), half = gzip.substr(0, gzip.size() / 2);
  for (const std::string& message : {compressed_message(half, gzip.size()), compressed_message(half, half.size()),
                                     compressed_message(std::string(gzip.size(), 'x'), gzip.size()),
                                     empty_message.substr(1), std::string({0, 0, 0x50, 0, 0}) + "five MiB"}) {
    Http2Peer peer(
        [&](int, std::uint32_t stream) { return Http2Peer::Answer{success(stream, message) + status_ok(stream)}; });
    ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
    exporter.take(spans_of("a", 0, 2), 2);
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
    EXPECT_EQ(exporter.exported(), 2u);
    EXPECT_EQ(exporter.said(), "the collector's answer is cut or damaged: what it rejected is not known\n");
  }
}

// Contract: C22
TEST(GrpcConnectionEnds, WithinACompressedMessageIsNoAnswerEither) {
  const std::string gzip = exporting::gzipped(std::string(100, 'x')).value();
  Http2Peer peer([&](int number, std::uint32_t stream) {
    if (number > 0) return Http2Peer::Answer{success(stream) + status_ok(stream)};
    return Http2Peer::Answer{success(stream, compressed_message(gzip.substr(0, gzip.size() / 2), gzip.size())), true};
  });
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  EXPECT_EQ(exporter.exported(), 2u);
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_EQ(peer.requests(), 2);
  EXPECT_THAT(exporter.said(), HasSubstr("no whole answer from " + peer.url()));
}

// Contract: 7.wrong-protocol
TEST(GrpcConnectionEnds, AServerThatHasAnsweredIsNotTakenForOneOfAnotherProtocol) {
  Http2Peer peer([](int number, std::uint32_t stream) {
    if (number % 2 == 0) return Http2Peer::Answer{success(stream) + status_ok(stream)};
    return Http2Peer::Answer{http2::go_away(stream - 2), true};
  });
  ExporterUnderTest exporter(options_for(OtlpProtocol::grpc, peer.url()));
  for (int i = 0; i < 4; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  }
  EXPECT_EQ(exporter.exported(), 4u);
  EXPECT_THAT(exporter.said(), Not(HasSubstr("does not seem to speak gRPC")));
}

}  // namespace
}  // namespace lens::tests
