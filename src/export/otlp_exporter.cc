// SPDX-License-Identifier: Apache-2.0
#include "src/export/otlp_exporter.h"

#include <algorithm>

#include "src/otlp/request.h"
#include "src/otlp/split.h"

namespace lens::exporting {
namespace {

// Under way at a time.
constexpr std::size_t most_requests = 4;
// Of all batches in memory, waiting or under way: four requests of half a mebibyte, each with its envelope.
constexpr std::size_t most_bytes = 4 * (520 << 10);
// Of these out of the spool; fewer beside new ones, which went through the spool for ever if it took their turns.
constexpr std::size_t most_spooled = 2, most_spooled_beside_new = 1;
constexpr std::chrono::milliseconds longest_wait{20};
// A collector that fails now and then says the same this often at most.
constexpr std::chrono::minutes quiet{1};
constexpr std::size_t most_causes = 64;

std::string cause_of(const Response& response) {
  return std::to_string(response.curl_code) + ' ' + std::to_string(response.http_status) + ' ' + response.grpc_status;
}

}  // namespace

OtlpExporter::OtlpExporter(const OtlpExporterOptions& options, otlp::Envelope envelope, ErrorSink on_error,
                           ErrorSink announce)
    : options_(options),
      envelope_(std::move(envelope)),
      on_error_(std::move(on_error)),
      announce_(std::move(announce)),
      transport_(options.otlp, endpoint_of(options.otlp, options.signal)),
      backoff_(options.retry, options.jitter_seed),
      spool_(options.spool, on_error_) {}

// ---- what comes in

void OtlpExporter::export_batch(Batch batch) {
  poll();
  const bool waits_long = (spool_.is_on() || options_.one_attempt) && backoff_.holds(Clock::now());
  const bool has_room = !waits_long && !is_full(batch.elements.size(), batch.count);
  Request request = request_of(std::move(batch), ++taken_);
  if (has_room) {
    requests_.push_back(std::move(request));
    return start_waiting();
  }
  if (!spool_.is_on() && !waits_long) on_error_("the collector does not keep up; spans are dropped");
  keep_or_refuse(request, waits_long ? last_cause_ : "queue_full");
}

bool OtlpExporter::is_full(std::size_t bytes, std::uint64_t count) const {
  if (requests_.empty()) return false;  // one that exceeds the bounds goes alone
  std::size_t batches = 1;
  for (const Request& request : requests_) {
    bytes += request.message.size();
    count += request.spans();
    batches += request.spooled ? 0 : 1;
  }
  return bytes > most_bytes || (options_.most_batches > 0 && batches > options_.most_batches) ||
         (options_.most_queued_spans > 0 && count > options_.most_queued_spans);
}

OtlpExporter::Request OtlpExporter::request_of(Batch batch, std::uint64_t taken) {
  Request request{.id = next_id_++, .taken = taken, .since = Clock::now()};
  request.message = {envelope_.head(batch.elements.size()), batch.elements};
  request.batch = std::move(batch);
  return request;
}

// ---- what goes out

void OtlpExporter::poll() {
  for (Transport::Settled& settled : transport_.poll()) settle(std::move(settled));
  start_waiting();
  start_spooled();
  count_lost(spool_.take_dropped(), "spool_full");
}

/// A destination that has failed gets one request, until it takes one.
std::size_t OtlpExporter::free_slots() const {
  if (backoff_.holds(Clock::now())) return 0;
  const auto under_way = static_cast<std::size_t>(std::ranges::count(requests_, true, &Request::under_way));
  const std::size_t slots = backoff_.is_failing() ? 1 : most_requests;
  return slots - std::min(slots, under_way);
}

void OtlpExporter::start_waiting() {
  std::size_t slots = free_slots();
  for (Request& request : requests_) {
    if (slots == 0) return;
    if (request.under_way) continue;
    transport_.send(request.id, request.message);
    if (request.tried || request.spooled) ++counts_.retries;
    request.under_way = request.tried = true;
    --slots;
  }
}

void OtlpExporter::start_spooled() {
  const auto is_spooled = [](const Request& request) { return request.spooled.has_value(); };
  while (spool_may_hold_ && requests_.size() < most_requests && free_slots() > 0) {
    const auto from_spool = static_cast<std::size_t>(std::ranges::count_if(requests_, is_spooled));
    if (from_spool >= (from_spool == requests_.size() ? most_spooled : most_spooled_beside_new)) return;
    auto spooled = spool_.take();
    spool_may_hold_ = spooled.has_value();
    if (!spooled) return;
    // It counts as settled: it is kept. So no flush waits for it.
    Request& request = requests_.emplace_back(Request{.id = next_id_++, .since = Clock::now()});
    request.spooled.emplace(std::move(*spooled));
    request.message.rest = request.spooled->message();
    start_waiting();
  }
}

// ---- what became of it

void OtlpExporter::settle(Transport::Settled settled) {
  const auto at = std::ranges::find(requests_, settled.id, &Request::id);
  if (at == requests_.end()) return;
  at->under_way = false;
  const Outcome outcome = outcome_of(settled.response, transport_.endpoint(), transport_.protocol());
  if (is_news(outcome, settled.response)) on_error_(outcome.message);
  if (outcome.kind != Outcome::Kind::accepted) {
    last_failure_ = outcome.message;
    last_cause_ = outcome.cause;
  }
  switch (outcome.kind) {
    case Outcome::Kind::accepted: accept(*at, outcome); break;
    case Outcome::Kind::retry:
      if (try_again(*at, outcome)) return;
      break;
    case Outcome::Kind::too_large:
      backoff_.succeed();
      if (!split(*at)) refuse(*at, at->spans(), "too_large");
      break;
    case Outcome::Kind::refused:
      backoff_.succeed();
      refuse(*at, at->spans(), outcome.cause);
      break;
  }
  count_duration(Clock::now() - at->since, outcome.cause);
  requests_.erase(at);
}

/// A collector that stays away is news once for each cause.
bool OtlpExporter::is_news(const Outcome& outcome, const Response& response) {
  if (options_.one_attempt && outcome.message == last_failure_) return false;
  if (outcome.kind != Outcome::Kind::retry || outcome.message.empty()) return !outcome.message.empty();
  const auto now = Clock::now();
  if (!backoff_.is_failing()) failing_since_ = now;
  if (said_.size() > most_causes) said_.clear();
  const auto [known, is_new] = said_.try_emplace(cause_of(response), now);
  if (!is_new && (known->second >= failing_since_ || now - known->second < quiet)) return false;
  known->second = now;
  return true;
}

void OtlpExporter::accept(Request& request, const Outcome& outcome) {
  backoff_.succeed();
  const std::uint64_t rejected = std::min(outcome.rejected, request.spans());
  const bool own = !request.spooled || request.spooled->is_own();
  if (own) counts_.exported += request.spans() - rejected;
  if (rejected > 0) last_failure_ = outcome.message;
  refuse(request, rejected, outcome.cause);
}

/// True when it stays in memory, for another attempt.
bool OtlpExporter::try_again(Request& request, const Outcome& outcome) {
  backoff_.fail(Clock::now(), outcome.retry_after);
  if (request.spooled) {
    spool_may_hold_ = true;  // its file is free again
    return false;
  }
  const auto age = Clock::now() - request.since;
  const bool in_time = options_.export_timeout.count() == 0 || age < options_.export_timeout;
  if (!spool_.is_on() && !options_.one_attempt && in_time) return true;
  keep_or_refuse(request, outcome.cause);
  return false;
}

bool OtlpExporter::split(Request& request) {
  if (request.spooled) return split_spooled(request);
  if (options_.signal != Signal::traces) return false;  // what is counted is no element
  const auto first = otlp::first_half(request.batch.elements);
  if (!first) return false;
  Batch halves[] = {request.batch, request.batch};
  halves[0].elements = request.batch.elements.substr(0, first->bytes);
  halves[0].count = first->spans;
  halves[1].elements.remove_prefix(first->bytes);
  halves[1].count -= first->spans;
  for (Batch& half : halves) requests_.push_back(request_of(std::move(half), request.taken));
  return true;
}

/// The halves take its place: should this process die between, both are still there.
bool OtlpExporter::split_spooled(Request& request) {
  const auto halves = otlp::halved(request.spooled->message());
  const bool kept =
      halves && spool_.add(halves->first, halves->first_items) && spool_.add(halves->second, halves->second_items);
  if (!kept) return false;
  spool_may_hold_ = true;
  spool_.remove(*request.spooled);
  return true;
}

/// `cause` is why it was not sent.
void OtlpExporter::keep_or_refuse(Request& request, const std::string& cause) {
  if (request.spooled) return;  // its file stays
  if (spool_.add(request.message.joined(), request.spans()))
    spool_may_hold_ = true;
  else
    refuse(request, request.spans(), spool_.is_on() ? "spool_failed" : cause);
}

/// Also takes it out of the spool: it is over.
void OtlpExporter::refuse(const Request& request, std::uint64_t spans, const std::string& cause) {
  if (request.spooled) spool_.remove(*request.spooled);
  if (request.spooled && !request.spooled->is_own()) return;
  count_lost(spans, cause);
}

// ---- the end

void OtlpExporter::flush() {
  flush_through_ = taken_;
  backoff_.hurry();
  poll();
}

bool OtlpExporter::is_flushed() const {
  return std::ranges::none_of(
      requests_, [&](const Request& request) { return request.taken != 0 && request.taken <= flush_through_; });
}

bool OtlpExporter::has_more_to_send() {
  return !requests_.empty() || (spool_may_hold_ && !backoff_.holds(Clock::now()));
}

void OtlpExporter::drain(Clock::time_point deadline) {
  flush();
  for (auto now = Clock::now(); has_more_to_send() && now < deadline; now = Clock::now()) {
    auto most = std::min<Clock::duration>(longest_wait, deadline - now);
    if (transport_.is_idle() && backoff_.holds(now)) most = std::min(most, backoff_.due() - now);
    transport_.wait(-1, std::chrono::ceil<std::chrono::milliseconds>(most));
    poll();
  }
  transport_.give_up();
  for (Request& request : requests_) keep_or_refuse(request, backoff_.is_failing() ? last_cause_ : "shutdown");
  requests_.clear();
  count_lost(spool_.take_dropped(), "spool_full");
}

// What was lost, the pipeline says.
void OtlpExporter::finish(const FinalCounters&) {
  const std::uint64_t kept = spool_.is_on() ? spool_.own_spans() : 0;
  if (kept == 0) return;
  const std::string line = std::to_string(kept) + " spans wait in " + spool_.directory() + " to be sent";
  announce_(line + (last_failure_.empty() ? "" : ": " + last_failure_));
}

// ---- what it tells about itself

ExporterIdentity OtlpExporter::identity() const {
  const std::string protocol = options_.otlp.protocol == OtlpProtocol::grpc        ? "grpc"
                               : options_.otlp.protocol == OtlpProtocol::http_json ? "http_json"
                                                                                   : "http";
  const std::string signal = options_.signal == Signal::traces ? "span" : "metric";
  const Server server = server_of(transport_.endpoint());
  return {"otlp_" + protocol + '_' + signal + "_exporter", server.address, server.port};
}

std::optional<SpoolFill> OtlpExporter::spool_fill() const {
  if (!spool_.is_on()) return std::nullopt;
  return SpoolFill{spool_.used_bytes(), options_.spool.most_bytes};
}

}  // namespace lens::exporting
