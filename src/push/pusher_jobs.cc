// The push targets' jobs: claims, calls, acknowledgements, and leases in between.
#include <algorithm>
#include <utility>

#include "engine/routing/scatter_gather.h"
#include "engine/whole_claim.h"
#include "push/exchange.h"
#include "push/pusher.h"

namespace millrace::push {
namespace {

constexpr std::size_t kMaxAcksAtOnce = 200;
constexpr std::size_t kMaxBeatsAtOnce = 500;
constexpr Duration kAckPause{200};      // before an unanswered acknowledgement is sent again
constexpr Duration kClaimPause{200};    // the same for claims, at first
constexpr int kMostClaimDoublings = 4;  // of that pause

std::vector<SharedBytes> shared(const std::vector<std::string>& names) {
  std::vector<SharedBytes> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.emplace_back(name);
  return all;
}

}  // namespace

// --- Jobs.

void Pusher::want_jobs(Line& line, Steady now) {
  const std::uint32_t free = std::min(line.free(running_time(now)), kMaxClaim);
  if (free == 0) return forget_claim(line);  // its breaker opened, or its receiver wants a rest
  if (line.claim || now < line.claims_again) return;
  const api::PushTarget& settings = line.target()->settings;
  engine::WaitingClaim waiting;
  waiting.claim.queues = shared(settings.queues);
  waiting.claim.types = shared(settings.types);
  waiting.claim.limit = free;
  waiting.claim.lease = std::clamp(settings.timeout + kLeaseSlack, core::kMinLease, kLongestLease);
  waiting.claim.worker = waiting.worker.id = SharedBytes(worker_of(line.name()));
  waiting.wait = kClaimWait;
  line.claim = ask(std::move(waiting), AskedClaim{&line, now});
}

void Pusher::take(engine::Delivery delivery, Steady now) {
  const auto found = asked_.find(static_cast<std::uint64_t>(delivery.ticket));
  if (found == asked_.end()) {  // its claim was withdrawn
    if (const auto* const reply = std::get_if<core::Reply>(&delivery.answer)) {
      if (const auto* const claim = std::get_if<core::ClaimReply>(reply)) give_back(*claim);
    }
    return;
  }
  Asked asked = std::move(found->second);
  asked_.erase(found);
  if (const auto* const claim = std::get_if<AskedClaim>(&asked)) {
    claim->line->claim.reset();
    take_claim(*claim->line, std::move(delivery.answer), now);
  } else if (auto* const acks = std::get_if<AskedAcks>(&asked)) {
    take_acks(std::move(*acks), delivery.answer, now);
  } else if (const auto* const beats = std::get_if<AskedHeartbeats>(&asked)) {
    take_heartbeats(*beats, delivery.answer);
  }
}

void Pusher::give_back(const core::ClaimReply& claim) {
  if (claim.jobs.empty()) return;
  core::Ack releases = engine::releases_of(claim);
  for (core::AckItem& item : releases.items) {
    acknowledge(std::move(item), parts_.clock.steady() + kLeaseSlack);
  }
}

void Pusher::take_claim(Line& line, engine::Answer answer, Steady now) {
  auto* const reply = std::get_if<core::Reply>(&answer);
  auto* const claim = reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
  if (claim == nullptr) {
    line.claims_again =
        now + kClaimPause * (1 << std::min(line.refused_claims++, kMostClaimDoublings));
    return;
  }
  line.refused_claims = 0;
  if (claim->jobs.empty()) return;
  if (engine::is_whole(*claim)) return begin_calls(line, std::move(*claim), now);
  const auto count = static_cast<std::uint32_t>(claim->jobs.size());
  line.reading += count;
  parts_.run([this, line = &line, count, now, claim = std::move(*claim)]() mutable {
    core::ClaimReply whole = claim;
    const Status read = parts_.complete(whole);
    post([this, line, count, now, read, claim = std::move(claim), whole = std::move(whole)]()
             MILLRACE_REQUIRES(mutex_) mutable {
               line->reading -= count;
               if (!read) return give_back(claim);
               begin_calls(*line, std::move(whole), now);
             });
  });
}

void Pusher::begin_calls(Line& line, core::ClaimReply claim, Steady leased_at) {
  if (drains_ || line.target() == nullptr || !line.fault().empty()) return give_back(claim);
  for (core::ClaimReply::Item& item : claim.jobs) {
    line.ahead.push_back({std::move(item.job), leased_at});
  }
  call_next(line, parts_.clock.steady());
}

// Leadership is checked now, after the jobs' leases were committed. The next leader counts these
// leases before it begins a call.
void Pusher::call_next(Line& line, Steady now) {
  while (!line.ahead.empty() && line.may_call(running_time(now))) {
    if (drains_ || !parts_.leads() || now - line.ahead.front().at > kLongestAhead) {
      return give_back_ahead(line);
    }
    const Line::Leased next = std::move(line.ahead.front());
    line.ahead.pop_front();
    ++line.running;
    begin_call(line, next.job, next.at);
  }
}

void Pusher::give_back_ahead(Line& line) {
  core::ClaimReply claim;
  for (Line::Leased& leased : std::exchange(line.ahead, {})) {
    claim.jobs.push_back({std::move(leased.job)});
  }
  give_back(claim);
}

void Pusher::begin_call(Line& line, const core::Job& job, Steady leased_at) {
  Call call = call_for(job, line, parts_.clock.now(), parts_.max_result_bytes);
  call.number = next_call_++;
  flights_.emplace(call.number, Flight{.line = &line,
                                       .job = job.id,
                                       .token = job.token,
                                       .lease = job.lease_given,
                                       .lease_ends = leased_at + job.lease_given,
                                       .next_heartbeat = leased_at + kHeartbeatPause});
  parts_.caller.start(std::move(call));
}

void Pusher::finished(CallEnd end, Steady now) {
  if (const auto test = tests_.find(end.number); test != tests_.end()) {
    api::PushTestResult result{
        .status = end.status, .took = std::chrono::floor<Duration>(end.took), .error = end.reason};
    if (end.how == CallEnd::How::kAnswered && (end.status < 200 || end.status > 299)) {
      result.error = "the receiver answered " + std::to_string(end.status);
    }
    test->second(std::move(result));
    tests_.erase(test);
    return;
  }
  const auto found = flights_.find(end.number);
  if (found == flights_.end()) return;
  const Flight flight = std::move(found->second);
  flights_.erase(found);
  Line& line = *flight.line;
  --line.running;
  const api::PushVerdict verdict = verdict_of(end, parts_.clock.now(), parts_.max_result_bytes);
  const Duration clock = running_time(now);
  if (verdict.end == api::PushEnd::kFailed) {
    if (line.breaker.failed(clock)) {
      parts_.log.warn("a push target's breaker opened: its receiver fails",
                      {{"target", line.name()}, {"reason", verdict.error_message}});
    }
  } else if (verdict.end == api::PushEnd::kSnoozed) {
    line.rest(clock, verdict.delay);
  } else {
    if (line.breaker.state(clock) != Breaker::State::kClosed) {
      parts_.log.info("a push target's breaker closed", {{"target", line.name()}});
    }
    line.breaker.succeeded();
  }
  line.note({parts_.clock.now(), flight.job, name_of(verdict.end), end.status, end.took,
             verdict.error_message},
            now);
  if (verdict.end == api::PushEnd::kDeadAndDisabled && line.target() != nullptr) {
    line.disable();
    parts_.disable(*line.target(), "the receiver answered 410");
  }
  call_next(line, now);
  if (verdict.end != api::PushEnd::kAccepted) {
    return acknowledge(ack_of(flight.job, flight.token, verdict), flight.lease_ends);
  }
  // From now on the receiver that accepted the job owns the lease. This heartbeat extends it once.
  core::Heartbeat heartbeat;
  heartbeat.items.push_back({flight.job, flight.token, flight.lease, nullptr});
  ask(core::Command(std::move(heartbeat)), AskedNothing{});
}

// --- Leases.

void Pusher::beat(Steady now) {
  core::Heartbeat heartbeat;
  AskedHeartbeats asked{{}, now};
  std::vector<CallNumber> lost;
  for (auto& [number, flight] : flights_) {
    if (now >= flight.lease_ends - kLeaseMargin) lost.push_back(number);
    if (now < flight.next_heartbeat || flight.is_beating) continue;
    if (asked.calls.size() >= kMaxBeatsAtOnce) continue;
    flight.is_beating = true;
    heartbeat.items.push_back({flight.job, flight.token, flight.lease, nullptr});
    asked.calls.push_back(number);
  }
  if (!asked.calls.empty()) ask(core::Command(std::move(heartbeat)), std::move(asked));
  for (const CallNumber number : lost) {
    parts_.caller.cancel(number);
    --flights_.at(number).line->running;
    flights_.erase(number);
  }
}

void Pusher::take_heartbeats(const AskedHeartbeats& asked, const engine::Answer& answer) {
  const auto* const reply = std::get_if<core::Reply>(&answer);
  const auto* const items = reply == nullptr ? nullptr : std::get_if<core::ItemsReply>(reply);
  for (std::size_t i = 0; i < asked.calls.size(); ++i) {
    const auto found = flights_.find(asked.calls[i]);
    if (found == flights_.end()) continue;
    Flight& flight = found->second;
    flight.is_beating = false;
    flight.next_heartbeat = asked.at + kHeartbeatPause;
    if (items == nullptr || i >= items->items.size()) continue;  // will be tried again later
    const core::ItemReply& item = items->items[i];
    if (!item.refusal && !item.cancel_requested) {
      flight.lease_ends = std::max(flight.lease_ends, asked.at + flight.lease);
      continue;
    }
    parts_.caller.cancel(found->first);
    --flight.line->running;
    if (item.cancel_requested) {
      flight.line->note({parts_.clock.now(), flight.job, "cancelled", 0, {}, {}}, asked.at);
      acknowledge(ack_of(flight.job, flight.token, core::AckOutcome::kCancelled),
                  flight.lease_ends);
    }
    flights_.erase(found);
  }
}

void Pusher::acknowledge(core::AckItem item, Steady until) {
  acks_.push_back({std::move(item), {}, until});
}

void Pusher::flush(Steady now) {
  std::vector<PendingAck> later;
  AskedAcks asked;
  const auto send = [&]() MILLRACE_REQUIRES(mutex_) {
    core::Ack command;
    for (const PendingAck& ack : asked.items) command.items.push_back(ack.item);
    ask(core::Command(std::move(command)), std::exchange(asked, {}));
  };
  for (PendingAck& ack : std::exchange(acks_, {})) {
    if (ack.not_before > now) {
      later.push_back(std::move(ack));
      continue;
    }
    asked.items.push_back(std::move(ack));
    if (asked.items.size() == kMaxAcksAtOnce) send();
  }
  if (!asked.items.empty()) send();
  acks_.insert(acks_.end(), std::make_move_iterator(later.begin()),
               std::make_move_iterator(later.end()));
}

// An acknowledgement may be sent twice; it is idempotent. A refusal means that the lease has ended.
void Pusher::take_acks(AskedAcks asked, const engine::Answer& answer, Steady now) {
  if (const auto* const reply = std::get_if<core::Reply>(&answer)) {
    if (std::holds_alternative<core::ItemsReply>(*reply)) return;
  }
  for (PendingAck& ack : asked.items) {
    if (now >= ack.until) continue;
    ack.not_before = now + kAckPause;
    acks_.push_back(std::move(ack));
  }
}

}  // namespace millrace::push
