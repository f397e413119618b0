// SPDX-License-Identifier: Apache-2.0
#include "src/export/otlp_exporter.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/export/unanswered.h"
#include "src/otlp/request.h"
#include "src/otlp/split.h"

namespace lens::exporting {
namespace {

// Under way at a time.
constexpr std::size_t most_requests = 4;
// Bodies beside the batches that they are made of; one that is JSON exceeds it by itself, and goes alone.
constexpr std::size_t most_held_bytes = 512 << 10;
// Of all batches in memory, waiting or under way: four requests of half a mebibyte, each with its envelope.
constexpr std::size_t most_bytes = 4 * (520 << 10);
// Of these out of the spool: one, which has memory of its own, and another where that is little. Not beside new ones,
// which went through the spool for ever if it took their turns.
constexpr std::size_t most_bytes_beside_another = 64 << 10;
constexpr std::chrono::milliseconds longest_wait{20};
// So long nothing has come from a server that does not answer; one that is slow would have.
constexpr std::chrono::seconds long_silence{1};
// What goes to disk in one write at the end, where many are small.
constexpr std::size_t most_kept_together_bytes = 64 << 10;

/// What is said once. Of a connection that ends in one way or another, as chance has it, the message tells enough. What
/// is wrong with the server is wrong for all signals; with a path, or what it finds wrong with a request, of its signal
/// only.
std::string cause_of(const Outcome& outcome, const Response& response, const Endpoint& endpoint) {
  using Kind = Outcome::Kind;
  using Reason = Outcome::Reason;
  if (outcome.same_each_time) return outcome.message;
  const bool is_of_signal = outcome.kind == Kind::accepted || outcome.reason == Reason::path ||
                            (outcome.kind != Kind::retry && outcome.reason == Reason::other);
  return (is_of_signal ? endpoint.url : server_name(endpoint)) + ' ' + outcome.cause + ' ' +
         std::to_string(response.curl_code) + ' ' + std::to_string(response.http_status) + ' ' + response.grpc_status;
}

std::string in_seconds(std::chrono::steady_clock::duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return std::to_string(ms / 1'000) + '.' + std::to_string(ms % 1'000 / 100) + " s";
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
      spool_(options.spool ? options.spool : std::make_shared<Spool>(SpoolOptions{}, on_error_)),
      news_(options.news ? options.news : std::make_shared<FailureNews>()) {}

// ---- what comes in

void OtlpExporter::export_batch(Batch batch) {
  poll();
  const bool waits_long = (spool_->is_on() || options_.one_attempt) && backoff_.holds(Clock::now());
  const bool has_room = !waits_long && !is_full(batch.elements.size(), batch.count);
  Request request = request_of(std::move(batch), ++taken_);
  if (has_room) {
    requests_.push_back(std::move(request));
    return start_waiting();
  }
  if (!spool_->is_on() && !waits_long)
    on_error_("the collector does not keep up; " + std::string(item_of(options_.signal)) + "s are dropped");
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
  count_dropped();
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
    if (slots == 0 || transport_.held_bytes() > most_held_bytes) return;
    if (request.under_way) continue;
    transport_.send(request.id, request.message);
    if (request.tried || request.spooled) ++counts_.retries;
    request.under_way = request.tried = true;
    request.sent = Clock::now();
    --slots;
  }
}

bool OtlpExporter::may_take_spooled() const {
  const auto is_spooled = [](const Request& request) { return request.spooled.has_value(); };
  if (std::ranges::none_of(requests_, is_spooled)) return true;
  return requests_.size() == 1 && requests_.front().message.size() <= most_bytes_beside_another;
}

void OtlpExporter::start_spooled() {
  if (!spool_may_hold_) spool_may_hold_ = spool_->has_changed(options_.signal);
  while (spool_may_hold_ && requests_.size() < most_requests && free_slots() > 0 && may_take_spooled()) {
    auto spooled = spool_->take(options_.signal);
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
  const std::string cause = cause_of(outcome, settled.response, transport_.endpoint());
  const std::uint64_t lost_before = counts_.refused();
  if (settled.response.answered) last_answer_ = Clock::now();
  if (is_news(outcome, cause)) on_error_(outcome.message);
  if (outcome.kind == Outcome::Kind::accepted) {
    note_success();
  } else {
    note_failure(outcome.message);
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
  say_lost(outcome, cause, counts_.refused() - lost_before);
  count_duration(Clock::now() - at->since, outcome.cause);
  requests_.erase(at);
}

/// That the server fails is known where another signal has said it; not that this one loses by it. What the next batch
/// says anew is not lost yet.
void OtlpExporter::say_lost(const Outcome& outcome, const std::string& cause, std::uint64_t spans) {
  const bool comes_anew = options_.one_attempt && outcome.kind == Outcome::Kind::retry;
  if (spans == 0 || comes_anew || outcome.kind == Outcome::Kind::accepted) return;
  if (news_->loses(this, cause, Clock::now()))
    on_error_(base::counted(spans, item_of(options_.signal)) + (spans == 1 ? " is" : " are") +
              " lost: " + outcome.message);
}

/// A success that comes with a message, each time with another one perhaps, is over at once.
bool OtlpExporter::is_news(const Outcome& outcome, const std::string& cause) {
  const bool is_accepted = outcome.kind == Outcome::Kind::accepted;
  const bool is_news = (!is_accepted || !outcome.message.empty()) && news_->fails(this, cause, Clock::now());
  if (is_accepted) news_->succeeds(this);
  return is_news;
}

void OtlpExporter::accept(Request& request, const Outcome& outcome) {
  backoff_.succeed();
  const std::uint64_t rejected = std::min(outcome.rejected, request.spans());
  counts_.exported += request.spans() - rejected;
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
  if (!spool_->is_on() && !options_.one_attempt && in_time) return true;
  keep_or_refuse(request, outcome.cause);
  return false;
}

bool OtlpExporter::split(Request& request) {
  if (request.message.size() <= least_halved_bytes) return false;
  if (request.spooled) return split_spooled(request);
  if (options_.signal == Signal::metrics) return false;  // what is counted is no element
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
  const bool kept = halves && spool_->add_alone(halves->first, halves->first_items, options_.signal) &&
                    spool_->add_alone(halves->second, halves->second_items, options_.signal);
  if (!kept) return false;
  spool_may_hold_ = true;
  spool_->remove(*request.spooled);
  return true;
}

/// `cause` is why it was not sent.
void OtlpExporter::keep_or_refuse(Request& request, const std::string& cause) {
  if (request.spooled) return;  // its file stays
  if (spool_->add(request.message, request.spans(), options_.signal))
    spool_may_hold_ = true;
  else
    refuse(request, request.spans(), spool_->is_on() ? "spool_failed" : cause);
}

/// Also takes it out of the spool: it is over.
void OtlpExporter::refuse(const Request& request, std::uint64_t spans, const std::string& cause) {
  if (request.spooled) spool_->remove(*request.spooled);
  count_lost(spans, cause);
  if (request.spooled && !request.spooled->is_own() && spans > 0) counts_.lost_of_others[cause] += spans;
}

void OtlpExporter::count_dropped() {
  const auto count = [&](Spool::Dropped dropped, const char* cause) {
    count_lost(dropped.own + dropped.of_others, cause);
    if (dropped.of_others > 0) counts_.lost_of_others[cause] += dropped.of_others;
  };
  count(spool_->take_dropped(options_.signal), "spool_full");
  count(spool_->take_damaged(options_.signal), "spool_damaged");
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

/// Within a time that ends there. What waits for longer than that could as well wait elsewhere at once.
bool OtlpExporter::has_more_to_send(TimePoint until) {
  if (transport_.is_idle() && backoff_.due() >= until) return false;
  return !requests_.empty() || (spool_may_hold_ && !backoff_.holds(Clock::now()));
}

void OtlpExporter::drain(TimePoint send_until, TimePoint keep_until) {
  flush();
  for (auto now = Clock::now(); has_more_to_send(send_until) && now < send_until; now = Clock::now()) {
    auto most = std::min<Clock::duration>(longest_wait, send_until - now);
    if (transport_.is_idle() && backoff_.holds(now)) most = std::min(most, backoff_.due() - now);
    transport_.wait(-1, std::chrono::ceil<std::chrono::milliseconds>(most));
    poll();
  }
  give_up();
  keep_rest(keep_until);
  count_dropped();
}

/// Of whoever has not answered by now, nobody knows why. Where something else is known to be wrong, that is the reason.
void OtlpExporter::give_up() {
  auto oldest = Clock::time_point::max();
  for (const Request& request : requests_)
    if (request.under_way) oldest = std::min(oldest, request.sent);
  if (oldest != Clock::time_point::max() && !backoff_.is_failing()) note_failure(why_unfinished(oldest));
  transport_.give_up();
}

/// Of requests under way, the oldest since then.
std::string OtlpExporter::why_unfinished(Clock::time_point since) const {
  const auto now = Clock::now(), last_sign = std::max(since, last_answer_);
  const std::string server = server_name(transport_.endpoint()), by_proxy = through(transport_.proxy());
  if (now - last_sign >= long_silence)
    return (transport_.has_sent() ? "no answer from " : "no connection to ") + server + " in " +
           in_seconds(now - last_sign) + by_proxy;
  const bool was_answering = now - last_answer_ < long_silence;
  return "the time for shutdown ended " +
         (was_answering ? "while " + server + " was answering" : "before " + server + " answered") + by_proxy;
}

/// Small requests are kept together: thousands of them, each with a file to lock, write and rename, take seconds on a
/// disk behind a network. One request made of several is one again: a request's parts may come in any number of pieces.
void OtlpExporter::keep_rest(TimePoint until) {
  std::erase_if(requests_, [](const Request& request) { return request.spooled.has_value(); });  // their files stay
  const std::string cause = backoff_.is_failing() ? last_cause_ : "shutdown";
  while (!requests_.empty()) {
    if (spool_->is_on() && Clock::now() >= until) {
      for (const Request& request : requests_) refuse(request, request.spans(), "shutdown");
      return requests_.clear();
    }
    // From their memory they are recovered until they are kept.
    auto end = std::next(requests_.begin());
    std::size_t size = requests_.front().message.size();
    while (end != requests_.end() && size + end->message.size() <= most_kept_together_bytes)
      size += end++->message.size();
    if (end == std::next(requests_.begin())) {
      keep_or_refuse(requests_.front(), cause);
    } else {
      Request together = joined(requests_.begin(), end);
      keep_or_refuse(together, cause);
    }
    requests_.erase(requests_.begin(), end);
  }
}

OtlpExporter::Request OtlpExporter::joined(Requests::const_iterator begin, Requests::const_iterator end) {
  Request together;
  for (auto request = begin; request != end; ++request) {
    together.message.head.append(request->message.head).append(request->message.rest);
    together.batch.count += request->batch.count;
  }
  return together;
}

// What was lost, the pipeline says.
void OtlpExporter::finish(const FinalReport&) {
  const std::uint64_t kept = spool_->is_on() ? spool_->own_items(options_.signal) : 0;
  if (kept == 0) return;
  const std::string line = base::counted(kept, item_of(options_.signal)) + (kept == 1 ? " waits in " : " wait in ") +
                           spool_->directory() + " to be sent";
  announce_(line + (last_failure_.empty() ? "" : ": " + last_failure_));
}

// ---- what it tells about itself

ExporterIdentity OtlpExporter::identity() const {
  const std::string protocol = options_.otlp.protocol == OtlpProtocol::grpc        ? "grpc"
                               : options_.otlp.protocol == OtlpProtocol::http_json ? "http_json"
                                                                                   : "http";
  const Server server = server_of(transport_.endpoint());
  return {"otlp_" + protocol + '_' + std::string(terms_of(options_.signal).exporter) + "_exporter", server.address,
          server.port};
}

std::uint64_t OtlpExporter::in_flight() const {
  std::uint64_t spans = 0;
  for (const Request& request : requests_) spans += request.spooled ? 0 : request.spans();
  return spans;
}

std::optional<SpoolFill> OtlpExporter::spool_fill() const {
  if (!spool_->is_on()) return std::nullopt;
  const SpoolListing listing = spool_->listing();
  return SpoolFill{listing.all.items, listing.bytes, spool_->most_bytes()};
}

}  // namespace lens::exporting
