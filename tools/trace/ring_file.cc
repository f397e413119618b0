// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/ring_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "lens/config.h"
#include "src/base/text.h"

namespace lens::trace {
namespace {

namespace fs = std::filesystem;
using record::FileHeader;
using record::RingHeader;

// What a file of this version never exceeds; a damaged header must not make us read gigabytes.
constexpr std::uint64_t max_section_bytes = 8 << 20;
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

RingFile::RingFile(fs::path path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);  // a pipe of that name is not waited for
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_.string());
  try {
    read_facts();
  } catch (...) {
    close(file_);
    throw;
  }
}

RingFile::~RingFile() {
  if (file_ >= 0) close(file_);
}

RingFile::RingFile(RingFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_bytes_(other.size_bytes_),
      header_(std::move(other.header_)),
      names_(std::move(other.names_)),
      names_complete_(other.names_complete_),
      facts_(std::move(other.facts_)) {}

std::string RingFile::read(std::uint64_t offset, std::uint64_t bytes) const {
  std::string content;
  if (bytes > max_section_bytes || offset > size_bytes_ || bytes > size_bytes_ - offset) return content;
  content.resize(bytes);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t got = pread(file_, content.data() + done, bytes - done, off_t(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      content.resize(done);
      break;
    }
    done += std::uint64_t(got);
  }
  return content;
}

// The strings' buffers come from operator new, so they are aligned for every type of the header.
const FileHeader& RingFile::header() const { return *reinterpret_cast<const FileHeader*>(header_.data()); }

bool RingFile::is_alive() const {
  if (flock(file_, LOCK_SH | LOCK_NB) != 0) return true;
  flock(file_, LOCK_UN);
  return false;
}

bool RingFile::claim() const {
  struct stat status;
  return flock(file_, LOCK_EX | LOCK_NB) == 0 && fstat(file_, &status) == 0 && status.st_nlink > 0;
}

// Once more while the process is at the calibration, the one part that takes several stores.
void RingFile::read_header() {
  struct stat status;
  if (fstat(file_, &status) != 0) throw std::system_error(errno, std::generic_category(), path_.string());
  size_bytes_ = std::uint64_t(status.st_size);
  for (int attempt = 0; attempt < 16; ++attempt) {
    header_ = read(0, sizeof(FileHeader));
    const std::string again = read(0, sizeof(FileHeader));
    if (header_.size() < sizeof(FileHeader) || again.size() < sizeof(FileHeader)) return;
    const std::uint64_t sequence = header().clock.sequence.load();
    if (sequence % 2 == 0 && reinterpret_cast<const FileHeader*>(again.data())->clock.sequence.load() == sequence)
      return;
  }
}

RingFileFacts RingFile::read_facts() {
  read_header();
  if (header_.size() < sizeof(FileHeader) ||
      std::memcmp(header().magic, record::layout_magic, sizeof record::layout_magic) != 0)
    throw std::runtime_error(fmt::format("{} is not a file of rings", path_.string()));
  if (header().version == record::layout_version && header().header_bytes != sizeof(FileHeader))
    throw std::runtime_error(fmt::format(
        "{} was left by another build of Lens: use that build's `lens recover`, or remove the file", path_.string()));
  if (header().version != record::layout_version || header().header_bytes != sizeof(FileHeader) ||
      header().ring_header_bytes != sizeof(RingHeader))
    throw std::runtime_error(fmt::format("{} has version {} of the format; this program reads version {}",
                                         path_.string(), header().version, record::layout_version));
  const FileHeader& from = header();
  const std::uint64_t names_used = from.names_used.load(std::memory_order_acquire);
  const std::string names = read(from.names_offset, std::min(names_used, max_names_bytes));
  std::string_view unread = names;
  names_ = split_names(unread);
  names_complete_ = names.size() == names_used && unread.empty();
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
            {from.clock.ticks, from.clock.monotonic_ns, from.clock.unix_ns}};
  constexpr double slowest = 1000, fastest = 0.01;  // 1 MHz to 100 GHz
  if (!(facts_.ns_per_tick >= fastest && facts_.ns_per_tick <= slowest)) facts_.ns_per_tick = 1;
  return facts_;
}

std::string_view RingFile::name(std::uint32_t id) const {
  if (id >= 1 && id <= names_.size()) return names_[id - 1];
  ++unknown_names_;
  return "lens.unknown_name";
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

assemble::TimeLine RingFile::time_line() const { return assemble::TimeLine(facts_.clock, facts_.ns_per_tick); }

std::string RingFile::copy_records(const RingHeader& ring, std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t begin = from & (ring.data_bytes - 1);
  const std::uint64_t until_wrap = std::min(to - from, ring.data_bytes - begin);
  std::string records = read(ring.data_offset + begin, until_wrap);
  return records + read(ring.data_offset, to - from - until_wrap);
}

std::uint32_t RingFile::ring_count() const { return std::min(header().ring_count, max_ring_count); }

bool RingFile::holds_anything() const {
  for (const auto& bytes : header().batch_bytes)
    if (bytes.load() > 0) return true;
  for (std::uint32_t number = 1; number <= ring_count(); ++number) {
    const std::string bytes = read_ring_header(number);
    if (bytes.size() < sizeof(RingHeader)) continue;
    const auto& ring = *reinterpret_cast<const RingHeader*>(bytes.data());
    const record::OpenList& list = ring.open[ring.open_version.load() & 1];
    if (list.bytes > 0) return true;  // records alone: ends that came after the last drain
  }
  return false;
}

std::string RingFile::read_ring_header(std::uint32_t number) const {
  return read(header().rings_offset + std::uint64_t(number - 1) * sizeof(RingHeader), sizeof(RingHeader));
}

std::uint64_t RingFile::read_uncounted_drops() const {
  std::uint64_t drops = 0;
  for (std::uint32_t number = 1; number <= ring_count(); ++number) {
    const std::string bytes = read_ring_header(number);
    if (bytes.size() == sizeof(RingHeader)) drops += reinterpret_cast<const RingHeader*>(bytes.data())->dropped.load();
  }
  const std::uint64_t counted = header().counters.ring_drops.load();
  return drops > counted ? drops - counted : 0;
}

// One consistent copy. A live process may overtake us; then once more.
std::optional<RingFile::RingCopy> RingFile::copy_ring(std::uint32_t number, std::vector<std::string>& problems) const {
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
    if (!is_power_of_two(ring.data_bytes) || copy.to - copy.from > ring.data_bytes || ring.data_offset > size_bytes_ ||
        ring.data_bytes > size_bytes_ - ring.data_offset ||
        (version != 0 && (list.bytes > ring.open_room || ring.open_room > max_section_bytes)))
      continue;
    if (version != 0) copy.open = read(ring.open_offset + (version & 1) * ring.open_room, list.bytes);
    copy.records = copy_records(ring, copy.from, copy.to);
    const std::string after = read_ring_header(number);
    if (after.size() < sizeof(RingHeader)) break;
    const auto& now = *reinterpret_cast<const RingHeader*>(after.data());
    if (now.open_version.load() != version || now.tail.load() > std::max(copy.from, ring.tail.load())) continue;
    if (version != 0 && list.incomplete)
      problems.push_back(fmt::format("ring {}: not all open spans found room", number));
    return copy;
  }
  problems.push_back(fmt::format("ring {}: cannot be read", number));
  return std::nullopt;
}

std::uint64_t RingFile::feed(assemble::Assembler& assembler, assemble::SpanSink& sink,
                             std::vector<std::string>& problems) {
  std::uint64_t latest_ticks = facts_.clock.ticks;
  std::vector<std::unique_ptr<RingCopy>> copies;  // the assembler borrows them until the cycle ends
  if (ring_count() == 0) problems.push_back("the number of rings cannot be read");
  if (facts_.ns_per_tick != header().clock.ns_per_tick)
    problems.push_back("the rate of the clock cannot be read: times are wrong");
  if (!names_complete_) problems.push_back(fmt::format("of the names only {} can be read", names_.size()));
  for (std::uint32_t number = 1; number <= ring_count(); ++number) {
    auto found = copy_ring(number, problems);
    if (!found) continue;
    const RingCopy* copy = copies.emplace_back(std::make_unique<RingCopy>(std::move(*found))).get();
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
  assembler.end_cycle(sink);
  assembler.end_cycle(sink);  // what came from other threads is applied one cycle late
  if (assembler.malformed_count() > 0)
    problems.push_back(fmt::format("{} records cannot be understood", assembler.malformed_count()));
  return latest_ticks;
}

std::string RingFile::read_section(const char* what, std::uint64_t offset, std::uint64_t bytes,
                                   std::vector<std::string>& problems) const {
  std::string content = read(offset, bytes);
  if (content.size() != bytes) problems.push_back(fmt::format("{} cannot be read", what));
  return content;
}

std::string RingFile::read_batch(std::size_t number, std::vector<std::string>& problems) const {
  const std::uint64_t bytes = header().batch_bytes[number].load(std::memory_order_acquire);
  if (bytes == 0) return {};
  return read_section("a batch", header().batch_offset + number * header().batch_room, bytes, problems);
}

std::string RingFile::read_resource(std::vector<std::string>& problems) const {
  return read_section("the resource", header().envelope_offset, header().resource_bytes, problems);
}

std::string RingFile::read_scope(std::vector<std::string>& problems) const {
  const std::uint64_t offset = header().envelope_offset + header().resource_bytes;
  return read_section("the instrumentation scope", offset, header().scope_bytes, problems);
}

std::vector<std::string> RingFile::read_redacted_keys(std::vector<std::string>& problems) const {
  const std::uint64_t offset = header().envelope_offset + header().resource_bytes + header().scope_bytes;
  const std::string lines = read_section("the list of keys to redact", offset, header().redaction_bytes, problems);
  if (lines.empty()) return Config{}.redacted_keys;
  std::vector<std::string> keys;
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
