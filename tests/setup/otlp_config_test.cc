// SPDX-License-Identifier: Apache-2.0
// The standard OTEL_* variables.
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "lens/config.h"
#include "tests/support/environment.h"

namespace lens {
namespace {

using std::chrono::milliseconds;
using test::Environment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

StandardConfig standard() { return Config::from_env().standard; }

// Contract: 7.protocols
TEST(OtlpConfig, Defaults) {
  Environment environment;
  const StandardConfig config = standard();
  EXPECT_EQ(config.otlp_traces.protocol, OtlpProtocol::grpc);
  EXPECT_EQ(config.otlp_traces.endpoint, "");
  EXPECT_EQ(config.otlp_traces.timeout, milliseconds(10'000));
  EXPECT_EQ(config.otlp_traces.compression, OtlpCompression::none);
  EXPECT_EQ(config.span_batch.schedule_delay, milliseconds(5'000));
  EXPECT_EQ(config.log_batch.schedule_delay, milliseconds(1'000));
  EXPECT_EQ(config.span_batch.export_timeout, milliseconds(30'000));
  EXPECT_EQ(config.metric_export_interval, milliseconds(10'000));
  EXPECT_EQ(config.metric_export_timeout, milliseconds(30'000));
  EXPECT_EQ(config.span_limits.attributes, 128u);
  EXPECT_EQ(config.span_limits.value_length, SpanLimits::unlimited);
  EXPECT_EQ(config.traces_sampler, "parentbased_always_on");
  EXPECT_THAT(config.propagators, ElementsAre("tracecontext", "baggage"));
}

// Contract: 2.otlp
TEST(OtlpConfig, TheGeneralFormReachesEverySignal) {
  Environment environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"},
                          {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                          {"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x,a=b"},
                          {"OTEL_EXPORTER_OTLP_TIMEOUT", "30"},
                          {"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"},
                          {"OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"},
                          {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem"},
                          {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "client.pem"},
                          {"OTEL_EXPORTER_OTLP_INSECURE", "true"}};
  const StandardConfig config = standard();
  for (const OtlpConfig* otlp : {&config.otlp_traces, &config.otlp_metrics, &config.otlp_logs}) {
    EXPECT_EQ(otlp->endpoint, "http://collector:4318");
    EXPECT_FALSE(otlp->endpoint_is_full);
    EXPECT_EQ(otlp->protocol, OtlpProtocol::http_protobuf);
    EXPECT_THAT(otlp->headers, ElementsAre(Pair("authorization", "Bearer x"), Pair("a", "b")));
    EXPECT_EQ(otlp->timeout, milliseconds(30));
    EXPECT_EQ(otlp->compression, OtlpCompression::gzip);
    EXPECT_EQ(otlp->certificate, "ca.pem");
    EXPECT_EQ(otlp->client_key, "key.pem");
    EXPECT_EQ(otlp->client_certificate, "client.pem");
    EXPECT_TRUE(otlp->insecure);
  }
}

// Contract: 2.standard-exporters
TEST(StandardExporters, ChooseWhereNoPrefixedVariableDoes) {
  Environment environment{{"OTEL_TRACES_EXPORTER", "Console"}, {"OTEL_METRICS_EXPORTER", "none"}};
  Config config = Config::from_env();
  EXPECT_EQ(config.exporter, "console");
  EXPECT_FALSE(config.metrics_enabled);
  EXPECT_TRUE(config.traces_enabled);
  EXPECT_THAT(config.warnings, ElementsAre());
  environment.set("NEMO_LENS_EXPORTER", "file");
  environment.set("NEMO_LENS_METRICS_ENABLED", "1");
  config = Config::from_env();
  EXPECT_EQ(config.exporter, "file");
  EXPECT_TRUE(config.metrics_enabled);
  EXPECT_THAT(config.warnings, ElementsAre());
  environment.unset("NEMO_LENS_EXPORTER");
  environment.set("OTEL_METRICS_EXPORTER", "otlp");
  EXPECT_THAT(Config::from_env().warnings, ElementsAre(HasSubstr("OTEL_METRICS_EXPORTER=otlp is passed over")));
}

// Contract: 2.standard-exporters
TEST(StandardExporters, OfMetricsOrLogsAloneChooseNothing) {
  for (const std::string name : {"OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"}) {
    const Environment environment{{name.c_str(), "console"}};
    const Config config = Config::from_env();
    EXPECT_EQ(config.exporter, "otlp");
    EXPECT_THAT(config.warnings, ElementsAre(HasSubstr(name + "=console is passed over: signals share one exporter")));
  }
}

// Contract: 2.standard-exporters
TEST(StandardExporters, OfNoneTurnTheirSignalOff) {
  const Environment environment{{"OTEL_TRACES_EXPORTER", "none"}};
  EXPECT_FALSE(Config::from_env().traces_enabled);
  EXPECT_TRUE(Config::from_env().metrics_enabled);
  EXPECT_EQ(Config::from_env().exporter, "otlp");
}

// Contract: 2.standard-exporters
TEST(StandardExporters, ThatAreUnknownWarnAndCountAsUnset) {
  const Environment environment{{"OTEL_TRACES_EXPORTER", "zipkin"}};
  EXPECT_EQ(Config::from_env().exporter, "otlp");
  EXPECT_THAT(Config::from_env().warnings, ElementsAre(HasSubstr("zipkin")));
}

// Contract: 2.mistyped-standard
TEST(StandardVariables, ThatAreAlmostOneThatIsReadAreReported) {
  const Environment environment{{"OTEL_EXPORTER_OTPL_ENDPOINT", "http://c:4317"},
                                {"OTEL_EXPORTER_OTLP_TRACE_HEADERS", "a=b"},
                                {"OTEL_LOG_LEVEL", "debug"},
                                {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "all"},
                                {"OTEL_EXPORTER_PROMETHEUS_PORT", "9464"}};
  EXPECT_THAT(Config::from_env().warnings, ElementsAre(HasSubstr("did you mean OTEL_EXPORTER_OTLP_TRACES_HEADERS?"),
                                                       HasSubstr("did you mean OTEL_EXPORTER_OTLP_ENDPOINT?")));
}

// Contract: 7.zstd
TEST(OtlpConfig, ZstdIsForHttp) {
  Environment environment{{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"},
                          {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
                          {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"}};
  const Config config = Config::from_env();
  EXPECT_EQ(config.standard.otlp_traces.compression, OtlpCompression::none);
  EXPECT_EQ(config.standard.otlp_metrics.compression, OtlpCompression::zstd);
  EXPECT_THAT(config.warnings, testing::Contains(testing::HasSubstr("OTEL_EXPORTER_OTLP_COMPRESSION: \"zstd\"")));
}

// Contract: 2.otlp
TEST(OtlpConfig, TheFormOfOneSignalWinsForThatSignalAlone) {
  Environment environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://all"},
                          {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces/path"},
                          {"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "http/json"},
                          {"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "7"}};
  const StandardConfig config = standard();
  EXPECT_EQ(config.otlp_traces.endpoint, "http://traces/path");
  EXPECT_TRUE(config.otlp_traces.endpoint_is_full);
  EXPECT_EQ(config.otlp_metrics.endpoint, "http://all");
  EXPECT_FALSE(config.otlp_metrics.endpoint_is_full);
  EXPECT_EQ(config.otlp_logs.protocol, OtlpProtocol::http_json);
  EXPECT_EQ(config.otlp_traces.protocol, OtlpProtocol::grpc);
  EXPECT_EQ(config.otlp_metrics.timeout, milliseconds(7));
  EXPECT_EQ(config.otlp_logs.timeout, milliseconds(10'000));
}

TEST(OtlpConfig, AMalformedFormOfOneSignalLeavesTheGeneralOne) {
  Environment environment{{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}, {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "HTTP"}};
  const Config config = Config::from_env();
  EXPECT_EQ(config.standard.otlp_traces.protocol, OtlpProtocol::http_json);
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")));
}

// Contract: 2.malformed-standard, 7.protocols, D16
TEST(OtlpConfig, MalformedValuesWarnOnceAndKeepTheDefault) {
  const std::initializer_list<std::pair<const char*, const char*>> malformed{
      {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
      {"OTEL_EXPORTER_OTLP_PROTOCOL", "carrier"},
      {"OTEL_EXPORTER_OTLP_COMPRESSION", "zip"},
      {"OTEL_EXPORTER_OTLP_INSECURE", "1"},
      {"OTEL_BSP_SCHEDULE_DELAY", "-5"},
      {"OTEL_BLRP_MAX_QUEUE_SIZE", "0"},
      {"OTEL_METRIC_EXPORT_INTERVAL", "0"},
      {"OTEL_METRIC_EXPORT_TIMEOUT", "soon"},
      {"OTEL_SPAN_EVENT_COUNT_LIMIT", "many"},
      {"OTEL_TRACES_SAMPLER", "sometimes"},
      {"OTEL_TRACES_SAMPLER_ARG", "2"},
      {"OTEL_PROPAGATORS", "pigeon"},
      {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1.5"}};
  for (const auto& [name, value] : malformed) {
    Environment environment{{name, value}};
    EXPECT_THAT(Config::from_env().warnings, ElementsAre(testing::AllOf(HasSubstr(name), HasSubstr(value))));
  }
  Environment environment{{"OTEL_METRIC_EXPORT_INTERVAL", "10s"},
                          {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"},
                          {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuff"}};
  EXPECT_EQ(standard().otlp_traces.protocol, OtlpProtocol::grpc);
  EXPECT_EQ(standard().metric_export_interval, milliseconds(10'000));
  EXPECT_EQ(standard().otlp_logs.timeout, milliseconds(10'000));
}

// Contract: 7.headers
TEST(OtlpConfig, MalformedHeadersAreReportedWithoutTheirValues) {
  for (const std::string name : {"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"})
    for (const auto& [value, item] : {std::pair{"Authorization: Bearer SECRET", "1"},
                                      {"a=b,SECRET", "2"},
                                      {"a=b,,c=SECRET%zz", "3"},
                                      {"=SECRET", "1"}}) {
      const Environment environment{{name.c_str(), value}};
      const Config config = Config::from_env();
      EXPECT_THAT(config.warnings,
                  ElementsAre(name + ": item " + item + " is not key=value, percent-encoded; it is passed over"));
      EXPECT_THAT(config.standard.otlp_traces.headers, IsEmpty());
    }
}

// Contract: 7.headers
TEST(OtlpConfig, HeadersThatAreNotSentAreReportedOnceWithoutTheirValues) {
  Environment environment{
      {"OTEL_EXPORTER_OTLP_HEADERS",
       "content-type=SECRET,fine=SECRET,x-key=SECRET%0Ax,y%0Az=SECRET,Authorization: Basic SECRET=="}};
  const std::string of_name = " is not sent: no header has such a name; it is written as name=value";
  EXPECT_THAT(
      Config::from_env().warnings,
      ElementsAre("OTEL_EXPORTER_OTLP_HEADERS: content-type is not sent: the protocol sets it itself",
                  "OTEL_EXPORTER_OTLP_HEADERS: x-key is not sent: no header's value holds a line end or a NUL",
                  "OTEL_EXPORTER_OTLP_HEADERS: header 4" + of_name, "OTEL_EXPORTER_OTLP_HEADERS: header 5" + of_name));
  environment.set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x,a=");
  environment.set("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "TE=trailers");
  EXPECT_THAT(Config::from_env().warnings,
              ElementsAre("OTEL_EXPORTER_OTLP_LOGS_HEADERS: TE is not sent: the protocol sets it itself"));
}

// Contract: C23
TEST(OtlpConfig, AGeneralEndpointThatEndsInTheSignalsPathIsReported) {
  for (const char* endpoint : {"http://c:4318/v1/traces", "http://c:4318/base/v1/traces/"}) {
    Environment environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint},
                            {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}};
    EXPECT_THAT(Config::from_env().warnings,
                ElementsAre(AllOf(HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT ends in /v1/traces"),
                                  HasSubstr("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which takes it as it is"))));
    environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    EXPECT_THAT(Config::from_env().warnings, IsEmpty()) << "no path is appended";
  }
  const Environment environment{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/v1"},
                                {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4318/v1/traces"},
                                {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}};
  EXPECT_THAT(Config::from_env().warnings, IsEmpty());
}

// Contract: 2.batches, 2.metrics, C18
TEST(OtlpConfig, BatchesAreSetForSpansAndForLogRecords) {
  Environment environment{{"OTEL_BSP_SCHEDULE_DELAY", "1"},         {"OTEL_BSP_EXPORT_TIMEOUT", "2"},
                          {"OTEL_BSP_MAX_QUEUE_SIZE", "3"},         {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4"},
                          {"OTEL_BLRP_SCHEDULE_DELAY", "5"},        {"OTEL_BLRP_EXPORT_TIMEOUT", "6"},
                          {"OTEL_BLRP_MAX_QUEUE_SIZE", "7"},        {"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "8"},
                          {"OTEL_METRIC_EXPORT_INTERVAL", "60000"}, {"OTEL_METRIC_EXPORT_TIMEOUT", "9"}};
  const StandardConfig config = standard();
  EXPECT_EQ(config.span_batch.schedule_delay, milliseconds(1));
  EXPECT_EQ(config.span_batch.export_timeout, milliseconds(2));
  EXPECT_EQ(config.span_batch.max_queue_size, 3u);
  EXPECT_EQ(config.span_batch.max_export_batch_size, 4u);
  EXPECT_EQ(config.log_batch.schedule_delay, milliseconds(5));
  EXPECT_EQ(config.log_batch.export_timeout, milliseconds(6));
  EXPECT_EQ(config.log_batch.max_queue_size, 7u);
  EXPECT_EQ(config.log_batch.max_export_batch_size, 8u);
  EXPECT_EQ(config.metric_export_interval, milliseconds(60'000));
  EXPECT_EQ(config.metric_export_timeout, milliseconds(9));
}

// Contract: 2.limits, C18
TEST(OtlpConfig, TheLimitsOfSpansGoBeforeTheGeneralOnes) {
  Environment environment{{"OTEL_ATTRIBUTE_COUNT_LIMIT", "10"},      {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "20"},
                          {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "30"}, {"OTEL_SPAN_EVENT_COUNT_LIMIT", "0"},
                          {"OTEL_SPAN_LINK_COUNT_LIMIT", "40"},      {"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "50"},
                          {"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "60"}};
  const SpanLimits limits = standard().span_limits;
  EXPECT_EQ(limits.attributes, 30u);
  EXPECT_EQ(limits.value_length, 20u);
  EXPECT_EQ(limits.events, 0u);
  EXPECT_EQ(limits.links, 40u);
  EXPECT_EQ(limits.event_attributes, 50u);
  EXPECT_EQ(limits.link_attributes, 60u);
}

TEST(OtlpConfig, TheTraceSamplerAndItsRatio) {
  Environment environment{{"OTEL_TRACES_SAMPLER", "ParentBased_TraceIdRatio"}, {"OTEL_TRACES_SAMPLER_ARG", "0.01"}};
  EXPECT_EQ(standard().traces_sampler, "parentbased_traceidratio");
  EXPECT_EQ(standard().traces_sampler_ratio, 0.01);
}

// Contract: 2.propagators
TEST(OtlpConfig, PropagatorsAreAListWithoutDoublesAndNoneIsNone) {
  Environment environment{{"OTEL_PROPAGATORS", "baggage, tracecontext,baggage"}};
  EXPECT_THAT(standard().propagators, ElementsAre("baggage", "tracecontext"));
  environment.set("OTEL_PROPAGATORS", "none");
  EXPECT_THAT(standard().propagators, IsEmpty());
}

}  // namespace
}  // namespace lens
