// SPDX-License-Identifier: Apache-2.0
// Two exporters of two resources and a collector that cannot be reached well: no batch is lost, none comes under the
// other's resource, and what comes twice is what had no answer.
#include <gmock/gmock.h>

#include <set>

#include "src/otlp/json.h"
#include "tests/export/exporter_under_test.h"
#include "tests/export/fault_proxy.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/http_peer.h"
#include "tests/export/retry_info.h"

namespace lens::tests {
namespace {

struct FaultCase {
  std::string name;
  std::vector<Fault> faults = {};
  bool refuses = false;  // until it has been said
  int busy_answers = 0;  // of the collector, which asks for time
};

/// A collector of every protocol, which is busy at first.
class Collector {
 public:
  explicit Collector(int busy_answers) : busy_answers_(busy_answers) {}

  int port(OtlpProtocol protocol) const { return protocol == OtlpProtocol::grpc ? grpc_.port() : http_.port(); }
  /// What it has taken.
  std::multiset<std::string> names() const {
    std::multiset<std::string> names;
    const auto add = [&](const std::string& request) {
      for (const std::string& name : spans_in(request)) names.insert(name);
    };
    for (const HttpRequest& request : without_busy(http_.requests()))
      add(request.headers.at("content-type") == "application/json" ? otlp::traces_from_json(request.body)
                                                                   : request.body);
    for (const GrpcRequest& request : without_busy(grpc_.requests())) add(request.message);
    return names;
  }

 private:
  template <class Request>
  std::vector<Request> without_busy(std::vector<Request> requests) const {
    const auto busy = std::min(requests.size(), static_cast<std::size_t>(busy_answers_));
    requests.erase(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(busy));
    return requests;
  }

  int busy_answers_;
  HttpPeer http_{[this](int number, const HttpRequest&) {
    return number < busy_answers_ ? answer(503, "", "Retry-After: 1\r\n") : answer(200);
  }};
  GrpcPeer grpc_{[this](int number, const GrpcRequest&) {
    constexpr int unavailable = 14;
    if (number >= busy_answers_) return GrpcAnswer{};
    return GrpcAnswer{.status = unavailable, .error = "busy", .details = status_with_retry_info(1, 0)};
  }};
};

class NetworkFault : public testing::TestWithParam<std::tuple<OtlpProtocol, FaultCase>> {};

// Contract: C4, 7.faults
TEST_P(NetworkFault, LosesNoBatchAndMixesNone) {
  const auto& [protocol, fault] = GetParam();
  Collector collector(fault.busy_answers);
  FaultProxy proxy(collector.port(protocol), fault.faults, fault.refuses);
  auto options = options_for(protocol, proxy.url());
  if (fault.name == "HalfOpen") options.otlp.timeout = 1s;  // what takes longer elsewhere is a slow machine's
  ExporterUnderTest first(options, "first"), second(options, "second");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i)
    for (ExporterUnderTest* exporter : {&first, &second}) exporter->take(spans_of("a", i * 10, 10, 2'000), 10);
  if (fault.refuses) {
    for (ExporterUnderTest* exporter : {&first, &second})
      ASSERT_TRUE(exporter->until([&] { return !exporter->said().empty(); }));
    EXPECT_THAT(first.said(), testing::HasSubstr("Connection refused"));
    proxy.open();
  }
  (*first).flush();
  (*second).flush();
  const auto are_flushed = [&] {
    second.until([] { return true; });
    return (*first).is_flushed() && (*second).is_flushed();
  };
  ASSERT_TRUE(first.until(are_flushed)) << first.said() << second.said();

  const auto names = collector.names();
  std::set<std::string> expected;
  for (const char* resource : {"first", "second"})
    for (const std::string& name : names_of(resource, "a", 0, 30)) expected.insert(name);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), expected);
  const bool is_ambiguous = fault.name == "LostAnswer" || fault.name == "Drip";
  EXPECT_TRUE(is_ambiguous || names.size() == expected.size()) << "duplicates without need: " << names.size();
  for (ExporterUnderTest* exporter : {&first, &second}) {
    EXPECT_EQ(exporter->exported(), 30u);
    EXPECT_EQ(exporter->refused(), 0u);
  }
  EXPECT_TRUE(fault.name == "Drip" || !(first.said() + second.said()).empty());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, fault.busy_answers > 0 ? 1s : 0s);
}

using Kind = Fault::Kind;
const FaultCase fault_cases[] = {{"Refuse", {}, true},
                                 {"Busy", {}, false, 2},
                                 {"Close", {{Kind::close}, {Kind::close}}},
                                 {"ResetAtOnce", {{Kind::reset, 0}, {Kind::reset, 0}}},
                                 {"ResetMidBody", {{Kind::reset, 10'000}, {Kind::reset, 5'000}}},
                                 {"HalfOpen", {{Kind::half_open}}},
                                 {"Garbage", {{Kind::garbage}, {Kind::garbage}}},
                                 {"LostAnswer", {{Kind::lost_answer, 15'000}}},
                                 {"Drip", {{Kind::drip}}}};

INSTANTIATE_TEST_SUITE_P(All, NetworkFault,
                         testing::Combine(testing::Values(OtlpProtocol::grpc, OtlpProtocol::http_protobuf,
                                                          OtlpProtocol::http_json),
                                          testing::ValuesIn(fault_cases)),
                         [](const auto& info) {
                           const OtlpProtocol protocol = std::get<0>(info.param);
                           const std::string name = protocol == OtlpProtocol::grpc        ? "Grpc"
                                                    : protocol == OtlpProtocol::http_json ? "Json"
                                                                                          : "Http";
                           return name + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace lens::tests
