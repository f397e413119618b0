// SPDX-License-Identifier: Apache-2.0
// The answers that no server of the other tests gives.
#include "src/export/outcome.h"

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <time.h>

#include <set>
#include <string>
#include <utility>

namespace lens::exporting {
namespace {

using testing::HasSubstr;
using Kind = Outcome::Kind;

const Endpoint endpoint{"http://c:1/v1/traces", {}};

Response http(long status) {
  Response response;
  response.answered = true;
  response.http_status = status;
  response.http_major = 1;
  return response;
}

Response grpc(const std::string& status, const std::string& message = {}) {
  Response response = http(200);
  response.http_major = 2;
  response.grpc_status = status;
  response.grpc_message = message;
  return response;
}

Outcome of_http(const Response& response) { return outcome_of(response, endpoint, OtlpProtocol::http_protobuf); }
Outcome of_grpc(const Response& response) { return outcome_of(response, endpoint, OtlpProtocol::grpc); }

// Contract: C5
TEST(Outcome, RetryAfterIsSecondsOrADate) {
  Response response = http(503);
  response.retry_after = "7";
  EXPECT_EQ(of_http(response).retry_after, std::chrono::seconds(7));
  const time_t soon = time(nullptr) + 100;
  char date[64];
  strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&soon));
  response.retry_after = date;
  const auto delay = of_http(response).retry_after;
  ASSERT_TRUE(delay);
  EXPECT_GE(*delay, std::chrono::seconds(90));
  EXPECT_LE(*delay, std::chrono::seconds(100));
  response.retry_after = "Wed, 21 Oct 2015 07:28:00 GMT";
  EXPECT_EQ(of_http(response).retry_after, std::chrono::seconds(0));
  for (const char* wrong : {"", "soon", "-"}) {
    response.retry_after = wrong;
    EXPECT_FALSE(of_http(response).retry_after) << wrong;
  }
  for (const char* long_one : {"99999999999999", "99999999999999999999"}) {
    response.retry_after = long_one;
    EXPECT_GT(of_http(response).retry_after, std::chrono::hours(24)) << long_one;
  }
  for (const char* past : {"-7", "-99999999999999999999"}) {
    response.retry_after = past;
    EXPECT_EQ(of_http(response).retry_after, std::chrono::seconds(0)) << past;
  }
}

TEST(Outcome, TheRefusalsReasonIsReadInEachForm) {
  Response response = http(400);
  response.content_type = "application/json";
  response.body = R"({"code":3,"message":"no \"id\"\n\u0041\u00e9"})";
  EXPECT_THAT(of_http(response).message, HasSubstr("answered 400: no \"id\" A?"));
  response.content_type = "application/x-protobuf";
  response.body = std::string("\x08\x03\x12\x03", 4) + "bad";
  EXPECT_THAT(of_http(response).message, HasSubstr("answered 400: bad"));
  response.content_type = "text/html";
  response.body = "<html>";
  EXPECT_EQ(of_http(response).message, "http://c:1/v1/traces answered 400");
}

TEST(Outcome, TextFromOutsideIsOneLineOfABoundedLength) {
  const Outcome outcome = of_grpc(grpc("3", "two%0Alines %1B[31m\xff" + std::string(10'000, 'x')));
  EXPECT_EQ(outcome.kind, Kind::refused);
  EXPECT_EQ(outcome.message.find_first_of("\n\x1b"), std::string::npos);
  EXPECT_LT(outcome.message.size(), 1'000u);
}

TEST(Outcome, AGatewaysHttpStatusStandsForGrpcs) {
  for (const long status : {429L, 502L, 503L, 504L}) {
    Response response = grpc("");
    response.http_status = status;
    EXPECT_EQ(of_grpc(response).kind, Kind::retry) << status;
  }
  for (const long status : {400L, 401L, 403L, 500L}) {
    Response response = grpc("");
    response.http_status = status;
    EXPECT_EQ(of_grpc(response).kind, Kind::refused) << status;
  }
  Response response = grpc("");
  response.http_status = 413;
  EXPECT_EQ(of_grpc(response).kind, Kind::too_large);
}

Response grpc_message(const std::string& message) {
  Response response = grpc("");
  response.content_type = "application/grpc";
  response.has_message = true;
  response.body = message;
  return response;
}

const int ways_to_end[] = {CURLE_OK,         CURLE_HTTP2,      CURLE_HTTP2_STREAM,      CURLE_PARTIAL_FILE,
                           CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_OPERATION_TIMEDOUT};

// Contract: 7.lost-trailers
TEST(Outcome, AMessageOfGrpcIsASuccessThoughItsTrailersAreLost) {
  for (const int code : ways_to_end) {
    SCOPED_TRACE(code);
    Response response = grpc_message("");
    response.curl_code = code;
    EXPECT_EQ(of_grpc(response).kind, Kind::accepted);
    EXPECT_EQ(of_grpc(response).message, "");
    response.content_type = "application/grpc+proto";
    response.body = std::string("\x0a\x02\x08\x02", 4);
    EXPECT_EQ(of_grpc(response).kind, Kind::accepted);
    EXPECT_EQ(of_grpc(response).rejected, 2u);
  }
}

TEST(Outcome, AnAnswerThatEndsBeforeItsMessageIsNone) {
  for (const int code : ways_to_end) {
    SCOPED_TRACE(code);
    Response incomplete = grpc_message(""), malformed = grpc_message("\x0a\x10"), page = grpc_message(""),
             gateways = grpc_message("");
    incomplete.has_message = false;
    page.content_type = "text/html";
    gateways.http_status = 503;
    for (Response response : {incomplete, malformed, page, gateways}) {
      response.curl_code = code;
      EXPECT_EQ(of_grpc(response).kind, Kind::retry);
    }
  }
}

TEST(Outcome, AStatusOfGrpcCountsThoughTheConnectionBrokeBehindIt) {
  for (const int code : ways_to_end) {
    SCOPED_TRACE(code);
    Response response = grpc("0");
    response.content_type = "application/grpc";
    response.curl_code = code;
    EXPECT_EQ(of_grpc(response).kind, Kind::accepted);
    response.grpc_status = "3";
    EXPECT_EQ(of_grpc(response).kind, Kind::refused);
    response.grpc_status = "14";
    EXPECT_EQ(of_grpc(response).cause, "UNAVAILABLE");
  }
}

// Contract: 7.wrong-protocol
TEST(Outcome, AServerThatHasSpokenHttp2IsNotTakenForAnother) {
  Response response;
  response.curl_code = CURLE_HTTP2;
  EXPECT_EQ(of_grpc(response).reason, Outcome::Reason::protocol);
  EXPECT_THAT(of_grpc(response).message, HasSubstr("does not seem to speak gRPC"));
  response.by_known_server = true;
  response.error = "why";
  EXPECT_EQ(of_grpc(response).kind, Kind::retry);
  EXPECT_EQ(of_grpc(response).reason, Outcome::Reason::other);
  EXPECT_EQ(of_grpc(response).message, "cannot reach http://c:1: why");
}

TEST(Outcome, AWrongPathIsSaidWithThatOfTheSignal) {
  for (const Signal signal : {Signal::traces, Signal::metrics, Signal::logs}) {
    const std::string path = "/v1/" + std::string(signal_name(signal));
    EXPECT_THAT(outcome_of(http(404), {"http://c:1" + path, {}, signal}, OtlpProtocol::http_protobuf).message,
                HasSubstr("; is the path right? " + path + " is appended to"));
  }
}

TEST(Outcome, RetryInfoIsReadFromDetailsWithAndWithoutPadding) {
  // A Status of code 8 with a RetryInfo of 2.5 seconds.
  const std::string details = "CAgaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIAhCAyrXuAQ";
  for (const std::string& text : {details, details + "=="}) {
    Response response = grpc("8", "quota");
    response.grpc_details = text;
    const Outcome outcome = of_grpc(response);
    EXPECT_EQ(outcome.kind, Kind::retry);
    EXPECT_EQ(outcome.retry_after, std::chrono::milliseconds(2'500));
  }
  Response response = grpc("8", "quota");
  EXPECT_EQ(of_grpc(response).kind, Kind::refused);
  for (const char* garbage : {"!!", "AAAA", "GgUKA2Zv", "////"}) {
    response.grpc_details = garbage;
    EXPECT_EQ(of_grpc(response).kind, Kind::refused) << garbage;
  }
}

struct Success {
  std::string content_type, body;
};

Outcome of_success(const Success& success, OtlpProtocol protocol, long status = 200) {
  Response response = http(status);
  response.content_type = success.content_type;
  response.body = success.body;
  return outcome_of(response, endpoint, protocol);
}

// As the collector, Jaeger, rotel, Prometheus and gateways answer to OTLP/HTTP.
// Contract: 7.no-receiver
TEST(Outcome, WhatRealReceiversAnswerIsASuccess) {
  const std::string protobuf = "application/x-protobuf", json = "application/json";
  const std::string empty_partial("\x0a\x00", 2);
  for (const Success& success : {Success{protobuf, empty_partial},
                                 {protobuf, ""},
                                 {"", ""},
                                 {"", empty_partial},
                                 {"text/plain; charset=utf-8", ""},
                                 {"text/plain", "OK\n"},
                                 {"", "accepted"},
                                 {"text/html", ""},
                                 {"application/octet-stream", empty_partial},
                                 {json, R"({"partialSuccess":{}})"},
                                 {json + "; charset=utf-8", R"({"partialSuccess":null})"},
                                 {json, "{}\n"},
                                 {json, "null"},
                                 {json, "\"ok\""},
                                 {json, ""},
                                 {"text/plain", "{}"}})
    for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json})
      for (const long status : {200L, 202L, 204L}) {
        const Outcome outcome = of_success(success, protocol, status);
        EXPECT_EQ(outcome.kind, Kind::accepted) << success.content_type << ' ' << success.body;
        EXPECT_EQ(outcome.message, "");
      }
}

// Contract: 7.no-receiver
TEST(Outcome, ASuccessOfWhatIsNoReceiverIsNone) {
  const std::string page = "<!DOCTYPE html><html>Log in</html>";
  for (const Success& success : {Success{"text/html; charset=utf-8", page},
                                 {"", page},
                                 {"text/plain", "\n" + page},
                                 {"application/xml", "<ok/>"},
                                 {"image/png", "\x89PNG"},
                                 {"\x01\x02", "x"},
                                 {"application/json", page},
                                 {"application/json", "{\"partialSuccess\":"},
                                 {"application/x-protobuf", page},
                                 {"application/x-protobuf", "\x0a\x10"},
                                 {"", "\xff\xff\xff\xff"},
                                 {"", "\x0a\x02\x08"}})
    for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json}) {
      const Outcome outcome = of_success(success, protocol);
      EXPECT_EQ(outcome.kind, Kind::retry) << success.content_type << ' ' << success.body;
      EXPECT_EQ(outcome.reason, Outcome::Reason::protocol);
      EXPECT_EQ(outcome.cause, "not_otlp");
      EXPECT_THAT(outcome.message, HasSubstr("check OTEL_EXPORTER_OTLP_ENDPOINT"));
    }
}

TEST(Outcome, ALongPageIsNoReceiversThoughItIsNotRead) {
  Response response = http(200);
  response.unread = true;
  EXPECT_EQ(of_http(response).kind, Kind::accepted);
  response.content_type = "text/html";
  EXPECT_EQ(of_http(response).kind, Kind::retry);
}

TEST(Outcome, APartialSuccessIsReadInWhicheverFormItCame) {
  const std::string json = R"({"partialSuccess":{"rejectedSpans":"2"}})", protobuf("\x0a\x02\x08\x02", 4);
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json})
    for (const Success& success : {Success{"application/json", json}, {"", json}, {"application/x-protobuf", protobuf}})
      EXPECT_EQ(of_success(success, protocol).rejected, 2u) << success.body;
}

// Contract: 7.no-receiver
TEST(Outcome, ARedirectIsNoReceiversAnswer) {
  for (const long status : {301L, 302L, 307L}) {
    Response response = http(status);
    response.location = "https://login.example/";
    EXPECT_EQ(of_http(response).kind, Kind::retry);
    EXPECT_EQ(of_http(response).reason, Outcome::Reason::path);
    EXPECT_THAT(of_http(response).message, HasSubstr("https://login.example/"));
  }
}

// Contract: 7.request-size
TEST(Outcome, OnlyWordsAboutTheSizeOfARequestMeanThatItIsTooLarge) {
  Response by_http = http(400);
  by_http.content_type = "text/plain";
  for (const char* text :
       {"http: request body too large", "grpc: received message larger than max (5 vs. 4)",
        "grpc: received message after decompression larger than max (5 vs. 4)",
        "gRPC message exceeds maximum size 4194304: 5000000", "Error, decoded message length too large: found 5 bytes",
        "Received message exceeds the maximum configured message size.", "request entity too large",
        "Payload Too Large"}) {
    by_http.body = text;
    EXPECT_EQ(of_http(by_http).kind, Kind::too_large) << text;
    EXPECT_EQ(of_grpc(grpc("8", text)).kind, Kind::too_large) << text;
  }
  for (const char* text :
       {"at large", "attribute value too large", "TRACE_TOO_LARGE: max size of trace (5000) exceeded while adding 9",
        "request rate limit exceeded", "message queue is full", "largest batch first", "enlarge your quota"}) {
    by_http.body = text;
    EXPECT_EQ(of_http(by_http).kind, Kind::refused) << text;
    EXPECT_EQ(of_grpc(grpc("8", text)).kind, Kind::refused) << text;
  }
}

// Contract: 7.http-retry
TEST(Outcome, WhatWasNeverAnsweredIsRetried) {
  for (const int code : {CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR,
                         CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_SSL_CONNECT_ERROR, CURLE_PARTIAL_FILE}) {
    Response response;
    response.curl_code = code;
    response.error = "why";
    response.by_known_server = true;  // of another one it is a guess what it may be
    for (const Outcome& outcome : {of_http(response), of_grpc(response)}) {
      EXPECT_EQ(outcome.kind, Kind::retry);
      EXPECT_THAT(outcome.message, HasSubstr("why"));
    }
  }
}

// Contract: 7.wrong-protocol
TEST(Outcome, AConnectionThatEndsAtOnceIsTheSameInWhateverWayItEnds) {
  for (const bool tls : {false, true}) {
    const Endpoint of_scheme{tls ? "https://c:1/v1/traces" : "http://c:1/v1/traces", {}};
    for (const OtlpProtocol protocol : {OtlpProtocol::grpc, OtlpProtocol::http_protobuf}) {
      std::set<std::string> messages;
      for (const int code : {CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE}) {
        Response response;
        response.curl_code = code;
        response.error = std::to_string(code);
        const Outcome outcome = outcome_of(response, of_scheme, protocol);
        EXPECT_EQ(outcome.kind, Kind::retry);
        messages.insert(outcome.message);
        response.by_known_server = true;
        EXPECT_EQ(outcome_of(response, of_scheme, protocol).reason, Outcome::Reason::other)
            << "what it speaks is known";
      }
      EXPECT_EQ(messages.size(), 1u) << *messages.begin();
    }
  }
}

// A reset is seen as one of these, as chance has it.
// Contract: 7.wrong-protocol
TEST(Outcome, AConnectionThatIsResetIsTheSameWheneverThatIsSeen) {
  for (const bool tls : {false, true}) {
    const Endpoint of_scheme{tls ? "https://c:1/v1/traces" : "http://c:1/v1/traces", {}};
    for (const OtlpProtocol protocol : {OtlpProtocol::grpc, OtlpProtocol::http_protobuf}) {
      Response at_once;
      at_once.curl_code = CURLE_COULDNT_CONNECT;
      at_once.reset = true;
      at_once.error = "Connection reset by peer";
      Response later = at_once, before_http2 = at_once;
      later.curl_code = tls ? CURLE_SSL_CONNECT_ERROR : CURLE_RECV_ERROR;
      later.error = "Recv failure: Connection reset by peer";
      before_http2.curl_code = CURLE_HTTP2;
      before_http2.error = "Send failure: Connection reset by peer";
      const Outcome outcome = outcome_of(at_once, of_scheme, protocol);
      EXPECT_EQ(outcome.message, outcome_of(later, of_scheme, protocol).message);
      if (!tls) {
        EXPECT_EQ(outcome.message, outcome_of(before_http2, of_scheme, protocol).message);
      }
      EXPECT_TRUE(outcome.same_each_time);
      EXPECT_EQ(outcome.reason, Outcome::Reason::connection);
      EXPECT_THAT(outcome.message, HasSubstr("ended the connection"));
      EXPECT_THAT(outcome.message, HasSubstr(tls ? "write http://" : "write https://"));
    }
  }
  Response refused;
  refused.curl_code = CURLE_COULDNT_CONNECT;
  refused.error = "Connection refused";
  EXPECT_EQ(of_http(refused).message, "cannot reach http://c:1: Connection refused");
}

TEST(Outcome, WhoTakesTheRequestAndDoesNotAnswerIsNotCalledUnreachable) {
  Response response;
  response.curl_code = CURLE_OPERATION_TIMEDOUT;
  response.error = "Operation timed out";
  EXPECT_EQ(of_http(response).message, "cannot reach http://c:1: Operation timed out");
  response.connected = response.begun = true;
  EXPECT_EQ(of_http(response).message, "no answer from http://c:1: Operation timed out");
  EXPECT_EQ(of_grpc(response).message, "no answer from http://c:1: Operation timed out");
  response.http_status = 200;
  EXPECT_EQ(of_http(response).message, "no whole answer from http://c:1: Operation timed out");
}

// Contract: 7.wrong-protocol
TEST(Outcome, AnAnswerOfHttpIsNoGrpcAndLosesNothing) {
  for (const int major : {1, 2})
    for (const long status : {200L, 302L, 404L, 405L, 415L}) {
      Response response = http(status);
      response.http_major = major;
      response.content_type = "text/plain";
      response.body = "404 page not found";
      EXPECT_EQ(of_grpc(response).kind, Kind::retry) << status;
      EXPECT_EQ(of_grpc(response).reason, Outcome::Reason::protocol) << status;
      EXPECT_THAT(of_grpc(response).message, HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"));
    }
}

TEST(Outcome, ARefusalCountsThoughTheRestOfTheRequestWasNotTaken) {
  Response response = http(413);
  response.curl_code = CURLE_SEND_ERROR;
  EXPECT_EQ(of_http(response).kind, Kind::too_large);
  response.http_status = 0;
  EXPECT_EQ(of_http(response).kind, Kind::retry);
}

// nginx answers to the length that it reads in the head, and ends the stream while the body is on its way.
// Contract: 7.request-size
TEST(Outcome, ARefusalByGatewaysOfGrpcCountsThoughTheStreamEndedWithinTheRequest) {
  for (const int code : ways_to_end) {
    Response response = grpc("");
    response.content_type = "text/html";
    response.http_status = 413;
    response.curl_code = code;
    EXPECT_EQ(of_grpc(response).kind, Kind::too_large) << code;
    response.http_status = 401;
    EXPECT_EQ(of_grpc(response).reason, Outcome::Reason::credentials) << code;
    response.http_status = 502;
    EXPECT_EQ(of_grpc(response).kind, Kind::retry) << code;
    EXPECT_THAT(of_grpc(response).message, HasSubstr("answered HTTP 502")) << code;
  }
}

// Contract: 7.wrong-protocol
TEST(Outcome, PlainHttpToAPortOfTlsIsNamedAndLosesNothing) {
  for (const auto& [type, body] :
       {std::pair{"", "Client sent an HTTP request to an HTTPS server.\n"},
        {"text/html", "<html>The plain HTTP request was sent to HTTPS port</html>"},
        {"text/html; charset=iso-8859-1", "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />"},
        {"text/plain;charset=UTF-8", "Bad Request\r\nThis combination of host and port requires TLS.\r\n"},
        {"text/plain",
         "The client sent a plain HTTP request, but this server only speaks HTTPS on this "
         "port."}}) {
    Response response = http(400);
    response.content_type = type;
    response.body = body;
    for (const Outcome& outcome : {of_http(response), of_grpc(response)}) {
      EXPECT_EQ(outcome.kind, Kind::retry) << body;
      EXPECT_EQ(outcome.reason, Outcome::Reason::tls) << body;
      EXPECT_THAT(outcome.message, HasSubstr("write https://"));
    }
    response.by_known_server = true;
    EXPECT_EQ(of_http(response).kind, Kind::refused) << "it is known to speak without TLS: " << body;
  }
}

// Contract: 7.http-retry
TEST(Outcome, ARefusalThatSpeaksOfHttpsIsARefusal) {
  for (const auto& [type, body] :
       {std::pair{"text/plain", "invalid span; see https://docs.vendor.example/errors"},
        {"application/json", R"({"code":3,"message":"bad url.full https://x"})"},
        {"application/json", R"({"code":3,"message":"Client sent an HTTP request to an HTTPS server."})"},
        {"text/html", "<a href=\"https://vendor.example\">why</a>"}}) {
    Response response = http(400);
    response.content_type = type;
    response.body = body;
    EXPECT_EQ(of_http(response).kind, Kind::refused) << body;
    EXPECT_EQ(of_http(response).cause, "400");
    response.http_major = 2;
    EXPECT_EQ(of_grpc(response).kind, Kind::refused) << body;
  }
}

// Contract: 7.http-retry
TEST(Outcome, AStatusOfGrpcBesideOneOfHttpChangesNothing) {
  for (const long status : {200L, 400L, 401L, 404L, 500L, 503L}) {
    const Outcome without = of_http(http(status));
    Response with = http(status);
    with.grpc_status = "3";
    EXPECT_EQ(of_http(with).kind, without.kind) << status;
    EXPECT_EQ(of_http(with).message, without.message);
  }
}

// As servers of gRPC answer that take HTTP/1.1 too.
// Contract: 7.wrong-protocol
TEST(Outcome, AnAnswerOfGrpcIsNoneOfHttpAndLosesNothing) {
  for (const long status : {200L, 400L, 415L}) {
    Response response = http(status);
    response.content_type = "application/grpc";
    response.grpc_status = "12";
    EXPECT_EQ(of_http(response).kind, Kind::retry) << status;
    EXPECT_EQ(of_http(response).reason, Outcome::Reason::protocol);
    EXPECT_THAT(of_http(response).message, HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=grpc"));
  }
}

// Contract: 7.proxy
TEST(Outcome, ARefusalInAProxysWordsIsTheServersWhereThereIsNoProxy) {
  Response response = http(407);
  EXPECT_EQ(of_http(response).kind, Kind::refused);
  EXPECT_EQ(of_http(response).message, "http://c:1/v1/traces answered 407");
  response.http_major = 2;
  EXPECT_EQ(of_grpc(response).kind, Kind::refused);
  response.proxy = {"http://p:3128", "http_proxy"};
  EXPECT_EQ(of_http(response).kind, Kind::retry);
  EXPECT_THAT(of_http(response).message, HasSubstr("the proxy http://p:3128 (http_proxy) refused a request"));
}

// Contract: 7.proxy
TEST(Outcome, AProxyThatFailsIsNotTakenForTheServer) {
  Response refused;
  refused.curl_code = CURLE_RECV_ERROR;
  refused.proxy = {"http://p:3128", "https_proxy"};
  for (const long status : {403L, 407L, 502L}) {
    refused.tunnel_status = status;
    EXPECT_EQ(of_grpc(refused).kind, Kind::retry);
    EXPECT_THAT(of_grpc(refused).message,
                HasSubstr("the proxy http://p:3128 (https_proxy) refused a tunnel to http://c:1 with " +
                          std::to_string(status)));
  }
  Response unknown;
  unknown.curl_code = CURLE_COULDNT_RESOLVE_PROXY;
  unknown.proxy = refused.proxy;
  EXPECT_THAT(of_http(unknown).message, HasSubstr("cannot reach the proxy http://p:3128 (https_proxy)"));
  Response behind = http(502);
  behind.proxy = refused.proxy;
  EXPECT_THAT(of_http(behind).message, HasSubstr("went through the proxy http://p:3128 (https_proxy)"));
}

TEST(Outcome, AStreamClosedWithinALargeRequestMeansTooLarge) {
  Response response;
  response.curl_code = CURLE_HTTP2_STREAM;
  response.request_bytes = 5 << 20;
  response.sent_bytes = 65535;
  EXPECT_EQ(of_grpc(response).kind, Kind::too_large);
  response.sent_bytes = response.request_bytes;
  EXPECT_EQ(of_grpc(response).kind, Kind::retry);
  response.request_bytes = 512 << 10;
  response.sent_bytes = 0;
  EXPECT_EQ(of_grpc(response).kind, Kind::retry);
}

TEST(Outcome, TheReasonIsNamedWhereItHasARemedyOfItsOwn) {
  using Reason = Outcome::Reason;
  const auto without_answer = [](int code) {
    Response response;
    response.curl_code = code;
    return response;
  };
  EXPECT_EQ(of_grpc(without_answer(CURLE_COULDNT_RESOLVE_HOST)).reason, Reason::host_name);
  EXPECT_EQ(of_grpc(without_answer(CURLE_COULDNT_CONNECT)).reason, Reason::connection);
  const Endpoint tls_endpoint{"https://c:1/v1/traces", {}};
  Response late = without_answer(CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(of_http(late).reason, Reason::connection_timeout);
  late.connected = true;
  EXPECT_EQ(of_http(late).reason, Reason::timeout);
  EXPECT_EQ(outcome_of(late, tls_endpoint, OtlpProtocol::http_protobuf).reason, Reason::tls_timeout);
  late.begun = true;
  EXPECT_EQ(outcome_of(late, tls_endpoint, OtlpProtocol::http_protobuf).reason, Reason::timeout);
  EXPECT_EQ(of_http(without_answer(CURLE_PEER_FAILED_VERIFICATION)).reason, Reason::tls);
  EXPECT_EQ(of_grpc(without_answer(CURLE_GOT_NOTHING)).reason, Reason::protocol);
  EXPECT_EQ(of_http(without_answer(CURLE_GOT_NOTHING)).reason, Reason::tls);
  EXPECT_EQ(of_http(http(200)).reason, Reason::none);
  EXPECT_EQ(of_http(http(401)).reason, Reason::credentials);
  EXPECT_EQ(of_http(http(404)).reason, Reason::path);
  EXPECT_EQ(of_http(http(302)).reason, Reason::path);
  EXPECT_EQ(of_http(http(503)).reason, Reason::other);
  EXPECT_EQ(of_grpc(http(200)).reason, Reason::protocol) << "HTTP/1.1";
  EXPECT_EQ(of_grpc(grpc("0")).reason, Reason::none);
  EXPECT_EQ(of_grpc(grpc("7")).reason, Reason::credentials);
  EXPECT_EQ(of_grpc(grpc("12")).reason, Reason::path);
}

}  // namespace
}  // namespace lens::exporting
