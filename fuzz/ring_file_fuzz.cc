// SPDX-License-Identifier: Apache-2.0
// Any bytes as a dead process's file of rings: looked at and recovered, with problems at most.
//
// The input is how long the file is to be (4 bytes; beyond its headers: whole), then a list of changes to a sound one:
// a 4-byte offset into its used parts and the 8 bytes to be stored there. Mutations of a file of megabytes would hardly
// ever meet a field.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "lens/lens.h"
#include "src/record/recorder.h"
#include "tools/trace/group_request.h"
#include "tools/trace/process_state.h"
#include "tools/trace/recovery.h"

namespace {

namespace fs = std::filesystem;
using namespace lens::literals;
using lens::SpanGroup;

struct Region {
  std::uint64_t offset, bytes;
};

void record_and_die(const fs::path& directory) {
  lens::Config config;
  config.enabled = true;
  config.exporter = "file";
  config.span_groups = "per_step";
  config.file_dir = directory / "traces";
  config.shm_dir = directory / "rings";
  config.run_id = "fuzz";
  config.logs_enabled = true;
  config.standard.span_batch.schedule_delay = config.standard.log_batch.schedule_delay = std::chrono::hours(1);
  auto telemetry = lens::setup_telemetry(config, {.rank = 0, .world_size = 1});
  lens::extract(std::map<std::string, std::string>{
      {"traceparent", "00-0123456789abcdef0123456789abcdef-00f067aa0ba902b7-01"}, {"tracestate", "one=1"}});
  auto job = lens::managed_span(SpanGroup::job, "job", "sizes"_a = std::vector<int>{1, 2});
  for (int i = 0; i < 5; ++i) {
    auto step = lens::managed_span(SpanGroup::step, "step", "iteration"_a = i, "label"_a = "text");
    step.add_event("event", "n"_a = 1.5);
  }
  telemetry.force_flush();
  { auto batched = lens::managed_span(SpanGroup::step, "batched", "i"_a = 1); }
  lens::log(lens::Severity::info, "batched", "i"_a = 1);
  const lens::record::FileHeader& header = lens::record::Recorder::instance().file()->header();
  while (header.log_batch_bytes[0] == 0 || header.batch_bytes[0] == 0) std::this_thread::yield();
  lens::log(lens::Severity::warn, "recorded", "i"_a = 2);
  auto handle = lens::start_span(SpanGroup::step, "handle", {.root = true, .links = {job.context()}}, "h"_a = 1);
  std::thread([&] {
    handle.set("answer"_a = std::vector<std::string>{"a", "b"});
    handle.set_status(lens::StatusCode::error, "message");
    _exit(0);
  }).join();
}

class SoundFile {
 public:
  SoundFile() : directory_("/dev/shm/lens-fuzz-rings-" + std::to_string(getpid())) {
    fs::create_directories(directory_);
    const pid_t child = fork();
    if (child == 0) record_and_die(directory_);
    waitpid(child, nullptr, 0);
    for (const auto& entry : fs::directory_iterator(directory_ / "rings")) path_ = entry.path();
    fs::create_hard_link(path_, directory_ / "sound");
    file_ = open((directory_ / "sound").c_str(), O_RDWR | O_CLOEXEC);
    find_regions();
  }

  ~SoundFile() {
    close(file_);
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  void store(std::uint32_t where, std::uint64_t word) {
    std::uint64_t at = where % total_bytes_;
    for (const Region& region : regions_) {
      if (at < region.bytes) {
        changes_.push_back({region.offset + at, 0});
        transfer(pread(file_, &changes_.back().word, sizeof word, off_t(changes_.back().offset)));
        return transfer(pwrite(file_, &word, sizeof word, off_t(changes_.back().offset)));
      }
      at -= region.bytes;
    }
  }

  /// All that programs outside do with it. `bytes`: it is cut off there, unless that is beyond its headers.
  void read(std::uint32_t bytes) {
    provide(bytes);
    try {
      lens::trace::GroupRequest request(path_);
      request.write("step");
      request.read_answer();
    } catch (const std::exception&) {
      // Cut off.
    }
    try {
      lens::trace::RingFile rings(path_);
      lens::trace::read_process_state(rings);
      lens::trace::recover(rings);
    } catch (const std::exception&) {
      // Said to be no such file, or not to tell where its traces go.
    }
    pwrite_all(control_, offsetof(lens::record::FileHeader, control));  // what was asked for
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change)
      transfer(pwrite(file_, &change->word, sizeof change->word, off_t(change->offset)));
    changes_.clear();
  }

 private:
  struct Change {
    std::uint64_t offset, word;
  };

  void provide(std::uint32_t bytes) {
    std::error_code ignored;
    fs::remove(path_, ignored);
    if (bytes >= names_offset_) return fs::create_hard_link(directory_ / "sound", path_, ignored);
    std::vector<char> begin(bytes);
    if (pread(file_, begin.data(), bytes, 0) != ssize_t(bytes)) abort();
    std::ofstream(path_, std::ios::binary).write(begin.data(), bytes);
  }

  void pwrite_all(const std::string& bytes, std::uint64_t at) {
    if (pwrite(file_, bytes.data(), bytes.size(), off_t(at)) != ssize_t(bytes.size())) abort();
  }

  static void transfer(ssize_t bytes) {
    if (bytes != 8) abort();
  }

  // All but the texts of the header, which name places where recovery would write.
  void find_regions() {
    using namespace lens::record;
    std::vector<char> bytes(1 << 20);
    const ssize_t got = pread(file_, bytes.data(), bytes.size(), 0);
    if (got != ssize_t(bytes.size())) abort();
    const auto& header = *reinterpret_cast<const FileHeader*>(bytes.data());
    add(0, offsetof(FileHeader, run_id));
    add(offsetof(FileHeader, clock), sizeof(FileHeader) - offsetof(FileHeader, clock));
    names_offset_ = header.names_offset;
    control_.assign(reinterpret_cast<const char*>(&header.control), sizeof header.control);
    add(header.names_offset, header.names_used.load());
    add(header.envelope_offset, header.resource_bytes + header.scope_bytes);
    add(header.batch_offset, header.batch_bytes[0].load());
    add(header.log_batch_offset, header.log_batch_bytes[0].load());
    add(header.trace_states_offset, sizeof(StoredTraceState));
    for (std::uint32_t number = 1; number <= 2; ++number) {
      const std::uint64_t at = header.rings_offset + (number - 1) * sizeof(RingHeader);
      const auto& ring = *reinterpret_cast<const RingHeader*>(bytes.data() + at);
      add(at, sizeof(RingHeader));
      const std::uint64_t list = ring.open_version.load() & 1;
      add(ring.open_offset + list * ring.open_room, ring.open[list].bytes);
      add(ring.data_offset, (ring.head.position.load() & (ring.data_bytes - 1)) + 64);
    }
  }
  void add(std::uint64_t offset, std::uint64_t bytes) {
    regions_.push_back({offset, bytes});
    total_bytes_ += bytes;
  }

  fs::path directory_, path_;
  int file_ = -1;
  std::string control_;
  std::vector<Region> regions_;
  std::uint64_t total_bytes_ = 0, names_offset_ = 0;
  std::vector<Change> changes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static SoundFile file;
  std::uint32_t bytes = 0;
  if (size < sizeof bytes) return 0;
  std::memcpy(&bytes, data, sizeof bytes);
  data += sizeof bytes;
  size -= sizeof bytes;
  constexpr std::size_t change_bytes = 12;
  for (; size >= change_bytes; data += change_bytes, size -= change_bytes) {
    std::uint32_t where;
    std::uint64_t word;
    std::memcpy(&where, data, sizeof where);
    std::memcpy(&word, data + sizeof where, sizeof word);
    file.store(where, word);
  }
  file.read(bytes);
  return 0;
}
