// Jobs that acks submit to other shards, and their fate there (N7): a durable ack submits each of
// its jobs once, including those for other shards. Followers of the shards report the contents of
// durable rows; the machine is not asked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/jobs/job.h"
#include "sim/model/model.h"
#include "sim/world/marks.h"

namespace millrace::sim {

// The queue in which a job waits on the acked job's shard until it is passed on.
inline constexpr std::string_view kOutbox = "~outbox";

class Effects {
 public:
  explicit Effects(Marks& marks) : marks_(marks) {}

  // The outbox's previous content under the job's id.
  enum class Was : std::uint8_t { kNothing, kWaiting, kOver };
  // A durable ack on `shard` submits the job.
  void asked(std::uint32_t shard, const core::JobSpec& spec, Time at, Was was);
  // The job's shard has durably decided a submission from an outbox.
  void passed_on(const core::JobSpec& spec, const Verdict& verdict);
  // A relay takes a job of the shard's outbox, in the term `term`.
  void taken(std::uint32_t shard, const JobId& box, std::uint64_t term);
  // A relay's durable ack ends it for good: `box` is dead.
  void given_up(std::uint32_t shard, const core::Job& box);
  // The relay puts the job off.
  void put_off() { marks_.hit(Mark::kOutboxPutOff); }

  // Called when the faults are over and no outbox has anything to pass on.
  void check_all_there() const;
  // A dead job of an outbox must have been refused for good by its destination.
  void check_dead(std::uint32_t shard, const core::Job& box) const;

 private:
  using Name = std::pair<JobId, std::string>;  // the job and its queue
  struct Asked {
    core::JobSpec spec;
    Time at{};
  };
  struct Effect {
    std::vector<Asked> asked;
    std::uint64_t boxes = 0;     // put into an outbox for it
    std::uint64_t made = 0;      // made by passing it on
    bool open = false;           // its destination has decided nothing since it was requested
    bool there = false;          // it exists, or did
    bool refused = false;        // for good
    bool without_limit = false;  // the latest answer refused it: it names an unknown limit
  };
  struct Box {
    JobId job;               // the submitted job
    std::string queue;       // of that job
    std::uint64_t term = 0;  // the last term that took it; 0: none
  };

  Marks& marks_;
  std::map<Name, Effect> effects_;
  std::map<std::pair<std::uint32_t, JobId>, Box> boxes_;  // the newest of each id
};

// The outbox's form of the job, without its payload: the engine decides how that is stored.
core::JobSpec boxed(const core::JobSpec& spec);

}  // namespace millrace::sim
