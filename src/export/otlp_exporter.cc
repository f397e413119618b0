// SPDX-License-Identifier: Apache-2.0
#include "src/export/otlp_exporter.h"

#include <algorithm>

#include "src/otlp/split.h"

namespace lens::exporting {
namespace {

// Under way at a time.
constexpr std::size_t most_requests = 4;
// Of all batches in memory, waiting or under way: four requests of half a mebibyte, each with its envelope.
constexpr std::size_t most_bytes = 4 * (520 << 10);
// Of these out of the spool: what is new has room beside them, else it went through the spool for ever.
constexpr std::ptrdiff_t most_spooled = 2;
constexpr std::chrono::milliseconds longest_wait{20};

}  // namespace

OtlpExporter::OtlpExporter(const OtlpExporterOptions& options, otlp::TraceEnvelope envelope, ErrorSink on_error,
                           ErrorSink announce)
    : options_(options),
      envelope_(std::move(envelope)),
      on_error_(std::move(on_error)),
      announce_(std::move(announce)),
      transport_(options.otlp, endpoint_of(options.otlp, Signal::traces)),
      backoff_(options.retry, options.jitter_seed),
      spool_(options.spool, on_error_) {}

// ---- what comes in

void OtlpExporter::export_spans(std::string_view spans, std::uint64_t count) {
  poll();
  ++taken_;
  const bool waits_long = spool_.is_on() && backoff_.holds(Clock::now());
  if (!waits_long && !is_full(spans.size(), count)) {
    enqueue(envelope_.request(spans), count, taken_);
    return start_waiting();
  }
  Batch batch{next_id_++, taken_, envelope_.request(spans), count, Clock::now()};
  if (!spool_.is_on()) on_error_("the collector does not keep up; spans are dropped");
  keep_or_refuse(batch);
}

bool OtlpExporter::is_full(std::size_t bytes, std::uint64_t count) const {
  if (batches_.empty()) return false;  // one that exceeds the bounds goes alone
  for (const Batch& batch : batches_) {
    bytes += batch.request.size();
    count += batch.spans;
  }
  return bytes > most_bytes || (options_.most_queued_spans > 0 && count > options_.most_queued_spans);
}

void OtlpExporter::enqueue(std::string request, std::uint64_t spans, std::uint64_t taken) {
  batches_.push_back({next_id_++, taken, std::move(request), spans, Clock::now()});
}

// ---- what goes out

void OtlpExporter::poll() {
  for (Transport::Settled& settled : transport_.poll()) settle(std::move(settled));
  start_waiting();
  start_spooled();
  count_dropped();
}

/// A destination that has failed gets one request, until it takes one.
std::size_t OtlpExporter::free_slots() const {
  if (backoff_.holds(Clock::now())) return 0;
  const auto under_way = static_cast<std::size_t>(std::ranges::count(batches_, true, &Batch::under_way));
  const std::size_t slots = backoff_.is_failing() ? 1 : most_requests;
  return slots - std::min(slots, under_way);
}

void OtlpExporter::start_waiting() {
  std::size_t slots = free_slots();
  for (Batch& batch : batches_) {
    if (slots == 0) return;
    if (batch.under_way) continue;
    transport_.send(batch.id, batch.request);
    batch.under_way = true;
    --slots;
  }
}

void OtlpExporter::start_spooled() {
  const auto is_spooled = [](const Batch& batch) { return batch.spooled.has_value(); };
  while (spool_may_hold_ && batches_.size() < most_requests && free_slots() > 0 &&
         std::ranges::count_if(batches_, is_spooled) < most_spooled) {
    auto spooled = spool_.take();
    spool_may_hold_ = spooled.has_value();
    if (!spooled) return;
    // It counts as settled: it is kept. So no flush waits for it.
    enqueue(spooled->message(), spooled->spans(), 0);
    batches_.back().spooled.emplace(std::move(*spooled));
    start_waiting();
  }
}

// ---- what became of it

void OtlpExporter::settle(Transport::Settled settled) {
  const auto at = std::ranges::find(batches_, settled.id, &Batch::id);
  if (at == batches_.end()) return;
  at->under_way = false;
  const Outcome outcome = outcome_of(settled.response, transport_.endpoint(), transport_.protocol());
  // A collector that stays away is news once.
  const bool is_known = outcome.kind == Outcome::Kind::retry && backoff_.is_failing();
  if (!outcome.message.empty() && !is_known) on_error_(outcome.message);
  if (outcome.kind != Outcome::Kind::accepted) last_failure_ = outcome.message;
  switch (outcome.kind) {
    case Outcome::Kind::accepted: accept(*at, outcome); break;
    case Outcome::Kind::retry:
      if (try_again(*at, outcome)) return;
      break;
    case Outcome::Kind::too_large:
      backoff_.succeed();
      if (!split(*at)) refuse(*at, at->spans);
      break;
    case Outcome::Kind::refused:
      backoff_.succeed();
      refuse(*at, at->spans);
      break;
  }
  batches_.erase(at);
}

void OtlpExporter::accept(Batch& batch, const Outcome& outcome) {
  backoff_.succeed();
  const std::uint64_t rejected = std::min(outcome.rejected, batch.spans);
  const bool own = !batch.spooled || batch.spooled->is_own();
  if (own) counts_.exported += batch.spans - rejected;
  if (rejected > 0) last_failure_ = outcome.message;
  refuse(batch, rejected);
}

/// True when it stays in memory, for another attempt.
bool OtlpExporter::try_again(Batch& batch, const Outcome& outcome) {
  backoff_.fail(Clock::now(), outcome.retry_after);
  if (batch.spooled) {
    spool_may_hold_ = true;  // its file is free again
    return false;
  }
  const auto age = Clock::now() - batch.since;
  const bool in_time = options_.export_timeout.count() == 0 || age < options_.export_timeout;
  if (!spool_.is_on() && in_time) return true;
  keep_or_refuse(batch);
  return false;
}

bool OtlpExporter::split(Batch& batch) {
  auto halves = otlp::split(batch.request);
  if (!halves) return false;
  if (batch.spooled) {
    // The halves take its place: should this process die between, both are still there.
    const bool kept =
        spool_.add(halves->first, halves->first_spans) && spool_.add(halves->second, halves->second_spans);
    if (!kept) return false;
    spool_may_hold_ = true;
    spool_.remove(*batch.spooled);
    return true;
  }
  const std::uint64_t taken = batch.taken;
  enqueue(std::move(halves->first), halves->first_spans, taken);
  enqueue(std::move(halves->second), halves->second_spans, taken);
  return true;
}

void OtlpExporter::keep_or_refuse(Batch& batch) {
  if (batch.spooled) return;  // its file stays
  if (spool_.add(batch.request, batch.spans))
    spool_may_hold_ = true;
  else
    refuse(batch, batch.spans);
}

/// Also takes it out of the spool: it is over.
void OtlpExporter::refuse(const Batch& batch, std::uint64_t spans) {
  if (batch.spooled) spool_.remove(*batch.spooled);
  if (batch.spooled && !batch.spooled->is_own()) return;
  counts_.refused += spans;
  refused_ += spans;
}

// ---- the end

void OtlpExporter::flush() {
  flush_through_ = taken_;
  backoff_.hurry();
  poll();
}

bool OtlpExporter::is_flushed() const {
  return std::ranges::none_of(batches_,
                              [&](const Batch& batch) { return batch.taken != 0 && batch.taken <= flush_through_; });
}

bool OtlpExporter::has_more_to_send() {
  return !batches_.empty() || (spool_may_hold_ && !backoff_.holds(Clock::now()));
}

void OtlpExporter::drain(Clock::time_point deadline) {
  flush();
  for (auto now = Clock::now(); has_more_to_send() && now < deadline; now = Clock::now()) {
    auto most = std::min<Clock::duration>(longest_wait, deadline - now);
    if (transport_.is_idle() && backoff_.holds(now)) most = std::min(most, backoff_.due() - now);
    transport_.wait(std::chrono::ceil<std::chrono::milliseconds>(most));
    poll();
  }
  for (Batch& batch : batches_) keep_or_refuse(batch);
  batches_.clear();
  count_dropped();
}

void OtlpExporter::count_dropped() {
  const std::uint64_t dropped = spool_.take_dropped();
  counts_.refused += dropped;
  refused_ += dropped;
}

void OtlpExporter::finish(const FinalCounters&) {
  const std::uint64_t kept = spool_.is_on() ? spool_.own_spans() : 0;
  if (kept == 0 && refused_ == 0) return;
  std::string line;
  if (kept > 0) line = std::to_string(kept) + " spans wait in " + spool_.directory() + " to be sent";
  if (refused_ > 0) line += (kept > 0 ? ", " : "") + std::to_string(refused_) + " spans were not delivered";
  announce_(line + (last_failure_.empty() ? "" : ": " + last_failure_));
}

}  // namespace lens::exporting
