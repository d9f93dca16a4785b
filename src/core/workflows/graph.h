// The members of a workflow and what they need of each other: which of them may start, and which no
// longer can. A line of the graph costs 32 bytes, and a need 8.
//
// Members are numbered from 0 in the order in which they were added. The graph is derived from the
// members and their ends: loading those in any order gives the same graph.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/ids.h"
#include "core/workflows/need.h"

namespace millrace::core {

class WorkflowGraph {
 public:
  // Members about to be added, in order.
  struct Added {
    std::span<const Need> needs;  // of members that exist or are added with it; none twice
    bool any = false;             // the first need that is met releases it
  };
  // A member of `added` that, through its needs, needs itself; none: there is no circle.
  std::optional<std::size_t> find_circle(std::span<const Added> added) const;
  // Precondition: no circle.
  void add(std::span<const Added> added);

  // A blocked member whose fate is decided: one to skip before one to release, since a release may
  // have to wait; of each kind the lowest number first.
  struct Decision {
    MemberNumber member{};
    bool released = false;  // false: skipped
  };
  std::optional<Decision> next() const;
  // The members that next() may return.
  std::size_t undecided() const { return to_skip_.size() + to_release_.size(); }

  void release(MemberNumber member, const JobId& job);  // blocked -> active
  void skip(MemberNumber member, MemberReason reason);  // blocked -> skipped
  // Active, or blocked (refused at its release) -> succeeded or failed.
  void end(MemberNumber member, MemberState state, MemberReason reason);
  // From now on every blocked member is to be skipped.
  void stop();

  std::size_t size() const { return nodes_.size(); }
  std::size_t needs() const { return needs_.size(); }
  MemberState state(MemberNumber member) const { return at(member).state; }
  MemberReason reason(MemberNumber member) const { return at(member).reason; }
  const JobId& job(MemberNumber member) const { return at(member).job; }
  std::vector<Need> needs_of(MemberNumber member) const;
  // How many members need it.
  std::size_t dependants(MemberNumber member) const;
  bool needs_any(MemberNumber member) const { return at(member).any; }
  std::uint64_t count(MemberState state) const { return counts_[static_cast<std::size_t>(state)]; }
  // It failed, and no released member has caught that.
  bool is_uncaught(MemberNumber member) const {
    return at(member).state == MemberState::kFailed && !at(member).caught;
  }
  // Failures that no released member caught; and whether one of them can no longer be caught.
  std::uint64_t uncaught() const { return uncaught_; }
  bool has_lost() const { return lost_ > 0; }
  bool stopped() const { return stopped_; }

  // Recomputes everything from the needs and the states, and CHECKs that it agrees.
  void check_invariants() const;

 private:
  // An index into `needs_`, and so into `next_dependant_`.
  using Edge = std::uint32_t;
  static constexpr Edge kNoEdge = 0xffffffff;

  struct Node {
    JobId job;                       // once released
    Edge needs_begin = 0;            // up to the next node's
    Edge first_dependant = kNoEdge;  // the newest need of this member
    std::uint32_t unmet = 0;         // needs of members that have not ended
    MemberState state = MemberState::kBlocked;
    MemberReason reason = MemberReason::kNone;
    bool any : 1 = false;
    bool met : 1 = false;          // any: one need is met
    bool broken : 1 = false;       // a need can no longer be met; any: unused
    bool catcher_ran : 1 = false;  // a member that needs its failure was released
    bool caught : 1 = false;       // it failed, and so
    bool lost : 1 = false;         // it failed, and no member can catch that any more
  };
  static_assert(sizeof(Node) == 32);

  static std::uint32_t packed(const Need& need) {
    return to_number(need.of) << 2 | static_cast<std::uint32_t>(need.on);
  }
  static Need unpacked(std::uint32_t need) {
    return {MemberNumber{need >> 2}, static_cast<NeedOn>(need & 3)};
  }
  Node& at(MemberNumber member) { return nodes_[to_number(member)]; }
  const Node& at(MemberNumber member) const { return nodes_[to_number(member)]; }
  Edge needs_end(std::size_t node) const {
    return node + 1 < nodes_.size() ? nodes_[node + 1].needs_begin
                                    : static_cast<Edge>(needs_.size());
  }
  std::size_t owner_of(Edge edge) const;
  // A member that `node` needs has ended.
  void meet(std::size_t node, NeedOn on, MemberState ended);
  bool is_decided(const Node& node) const;
  bool is_released(const Node& node) const;
  void decide(std::size_t node);
  void forget_decision(std::size_t node);
  void move(std::size_t node, MemberState to);
  void tell_dependants(std::size_t node);
  // The member has left the blocked ones. If it was released, it catches the failures that it
  // needs; otherwise they may be lost.
  void settle_failures(std::size_t node);
  void settle_failure(std::size_t node);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> needs_;  // packed, by node
  std::vector<Edge> next_dependant_;  // the need before it of the same member
  absl::btree_set<std::uint32_t> to_skip_;
  absl::btree_set<std::uint32_t> to_release_;
  std::array<std::uint64_t, terms::kMemberStates> counts_{};
  std::uint64_t uncaught_ = 0;
  std::uint64_t lost_ = 0;
  bool stopped_ = false;
};

}  // namespace millrace::core
