// Fires the schedules of a shard: what is due by the wall clock is planned and handed to the
// machine. Keeps what only a leader knows of them: which clock it believes, which zone data it has
// seen, and what it was told of jobs on other shards.
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

  // One step of the shard.
  struct Step {
    Time now{};
    core::Admission admission{};
    std::vector<core::Event>& events;          // what happens is appended here
    const std::function<bool()>& row_is_full;  // with these events: the rest waits for another step
  };
  // Fires what is due. To be called before the step's commands and after them: a new schedule is
  // planned in the row that makes it, and a job that ended may have been awaited.
  void fire(const Step& step);

  // Fills in what of a command only its shard knows.
  void stamp(core::Command& command) const;

  // What has to be asked of other shards, and what they said.
  bool has_questions() const { return !questions_.empty(); }
  JobQuestions take_questions() { return {std::exchange(questions_, {})}; }
  void told(const TellOfJob& told, Time now);

  // When fire() next has something to do, at `now`.
  std::optional<Time> next_wakeup(Time now) const;

  // Counts the runs of a durable batch, by core::RunOutcome.
  void count(const core::EventBatch& batch);
  using RunCounts = std::array<std::uint64_t, 5>;
  const RunCounts& runs() const { return runs_; }

 private:
  // What is known of a schedule's newest job, which lies on another shard. Times are the shard's.
  struct JobElsewhere {
    JobId job;
    bool ended = false;
    std::optional<Time> told_at;
    std::optional<Time> asked_at;
    Time awaited_until{};  // a question waits so long for the job's end
    Time last_heard() const;
  };

  Time wall(Time now);
  void fire_one(const SharedBytes& name, const Step& step);
  JobElsewhere& elsewhere(const core::Schedule& schedule);
  // False: whether the newest job has ended matters, and is not known yet.
  bool knows_newest(const core::Schedule& schedule, core::Firing& firing, Time now);
  void ask_of_waiting(const Step& step);
  void forget_elsewhere(Time now);
  // Newer data of time zones may move what was planned.
  void replan(const Step& step);
  Zones& zones() const { return options_.zones == nullptr ? utc_alone() : *options_.zones; }

  const ShardOptions& options_;
  core::Machine& machine_;
  BelievedWall believed_;
  Time wall_{};               // as of the last step
  bool behind_ = false;       // some are still due
  std::string zones_seen_;    // the data by which all schedules are planned
  SharedBytes replanned_to_;  // by newer data: those by name up to this one
  bool replanning_ = false;
  std::map<std::string, JobElsewhere, std::less<>> elsewhere_;  // by schedule
  std::vector<JobQuestion> questions_;
  RunCounts runs_{};
};

}  // namespace millrace::engine
