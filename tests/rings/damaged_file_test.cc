// SPDX-License-Identifier: Apache-2.0
// A dead process's file of rings, damaged everywhere: it is read to the end, with problems at most, and what is damaged
// is said.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <thread>

#include "src/base/utf8.h"
#include "src/otlp/decode.h"
#include "src/otlp/json.h"
#include "src/record/layout.h"
#include "src/record/recorder.h"
#include "tests/kill/child.h"
#include "tools/trace/group_request.h"
#include "tools/trace/process_state.h"
#include "tools/trace/trace.h"
#include "tools/trace/trace_file.h"

namespace lens::tests {
namespace {

using namespace lens::literals;
using record::FileHeader;
using record::RingHeader;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

void record_something_of_everything(const Config& config) {
  auto telemetry = setup_telemetry(config, {.rank = 0, .world_size = 1});
  extract(std::map<std::string, std::string>{{"traceparent", "00-0123456789abcdef0123456789abcdef-00f067aa0ba902b7-01"},
                                             {"tracestate", "one=1,two=2"}});
  auto job = managed_span(SpanGroup::job, "job", "sizes"_a = std::vector<int>{1, 2, 3});
  for (int i = 0; i < 30; ++i) {
    auto step =
        managed_span(SpanGroup::step, "step", {.links = {job.context()}}, "iteration"_a = i, "text"_a = "a text");
    step.add_event("event", "n"_a = 1.5);
    step.set_status(StatusCode::error, "a message");
  }
  log(Severity::info, "flushed");
  telemetry.force_flush();
  for (int i = 0; i < 30; ++i) auto step = managed_span(SpanGroup::step, "batched", "i"_a = i);
  for (int i = 0; i < 20; ++i) log(Severity::warn, "batched", "i"_a = i);
  const FileHeader& header = record::Recorder::instance().file()->header();
  while (header.log_batch_bytes[0] == 0 || header.batch_bytes[0] == 0) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) log(Severity::error, "recorded", "i"_a = i, "text"_a = "a text");
  SpanHandle handle = start_span(SpanGroup::step, "handle", {.kind = SpanKind::server, .root = true}, "h"_a = 1);
  std::thread([&] {
    handle.set("answer"_a = "from another thread");
    auto waiting = managed_span(SpanGroup::step, "open elsewhere", "names"_a = std::vector<std::string>{"a", "b"});
    _exit(0);
  }).join();
}

/// The file that a process left, to be damaged byte by byte and made good again.
class DamagedFile : public testing::Test {
 protected:
  DamagedFile() {
    Config config = place_.config();
    config.logs_enabled = true;
    config.standard.span_batch.schedule_delay = config.standard.log_batch.schedule_delay = std::chrono::hours(1);
    Child child([&] { record_something_of_everything(config); });
    EXPECT_EQ(child.wait(), 0);
    for (const auto& entry : std::filesystem::directory_iterator(place_.rings())) path_ = entry.path();
    original_ = place_.rings().parent_path() / "original";
    std::filesystem::create_hard_link(path_, original_);
    file_ = open(original_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(pread(file_, &bytes_of_header_, sizeof(FileHeader), 0), ssize_t(sizeof(FileHeader)));
  }
  ~DamagedFile() override { close(file_); }

  const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(bytes_of_header_); }

  RingHeader* read_ring(std::uint32_t number) {
    EXPECT_EQ(pread(file_, &bytes_of_ring_, sizeof(RingHeader), off_t(ring_at(number))), ssize_t(sizeof(RingHeader)));
    return reinterpret_cast<RingHeader*>(bytes_of_ring_);
  }
  std::uint64_t ring_at(std::uint32_t number) const {
    return header().rings_offset + (number - 1) * sizeof(RingHeader);
  }

  /// All that a reader does. Returns what it had to say; what is no file of rings at all is said too.
  std::vector<std::string> read_all() {
    std::vector<std::string> problems;
    std::error_code ignored;
    std::filesystem::create_hard_link(original_, path_, ignored);  // recovery took the name away
    try {
      trace::RingFile rings(path_);
      const trace::ProcessState state = trace::read_process_state(rings);
      problems = state.problems;
      if (auto recovery = trace::recover(rings)) {
        recovered_ = recovery->ended + recovery->truncated;
        recovered_logs_ = recovery->log_records;
        problems.insert(problems.end(), recovery->problems.begin(), recovery->problems.end());
      }
    } catch (const std::exception& error) {
      problems.push_back(error.what());
    }
    return problems;
  }

  template <class T>
  std::vector<std::string> read_with(std::uint64_t at, T value) {
    T before;
    EXPECT_EQ(pread(file_, &before, sizeof before, off_t(at)), ssize_t(sizeof before));
    EXPECT_EQ(pwrite(file_, &value, sizeof value, off_t(at)), ssize_t(sizeof value));
    auto problems = read_all();
    EXPECT_EQ(pwrite(file_, &before, sizeof before, off_t(at)), ssize_t(sizeof before));
    return problems;
  }

  void flip_every_byte(std::uint64_t from, std::uint64_t bytes, std::uint64_t stride = 1) {
    for (std::uint64_t at = from; at < from + bytes; at += stride) {
      unsigned char byte;
      ASSERT_EQ(pread(file_, &byte, 1, off_t(at)), 1);
      read_with(at, static_cast<unsigned char>(~byte));
    }
  }

  /// Values at the edges, in every word of the region.
  void try_extremes(std::uint64_t from, std::uint64_t bytes) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max(), sign = std::uint64_t{1} << 63;
    for (std::uint64_t at = from; at + 8 <= from + bytes; at += 4) {
      for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, most, sign, sign - 1, most - 4095})
        read_with(at, value);
    }
  }

  /// Makes `bytes` zero from `at` on, and good again. Returns what was said.
  std::string said_with_zeroes(std::uint64_t at, std::uint64_t bytes) {
    std::string before(bytes, 'x');
    EXPECT_EQ(pread(file_, before.data(), bytes, off_t(at)), ssize_t(bytes));
    const std::string zeroes(bytes, '\0');
    EXPECT_EQ(pwrite(file_, zeroes.data(), bytes, off_t(at)), ssize_t(bytes));
    std::string problems = said(read_all());
    EXPECT_EQ(pwrite(file_, before.data(), bytes, off_t(at)), ssize_t(bytes));
    return problems;
  }

  /// Asks for groups through the control block, as `lens set` does. No answer can come: the process is dead.
  void ask_for_groups() {
    trace::GroupRequest request(original_);
    EXPECT_TRUE(request.write("step"));
    if (const auto answer = request.read_answer()) ADD_FAILURE() << answer->text;
  }

  std::string said(const std::vector<std::string>& problems) const { return testing::PrintToString(problems); }

  RunPlace place_{"/dev/shm"};  // thousands of recoveries, each of which waits until it is on the disk
  std::filesystem::path path_, original_;
  int file_ = -1;
  std::uint64_t recovered_ = 0, recovered_logs_ = 0;
  alignas(FileHeader) char bytes_of_header_[sizeof(FileHeader)] = {};
  alignas(RingHeader) char bytes_of_ring_[sizeof(RingHeader)] = {};
};

TEST_F(DamagedFile, UndamagedIsReadWhole) {
  EXPECT_EQ(said(read_all()), "{}");
  EXPECT_EQ(recovered_logs_, 30u);
  EXPECT_EQ(recovered_, 33u);  // 30 that had ended since the flush; the job, the handle and the other thread's span
  const RecordedTrace trace = place_.trace();
  EXPECT_EQ(trace.count("batched"), 30u);
  EXPECT_EQ(trace.count("step"), 30u);
  EXPECT_EQ(trace.only("handle").at<std::string>("answer"), "from another thread");
}

TEST_F(DamagedFile, SaysWhatCannotBeRead) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(said(read_with(offsetof(FileHeader, magic), std::uint64_t{0})), HasSubstr("not a file of rings"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, version), 77u)), HasSubstr("version 77"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, rings_offset), most)), HasSubstr("ring 1: cannot be read"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, names_used), most)), HasSubstr("of the names only"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, batch_bytes), most)), HasSubstr("a batch cannot be read"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, batch_bytes), std::uint64_t{5000})), HasSubstr("batch"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, resource_bytes), most)), HasSubstr("the resource cannot be read"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, redaction_bytes), most)), HasSubstr("redact"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, redaction_bytes), header().redaction_bytes - 1)),
              HasSubstr("keys to redact cannot be understood: the library's own are redacted too"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, trace_directory), 'x')), HasSubstr("where the run's traces are"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, ring_count), 0u)), HasSubstr("number of rings"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, clock) + offsetof(record::ClockCalibration, ns_per_tick), most)),
              HasSubstr("rate of the clock"));
  const std::size_t clock = offsetof(FileHeader, clock);
  EXPECT_THAT(said(read_with(clock + offsetof(record::ClockCalibration, sequence), std::uint64_t{1})),
              HasSubstr("the clock's reading is torn"));
  EXPECT_THAT(said(read_with(clock + offsetof(record::ClockCalibration, sequence), std::uint64_t{0})),
              HasSubstr("the clock has not been read"));
  for (const std::size_t field :
       {offsetof(record::ClockCalibration, ticks), offsetof(record::ClockCalibration, monotonic_ns),
        offsetof(record::ClockCalibration, unix_ns)})
    EXPECT_THAT(said(read_with(clock + field, std::uint64_t{0})), HasSubstr("from before the process began")) << field;
  EXPECT_THAT(said(read_with(clock + offsetof(record::ClockCalibration, unix_ns),
                             header().start_unix_ns - std::int64_t{7'200'000'000'000})),
              HasSubstr("from before the process began"));
  for (const std::size_t field :
       {offsetof(record::StoredSampler, threshold), offsetof(record::StoredSampler, follows_parent)}) {
    EXPECT_THAT(said(read_with(offsetof(FileHeader, sampler) + field, most)), HasSubstr("which traces"));
    EXPECT_EQ(recovered_, 33u) << "nothing is left out";
  }
  for (const std::uint32_t state : {0u, 2u, 77u}) {
    EXPECT_THAT(said(read_with(offsetof(FileHeader, state), state)), HasSubstr("yet it holds spans")) << state;
    EXPECT_GT(recovered_, 30u);
  }
  EXPECT_THAT(said(read_with(ring_at(1) + offsetof(RingHeader, state), 0u)), HasSubstr("ring 1: marked as unused"));
  EXPECT_THAT(said(read_with(ring_at(1) + offsetof(RingHeader, data_bytes), most)),
              HasSubstr("ring 1: cannot be read"));
  EXPECT_THAT(said(read_with(ring_at(1) + offsetof(RingHeader, head), most)), HasSubstr("ring 1: cannot be read"));
  EXPECT_THAT(said(read_with(ring_at(1) + offsetof(RingHeader, open_offset), most / 2)),
              ContainsRegex("ring 1: the [0-9]+ bytes of what was open in it cannot be read"));
}

TEST_F(DamagedFile, SaysThatARingsPositionsAreOfAnotherOne) {
  // Without a list of what is open, the head alone says where the records begin.
  const std::uint64_t version = 0, head = read_ring(2)->head.position.load();
  ASSERT_EQ(pwrite(file_, &version, sizeof version, off_t(ring_at(2) + offsetof(RingHeader, open_version))), 8);
  EXPECT_THAT(said(read_with(ring_at(2) + offsetof(RingHeader, head), head ^ std::uint64_t{5} << 48)),
              HasSubstr("ring 2: its positions are of ring 7"));
}

TEST_F(DamagedFile, HeaderWithAnyByteOrWordChangedIsRead) {
  // The texts' first bytes only: a changed directory is another one, and would be made.
  const std::uint64_t texts = offsetof(FileHeader, run_id), clock = offsetof(FileHeader, clock);
  const std::uint64_t until_control = offsetof(FileHeader, control) - clock;  // which readers leave alone
  flip_every_byte(0, texts + 8);
  try_extremes(0, texts);
  flip_every_byte(offsetof(FileHeader, trace_file), 64);
  flip_every_byte(clock, until_control);
  try_extremes(clock, until_control);
}

TEST_F(DamagedFile, RingHeadersWithAnyByteOrWordChangedAreRead) {
  for (std::uint32_t number = 1; number <= 3; ++number) {
    flip_every_byte(ring_at(number), sizeof(RingHeader));
    try_extremes(ring_at(number), sizeof(RingHeader));
  }
}

TEST_F(DamagedFile, RecordsAndOpenSpansWithAnyByteOrWordChangedAreRead) {
  for (std::uint32_t number = 1; number <= 2; ++number) {
    const RingHeader& ring = *read_ring(number);
    const std::uint64_t records_at = ring.data_offset, open_at = ring.open_offset, open_room = ring.open_room;
    const std::uint64_t records = ring.head.position.load() & (ring.data_bytes - 1);
    const std::uint64_t open_bytes = ring.open[ring.open_version.load() & 1].bytes;
    const std::uint64_t list_at = open_at + (ring.open_version.load() & 1) * open_room;
    flip_every_byte(list_at, open_bytes);
    try_extremes(list_at, open_bytes);
    flip_every_byte(records_at, records, 3);
    try_extremes(records_at, std::min<std::uint64_t>(records, 512));
  }
}

TEST_F(DamagedFile, NamesEnvelopeAndBatchWithAnyByteChangedAreRead) {
  flip_every_byte(header().names_offset, header().names_used.load());
  flip_every_byte(header().envelope_offset, header().resource_bytes + header().scope_bytes + header().redaction_bytes,
                  3);
  flip_every_byte(header().batch_offset, header().batch_bytes[0].load(), 5);
}

/// What is in a trace directory, for who would refuse a request of which any message is not whole or any text is none.
struct StrictReader : otlp::TraceVisitor {
  explicit StrictReader(const std::filesystem::path& directory) {
    const trace::Trace found = trace::open_trace(directory);
    EXPECT_TRUE(found.problems.empty());
    for (const std::filesystem::path& path : found.files) {
      trace::TraceFile file(path);
      while (const auto message = file.next()) {
        std::string json;
        EXPECT_NO_THROW(otlp::append_json(json, Signal::traces, *message));
        EXPECT_NO_THROW(otlp::TraceDecoder().decode(*message, *this));
      }
      EXPECT_TRUE(file.problems().empty());
    }
  }
  void read(otlp::Encoded attributes, std::map<std::string, std::string>& into) {
    for (const std::string_view encoded : attributes) {
      const auto [key, value] = otlp::decode_attribute(encoded);
      const bool is_text = value.kind == otlp::AttributeValue::Kind::string;
      into[std::string(key)] = is_text ? std::string(value.bytes) : std::to_string(value.integer);
      EXPECT_TRUE(base::is_utf8(key) && (!is_text || base::is_utf8(value.bytes))) << key << ": " << value.bytes;
    }
  }
  void on_resource(otlp::Encoded attributes) override { read(attributes, resources.emplace_back()); }
  void on_span(const otlp::Span& span) override {
    EXPECT_TRUE(base::is_utf8(span.name)) << span.name;
    std::map<std::string, std::string> attributes;
    read(span.attributes, attributes);
    ++spans[std::string(span.name)];
  }

  std::vector<std::map<std::string, std::string>> resources;
  std::map<std::string, int> spans;
};

// Contract: 3.damaged
TEST_F(DamagedFile, ResourceAndScopeWithAnyByteChangedLoseNoSpanAndMakeNoFileUnreadable) {
  const std::uint64_t at = header().envelope_offset, bytes = header().resource_bytes + header().scope_bytes;
  const auto expect_all_spans = [&] {
    EXPECT_EQ(recovered_, 33u);
    EXPECT_EQ(recovered_logs_, 30u);
    StrictReader written(place_.traces());
    EXPECT_EQ(written.spans["batched"], 30);
    EXPECT_EQ(written.spans["step"], 30);
    EXPECT_EQ(written.spans["handle"], 1);
  };
  const auto change = [&](std::uint64_t i, unsigned char flip) {
    unsigned char byte;
    ASSERT_EQ(pread(file_, &byte, 1, off_t(at + i)), 1);
    read_with(at + i, static_cast<unsigned char>(byte ^ flip));
    expect_all_spans();
  };
  for (std::uint64_t i = 0; i < bytes && !HasFailure(); ++i) change(i, i % 2 == 0 ? 0x80 : 0x09);
  for (std::uint64_t i = 0; i < 32 && !HasFailure(); ++i)
    for (int bit = 0; bit < 8; ++bit) change(i, static_cast<unsigned char>(1 << bit));
}

// Contract: 3.damaged
TEST_F(DamagedFile, ResourceThatIsDamagedIsReplacedByWhatTheHeaderKnowsAndThatIsSaid) {
  const std::uint64_t resource_at = header().envelope_offset, scope_at = resource_at + header().resource_bytes;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::string pid = std::to_string(header().pid);
  const auto expect_least = [&](const std::vector<std::string>& problems) {
    EXPECT_THAT(said(problems), HasSubstr("the resource cannot be understood"));
    EXPECT_EQ(recovered_, 33u);
    StrictReader written(place_.traces());
    EXPECT_THAT(written.resources,
                Contains(UnorderedElementsAre(Pair("dl.rank", "0"), Pair("dl.world_size", "1"),
                                              Pair("dl.local_rank", "0"), Pair("nemo.run.id", "test"),
                                              Pair("service.instance.id", "test-rank0"), Pair("process.pid", pid))));
    EXPECT_EQ(written.spans["batched"], 30);
  };
  expect_least(read_with(resource_at + 1, '\x7f'));
  expect_least(read_with(offsetof(FileHeader, resource_bytes), header().resource_bytes - 3));
  expect_least(read_with(offsetof(FileHeader, resource_bytes), std::uint64_t{0}));
  expect_least(read_with(offsetof(FileHeader, envelope_offset), std::uint64_t{0}));
  expect_least(read_with(offsetof(FileHeader, envelope_offset), most));
  EXPECT_THAT(said(read_with(scope_at + 1, '\x7f')),
              AllOf(HasSubstr("the instrumentation scope cannot be understood"), Not(HasSubstr("resource"))));
  EXPECT_EQ(StrictReader(place_.traces()).spans["batched"], 30);
}

// Contract: 3.damaged
TEST_F(DamagedFile, BatchWithAnyByteChangedMakesNoFileUnreadable) {
  const std::uint64_t at = header().batch_offset, bytes = header().batch_bytes[0].load();
  for (std::uint64_t i = 0; i < bytes && !HasFailure(); i += i < 200 ? 1 : 7) {
    unsigned char byte;
    ASSERT_EQ(pread(file_, &byte, 1, off_t(at + i)), 1);
    read_with(at + i, static_cast<unsigned char>(byte ^ (i % 2 == 0 ? 0x80 : 0x09)));
    StrictReader written(place_.traces());
    EXPECT_EQ(written.spans["step"], 30);
  }
}

TEST_F(DamagedFile, LogRecordsWithAnyByteOrWordChangedAreRead) {
  const std::uint64_t at = header().log_batch_offset, bytes = header().log_batch_bytes[0].load();
  flip_every_byte(at, bytes);
  try_extremes(at, std::min<std::uint64_t>(bytes, 256));
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t size_at = offsetof(FileHeader, log_batch_bytes);
  EXPECT_THAT(said(read_with(size_at, most)), HasSubstr("a batch of log records cannot be read"));
  EXPECT_THAT(said(read_with(size_at, bytes - 1)), HasSubstr("bytes of the log records cannot be understood"));
  EXPECT_EQ(recovered_logs_, 29u);
  EXPECT_THAT(said(read_with(offsetof(FileHeader, log_batch_offset), most)), HasSubstr("log records cannot be read"));
}

TEST_F(DamagedFile, TraceStatesWithAnyByteOrWordChangedAreRead) {
  const std::uint64_t at = header().trace_states_offset;
  flip_every_byte(at, sizeof(record::StoredTraceState));
  try_extremes(at, 64);
  const std::uint64_t bytes_at = at + offsetof(record::StoredTraceState, bytes);
  EXPECT_THAT(said(read_with(bytes_at, 513u)), HasSubstr("1 tracestate cannot be understood"));
  EXPECT_THAT(said(read_with(bytes_at, 3u)), HasSubstr("1 tracestate cannot be understood"));
  EXPECT_THAT(said(read_with(at + offsetof(record::StoredTraceState, text), '\xff')),
              HasSubstr("1 tracestate cannot be understood"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, trace_states_offset), std::numeric_limits<std::uint64_t>::max())),
              HasSubstr("tracestates cannot be read"));
  EXPECT_THAT(said(read_with(offsetof(FileHeader, trace_states_lost), std::uint64_t{2})),
              HasSubstr("no memory for 2 tracestates"));
}

TEST_F(DamagedFile, ControlBlockWithAnyByteOrWordChangedHarmsNobody) {
  const std::uint64_t at = offsetof(FileHeader, control), bytes = sizeof(FileHeader::control);
  std::string sound(bytes, 'x');
  ASSERT_EQ(pread(file_, sound.data(), bytes, off_t(at)), ssize_t(bytes));
  for (std::uint64_t i = 0; i < bytes; ++i) {
    for (const char value : {'\0', '\1', '\xfe', '\xff', static_cast<char>(~sound[i])}) {
      std::string damaged = sound;
      damaged[i] = value;
      ASSERT_EQ(pwrite(file_, damaged.data(), bytes, off_t(at)), ssize_t(bytes));
      ask_for_groups();
    }
  }
  for (const char value : {'\0', '\xff'}) {
    const std::string damaged(bytes, value);
    ASSERT_EQ(pwrite(file_, damaged.data(), bytes, off_t(at)), ssize_t(bytes));
    ask_for_groups();
    EXPECT_EQ(said(read_all()), "{}");
    EXPECT_EQ(recovered_, 33u);
  }
}

TEST_F(DamagedFile, SaysWhichHeaderIsEmpty) {
  EXPECT_THAT(said_with_zeroes(0, sizeof(FileHeader)), HasSubstr("died before it had recorded anything"));
  EXPECT_THAT(said_with_zeroes(0, 512), HasSubstr("not a file of rings"));
  for (const std::uint32_t number : {1u, 2u})
    EXPECT_THAT(said_with_zeroes(ring_at(number), sizeof(RingHeader)), HasSubstr("belong to no ring")) << number;
}

TEST_F(DamagedFile, CutOffAnywhereIsRead) {
  constexpr std::uint64_t some_pages = 5 * 4096;
  for (std::uint64_t size = std::filesystem::file_size(original_); size > some_pages; size -= some_pages) {
    ASSERT_EQ(ftruncate(file_, off_t(size - some_pages)), 0);
    read_all();
  }
  for (std::uint64_t size = sizeof(FileHeader) + 8;; size -= 4) {
    ASSERT_EQ(ftruncate(file_, off_t(size)), 0);
    EXPECT_NE(said(read_all()), "{}") << size;
    if (size == 0) break;
    if (size >= offsetof(FileHeader, control) + sizeof(FileHeader::control)) continue;
    trace::GroupRequest request(original_);
    const auto ask = [&request] {
      request.write("step");
      request.read_answer();
    };
    EXPECT_THAT(ask, testing::ThrowsMessage<std::runtime_error>(HasSubstr("ends before its control block")));
  }
}

}  // namespace
}  // namespace lens::tests
