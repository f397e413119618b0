// SPDX-License-Identifier: Apache-2.0
#include "src/assemble/assembler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "lens/span.h"

namespace lens::assemble {
namespace {

using namespace detail;

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
    const auto* first = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), first, first + count);
  }

  /// Hands over what has been added since the last call.
  void feed(Assembler& assembler, SpanSink& sink) {
    assembler.take(from_, bytes_, sink);
    fed_.push_back(std::move(bytes_));  // as in a ring, they stay until the cycle ends
    bytes_.clear();
    from_ = next_;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

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
  bool truncated;
};

class AssemblerTest : public testing::Test, public SpanSink {
 protected:
  void on_span(const otlp::SpanRecord& span) override {
    ended_.push_back(
        {span.name, span.span, span.parent, span.start_unix_ns, span.end_unix_ns, span.later.size(), span.truncated});
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

}  // namespace
}  // namespace lens::assemble
