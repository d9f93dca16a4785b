// What the acks of members add to their workflows. On the workflow's home it is decided with the
// ack; from another shard it travels with the report of the end.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/workflows/workflow_decider.h"

namespace millrace::core {

// `entry`: null if the workflow is not there.
WorkflowDecider::Grown WorkflowDecider::judge_growth(const WorkflowEntry* entry,
                                                     const Growth& growth, std::uint32_t by,
                                                     std::uint32_t round) const {
  Grown grown;
  const auto refuse = [&](Rejection why, RefusalDetail detail) {
    grown.refusal = {why, {}, detail};
    return std::move(grown);
  };
  const MemberNumber self{by};
  const bool active = entry != nullptr && by < entry->members.size() &&
                      entry->graph.state(self) == MemberState::kActive &&
                      entry->members[by].round == round;
  if (!active) return refuse(Rejection::kInvalidState, RefusalDetail::kMemberNotActive);
  for (const SharedBytes& ref : growth.skip) {
    const auto member = entry->find(ref.view());
    if (!member) return refuse(Rejection::kUnfitMembers, RefusalDetail::kUnknownRef);
    const auto needs = entry->graph.needs_of(*member);
    if (std::ranges::find(needs, self, &Need::of) == needs.end()) {
      return refuse(Rejection::kUnfitMembers, RefusalDetail::kNotNeedingIt);
    }
    const MemberState state = entry->graph.state(*member);
    if (state == MemberState::kSkipped) continue;
    if (state != MemberState::kBlocked) {
      return refuse(Rejection::kInvalidState, RefusalDetail::kMemberNotBlocked);
    }
    grown.skipped.push_back(to_number(*member));
  }
  std::ranges::sort(grown.skipped);
  const auto again = std::ranges::unique(grown.skipped);
  grown.skipped.erase(again.begin(), again.end());
  ResolvedMembers resolved = resolve(entry, growth.members);
  if (resolved.refusal) {
    grown.refusal = std::move(resolved.refusal);
    return grown;
  }
  grown.members = std::move(resolved.members);
  return grown;
}

// Of an item that adds something, and whose lease is live.
WorkflowDecider::Grown WorkflowDecider::judge_growth(const AckItem& item) const {
  Grown grown;
  const JobSlot& slot = state_.slots.at(state_.find_leased(item.id, item.token));
  const Membership* const member = slot.extras == nullptr ? nullptr : slot.extras->member.get();
  if (member == nullptr || member->role != MemberRole::kMember) {
    grown.refusal = {Rejection::kInvalidState, {}, RefusalDetail::kNoMember};
    return grown;
  }
  if (!state_.is_home_of(member->workflow)) return grown;
  grown = judge_growth(state_.workflows.find(member->workflow), *item.grow, member->number,
                       member->round);
  if (!grown.refusal && !grown.members.empty()) grown.refusal = closed();
  return grown;
}

void WorkflowDecider::grow(const JobId& workflow, std::uint32_t by, Grown grown) {
  const WorkflowEntry& entry = *state_.workflows.find(workflow);
  if (!grown.members.empty()) {
    const auto first = static_cast<std::uint32_t>(entry.members.size());
    emit(MembersAdded{workflow, entry.workflow.spec.queue, first, std::move(grown.members), by});
  }
  for (const std::uint32_t number : grown.skipped) {
    settle(entry, MembersSettled::Cause::kCall, number, MemberState::kSkipped,
           MemberReason::kByCall);
  }
}

Reply WorkflowDecider::operator()(const Ack& command) {
  const auto adds = [](const AckItem& item) { return item.grow != nullptr; };
  const bool grows_nothing = std::ranges::none_of(command.items, adds);
  if (grows_nothing || command.right != AckRight::kLease) return Decider::operator()(command);
  ItemsReply reply;
  for (const AckItem& item : command.items) {
    const SlotIndex leased = state_.find_leased(item.id, item.token);
    // A repetition of an earlier ack adds nothing.
    const bool grows = adds(item) && leased != kNoSlot;
    Grown grown;
    Membership member;
    if (grows) {
      grown = judge_growth(item);
      if (grown.refusal) {
        reply.items.push_back(refused(item.id, grown.refusal.why, grown.refusal.detail));
        continue;
      }
      member = *state_.slots.at(leased).extras->member;
    }
    ItemReply answer = ack(item, command.detail);
    if (grows && !answer.refusal) {
      if (state_.is_home_of(member.workflow)) {
        grow(member.workflow, member.number, std::move(grown));
      } else {
        mutable_state_.unreported.back().grow = item.grow;
      }
    }
    reply.items.push_back(std::move(answer));
  }
  return reply;
}

}  // namespace millrace::core
