// One look at the server: collects the facts part by part, and has each judged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/caller.h"
#include "service/findings/judge.h"

namespace millrace::service {

// --- Bounds of a look.

// Schedules beyond these are not looked at. (Queues, limits and workers have bounds of their own.)
inline constexpr std::int64_t kMostSchedulesLooked = 50'000;
inline constexpr std::int64_t kMostTargetsLooked = 10'000;
inline constexpr std::size_t kMostWorkflowsLooked = 10'000;  // of a state, the newest
inline constexpr std::size_t kMostIdleLooked = 50;
// Of a close look:
inline constexpr std::size_t kMostQueuesSearched = 50;
inline constexpr std::size_t kMostLimitsSearched = 50;
inline constexpr std::size_t kMostGroupsSearched = 50;
inline constexpr std::size_t kMostSchedulesSearched = 200;
inline constexpr std::uint32_t kMostJobsSeen = 500;  // of a search
inline constexpr std::size_t kMostHoldersSeen = 10'000;
inline constexpr Duration kMostTimeForSearches{10'000};
inline constexpr Duration kMostTimeForSearch{2'000};

class Look {
 public:
  Look(Caller& caller, const api::FindingsQuery& query);
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  Task<api::Findings> run();

 private:
  using Area = api::FindingArea;

  // --- look.cc: what is in memory.
  Task<void> workers(Takers& takers);
  Task<void> queues(const Takers& takers);
  Task<void> gates(core::LimitKind kind);
  Task<void> schedules();
  Task<void> workflows(core::WorkflowState state);
  Task<Time> idle_since(const core::Workflow& workflow);
  Task<void> targets();
  Task<void> failures();
  Task<void> groups();
  void tokens();
  Task<void> node();
  void cluster();

  // --- close_look.cc: what the tables have.
  Task<void> untaken(QueueJudge& queues, const std::vector<core::Queue>& waiting,
                     const Takers& takers);
  Task<void> holders(const core::LimitView& gate);
  Task<void> costs(const core::LimitView& gate);
  Task<void> runs(const std::vector<std::string>& schedules);
  Task<void> tried(const std::vector<ErrorGroupAnswer>& groups);
  // The jobs; none if they could not be read, which is noted.
  Task<std::vector<core::Job>> search(engine::JobFilter filter, Area about);
  // There is time for another search. If not, notes that the part was not looked at wholly.
  bool has_time(Area about);

  // Sets a count of the answer.
  void saw(std::string_view name, std::size_t count);
  void skip(Area about, std::string why);
  void skip(Area about, const api::Problem& problem) { skip(about, problem.detail); }

  Caller& caller_;
  const api::FindingsQuery& query_;
  FindingList found_;
  Judge judge_;
  const Steady search_until_;
  api::Findings answer_;
};

}  // namespace millrace::service
