// The one poll there is: reads what transactions of the user's own have asked for in the database
// for the shards that this node leads, and gives it to them, as node/inbox_intake.h decides for
// each.
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
#include "engine/gateway.h"
#include "node/inbox_intake.h"
#include "server/driver.h"
#include "server/inbox_command.h"
#include "store/inbox.h"

namespace millrace::server {

class InboxPoller final : private engine::ReplyPort {
 public:
  // One query a node so often, from the first row ever; before that one is looked for now and then.
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::chrono::milliseconds kPauseWhileUnused{500};
  // Of shard 0's leader, for all: away with what nobody needs any more.
  static constexpr std::chrono::milliseconds kSweepPause{5'000};
  // A fence goes where the tables have no job of its id. After a day without any server they may
  // lack a job that the journal has, until its shard is led again and has flushed.
  static constexpr std::chrono::milliseconds kFirstSweepAfter{12'000};

  struct Parts {
    store::Inbox& inbox;
    InboxTerms terms;
    // Null: not led here. Any thread.
    std::function<std::shared_ptr<Driver>(std::uint32_t shard)> led;
    Logger log;
  };
  // Outlives every driver that it was given.
  explicit InboxPoller(Parts parts);
  ~InboxPoller() override;  // stops
  InboxPoller(const InboxPoller&) = delete;
  InboxPoller& operator=(const InboxPoller&) = delete;

  void start();
  // Nothing is given to a shard any more, from its return on.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  // A shard that is led here.
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
  // Until there are answers, or `until`. False: stop.
  bool wait(Clock::time_point until);
  void take_answers();
  void look_who_leads();
  bool poll();  // true: there is more
  // True: it wants a page, which is read for all shards at once.
  bool carry_out_calls(node::InboxIntake& intake);
  Status carry_out(const node::InboxCall& call, node::InboxIntake& intake);
  bool read(std::vector<store::InboxReader> readers);
  void offer(std::uint32_t number, Shard& shard);
  void sweep();
  void note(const Status& done);

  const Parts parts_;
  // The thread's own.
  absl::flat_hash_map<std::uint32_t, Shard> shards_;
  absl::flat_hash_map<std::uint64_t, Asked> asked_;  // by ticket
  std::uint64_t next_ticket_ = 1;
  bool in_use_ = false;
  JobId swept_{};  // how far, through the fences
  Clock::time_point next_sweep_ = Clock::now() + kFirstSweepAfter;
  bool failing_ = false;

  Mutex mutex_;
  WaitCondition wake_;
  std::vector<engine::Delivery> answers_ MILLRACE_GUARDED_BY(mutex_);
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace millrace::server
