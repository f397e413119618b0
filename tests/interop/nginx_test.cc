// SPDX-License-Identifier: Apache-2.0
// nginx as a proxy of gRPC before the collector, with limits of its own.
#include <gmock/gmock.h>

#include "tests/export/exporter_under_test.h"
#include "tests/interop/receiver.h"

namespace lens::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAreArray;

class Nginx : public testing::Test {
 protected:
  void SetUp() override {
    const auto otelcol = find_peer("otelcol"), nginx = find_peer("nginx");
    if (!otelcol || !nginx) GTEST_SKIP() << "otelcol or nginx is not installed: scripts/interop-setup";
    program_ = *nginx;
    collector_.emplace(*otelcol);
  }

  void start_nginx(const std::string& settings = "") {
    nginx_.emplace(std::vector<std::string>{program_, "-p", directory_.path(), "-c", configuration(settings)},
                   std::vector<int>{port_}, directory_.path() / "log");
  }

  exporting::OtlpExporterOptions options() const {
    return options_for(OtlpProtocol::grpc, "http://127.0.0.1:" + std::to_string(port_));
  }

  TemporaryDirectory directory_;
  std::optional<Collector> collector_;

 private:
  std::string configuration(const std::string& settings) const {
    const std::string of_collector = collector_->endpoint(OtlpProtocol::grpc).substr(std::string("http://").size());
    std::string places;
    for (const char* module : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
      places += std::string(module) + "_temp_path " + module + "; ";
    return directory_.write("nginx.conf",
                            "daemon off; master_process off; pid nginx.pid; error_log stderr;\n"
                            "events {}\n"
                            "http { access_log off; " +
                                places + "\n  server { listen 127.0.0.1:" + std::to_string(port_) + " http2; " +
                                settings +
                                "\n"
                                "    location / { grpc_pass grpc://" +
                                of_collector + "; } } }\n");
  }

  const int port_ = free_port();
  std::string program_;
  std::optional<PeerProcess> nginx_;
};

// It ends a connection after three requests, at the moment of the third answer: that libcurl 7.88 may lose. Nothing
// else comes twice. Contract: 7.lost-trailers
TEST_F(Nginx, PassesOnEverySpan) {
  start_nginx("keepalive_requests 3;");
  ExporterUnderTest exporter(options());
  constexpr int count = 50;
  for (int i = 0; i < count; ++i) {
    exporter.take(spans_of("a", i, 1), 1);
    if (i % 5 != 0) continue;
    ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  }
  ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  EXPECT_EQ(exporter.exported(), std::uint64_t{count});
  auto names = span_names(collector_->received({}, 0));
  EXPECT_EQ(names.size(), count + (*exporter).counts().retries);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  EXPECT_THAT(names, UnorderedElementsAreArray(names_of("svc", "a", 0, count)));
  if ((*exporter).counts().retries > 0) {
    EXPECT_THAT(exporter.said(), StartsWith("no whole answer from"));
  } else {
    EXPECT_EQ(exporter.said(), "");
  }
}

// Its default is a mebibyte.
// Contract: 7.request-size
TEST_F(Nginx, WhatItFindsTooLargeIsHalvedUntilItFits) {
  start_nginx();
  ExporterUnderTest exporter(options());
  exporter.take(spans_of("a", 0, 10, 300'000) + spans_of("large", 0, 1, 1 << 20) + spans_of("a", 10, 10), 21);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() + exporter.refused() == 21; })) << exporter.said();
  EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"too_large", 1}})) << exporter.said();
  EXPECT_THAT(span_names(collector_->received({}, 0)), UnorderedElementsAreArray(names_of("svc", "a", 0, 20)))
      << exporter.said();
}

// It answers at once, and libcurl 7.88 may find the stream closed before it looks at the answer.
// Contract: 7.grpc-retry
TEST_F(Nginx, ACollectorThatIsAwayBehindItIsTriedAgain) {
  start_nginx();
  collector_->stop();
  ExporterUnderTest exporter(options());
  exporter.take(spans_of("a", 0, 2), 2);
  ASSERT_TRUE(exporter.until([&] { return (*exporter).counts().retries > 5; }));
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_THAT(exporter.said(), AnyOf(HasSubstr("answered HTTP 502"), StartsWith("no whole answer from")));
  EXPECT_THAT(exporter.said(), Not(HasSubstr("does not seem to speak gRPC")));
}

}  // namespace
}  // namespace lens::tests
