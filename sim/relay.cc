#include "sim/relay.h"

#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "base/mutant.h"
#include "engine/outbox.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""s;

// As in server/relay.cc.
constexpr std::uint32_t kMostAtOnce = 100;
constexpr Duration kLease = 15s;
constexpr Duration kWait = 60s;
constexpr Duration kTryAgainAfter = 1s;

core::AckItem dead(std::string_view type, std::string_view message) {
  core::JobError error;
  error.type = SharedBytes(type);
  error.message = SharedBytes(message);
  core::AckItem item;
  item.outcome = core::AckOutcome::kDead;
  item.error = std::make_shared<core::JobError>(std::move(error));
  return item;
}

core::AckItem outcome_of(const engine::Answer& answer) {
  core::AckItem ack;
  if (mutated(Mutant::kOutboxAckedUnheard)) return ack;
  ack.outcome = core::AckOutcome::kSnoozed;
  ack.delay = kTryAgainAfter;
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* enqueued = reply == nullptr ? nullptr : std::get_if<core::EnqueueReply>(reply);
  if (enqueued == nullptr || enqueued->items.empty()) return ack;
  const core::EnqueueReply::Item& item = enqueued->items.front();
  if (item.fate != core::Fate::kRefused) return {};
  if (item.refusal.why == core::Rejection::kDuplicateJob) {
    return dead("duplicate_job", "another job holds its id or its unique key");
  }
  if (item.refusal.why == core::Rejection::kIdMismatch) {
    return dead("id_mismatch", "another job was submitted under its id");
  }
  return ack;
}

}  // namespace

void Relay::begin(engine::Gateway& shard, std::uint64_t term) {
  end();
  shard_ = &shard;
  term_ = term;
  settings_told_ = false;
  ask();
}

void Relay::end() {
  shard_ = nullptr;
  claim_.reset();
  under_way_.clear();
}

void Relay::ask() {
  if (shard_ == nullptr || claim_ || under_way_.size() >= kMostAtOnce) return;
  claim_ = next_ticket();
  engine::WaitingClaim claim;
  claim.claim.queues = {SharedBytes(engine::kOutboxQueue)};
  claim.claim.limit = kMostAtOnce;
  claim.claim.lease = kLease;
  claim.claim.worker = claim.worker.id = SharedBytes(engine::kOutboxQueue);
  claim.wait = kWait;
  shard_->submit(std::move(claim), *this, *claim_);
}

void Relay::deliver(std::span<engine::Delivery> deliveries) {
  for (engine::Delivery& delivery : deliveries) {
    if (claim_ == delivery.ticket) {
      claim_.reset();
      const auto* reply = std::get_if<core::Reply>(&delivery.answer);
      const auto* claim = reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
      if (claim == nullptr) continue;  // tick() asks again
      pass_on(*claim);
      ask();
    } else if (const auto job = under_way_.extract(delivery.ticket); !job.empty()) {
      passed(job.mapped(), delivery.answer);
    }
  }
}

void Relay::pass_on(core::ClaimReply claim) {
  if (claim.jobs.empty()) return;
  // Reads of jobs do not fail while a node serves.
  (void)reads_.complete(claim);
  if (shard_ != nullptr && !std::exchange(settings_told_, true)) {
    core::SetQueue settings;
    settings.queue = SharedBytes(engine::kOutboxQueue);
    settings.patch.succeeded = std::optional<Duration>(Duration{0});
    shard_->submit(core::Command(std::move(settings)), *this, engine::Ticket{0});
  }
  for (const core::ClaimReply::Item& item : claim.jobs) {
    const Passing job{item.job.id, item.job.token};
    auto submission = engine::from_outbox(item.job);
    // There it is acknowledged as dead. Nothing is damaged here.
    demand(submission.has_value(), "N7", "{}, which lies in the outbox of shard {}: {}",
           to_string(job.id), number_, submission ? "" : submission.error().message);
    if (shard_ == nullptr) return;
    effects_.taken(number_, job.id, term_);
    if (mutated(Mutant::kOutboxUnkeyed)) submission->key.reset();
    const engine::Ticket ticket = next_ticket();
    under_way_.emplace(ticket, job);
    router_.submit(core::Command(std::move(*submission)), *this, ticket, engine::kNodesOwn);
  }
}

void Relay::passed(const Passing& job, const engine::Answer& answer) {
  core::AckItem ack = outcome_of(answer);
  ack.id = job.id;
  ack.token = job.token;
  if (ack.outcome == core::AckOutcome::kSnoozed) effects_.put_off();
  settle(std::move(ack));
}

void Relay::settle(core::AckItem item) {
  if (shard_ == nullptr) return;
  core::Ack ack;
  ack.items.push_back(std::move(item));
  shard_->submit(core::Command(std::move(ack)), *this, engine::Ticket{0});
}

}  // namespace millrace::sim
