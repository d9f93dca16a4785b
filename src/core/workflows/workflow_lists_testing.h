// For tests: a workflow as lists of needs and ends, from which every fate is computed anew.
#pragma once

#include <algorithm>
#include <vector>

#include "core/workflows/workflow.h"

namespace millrace::core {

struct ListedFlow {
  struct Member {
    std::vector<Need> needs;
    bool any = false;
    MemberFate fate;
    bool refused = false;  // at its release: it catches nothing
  };

  Workflow record;
  std::vector<Member> members;
  bool stopped = false;  // in this generation

  std::uint64_t count(MemberState state) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        members, [&](const Member& member) { return member.fate.state == state; }));
  }
  bool is_met(const Need& need) const {
    const MemberState of = members[to_number(need.of)].fate.state;
    if (!terms::has_ended(of)) return false;
    if (need.on == NeedOn::kEnded) return true;
    return of == (need.on == NeedOn::kFailed ? MemberState::kFailed : MemberState::kSucceeded);
  }
  // Of a blocked member: kActive or kSkipped; kBlocked: nothing is decided.
  MemberState fate(std::uint32_t number) const {
    if (record.state == WorkflowState::kStopping) return MemberState::kSkipped;
    const Member& member = members[number];
    std::size_t met = 0, broken = 0;
    for (const Need& need : member.needs) {
      if (is_met(need)) {
        ++met;
      } else {
        broken += terms::has_ended(members[to_number(need.of)].fate.state);
      }
    }
    if (member.any && !member.needs.empty()) {
      if (met > 0) return MemberState::kActive;
      return broken == member.needs.size() ? MemberState::kSkipped : MemberState::kBlocked;
    }
    if (broken > 0) return MemberState::kSkipped;
    return met == member.needs.size() ? MemberState::kActive : MemberState::kBlocked;
  }
  template <typename Holds>
  bool some_catcher(std::uint32_t failed, Holds holds) const {
    const Need wanted{MemberNumber{failed}, NeedOn::kFailed};
    return std::ranges::any_of(members, [&](const Member& member) {
      return std::ranges::find(member.needs, wanted) != member.needs.end() && holds(member);
    });
  }
  bool is_uncaught(std::uint32_t number) const {
    return members[number].fate.state == MemberState::kFailed &&
           !some_catcher(number, [](const Member& member) {
             const MemberState state = member.fate.state;
             return state != MemberState::kBlocked && state != MemberState::kSkipped &&
                    !member.refused;
           });
  }
  bool is_any_uncaught() const {
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      if (is_uncaught(i)) return true;
    }
    return false;
  }
  bool has_lost() const {
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const auto waits = [](const Member& m) { return m.fate.state == MemberState::kBlocked; };
      if (is_uncaught(i) && !some_catcher(i, waits)) return true;
    }
    return false;
  }
  void unskip() {
    for (Member& member : members) {
      if (member.fate.state != MemberState::kSkipped) continue;
      if (member.fate.reason == MemberReason::kByCall) continue;
      member.fate.state = MemberState::kBlocked;
      member.fate.reason = MemberReason::kNone;
    }
  }
  void end(std::uint32_t number, std::uint32_t round, MemberState state, MemberReason reason) {
    MemberFate& fate = members.at(number).fate;
    if (fate.round != round) return;
    const bool late = fate.state == MemberState::kFailed && state == MemberState::kSucceeded;
    if (fate.state != MemberState::kActive && !late) return;
    if (late && !terms::has_ended(record.state)) unskip();
    fate.state = state;
    fate.reason = reason;
    members.at(number).refused = false;
  }
};

}  // namespace millrace::core
