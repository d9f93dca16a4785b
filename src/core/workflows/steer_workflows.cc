// Workflows: stops, retries, skips, and the messages between shards.

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/bounds.h"
#include "core/row_bytes.h"
#include "core/workflows/workflow_decider.h"
#include "digest/fingerprint.h"

namespace millrace::core {

void WorkflowDecider::stop(const JobId& id, WorkflowReason reason, const SharedBytes& text) {
  WorkflowSet set{WorkflowChange::kStopping, state_.workflows.find(id)->record(), {}};
  set.workflow.state = WorkflowState::kStopping;
  set.workflow.reason = reason;
  set.workflow.cancel_reason = text;
  ++set.workflow.version;
  emit(std::move(set));
}

void WorkflowDecider::end_timeouts(std::size_t limit) {
  // Each event holds the record, and the row has a bound. The next tick does the rest.
  std::size_t bytes = 0;
  for (; limit > 0 && bytes < kMaxWorkflowBytes; --limit) {
    const auto id = state_.workflows.timed_out(now_);
    if (!id) return;
    bytes += bytes_of(state_.workflows.find(*id)->workflow);
    stop(*id, WorkflowReason::kTimeout, {});
  }
}

Reply WorkflowDecider::operator()(const CancelWorkflow& command) {
  WorkflowReply refusal;
  const WorkflowEntry* const entry = find_workflow(command.id, command.if_version, refusal);
  if (entry == nullptr) return refusal;
  if (terms::has_ended(entry->workflow.state)) {
    return refused_workflow(Rejection::kInvalidState, RefusalDetail::kWorkflowEnded);
  }
  const bool cancelled = entry->workflow.reason == WorkflowReason::kCancelled;
  if (!cancelled) stop(command.id, WorkflowReason::kCancelled, command.reason);
  return made(command.id);
}

// Whether it has failed or was cancelled, with members that no call skipped.
bool WorkflowDecider::may_go_on(const WorkflowEntry& entry) {
  const WorkflowState state = entry.workflow.state;
  if (state != WorkflowState::kFailed && state != WorkflowState::kCancelled) return false;
  for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
    const MemberFate fate = entry.fate_of(MemberNumber{i});
    if (fate.state == MemberState::kSkipped && fate.reason != MemberReason::kByCall) return true;
  }
  return false;
}

Reply WorkflowDecider::operator()(const RetryWorkflow& command) {
  WorkflowReply refusal;
  const WorkflowEntry* const entry = find_workflow(command.id, command.if_version, refusal);
  if (entry == nullptr) return refusal;
  const Workflow& workflow = entry->workflow;
  if (workflow.state == WorkflowState::kStopping) {
    return refused_workflow(Rejection::kInvalidState, RefusalDetail::kWorkflowStopping);
  }
  if (const Refusal full = closed()) return refused_workflow(full.why, full.detail);
  MembersRevived revived{command.id, {}};
  for (std::size_t i = 0; i < command.refs.size(); ++i) {
    const auto member = entry->find(command.refs[i].view());
    if (!command.rounds.empty()) {
      if (!member || entry->members[to_number(*member)].round != command.rounds[i]) continue;
      if (entry->graph.state(*member) == MemberState::kActive) {
        return refused_workflow(Rejection::kOverloaded, RefusalDetail::kFinishUnderWay);
      }
      if (entry->graph.state(*member) != MemberState::kFailed) continue;
    }
    if (!member) return refused_workflow(Rejection::kNotFound, RefusalDetail::kUnknownRef);
    if (entry->graph.state(*member) != MemberState::kFailed) {
      return refused_workflow(Rejection::kInvalidState, RefusalDetail::kMemberNotFailed);
    }
    revived.numbers.push_back(to_number(*member));
  }
  for (std::uint32_t i = 0; command.refs.empty() && i < entry->members.size(); ++i) {
    if (entry->graph.is_uncaught(MemberNumber{i})) revived.numbers.push_back(i);
  }
  std::ranges::sort(revived.numbers);
  const auto again = std::ranges::unique(revived.numbers);
  revived.numbers.erase(again.begin(), again.end());
  // An ended one may have only members that were skipped and may run now.
  if (revived.numbers.empty() && !(command.refs.empty() && may_go_on(*entry))) {
    return refused_workflow(Rejection::kInvalidState, RefusalDetail::kNothingToRetry);
  }
  WorkflowSet set{WorkflowChange::kRetried, entry->record(), {}};
  Workflow& next = set.workflow;
  ++next.version;
  next.reset_attempts = command.reset_attempts;
  next.drop_limits = command.drop_limits;
  if (terms::has_ended(workflow.state)) {
    if (!workflow.spec.unique_key.empty()) {
      const WorkflowEntry* const holder =
          state_.workflows.holder(workflow.spec.queue.view(), workflow.spec.unique_key.view());
      if (holder != nullptr) {
        refusal = refused_workflow(Rejection::kDuplicateWorkflow, RefusalDetail::kWorkflowKeyHeld);
        refusal.refusal.other = holder->workflow.id;
        return refusal;
      }
    }
    ++next.generation;
    next.state = WorkflowState::kRunning;
    next.reason = WorkflowReason::kNone;
    next.cancel_reason = {};
    next.ended_at.reset();
    next.callbacks.clear();
    if (workflow.spec.timeout) next.timeout_at = add_saturating(now_, *workflow.spec.timeout);
  }
  emit(std::move(set));
  emit(std::move(revived));
  return made(command.id);
}

Reply WorkflowDecider::operator()(const SkipMember& command) {
  WorkflowReply refusal;
  const WorkflowEntry* const entry = find_workflow(command.id, command.if_version, refusal);
  if (entry == nullptr) return refusal;
  const auto member = entry->find(command.ref.view());
  if (!member) return refused_workflow(Rejection::kNotFound, RefusalDetail::kUnknownRef);
  if (entry->graph.state(*member) != MemberState::kBlocked) {
    return refused_workflow(Rejection::kInvalidState, RefusalDetail::kMemberNotBlocked);
  }
  settle(*entry, MembersSettled::Cause::kCall, to_number(*member), MemberState::kSkipped,
         MemberReason::kByCall);
  return made(command.id);
}

// The end of a member's job.
void WorkflowDecider::settle_reported(const WorkflowEntry& entry, const MemberReport& report) {
  if (report.number >= entry.members.size()) return;
  const MemberFate fate = entry.fate_of(MemberNumber{report.number});
  const bool counts =
      fate.state == MemberState::kActive ||
      (fate.state == MemberState::kFailed && report.state == MemberState::kSucceeded);
  if (!counts || fate.round != report.round) return;
  // The box that brought the job there is of no use any more. A leased one ends by itself.
  const JobId job = entry.job_of(MemberNumber{report.number});
  const SharedBytes& queue = entry.members[report.number].queue;
  withdraw(options_.submissions->box_id_of(job, queue.view()));
  MembersSettled settled{
      report.workflow, entry.workflow.spec.queue, MembersSettled::Cause::kReported, {}};
  settled.items.push_back({report.number, report.round, report.state, report.reason});
  if (report.grow != nullptr && fate.state == MemberState::kActive) {
    Grown grown = judge_growth(&entry, *report.grow, report.number, report.round);
    if (grown.refusal) {
      settled.items[0].state = MemberState::kFailed;
      settled.items[0].reason = MemberReason::kGrowthRefused;
    } else {
      grow(report.workflow, report.number, std::move(grown));
    }
  }
  emit(std::move(settled));
}

Reply WorkflowDecider::operator()(const SettleMembers& command) {
  for (const MemberReport& report : command.reports) {
    const WorkflowEntry* const entry = state_.workflows.find(report.workflow);
    if (entry == nullptr) continue;  // it went, or can't change any more
    if (report.role != MemberRole::kMember) {
      const auto is_it = [&](const CallbackRun& run) {
        return run.role == report.role && !run.ended;
      };
      if (report.round != entry->workflow.generation) continue;
      if (std::ranges::none_of(entry->workflow.callbacks, is_it)) continue;
      WorkflowSet set{WorkflowChange::kCalledBack, entry->record(), {}};
      ++set.workflow.version;
      for (CallbackRun& run : set.workflow.callbacks) {
        if (run.role == report.role) run.ended = true;
      }
      emit(std::move(set));
      continue;
    }
    settle_reported(*entry, report);
  }
  return WorkflowReply{};
}

// True: the box was waiting.
bool WorkflowDecider::withdraw(const JobId& box) {
  const SlotIndex index = state_.find(box);
  if (index == kNoSlot || !is_waiting(state_.slots.at(index).state)) return false;
  const JobSlot& slot = state_.slots.at(index);
  emit(Cancelled{to_ref(slot), SharedBytes("its workflow needs it no more"), Keep::kForgotten});
  return true;
}

// Whether the round is still to run. One that meets a stop ends here: cancel_active() has passed
// it.
bool WorkflowDecider::is_wanted(const Membership& member) {
  const WorkflowEntry* const entry = state_.workflows.find(member.workflow);
  if (entry == nullptr || member.number >= entry->members.size()) return false;
  const MemberFate fate = entry->fate_of(MemberNumber{member.number});
  if (fate.state != MemberState::kActive || fate.round != member.round) return false;
  if (entry->workflow.state != WorkflowState::kStopping) return true;
  const SlotIndex index = state_.find(entry->job_of(MemberNumber{member.number}));
  const auto* const extras = index == kNoSlot ? nullptr : state_.slots.at(index).extras.get();
  const bool runs =
      extras != nullptr && extras->member != nullptr && extras->member->round == member.round;
  if (!runs) {
    settle(*entry, MembersSettled::Cause::kRefused, member.number, MemberState::kFailed,
           MemberReason::kCancelled);
  }
  return false;
}

namespace {

// Longer than any repetition of a message takes (engine/shard/outbox.h).
constexpr std::chrono::hours kRoundKeyWindow{1};

SubmissionKey key_of_round(const JobSpec& spec) {
  const std::string round = std::to_string(spec.extras->member->round);
  return {fingerprint(spec.queue.view(), "round " + round + " of " + to_string(spec.id)),
          fingerprint("round"), kRoundKeyWindow};
}

}  // namespace

// Each message has one round of one job.
ItemReply WorkflowDecider::retry_job(const RetryMember& command) {
  const JobSpec& spec = *command.spec;
  const Membership& member = *spec.extras->member;
  std::optional<Job> job = find_job(spec.id);
  const auto report = [&](MemberState state, MemberReason reason) {
    mutable_state_.unreported.push_back(
        {member.workflow, member.role, member.number, member.round, state, reason});
  };
  const auto refuse_for_good = [&] { report(MemberState::kFailed, MemberReason::kRefused); };
  ItemReply reply;
  reply.id = spec.id;
  if (state_.is_home_of(member.workflow) && !is_wanted(member)) return reply;
  if (!job) {
    // A message that comes again may find that the job was made anew, has ended, and is gone.
    const SubmissionKey key = key_of_round(spec);
    if (judge_key(key, {})) return reply;
    if (judge_release(spec)) {
      refuse_for_good();
    } else {
      submit_judged(spec, IdempotencyKey{key.key, key.body, add_saturating(now_, key.window)});
    }
    return reply;
  }
  const Membership* const before = job->extras == nullptr ? nullptr : job->extras->member.get();
  if (before == nullptr || before->workflow != member.workflow) {
    refuse_for_good();  // a stranger has the id
    return reply;
  }
  if (before->round >= member.round) return reply;
  // A transaction has finished it meanwhile: its success counts for this round. After an attempt
  // that succeeded, the workflow has refused what the ack added, and the job runs again.
  if (job->state == State::kSucceeded && job->latest.outcome != AttemptOutcome::kSucceeded) {
    report(MemberState::kSucceeded, MemberReason::kNone);
    return reply;
  }
  if (!is_terminal(job->state)) return refused(spec.id, Rejection::kInvalidState);
  Retry retry;
  retry.ids = {spec.id};
  retry.reset_attempts = command.reset_attempts;
  retry.drop_limits = command.drop_limits;
  reply = Decider::retry(spec.id, retry, spec.extras->member);
  const bool may_pass = reply.refusal.why == Rejection::kOverloaded;
  if (!reply.refusal || may_pass) return reply;
  refuse_for_good();
  reply.refusal = {};
  return reply;
}

Reply WorkflowDecider::operator()(const RetryMember& command) {
  return ItemsReply{{retry_job(command)}};
}

SharedBytes stop_reason(const WorkflowEntry& entry) {
  const SharedBytes& given = entry.workflow.cancel_reason;
  return given.empty() ? SharedBytes("its workflow was stopped") : given;
}

std::vector<CancelMembers> stops_to_tell(const ShardState& state) {
  std::vector<CancelMembers> stops;
  for (const JobId& id : state.workflows.stopping()) {
    const WorkflowEntry& entry = *state.workflows.find(id);
    std::map<std::uint32_t, std::size_t> of_shard;  // its place in `stops`
    for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
      if (entry.graph.state(MemberNumber{i}) != MemberState::kActive) continue;
      const std::uint32_t shard = queue_bits(entry.members[i].queue.view()) % state.shards;
      if (shard == state.shard) continue;
      const auto [place, first] = of_shard.try_emplace(shard, stops.size());
      if (first || stops[place->second].items.size() == kMaxItemsPerCommand) {
        place->second = stops.size();
        stops.push_back({shard, {}, stop_reason(entry)});
      }
      stops[place->second].items.push_back({entry.job_of(MemberNumber{i}), entry.members[i].round});
    }
  }
  return stops;
}

Reply WorkflowDecider::operator()(const CancelMembers& command) {
  Cancel cancellation;
  cancellation.reason = command.reason;
  for (const CancelMembers::Item& item : command.items) {
    const SlotIndex index = state_.find(item.job);
    if (index == kNoSlot || is_terminal(state_.slots.at(index).state)) continue;
    const auto& extras = state_.slots.at(index).extras;
    if (extras == nullptr || extras->member == nullptr || extras->member->round != item.round) {
      continue;
    }
    cancel(item.job, cancellation);
  }
  return WorkflowReply{};
}

}  // namespace millrace::core
