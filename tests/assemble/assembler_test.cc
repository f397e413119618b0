// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/assembler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lens/span.h"

namespace lens::assemble {
namespace {

using namespace detail;

/// An item as it lies in memory.
struct Raw {
  std::span<const std::byte> content;
  std::uint64_t bytes() const noexcept { return content.size(); }
  void write(std::byte* at) const noexcept { std::memcpy(at, content.data(), content.size()); }
};

// A ring's records, written by hand.
class Records {
 public:
  explicit Records(std::uint64_t ring) : from_(ring << position_ring_shift | 64), next_(from_) {}

  template <class... Items>
  Position add(RecordKind kind, std::uint32_t reference, std::uint64_t ticks, bool elsewhere, const Items&... items) {
    const std::uint64_t size = (sizeof(RecordHeader) + ... + items.bytes());
    const RecordHeader header{ticks, reference, RecordHeader::form_of(size, kind, elsewhere)};
    append(&header, sizeof header);
    (
        [&] {
          std::vector<std::byte> bytes(items.bytes());
          items.write(bytes.data());
          append(bytes.data(), bytes.size());
        }(),
        ...);
    const Position position = next_;
    next_ += size;
    return position;
  }
  Position begin(std::uint32_t name, std::uint64_t ticks) { return add(RecordKind::begin, name, ticks, false); }
  Position start(std::uint32_t name, std::uint64_t ticks) { return add(RecordKind::start, name, ticks, false); }
  void end(Position position, std::uint64_t ticks) { add(RecordKind::end, std::uint32_t(position), ticks, false); }
  void end_elsewhere(Position position, std::uint64_t ticks) {
    add(RecordKind::end, std::uint32_t(position), ticks, true, ScalarItem{{0, ItemType::position, 0, 0}, position});
  }
  void append(const void* bytes, std::size_t count) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + count);
    std::memcpy(bytes_.data() + at, bytes, count);
  }

  /// Hands over what has been added since the last call.
  void feed(Assembler& assembler, SpanSink& sink) {
    assembler.take(from_, bytes_, sink);
    fed_.push_back(std::move(bytes_));  // as in a ring, they stay until the cycle ends
    bytes_.clear();
    from_ = next_;
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  Position position() const { return next_; }
  /// As if so many bytes of records had come and gone. Right after `feed`.
  void pass(std::uint64_t bytes) { from_ = next_ += bytes; }

 private:
  Position from_, next_;
  std::vector<std::byte> bytes_;
  std::vector<std::vector<std::byte>> fed_;
};

struct Ended {
  std::uint32_t name;
  std::uint64_t span, parent;
  std::int64_t start_ns, end_ns;
  std::size_t later_bytes;
  bool parent_is_remote;
  bool truncated;
  otlp::LostParts lost;
};

class AssemblerTest : public testing::Test, public SpanSink {
 protected:
  void on_span(const otlp::SpanRecord& span) override {
    ended_.push_back({span.name, span.span, span.parent, span.start_unix_ns, span.end_unix_ns, span.later.size(),
                      span.parent_is_remote, span.truncated, span.lost});
  }
  void cycle(std::initializer_list<Records*> rings) {
    ticks_ += 1000;
    assembler_.begin_cycle({ticks_, std::int64_t(ticks_), std::int64_t(ticks_)});
    for (Records* ring : rings) ring->feed(assembler_, *this);
    assembler_.end_cycle(*this);
  }

  std::uint64_t ticks_ = 0;
  Assembler assembler_{{1, 2, 3}, TimeLine({0, 0, 0})};
  Records ring_{1}, other_{2};
  std::vector<Ended> ended_;
};

TEST_F(AssemblerTest, FindsParentsByTheOrderOfScopes) {
  const Position outer = ring_.begin(1, 10), inner = ring_.begin(2, 20);
  ring_.end(inner, 30);
  ring_.end(outer, 40);
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_EQ(ended_[0].name, 2u);
  EXPECT_EQ(ended_[0].parent, ended_[1].span);
  EXPECT_EQ(ended_[1].parent, 0u);
  EXPECT_EQ(ended_[0].start_ns, 20);
  EXPECT_EQ(ended_[0].end_ns, 30);
}

TEST_F(AssemblerTest, KnowsAParentOfARingThatIsReadLater) {
  assembler_.add_ring(other_.position());
  const Position parent = other_.begin(1, 10);
  const std::uint64_t id = model::span_word(parent, {1, 2, 3});
  const struct {
    ItemHeader header{0, ItemType::parent, SpanContext::sampled, 0};
    std::uint64_t trace[2] = {7, 8}, span;
  } item{.span = id};
  const Position child = ring_.add(RecordKind::begin, 2, 20, false, Raw{std::as_bytes(std::span(&item, 1))});
  ring_.end(child, 30);
  cycle({&ring_, &other_});
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].parent, id);
  EXPECT_FALSE(ended_[0].parent_is_remote);
}

TEST_F(AssemblerTest, KeepsWhatIsOpenOverCycles) {
  const Position outer = ring_.begin(1, 10);
  cycle({&ring_});
  const Position inner = ring_.begin(2, 1020);
  cycle({&ring_});
  ring_.end(inner, 2030);
  ring_.end(outer, 2040);
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_EQ(ended_[0].parent, ended_[1].span);
}

TEST_F(AssemblerTest, PassesOverAnEndWhoseBeginItHasNotSeen) {
  ring_.end(12345, 10);
  other_.end_elsewhere(Position{1} << position_ring_shift | 64, 10);
  cycle({&ring_, &other_});
  cycle({});
  EXPECT_TRUE(ended_.empty());
}

TEST_F(AssemblerTest, EndsASpanOnceOnly) {
  const Position scope = ring_.begin(1, 10);
  ring_.end(scope, 20);
  ring_.end(scope, 30);
  cycle({&ring_});
  ring_.end(scope, 1040);
  cycle({&ring_});
  EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(AssemblerTest, AppliesRecordsOfOtherRingsInTheOrderOfTime) {
  const Position request = ring_.start(1, 10);
  cycle({&ring_});
  // The end is read a cycle before the attribute that came before it.
  ring_.end(request, 1200);
  cycle({&ring_});
  EXPECT_TRUE(ended_.empty());
  other_.add(RecordKind::attributes, std::uint32_t(request), 1100, true,
             ScalarItem{{0, ItemType::position, 0, 0}, request}, ScalarItem{{5, ItemType::integer, 0, 0}, 7});
  cycle({&other_});
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_GT(ended_[0].later_bytes, 0u);
}

TEST_F(AssemblerTest, TakesTheScopesOfAGoneThreadOutOfTheWayOfTheNext) {
  const Position orphan = ring_.begin(1, 10);
  ring_.add(RecordKind::thread, 99, 20, false);
  const Position newcomer = ring_.begin(2, 30);
  ring_.end(newcomer, 40);
  other_.end_elsewhere(orphan, 50);
  cycle({&ring_, &other_});
  cycle({});
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_EQ(ended_[0].parent, 0u);
  EXPECT_EQ(ended_[1].name, 1u);
}

TEST_F(AssemblerTest, TruncatesInnermostFirst) {
  ring_.begin(1, 10);
  ring_.begin(2, 20);
  ring_.start(3, 30);
  cycle({&ring_});
  assembler_.truncate_open(2000, "end", *this);
  ASSERT_EQ(ended_.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ended_[i].name, 3 - i);
    EXPECT_TRUE(ended_[i].truncated);
  }
  assembler_.truncate_open(2000, "end", *this);
  EXPECT_EQ(ended_.size(), 3u);
}

TEST_F(AssemblerTest, StopsAtARecordThatIsNotWhole) {
  const Position scope = ring_.begin(1, 10);
  ring_.end(scope, 20);
  for (int i = 0; i < 8; ++i) ring_.bytes().pop_back();
  cycle({&ring_});
  EXPECT_TRUE(ended_.empty());
  EXPECT_EQ(assembler_.malformed_count(), 1u);
}

TEST_F(AssemblerTest, TakesNoHarmFromAnySize) {
  for (std::uint64_t size : {0u, 8u, 24u, 32u, 0xffffffu * 8u}) {
    Records ring(3);
    const RecordHeader header{1, 1, RecordHeader::form_of(size, RecordKind::attributes, true)};
    ring.append(&header, sizeof header);
    cycle({&ring});
  }
  EXPECT_GE(assembler_.malformed_count(), 4u);
}

TEST_F(AssemblerTest, TakesNoHarmFromNoise) {
  std::uint64_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    Records ring(round % 4 + 1);
    for (int i = 0; i < 3; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const auto kind = static_cast<RecordKind>(random >> 60);
      const std::uint64_t words = (random >> 40) % 6;
      const RecordHeader header{random, std::uint32_t(random >> 20),
                                RecordHeader::form_of(16 + 8 * words, kind, (random >> 59 & 1) != 0)};
      ring.append(&header, sizeof header);
      for (std::uint64_t w = 0; w < words; ++w) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        ring.append(&random, sizeof random);
      }
    }
    cycle({&ring});
  }
  assembler_.truncate_open(ticks_, "end", *this);
}

// Half a position comes again every 4 GiB: an end means the last begin that has it.
TEST_F(AssemblerTest, EndsTheRightOneOfTwoSpansThatLieFourGibibytesApart) {
  const std::uint64_t lap = std::uint64_t{1} << 32;
  const Position job = ring_.begin(1, 100);
  cycle({&ring_});
  ring_.pass(lap - sizeof(RecordHeader));
  const Position first = ring_.start(2, 1100);
  ASSERT_EQ(first, job + lap);
  cycle({&ring_});
  ring_.pass(lap - sizeof(RecordHeader));
  const Position second = ring_.start(3, 2100);
  ASSERT_EQ(second, first + lap);
  ring_.end(second, 2200);
  cycle({&ring_});
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].name, 3u);
  ring_.end_elsewhere(first, 4100);
  cycle({&ring_});
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_EQ(ended_[1].name, 2u);
  ring_.end(job, 6100);  // the ring was full: there was room for half a position
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 3u);
  EXPECT_EQ(ended_[2].name, 1u);
  EXPECT_EQ(ended_[2].start_ns, 100);
}

TEST_F(AssemblerTest, KeepsNoMoreOpenThanItHasMemoryFor) {
  constexpr std::size_t most_bytes = 64 << 10;
  constexpr std::uint32_t count = 2000;
  assembler_.bound_open(most_bytes, {});
  std::vector<Position> handles;
  for (std::uint32_t i = 0; i < count; ++i) handles.push_back(ring_.start(1, i));
  cycle({&ring_});
  const std::uint64_t dropped = assembler_.dropped_count();
  EXPECT_GT(dropped, count / 2);
  EXPECT_LE(assembler_.open_bytes(), most_bytes);
  ticks_ += count;
  for (const Position handle : handles) ring_.end(handle, ticks_);
  const Position later = ring_.start(2, ticks_);
  cycle({&ring_});
  cycle({&ring_});
  EXPECT_EQ(ended_.size(), count - dropped);  // an end without its begin ends nothing
  EXPECT_EQ(assembler_.dropped_count(), dropped + 1);
  ring_.end(later, ticks_);
  const Position last = ring_.start(3, ticks_);
  ring_.end(last, ticks_);
  cycle({&ring_});
  cycle({&ring_});
  EXPECT_EQ(ended_.back().name, 3u);  // now there is room
  EXPECT_LT(assembler_.open_bytes(), most_bytes / 4);
}

TEST_F(AssemblerTest, DropsScopesThatNestTooDeepButNoActivation) {
  constexpr std::uint32_t count = 2000;
  assembler_.bound_open(64 << 10, {});
  std::vector<Position> scopes;
  for (std::uint32_t i = 0; i < count; ++i) scopes.push_back(ring_.begin(1, i));
  const Position activation =
      ring_.add(RecordKind::activate, 0, count, false, ScalarItem{{0, ItemType::parent, 1, 0}, 7}, ScalarItem{{}, 0});
  const Position handle = ring_.start(2, count);
  cycle({&ring_});
  const std::uint64_t dropped = assembler_.dropped_count();
  EXPECT_GT(dropped, count / 2);
  ring_.end(activation, ticks_);
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) ring_.end(*scope, ticks_);
  ring_.end(handle, ticks_);
  cycle({&ring_});
  cycle({&ring_});
  EXPECT_EQ(ended_.size(), count + 1 - dropped);
  EXPECT_LT(assembler_.open_bytes(), 8u << 10);
}

TEST_F(AssemblerTest, KeepsOfWhatASpanIsToldForLongTheLastAndCountsTheRest) {
  otlp::Limits limits;
  limits.events = 5;
  constexpr std::size_t most_bytes = 64 << 10;
  assembler_.bound_open(most_bytes, limits);
  const Position scope = ring_.begin(1, 1);
  constexpr std::uint64_t rounds = 20'000;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    ring_.add(RecordKind::attributes, std::uint32_t(scope), 2, false, ScalarItem{{5, ItemType::integer, 0, 0}, i});
    ring_.add(RecordKind::event, 6, 2, true, ScalarItem{{0, ItemType::position, 0, 0}, scope});
  }
  cycle({&ring_});
  EXPECT_LE(assembler_.open_bytes(), 16u << 10);
  EXPECT_EQ(assembler_.lost_records(), 0u);
  ring_.end(scope, ticks_);
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_FALSE(ended_[0].lost.any());
  EXPECT_LT(ended_[0].later_bytes, 16u << 10);
}

TEST_F(AssemblerTest, SaysOfASpanWhatFoundNoMemory) {
  constexpr std::size_t most_bytes = 16 << 10;
  assembler_.bound_open(most_bytes, {});
  const Position scope = ring_.begin(1, 1);
  for (std::uint32_t key = 1; key <= 2000; ++key)
    ring_.add(RecordKind::attributes, std::uint32_t(scope), 2, false, ScalarItem{{key, ItemType::integer, 0, 0}, key});
  const Position other = ring_.start(2, 3);  // for a place there is room still
  cycle({&ring_});
  EXPECT_LE(assembler_.open_bytes(), most_bytes);
  EXPECT_GT(assembler_.lost_records(), 500u);
  EXPECT_EQ(assembler_.dropped_count(), 0u);
  std::vector<std::byte> room(1 << 20);
  EXPECT_TRUE(assembler_.save_open(scope, room).complete);
  ring_.end(scope, ticks_);
  ring_.end(other, ticks_);
  cycle({&ring_});
  cycle({&ring_});
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_TRUE(ended_[0].lost.attributes);
  EXPECT_FALSE(ended_[0].lost.events);
  EXPECT_FALSE(ended_[1].lost.any());
  EXPECT_EQ(assembler_.open_bytes() / sizeof(OpenSpan), 16u + 32u);  // places that stay for the next
}

TEST_F(AssemblerTest, TellsOfWhichRingsSomethingElseIsOpen) {
  const auto changed = [this] {
    std::set<std::uint64_t> rings;
    for (const Position position : assembler_.take_changed()) rings.insert(position >> position_ring_shift);
    return rings;
  };
  using Rings = std::set<std::uint64_t>;
  const auto short_span = [](Records& ring, std::uint64_t ticks) {
    const Position span = ring.begin(9, ticks);
    ring.add(RecordKind::attributes, std::uint32_t(span), ticks, false, ScalarItem{{5, ItemType::integer, 0, 0}, 1});
    ring.end(span, ticks);
  };
  const Position job = ring_.begin(1, 1), handle = other_.start(2, 2);
  cycle({&ring_, &other_});
  EXPECT_EQ(changed(), (Rings{1, 2}));
  short_span(ring_, 1500);
  short_span(other_, 1500);
  cycle({&ring_, &other_});
  EXPECT_EQ(changed(), Rings{});  // nothing is open that was not, nor the reverse
  ring_.add(RecordKind::attributes, std::uint32_t(job), 2500, false, ScalarItem{{5, ItemType::integer, 0, 0}, 1});
  short_span(other_, 2500);
  cycle({&ring_, &other_});
  EXPECT_EQ(changed(), Rings{1});
  ring_.end_elsewhere(handle, 3500);
  cycle({&ring_});
  EXPECT_EQ(changed(), Rings{1});  // where the record waits
  cycle({});
  EXPECT_EQ(changed(), (Rings{1, 2}));
  ring_.end(job, 5500);
  short_span(other_, 5500);
  cycle({&ring_, &other_});
  EXPECT_EQ(changed(), Rings{1});
  EXPECT_EQ(ended_.size(), 6u);
}

// What a reader outside makes of the lists is what the process would have.
TEST_F(AssemblerTest, RestoresWhatItSaved) {
  const Position outer = ring_.add(RecordKind::begin, 1, 10, false, ScalarItem{{5, ItemType::integer, 0, 0}, 1});
  ring_.add(RecordKind::activate, 0, 11, false, ScalarItem{{0, ItemType::parent, 1, 0}, 70},
            ScalarItem{{71, ItemType{}, 0, 0}, 72});
  const Position inner = ring_.begin(2, 20), handle = ring_.start(3, 30);
  ring_.add(RecordKind::attributes, std::uint32_t(inner), 40, false, ScalarItem{{6, ItemType::integer, 0, 0}, 2});
  cycle({&ring_});
  std::vector<std::byte> entries(assembler_.open_list_bytes(outer, 1 << 20));
  const SavedOpen saved = assembler_.save_open(outer, entries);
  EXPECT_TRUE(saved.complete);
  EXPECT_EQ(saved.bytes, entries.size());
  EXPECT_FALSE(assembler_.save_open(outer, std::span(entries).first(entries.size() - 1)).complete);
  assembler_.save_open(outer, entries);

  Assembler restored{{1, 2, 3}, TimeLine({0, 0, 0})};
  restored.restore_open(outer, entries);
  Records next(1);
  next.pass(ring_.position() - outer);
  const Position nested = next.begin(4, 2000);
  next.end(nested, 2001);
  next.end(inner, 2002);
  next.end(handle, 2003);
  restored.begin_cycle({3000, 3000, 3000});
  next.feed(restored, *this);
  restored.end_cycle(*this);
  restored.end_cycle(*this);
  restored.truncate_open(4000, "end", *this);
  EXPECT_EQ(restored.malformed_count(), 0u);
  ASSERT_EQ(ended_.size(), 4u);
  EXPECT_EQ(ended_[0].name, 4u);
  EXPECT_EQ(ended_[0].parent, ended_[1].span);
  EXPECT_EQ(ended_[1].parent, 72u);  // of the activation
  EXPECT_EQ(ended_[1].later_bytes, 32u);
  EXPECT_EQ(ended_[1].start_ns, 20);
  EXPECT_EQ(ended_[2].name, 3u);
  EXPECT_EQ(ended_[3].name, 1u);
  EXPECT_TRUE(ended_[3].truncated);
}

}  // namespace
}  // namespace lens::assemble
