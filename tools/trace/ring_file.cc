// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/ring_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "lens/config.h"
#include "src/base/text.h"
#include "src/model/w3c.h"

namespace lens::trace {
namespace {

namespace fs = std::filesystem;
using record::FileHeader;
using record::RingHeader;

// What a file of this version never exceeds.
constexpr std::uint64_t max_names_bytes = 1 << 20;
constexpr std::uint32_t max_ring_count = 255;

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

std::vector<std::string> split_names(std::string_view& bytes) {
  std::vector<std::string> names;
  while (bytes.size() >= 4) {
    std::uint32_t size;
    std::memcpy(&size, bytes.data(), 4);
    if (size > bytes.size() - 4) break;
    names.emplace_back(bytes.substr(4, size));
    bytes.remove_prefix(std::min<std::size_t>((4 + std::size_t{size} + 3) & ~std::size_t{3}, bytes.size()));
  }
  return names;
}

bool is_power_of_two(std::uint64_t number) { return number != 0 && (number & (number - 1)) == 0; }

}  // namespace

struct RingFile::RingCopy {
  std::uint64_t from = 0, to = 0;  // positions of the records
  std::string open, records;
};

RingFile::RingFile(fs::path path) : file_(std::move(path)) { read_facts(); }

// The strings' buffers come from operator new, so they are aligned for every type of the header.
const FileHeader& RingFile::header() const { return *reinterpret_cast<const FileHeader*>(header_.data()); }

// Once more while the process is at the calibration, or at what it says of exports: these take several stores. One
// reading may have a later store and lack an earlier one; the next has both, so that only what stands in two is whole.
void RingFile::read_header() {
  for (int attempt = 0; attempt < 16; ++attempt) {
    header_ = file_.read(0, sizeof(FileHeader));
    const std::string again = file_.read(0, sizeof(FileHeader));
    if (header_.size() < sizeof(FileHeader) || again.size() < sizeof(FileHeader)) return;
    const auto& later = *reinterpret_cast<const FileHeader*>(again.data());
    const auto is_whole = [](const auto& part, const auto& after) {
      return part.sequence.load() % 2 == 0 && std::memcmp(&part, &after, sizeof part) == 0;
    };
    is_clock_whole_ = is_whole(header().clock, later.clock);
    if (is_clock_whole_ && is_whole(header().export_failure, later.export_failure)) return;
  }
}

// Their length is read anew: a process forms names after its header was read.
void RingFile::read_names() {
  const std::string length = file_.read(offsetof(FileHeader, names_used), sizeof(std::uint64_t));
  std::uint64_t names_used = 0;
  std::memcpy(&names_used, length.data(), length.size());
  const std::string names = file_.read(header().names_offset, std::min(names_used, max_names_bytes));
  std::string_view unread = names;
  names_ = split_names(unread);
  names_complete_ = names.size() == names_used && unread.empty();
}

RingFileFacts RingFile::read_facts() {
  read_header();
  const bool is_blank = header_.empty() ? !file_.has(0, 1) : header_.find_first_not_of('\0') == std::string::npos;
  if (is_blank && !is_alive())
    throw std::runtime_error(fmt::format(
        "{}: its process died before it had recorded anything; `lens recover` removes it when it is a minute old",
        path().string()));
  if (header_.size() < sizeof(FileHeader) ||
      std::memcmp(header().magic, record::layout_magic, sizeof record::layout_magic) != 0)
    throw std::runtime_error(fmt::format("{} is not a file of rings", path().string()));
  if (header().version == record::layout_version && header().header_bytes != sizeof(FileHeader))
    throw std::runtime_error(
        fmt::format("{} was left by another build of Lens: use that build's `lens`", path().string()));
  if (header().version != record::layout_version || header().header_bytes != sizeof(FileHeader) ||
      header().ring_header_bytes != sizeof(RingHeader))
    throw std::runtime_error(
        fmt::format("{} has version {} of the format, this program reads version {}: use that "
                    "version's `lens`",
                    path().string(), header().version, record::layout_version));
  const FileHeader& from = header();
  read_names();
  facts_ = {text_of(from.run_id),
            from.pid,
            from.rank,
            from.world_size,
            from.local_rank,
            from.start_unix_ns,
            from.state.load(),
            text_of(from.trace_directory),
            text_of(from.trace_file),
            from.counters.spans_recorded.load(),
            from.counters.spans_exported.load(),
            from.counters.spans_dropped.load(),
            from.counters.spans_truncated.load(),
            from.clock.ns_per_tick,
            {from.clock.ticks, from.clock.monotonic_ns, from.clock.unix_ns},
            from.export_failure.since_unix_ns,
            text_of(from.export_failure.text)};
  constexpr double slowest = 1000, fastest = 0.01;  // 1 MHz to 100 GHz
  if (!(facts_.ns_per_tick >= fastest && facts_.ns_per_tick <= slowest)) facts_.ns_per_tick = 1;
  return facts_;
}

std::string_view RingFile::name(std::uint32_t id) const {
  if (id >= 1 && id <= names_.size()) return names_[id - 1];
  unknown_names_.insert(id);
  return "lens.unknown_name";
}

void RingFile::tell_unknown_names(std::vector<std::string>& problems) const {
  if (unknown_names_.empty()) return;
  problems.push_back(
      fmt::format("the file lacks {}, in whose place `lens.unknown_name` stands; when its {} KiB for names are full, "
                  "the program should form fewer of them: what differs from span to span belongs in attributes",
                  base::counted(unknown_names_.size(), "name"), header().names_bytes >> 10));
}

model::IdentityKeys RingFile::keys() const {
  const auto& keys = header().identity_keys;
  return {keys[0], keys[1], keys[2]};
}

SpanContext RingFile::started_in() const {
  const auto& [high, low] = header().parent_trace;
  return {model::trace_id_of({high, low}), model::span_id_of(header().parent_span),
          static_cast<std::uint8_t>(header().parent_flags)};
}

model::TraceSampler RingFile::read_sampler(std::vector<std::string>& problems) const {
  const record::StoredSampler& sampler = header().sampler;
  if (sampler.threshold <= model::TraceSampler::randomness_end && sampler.follows_parent <= 1)
    return {sampler.threshold, sampler.follows_parent != 0};
  problems.push_back("which traces the process keeps cannot be read: what a sampler had left out is there too");
  return {};
}

otlp::Limits RingFile::span_limits() const {
  const record::StoredSpanLimits& limits = header().span_limits;
  return {limits.attributes,       limits.events,          limits.links,
          limits.event_attributes, limits.link_attributes, limits.value_characters};
}

otlp::Limits RingFile::log_limits() const {
  otlp::Limits limits;
  limits.attributes = header().log_limits.attributes;
  limits.value_characters = header().log_limits.value_characters;
  return limits;
}

assemble::TimeLine RingFile::time_line() const { return assemble::TimeLine(facts_.clock, facts_.ns_per_tick); }

std::string RingFile::copy_records(const RingHeader& ring, std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t begin = from & (ring.data_bytes - 1);
  const std::uint64_t until_wrap = std::min(to - from, ring.data_bytes - begin);
  std::string records = file_.read(ring.data_offset + begin, until_wrap);
  return records + file_.read(ring.data_offset, to - from - until_wrap);
}

std::uint32_t RingFile::ring_count() const { return std::min(header().ring_count, max_ring_count); }

template <class F>
void RingFile::for_each_ring(const F& see) const {
  for (std::uint32_t number = 1; number <= ring_count(); ++number) {
    const std::string bytes = read_ring_header(number);
    if (bytes.size() == sizeof(RingHeader)) see(*reinterpret_cast<const RingHeader*>(bytes.data()));
  }
}

bool RingFile::holds_anything() const {
  for (std::size_t number = 0; number < record::batch_count; ++number)
    if (header().batch_bytes[number].load() > 0 || header().log_batch_bytes[number].load() > 0) return true;
  bool open = false;  // records alone: ends that came after the last drain
  for_each_ring([&](const RingHeader& ring) { open |= ring.open[ring.open_version.load() & 1].bytes > 0; });
  return open;
}

std::string RingFile::read_ring_header(std::uint32_t number) const {
  return file_.read(header().rings_offset + std::uint64_t(number - 1) * sizeof(RingHeader), sizeof(RingHeader));
}

// Rings are made one behind the other and stay: what the file has beyond theirs was one whose header is lost.
std::uint64_t RingFile::bytes_of_no_ring() const {
  std::uint64_t end = header().trace_states_offset + record::trace_state_count * sizeof(record::StoredTraceState);
  for_each_ring([&](const RingHeader& ring) { end += 2 * ring.open_room + ring.data_bytes; });
  const std::uint64_t made = header().file_bytes.load();
  return made > end ? made - end : 0;
}

std::optional<int> RingFile::fork_count() const {
  std::optional<int> count;
  for_each_ring([&](const RingHeader& ring) {
    if (!count && ring.state.load() != record::RingState::unused) count = int(ring.head.position.load() >> 56);
  });
  return count;
}

std::uint64_t RingFile::read_uncounted_drops() const {
  std::uint64_t drops = 0;
  for_each_ring([&](const RingHeader& ring) { drops += ring.dropped.load(); });
  const std::uint64_t counted = header().counters.ring_drops.load();
  return drops > counted ? drops - counted : 0;
}

// One consistent copy. A live process may overtake us; then once more.
std::optional<RingFile::RingCopy> RingFile::copy_ring(std::uint32_t number, std::vector<std::string>& problems) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::string bytes = read_ring_header(number);
    if (bytes.size() < sizeof(RingHeader)) break;
    const auto& ring = *reinterpret_cast<const RingHeader*>(bytes.data());
    if (ring.state.load() == record::RingState::unused) {
      if (ring.head.position.load() == 0) return std::nullopt;
      problems.push_back(fmt::format("ring {}: marked as unused, yet it has records", number));
    }
    const std::uint64_t version = ring.open_version.load();
    const record::OpenList& list = ring.open[version & 1];
    RingCopy copy;
    // Before the first list nothing was drained: the records begin where the ring's positions do.
    copy.from = version != 0 ? list.tail
                             : ring.head.position.load() >> detail::position_ring_shift << detail::position_ring_shift;
    copy.to = ring.head.position.load();
    // Damaged, or the head was read before the process took the list further.
    if (!is_power_of_two(ring.data_bytes) || copy.to - copy.from > ring.data_bytes ||
        !file_.has(ring.data_offset, ring.data_bytes) ||
        (version != 0 && (list.bytes > ring.open_room || ring.open_room > SharedFile::max_part_bytes)))
      continue;
    if (version != 0) copy.open = file_.read(ring.open_offset + (version & 1) * ring.open_room, list.bytes);
    copy.records = copy_records(ring, copy.from, copy.to);
    const std::string after = read_ring_header(number);
    if (after.size() < sizeof(RingHeader)) break;
    const auto& now = *reinterpret_cast<const RingHeader*>(after.data());
    // One reading of the header may have a later store and lack an earlier one: the version, but not the list that it
    // names; the ring's tail, but not the list's, which is moved first. The next reading has both.
    if (now.open_version.load() != version || std::memcmp(&now.open[version & 1], &list, sizeof list) != 0) continue;
    // Overwritten are only bytes before the tail. One beyond our bytes that stands still tells of a damaged file.
    if (now.tail.load() > std::max(copy.from, ring.tail.load())) continue;
    if (copy.open.size() < (version != 0 ? list.bytes : 0))
      problems.push_back(
          fmt::format("ring {}: the {} bytes of what was open in it cannot be read", number, list.bytes));
    if (const auto named = std::uint32_t(copy.to >> detail::position_ring_shift) & 0xff; named != number)
      problems.push_back(
          fmt::format("ring {}: its positions are of ring {}: the ids of its spans are wrong", number, named));
    if (version != 0 && list.incomplete)
      problems.push_back(
          fmt::format("ring {}: not all that was open found room; {} bytes of it did", number, list.bytes));
    return copy;
  }
  problems.push_back(fmt::format("ring {}: cannot be read", number));
  return std::nullopt;
}

// A rate that cannot be is replaced when the header is read.
void RingFile::tell_clock(bool has_records, std::vector<std::string>& problems) const {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  const record::ClockCalibration& clock = header().clock;
  if (clock.sequence.load() == 0) {  // not yet, in a process that begins
    if (has_records) problems.push_back("the clock has not been read: times are wrong");
    return;
  }
  if (facts_.ns_per_tick != clock.ns_per_tick)
    problems.push_back("the rate of the clock cannot be read: times are wrong");
  if (!is_clock_whole_)
    problems.push_back("the clock's reading is torn: times may be off by some milliseconds");
  else if (clock.ticks == 0 || clock.monotonic_ns == 0 ||
           clock.unix_ns / hour_ns < header().start_unix_ns / hour_ns - 1)
    problems.push_back("the clock's reading is from before the process began: times are wrong");
}

std::uint64_t RingFile::feed(assemble::Assembler& assembler, assemble::SpanSink& sink,
                             std::vector<std::string>& problems) {
  std::uint64_t latest_ticks = facts_.clock.ticks;
  std::vector<std::unique_ptr<RingCopy>> copies;  // the assembler borrows them until the cycle ends
  if (ring_count() == 0) problems.push_back("the number of rings cannot be read");
  for (std::uint32_t number = 1; number <= ring_count(); ++number)
    if (auto found = copy_ring(number, problems)) copies.push_back(std::make_unique<RingCopy>(std::move(*found)));
  tell_clock(
      std::ranges::any_of(copies, [](const auto& copy) { return !copy->open.empty() || !copy->records.empty(); }),
      problems);
  read_names();
  if (!names_complete_) problems.push_back(fmt::format("of the names only {} can be read", names_.size()));
  for (const auto& copy : copies) assembler.add_ring(copy->from);
  for (const auto& copy : copies) {
    assembler.restore_open(copy->from, std::as_bytes(std::span(copy->open)));
    const auto records = std::as_bytes(std::span(copy->records));
    assembler.take(copy->from, records, sink);
    for (std::size_t at = 0; at + sizeof(detail::RecordHeader) <= records.size();) {
      detail::RecordHeader record;
      std::memcpy(&record, records.data() + at, sizeof record);
      latest_ticks = std::max(latest_ticks, record.ticks);
      if (record.bytes() < sizeof record) break;
      at += record.bytes();
    }
  }
  if (const std::uint64_t bytes = bytes_of_no_ring(); bytes > 0)
    problems.push_back(fmt::format("{} bytes belong to no ring whose header can be read", bytes));
  assembler.end_cycle(sink);
  assembler.end_cycle(sink);  // what came from other threads is applied one cycle late
  if (assembler.malformed_count() > 0)
    problems.push_back(base::counted(assembler.malformed_count(), "record") + " cannot be understood");
  return latest_ticks;
}

std::string RingFile::read_section(const char* what, std::uint64_t offset, std::uint64_t bytes,
                                   std::vector<std::string>& problems) const {
  std::string content = file_.read(offset, bytes);
  if (content.size() != bytes) problems.push_back(fmt::format("{} cannot be read", what));
  return content;
}

std::string RingFile::read_batch(std::size_t number, std::vector<std::string>& problems) const {
  const std::uint64_t bytes = header().batch_bytes[number].load(std::memory_order_acquire);
  if (bytes == 0) return {};
  return read_section("a batch", header().batch_offset + number * header().batch_room, bytes, problems);
}

std::string RingFile::read_log_batch(std::size_t number, std::vector<std::string>& problems) const {
  const std::uint64_t bytes = header().log_batch_bytes[number].load(std::memory_order_acquire);
  if (bytes == 0) return {};
  return read_section("a batch of log records", header().log_batch_offset + number * header().log_batch_room, bytes,
                      problems);
}

std::string RingFile::read_resource(std::vector<std::string>& problems) const {
  return read_section("the resource", header().envelope_offset, header().resource_bytes, problems);
}

std::string RingFile::read_scope(std::vector<std::string>& problems) const {
  const std::uint64_t offset = header().envelope_offset + header().resource_bytes;
  return read_section("the instrumentation scope", offset, header().scope_bytes, problems);
}

RingFile::TraceStates RingFile::read_trace_states(std::vector<std::string>& problems) const {
  constexpr std::uint64_t bytes = record::trace_state_count * sizeof(record::StoredTraceState);
  const std::string section = read_section("the list of tracestates", header().trace_states_offset, bytes, problems);
  if (const std::uint64_t lost = header().trace_states_lost.load(); lost > 0)
    problems.push_back(
        fmt::format("there was no memory for {}: spans of their traces lack them", base::counted(lost, "tracestate")));
  if (section.size() != bytes) return {};
  std::vector<const record::StoredTraceState*> in_order;
  const auto* states = reinterpret_cast<const record::StoredTraceState*>(section.data());
  for (std::size_t i = 0; i < record::trace_state_count; ++i)
    if (states[i].number.load() != 0) in_order.push_back(&states[i]);
  std::ranges::sort(in_order, {}, [](const record::StoredTraceState* state) { return state->number.load(); });
  TraceStates found;
  std::size_t malformed = 0;
  for (const record::StoredTraceState* state : in_order) {
    const std::string text(state->text, std::min<std::size_t>(state->bytes, sizeof state->text));
    if (state->bytes != text.size() || model::format_tracestate(model::parse_tracestate(text)) != text) {
      ++malformed;
      continue;
    }
    found[std::to_array(state->trace)] = text;
  }
  if (malformed > 0) problems.push_back(base::counted(malformed, "tracestate") + " cannot be understood");
  return found;
}

std::vector<std::string> RingFile::read_redacted_keys(std::vector<std::string>& problems) const {
  const std::uint64_t offset = header().envelope_offset + header().resource_bytes + header().scope_bytes;
  const std::string lines = read_section("the list of keys to redact", offset, header().redaction_bytes, problems);
  if (lines.empty()) return Config{}.redacted_keys;
  std::vector<std::string> keys;
  if (!lines.ends_with('\n')) {  // other bytes than were written: those that were may be missing
    problems.push_back("the list of keys to redact cannot be understood: the library's own are redacted too");
    keys = Config{}.redacted_keys;
  }
  for (const std::string_view key : base::split(lines, '\n'))
    if (!key.empty()) keys.emplace_back(key);
  return keys;
}

std::vector<RingFile> find_ring_files(const fs::path& directory, const std::string& run_id,
                                      std::vector<std::string>* problems) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().extension() == ".ring") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<RingFile> files;
  for (const fs::path& path : paths) {
    try {
      RingFile file(path);
      if (run_id.empty() || file.read_facts().run_id == run_id) files.push_back(std::move(file));
    } catch (const std::exception& error) {
      if (problems && fs::exists(path, ignored)) problems->push_back(error.what());  // else it is gone meanwhile
    }
  }
  return files;
}

}  // namespace lens::trace
