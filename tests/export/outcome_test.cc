// SPDX-License-Identifier: Apache-2.0
// The answers that no server of the other tests gives.
#include "src/export/outcome.h"

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <time.h>

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
  response.retry_after = "99999999999999";
  EXPECT_TRUE(of_http(response).retry_after);
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
  for (const long status : {400L, 401L, 403L, 404L, 500L}) {
    Response response = grpc("");
    response.http_status = status;
    EXPECT_EQ(of_grpc(response).kind, Kind::refused) << status;
  }
}

TEST(Outcome, AnAnswerThatEndsBeforeItsTrailersIsNone) { EXPECT_EQ(of_grpc(grpc("")).kind, Kind::retry); }

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

TEST(Outcome, AMalformedAcceptanceIsAnAcceptance) {
  for (const char* body : {"\x0a\x10", "\xff\xff\xff\xff", "\x0a\x02\x08"}) {
    Response response = http(200);
    response.body = body;
    EXPECT_EQ(of_http(response).kind, Kind::accepted);
    EXPECT_EQ(of_http(response).rejected, 0u);
  }
}

TEST(Outcome, WhatWasNeverAnsweredIsRetried) {
  for (const int code : {CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR,
                         CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_SSL_CONNECT_ERROR, CURLE_PARTIAL_FILE}) {
    Response response;
    response.curl_code = code;
    response.error = "why";
    for (const Outcome& outcome : {of_http(response), of_grpc(response)}) {
      EXPECT_EQ(outcome.kind, Kind::retry);
      EXPECT_THAT(outcome.message, HasSubstr("why"));
    }
  }
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
  EXPECT_EQ(of_http(without_answer(CURLE_OPERATION_TIMEDOUT)).reason, Reason::timeout);
  EXPECT_EQ(of_http(without_answer(CURLE_PEER_FAILED_VERIFICATION)).reason, Reason::tls);
  EXPECT_EQ(of_grpc(without_answer(CURLE_GOT_NOTHING)).reason, Reason::protocol);
  EXPECT_EQ(of_http(without_answer(CURLE_GOT_NOTHING)).reason, Reason::other);
  EXPECT_EQ(of_http(http(200)).reason, Reason::none);
  EXPECT_EQ(of_http(http(401)).reason, Reason::credentials);
  EXPECT_EQ(of_http(http(404)).reason, Reason::path);
  EXPECT_EQ(of_http(http(302)).reason, Reason::path);
  EXPECT_EQ(of_http(http(503)).reason, Reason::other);
  EXPECT_EQ(of_grpc(http(200)).reason, Reason::protocol);
  EXPECT_EQ(of_grpc(grpc("0")).reason, Reason::none);
  EXPECT_EQ(of_grpc(grpc("7")).reason, Reason::credentials);
  EXPECT_EQ(of_grpc(grpc("12")).reason, Reason::path);
}

}  // namespace
}  // namespace lens::exporting
