// A fixed life of a server: the same few thousand operations every time, whatever happens to the
// disk. Its own seed and the answers determine the operations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "sim/crash_points/ledger.h"
#include "sim/crash_points/life.h"

namespace millrace::crash_points {

class Workload {
 public:
  struct Places {
    std::string directory;
    std::string backup;
  };
  // Called after every operation; true: stop. `life` is null if the store was refused.
  using Over = std::function<bool(Life* life)>;

  Workload(Places places, Disk& disk, Ledger& ledger, Logger log);

  // Runs to the end, or until `over` or the shard has ended.
  void run(const Over& over);
  // The current operation, for the story.
  const std::string& doing() const { return doing_; }
  // The current life; null before it has started, and if it was refused.
  Life* life() { return life_.get(); }
  // A clean stop.
  void stop() { life_.reset(); }
  // The process has died: no destructor runs.
  void abandon() { static_cast<void>(life_.release()); }

 private:
  bool start();
  bool moment(int number);
  void prepare_queues();
  void ask_something();
  void commit(int number);
  void back_up();

  std::uint64_t below(std::uint64_t limit) { return random_.next() % limit; }
  JobId new_id();
  core::JobSpec any_job();
  SharedBytes any_payload();
  core::Command any_enqueue();
  core::Command any_batch();
  core::Command keyed_enqueue();
  core::Command unique_enqueue();
  core::Command any_claim();
  core::Command any_ack();
  core::AckItem any_outcome(const Ledger::Lease& lease);
  core::Command any_heartbeat();
  core::Command any_logs();
  core::Command any_operation();
  core::Command any_queue_change();
  void purge();
  JobId known_job();
  const Ledger::Lease* any_lease();

  const Places places_;
  Disk& disk_;
  Ledger& ledger_;
  const Logger log_;
  Random random_{7};
  std::unique_ptr<Life> life_;
  std::string doing_;
  std::vector<JobId> ids_;
};

}  // namespace millrace::crash_points
