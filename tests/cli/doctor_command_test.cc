// SPDX-License-Identifier: Apache-2.0
// `lens doctor` in environments that are right and wrong, and with collectors that are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/trace_to_send.h"
#include "tests/export/certificates.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/loopback.h"
#include "tests/support/environment.h"

namespace lens::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class DoctorCommand : public testing::Test {
 protected:
  DoctorCommand() {
    environment.set("HOME", directory.path().c_str());
    environment.set("no_proxy", "*");
    environment.set("NEMO_LENS_ENABLED", "1");
    environment.set("NEMO_LENS_RUN_ID", "run");
  }

  json examine(std::vector<std::string> options = {"--offline"}) {
    options.insert(options.begin(), {"doctor", "--json"});
    LensProcess lens(directory, options);
    exit_code = lens.wait();
    EXPECT_EQ(lens.errors(), "");
    return json::parse(lens.output());
  }
  std::string text(std::vector<std::string> options = {"--offline"}) {
    options.insert(options.begin(), "doctor");
    LensProcess lens(directory, options);
    exit_code = lens.wait();
    return lens.output();
  }
  /// Of the first variable with this key.
  static json setting(const json& examination, const std::string& key) {
    for (const json& setting : examination["settings"])
      if (setting["key"] == key) return setting;
    return nullptr;
  }
  static std::string problems(const json& examination) { return examination["problems"].dump(); }

  TemporaryDirectory directory;
  lens::test::Environment environment;
  int exit_code = -1;
};

TEST_F(DoctorCommand, finds_nothing_where_nothing_is_wrong) {
  const json examination = examine();
  EXPECT_EQ(exit_code, 0) << problems(examination);
  EXPECT_EQ(examination["process"]["exports"], true);
  EXPECT_THAT(text(), HasSubstr("No problem was found."));
}

TEST_F(DoctorCommand, says_where_each_value_comes_from) {
  environment.set("MEGATRON_OTEL_SPAN_GROUPS", "per_step");
  environment.set("MEGATRON_OTEL_RANK_STRATEGY", "all_ranks");
  environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
  environment.set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc");
  const json examination = examine({"--offline", "--prefix", "MEGATRON_OTEL"});
  EXPECT_EQ(exit_code, 0) << problems(examination);
  EXPECT_EQ(setting(examination, "SPAN_GROUPS")["value"], "per_step");
  EXPECT_EQ(setting(examination, "SPAN_GROUPS")["variable"], "MEGATRON_OTEL_SPAN_GROUPS");
  EXPECT_EQ(setting(examination, "ENABLED")["variable"], "NEMO_LENS_ENABLED");
  EXPECT_EQ(setting(examination, "EXPORT_STRATEGY")["variable"], "MEGATRON_OTEL_RANK_STRATEGY");
  EXPECT_EQ(setting(examination, "EXPORT_RANK")["value"], "-1");
  EXPECT_EQ(setting(examination, "EXPORT_RANK")["variable"], nullptr);
  EXPECT_EQ(setting(examination, "OTEL_EXPORTER_OTLP_PROTOCOL")["variable"], "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
  EXPECT_THAT(examination["process"]["groups"], Contains("communication"));
  EXPECT_THAT(text({"--offline", "--prefix", "MEGATRON_OTEL"}), HasSubstr("MEGATRON_OTEL_SPAN_GROUPS\n"));
}

TEST_F(DoctorCommand, names_the_variable_that_a_mistyped_one_is_like) {
  environment.set("NEMO_LENS_SPAN_GRUPS", "all");
  EXPECT_THAT(problems(examine()), HasSubstr("did you mean NEMO_LENS_SPAN_GROUPS?"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, says_that_a_program_of_another_prefix_is_meant) {
  environment.set("MEGATRON_OTEL_SPAN_GROUPS", "all");
  EXPECT_THAT(problems(examine()), HasSubstr("--prefix MEGATRON_OTEL"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, says_what_set_up_would_throw) {
  environment.set("NEMO_LENS_SPAN_GROUPS", "step,nothing");
  EXPECT_THAT(problems(examine()), AllOf(HasSubstr("set-up would throw"), HasSubstr("nothing"), HasSubstr("per_step")));
  environment.set("NEMO_LENS_SPAN_GROUPS", "step");
  environment.set("NEMO_LENS_EXPORT_RANK", "last");
  const json examination = examine();
  EXPECT_THAT(problems(examination), HasSubstr("NEMO_LENS_EXPORT_RANK"));
  EXPECT_EQ(examination["problems"].size(), 1u);
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, passes_a_malformed_standard_variable_over_as_the_library_does) {
  environment.set("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon");
  environment.set("OTEL_EXPORTER_OTLP_TIMEOUT", "3000");
  const json examination = examine();
  EXPECT_EQ(setting(examination, "OTEL_EXPORTER_OTLP_TIMEOUT")["value"], "3000");
  EXPECT_THAT(problems(examination), HasSubstr("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"));
}

TEST_F(DoctorCommand, explains_whether_this_rank_exports) {
  environment.set("SLURM_PROCID", "2");
  environment.set("SLURM_NTASKS", "8");
  const json of_rank_2 = examine()["process"];
  EXPECT_EQ(of_rank_2["exports"], false);
  EXPECT_EQ(of_rank_2["why"], "strategy single_rank does not choose rank 2 of 8");
  EXPECT_EQ(of_rank_2["rank_source"], "from SLURM_PROCID and SLURM_NTASKS");
  EXPECT_EQ(exit_code, 0);
  environment.set("NEMO_LENS_EXPORT_RANK", "9");
  EXPECT_THAT(problems(examine()), HasSubstr("nothing will be exported"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, says_that_telemetry_is_off_and_what_it_would_do) {
  environment.unset("NEMO_LENS_ENABLED");
  const json examination = examine();
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(problems(examination), HasSubstr("set NEMO_LENS_ENABLED=1"));
  EXPECT_EQ(examination["process"]["exports"], true);
  EXPECT_THAT(text(), HasSubstr("no: telemetry is off; else, strategy single_rank chooses rank 0 of 1"));
}

TEST_F(DoctorCommand, finds_a_directory_that_cannot_be_written) {
  directory.write("file", "");
  environment.set("NEMO_LENS_EXPORTER", "file");
  environment.set("NEMO_LENS_FILE_DIR", (directory.path() / "file/traces").c_str());
  const json examination = examine({});
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(problems(examination), AllOf(HasSubstr("cannot be written"), HasSubstr("NEMO_LENS_FILE_DIR")));
  EXPECT_FALSE(examination.contains("probe"));
}

TEST_F(DoctorCommand, keeps_credentials_to_itself) {
  environment.set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hidden,tenant=hidden");
  EXPECT_THAT(text({"--offline", "--all"}), AllOf(HasSubstr("authorization=…,tenant=…"), Not(HasSubstr("hidden"))));
  EXPECT_THAT(examine().dump(), Not(HasSubstr("hidden")));
}

class DoctorProbe : public DoctorCommand {
 protected:
  json probe(const std::string& endpoint, const char* protocol) {
    environment.set("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.c_str());
    environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    const json examination = examine({});
    EXPECT_EQ(exit_code, examination["probe"]["taken"] ? 0 : 1) << problems(examination);
    return examination["probe"];
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
  EXPECT_THAT(std::string(silent["remedy"]), HasSubstr("within 100 ms"));
}

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
  EXPECT_EQ(probe(url, "grpc")["taken"], false);  // it wants to see a certificate
  environment.set("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certificates.path("client.pem").c_str());
  environment.set("OTEL_EXPORTER_OTLP_CLIENT_KEY", certificates.path("client.key").c_str());
  EXPECT_EQ(probe(url, "grpc")["taken"], true);
}

TEST_F(DoctorCommand, lists_groups_that_were_enabled_and_never_hit) {
  const json groups = examine({"--offline", "--trace", LENS_GOLDEN_DIR "/two_ranks/trace"})["groups"];
  EXPECT_EQ(groups["spec"], "all");
  EXPECT_THAT(groups["hit"], Contains("step"));
  EXPECT_THAT(groups["never_hit"], Contains("load_checkpoint"));
  EXPECT_THAT(groups["hit"], Not(Contains("load_checkpoint")));
  EXPECT_EQ(exit_code, 0);
}

TEST_F(DoctorCommand, refuses_wrong_usage) {
  LensProcess trace(directory, {"doctor", "--offline", "--trace", "nowhere"});
  EXPECT_EQ(trace.wait(), 2);
  EXPECT_THAT(trace.errors(), HasSubstr("nowhere does not exist"));
  LensProcess option(directory, {"doctor", "--vocabulary", "mine"});
  EXPECT_EQ(option.wait(), 2);
}

}  // namespace
}  // namespace lens::tests
