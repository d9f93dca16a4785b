#include "server/relay.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "engine/outbox.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

constexpr std::uint32_t kMostAtOnce = 100;
// Longer than the router looks for a leader.
constexpr Duration kLease = 15s;
constexpr Duration kWait = 60s;
constexpr Duration kTryAgainAfter = 1s;
// What is too new for this program waits for one that can read it.
constexpr Duration kTooNewAgainAfter = 10s;

const core::ClaimReply* claim_in(const engine::Answer& answer) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  return reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
}

core::AckItem dead(std::string_view type, std::string_view message) {
  core::JobError error;
  error.type = SharedBytes(type);
  error.message = SharedBytes(message);
  core::AckItem item;
  item.outcome = core::AckOutcome::kDead;
  item.error = std::make_shared<core::JobError>(std::move(error));
  return item;
}

core::AckItem unread(const store::UnreadableSubmission& why) {
  if (!why.too_new) return dead("damaged_submission", why.message);
  core::AckItem item;
  item.outcome = core::AckOutcome::kSnoozed;
  item.delay = kTooNewAgainAfter;
  return item;
}

// It is there; it can't be, ever; or it is tried again.
core::AckItem outcome_of(const engine::Answer& answer) {
  core::AckItem ack;
  ack.outcome = core::AckOutcome::kSnoozed;
  ack.delay = kTryAgainAfter;
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* enqueued = reply == nullptr ? nullptr : std::get_if<core::EnqueueReply>(reply);
  if (enqueued == nullptr || enqueued->items.empty()) return ack;
  const core::EnqueueReply::Item& item = enqueued->items.front();
  if (item.fate != core::Fate::kRefused) {
    ack.outcome = core::AckOutcome::kSucceeded;
  } else if (item.refusal.why == core::Rejection::kDuplicateJob) {
    return dead("duplicate_job", "another job holds its id or its unique key");
  } else if (item.refusal.why == core::Rejection::kIdMismatch) {
    return dead("id_mismatch", "another job was submitted under its id");
  }
  return ack;
}

}  // namespace

Relay::Relay(engine::Gateway& router, store::Tables& tables, Run run, Logger log)
    : router_(router), reads_(tables), run_(std::move(run)), log_(std::move(log)) {}

engine::Ticket Relay::next_ticket() { return engine::Ticket{++last_ticket_}; }

void Relay::begin(std::shared_ptr<engine::Gateway> shard) {
  {
    std::shared_ptr<engine::Gateway> former;  // goes when the lock has gone
    const MutexLock lock(mutex_);
    former = std::exchange(shard_, std::move(shard));
    settings_told_ = false;
    claim_.reset();
    under_way_.clear();
  }
  ask();
}

void Relay::end() {
  std::shared_ptr<engine::Gateway> gone;  // not under the lock
  const MutexLock lock(mutex_);
  gone = std::exchange(shard_, nullptr);
  claim_.reset();
  under_way_.clear();
}

void Relay::tick() { ask(); }

void Relay::ask() {
  std::shared_ptr<engine::Gateway> shard;
  engine::Ticket ticket{};
  {
    const MutexLock lock(mutex_);
    if (shard_ == nullptr || claim_ || under_way_.size() >= kMostAtOnce) return;
    shard = shard_;
    claim_ = ticket = next_ticket();
  }
  engine::WaitingClaim claim;
  claim.claim.queues = {SharedBytes(engine::kOutboxQueue)};
  claim.claim.limit = kMostAtOnce;
  claim.claim.lease = kLease;
  claim.claim.worker = claim.worker.id = SharedBytes(engine::kOutboxQueue);
  claim.wait = kWait;
  shard->submit(std::move(claim), *this, ticket);
}

// Nothing is asked from within a claim that has failed: tick() does that.
void Relay::deliver(std::span<engine::Delivery> deliveries) {
  for (engine::Delivery& delivery : deliveries) {
    std::optional<Passing> job;
    bool claimed = false;
    {
      const MutexLock lock(mutex_);
      if (claim_ == delivery.ticket) {
        claim_.reset();
        claimed = true;
      } else if (const auto found = under_way_.find(delivery.ticket); found != under_way_.end()) {
        job = found->second;
        under_way_.erase(found);
      }
    }
    if (job) {
      passed(*job, delivery.answer);
    } else if (claimed && claim_in(delivery.answer) != nullptr) {
      complete(std::get<core::ClaimReply>(std::get<core::Reply>(std::move(delivery.answer))));
    }
  }
}

// Brings the submissions that memory has let go of; the next are asked for after that.
void Relay::complete(core::ClaimReply claim) {
  const bool whole = std::ranges::none_of(
      claim.jobs, [](const core::ClaimReply::Item& item) { return item.job.payload.empty(); });
  if (whole) {
    pass_on(std::move(claim));
    return ask();
  }
  run_([this, claim = std::move(claim)]() mutable {
    if (const Status read = reads_.complete(claim); read) {
      pass_on(std::move(claim));
    } else {
      log_.warn("what an ack submitted can't be read, and is tried again",
                {{"reason", read.error().message}});
      for (const core::ClaimReply::Item& item : claim.jobs) {
        passed({item.job.id, item.job.token}, engine::Unavailable::kStorage);
      }
    }
    ask();
  });
}

void Relay::pass_on(core::ClaimReply claim) {
  if (claim.jobs.empty()) return;
  std::shared_ptr<engine::Gateway> tell;
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(settings_told_, true)) tell = shard_;
  }
  if (tell != nullptr) {
    // What was passed on is where it belongs; nobody looks for it here.
    core::SetQueue settings;
    settings.queue = SharedBytes(engine::kOutboxQueue);
    settings.patch.succeeded = std::optional<Duration>(Duration{0});
    tell->submit(core::Command(std::move(settings)), *this, engine::Ticket{0});
  }
  for (const core::ClaimReply::Item& item : claim.jobs) {
    const Passing job{item.job.id, item.job.token};
    auto submission = engine::from_outbox(item.job);
    if (!submission) {
      core::AckItem ack = unread(submission.error());
      ack.id = job.id;
      ack.token = job.token;
      log_.warn("a job that an ack submitted can't be read",
                {{"outbox_job", to_string(job.id)}, {"reason", submission.error().message}});
      settle(std::move(ack));
      continue;
    }
    engine::Ticket ticket{};
    {
      const MutexLock lock(mutex_);
      if (shard_ == nullptr) return;
      ticket = next_ticket();
      under_way_.emplace(ticket, job);
    }
    router_.submit(core::Command(std::move(*submission)), *this, ticket, engine::kNodesOwn);
  }
}

void Relay::passed(const Passing& job, const engine::Answer& answer) {
  core::AckItem ack = outcome_of(answer);
  ack.id = job.id;
  ack.token = job.token;
  if (ack.outcome == core::AckOutcome::kDead) {
    log_.warn("a job that an ack submitted can't be stored",
              {{"outbox_job", to_string(job.id)}, {"reason", ack.error->message.view()}});
  }
  settle(std::move(ack));
}

void Relay::settle(core::AckItem item) {
  std::shared_ptr<engine::Gateway> shard;
  {
    const MutexLock lock(mutex_);
    shard = shard_;
  }
  if (shard == nullptr) return;
  core::Ack ack;
  ack.items.push_back(std::move(item));
  shard->submit(core::Command(std::move(ack)), *this, engine::Ticket{0});
}

}  // namespace millrace::server
