#include "core/workflows/graph.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::core {
namespace {

bool is_met(NeedOn on, MemberState ended) {
  switch (on) {
    case NeedOn::kSucceeded:
      return ended == MemberState::kSucceeded;
    case NeedOn::kFailed:
      return ended == MemberState::kFailed;
    case NeedOn::kEnded:
      return true;
  }
  return false;
}

}  // namespace

std::optional<std::size_t> WorkflowGraph::find_circle(std::span<const Added> added) const {
  // Only members that are added together can need each other. Kahn's algorithm: take away, again
  // and again, a member that needs none of those left.
  const auto first = static_cast<std::uint32_t>(nodes_.size());
  std::vector<std::uint32_t> needs_left(added.size(), 0);
  std::vector<std::vector<std::uint32_t>> needed_by(added.size());
  for (std::uint32_t i = 0; i < added.size(); ++i) {
    for (const Need& need : added[i].needs) {
      if (to_number(need.of) < first) continue;
      ++needs_left[i];
      needed_by[to_number(need.of) - first].push_back(i);
    }
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < added.size(); ++i) {
    if (needs_left[i] == 0) free.push_back(i);
  }
  std::size_t taken = 0;
  for (; taken < free.size(); ++taken) {
    for (const std::uint32_t dependant : needed_by[free[taken]]) {
      if (--needs_left[dependant] == 0) free.push_back(dependant);
    }
  }
  if (taken == added.size()) return std::nullopt;
  // A member left over may only hang on a circle. Following its needs leads into the circle.
  std::size_t at = static_cast<std::size_t>(
      std::ranges::find_if(needs_left, [](std::uint32_t left) { return left > 0; }) -
      needs_left.begin());
  for (std::size_t step = 0; step < added.size(); ++step) {
    for (const Need& need : added[at].needs) {
      if (to_number(need.of) < first || needs_left[to_number(need.of) - first] == 0) continue;
      at = to_number(need.of) - first;
      break;
    }
  }
  return at;
}

void WorkflowGraph::add(std::span<const Added> added) {
  const std::size_t first = nodes_.size();
  for (const Added& member : added) {
    Node& node = nodes_.emplace_back();
    node.needs_begin = static_cast<Edge>(needs_.size());
    node.unmet = static_cast<std::uint32_t>(member.needs.size());
    node.any = member.any;
    for (const Need& need : member.needs) needs_.push_back(packed(need));
    ++counts_[static_cast<std::size_t>(MemberState::kBlocked)];
  }
  next_dependant_.resize(needs_.size(), kNoEdge);
  for (std::size_t i = first; i < nodes_.size(); ++i) {
    for (Edge edge = nodes_[i].needs_begin; edge < needs_end(i); ++edge) {
      const Need need = unpacked(needs_[edge]);
      Node& needed = at(need.of);
      next_dependant_[edge] = needed.first_dependant;
      needed.first_dependant = edge;
      if (terms::has_ended(needed.state)) meet(i, need.on, needed.state);
    }
    decide(i);
  }
  // A failure that was lost can be caught by a member that comes later.
  for (std::size_t i = first; i < nodes_.size(); ++i) settle_failures(i);
}

std::size_t WorkflowGraph::owner_of(Edge edge) const {
  const auto after = std::ranges::upper_bound(nodes_, edge, {}, &Node::needs_begin);
  return static_cast<std::size_t>(after - nodes_.begin()) - 1;
}

void WorkflowGraph::meet(std::size_t index, NeedOn on, MemberState ended) {
  Node& node = nodes_[index];
  MILLRACE_CHECK(node.unmet > 0);
  --node.unmet;
  if (is_met(on, ended)) {
    node.met = true;
  } else {
    node.broken = true;
  }
}

bool WorkflowGraph::is_released(const Node& node) const {
  if (stopped_) return false;
  const bool needs_nothing = node.unmet == 0 && !node.met && !node.broken;
  if (node.any) return node.met || needs_nothing;
  return node.unmet == 0 && !node.broken;
}

bool WorkflowGraph::is_decided(const Node& node) const {
  if (node.state != MemberState::kBlocked) return false;
  return stopped_ || node.unmet == 0 || (node.any ? node.met : node.broken);
}

void WorkflowGraph::decide(std::size_t index) {
  const Node& node = nodes_[index];
  forget_decision(index);
  if (!is_decided(node)) return;
  (is_released(node) ? to_release_ : to_skip_).insert(static_cast<std::uint32_t>(index));
}

void WorkflowGraph::forget_decision(std::size_t index) {
  const auto number = static_cast<std::uint32_t>(index);
  if (to_skip_.erase(number) == 0) to_release_.erase(number);
}

std::optional<WorkflowGraph::Decision> WorkflowGraph::next() const {
  if (!to_skip_.empty()) return Decision{MemberNumber{*to_skip_.begin()}, false};
  if (!to_release_.empty()) return Decision{MemberNumber{*to_release_.begin()}, true};
  return std::nullopt;
}

void WorkflowGraph::move(std::size_t index, MemberState to) {
  Node& node = nodes_[index];
  --counts_[static_cast<std::size_t>(node.state)];
  node.state = to;
  ++counts_[static_cast<std::size_t>(to)];
  forget_decision(index);
}

void WorkflowGraph::release(MemberNumber member, const JobId& job) {
  Node& node = at(member);
  MILLRACE_CHECK(node.state == MemberState::kBlocked);
  move(to_number(member), MemberState::kActive);
  node.job = job;
  settle_failures(to_number(member));
}

void WorkflowGraph::skip(MemberNumber member, MemberReason reason) {
  MILLRACE_CHECK(at(member).state == MemberState::kBlocked);
  at(member).reason = reason;
  move(to_number(member), MemberState::kSkipped);
  settle_failures(to_number(member));
  tell_dependants(to_number(member));
}

void WorkflowGraph::end(MemberNumber member, MemberState state, MemberReason reason) {
  Node& node = at(member);
  MILLRACE_CHECK(!terms::has_ended(node.state));
  MILLRACE_CHECK(state == MemberState::kSucceeded || state == MemberState::kFailed);
  const bool refused = node.state == MemberState::kBlocked;
  move(to_number(member), state);
  node.reason = reason;
  if (refused) settle_failures(to_number(member));
  if (state == MemberState::kFailed) {
    ++uncaught_;
    settle_failure(to_number(member));
  }
  tell_dependants(to_number(member));
}

void WorkflowGraph::tell_dependants(std::size_t index) {
  const MemberState ended = nodes_[index].state;
  for (Edge edge = nodes_[index].first_dependant; edge != kNoEdge; edge = next_dependant_[edge]) {
    const std::size_t dependant = owner_of(edge);
    meet(dependant, unpacked(needs_[edge]).on, ended);
    decide(dependant);
  }
}

void WorkflowGraph::settle_failures(std::size_t index) {
  for (Edge edge = nodes_[index].needs_begin; edge < needs_end(index); ++edge) {
    const Need need = unpacked(needs_[edge]);
    if (need.on != NeedOn::kFailed) continue;
    if (nodes_[index].state == MemberState::kActive) at(need.of).catcher_ran = true;
    settle_failure(to_number(need.of));
  }
}

void WorkflowGraph::settle_failure(std::size_t index) {
  Node& node = nodes_[index];
  if (node.state != MemberState::kFailed || node.caught) return;
  bool may_be_caught = false;
  if (node.catcher_ran) {
    node.caught = true;
    --uncaught_;
  } else {
    for (Edge edge = node.first_dependant; edge != kNoEdge && !may_be_caught;
         edge = next_dependant_[edge]) {
      may_be_caught = unpacked(needs_[edge]).on == NeedOn::kFailed &&
                      nodes_[owner_of(edge)].state == MemberState::kBlocked;
    }
  }
  const bool lost = !node.caught && !may_be_caught;
  lost_ += lost ? 1 : 0;
  lost_ -= node.lost ? 1 : 0;
  node.lost = lost;
}

void WorkflowGraph::stop() {
  stopped_ = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) decide(i);
}

std::vector<Need> WorkflowGraph::needs_of(MemberNumber member) const {
  std::vector<Need> needs;
  for (Edge edge = at(member).needs_begin; edge < needs_end(to_number(member)); ++edge) {
    needs.push_back(unpacked(needs_[edge]));
  }
  return needs;
}

std::size_t WorkflowGraph::dependants(MemberNumber member) const {
  std::size_t count = 0;
  for (Edge edge = at(member).first_dependant; edge != kNoEdge; edge = next_dependant_[edge]) {
    ++count;
  }
  return count;
}

void WorkflowGraph::check_invariants() const {
  std::array<std::uint64_t, terms::kMemberStates> counts{};
  std::uint64_t uncaught = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    ++counts[static_cast<std::size_t>(node.state)];
    std::uint32_t unmet = 0;
    bool met = false;
    bool broken = false;
    for (const Need& need : needs_of(MemberNumber{static_cast<std::uint32_t>(i)})) {
      const MemberState needed = state(need.of);
      if (!terms::has_ended(needed)) {
        ++unmet;
      } else if (is_met(need.on, needed)) {
        met = true;
      } else {
        broken = true;
      }
    }
    MILLRACE_CHECK(node.unmet == unmet && node.met == met && node.broken == broken);
    const auto number = static_cast<std::uint32_t>(i);
    MILLRACE_CHECK(to_release_.contains(number) == (is_decided(node) && is_released(node)));
    MILLRACE_CHECK(to_skip_.contains(number) == (is_decided(node) && !is_released(node)));
    uncaught += node.state == MemberState::kFailed && !node.caught ? 1 : 0;
  }
  MILLRACE_CHECK(counts == counts_ && uncaught == uncaught_);
}

}  // namespace millrace::core
