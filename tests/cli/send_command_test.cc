// SPDX-License-Identifier: Apache-2.0
// `lens send` to collectors that take, refuse, hang and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "src/otlp/json.h"
#include "tests/cli/trace_to_send.h"
#include "tests/export/grpc_peer.h"
#include "tests/export/loopback.h"
#include "tests/flow/recorded_logs.h"

namespace lens::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class SendCommand : public testing::Test {
 protected:
  SendCommand() {
    use_no_proxy();
    std::filesystem::create_directory(trace);
    // Two ranks, three requests each.
    for (const std::string rank : {"a", "b"})
      for (int request = 0; request < 3; ++request)
        append(trace / ("traces-rank" + rank + ".otlp.zst"), framed_spans(rank, 2 * request, 2));
  }

  std::vector<std::string> send_to(const std::string& url, std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments{"send", "trace", "--endpoint", url, "--protocol", "http/protobuf"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  }
  void send_and_be_killed_at_the_fourth_request(const HttpPeer& peer) const {
    LensProcess killed(directory, send_to(peer.url()));
    while (peer.requests().size() < 4) std::this_thread::yield();
    killed.signal(SIGKILL);
    EXPECT_EQ(killed.wait(), -1);
  }
  static std::vector<std::string> all_spans() {
    auto names = names_of("svc", "a", 0, 6);
    for (std::string& name : names_of("svc", "b", 0, 6)) names.push_back(std::move(name));
    return names;
  }

  TemporaryDirectory directory;
  std::filesystem::path trace = directory.path() / "trace";
};

TEST_F(SendCommand, sends_everything_once) {
  HttpPeer peer(accept_all);
  LensProcess first(directory, send_to(peer.url()));
  EXPECT_EQ(first.wait(), 0);
  EXPECT_THAT(first.output(), HasSubstr(peer.url() + "/v1/traces took 12 spans\n"));
  EXPECT_EQ(spans_at(peer), all_spans());

  LensProcess second(directory, send_to(peer.url()));
  EXPECT_EQ(second.wait(), 0);
  EXPECT_THAT(second.output(), HasSubstr("nothing to send"));
  EXPECT_EQ(peer.requests().size(), 6u);

  LensProcess again(directory, send_to(peer.url(), {"--again"}));
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(peer.requests().size(), 12u);
}

TEST_F(SendCommand, sends_to_each_collector_what_that_one_has_not_taken) {
  HttpPeer one(accept_all), other(accept_all);
  EXPECT_EQ(LensProcess(directory, send_to(one.url())).wait(), 0);
  EXPECT_EQ(LensProcess(directory, send_to(other.url())).wait(), 0);
  EXPECT_EQ(spans_at(other), all_spans());
}

TEST_F(SendCommand, sends_what_a_living_rank_has_added) {
  HttpPeer peer(accept_all);
  EXPECT_EQ(LensProcess(directory, send_to(peer.url())).wait(), 0);
  append(trace / "traces-ranka.otlp.zst", framed_spans("late", 0, 1));
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("took 1 span\n"));
  EXPECT_EQ(spans_at(peer).back(), "svc/late0");
}

TEST_F(SendCommand, sends_the_file_that_followed_a_full_one) {
  HttpPeer peer(accept_all);
  EXPECT_EQ(LensProcess(directory, send_to(peer.url())).wait(), 0);
  append(trace / "traces-ranka.10.otlp.zst", framed_spans("tenth", 0, 1));
  append(trace / "traces-ranka.2.otlp.zst", framed_spans("second", 0, 1));
  EXPECT_EQ(LensProcess(directory, send_to(peer.url())).wait(), 0);
  auto names = all_spans();
  names.insert(names.end(), {"svc/second0", "svc/tenth0"});
  EXPECT_EQ(spans_at(peer), names);
}

TEST_F(SendCommand, goes_on_after_a_kill_with_the_request_that_was_in_flight) {
  HttpPeer peer([](int number, const HttpRequest&) { return number == 3 ? hang() : answer(200); });
  send_and_be_killed_at_the_fourth_request(peer);
  LensProcess next(directory, send_to(peer.url()));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_THAT(next.output(), HasSubstr("took 6 spans\n"));
  auto names = all_spans();
  names.insert(names.begin() + 8, {"svc/b0", "svc/b1"});  // the one request came twice
  EXPECT_EQ(spans_at(peer), names);
}

TEST_F(SendCommand, tries_again_until_the_collector_is_back) {
  HttpPeer peer(
      [](int number, const HttpRequest&) { return answer(number == 1 ? 503 : 200, "", "Retry-After: 0\r\n"); });
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.errors(), AllOf(HasSubstr("answered 503"), HasSubstr("trying again")));
  EXPECT_EQ(peer.requests().size(), 7u);
}

TEST_F(SendCommand, says_what_it_could_not_deliver_and_delivers_it_later) {
  const int port = free_port();
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  LensProcess failing(directory, send_to(url, {"--retry-for", "0"}));
  EXPECT_EQ(failing.wait(), 1);
  EXPECT_THAT(failing.errors(), AllOf(HasSubstr("cannot reach " + url), HasSubstr("by the same command")));
  HttpPeer peer(accept_all, port);
  EXPECT_EQ(LensProcess(directory, send_to(url)).wait(), 0);
  EXPECT_EQ(spans_at(peer), all_spans());
}

TEST_F(SendCommand, stops_at_once_where_no_request_would_be_taken) {
  HttpPeer peer([](int, const HttpRequest&) { return answer(401); });
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("OTEL_EXPORTER_OTLP_HEADERS"));
  EXPECT_EQ(peer.requests().size(), 1u);
}

TEST_F(SendCommand, gives_one_refused_request_up_and_sends_the_others) {
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 1 ? 400 : 200); });
  LensProcess first(directory, send_to(peer.url()));
  EXPECT_EQ(first.wait(), 1);
  EXPECT_THAT(first.errors(), HasSubstr("answered 400"));
  EXPECT_THAT(first.output(), HasSubstr("took 10 spans and rejected 2 spans"));
  LensProcess second(directory, send_to(peer.url()));
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(peer.requests().size(), 6u);
}

TEST_F(SendCommand, keeps_everything_for_a_collector_that_refuses_everything) {
  std::atomic<bool> is_mended = false;
  HttpPeer peer([&](int, const HttpRequest&) { return answer(is_mended ? 200 : 500); });
  LensProcess refused(directory, send_to(peer.url()));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_THAT(refused.errors(), HasSubstr("refused all of the last 6 requests, which are kept"));
  is_mended = true;
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("took 12 spans\n"));
}

TEST_F(SendCommand, counts_what_the_collector_rejects) {
  const std::string rejected_one = bytes_field(1, varint_field(1, 1) + bytes_field(2, "too old"));
  HttpPeer peer([&](int number, const HttpRequest&) {
    return answer(200, number == 0 ? rejected_one : "", "Content-Type: application/x-protobuf\r\n");
  });
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), HasSubstr("too old"));
  EXPECT_THAT(lens.output(), HasSubstr("took 11 spans and rejected 1 span\n"));
}

/// One request of `spans` spans of ten thousand bytes each, in the place of the trace.
void make_large(const std::filesystem::path& trace, int spans) {
  for (const char* rank : {"a", "b"})
    std::filesystem::remove(trace / ("traces-rank" + std::string(rank) + ".otlp.zst"));
  otlp::Framer framer;
  append(trace / "traces-large.otlp.zst",
         std::string(framer.frame(envelope_of("svc").request(spans_of("large", 0, spans, 10'000)))));
}

Answer takes_up_to(std::size_t bytes, const HttpRequest& request) {
  return answer(std::stoul(request.headers.at("content-length")) > bytes ? 413 : 200);
}

TEST_F(SendCommand, halves_what_is_too_large) {
  make_large(trace, 8);
  HttpPeer peer([&](int, const HttpRequest& request) { return takes_up_to(25'000, request); });
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("took 8 spans\n"));
  EXPECT_EQ(peer.requests().size(), 7u) << "8 and 4 + 4 are refused, four times 2 taken";
}

TEST_F(SendCommand, gives_up_what_is_too_large_alone_and_halves_nothing_small) {
  HttpPeer peer([&](int, const HttpRequest&) { return answer(413); });
  LensProcess small(directory, send_to(peer.url()));
  EXPECT_EQ(small.wait(), 1);
  EXPECT_EQ(peer.requests().size(), 6u);
  make_large(trace, 2);
  HttpPeer picky([&](int number, const HttpRequest&) { return answer(number == 2 ? 200 : 413); });
  LensProcess large(directory, send_to(picky.url()));
  EXPECT_EQ(large.wait(), 1);
  EXPECT_THAT(large.output(), HasSubstr("took 1 span and rejected 1 span"));
}

TEST_F(SendCommand, goes_on_within_a_request_that_went_in_parts) {
  make_large(trace, 8);
  std::atomic<int> taken = 0;
  HttpPeer peer([&](int, const HttpRequest& request) {
    const Answer answer = takes_up_to(25'000, request);
    return answer.bytes.find(" 200 ") == std::string::npos || taken++ != 2 ? answer : tests::answer(401);
  });
  LensProcess stopped(directory, send_to(peer.url()));
  EXPECT_EQ(stopped.wait(), 1);
  EXPECT_THAT(stopped.output(), HasSubstr("took 4 spans"));
  const std::size_t before = peer.requests().size();
  LensProcess next(directory, send_to(peer.url()));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_THAT(next.output(), HasSubstr("took 4 spans\n"));
  const auto requests = peer.requests();
  EXPECT_EQ(spans_in(requests.at(before).body), names_of("svc", "large", 4, 4));
  LensProcess again(directory, send_to(peer.url()));
  EXPECT_EQ(again.wait(), 0);
  EXPECT_THAT(again.output(), HasSubstr("nothing to send"));
}

TEST_F(SendCommand, goes_on_within_a_request_though_it_was_killed) {
  make_large(trace, 8);
  HttpPeer peer(
      [&](int number, const HttpRequest& request) { return number == 3 ? hang() : takes_up_to(25'000, request); });
  send_and_be_killed_at_the_fourth_request(peer);
  LensProcess next(directory, send_to(peer.url()));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(spans_in(peer.requests().at(4).body), names_of("svc", "large", 2, 6)) << "but for what was under way";
}

TEST_F(SendCommand, notes_nothing_where_a_login_page_answers) {
  std::atomic<bool> is_portal = true;
  HttpPeer peer([&](int, const HttpRequest&) {
    return is_portal ? answer(200, "<html>Log in</html>", "Content-Type: text/html\r\n") : answer(200);
  });
  LensProcess caught(directory, send_to(peer.url()));
  EXPECT_EQ(caught.wait(), 1);
  EXPECT_THAT(caught.errors(), AllOf(HasSubstr("is no answer of OTLP"), HasSubstr("by the same command")));
  EXPECT_EQ(peer.requests().size(), 1u);
  is_portal = false;
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("took 12 spans\n"));
}

TEST_F(SendCommand, reports_what_it_cannot_read_and_sends_the_rest) {
  append(trace / "traces-ranka.otlp.zst", framed_spans("torn", 0, 100).substr(0, 40));
  directory.write("trace/README.txt", "no trace");
  HttpPeer peer(accept_all);
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_EQ(spans_at(peer), all_spans());
  EXPECT_THAT(lens.errors(),
              AllOf(HasSubstr("ends within a message"), HasSubstr("README.txt"), HasSubstr("not a trace file")));
}

TEST_F(SendCommand, keeps_to_the_rate) {
  HttpPeer peer(accept_all);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(LensProcess(directory, send_to(peer.url(), {"--rate", "50"})).wait(), 0);
  // Behind the first, five requests wait for two spans each.
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(200));
}

TEST_F(SendCommand, keeps_to_the_rate_within_a_request_too) {
  std::filesystem::create_directory(directory.path() / "large");
  append(directory.path() / "large/traces-rank0.otlp.zst", framed_spans("a", 0, 40));
  HttpPeer peer(accept_all);
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::string> arguments = send_to(peer.url(), {"--rate", "20"});
  arguments.at(1) = "large";
  EXPECT_EQ(LensProcess(directory, arguments).wait(), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  EXPECT_EQ(peer.requests().size(), 2u);
  EXPECT_EQ(spans_at(peer), names_of("svc", "a", 0, 40));
}

TEST_F(SendCommand, speaks_grpc_with_the_headers_of_the_environment) {
  GrpcPeer peer([](int, const GrpcRequest&) { return GrpcAnswer{}; });
  ASSERT_EQ(setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20me", 1), 0);
  LensProcess lens(directory, {"send", "trace", "--endpoint", "http://127.0.0.1:" + std::to_string(peer.port())});
  unsetenv("OTEL_EXPORTER_OTLP_HEADERS");
  EXPECT_EQ(lens.wait(), 0);
  const auto requests = peer.requests();
  ASSERT_EQ(requests.size(), 6u);
  EXPECT_EQ(spans_in(requests[0].message), names_of("svc", "a", 0, 2));
  EXPECT_EQ(requests[0].metadata.find("authorization")->second, "Bearer me");
}

TEST_F(SendCommand, sends_metrics_in_either_form_to_their_own_place) {
  const std::string gauge = bytes_field(
      1,
      bytes_field(2, bytes_field(2, bytes_field(1, "loss") + bytes_field(5, bytes_field(1, fixed64_field(3, 1000))))));
  otlp::Framer framer;
  append(trace / "metrics-rank0.otlp.zst", std::string(framer.frame(gauge)));
  std::string line;
  otlp::append_json(line, Signal::metrics, gauge);
  append(trace / "metrics-rank1.jsonl", line + '\n');
  HttpPeer peer(accept_all);
  LensProcess lens(directory, send_to(peer.url()));
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr(peer.url() + "/v1/metrics took 2 metrics\n"));
  const auto requests = peer.requests();
  ASSERT_EQ(requests.size(), 8u);
  for (const std::size_t metrics : {6, 7}) {
    EXPECT_EQ(requests[metrics].path, "/v1/metrics");
    EXPECT_EQ(requests[metrics].body.size(), gauge.size());  // the fields may come in another order
    EXPECT_THAT(requests[metrics].body, HasSubstr("loss"));
  }
}

TEST_F(SendCommand, sends_the_log_records_of_a_process) {
  {
    auto telemetry = setup_telemetry(logging_config(directory.path() / "logged"), {});
    log(Severity::warn, "loss is not finite");
  }
  HttpPeer peer(accept_all);
  std::vector<std::string> arguments = send_to(peer.url());
  arguments.at(1) = "logged";
  LensProcess lens(directory, arguments);
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr(peer.url() + "/v1/logs took 1 log record\n"));
  std::vector<HttpRequest> requests = peer.requests();
  std::erase_if(requests, [](const HttpRequest& request) { return request.path != "/v1/logs"; });
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_THAT(requests[0].body, HasSubstr("loss is not finite"));
}

TEST_F(SendCommand, notes_what_was_taken_elsewhere_when_it_is_told) {
  HttpPeer peer(accept_all);
  std::filesystem::create_directory(directory.path() / "state");
  EXPECT_EQ(LensProcess(directory, send_to(peer.url(), {"--state-dir", "state"})).wait(), 0);
  EXPECT_FALSE(std::filesystem::is_empty(directory.path() / "state"));
  for (const auto& entry : std::filesystem::directory_iterator(trace))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".sent")));
}

TEST_F(SendCommand, knows_a_directory_by_whatever_name) {
  HttpPeer peer(accept_all);
  std::filesystem::create_directory(directory.path() / "state");
  std::filesystem::create_directory_symlink(trace, directory.path() / "link");
  std::vector<std::string> arguments = send_to(peer.url(), {"--state-dir", "state"});
  for (const std::string name : {"trace", "./trace/.", "trace/../trace", "link", "link/"}) {
    arguments.at(1) = name;
    EXPECT_EQ(LensProcess(directory, arguments).wait(), 0);
    EXPECT_EQ(peer.requests().size(), 6u) << name;
  }
}

TEST_F(SendCommand, says_where_else_it_could_note_what_was_taken) {
  directory.write("file", "");
  LensProcess lens(directory, send_to("http://127.0.0.1:1", {"--state-dir", "file"}));
  EXPECT_EQ(lens.wait(), 1);
  EXPECT_THAT(lens.errors(), AllOf(HasSubstr("cannot be noted"), HasSubstr("--state-dir")));
}

TEST_F(SendCommand, waits_for_ranks_that_have_written_nothing_yet) {
  std::filesystem::create_directory(directory.path() / "young");
  directory.write("young/traces-rank0.otlp.zst", "");
  LensProcess lens(directory, {"send", "young"});
  EXPECT_EQ(lens.wait(), 0);
  EXPECT_THAT(lens.output(), HasSubstr("nothing to send"));
}

TEST_F(SendCommand, explains_wrong_usage) {
  LensProcess missing(directory, {"send", "nowhere"});
  EXPECT_EQ(missing.wait(), 2);
  EXPECT_THAT(missing.errors(), HasSubstr("nowhere does not exist"));
  std::filesystem::create_directory(directory.path() / "runs");
  std::filesystem::rename(trace, directory.path() / "runs/one");
  LensProcess parent(directory, {"send", "runs"});
  EXPECT_EQ(parent.wait(), 2);
  EXPECT_THAT(parent.errors(), HasSubstr("did you mean runs/one?"));
  std::filesystem::create_directory(directory.path() / "other");
  directory.write("other/README.txt", "no trace at all");
  directory.write("other/page.json", "{\"a\": 1}");
  LensProcess other(directory, {"send", "other"});
  EXPECT_EQ(other.wait(), 2);
  EXPECT_THAT(other.errors(), AllOf(HasSubstr("README.txt, byte 0: not a trace file"),
                                    HasSubstr("other holds no trace files that can be read")));
  EXPECT_THAT(other.output(), IsEmpty());
  using Entries = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Entries(directory.path() / "other"), Entries()), 2) << "nothing is noted there";
  for (const char* rate : {"-1", "nan", "inf", "1e-30", "fast"}) {
    LensProcess wrong(directory, {"send", "runs/one", "--rate", rate});
    EXPECT_EQ(wrong.wait(), 2) << rate;
    EXPECT_THAT(wrong.errors(), HasSubstr("--rate")) << rate;
    LensProcess retry(directory, {"send", "runs/one", "--retry-for", rate});
    EXPECT_EQ(retry.wait(), 2) << rate;
  }
  LensProcess endpoint(directory, {"send", "runs/one", "--endpoint", "ftp://host"});
  EXPECT_EQ(endpoint.wait(), 2);
  EXPECT_THAT(endpoint.errors(), HasSubstr("the scheme must be"));
}

}  // namespace
}  // namespace lens::tests
