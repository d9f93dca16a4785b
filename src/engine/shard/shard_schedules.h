// Fires the schedules of a shard: plans the instants that are due by the wall clock and gives them
// to the machine. Keeps the facts that only a leader has: the trusted clock, the zone data that it
// has seen, and the states of jobs on other shards.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "engine/request.h"
#include "engine/schedules/believed_wall.h"
#include "engine/schedules/zones.h"
#include "engine/shard/shard.h"

namespace millrace::engine {

// Owned by the shard, on its thread. `options` and `machine` outlive it.
class ShardSchedules {
 public:
  ShardSchedules(const ShardOptions& options, core::Machine& machine)
      : options_(options), machine_(machine) {}

  // How fast schedules may make jobs. They yield to submissions: each slows down, and then waits,
  // long before a submission is refused.
  enum class Pace : std::uint8_t {
    kFull,
    kSlow,  // kSlowInstants a second
    kHeld,  // a schedule keeps its place in time, and its rule for missed instants applies later
  };
  static constexpr std::int64_t kSlowInstants = 100;
  // One step of the shard.
  struct Step {
    Time now{};
    core::Admission admission{};
    std::vector<core::Event>& events;  // receives the new events
    // Both as of the events so far. When the row is full, the rest waits for another step.
    const std::function<bool()>& row_is_full;
    const std::function<Pace()>& pace;
  };
  // Fires due schedules. Call before and after the step's commands: a new schedule is planned in
  // the row that creates it, and a firing may wait for a job that has just ended.
  void fire(const Step& step);

  // Fills in the members of a command that only its shard knows.
  void stamp(core::Command& command) const;

  // Questions to other shards, and their answers.
  bool has_questions() const { return !questions_.empty(); }
  JobQuestions take_questions() { return {std::exchange(questions_, {}), {}}; }
  void told(const TellOfJob& told, Time now);

  // When fire() next has work, at `now`.
  std::optional<Time> next_wakeup(Time now) const;

  // Counts the runs of a durable batch, by core::RunOutcome.
  void count(const core::EventBatch& batch);
  using RunCounts = std::array<std::uint64_t, 5>;
  const RunCounts& runs() const { return runs_; }

 private:
  // The known state of a schedule's newest workflow, or job on another shard. Times are the
  // shard's.
  struct JobElsewhere {
    JobId job;
    bool ended = false;
    std::optional<Time> told_at;
    std::optional<Time> asked_at;
    Time awaited_until{};  // a question waits until then for the job's end
    Time last_heard() const;
  };

  Time wall(Time now);
  void fire_one(const SharedBytes& name, const Step& step);
  // Whether a schedule may fire now. Sets `goes_on_at_` if not.
  bool has_room(const Step& step);
  JobElsewhere& elsewhere(const core::Schedule& schedule);
  // False: the firing depends on whether the newest job has ended, which is not known yet.
  bool knows_newest(const core::Schedule& schedule, core::Firing& firing, Time now);
  void ask_of_waiting(const Step& step);
  void forget_elsewhere(Time now);
  // Plans schedules again by newer zone data, which may move their next instants.
  void replan(const Step& step);
  Zones& zones() const { return options_.zones == nullptr ? utc_alone() : *options_.zones; }

  const ShardOptions& options_;
  core::Machine& machine_;
  BelievedWall believed_;
  Time wall_{};                      // as of the last step
  bool behind_ = false;              // some are still due
  Time slow_until_ = core::kAtOnce;  // at Pace::kSlow the next one fires then
  std::optional<Time> goes_on_at_;   // some are due, and wait for room until then
  std::string zones_seen_;           // the version of the data by which all schedules are planned
  SharedBytes replanned_to_;         // the schedules up to this name are planned by newer data
  bool replanning_ = false;
  std::map<std::string, JobElsewhere, std::less<>> elsewhere_;  // by schedule
  std::vector<JobQuestion> questions_;
  RunCounts runs_{};
};

}  // namespace millrace::engine
