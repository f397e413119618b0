// SPDX-License-Identifier: Apache-2.0
// `lens doctor` asking collectors that are right and wrong for one span.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/examination.h"
#include "tests/export/certificates.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/export/spans.h"

namespace lens::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DoctorProbe : public DoctorCommand {
 protected:
  json probe(const std::string& endpoint, const char* protocol) {
    environment.set("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.c_str());
    environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    const json examination = examine({});
    EXPECT_EQ(examination["probes"].size(), 1u);
    EXPECT_EQ(exit_code, examination["probes"][0]["taken"] ? 0 : 1) << problems(examination);
    return examination["probes"][0];
  }
  json probe_http(int status) {
    HttpPeer peer([&](int, const HttpRequest&) { return answer(status); });
    return probe(peer.url(), "http/protobuf");
  }
  json probe_grpc(int status) {
    GrpcPeer peer([&](int, const GrpcRequest&) { return GrpcAnswer{.status = status}; });
    return probe("http://127.0.0.1:" + std::to_string(peer.port()), "grpc");
  }
};

TEST_F(DoctorProbe, sends_one_span_of_this_service) {
  environment.set("OTEL_SERVICE_NAME", "mine");
  HttpPeer peer(accept_all);
  EXPECT_EQ(probe(peer.url(), "http/protobuf")["cause"], "ok");
  EXPECT_EQ(spans_at(peer), std::vector<std::string>{"mine/lens.doctor"});
  EXPECT_EQ(probe_grpc(0)["taken"], true);
}

TEST_F(DoctorProbe, tells_a_wrong_host_from_a_wrong_port_and_from_silence) {
  const json host = probe("http://" + std::string(70, 'a') + ":4318", "http/protobuf");
  EXPECT_EQ(host["cause"], "host_name");
  EXPECT_THAT(std::string(host["remedy"]), HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT"));
  const json refused = probe("http://127.0.0.1:" + std::to_string(free_port()), "grpc");
  EXPECT_EQ(refused["cause"], "connection");
  EXPECT_THAT(std::string(refused["remedy"]), HasSubstr("4317"));
  BlackHole hole;
  environment.set("OTEL_EXPORTER_OTLP_TIMEOUT", "100");
  const json silent = probe("http://127.0.0.1:" + std::to_string(hole.port()), "http/json");
  EXPECT_EQ(silent["cause"], "timeout");
  EXPECT_THAT(std::string(silent["remedy"]),
              AllOf(HasSubstr("no connection came within 100 ms"), HasSubstr("firewall")));
  HttpPeer busy([](int, const HttpRequest&) { return hang(); });
  const json unanswered = probe(busy.url(), "http/protobuf");
  EXPECT_EQ(unanswered["cause"], "timeout");
  EXPECT_THAT(std::string(unanswered["remedy"]), HasSubstr("no answer came within 100 ms"));
  int mute_port = 0;
  const int mute = listen_on_loopback(mute_port);
  const json half_open = probe("https://127.0.0.1:" + std::to_string(mute_port), "grpc");
  EXPECT_EQ(half_open["cause"], "timeout");
  EXPECT_THAT(std::string(half_open["message"]), HasSubstr("write http://"));
  EXPECT_THAT(std::string(half_open["remedy"]), HasSubstr("no TLS came within 100 ms"));
  close(mute);
}

TEST_F(DoctorProbe, shows_the_proxy_that_stands_before_the_collector) {
  environment.set("http_proxy", ("http://user:hidden@127.0.0.1:" + std::to_string(free_port())).c_str());
  environment.set("no_proxy", "example.com, .internal,10.0.0.7");
  const json probed = probe("http://collector.test:4318", "http/protobuf");
  EXPECT_EQ(probed["proxy"]["variable"], "http_proxy");
  EXPECT_THAT(std::string(probed["remedy"]), HasSubstr("http_proxy has it go through the proxy http://…@127.0.0.1:"));
  EXPECT_THAT(probed.dump(), Not(HasSubstr("hidden")));
  EXPECT_THAT(text({}), HasSubstr("through the proxy http://…@127.0.0.1:"));
  HttpPeer peer(accept_all);
  environment.set("no_proxy", "localhost,127.0.0.1");
  const json past_it = probe(peer.url(), "http/protobuf");
  EXPECT_TRUE(past_it["taken"]);
  EXPECT_EQ(past_it["proxy"], nullptr);
}

TEST_F(DoctorProbe, shows_no_credentials_of_a_proxy_that_cannot_be_used) {
  environment.unset("no_proxy");
  for (const char* url :
       {"http://user:hid@den@127.0.0.1:1", "http://user:hid/den@127.0.0.1:1", "http://user:hid#den@127.0.0.1:1",
        "http://user:hid den@127.0.0.1:1", "http://user:hid@127.0.0.1:99999", "socks9://user:hid@127.0.0.1:1",
        "htp://user:hid@127.0.0.1:1"}) {
    SCOPED_TRACE(url);
    environment.set("http_proxy", url);
    const json probed = probe("http://127.0.0.1:9", "http/protobuf");
    EXPECT_THAT(std::string(probed["message"]), testing::StartsWith("cannot reach the proxy "));
    for (const std::string& shown : {examine({}).dump(), text({}), text({"--all"})}) {
      EXPECT_THAT(shown, Not(HasSubstr("hid")));
      EXPECT_THAT(shown, Not(HasSubstr("den@")));
    }
  }
}

// Of networks, too: it is libcurl that is asked.
// Contract: 7.proxy
TEST_F(DoctorProbe, tells_the_proxy_that_libcurl_takes) {
  HttpPeer peer(accept_all);
  environment.set("http_proxy", "http://127.0.0.1:1");
  for (const char* exceptions :
       {"127.0.0.1", "example.com, 127.0.0.0/8", "127.0.0.1/32", "10.0.0.0/8,127.0.0.1", "*"}) {
    environment.set("no_proxy", exceptions);
    const json probed = probe(peer.url(), "http/protobuf");
    EXPECT_EQ(probed["proxy"], nullptr) << exceptions;
    EXPECT_EQ(probed["taken"], true) << exceptions;
  }
  for (const char* exceptions : {"", "example.com, 10.0.0.0/8", "127.0.0.2/31,localhost", "27.0.0.1"}) {
    environment.set("no_proxy", exceptions);
    const json probed = probe(peer.url(), "http/protobuf");
    EXPECT_EQ(probed["proxy"]["url"], "http://127.0.0.1:1") << exceptions;
    EXPECT_EQ(probed["taken"], false) << exceptions;
  }
  EXPECT_EQ(peer.connections(), 5);
}

TEST_F(DoctorProbe, tells_by_which_variable_libcurl_takes_a_proxy) {
  environment.set("no_proxy", "localhost");
  environment.set("http_proxy", "127.0.0.1:1");
  const std::string plain = "http://127.0.0.1:" + std::to_string(free_port()), tls = "https" + plain.substr(4);
  EXPECT_EQ(probe(plain, "http/protobuf")["proxy"]["variable"], "http_proxy");
  EXPECT_EQ(probe(tls, "http/protobuf")["proxy"], nullptr);
  environment.set("HTTPS_PROXY", "127.0.0.1:2");
  EXPECT_EQ(probe(tls, "http/protobuf")["proxy"], json({{"variable", "HTTPS_PROXY"}, {"url", "127.0.0.1:2"}}));
  environment.unset("HTTPS_PROXY");
  environment.set("all_proxy", "socks5://127.0.0.1:3");
  EXPECT_EQ(probe(tls, "http/protobuf")["proxy"], json({{"variable", "all_proxy"}, {"url", "socks5://127.0.0.1:3"}}));
  environment.unset("all_proxy");
  const json socket = probe("unix:" + directory.path().string() + "/no.sock", "http/protobuf");
  EXPECT_EQ(socket["proxy"], nullptr) << "there is none before a socket";
  EXPECT_THAT(socket.dump(), Not(HasSubstr("127.0.0.1:1")));
}

// Contract: 7.wrong-protocol
TEST_F(DoctorProbe, names_the_protocol_that_the_port_speaks) {
  GrpcPeer grpc([](int, const GrpcRequest&) { return GrpcAnswer{}; });
  const json to_grpc = probe("http://127.0.0.1:" + std::to_string(grpc.port()), "http/protobuf");
  EXPECT_EQ(to_grpc["cause"], "protocol");
  EXPECT_THAT(std::string(to_grpc["message"]), HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=grpc"));
  HttpPeer http(accept_all);
  const json to_http = probe(http.url(), "grpc");
  EXPECT_EQ(to_http["cause"], "protocol");
  EXPECT_THAT(std::string(to_http["message"]), HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"));
}

TEST_F(DoctorProbe, tells_credentials_from_a_wrong_path) {
  for (const int status : {401, 403}) EXPECT_EQ(probe_http(status)["cause"], "credentials") << status;
  for (const int status : {7, 16}) EXPECT_EQ(probe_grpc(status)["cause"], "credentials") << status;
  EXPECT_EQ(probe_http(404)["cause"], "path");
  EXPECT_EQ(probe_grpc(12)["cause"], "path");
  EXPECT_EQ(probe_http(503)["cause"], "other");
}

TEST_F(DoctorProbe, explains_tls) {
  GrpcPeer plain([](int, const GrpcRequest&) { return GrpcAnswer{}; });
  const json to_plain = probe("https://127.0.0.1:" + std::to_string(plain.port()), "grpc");
  EXPECT_EQ(to_plain["cause"], "tls");
  EXPECT_THAT(std::string(to_plain["message"]), HasSubstr("http://"));

  Certificates certificates;
  if (!certificates.made()) GTEST_SKIP() << "no openssl to make certificates with";
  const GrpcPeerOptions options{.tls = true,
                                .certificate = certificates.text("server.pem"),
                                .key = certificates.text("server.key"),
                                .client_authority = certificates.text("ca.pem")};
  GrpcPeer peer([](int, const GrpcRequest&) { return GrpcAnswer{}; }, options);
  const std::string url = "https://127.0.0.1:" + std::to_string(peer.port());
  EXPECT_THAT(std::string(probe(url, "grpc")["remedy"]), HasSubstr("OTEL_EXPORTER_OTLP_CERTIFICATE"));
  environment.set("OTEL_EXPORTER_OTLP_CERTIFICATE", certificates.path("missing.pem").c_str());
  EXPECT_EQ(probe(url, "grpc")["cause"], "tls");
  environment.set("OTEL_EXPORTER_OTLP_CERTIFICATE", certificates.path("ca.pem").c_str());
  const json without = probe(url, "grpc");
  EXPECT_EQ(without["cause"], "tls");
  EXPECT_THAT(std::string(without["message"]), HasSubstr("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"));
  for (const char* protocol : {"grpc", "http/protobuf"}) {
    const json plain_to_tls = probe("http://127.0.0.1:" + std::to_string(peer.port()), protocol);
    EXPECT_EQ(plain_to_tls["cause"], "tls");
    EXPECT_THAT(std::string(plain_to_tls["message"]), HasSubstr("write https://"));
  }
  environment.set("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certificates.path("client.pem").c_str());
  environment.set("OTEL_EXPORTER_OTLP_CLIENT_KEY", certificates.path("client.key").c_str());
  EXPECT_EQ(probe(url, "grpc")["taken"], true);
}

TEST_F(DoctorProbe, names_the_socket_that_nobody_listens_on) {
  const json probed = probe("unix:/nowhere/collector.sock", "grpc");
  EXPECT_EQ(probed["cause"], "connection");
  EXPECT_EQ(probed["message"], "cannot reach unix:/nowhere/collector.sock: No such file or directory");
}

TEST_F(DoctorProbe, asks_the_endpoints_that_other_signals_have_of_their_own) {
  HttpPeer spans(accept_all);
  HttpPeer metrics([](int, const HttpRequest&) { return answer(401); });
  environment.set("OTEL_EXPORTER_OTLP_ENDPOINT", spans.url().c_str());
  environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
  environment.set("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", (metrics.url() + "/m").c_str());
  environment.set("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://127.0.0.1:1/logs");
  const json examination = examine({});
  EXPECT_EQ(exit_code, 1);
  ASSERT_EQ(examination["probes"].size(), 2u) << "logs are off";
  EXPECT_EQ(examination["probes"][0]["taken"], true);
  EXPECT_EQ(examination["probes"][1]["signal"], "metrics");
  EXPECT_EQ(examination["probes"][1]["cause"], "credentials");
  EXPECT_EQ(metrics.requests().at(0).path, "/m");
  EXPECT_EQ(metrics.requests().at(0).body, "");
  EXPECT_THAT(problems(examination), HasSubstr("data points were not taken"));
  EXPECT_THAT(text({}), HasSubstr("An empty request of metrics, sent to " + metrics.url() + "/m"));
}

TEST_F(DoctorProbe, says_once_what_is_wrong_for_every_signal) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(401); });
  environment.set("NEMO_LENS_LOGS_ENABLED", "1");
  environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
  for (const char* signal : {"TRACES", "METRICS", "LOGS"})
    environment.set(("OTEL_EXPORTER_OTLP_" + std::string(signal) + "_ENDPOINT").c_str(),
                    (peer.url() + "/of/" + signal).c_str());
  const json examination = examine({});
  EXPECT_EQ(examination["probes"].size(), 3u);
  ASSERT_EQ(examination["problems"].size(), 1u) << problems(examination);
  EXPECT_THAT(problems(examination), AllOf(HasSubstr("a span, data points, log records were not taken"),
                                           HasSubstr("OTEL_EXPORTER_OTLP_HEADERS")));
}

}  // namespace
}  // namespace lens::tests
