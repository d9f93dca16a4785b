// Polls the inboxes of the shards that this node leads, and submits the requests that users' own
// transactions wrote there, as node/inbox_intake.h decides for each. Nothing else in the server
// polls the database.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/log.h"
#include "base/mutex.h"
#include "engine/routing/gateway.h"
#include "node/inbox_intake.h"
#include "server/shard/driver.h"
#include "server/shard/inbox_command.h"
#include "store/inbox.h"

namespace millrace::server {

class InboxPoller final : private engine::ReplyPort {
 public:
  // A node makes one query per kPause. Until the database has held its first row, it checks once
  // per kPauseWhileUnused.
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::chrono::milliseconds kPauseWhileUnused{500};
  // The leader of shard 0 deletes rows that are no longer needed, for all shards.
  static constexpr std::chrono::milliseconds kSweepPause{5'000};
  // A fence is deleted if the tables have no job with its id. After a day without any server, the
  // tables may lack a job that is in the journal until its shard has a leader that has flushed.
  static constexpr std::chrono::milliseconds kFirstSweepAfter{12'000};

  struct Parts {
    store::Inbox& inbox;
    InboxTerms terms;
    // Null: this node does not lead the shard. Thread-safe.
    std::function<std::shared_ptr<Driver>(std::uint32_t shard)> led;
    Logger log;
  };
  // Must outlive every driver that it has used.
  explicit InboxPoller(Parts parts);
  ~InboxPoller() override;  // stops
  InboxPoller(const InboxPoller&) = delete;
  InboxPoller& operator=(const InboxPoller&) = delete;

  void start();
  // Submits nothing to a shard once it has returned.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  // A shard that this node leads.
  struct Shard {
    std::weak_ptr<Driver> driver;
    node::InboxIntake intake;
  };
  struct Asked {
    std::uint32_t shard = 0;
    store::InboxKey row;
  };

  void deliver(std::span<engine::Delivery> deliveries) override;

  void run();
  // Waits for answers, at most until `until`. False: stop.
  bool wait(Clock::time_point until);
  void take_answers();
  void look_who_leads();
  bool poll();  // true: there are more rows
  // True: it wants a page. Pages of all shards are read in one query.
  bool carry_out_calls(node::InboxIntake& intake);
  Status carry_out(const node::InboxCall& call, node::InboxIntake& intake);
  bool read(std::vector<store::InboxReader> readers);
  void offer(std::uint32_t number, Shard& shard);
  void sweep();
  void note(const Status& done);

  const Parts parts_;
  // Only for the poller's thread.
  absl::flat_hash_map<std::uint32_t, Shard> shards_;
  absl::flat_hash_map<std::uint64_t, Asked> asked_;  // by ticket
  std::uint64_t next_ticket_ = 1;
  bool in_use_ = false;
  JobId swept_{};  // the sweep's position among the fences
  Clock::time_point next_sweep_ = Clock::now() + kFirstSweepAfter;
  bool failing_ = false;

  Mutex mutex_;
  WaitCondition wake_;
  std::vector<engine::Delivery> answers_ MILLRACE_GUARDED_BY(mutex_);
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace millrace::server
