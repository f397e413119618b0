// SPDX-License-Identifier: Apache-2.0
#include "src/export/spool.h"

#include <gmock/gmock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <thread>

#include "src/otlp/framing.h"
#include "tests/export/spans.h"
#include "tests/support/file_locks.h"
#include "tests/support/temporary_directory.h"

namespace lens::exporting {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::FileLocks;
using tests::TemporaryDirectory;

class SpoolTest : public testing::Test {
 protected:
  Spool spool(const std::string& run = "run1", std::uint64_t most_bytes = 1 << 20) {
    return Spool({directory_.path() / "state" / "spool", most_bytes, run},
                 [this](std::string_view line) { errors_ += std::string(line) + '\n'; });
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(directory_.path() / "state"))
      for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "state" / "spool"))
        files.push_back(entry.path());
    return files;
  }

  TemporaryDirectory directory_;
  std::string errors_;
};

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// Too large to share a file.
std::string large(unsigned seed) { return noise(20'000, seed); }

TEST_F(SpoolTest, GivesBackWhatItTookTheOldestFirst) {
  Spool spool = this->spool();
  for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(spool.add(large(i), 7));
  EXPECT_EQ(spool.own_items(), 21u);
  for (unsigned i = 0; i < 3; ++i) {
    const auto request = spool.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->message(), large(i));
    EXPECT_EQ(request->items(), 7u);
    EXPECT_TRUE(request->is_own());
    spool.remove(*request);
  }
  EXPECT_FALSE(spool.take());
  EXPECT_EQ(spool.own_items(), 0u);
  EXPECT_TRUE(files().empty());
}

TEST_F(SpoolTest, CreatesNothingBeforeThereIsSomethingToKeep) {
  Spool spool = this->spool();
  EXPECT_FALSE(spool.take());
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "state"));
}

TEST_F(SpoolTest, SurvivesTheProcessForTheNextOneOfTheRunOnly) {
  const pid_t child = fork();
  if (child == 0) _exit(spool("run/1").add("kept", 3) ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(spool("run2").take());
  const auto request = spool("run/1").take();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->message(), "kept");
  EXPECT_FALSE(request->is_own());
}

TEST_F(SpoolTest, ARequestIsSentByOneAtATime) {
  Spool first = spool(), second = spool();
  first.add("once", 1);
  {
    const auto request = first.take();
    ASSERT_TRUE(request);
    EXPECT_FALSE(second.take());
    EXPECT_FALSE(first.take());
  }
  EXPECT_TRUE(second.take()) << "not sent, so somebody else's turn";
}

TEST_F(SpoolTest, WhatIsLeftOfARequestTakesItsPlaceInTheSameHands) {
  spool("run1").add("whole", 5);
  Spool flushing = spool(""), of_run = spool("run1");
  {
    auto request = flushing.take();
    ASSERT_TRUE(request);
    ASSERT_TRUE(flushing.shorten(*request, "rest", 2));
    EXPECT_EQ(request->message(), "rest");
    EXPECT_EQ(request->items(), 2u);
    EXPECT_EQ(files().size(), 1u);
    EXPECT_FALSE(of_run.take()) << "it is being sent";
  }
  const auto rest = of_run.take();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->message(), "rest");
  EXPECT_EQ(rest->items(), 2u);
  EXPECT_EQ(errors_, "");
}

TEST_F(SpoolTest, WhatIsLeftOfAnOldRequestIsNotTakenForHalfWritten) {
  spool().add("whole", 5);
  SpoolFile old = SpoolFile::of(files().at(0).filename().string()).value();
  old.begun_unix_ns = 1'000'000'000'000'000'000;
  std::filesystem::rename(files().at(0), files().at(0).parent_path() / old.name());
  std::jthread others([directory = spool().directory()](const std::stop_token& stop) {
    while (!stop.stop_requested()) list_spool(directory, {});  // which clears away
  });
  Spool spool = this->spool();
  auto request = spool.take();
  ASSERT_TRUE(request);
  for (unsigned i = 0; i < 200; ++i) ASSERT_TRUE(spool.shorten(*request, large(i), 1)) << errors_;
}

// Contract: 7.spool-seen
TEST_F(SpoolTest, SeesWithinASecondWhatOthersHaveWritten) {
  Spool living = spool();
  const auto is_seen = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1'010));
    return living.has_changed();
  };
  spool().add("before", 1);
  living.remove(*living.take());
  EXPECT_FALSE(living.take());
  EXPECT_FALSE(living.has_changed()) << "it was just looked into";
  // A clock that is coarse might show what comes now at the same time as what was seen.
  while (is_seen()) EXPECT_FALSE(living.take());
  EXPECT_FALSE(is_seen());
  spool().add("another's", 1);
  EXPECT_TRUE(is_seen());
  EXPECT_TRUE(living.take());
}

// Contract: 7.spool-seen
TEST_F(SpoolTest, LooksAgainForWhatWhoeverSendsItMayLeave) {
  Spool living = spool();
  spool().add("another's", 1);
  std::optional<Spool> other(std::in_place, SpoolOptions{living.directory(), 1 << 20, "run1"}, [](std::string_view) {});
  auto sending = other->take();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(living.take());
    std::this_thread::sleep_for(std::chrono::milliseconds(1'010));
    EXPECT_TRUE(living.has_changed()) << "however long it takes";
  }
  sending.reset();
  EXPECT_TRUE(living.take());
}

TEST_F(SpoolTest, GivesWhoNamesNoRunThoseOfAllRuns) {
  spool("run1").add("one", 3);
  spool("run2").add("two", 4);
  Spool all = spool("");
  EXPECT_EQ(all.contents().requests, 2u);
  EXPECT_EQ(all.contents().items, 7u);
  for (const char* message : {"one", "two"}) {
    const auto request = all.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->message(), message);
    all.remove(*request);
  }
  EXPECT_FALSE(all.take());
  EXPECT_EQ(all.contents().requests, 0u);
}

// Contract: 7.spool
TEST_F(SpoolTest, DropsTheOldestForWantOfRoomAndCountsThem) {
  Spool spool = this->spool("run1", 10'000);
  for (unsigned i = 0; i < 5; ++i) EXPECT_TRUE(spool.add(noise(3'000, i), 10 + i));
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(spool.take_dropped().own, 10u + 11u);
  EXPECT_EQ(spool.take_dropped().own, 0u);
  EXPECT_EQ(spool.take()->message(), noise(3'000, 2));
  EXPECT_THAT(errors_, HasSubstr("full"));
}

// Contract: 6.logs-spool
TEST_F(SpoolTest, KeepsSpansAndLogRecordsApartWithinOneBound) {
  Spool spool = this->spool("run1", 10'000);
  spool.add(noise(3'000, 0), 10);
  spool.add(noise(3'000, 1), 20, Signal::logs);
  spool.add(noise(3'000, 2), 30);
  EXPECT_EQ(spool.own_items(), 40u);
  EXPECT_EQ(spool.own_items(Signal::logs), 20u);
  spool.add(noise(3'000, 3), 40, Signal::logs);
  spool.add(noise(3'000, 4), 50);
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(spool.take_dropped().own, 10u) << "the oldest first, whichever signal wants the room";
  EXPECT_EQ(spool.take_dropped(Signal::logs).own, 20u);
  const auto logs = spool.take(Signal::logs);
  ASSERT_TRUE(logs);
  EXPECT_EQ(logs->message(), noise(3'000, 3));
  EXPECT_FALSE(spool.take(Signal::logs));
  EXPECT_EQ(spool.take()->message(), noise(3'000, 2));
  EXPECT_EQ(spool.contents().items, 80u);
  EXPECT_EQ(spool.contents(Signal::logs).items, 40u);
}

// Contract: 7.spool
TEST_F(SpoolTest, TheBoundIsThatOfTheDirectoryWhoeverWrites) {
  constexpr std::uint64_t most_bytes = 100'000;
  Spool first = spool("run1", most_bytes), second = spool("run2", most_bytes);
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE((i % 3 == 0 ? first : second).add(noise(3'000, i), 1));
  const SpoolListing left = first.listing();
  EXPECT_LE(left.bytes, most_bytes);
  const auto by_first = first.take_dropped(), by_second = second.take_dropped();
  EXPECT_GT(by_first.of_others + by_second.of_others, 0u);
  EXPECT_EQ(by_first.own + by_first.of_others + by_second.own + by_second.of_others + left.all.items, 100u);
}

// Contract: 7.spool
TEST_F(SpoolTest, ProcessesThatFillItTogetherCountEverySpanOnce) {
  constexpr std::uint64_t most_bytes = 200'000, each = 200;
  constexpr int processes = 4;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (unsigned i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    Spool spool = this->spool("run1", most_bytes);
    for (unsigned j = 0; j < each; ++j) spool.add(noise(3'000, i * each + j), 1);
    const auto dropped = spool.take_dropped();
    const std::uint64_t count = dropped.own + dropped.of_others;
    _exit(write(ends[1], &count, sizeof count) == sizeof count ? 0 : 1);
  }
  std::uint64_t dropped = 0, count = 0;
  for (int i = 0; i < processes; ++i) {
    ASSERT_EQ(read(ends[0], &count, sizeof count), ssize_t(sizeof count));
    dropped += count;
    wait(nullptr);
  }
  for (const int end : ends) close(end);
  const SpoolListing left = spool().listing();
  EXPECT_EQ(dropped + left.all.items, processes * each);
  EXPECT_LE(left.bytes, most_bytes + processes * 3'100u) << "each may be one request ahead of its last look";
}

TEST_F(SpoolTest, SmallRequestsShareAFileAndAreSentAsOne) {
  Spool spool = this->spool();
  for (const char* message : {"one", "two", "three"}) EXPECT_TRUE(spool.add(message, 7));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(spool.listing().bytes, std::filesystem::file_size(files().at(0)));
  {
    const auto request = spool.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->message(), "onetwothree");
    EXPECT_EQ(request->items(), 21u);
    EXPECT_TRUE(spool.add("four", 1)) << "not to what is being sent";
    spool.remove(*request);
  }
  EXPECT_EQ(spool.take()->message(), "four");
}

TEST_F(SpoolTest, ManyFilesAreAllSentThoughFewNamesAreHeld) {
  constexpr unsigned many = SpoolListing::most_names + 100;
  for (unsigned i = 0; i < many; ++i) spool().add("small", 1);
  Spool last = spool();
  const SpoolListing listing = last.listing();
  EXPECT_EQ(listing.all.requests, many);
  EXPECT_EQ(listing.oldest.size(), SpoolListing::most_names);
  EXPECT_TRUE(std::ranges::is_sorted(listing.oldest, {}, &SpoolFile::age));
  unsigned taken = 0;
  while (const auto request = last.take()) {
    last.remove(*request);
    ++taken;
  }
  EXPECT_EQ(taken, many);
}

TEST_F(SpoolTest, DoesNotDropWhatIsBeingSent) {
  Spool spool = this->spool("run1", 7'000);
  spool.add(noise(3'000, 0), 1);
  spool.add(noise(3'000, 1), 2);
  const auto sent = spool.take();
  spool.add(noise(3'000, 2), 4);
  EXPECT_EQ(spool.take_dropped().own, 2u);
  EXPECT_EQ(spool.take()->message(), noise(3'000, 2));
}

TEST_F(SpoolTest, RefusesWhatIsLargerThanItself) {
  Spool spool = this->spool("run1", 1'000);
  EXPECT_FALSE(spool.add(noise(3'000, 0), 1));
  EXPECT_THAT(errors_, HasSubstr("smaller than one request"));
  EXPECT_FALSE(this->spool("run1", 0).add("any", 1));
}

TEST_F(SpoolTest, ADirectoryThatCannotBeWrittenLosesTheRequestAndSaysSo) {
  directory_.write("state", "a file where a directory should be");
  EXPECT_FALSE(spool().add("lost", 1));
  EXPECT_THAT(errors_, HasSubstr("cannot keep a request"));
}

// Nobody may make one there, the superuser neither.
TEST_F(SpoolTest, ADirectoryThatCannotBeMadeIsReportedWithTheReasonOfThat) {
  ASSERT_NE(mkdir("/sys/lens-spool", 0700), 0);
  const std::string why = strerror(errno);
  Spool spool({"/sys/lens-spool/traces", 1 << 20, "run1"},
              [&](std::string_view line) { errors_ += std::string(line) + '\n'; });
  EXPECT_FALSE(spool.add("lost", 1));
  EXPECT_EQ(errors_, "cannot keep a request in the spool /sys/lens-spool/traces: " + why + '\n');
}

TEST_F(SpoolTest, ADamagedFileIsRemovedAndForeignOnesAreLeftAlone) {
  Spool spool = this->spool();
  spool.add(large(1), 5);
  const auto damaged = files().at(0);
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 1);
  spool.add(large(2), 6);
  std::ofstream(damaged.parent_path() / "notes.txt") << "not ours";
  EXPECT_EQ(spool.take()->message(), large(2));
  EXPECT_EQ(spool.take_damaged().own, 5u);
  EXPECT_EQ(spool.take_dropped().own, 0u) << "it made room for nobody";
  EXPECT_FALSE(std::filesystem::exists(damaged));
  EXPECT_TRUE(std::filesystem::exists(damaged.parent_path() / "notes.txt"));
  EXPECT_THAT(errors_, HasSubstr(damaged.string() + " is damaged: 5 of its 5 spans are lost"));
}

std::string request_of(int first_span, int spans) {
  return tests::envelope_of("svc").head(tests::spans_of("s", first_span, spans).size()) +
         tests::spans_of("s", first_span, spans);
}

/// How a loss of power leaves the end of a file: cut at or within a frame, or zeros.
class TornSpool : public SpoolTest, public testing::WithParamInterface<void (*)(const std::filesystem::path&)> {};

// Contract: 7.spool-torn
TEST_P(TornSpool, WhatIsWholeIsSentAndTheRestIsCountedOnce) {
  Spool writer = this->spool();
  for (const int first : {0, 2, 5}) writer.add(request_of(first, first == 0 ? 2 : 3), first == 0 ? 2 : 3);
  ASSERT_EQ(files().size(), 1u);
  const auto file = files().at(0);
  GetParam()(file);
  for (const bool is_sent : {false, true}) {
    Spool spool = this->spool();
    const auto request = spool.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(tests::spans_in(request->message()), tests::names_of("svc", "s", 0, 5));
    EXPECT_EQ(request->items(), 5u);
    EXPECT_EQ(spool.take_damaged().of_others, 0u) << "it is still there";
    if (!is_sent) continue;
    spool.remove(*request);
    EXPECT_EQ(spool.take_damaged().of_others, 3u);
    spool.remove(*request);
    EXPECT_EQ(spool.take_damaged().of_others, 0u);
  }
  EXPECT_THAT(errors_, HasSubstr(file.string() + " is damaged: 3 of its 8 spans are lost"));
  EXPECT_TRUE(files().empty());
}

std::uintmax_t two_frames(const std::filesystem::path& file) {
  otlp::SmallFramer framer;
  std::uintmax_t bytes = 0;
  for (const auto& request : {request_of(0, 2), request_of(2, 3)}) bytes += framer.frame(request).size();
  EXPECT_LT(bytes, std::filesystem::file_size(file));
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(
    All, TornSpool,
    testing::Values([](const std::filesystem::path& file) { std::filesystem::resize_file(file, two_frames(file)); },
                    [](const std::filesystem::path& file) { std::filesystem::resize_file(file, two_frames(file) + 9); },
                    [](const std::filesystem::path& file) {
                      const auto size = std::filesystem::file_size(file);
                      std::filesystem::resize_file(file, two_frames(file));
                      std::filesystem::resize_file(file, size);
                    }));

TEST_F(SpoolTest, WhatIsLeftOfATornFileIsAsItsNameSays) {
  Spool spool = this->spool();
  for (const int first : {0, 2}) spool.add(request_of(first, 2), 2);
  const auto file = files().at(0);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  auto request = spool.take();
  ASSERT_TRUE(request);
  ASSERT_TRUE(spool.shorten(*request, request_of(1, 1), 1));
  EXPECT_EQ(spool.take_damaged().own, 2u);
  EXPECT_EQ(spool.contents().items, 1u);
  spool.remove(*request);
  EXPECT_EQ(spool.take_damaged().own, 0u);
}

TEST_F(SpoolTest, WhatAKilledProcessHadHalfWrittenIsClearedAway) {
  spool().add("whole", 1);
  const auto old = files().at(0).parent_path() / ".1000000000000000000-1-1-10-run1.otlp.zst";
  std::ofstream(old) << "half";
  EXPECT_EQ(spool().take()->message(), "whole");
  EXPECT_FALSE(std::filesystem::exists(old));
}

TEST_F(SpoolTest, IsReadableByItsOwnerOnly) {
  Spool spool = this->spool();
  spool.add("secret", 1);
  struct stat status;
  ASSERT_EQ(stat(files().at(0).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// ---- file systems that are not local

TEST_F(SpoolTest, NfsLocksWhatIsOpenForWriting) {
  const FileLocks nfs(FileLocks::Kind::nfs);
  Spool first = spool(), second = spool();
  first.add("once", 1);
  const auto request = first.take();
  ASSERT_TRUE(request);
  EXPECT_FALSE(second.take());
  EXPECT_EQ(errors_, "");
}

// Contract: 7.spool
TEST_F(SpoolTest, WithoutLocksItIsSentAndThisIsSaidOnce) {
  const FileLocks none(FileLocks::Kind::none);
  Spool spool = this->spool();
  for (unsigned i = 0; i < 3; ++i) spool.add(large(i), 1);
  for (unsigned i = 0; i < 3; ++i) {
    const auto request = spool.take();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->message(), large(i));
    spool.remove(*request);
  }
  EXPECT_EQ(errors_, "the file system of the spool " + spool.directory() +
                         " has no locks (Function not implemented): processes that share it may send a request twice; "
                         "SPOOL_DIR names another place\n");
}

TEST_F(SpoolTest, WithoutLocksAProcessStillSendsEachRequestOnce) {
  const FileLocks none(FileLocks::Kind::none);
  Spool spool = this->spool();
  spool.add("first", 1);
  auto request = spool.take();
  ASSERT_TRUE(request);
  EXPECT_FALSE(spool.take());
  spool.add("second", 1);
  spool.remove(*request);
  request = spool.take();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->message(), "second") << "it was not added to what was being sent";
  ASSERT_TRUE(spool.shorten(*request, "rest", 0));
  EXPECT_FALSE(spool.take());
  request.reset();
  EXPECT_TRUE(spool.take()) << "not sent, so it is there again";
}

TEST_F(SpoolTest, WithoutLocksItKeepsItsBound) {
  const FileLocks none(FileLocks::Kind::none);
  Spool spool = this->spool("run1", 10'000);
  for (unsigned i = 0; i < 5; ++i) EXPECT_TRUE(spool.add(noise(3'000, i), 10 + i));
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(spool.take_dropped().own, 10u + 11u);
}

TEST_F(SpoolTest, WithoutLocksWhatIsJustBeingAddedIsNotSentYet) {
  const FileLocks none(FileLocks::Kind::none);
  spool().add("whole", 1);
  const auto file = files().at(0);
  std::ofstream(file, std::ios::app) << directory_.read(std::filesystem::relative(file, directory_.path()));
  EXPECT_EQ(spool().take()->message(), "whole") << "its writer has not renamed it, and puts that elsewhere";
}

TEST_F(SpoolTest, WhatCannotBeLockedStaysAndIsNotCalledInUse) {
  Spool spool = this->spool();
  spool.add("kept", 1);
  {
    const FileLocks broken(FileLocks::Kind::broken);
    EXPECT_FALSE(spool.take());
    EXPECT_FALSE(spool.take());
  }
  EXPECT_EQ(spool.unusable_files(), 2u);
  EXPECT_EQ(errors_, files().at(0).string() +
                         " stays in the spool, and others may: it cannot be opened and locked: Input/output error\n");
  EXPECT_TRUE(spool.take());
}

TEST_F(SpoolTest, PassesOverWhatHasTheNameOfARequestAndIsNoFile) {
  Spool spool = this->spool("run1", 10'000);
  spool.add("real", 1);
  const auto directory = files().at(0).parent_path();
  const auto fifo = directory / "1-1-1000-9000-run1.otlp.zst", folder = directory / "2-1-1000-9000-run1.otlp.zst",
             link = directory / "3-1-1000-9000-run1.otlp.zst";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(fifo, link);
  EXPECT_EQ(spool.contents().items, 1u);
  EXPECT_TRUE(spool.add(noise(3'000, 0), 2)) << "they take no room either";
  EXPECT_EQ(spool.take()->message(), "real");
  EXPECT_TRUE(std::filesystem::exists(fifo) && std::filesystem::exists(folder) && std::filesystem::is_symlink(link));
  EXPECT_EQ(errors_, "");
}

TEST_F(SpoolTest, WhenAllIsBeingSentItDoesNotSayThatItDrops) {
  Spool spool = this->spool("run1", 4'000);
  spool.add(noise(3'000, 0), 1);
  const auto sent = spool.take();
  spool.add(noise(3'000, 1), 2);
  EXPECT_THAT(errors_, HasSubstr("stays"));
  EXPECT_THAT(errors_, Not(HasSubstr("dropped")));
}

}  // namespace
}  // namespace lens::exporting
