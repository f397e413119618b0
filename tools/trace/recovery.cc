// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/recovery.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <unordered_set>

#include <fmt/format.h>

#include "src/base/file.h"
#include "src/otlp/decode.h"
#include "src/otlp/envelope.h"
#include "src/otlp/framing.h"
#include "src/otlp/span_encoder.h"
#include "src/otlp/wire.h"
#include "tools/trace/trace_file.h"

namespace lens::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view reason = "the process died while the span was open";
constexpr std::size_t request_bytes = 512 << 10;

using SpanIds = std::unordered_set<std::uint64_t>;

std::uint64_t word_of(std::string_view id) {
  std::uint64_t word = 0;
  if (id.size() == sizeof word) std::memcpy(&word, id.data(), sizeof word);
  return word;
}

struct IdCollector : otlp::TraceVisitor {
  explicit IdCollector(SpanIds& ids) : ids(ids) {}
  void on_resource(otlp::Encoded) override {}
  void on_span(const otlp::Span& span) override { ids.insert(word_of(span.span_id)); }
  SpanIds& ids;
};

// The process may have died between writing its batch to its trace file and saying so in the file of rings: then the
// file's last message is that batch.
SpanIds exported_last(const fs::path& trace_file) {
  SpanIds ids;
  std::error_code error;
  if (!fs::is_regular_file(trace_file, error)) return ids;
  TraceFile file(trace_file);
  std::string last;
  while (const auto message = file.next()) last = *message;
  try {
    IdCollector collector(ids);
    otlp::TraceDecoder().decode(last, collector);
  } catch (const otlp::DecodeError&) {
    // Torn: the batch still has all of it.
  }
  return ids;
}

/// Gathers recovered spans into requests, each span once.
class Collector : public assemble::SpanSink {
 public:
  Collector(RingFile& rings, const assemble::Assembler& assembler, SpanIds known)
      : envelope_(rings.read_resource(), rings.read_scope()),
        known_(std::move(known)),
        encoder_([&rings](std::uint32_t id) { return rings.name(id); },
                 [&assembler](std::uint64_t ticks) { return assembler.time().unix_ns(ticks); }, {}, {}) {}

  void on_span(const otlp::SpanRecord& span) override {
    if (!known_.insert(span.span).second) return;
    ++(span.truncated ? truncated_ : ended_);
    encoder_.encode(span, spans_);
    write_when_full();
  }

  /// Spans as the process had encoded them.
  void take_batch(std::string_view batch) {
    while (!batch.empty()) {
      const std::string_view element = otlp::wire::first_field(batch);
      if (element.empty()) break;
      batch.remove_prefix(element.size());
      SpanIds id;
      IdCollector collector(id);
      try {
        otlp::TraceDecoder().decode(envelope_.request(element), collector);
      } catch (const otlp::DecodeError&) {
        continue;
      }
      if (id.size() != 1 || !known_.insert(*id.begin()).second) continue;
      ++ended_;
      spans_.append(element);
      write_when_full();
    }
  }

  /// All of it as the content of a trace file.
  std::string content() {
    write();
    return std::move(content_);
  }
  std::uint64_t ended() const noexcept { return ended_; }
  std::uint64_t truncated() const noexcept { return truncated_; }

 private:
  void write_when_full() {
    if (spans_.size() >= request_bytes) write();
  }
  void write() {
    if (!spans_.empty()) content_ += framer_.frame(envelope_.request(spans_.view()));
    spans_.clear();
  }

  otlp::TraceEnvelope envelope_;
  SpanIds known_;
  otlp::SpanEncoder encoder_;
  otlp::Framer framer_;
  base::Buffer spans_;
  std::string content_;
  std::uint64_t ended_ = 0, truncated_ = 0;
};

// In one step, so that whoever is killed here leaves nothing or the whole.
void write_file(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  const fs::path temporary = path.string() + ".partial";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const bool written = file >= 0 && base::write_all(file, content) && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (!written) {
    unlink(temporary.c_str());
    throw std::system_error(error, std::generic_category(), path.string());
  }
  fs::rename(temporary, path);
}

std::string status_text(const RingFileFacts& facts, const Collector& found) {
  return fmt::format(
      "{{\"spans_recorded\":{},\"spans_exported\":{},\"spans_dropped\":{},\"spans_truncated\":{}}}\n",
      facts.spans_exported + found.ended() + found.truncated(), facts.spans_exported + found.ended() + found.truncated(),
      facts.spans_dropped, found.truncated());
}

}  // namespace

Recovery recover(RingFile& rings) {
  const RingFileFacts facts = rings.read_facts();
  Recovery recovery;
  recovery.rank = facts.rank;
  recovery.pid = facts.pid;
  if (facts.state == record::FileState::recording && !facts.trace_directory.empty()) {
    const fs::path directory = facts.trace_directory;
    const std::string name = fmt::format("rank{}-{}-{}", facts.rank, facts.start_unix_ns / 1'000'000, facts.pid);
    assemble::Assembler assembler(rings.keys(), rings.time_line());
    Collector collector(rings, assembler,
                        facts.trace_file.empty() ? SpanIds{} : exported_last(directory / facts.trace_file));
    collector.take_batch(rings.read_batch());
    const std::uint64_t last_ticks = rings.feed(assembler, collector, recovery.problems);
    assembler.truncate_open(last_ticks, reason, collector);
    const std::string content = collector.content();
    if (!content.empty()) {
      recovery.file = directory / ("traces-" + name + "-recovered.otlp.zst");
      write_file(recovery.file, content);
    }
    write_file(directory / ("status-" + name + "-recovered.json"), status_text(facts, collector));
    recovery.ended = collector.ended();
    recovery.truncated = collector.truncated();
  }
  unlink(rings.path().c_str());
  return recovery;
}

}  // namespace lens::trace
