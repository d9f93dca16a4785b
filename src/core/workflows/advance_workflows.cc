// What follows from the ends of members: releases, skips, ends of workflows and their callbacks.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "core/workflows/workflow_decider.h"

namespace millrace::core {
namespace {

constexpr std::size_t kMaxPerTurn = 256;
constexpr std::size_t kMaxReportsPerMessage = 1'000;

}  // namespace

void WorkflowDecider::settle(const WorkflowEntry& entry, MembersSettled::Cause cause,
                             std::uint32_t number, MemberState state, MemberReason reason) {
  MembersSettled settled{entry.workflow.id, entry.workflow.spec.queue, cause, {}};
  const std::uint32_t round = entry.members[number].round;
  settled.items.push_back({number, round, state, reason});
  emit(std::move(settled));
}

// Full memory and full queues do not hold back what was accepted with its workflow.
std::optional<Refusal> WorkflowDecider::judge_release(const JobSpec& spec) const {
  const QueueEntry* const queue = state_.find_queue(spec.queue.view());
  const bool adds_limits = queue != nullptr && !queue->settings.limits.empty();
  if (adds_limits || (spec.extras != nullptr && !spec.extras->limits.empty())) {
    if (Refusal refusal = judge_limits(limits_of(spec))) return refusal;
  }
  if (queue == nullptr && state_.queues.size() >= options_.max_queues) {
    return Refusal{Rejection::kTooManyQueues, {}, RefusalDetail::kTooManyQueues};
  }
  if (state_.find(spec.id) != kNoSlot) {
    return Refusal{Rejection::kDuplicateJob, spec.id, RefusalDetail::kNone};
  }
  return std::nullopt;
}

void WorkflowDecider::submit_judged(const JobSpec& spec, const std::optional<IdempotencyKey>& key) {
  const QueueSettings& settings = queue_for(spec.queue);
  emit(Submitted{new_job(spec, settings), key});
}

std::vector<Parent> WorkflowDecider::parents_of(const WorkflowEntry& entry,
                                                MemberNumber member) const {
  std::vector<Parent> parents;
  for (const Need& need : entry.graph.needs_of(member)) {
    // `any`: the others may not have ended.
    if (!terms::has_ended(entry.graph.state(need.of))) continue;
    parents.push_back({entry.members[to_number(need.of)].ref, entry.job_of(need.of),
                       entry.graph.state(need.of), entry.graph.reason(need.of)});
  }
  return parents;
}

std::optional<JobSpec> WorkflowDecider::job_for(const WorkflowEntry& entry,
                                                MemberNumber member) const {
  const WorkflowEntry::Member& kept = entry.members[to_number(member)];
  std::optional<JobSpec> spec = options_.submissions->read(kept.job);
  if (!spec) return std::nullopt;
  const Workflow& workflow = entry.workflow;
  auto membership = std::make_shared<Membership>();
  membership->workflow = workflow.id;
  membership->name = workflow.spec.name;
  membership->number = to_number(member);
  membership->ref = kept.ref;
  membership->round = kept.round + 1;
  membership->kept = workflow.spec.keep_members;
  membership->generation = workflow.generation;
  membership->parents = parents_of(entry, member);
  spec->id = member_job_id(workflow.id, workflow.created_at, to_number(member), kept.queue.view());
  spec->id_origin = IdOrigin::kClient;
  JobExtras extras = spec->extras == nullptr ? JobExtras{} : *spec->extras;
  extras.member = std::move(membership);
  // The retry's wish is for jobs that are made anew, too.
  if (workflow.drop_limits) {
    std::erase_if(extras.limits, [&](const JobLimit& limit) {
      return state_.gates.find(LimitKind::kNamed, limit.name.view()) == nullptr;
    });
  }
  spec->extras = std::make_shared<const JobExtras>(std::move(extras));
  return spec;
}

// False: not now.
bool WorkflowDecider::release(const WorkflowEntry& entry, MemberNumber member) {
  const std::uint32_t number = to_number(member);
  // Without any releases a full memory could not empty.
  if (closed() && state_.workflows_active >= kMaxActiveWhenFull) return false;
  const auto refuse = [&] {
    settle(entry, MembersSettled::Cause::kRefused, number, MemberState::kFailed,
           MemberReason::kRefused);
    return true;
  };
  std::optional<JobSpec> spec = job_for(entry, member);
  if (!spec) return refuse();
  if (entry.members[number].round > 0) {
    MemberMessage message;
    RetryMember& retry = message.retry.emplace();
    retry.shard = queue_bits(spec->queue.view()) % options_.shards;
    retry.reset_attempts = entry.workflow.reset_attempts;
    retry.drop_limits = entry.workflow.drop_limits;
    retry.spec = std::make_shared<const JobSpec>(std::move(*spec));
    emit(MembersReleased{entry.workflow.id, {number}});
    send(message, "retry " + to_string(retry.spec->id));
    return true;
  }
  const JobSpec placed = is_here(spec->queue.view()) ? *spec : options_.submissions->box_of(*spec);
  if (judge_release(placed)) return refuse();
  emit(MembersReleased{entry.workflow.id, {number}});
  submit_judged(placed);
  return true;
}

std::size_t WorkflowDecider::release_and_skip(const WorkflowEntry& entry, std::size_t limit) {
  const std::uint32_t most = entry.workflow.spec.max_active;
  std::size_t done = 0;
  while (done < limit) {
    const auto decision = entry.graph.next();
    if (!decision) break;
    const bool full = most > 0 && entry.graph.count(MemberState::kActive) >= most;
    if (decision->released) {
      if (full || is_to_stop(entry) || !release(entry, decision->member)) break;
    } else {
      const bool stops = entry.graph.stopped();
      settle(entry, MembersSettled::Cause::kNeeds, to_number(decision->member),
             MemberState::kSkipped, stops ? MemberReason::kCancelled : MemberReason::kNone);
    }
    ++done;
  }
  return done;
}

// Jobs of other shards are cancelled by messages, which are repeated.
bool WorkflowDecider::cancel_member(const WorkflowEntry& entry, std::uint32_t number) {
  if (entry.graph.state(MemberNumber{number}) != MemberState::kActive) return false;
  const JobId job = entry.job_of(MemberNumber{number});
  const SharedBytes& queue = entry.members[number].queue;
  if (!is_here(queue.view())) {
    // One that was leased before may have brought the job there.
    const JobId box = options_.submissions->box_id_of(job, queue.view());
    const SlotIndex index = state_.find(box);
    if (index == kNoSlot || state_.slots.at(index).started() || !withdraw(box)) return false;
    settle(entry, MembersSettled::Cause::kRefused, number, MemberState::kFailed,
           MemberReason::kCancelled);
    return true;
  }
  if (!state_.lives(job)) return false;
  const JobSlot& slot = state_.slots.at(state_.find(job));
  if (slot.extras == nullptr || slot.extras->member == nullptr ||
      slot.extras->member->round != entry.members[number].round) {
    return false;
  }
  Cancel cancellation;
  cancellation.reason = stop_reason(entry);
  const std::size_t before = events_.size();
  cancel(job, cancellation);
  return events_.size() > before;
}

std::size_t WorkflowDecider::cancel_active(const WorkflowEntry& entry, std::size_t limit) {
  std::size_t done = 0;
  // Where it goes on is no part of the state: after a restart it begins again.
  std::uint32_t& next = mutable_state_.workflows.find(entry.workflow.id)->cancelled_to;
  while (next < entry.members.size() && done < limit) done += cancel_member(entry, next++) ? 1 : 0;
  return done;
}

// What the end of a job has changed already.
void WorkflowDecider::tell(const WorkflowEntry& entry, WorkflowChange change) {
  WorkflowSet set{change, entry.record(), {}};
  ++set.workflow.version;
  emit(std::move(set));
}

// A member has failed, and no other one can catch that.
bool WorkflowDecider::is_to_stop(const WorkflowEntry& entry) {
  return entry.workflow.state == WorkflowState::kRunning &&
         entry.workflow.spec.on_member_failed == OnMemberFailed::kStop && entry.graph.has_lost();
}

namespace {

bool applies(MemberRole role, WorkflowState ended) {
  if (role == MemberRole::kOnSuccess) return ended == WorkflowState::kSucceeded;
  if (role == MemberRole::kOnFailure) return ended != WorkflowState::kSucceeded;
  return role == MemberRole::kOnEnd;
}

std::vector<SharedBytes> failed_refs(const WorkflowEntry& entry) {
  std::vector<SharedBytes> refs;
  for (std::uint32_t i = 0; i < entry.members.size() && refs.size() < kMaxFailedRefs; ++i) {
    if (entry.graph.state(MemberNumber{i}) != MemberState::kFailed) continue;
    const SharedBytes& ref = entry.members[i].ref;
    refs.push_back(ref.empty() ? SharedBytes("@" + std::to_string(i)) : ref);
  }
  return refs;
}

}  // namespace

void WorkflowDecider::end(const WorkflowEntry& entry, WorkflowState state) {
  WorkflowSet set{WorkflowChange::kEnded, entry.record(), {}};
  Workflow& workflow = set.workflow;
  workflow.state = state;
  if (state == WorkflowState::kFailed && workflow.reason == WorkflowReason::kNone) {
    workflow.reason = WorkflowReason::kMemberFailed;
  }
  workflow.ended_at = now_;
  workflow.open = false;
  ++workflow.version;
  std::vector<JobSpec> jobs;
  for (const Callback& callback : workflow.spec.callbacks) {
    if (!applies(callback.role, state)) continue;
    std::optional<JobSpec> spec = options_.submissions->read(callback.job);
    if (!spec) continue;
    auto membership = std::make_shared<Membership>();
    membership->workflow = workflow.id;
    membership->name = workflow.spec.name;
    membership->role = callback.role;
    membership->round = workflow.generation;  // so that an earlier one's end is not taken for its
    membership->generation = workflow.generation;
    membership->state = state;
    membership->counts = workflow.counts;
    membership->failed = failed_refs(entry);
    spec->id = callback_job_id(workflow.id, workflow.created_at, callback.role, workflow.generation,
                               callback.queue.view());
    spec->id_origin = IdOrigin::kClient;
    JobExtras extras = spec->extras == nullptr ? JobExtras{} : *spec->extras;
    extras.member = std::move(membership);
    spec->extras = std::make_shared<const JobExtras>(std::move(extras));
    JobSpec placed =
        is_here(callback.queue.view()) ? std::move(*spec) : options_.submissions->box_of(*spec);
    const JobId id = callback_job_id(workflow.id, workflow.created_at, callback.role,
                                     workflow.generation, callback.queue.view());
    const bool refused_now = judge_release(placed).has_value();
    workflow.callbacks.push_back({callback.role, id, refused_now});
    if (!refused_now) jobs.push_back(std::move(placed));
  }
  emit(std::move(set));
  for (const JobSpec& job : jobs) submit_judged(job);
}

std::size_t WorkflowDecider::advance_one(const WorkflowEntry& entry, std::size_t limit) {
  const Workflow& workflow = entry.workflow;
  // Each of these events holds the record, which may be large.
  if (entry.called_back) {
    tell(entry, WorkflowChange::kCalledBack);
    return 1;
  }
  if (entry.late) {
    tell(entry, WorkflowChange::kLateSuccess);
    return 1;
  }
  if (terms::has_ended(workflow.state)) return 0;
  if (is_to_stop(entry)) {
    stop(workflow.id, WorkflowReason::kMemberFailed, {});
    return 1;
  }
  std::size_t done = release_and_skip(entry, limit);
  if (workflow.state == WorkflowState::kStopping) done += cancel_active(entry, limit);
  if (const auto ended = done == 0 ? entry.end() : std::nullopt) {
    end(entry, *ended);
    ++done;
  }
  return done;
}

void WorkflowDecider::advance(std::size_t limit, JobId& turn) {
  std::size_t idle = 0;  // workflows in a row that had nothing to do now
  while (limit > 0) {
    const auto id = state_.workflows.next_pending(turn);
    if (!id || idle > state_.workflows.pending()) return;
    turn = *id;
    const std::size_t done = advance_one(*state_.workflows.find(*id), std::min(limit, kMaxPerTurn));
    if (done > 0) {
      idle = 0;
      limit -= std::min(limit, done);
      continue;
    }
    ++idle;
    // One that waits for room in memory stays.
    const WorkflowEntry& entry = *state_.workflows.find(*id);
    const auto decision = entry.graph.next();
    const std::uint32_t most = entry.workflow.spec.max_active;
    const bool at_max = most > 0 && entry.graph.count(MemberState::kActive) >= most;
    if (!decision || at_max) mutable_state_.workflows.settle(*id);
  }
}

void WorkflowDecider::report_wishes() {
  std::map<std::tuple<JobId, bool, bool>, RetryWorkflow> retries;
  for (const MemberWish& wish : state_.wishes) {
    RetryWorkflow& retry = retries[{wish.workflow, wish.reset_attempts, wish.drop_limits}];
    retry.id = wish.workflow;
    retry.reset_attempts = wish.reset_attempts;
    retry.drop_limits = wish.drop_limits;
    retry.refs.emplace_back("@" + std::to_string(wish.number));
    retry.rounds.push_back(wish.round);
  }
  mutable_state_.wishes.clear();
  for (auto& [of, retry] : retries) {
    MemberMessage message;
    message.wish = std::move(retry);
    send(message, "wish " + to_string(message.wish->id));
  }
}

void WorkflowDecider::report() {
  report_wishes();
  std::map<std::uint32_t, std::vector<MemberReport>> by_home;
  for (const MemberReport& report : state_.unreported) {
    by_home[queue_bits(report.workflow) % options_.shards].push_back(report);
  }
  mutable_state_.unreported.clear();
  for (const auto& [home, reports] : by_home) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < reports.size(); i = end) {
      end = std::min(reports.size(), i + kMaxReportsPerMessage);
      // What follows from the end of a callback, or from growth, is large: one in a message, and
      // the last one.
      for (std::size_t at = i; at < end; ++at) {
        const bool large = reports[at].role != MemberRole::kMember || reports[at].grow != nullptr;
        if (large) end = at + 1;
      }
      MemberMessage message;
      SettleMembers& settle_message = message.settle.emplace();
      settle_message.shard = home;
      settle_message.reports.assign(reports.begin() + static_cast<std::ptrdiff_t>(i),
                                    reports.begin() + static_cast<std::ptrdiff_t>(end));
      send(message, "report " + to_string(reports[i].workflow));
    }
  }
}

}  // namespace millrace::core
