// What acks ask of other shards, and what becomes of it there (N7): an ack that is durable submits
// each of its jobs once, also those that lie elsewhere. Those who follow the shards tell it what
// durable rows say; nothing is asked of the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/job.h"
#include "sim/marks.h"
#include "sim/model.h"

namespace millrace::sim {

// The queue in which a job waits on the acked job's shard until it is passed on.
inline constexpr std::string_view kOutbox = "~outbox";

class Effects {
 public:
  explicit Effects(Marks& marks) : marks_(marks) {}

  // What lies in the outbox for the job: `was` is what lay there under the same id before.
  enum class Was : std::uint8_t { kNothing, kWaiting, kOver };
  // A durable ack on `shard` asks for the job.
  void asked(std::uint32_t shard, const core::JobSpec& spec, Time at, Was was);
  // The job's shard has durably decided what a node submitted for an outbox.
  void passed_on(const core::JobSpec& spec, const Verdict& verdict);
  // A relay takes a job of the shard's outbox; `term` is that in which it does.
  void taken(std::uint32_t shard, const JobId& box, std::uint64_t term);
  // It puts it off.
  void put_off() { marks_.hit(Mark::kOutboxPutOff); }

  // The faults are over, and no outbox has anything to pass on.
  void check_all_there() const;
  // A job of an outbox that is dead was refused for good where it belongs.
  void check_dead(std::uint32_t shard, const core::Job& box) const;

 private:
  using Name = std::pair<JobId, std::string>;  // and its queue
  struct Asked {
    core::JobSpec spec;
    Time at{};
  };
  struct Effect {
    std::vector<Asked> asked;
    std::uint64_t boxes = 0;  // that were put into an outbox for it
    std::uint64_t made = 0;   // by passing it on
    bool open = false;        // nothing was decided where it belongs since it was asked for
    bool there = false;       // it is, or was
    bool refused = false;     // for good
  };
  struct Box {
    JobId job;               // that is in it
    std::string queue;       // of that job
    std::uint64_t term = 0;  // that took it last; 0: none has
  };

  Marks& marks_;
  std::map<Name, Effect> effects_;
  std::map<std::pair<std::uint32_t, JobId>, Box> boxes_;  // the newest of each id
};

// As it lies in the outbox, but for its payload: how the job is kept there is the engine's affair.
core::JobSpec boxed(const core::JobSpec& spec);

}  // namespace millrace::sim
