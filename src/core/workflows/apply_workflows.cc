// Events of workflows, and the ends of jobs that are members.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/applier.h"

namespace millrace::core {
namespace {

MemberState member_state(State state) {
  return state == State::kSucceeded ? MemberState::kSucceeded : MemberState::kFailed;
}

MemberReason member_reason(State state) {
  switch (state) {
    case State::kSucceeded:
      return MemberReason::kNone;
    case State::kExpired:
      return MemberReason::kExpired;
    case State::kCancelled:
      return MemberReason::kCancelled;
    case State::kDead:
      return MemberReason::kDead;
    default:
      return MemberReason::kDeleted;  // it had not ended
  }
}

// What was skipped by the graph, or by a stop, may run again.
std::vector<MemberFate> fates_again(const WorkflowEntry& entry) {
  std::vector<MemberFate> fates;
  fates.reserve(entry.members.size());
  for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
    MemberFate& fate = fates.emplace_back(entry.fate_of(MemberNumber{i}));
    if (fate.state != MemberState::kSkipped || fate.reason == MemberReason::kByCall) continue;
    fate.state = MemberState::kBlocked;
    fate.reason = MemberReason::kNone;
  }
  return fates;
}

}  // namespace

WorkflowEntry& Applier::existing_workflow(const JobId& id) {
  WorkflowEntry* const entry = state_.workflows.find(id);
  MILLRACE_CHECK(entry != nullptr);
  return *entry;
}

void Applier::note(WorkflowEntry& entry, std::uint32_t member) {
  entry.changed_pages.insert(member / kFatesPerPage * kFatesPerPage);
  note(entry);
}

void Applier::note(WorkflowEntry& entry) {
  const std::uint64_t active = entry.graph.count(MemberState::kActive);
  state_.workflows_active += active - std::exchange(entry.active, active);
  state_.workflows.touch(entry);
  state_.changes.note(entry);
}

void Applier::note_all(WorkflowEntry& entry) {
  for (std::uint32_t i = 0; i < entry.members.size(); i += kFatesPerPage) note(entry, i);
}

void Applier::operator()(const WorkflowSet& event) {
  WorkflowEntry* const before = state_.workflows.find(event.workflow.id);
  MILLRACE_CHECK((before == nullptr) == (event.change == WorkflowChange::kCreated));
  MILLRACE_CHECK(before == nullptr || event.workflow.version > before->workflow.version);
  WorkflowEntry& entry = state_.workflows.set(event.workflow);
  switch (event.change) {
    case WorkflowChange::kCreated:
    case WorkflowChange::kGrown:
    case WorkflowChange::kClosed:
    case WorkflowChange::kRetried:
      break;
    case WorkflowChange::kStopping:
      entry.cancelled_to = 0;
      entry.graph.stop();
      break;
    case WorkflowChange::kEnded:
      state_.endings.push_back({entry.workflow.id});
      break;
    case WorkflowChange::kCalledBack:
      entry.called_back = false;
      break;
    case WorkflowChange::kLateSuccess:
      entry.late = false;
      break;
  }
  if (event.key) {
    const KeyRow row{*event.key, entry.workflow.id};
    state_.keys.insert(row);
    state_.changes.keys.push_back(row);
  }
  note(entry);
}

void Applier::operator()(const MembersAdded& event) {
  WorkflowEntry& entry = existing_workflow(event.workflow);
  MILLRACE_CHECK(event.first == entry.members.size());
  state_.bytes_held -= entry.bytes;
  entry.add(event.members);
  state_.bytes_held += entry.bytes;
  for (std::uint32_t i = event.first; i < entry.members.size(); ++i) note(entry, i);
  if (event.by) ++entry.workflow.version;  // a call has an event of its own for that
}

void Applier::operator()(const MembersReleased& event) {
  WorkflowEntry& entry = existing_workflow(event.workflow);
  for (const std::uint32_t number : event.numbers) {
    MILLRACE_CHECK(number < entry.members.size());
    ++entry.members[number].round;
    entry.graph.release(MemberNumber{number}, entry.job_of(MemberNumber{number}));
    note(entry, number);
  }
}

void Applier::operator()(const MembersSettled& event) {
  WorkflowEntry& entry = existing_workflow(event.workflow);
  for (const MembersSettled::Item& item : event.items) {
    MILLRACE_CHECK(item.number < entry.members.size());
    const MemberNumber member{item.number};
    switch (event.cause) {
      case MembersSettled::Cause::kNeeds:
      case MembersSettled::Cause::kCall:
        entry.graph.skip(member, item.reason);
        note(entry, item.number);
        break;
      case MembersSettled::Cause::kRefused:
        entry.graph.end(member, item.state, item.reason);
        note(entry, item.number);
        break;
      case MembersSettled::Cause::kReported:
        end_member(entry, item);
    }
  }
}

void Applier::operator()(const MembersRevived& event) {
  WorkflowEntry& entry = existing_workflow(event.workflow);
  std::vector<MemberFate> fates = fates_again(entry);
  for (const std::uint32_t number : event.numbers) {
    MILLRACE_CHECK(number < fates.size() && fates[number].state == MemberState::kFailed);
    fates[number].state = MemberState::kBlocked;
    fates[number].reason = MemberReason::kNone;
  }
  entry.rebuild(fates);
  note_all(entry);
}

void Applier::operator()(const WorkflowForgotten& event) {
  state_.endings.push_back({event.workflow, true});
  state_.changes.deleted_workflows.insert(event.workflow);
  WorkflowEntry* const entry = state_.workflows.find(event.workflow);
  if (entry == nullptr) return;
  state_.bytes_held -= entry->bytes;
  state_.workflows_active -= entry->active;
  std::erase(state_.changes.workflows, event.workflow);
  state_.workflows.remove(*entry);
}

// An end counts once a round; a success also after a failure, since a user's transaction may finish
// a job that has ended.
void Applier::end_member(WorkflowEntry& entry, const MembersSettled::Item& item) {
  const MemberNumber member{item.number};
  const MemberFate before = entry.fate_of(member);
  if (item.round != before.round && !mutated(Mutant::kReportOfAnyRound)) return;
  if (before.state == MemberState::kActive) {
    entry.graph.end(member, item.state, item.reason);
    return note(entry, item.number);
  }
  const bool late = before.state == MemberState::kFailed && item.state == MemberState::kSucceeded;
  if (!late || mutated(Mutant::kLateMemberDropped)) return;
  if (terms::has_ended(entry.workflow.state)) {
    std::vector<MemberFate> fates;
    for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
      fates.push_back(entry.fate_of(MemberNumber{i}));
    }
    fates[item.number].state = item.state;
    fates[item.number].reason = item.reason;
    entry.rebuild(fates);
    entry.late = true;
    return note(entry, item.number);
  }
  std::vector<MemberFate> fates = fates_again(entry);
  fates[item.number].state = item.state;
  fates[item.number].reason = item.reason;
  entry.rebuild(fates);
  note_all(entry);
}

// The job has ended, or is deleted before it has.
void Applier::tell_workflow(const JobSlot& slot) {
  const Membership& member = *slot.extras->member;
  const MemberReport report{
      member.workflow,          member.role, member.number, member.round, member_state(slot.state),
      member_reason(slot.state)};
  if (!state_.is_home_of(member.workflow)) {
    state_.unreported.push_back(report);
    return;
  }
  tell_workflow(report);
}

void Applier::tell_workflow(const MemberReport& report) {
  WorkflowEntry* const entry = state_.workflows.find(report.workflow);
  if (entry == nullptr) return;
  if (report.role == MemberRole::kMember) {
    if (report.number >= entry->members.size()) return;
    return end_member(*entry, {report.number, report.round, report.state, report.reason});
  }
  // The round of a callback is the generation that it belongs to.
  if (report.round != entry->workflow.generation) return;
  for (CallbackRun& run : entry->workflow.callbacks) {
    if (run.role != report.role || run.ended) continue;
    run.ended = true;
    entry->called_back = true;
    note(*entry);
  }
}

}  // namespace millrace::core
