#include "core/workflows/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"

namespace millrace::core {
namespace {

constexpr auto kSucceeded = MemberState::kSucceeded;
constexpr auto kFailed = MemberState::kFailed;
constexpr auto kBlocked = MemberState::kBlocked;
constexpr auto kActive = MemberState::kActive;
constexpr auto kSkipped = MemberState::kSkipped;

MemberNumber number(std::size_t value) { return MemberNumber{static_cast<std::uint32_t>(value)}; }

Need on(std::size_t of, NeedOn what = NeedOn::kSucceeded) { return {number(of), what}; }

struct Line {
  std::vector<Need> needs;
  bool any = false;
};

class WorkflowGraphTest : public ::testing::Test {
 protected:
  void add(const std::vector<Line>& lines) {
    const auto added = spans(lines);
    ASSERT_EQ(graph_.find_circle(added), std::nullopt);
    graph_.add(added);
    graph_.check_invariants();
  }
  static std::vector<WorkflowGraph::Added> spans(const std::vector<Line>& lines) {
    std::vector<WorkflowGraph::Added> added;
    for (const Line& line : lines) added.push_back({line.needs, line.any});
    return added;
  }
  // Takes every decision; returns the members that it released.
  std::vector<std::uint32_t> settle() {
    std::vector<std::uint32_t> released;
    while (const auto decision = graph_.next()) {
      if (decision->released) {
        graph_.release(decision->member, JobId{});
        released.push_back(to_number(decision->member));
      } else {
        graph_.skip(decision->member, MemberReason::kNone);
      }
      graph_.check_invariants();
    }
    return released;
  }
  void end(std::size_t member, MemberState state) {
    graph_.end(number(member), state, state == kFailed ? MemberReason::kDead : MemberReason::kNone);
    graph_.check_invariants();
  }
  MemberState state(std::size_t member) const { return graph_.state(number(member)); }

  using Numbers = std::vector<std::uint32_t>;
  WorkflowGraph graph_;
};

TEST_F(WorkflowGraphTest, ReleasesADiamondInItsOrder) {
  add({{}, {{on(0)}}, {{on(0)}}, {{on(1), on(2)}}});
  EXPECT_EQ(settle(), Numbers{0});
  end(0, kSucceeded);
  EXPECT_EQ(settle(), (Numbers{1, 2}));
  end(2, kSucceeded);
  EXPECT_EQ(settle(), Numbers{});
  end(1, kSucceeded);
  EXPECT_EQ(settle(), Numbers{3});
  end(3, kSucceeded);
  EXPECT_EQ(graph_.count(kSucceeded), 4u);
  EXPECT_EQ(graph_.uncaught(), 0u);
}

TEST_F(WorkflowGraphTest, SkipsWhatHangsOnAFailureAndWhatHangsOnThat) {
  add({{}, {{on(0)}}, {{on(1)}}, {{on(1, NeedOn::kEnded)}}});
  settle();
  end(0, kFailed);
  EXPECT_EQ(settle(), Numbers{3});
  EXPECT_EQ(state(1), kSkipped);
  EXPECT_EQ(state(2), kSkipped);
  EXPECT_EQ(graph_.uncaught(), 1u);
  EXPECT_TRUE(graph_.has_lost());
}

TEST_F(WorkflowGraphTest, AMemberThatNeedsTheFailureCatchesIt) {
  add({{}, {{on(0, NeedOn::kFailed)}}, {{on(0)}}});
  settle();
  end(0, kFailed);
  EXPECT_FALSE(graph_.has_lost());
  EXPECT_EQ(graph_.uncaught(), 1u);  // until it is released
  EXPECT_EQ(settle(), Numbers{1});
  EXPECT_EQ(graph_.uncaught(), 0u);
  EXPECT_EQ(state(2), kSkipped);
}

TEST_F(WorkflowGraphTest, AFailureIsLostWhenTheLastOneThatCouldCatchItIsSkipped) {
  add({{}, {}, {{on(0, NeedOn::kFailed), on(1)}}});
  settle();
  end(0, kFailed);
  EXPECT_FALSE(graph_.has_lost());
  end(1, kFailed);
  settle();
  EXPECT_EQ(state(2), kSkipped);
  EXPECT_TRUE(graph_.has_lost());
  EXPECT_EQ(graph_.uncaught(), 2u);
}

TEST_F(WorkflowGraphTest, AnyNeedThatIsMetReleases) {
  add({{}, {}, {}, {{on(0), on(1), on(2, NeedOn::kFailed)}, true}});
  settle();
  end(0, kFailed);
  EXPECT_EQ(settle(), Numbers{});
  end(1, kSucceeded);
  EXPECT_EQ(settle(), Numbers{3});
}

TEST_F(WorkflowGraphTest, WithoutAnyNeedThatCanBeMetItIsSkipped) {
  add({{}, {}, {{on(0), on(1, NeedOn::kFailed)}, true}});
  settle();
  end(0, kFailed);
  end(1, kSucceeded);
  EXPECT_EQ(settle(), Numbers{});
  EXPECT_EQ(state(2), kSkipped);
}

TEST_F(WorkflowGraphTest, AStopSkipsWhatIsBlockedAndLeavesWhatRuns) {
  add({{}, {{on(0)}}, {}});
  settle();
  graph_.stop();
  EXPECT_EQ(settle(), Numbers{});
  EXPECT_EQ(state(0), kActive);
  EXPECT_EQ(state(1), kSkipped);
  add({{}});
  EXPECT_EQ(settle(), Numbers{});
  EXPECT_EQ(state(3), kSkipped);
}

TEST_F(WorkflowGraphTest, AMemberThatIsAddedLaterSeesWhatHasEnded) {
  add({{}, {}});
  settle();
  end(0, kSucceeded);
  end(1, kFailed);
  EXPECT_TRUE(graph_.has_lost());
  add({{{on(0)}}, {{on(0, NeedOn::kFailed)}}, {{on(1, NeedOn::kFailed)}}});
  EXPECT_FALSE(graph_.has_lost());
  EXPECT_EQ(settle(), (Numbers{2, 4}));
  EXPECT_EQ(state(3), kSkipped);
  EXPECT_EQ(graph_.uncaught(), 0u);
}

TEST_F(WorkflowGraphTest, ARefusedMemberFailsAndCatchesNothing) {
  add({{}, {{on(0, NeedOn::kFailed)}}, {{on(1)}}});
  settle();
  end(0, kFailed);
  graph_.end(number(1), kFailed, MemberReason::kRefused);
  graph_.check_invariants();
  settle();
  EXPECT_EQ(state(2), kSkipped);
  EXPECT_EQ(graph_.uncaught(), 2u);
  EXPECT_TRUE(graph_.has_lost());
}

TEST_F(WorkflowGraphTest, WhatIsToSkipComesBeforeAReleaseThatMayHaveToWait) {
  add({{}, {}, {{on(0)}}, {{on(2)}}});
  graph_.release(number(0), JobId{});
  end(0, kFailed);
  ASSERT_EQ(graph_.undecided(), 2u);
  EXPECT_EQ(graph_.next()->member, number(2));
  EXPECT_FALSE(graph_.next()->released);
  graph_.skip(number(2), MemberReason::kNone);
  EXPECT_EQ(graph_.next()->member, number(3));
  graph_.skip(number(3), MemberReason::kNone);
  EXPECT_EQ(graph_.next()->member, number(1));
  EXPECT_TRUE(graph_.next()->released);
}

TEST_F(WorkflowGraphTest, EachFailureIsCaughtForItself) {
  add({{}, {}, {{on(0, NeedOn::kFailed)}}, {{on(1, NeedOn::kFailed), on(2)}}});
  settle();
  end(0, kFailed);
  end(1, kFailed);
  EXPECT_EQ(settle(), Numbers{2});
  EXPECT_FALSE(graph_.is_uncaught(number(0)));
  EXPECT_TRUE(graph_.is_uncaught(number(1)));
  EXPECT_FALSE(graph_.is_uncaught(number(2)));  // it runs
  end(2, kFailed);
  EXPECT_TRUE(graph_.is_uncaught(number(2)));
  settle();
  EXPECT_EQ(state(3), kSkipped);
  EXPECT_TRUE(graph_.has_lost());
}

TEST_F(WorkflowGraphTest, CountsWhatNeedsAMember) {
  add({{}, {{on(0)}}, {{on(0, NeedOn::kEnded), on(1)}}});
  add({{{on(0, NeedOn::kFailed)}}});
  EXPECT_EQ(graph_.dependants(number(0)), 3u);
  EXPECT_EQ(graph_.dependants(number(1)), 1u);
  EXPECT_EQ(graph_.dependants(number(3)), 0u);
  EXPECT_EQ(graph_.needs(), 4u);
}

TEST_F(WorkflowGraphTest, ASkipKeepsItsReasonAndMeetsOnlyEnded) {
  add({{}, {{on(0)}}, {{on(1, NeedOn::kEnded)}}, {{on(1, NeedOn::kFailed)}}});
  settle();
  graph_.skip(number(1), MemberReason::kByCall);
  EXPECT_EQ(settle(), Numbers{2});
  EXPECT_EQ(graph_.reason(number(1)), MemberReason::kByCall);
  EXPECT_EQ(graph_.reason(number(3)), MemberReason::kNone);
  EXPECT_EQ(state(3), kSkipped);
}

TEST_F(WorkflowGraphTest, FindsCirclesAndNamesAMemberOfOne) {
  add({{}});
  const auto circle = [&](const std::vector<Line>& lines) {
    return graph_.find_circle(spans(lines));
  };
  EXPECT_EQ(circle({{{on(1)}}}), 0u);                            // itself
  EXPECT_EQ(circle({{{on(0)}}, {{on(1)}}}), std::nullopt);       // a chain
  EXPECT_EQ(circle({{{on(2)}}, {{on(0)}}}), std::nullopt);       // in reverse order
  const auto found = circle({{{on(2)}}, {{on(3)}}, {{on(2)}}});  // 1 hangs on 2 <-> 3
  ASSERT_TRUE(found);
  EXPECT_TRUE(*found == 1 || *found == 2);
}

// A model that knows nothing but lists: each member's needs, and each end.
class Model {
 public:
  void add(const Line& line) {
    lines_.push_back(line);
    states_.push_back(kBlocked);
    refused_.push_back(false);
  }
  bool is_met(const Need& need) const {
    const MemberState of = states_[to_number(need.of)];
    if (!terms::has_ended(of)) return false;
    if (need.on == NeedOn::kEnded) return true;
    return of == (need.on == NeedOn::kFailed ? kFailed : kSucceeded);
  }
  bool is_broken(const Need& need) const {
    return terms::has_ended(states_[to_number(need.of)]) && !is_met(need);
  }
  std::optional<MemberState> fate(std::size_t member) const {
    if (states_[member] != kBlocked) return std::nullopt;
    if (stopped_) return kSkipped;
    const auto& needs = lines_[member].needs;
    const auto met = std::ranges::count_if(needs, [&](const Need& n) { return is_met(n); });
    const auto broken = std::ranges::count_if(needs, [&](const Need& n) { return is_broken(n); });
    const auto all = static_cast<std::ptrdiff_t>(needs.size());
    if (lines_[member].any && all > 0) {
      if (met > 0) return kActive;
      return broken == all ? std::optional(kSkipped) : std::nullopt;
    }
    if (broken > 0) return kSkipped;
    return met == all ? std::optional(kActive) : std::nullopt;
  }
  std::size_t uncaught() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) count += fails_uncaught(i) ? 1 : 0;
    return count;
  }
  bool fails_uncaught(std::size_t member) const {
    return states_[member] == kFailed && !some_catcher(member, [&](std::size_t i) {
             return states_[i] != kBlocked && states_[i] != kSkipped && !refused_[i];
           });
  }
  std::size_t dependants(std::size_t member) const {
    std::size_t count = 0;
    for (const Line& line : lines_) {
      count += static_cast<std::size_t>(std::ranges::count_if(
          line.needs, [&](const Need& need) { return to_number(need.of) == member; }));
    }
    return count;
  }
  bool has_lost() const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const auto waits = [&](std::size_t other) { return states_[other] == kBlocked; };
      if (fails_uncaught(i) && !some_catcher(i, waits)) return true;
    }
    return false;
  }
  template <typename Holds>
  bool some_catcher(std::size_t member, Holds holds) const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Need wanted = on(member, NeedOn::kFailed);
      if (std::ranges::find(lines_[i].needs, wanted) != lines_[i].needs.end() && holds(i)) {
        return true;
      }
    }
    return false;
  }

  std::vector<Line> lines_;
  std::vector<MemberState> states_;
  std::vector<bool> refused_;
  bool stopped_ = false;
};

class RandomGraph : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }

  void grow() {
    const std::size_t first = model_.lines_.size();
    std::vector<Line> lines(1 + below(5));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].any = below(3) == 0;
      for (std::uint64_t n = below(4); n > 0 && first + i > 0; --n) {
        lines[i].needs.push_back(on(below(first + i), static_cast<NeedOn>(below(3))));
      }
    }
    std::vector<WorkflowGraph::Added> added;
    for (const Line& line : lines) added.push_back({line.needs, line.any});
    ASSERT_EQ(graph_.find_circle(added), std::nullopt);
    graph_.add(added);
    for (const Line& line : lines) model_.add(line);
  }
  void decide() {
    const auto decision = graph_.next();
    if (!decision) return;
    const std::size_t member = to_number(decision->member);
    if (!decision->released) {
      graph_.skip(decision->member, MemberReason::kNone);
      model_.states_[member] = kSkipped;
    } else if (below(10) == 0) {
      graph_.end(decision->member, kFailed, MemberReason::kRefused);
      model_.states_[member] = kFailed;
      model_.refused_[member] = true;
    } else {
      graph_.release(decision->member, JobId{});
      model_.states_[member] = kActive;
    }
  }
  void end_one() {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < model_.states_.size(); ++i) {
      if (model_.states_[i] == kActive) active.push_back(i);
    }
    if (active.empty()) return;
    const std::size_t member = active[below(active.size())];
    const MemberState state = below(3) == 0 ? kFailed : kSucceeded;
    graph_.end(number(member), state, state == kFailed ? MemberReason::kDead : MemberReason::kNone);
    model_.states_[member] = state;
  }
  void compare() {
    std::optional<std::size_t> first;  // a skip before a release
    std::size_t undecided = 0;
    for (std::size_t i = 0; i < model_.lines_.size(); ++i) {
      ASSERT_EQ(graph_.state(number(i)), model_.states_[i]) << i;
      ASSERT_EQ(graph_.is_uncaught(number(i)), model_.fails_uncaught(i)) << i;
      ASSERT_EQ(graph_.dependants(number(i)), model_.dependants(i)) << i;
      const auto fate = model_.fate(i);
      if (!fate) continue;
      ++undecided;
      if (!first || (*fate == kSkipped && *model_.fate(*first) == kActive)) first = i;
    }
    ASSERT_EQ(graph_.undecided(), undecided);
    const auto next = graph_.next();
    ASSERT_EQ(next.has_value(), first.has_value());
    if (next) {
      ASSERT_EQ(to_number(next->member), *first);
      ASSERT_EQ(next->released, *model_.fate(*first) == kActive);
    }
    ASSERT_EQ(graph_.uncaught(), model_.uncaught());
    ASSERT_EQ(graph_.has_lost(), model_.has_lost());
    graph_.check_invariants();
  }

  Random random_{GetParam()};
  WorkflowGraph graph_;
  Model model_;
};

TEST_P(RandomGraph, DecidesAsTheListsSay) {
  for (int step = 0; step < 200 && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(step);
    switch (below(8)) {
      case 0:
        grow();
        break;
      case 1:
      case 2:
        end_one();
        break;
      case 3:
        if (below(60) == 0) {
          graph_.stop();
          model_.stopped_ = true;
        }
        break;
      default:
        decide();
    }
    compare();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, ::testing::Range<std::uint64_t>(1, 101));

}  // namespace
}  // namespace millrace::core
