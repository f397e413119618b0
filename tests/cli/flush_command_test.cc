// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "src/export/spool.h"
#include "tests/cli/trace_to_send.h"
#include "tests/export/loopback.h"

namespace lens::tests {
namespace {

using testing::HasSubstr;

class FlushCommand : public testing::Test {
 protected:
  FlushCommand() { use_no_proxy(); }

  exporting::Spool spool_of(const std::string& run) const {
    return exporting::Spool({directory.path() / "spool", 1 << 20, run}, [](std::string_view) {});
  }
  void spool(const std::string& run, int from, int count) const {
    EXPECT_TRUE(spool_of(run).add(envelope_of(run).request(spans_of("s", from, count)), std::uint64_t(count)));
  }
  std::vector<std::string> flush_to(const std::string& url, std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{"flush", "--spool-dir", "spool",        "--endpoint",
                                       url,     "--protocol",  "http/protobuf"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }

  TemporaryDirectory directory;
};

TEST_F(FlushCommand, sends_what_every_run_left) {
  spool("run1", 0, 2);
  spool("run2", 0, 3);
  HttpPeer peer(accept_all);
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr(peer.url() + "/v1/traces took 5 spans\n"));
  auto names = names_of("run1", "s", 0, 2);
  for (std::string& name : names_of("run2", "s", 0, 3)) names.push_back(std::move(name));
  EXPECT_EQ(spans_at(peer), names);
  LensProcess again(directory, flush_to(peer.url()));
  EXPECT_EQ(again.wait(), 0);
  EXPECT_THAT(again.output(), HasSubstr("nothing to send"));
}

// Contract: 6.logs-spool
TEST_F(FlushCommand, sends_log_records_to_their_own_place) {
  spool("run1", 0, 2);
  const std::string record = bytes_field(1, bytes_field(2, bytes_field(2, bytes_field(3, "loss is not finite"))));
  EXPECT_TRUE(spool_of("run1").add(record, 1, Signal::logs));
  HttpPeer peer(accept_all);
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr(peer.url() + "/v1/traces took 2 spans\n"));
  EXPECT_THAT(lens.output(), HasSubstr(peer.url() + "/v1/logs took 1 log record\n"));
  const auto requests = peer.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].path, "/v1/logs");
  EXPECT_EQ(requests[1].body, record);
  EXPECT_EQ(spool_of("run1").contents(Signal::logs).requests, 0u);
}

TEST_F(FlushCommand, keeps_what_cannot_be_sent) {
  spool("run1", 0, 2);
  LensProcess lens(directory, flush_to("http://127.0.0.1:" + std::to_string(free_port()), {"--retry-for", "0"}));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("cannot reach"));
  EXPECT_EQ(lens.output(), "2 spans wait in spool\n");
  EXPECT_EQ(spool_of("run1").contents().items, 2u);
}

TEST_F(FlushCommand, counts_one_as_one) {
  spool("run1", 0, 1);
  LensProcess failing(directory, flush_to("http://127.0.0.1:" + std::to_string(free_port()), {"--retry-for", "0"}));
  EXPECT_EQ(failing.wait(), 1);
  EXPECT_EQ(failing.output(), "1 span waits in spool\n");
  spool("run1", 1, 2);
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 400 : 200); });
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_EQ(lens.output(), peer.url() + "/v1/traces took 2 spans and rejected 1 span, which is dropped\n");
}

// The text of a refusal says nothing about the server's port.
TEST_F(FlushCommand, goes_on_behind_a_refusal_that_speaks_of_https) {
  spool("run1", 0, 2);
  spool("run1", 2, 1);
  HttpPeer peer([](int number, const HttpRequest&) {
    const std::string why = "invalid span; see https://docs.vendor.example/errors";
    return number == 0 ? answer(400, why, "Content-Type: text/plain\r\n") : answer(200);
  });
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("answered 400: invalid span"));
  EXPECT_THAT(lens.output(), HasSubstr("took 1 span and rejected 2 spans"));
  EXPECT_EQ(spool_of("run1").contents().requests, 0u);
}

TEST_F(FlushCommand, goes_on_within_a_request_that_went_in_parts) {
  EXPECT_TRUE(spool_of("run1").add(envelope_of("run1").request(spans_of("s", 0, 8, 10'000)), 8));
  std::atomic<int> taken = 0;
  HttpPeer peer([&](int, const HttpRequest& request) {
    if (std::stoul(request.headers.at("content-length")) > 25'000) return answer(413);
    return answer(taken++ == 2 ? 401 : 200);
  });
  LensProcess stopped(directory, flush_to(peer.url()));
  EXPECT_EQ(stopped.wait(), 1);
  EXPECT_THAT(stopped.output(), testing::AllOf(HasSubstr("took 4 spans"), HasSubstr("4 spans wait in")));
  const std::size_t before = peer.requests().size();
  EXPECT_EQ(spool_of("run1").contents().items, 4u) << "of the run, as before";
  LensProcess next(directory, flush_to(peer.url()));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(spans_in(peer.requests().at(before).body), names_of("run1", "s", 4, 4));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path() / "spool"));
}

TEST_F(FlushCommand, keeps_everything_where_the_credentials_are_wrong) {
  spool("run1", 0, 2);
  HttpPeer peer([](int, const HttpRequest&) { return answer(403); });
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("OTEL_EXPORTER_OTLP_HEADERS"));
  EXPECT_EQ(spool_of("run1").contents().items, 2u);
}

TEST_F(FlushCommand, drops_what_is_refused_when_others_are_taken) {
  spool("run1", 0, 2);
  spool("run1", 2, 1);
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 400 : 200); });
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.output(), HasSubstr("took 1 span and rejected 2 spans, which are dropped\n"));
  EXPECT_EQ(spool_of("run1").contents().requests, 0u);
}

TEST_F(FlushCommand, leaves_to_a_living_process_what_that_is_sending) {
  spool("run1", 0, 2);
  spool("run1", 2, 1);
  exporting::Spool living = spool_of("run1");
  const auto being_sent = living.take();
  ASSERT_TRUE(being_sent);
  HttpPeer peer(accept_all);
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_EQ(spans_at(peer), names_of("run1", "s", 2, 1));
  EXPECT_THAT(lens.output(), HasSubstr("2 spans wait in spool, which running processes are sending"));
}

TEST_F(FlushCommand, removes_and_reports_what_is_damaged) {
  spool("run1", 0, 2);
  for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "spool"))
    std::filesystem::resize_file(entry.path(), 10);
  HttpPeer peer(accept_all);
  LensProcess lens(directory, flush_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), HasSubstr("is damaged: 2 of its 2 spans are lost"));
}

TEST_F(FlushCommand, finds_the_spool_that_the_environment_names) {
  spool("run1", 0, 2);
  HttpPeer peer(accept_all);
  setenv("NEMO_LENS_SPOOL_DIR", (directory.path() / "spool").c_str(), 1);
  LensProcess lens(directory, {"flush", "--endpoint", peer.url(), "--protocol", "http/protobuf"});
  unsetenv("NEMO_LENS_SPOOL_DIR");
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_EQ(spans_at(peer).size(), 2u);
}

}  // namespace
}  // namespace lens::tests
