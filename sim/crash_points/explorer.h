// Tries every event that can happen at each call to the disk. The workload runs once. At a call
// that is to be tried, the process forks; the child suffers the death or the failing call, restarts
// and checks. So every intermediate state of memory and disk is available without recomputing it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "sim/crash_points/aftermath.h"
#include "sim/crash_points/disk.h"
#include "sim/crash_points/ledger.h"
#include "sim/crash_points/tally.h"
#include "sim/crash_points/trial.h"
#include "sim/crash_points/workload.h"

namespace millrace::crash_points {

// A call, by its number, and the event that happens to it.
using Site = std::pair<std::uint64_t, Trial>;

struct Plan {
  std::uint64_t seed = 1;
  // Every site whose hash falls into `slice` of `slices`, or the listed sites.
  std::uint64_t slice = 0;
  std::uint64_t slices = 1;
  std::optional<std::set<Site>> sites;
  // In a recovery: one site in this many, which is about one per recovery; or the given one.
  std::uint64_t one_in_recovery = 3'000;
  std::optional<Site> in_recovery;
  unsigned processes = 2;
  std::optional<std::chrono::steady_clock::time_point> until;
};

class Explorer final : public CallHook {
 public:
  struct World {
    Disk& disk;
    Ledger& ledger;
    Tally& tally;
    Workload::Places places;
    Logger log;
    const std::vector<std::string>& log_lines;  // what was logged so far
  };
  Explorer(Plan plan, World world) : plan_(std::move(plan)), world_(std::move(world)) {}

  // Runs the workload and tries the planned sites. Returns only in the first process. False: a
  // violation was found.
  bool explore();

  // Runs the workload and records its calls in the tally.
  static void count(World world);

  Verdict before(const Call& call) override;

 private:
  enum class Role : std::uint8_t {
    kExploring,   // the first process
    kFailing,     // a child in which a call has failed, and which continues the workload
    kRecovering,  // a child that restarts after the end
    kAfterwards,  // a child in which a call of the recovery failed
  };

  bool planned(std::uint64_t point, Trial trial) const;
  bool planned_in_recovery(std::uint64_t point, CallKind kind, Trial trial) const;
  Random random_for(std::uint64_t salt) const;

  Verdict explore(const Call& call);
  Verdict explore_recovery(const Call& call);
  // Does not return in the child, or returns the failing call's verdict there.
  Verdict suffer(const Call& call, Trial trial);
  Verdict suffer_in_recovery(const Call& call, Trial trial);
  Verdict still_failing(const Call& call) const;

  bool moment_over(Life* life);
  [[noreturn]] void end_failing();
  [[noreturn]] void recover_and_leave(CallHook* hook);

  bool fork_child();
  void wait_for_child();
  [[noreturn]] void leave();
  std::string story(const std::vector<std::string>& problems) const;

  const Plan plan_;
  World world_;
  Workload* workload_ = nullptr;
  Role role_ = Role::kExploring;
  std::uint64_t point_ = 0;
  std::uint64_t recovery_point_ = 0;
  std::set<pid_t> children_;
  bool stopped_ = false;

  // --- The child's task.
  Trial trial_{};
  std::optional<Trial> recovery_trial_;
  CallKind failing_kind_{};
  bool healed_ = true;
  int moments_since_ = 0;
  std::string where_;
  std::string where_in_recovery_;
};

}  // namespace millrace::crash_points
