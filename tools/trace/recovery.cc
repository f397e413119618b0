// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/recovery.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <unordered_set>

#include <fmt/format.h>

#include "src/base/file.h"
#include "src/base/utf8.h"
#include "src/otlp/decode.h"
#include "src/otlp/envelope.h"
#include "src/otlp/framing.h"
#include "src/otlp/json.h"
#include "src/otlp/log_encoder.h"
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

/// Of the spans that it visits, those that are among the wanted.
struct IdFinder : otlp::TraceVisitor {
  explicit IdFinder(const SpanIds& wanted) : wanted(wanted) {}
  void on_resource(otlp::Encoded) override {}
  void on_span(const otlp::Span& span) override {
    if (const std::uint64_t id = word_of(span.span_id); wanted.contains(id)) found.insert(id);
  }
  const SpanIds& wanted;
  SpanIds found;
};

void find_ids(const fs::path& trace_file, IdFinder& finder) {
  TraceFile file(trace_file);
  while (const auto message = file.next()) {
    try {
      otlp::TraceDecoder().decode(*message, finder);
    } catch (const otlp::DecodeError&) {
      // Whoever reads the trace reports it.
    }
  }
}

// The process may have died between writing spans to its trace file and saying so in the file of rings. `first_file`
// names the first one; those that followed have the same name up to the point.
void find_exported(const fs::path& directory, const std::string& first_file, IdFinder& finder) {
  const std::string stem = first_file.substr(0, first_file.find('.') + 1);
  if (stem.empty()) return;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    const bool is_file = entry->is_regular_file(unknown);
    if (is_file && entry->path().filename().string().starts_with(stem)) find_ids(entry->path(), finder);
  }
}

struct ElementId : otlp::TraceVisitor {
  void on_resource(otlp::Encoded) override {}
  void on_span(const otlp::Span& span) override { id = word_of(span.span_id); }
  std::uint64_t id = 0;
};

/// Whether the texts of a request are such.
struct TextCheck : otlp::TraceVisitor {
  void look_at(otlp::Encoded attributes) {
    for (const std::string_view encoded : attributes) {
      const auto [key, value] = otlp::decode_attribute(encoded);
      are_texts &= base::is_utf8(key);
      if (value.kind == otlp::AttributeValue::Kind::string) are_texts &= base::is_utf8(value.bytes);
    }
  }
  void on_resource(otlp::Encoded attributes) override { look_at(attributes); }
  void on_scope(const otlp::Scope& scope) override {
    are_texts &= base::is_utf8(scope.name) && base::is_utf8(scope.version);
  }
  void on_span(const otlp::Span& span) override {
    are_texts &= base::is_utf8(span.name) && base::is_utf8(span.status_message);
    look_at(span.attributes);
  }
  bool are_texts = true;
};

/// Whether strict readers take it: these refuse a whole request for one message in it that is not whole, and for one
/// text that is none.
bool is_readable(Signal signal, const std::string& request) {
  try {
    std::string json;
    otlp::append_json(json, signal, request);  // looks into every message
    TextCheck check;
    if (signal == Signal::traces) otlp::TraceDecoder().decode(request, check);
    return check.are_texts;
  } catch (const otlp::DecodeError&) {
    return false;
  }
}

/// Whether an encoded message is what it should be around its content: this field, and nothing behind it.
bool is_field(std::uint32_t number, std::string_view encoded) {
  return !encoded.empty() && std::uint8_t(encoded[0]) == (number << 3 | otlp::wire::bytes_type) &&
         otlp::wire::first_field(encoded).size() == encoded.size();
}

bool is_readable(const otlp::Envelope& envelope) {
  return is_field(1, envelope.resource()) && is_field(1, envelope.scope()) &&
         is_readable(Signal::traces, envelope.request({}));
}

/// What the file's header knows of the process.
otlp::Envelope least_envelope(const RingFileFacts& facts) {
  const std::string run_id = base::repaired_utf8(facts.run_id);
  return {ResourceAttributes{{"dl.rank", facts.rank},
                             {"dl.world_size", facts.world_size},
                             {"dl.local_rank", facts.local_rank},
                             {"nemo.run.id", run_id},
                             {"service.instance.id", fmt::format("{}-rank{}", run_id, facts.rank)},
                             {"process.pid", facts.pid}},
          "lens", ""};
}

// One that is damaged would make all that is written with it unreadable.
otlp::Envelope read_envelope(const RingFile& rings, std::vector<std::string>& problems) {
  const otlp::Envelope least = least_envelope(rings.facts());
  std::string resource = rings.read_resource(problems), scope = rings.read_scope(problems);
  if (!is_readable({resource, least.scope()})) {
    problems.push_back("the resource cannot be understood: of its attributes there are run, rank and process");
    resource = least.resource();
  }
  if (!is_readable({least.resource(), scope})) {
    problems.push_back("the instrumentation scope cannot be understood: it has no version");
    scope = least.scope();
  }
  return {std::move(resource), std::move(scope)};
}

/// Gathers encoded spans, each once, in memory bounded by the file of rings; then writes those that are not in the
/// trace yet.
class Collector : public assemble::SpanSink {
 public:
  Collector(const RingFile& rings, const assemble::Assembler& assembler, std::vector<std::string>& problems)
      : envelope_(read_envelope(rings, problems)),
        redacted_keys_(rings.read_redacted_keys(problems)),
        encoder_([&rings](std::uint32_t id) { return rings.name(id); },
                 [&assembler](std::uint64_t ticks) { return assembler.time().unix_ns(ticks); }, rings.span_limits(),
                 redacted_keys_),
        log_encoder_([&rings](std::uint32_t id) { return rings.name(id); }, rings.log_limits(), redacted_keys_),
        trace_states_(rings.read_trace_states(problems)) {
    if (trace_states_.empty()) return;
    encoder_.set_trace_states([this](const TraceId& trace) {
      const auto known = trace_states_.find(trace.bytes);
      return known == trace_states_.end() ? std::string() : known->second;
    });
  }

  void on_span(const otlp::SpanRecord& span) override {
    if ((span.flags & SpanContext::sampled) == 0 || !ids_.insert(span.span).second) return;
    encoder_.encode(span, encoded_);
    add(span.span, span.truncated);
  }

  /// Log records as the process had encoded them. They come before those of the rings.
  void take_log_batch(std::string_view batch, std::vector<std::string>& problems) {
    while (!batch.empty()) {
      const std::string_view element = otlp::wire::first_field(batch);
      if (!is_field(2, element)) {
        problems.push_back(fmt::format("the last {} bytes of the log records cannot be understood", batch.size()));
        return;
      }
      batch.remove_prefix(element.size());
      if (!is_readable(Signal::logs, envelope_.request(element))) {
        problems.push_back(fmt::format("a log record of {} bytes cannot be understood", element.size()));
        continue;
      }
      logs_ += element;
      ++log_records_;
    }
  }

  void on_log(const otlp::LogRecord& record) override {
    log_encoder_.encode(record, logs_);
    ++log_records_;
  }

  /// Spans as the process had encoded them.
  void take_batch(std::string_view batch, std::vector<std::string>& problems) {
    while (!batch.empty()) {
      const std::string_view element = otlp::wire::first_field(batch);
      if (!is_field(2, element)) {
        problems.push_back(fmt::format("the last {} bytes of a batch cannot be understood", batch.size()));
        return;
      }
      batch.remove_prefix(element.size());
      const std::string request = envelope_.request(element);
      if (!is_readable(Signal::traces, request)) {
        problems.push_back(fmt::format("a span of {} bytes in a batch cannot be understood", element.size()));
        continue;
      }
      ElementId element_id;
      otlp::TraceDecoder().decode(request, element_id);
      if (!ids_.insert(element_id.id).second) continue;
      encoded_.append(element);
      add(element_id.id, false);
    }
  }

  const SpanIds& ids() const noexcept { return ids_; }

  /// All but the spans of `exported` as the content of a trace file.
  std::string content(const SpanIds& exported) {
    std::string content;
    base::Buffer spans;
    const auto write = [&] {
      if (!spans.empty()) content += framer_.frame(envelope_.request(spans.view()));
      spans.clear();
    };
    for (const Entry& entry : entries_) {
      if (exported.contains(entry.id)) continue;
      ++(entry.is_truncated ? truncated_ : ended_);
      spans.append(encoded_.view().substr(entry.offset, entry.bytes));
      if (spans.size() >= request_bytes) write();
    }
    write();
    return content;
  }
  /// The log records as the content of a file of theirs.
  std::string logs_content() { return std::string(logs_.empty() ? "" : framer_.frame(envelope_.request(logs_))); }
  std::uint64_t log_records() const noexcept { return log_records_; }
  std::uint64_t ended() const noexcept { return ended_; }
  std::uint64_t truncated() const noexcept { return truncated_; }

 private:
  struct Entry {
    std::uint64_t id;
    std::size_t offset, bytes;  // in `encoded_`
    bool is_truncated;
  };

  void add(std::uint64_t id, bool is_truncated) {
    const std::size_t offset = entries_.empty() ? 0 : entries_.back().offset + entries_.back().bytes;
    entries_.push_back({id, offset, encoded_.size() - offset, is_truncated});
  }

  otlp::Envelope envelope_;
  std::vector<std::string> redacted_keys_;
  otlp::SpanEncoder encoder_;
  otlp::LogEncoder log_encoder_;
  RingFile::TraceStates trace_states_;
  otlp::Framer framer_;
  SpanIds ids_;
  base::Buffer encoded_;
  std::vector<Entry> entries_;
  std::uint64_t ended_ = 0, truncated_ = 0;
  std::string logs_;
  std::uint64_t log_records_ = 0;
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

std::string status_text(const RingFileFacts& facts, std::uint64_t uncounted_drops, const Collector& found) {
  return fmt::format("{{\"spans_recorded\":{},\"spans_exported\":{},\"spans_dropped\":{},\"spans_truncated\":{}}}\n",
                     facts.spans_exported + found.ended() + found.truncated(),
                     facts.spans_exported + found.ended() + found.truncated(), facts.spans_dropped + uncounted_drops,
                     found.truncated());
}

Recovery write_what_is_left(RingFile& rings, const RingFileFacts& facts, const fs::path& into) {
  Recovery recovery;
  recovery.rank = facts.rank;
  recovery.pid = facts.pid;
  if (facts.state != record::FileState::recording && !rings.holds_anything()) return recovery;
  if (facts.state != record::FileState::recording)
    recovery.problems.push_back(fmt::format("its state is {}, yet it holds spans", std::uint32_t(facts.state)));
  const fs::path directory = into.empty() ? fs::path(facts.trace_directory) : into;
  if (into.empty() && !directory.is_absolute())
    throw std::runtime_error("does not say where the run's traces are: name a directory by --into");
  const std::string name = fmt::format("rank{}-{}-{}", facts.rank, facts.start_unix_ns / 1'000'000, facts.pid);
  assemble::Assembler assembler(rings.keys(), rings.time_line(), rings.started_in(),
                                rings.read_sampler(recovery.problems));
  assembler.bound_open(std::numeric_limits<std::size_t>::max(), rings.span_limits());
  Collector collector(rings, assembler, recovery.problems);
  for (std::size_t number = 0; number < record::batch_count; ++number) {
    collector.take_batch(rings.read_batch(number, recovery.problems), recovery.problems);
    collector.take_log_batch(rings.read_log_batch(number, recovery.problems), recovery.problems);
  }
  const std::uint64_t last_ticks = rings.feed(assembler, collector, recovery.problems);
  assembler.truncate_open(last_ticks, reason, collector);
  rings.tell_unknown_names(recovery.problems);
  IdFinder exported(collector.ids());
  find_exported(directory, facts.trace_file, exported);
  if (!into.empty()) find_exported(facts.trace_directory, facts.trace_file, exported);
  const std::string content = collector.content(exported.found);
  if (!content.empty()) {
    recovery.file = directory / ("traces-" + name + "-recovered.otlp.zst");
    write_file(recovery.file, content);
  }
  if (const std::string logs = collector.logs_content(); !logs.empty()) {
    recovery.logs_file = directory / ("logs-" + name + "-recovered.otlp.zst");
    write_file(recovery.logs_file, logs);
  }
  write_file(directory / ("status-" + name + "-recovered.json"),
             status_text(facts, rings.read_uncounted_drops(), collector));
  recovery.ended = collector.ended();
  recovery.truncated = collector.truncated();
  recovery.log_records = collector.log_records();
  return recovery;
}

}  // namespace

std::optional<Recovery> recover(RingFile& rings, const fs::path& into) {
  if (!rings.claim()) return std::nullopt;
  Recovery recovery = write_what_is_left(rings, rings.read_facts(), into);
  unlink(rings.path().c_str());
  return recovery;
}

}  // namespace lens::trace
