// The expected answers of commands on limits, and the reasons that hold jobs back.
#include <algorithm>
#include <string>

#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::BlockCode;
using core::LimitReply;
using core::Rejection;
using core::State;

// The answer shows its settings, version and use, unless it is refused.
void Auditor::expect_limit(Ticket ticket, Rejection why, const core::Limit* limit) {
  const auto* const reply = reply_of<LimitReply>(ticket, "a command on a limit");
  if (reply == nullptr) return;
  demand(reply->refusal.why == why, "R4", "a command on a limit: rejection {}, should be {}",
         static_cast<int>(reply->refusal.why), static_cast<int>(why));
  if (why != Rejection::kNone || limit == nullptr) return;
  demand(reply->limits.size() == 1, "R4", "a command on limit {} is answered with {} limits",
         limit->name.view(), reply->limits.size());
  model_.gates().check(reply->limits.front());
}

// False: not a command on limits.
bool Auditor::follow_limit_command(Ticket ticket, const core::Command& command) {
  Gates& gates = model_.gates();
  if (const auto* set = std::get_if<core::SetLimit>(&command)) {
    const Rejection why = gates.set(*set);
    expect_limit(ticket, why, gates.find(set->kind, set->name.view()));
  } else if (const auto* pause = std::get_if<core::PauseLimit>(&command)) {
    const Rejection why = gates.pause(*pause);
    expect_limit(ticket, why, gates.find(pause->kind, pause->name.view()));
  } else if (const auto* resume = std::get_if<core::ResumeLimit>(&command)) {
    const Rejection why = gates.resume(*resume);
    expect_limit(ticket, why, gates.find(resume->kind, resume->name.view()));
  } else if (const auto* gone = std::get_if<core::DeleteLimit>(&command)) {
    expect_limit(ticket, gates.remove(*gone), nullptr);
  } else if (const auto* get = std::get_if<core::GetLimits>(&command)) {
    const bool known = get->name.empty() || gates.find(get->kind, get->name.view()) != nullptr;
    const auto* const reply = reply_of<LimitReply>(ticket, "a look at limits");
    if (reply == nullptr) return true;
    demand(known == (reply->refusal.why == Rejection::kNone), "R4", "limit {} is {}there",
           get->name.view(), known ? "" : "not ");
    if (known) gates.check_list(*get, *reply);
  } else if (const auto* why = std::get_if<core::GetWhy>(&command)) {
    expect_why(ticket, *why);
  } else if (const auto* shares = std::get_if<core::GetShares>(&command)) {
    check_fair_keys(ticket, *shares);
  } else if (const auto* copy = std::get_if<core::CopyLimit>(&command)) {
    gates.copy(*copy);
    expect_limit(ticket, Rejection::kNone, nullptr);
  } else if (const auto* give = std::get_if<core::GiveShares>(&command)) {
    gates.give(*give);
    expect_limit(ticket, Rejection::kNone, nullptr);
  } else if (std::holds_alternative<core::ReportShares>(command)) {
    expect_limit(ticket, Rejection::kNone, nullptr);  // ShareWatch judges the result
  } else {
    return false;
  }
  return true;
}

// F7.
void Auditor::expect_why(Ticket ticket, const core::GetWhy& command) {
  const auto* const reply = reply_of<core::WhyReply>(ticket, "a question why");
  if (reply == nullptr) return;
  const core::Job* const job = model_.find(command.id);
  demand(job == nullptr || core::is_terminal(job->state) || reply->known, "F7",
         "nobody knows why {} waits", to_string(command.id));
  if (job == nullptr || !reply->known) return;
  demand(reply->state == job->state, "F7", "{} is said to be {}, it is {}", to_string(command.id),
         name_of(reply->state), name_of(job->state));
  if (job->state != State::kReady) {
    demand(reply->blocking.size() == 1, "F7", "{} ({}) has {} reasons not to start",
           to_string(command.id), name_of(job->state), reply->blocking.size());
    return;
  }
  core::Claim alone;
  alone.queues = {job->queue};
  alone.types = {job->type};
  std::vector<core::Job*> expired;
  const auto next = model_.claimable(alone, expired);
  const bool gets_it = !next.empty() && next.front() == job;
  marks_.hit(gets_it ? Mark::kWhyNot : Mark::kWhyBlocked);
  demand(gets_it == reply->blocking.empty(), "F7",
         "the next claim of its queue and type {} {}, and it has {} reasons to wait",
         gets_it ? "gets" : "does not get", to_string(command.id), reply->blocking.size());
  // For an expired job, the answer gives only that reason.
  if (job->latest.n == 0 && job->expires_at && *job->expires_at <= model_.now()) return;
  const bool ordered = std::ranges::any_of(reply->blocking, [](const core::Blocker& blocker) {
    return blocker.code == BlockCode::kOrder;
  });
  demand(ordered == !model_.gates().is_its_turn(*job), "F7", "it is {}the turn of {}",
         ordered ? "" : "not ", to_string(command.id));
  model_.gates().check_why(*job, reply->blocking);
}

void Auditor::check_blocked_by(const core::GetQueues& command,
                               const core::QueueReply& reply) const {
  const std::uint64_t held = model_.held_back(command.queue.view());
  marks_.hit_if(held > 0, Mark::kHeldBack);
  demand(reply.held_back == held, "F7", "of queue {} {} jobs are said to be held back, not {}",
         command.queue.view(), reply.held_back, held);
  for (const core::Blocker& blocker : reply.blocked_by) {
    demand(blocker.waiting > 0 || blocker.code == BlockCode::kQueuePaused, "F7",
           "queue {} is held back by {}, where nothing waits", command.queue.view(),
           blocker.limit.view());
  }
}

void Auditor::check_fair_keys(Ticket ticket, const core::GetShares& command) {
  const auto* const reply = reply_of<LimitReply>(ticket, "a look at fair keys");
  if (reply == nullptr) return;
  const ModelQueue* const queue = model_.queue(command.queue.view());
  demand((queue == nullptr) == (reply->refusal.why == Rejection::kNotFound), "R4",
         "queue {} is {}there", command.queue.view(), queue == nullptr ? "not " : "");
  if (queue == nullptr) return;
  demand(queue->settings.fair || reply->keys.empty(), "F5",
         "queue {} has fair keys, and does not share", command.queue.view());
  for (const core::GateUse& use : reply->keys) {
    std::uint64_t running = 0;
    std::uint64_t ready = 0;
    for (const auto& [ord, job] : model_.live()) {
      const SharedBytes key = job->extras == nullptr ? SharedBytes() : job->extras->fair_key;
      if (job->queue != command.queue || key != use.key) continue;
      if (job->state == State::kRunning) ++running;
      if (job->state == State::kReady && model_.gates().is_its_turn(*job)) ++ready;
    }
    demand(use.in_use == running && use.waiting == ready, "F5",
           "fair key {} of {} is said to have {} running and {} ready jobs, not {} and {}",
           use.key.view(), command.queue.view(), use.in_use, use.waiting, running, ready);
  }
}

// LV2, F4: no claim waits for a job that could start.
void Auditor::check_nobody_waits() {
  for (const Parked& parked : parked_) {
    std::vector<core::Job*> expired;
    const auto jobs = model_.claimable(parked.claim, expired);
    if (jobs.empty()) continue;
    violated(model_.has_gates(*jobs.front()) ? "F4" : "LV2",
             "{} is ready, all its gates are open, and a claim waits for it",
             to_string(jobs.front()->id));
  }
}

}  // namespace millrace::sim
