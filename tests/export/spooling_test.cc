// SPDX-License-Identifier: Apache-2.0
// What becomes of spans with a spool: while a collector stays away, when it is back, and in the next process of the
// run.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/export/exporter_under_test.h"
#include "tests/export/http_peer.h"
#include "tests/export/loopback.h"
#include "tests/kill/child.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {
namespace {

using testing::HasSubstr;

class Spooling : public testing::Test {
 protected:
  exporting::OtlpExporterOptions options(int port, std::uint64_t most_bytes = 10 << 20) const {
    auto options = options_for(OtlpProtocol::http_protobuf, "http://127.0.0.1:" + std::to_string(port));
    options.spool = spool_in(directory_.path(), most_bytes, "run1");
    return options;
  }
  bool is_empty() const { return std::filesystem::is_empty(directory_.path()); }

  TemporaryDirectory directory_;
};

// Contract: 7.spool
TEST_F(Spooling, SendsWhatWaitedWhenTheCollectorIsBack) {
  const int port = free_port();
  ExporterUnderTest exporter(options(port));
  for (int i = 0; i < 10; ++i) exporter.take(spans_of("a", i, 1), 1);
  ASSERT_TRUE(exporter.until_flushed());
  EXPECT_FALSE(is_empty());
  HttpPeer peer(accept_all, port);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 10; }));
  EXPECT_THAT(spans_at(peer), testing::UnorderedElementsAreArray(names_of("svc", "a", 0, 10)));
  EXPECT_TRUE(is_empty());
  exporter.drain(1s);
  EXPECT_EQ(exporter.announced(), "");
  EXPECT_EQ(exporter.refused(), 0u);
}

// Contract: 7.spool
TEST_F(Spooling, TheNextProcessOfTheRunSendsUnderTheResourceThatRecorded) {
  const int port = free_port();
  {
    ExporterUnderTest first(options(port), "first");
    first.take(spans_of("a", 0, 5), 5);
    first.drain(1s);
    EXPECT_THAT(first.announced(), HasSubstr("5 spans wait in " + directory_.path().string()));
    EXPECT_EQ(first.refused(), 0u);
  }
  HttpPeer peer(accept_all, port);
  ExporterUnderTest second(options(port), "second");
  second.take(spans_of("b", 0, 2), 2);
  second.drain(5s);
  auto expected = names_of("first", "a", 0, 5);
  for (const std::string& name : names_of("second", "b", 0, 2)) expected.push_back(name);
  EXPECT_THAT(spans_at(peer), testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(second.exported(), 7u) << "it counts what it sends, whoever recorded it";
  EXPECT_TRUE(is_empty());
}

// Contract: 7.spool-seen
TEST_F(Spooling, ALivingProcessSendsWhatAnotherOfTheRunLeft) {
  HttpPeer peer(accept_all);
  ExporterUnderTest living(options(peer.port()), "living");
  living.take(spans_of("a", 0, 1), 1);
  ASSERT_TRUE(living.until_flushed());
  const auto leave = [&](const std::string& prefix, bool is_sending) {
    Shared<std::atomic<bool>> has_left;
    Child other([&] {
      const std::string spans = spans_of(prefix, 0, 2);
      const auto spool = spool_in(directory_.path(), 10 << 20, "run1");
      spool->add(envelope_of("other").head(spans.size()) + spans, 2);
      const auto request = is_sending ? spool->take() : std::nullopt;
      *has_left = true;
      while (is_sending) pause();
      _exit(0);
    });
    while (!*has_left) living.until([] { return true; });
    if (!is_sending) {
      EXPECT_EQ(other.wait(), 0);
    }
    // Killed while it sends, where it does: longer than it takes to find that it does.
    if (is_sending) living.until([] { return false; }, 1'500ms);
  };
  leave("b", false);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(living.until([&] { return living.exported() == 3; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "a second, and what a busy machine takes";
  leave("c", true);
  ASSERT_TRUE(living.until([&] { return living.exported() == 5; }));
  auto expected = names_of("living", "a", 0, 1);
  for (const char* prefix : {"b", "c"})
    for (const std::string& name : names_of("other", prefix, 0, 2)) expected.push_back(name);
  EXPECT_THAT(spans_at(peer), testing::UnorderedElementsAreArray(expected));
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, ThousandsOfSmallBatchesMakeFewFilesAndAQuickEnd) {
  ExporterUnderTest exporter(options(free_port(), 100 << 20));
  constexpr int many = 5'000;
  for (int i = 0; i < many; ++i) exporter.take(spans_of("a", i, 1), 1);
  EXPECT_LT(exporter.drain(5s), 4s);
  EXPECT_LT(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 100);
  EXPECT_THAT(exporter.announced(), HasSubstr("5000 spans wait"));
}

// Contract: 7.spool
TEST_F(Spooling, WhatOneDropsOfAnothersIsCountedByTheOneThatDrops) {
  ExporterUnderTest first(options(free_port(), 2'000)), second(options(free_port(), 2'000));
  constexpr int each = 20;
  for (int i = 0; i < each; ++i) first.take(spans_of("a", i, 1), 1);
  for (int i = 0; i < each; ++i) second.take(spans_of("b", i, 1), 1);
  first.drain(100ms);
  second.drain(100ms);
  std::uint64_t left = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_.path()))
    left += exporting::SpoolFile::of(file.path().filename().string())->items;
  EXPECT_GT((*second).counts().lost_of_others.at("spool_full"), 0u);
  EXPECT_EQ(first.refused() + second.refused() + left, 2u * each);
}

TEST_F(Spooling, TakesWhatASlowCollectorLeaves) {
  std::atomic<bool> slow{true};
  HttpPeer peer([&](int, const HttpRequest&) { return slow ? hang() : answer(200); });
  auto options = this->options(peer.port());
  options.otlp.timeout = 300ms;
  ExporterUnderTest exporter(options);
  for (int i = 0; i < 20; ++i) exporter.take(spans_of("a", i, 1), 1);
  slow = false;
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 20; }));
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_TRUE(is_empty());
}

// Contract: 7.spool-torn
TEST_F(Spooling, OfATornFileWhatIsThereIsExportedAndWhatIsNotIsLost) {
  const int port = free_port();
  {
    ExporterUnderTest first(options(port));
    for (int i = 0; i < 4; ++i) first.take(spans_of("a", i, 1), 1);
    first.drain(100ms);
  }
  const auto file = std::filesystem::directory_iterator(directory_.path())->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  HttpPeer peer([](int number, const HttpRequest&) { return answer(number == 0 ? 503 : 200); }, port);
  ExporterUnderTest second(options(port));
  ASSERT_TRUE(second.until([&] { return second.exported() > 0; }));
  EXPECT_EQ(second.exported() + second.refused(), 4u);
  EXPECT_EQ(spans_at(peer).size(), 2 * second.exported()) << "sent twice, taken once";
  EXPECT_EQ((*second).counts().lost, (std::map<std::string, std::uint64_t>{{"spool_damaged", second.refused()}}));
  EXPECT_EQ((*second).counts().lost_of_others, (*second).counts().lost);
  EXPECT_TRUE(is_empty());
}

TEST_F(Spooling, WhatWasRefusedLeavesIt) {
  const int port = free_port();
  ExporterUnderTest exporter(options(port));
  exporter.take(spans_of("a", 0, 5), 5);
  ASSERT_TRUE(exporter.until_flushed());
  HttpPeer peer([](int, const HttpRequest&) { return answer(400); }, port);
  ASSERT_TRUE(exporter.until([&] { return exporter.refused() == 5; }));
  EXPECT_TRUE(is_empty());
}

// Contract: 7.no-receiver
TEST_F(Spooling, KeepsWhatALoginPageAnsweredUntilAReceiverAnswers) {
  for (const OtlpProtocol protocol : {OtlpProtocol::http_protobuf, OtlpProtocol::http_json}) {
    std::atomic<bool> is_portal{true};
    HttpPeer peer([&](int, const HttpRequest&) {
      return is_portal ? answer(200, "<html>Log in</html>", "Content-Type: text/html\r\n") : answer(200);
    });
    auto options = this->options(peer.port());
    options.otlp.protocol = protocol;
    ExporterUnderTest exporter(options);
    for (int i = 0; i < 5; ++i) {
      exporter.take(spans_of("a", i, 1), 1);
      ASSERT_TRUE(exporter.until_flushed());
    }
    ASSERT_TRUE(exporter.until([&] { return peer.requests().size() > 2; }));
    EXPECT_THAT(exporter.said(), HasSubstr(peer.url() + " answered 200 with text/html that is no answer of OTLP"));
    EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
    EXPECT_EQ(exporter.exported() + exporter.refused(), 0u);
    is_portal = false;
    ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 5; }));
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(Spooling, WhatIsTooLargeIsHalvedThereToo) {
  const int port = free_port();
  ExporterUnderTest exporter(options(port));
  exporter.take(spans_of("a", 0, 8, 5'000), 8);
  ASSERT_TRUE(exporter.until_flushed());
  HttpPeer peer(
      [](int, const HttpRequest& request) {
        return answer(std::stoul(request.headers.at("content-length")) < 30'000 ? 200 : 413);
      },
      port);
  ASSERT_TRUE(exporter.until([&] { return exporter.exported() == 8; }));
  EXPECT_EQ(exporter.refused(), 0u);
  EXPECT_TRUE(is_empty());
}

// Contract: 3.deadline, 7.bounds
TEST_F(Spooling, ThousandsOfSmallRequestsAreKeptTogetherAtTheEndWithinTheirTime) {
  constexpr int count = 10'000;
  HttpPeer peer([](int, const HttpRequest&) { return hang(); });
  for (const bool has_time : {false, true}) {
    auto patient = options(peer.port());
    patient.otlp.timeout = 1h;  // or a slow machine keeps those in flight before the end
    ExporterUnderTest exporter(patient);
    for (int i = 0; i < count; ++i) exporter.take(spans_of("a", i, 1), 1);
    EXPECT_LT(exporter.drain(0ms, has_time ? 5s : 0ms), 4s);
    if (!has_time) {
      EXPECT_EQ((*exporter).counts().lost, (std::map<std::string, std::uint64_t>{{"shutdown", count}}));
      EXPECT_TRUE(is_empty());
      continue;
    }
    EXPECT_EQ(exporter.refused(), 0u);
    const exporting::SpoolContents kept = spool_in(directory_.path(), 10 << 20, "run1")->contents();
    EXPECT_EQ(kept.items, std::uint64_t{count});
    EXPECT_LT(kept.requests, 100u);
  }
}

TEST_F(Spooling, ALossForWantOfRoomIsCountedOnce) {
  ExporterUnderTest exporter(options(free_port(), 1'000));
  for (int i = 0; i < 20; ++i) exporter.take(spans_of("a", i, 1), 1);
  exporter.drain(100ms);
  EXPECT_GT(exporter.refused(), 0u);
  EXPECT_LT(exporter.refused(), 20u);
  EXPECT_THAT(exporter.announced(), HasSubstr(std::to_string(20 - exporter.refused()) + " spans wait"));
}

}  // namespace
}  // namespace lens::tests
