// The one poll there is: brings what transactions of the user's own have asked for in the database
// (store/inbox.h) to the shards that this node leads.
//
// A row is read once, given to its shard as a command, and gone with the append that makes what it
// asked for durable. Until then it stays in hand here: what the shard can't take at the moment is
// offered again, what it can't ever take goes to millrace.inbox_rejected. Who ceases to lead a
// shard forgets what it has in hand; who begins to reads everything, once an answer of the shard
// has proved that its term's first row is durable, so that nothing is read that another may yet
// take.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/bounds.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/time.h"
#include "engine/gateway.h"
#include "engine/inbox_queues.h"
#include "server/driver.h"
#include "store/inbox.h"

namespace millrace::server {

class InboxPoller final : private engine::ReplyPort {
 public:
  // One query a node so often, from the first row ever; before that one is looked for now and then.
  static constexpr std::chrono::milliseconds kPause{20};
  static constexpr std::chrono::milliseconds kPauseWhileUnused{500};
  // Of shard 0's leader, for all: away with what nobody needs any more.
  static constexpr std::chrono::milliseconds kSweepPause{5'000};

  struct Parts {
    store::Inbox& inbox;
    std::uint32_t shards = 0;
    // Null: not led here. Any thread.
    std::function<std::shared_ptr<Driver>(std::uint32_t shard)> led;
    api::DecodeLimits limits;
    Duration idempotency_window{};
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
  using Rows = std::map<store::InboxKey, store::InboxRow>;

  // A shard that is led here.
  struct Shard {
    std::weak_ptr<Driver> driver;
    bool proved = false;  // see above
    store::InboxReader reader;
    Rows waiting;                // to be offered
    Rows asked;                  // of the shard; no answer yet
    engine::InboxQueues queues;  // of rows that submit
    // Done with here, and still in the table.
    std::set<store::InboxKey> useless;
    std::set<store::InboxKey> astray;  // for another shard
    std::map<store::InboxKey, store::RejectedRow> rejected;
    Clock::time_point not_before{};     // of the next offer
    Clock::time_point next_finishes{};  // while it reads nothing else

    bool holds(const store::InboxKey& key) const;
    bool has_enough() const;
    bool add(store::InboxRow row);  // false: it is here already
    void reject(store::RejectedRow row) { rejected.emplace(row.key, std::move(row)); }
  };
  struct Asked {
    std::uint32_t shard = 0;
    store::InboxKey key;  // zero: for a proof
  };

  void deliver(std::span<engine::Delivery> deliveries) override;

  void run();
  // Until there are answers, or `until`. False: stop.
  bool wait(Clock::time_point until);
  void take_answers();
  void conclude(const Asked& asked, engine::Answer answer);
  void conclude_enqueue(Shard& shard, const store::InboxKey& key, const core::EnqueueReply& reply);
  void conclude_finish(Shard& shard, const store::InboxRow& row, const core::ItemsReply& reply);
  void look_who_leads();
  bool poll();  // true: there is more
  void read_finishes(Shard& shard);
  void offer(Shard& shard);
  // Rows of queues that have refused some, and that are due, join those that wait.
  void fetch_due(Shard& shard);
  void tidy(Shard& shard);
  void sweep();
  void wait_a_moment(Shard& shard) const;
  void note(const Status& done);

  const Parts parts_;
  // The thread's own.
  absl::flat_hash_map<std::uint32_t, Shard> shards_;
  absl::flat_hash_map<std::uint64_t, Asked> asked_;  // by ticket
  std::uint64_t next_ticket_ = 1;
  bool in_use_ = false;
  JobId swept_{};  // how far, through the fences
  Clock::time_point next_sweep_{};
  bool failing_ = false;

  Mutex mutex_;
  WaitCondition wake_;
  std::vector<engine::Delivery> answers_ MILLRACE_GUARDED_BY(mutex_);
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace millrace::server
