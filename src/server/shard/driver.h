// Runs a shard: gives its loop (node/shard_loop.h) a thread and the time, and gives its journal and
// its projection a thread each. Requests come through the Gateway from any thread. Answers leave by
// port, one delivery for each port and commit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/routing/gateway.h"
#include "engine/routing/leader_lease.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_clock.h"
#include "node/shard_loop.h"
#include "server/metrics/memory_gauge.h"
#include "server/process/liveness.h"
#include "server/shard/driver_status.h"
#include "server/shard/flush_semaphore.h"
#include "server/shard/journal_thread.h"
#include "server/shard/projection_thread.h"
#include "server/shard/trim_policy.h"
#include "server/stores/archiver.h"
#include "store/tables.h"

namespace millrace::server {

class Driver final : public engine::Gateway, private node::ShardLoop::Hands {
 public:
  struct Parts {
    store::Store& store;
    const engine::TimeSource& time;
    engine::DurableObserver& observer;  // called on the shard's thread
    DriverProbe& probe;
    // Periodic work that may block on the store; called about once a second on the projection's
    // thread. May be null.
    std::function<void(Time now)> chores = nullptr;
    // The read models still need the journal's rows after this one. Called on the projection's
    // thread.
    std::function<Seq()> read_until;
    // Called when the drain is complete, the shard has resigned, or it has ended for good: see
    // status(). Called on the shard's thread.
    std::function<void()> on_settled;
    Logger log;
    const engine::LeaderLease* lease = nullptr;  // null: no other node can lead the shard
    FlushSemaphore* flush_semaphore = nullptr;   // null: it need not wait for other shards' flushes
    Archiver* archiver = nullptr;                // keeps the trimmed rows; null: there is none
  };

  // Recovers the shard and starts the threads. Everything in `parts` must outlive the driver.
  static Result<std::unique_ptr<Driver>> start(DriverOptions options, Parts parts);
  // Continues with a shard that already leads.
  static std::unique_ptr<Driver> lead(DriverOptions options, Parts parts,
                                      std::unique_ptr<engine::Shard> shard);
  // Stops, unless stop() was called. No request may come any more.
  ~Driver() override;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials = {}) override;
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override;
  // Submits a command from a row of the shard's inbox: see engine::Shard::offer.
  void submit(core::Command command, engine::FromInbox from, engine::ReplyPort& port,
              engine::Ticket ticket);

  // --- Thread-safe.
  // Starts to refuse new work, answers waiting requests, and commits and projects everything. Then
  // calls on_settled.
  void drain();
  // Hands over to a successor that is ready, when no request comes any more. First call
  // end_flushes(): no new flush starts, so the successor can use the tables; then `flushes_ended`
  // is called on the shard's thread. Then call resign(): it decides all requests that have come,
  // makes them durable, and calls on_settled.
  void end_flushes(std::function<void()> flushes_ended);
  void resign();
  // Another node leads: the shard ends, and waiting requests are told so.
  void depose(std::string why);
  // The lease may hold again.
  void look_at_lease();
  // After it returns, nothing more is decided, and nothing that was answered is lost. Later
  // requests are answered kNoLeader at once. Must be called from one thread.
  void stop();

  Time now() const { return loop_.clock().now(); }
  DriverStatus status() const;
  // After stop(): the time at which it stopped deciding.
  Time stopped_at() const { return stopped_at_; }
  // The journal is not trimmed while the result exists; used by a backup.
  std::shared_ptr<void> hold_trimming() {
    return std::make_shared<JournalThread::TrimHold>(*journal_);
  }

 private:
  using Mail = node::ShardLoop::Mail;
  // Input for the shard's thread.
  struct Mailbox {
    node::ShardLoop::News news;
    std::function<void()> flushes_ended;
    bool look = false;  // check the clock, the lease, and whether its turn to flush has come
    bool only_mail() const {
      return !news.appended && !news.flushed && !news.drain && !news.resign && !flushes_ended &&
             !news.depose && !look && !news.stop;
    }
  };

  Driver(DriverOptions options, Parts parts, std::unique_ptr<engine::Shard> shard);

  // --- On the shard's thread.
  void run();
  void wait_for_work(Mailbox& mailbox);
  void take(Mailbox& mailbox) MILLRACE_REQUIRES(mutex_);
  void publish(bool force);
  void end();

  // --- Called by the loop within a round.
  void append(const store::JournalRow& row) override;
  bool may_flush() override;
  void needs_no_flush() override { flush_turn_.reset(); }
  void flush(engine::Flush flush) override;
  void release(std::vector<engine::Outgoing> answers) override;
  engine::MemoryRoom memory_room(std::uint64_t to_reuse) override;
  void offers(const Mail& mail) override;

  void submit(Mail mail);
  static void tell_stopped(engine::ReplyPort& port, engine::Ticket ticket);
  // Changes the mailbox and wakes the shard's thread.
  template <typename Change>
  void post(Change change);

  // --- Called by the other threads.
  void on_append_done(store::AppendResult result, std::chrono::nanoseconds took);
  void on_flush_done(Status status, const engine::Flush& flush, std::chrono::nanoseconds took);
  void do_chores();
  void stamp(Time alive_at);
  void trim();

  const DriverOptions options_;
  Parts parts_;
  node::ShardLoop loop_;  // only for the shard's thread, except its clock
  LivenessFile liveness_;

  Mutex mutex_;
  WaitCondition wake_;
  Mailbox mailbox_ MILLRACE_GUARDED_BY(mutex_);
  bool waiting_ MILLRACE_GUARDED_BY(mutex_) = false;  // the shard's thread sleeps
  bool stopped_ MILLRACE_GUARDED_BY(mutex_) = false;  // the shard's thread has ended
  // The number of queued mails at which the shard's thread is woken.
  std::size_t wake_at_mail_ MILLRACE_GUARDED_BY(mutex_) = 1;

  // The shard's status for other threads.
  mutable Mutex status_mutex_;
  DriverStatus status_ MILLRACE_GUARDED_BY(status_mutex_);
  // The time at which the shard's thread will wake by itself. The chores use it to detect that the
  // clock ran on while the process was suspended.
  std::atomic<std::int64_t> wakeup_ms_{0};
  // Since when the shard's thread has been busy; read by the chores.
  std::atomic<std::int64_t> busy_since_ms_{std::numeric_limits<std::int64_t>::max()};

  // Only for the shard's thread.
  std::vector<std::pair<engine::ReplyPort*, std::vector<engine::Delivery>>> outgoing_;
  MemoryGauge memory_;
  std::atomic<bool> memory_is_short_ = false;
  engine::MemoryRoom memory_room_ = engine::MemoryRoom::kWide;
  std::unique_ptr<FlushSemaphore::Permit>
      flush_turn_;  // while a flush is due and waits for its turn
  std::function<void()> flushes_ended_;
  bool ended_ = false;
  std::size_t requests_since_row_ = 0;
  std::chrono::steady_clock::time_point published_;
  bool unpublished_ = true;
  Time stopped_at_{};
  // About the row in flight; the journal's thread reads them when the row is done.
  std::size_t row_bytes_ = 0;
  std::size_t row_requests_ = 0;

  // Only for the projection's thread.
  Seq synced_{};
  // The read models have read the rows up to this one, and have synced the result.
  Seq read_and_synced_{};
  std::chrono::steady_clock::time_point next_trim_;

  // Last, in this order: they must stop before the members that they use are destroyed.
  std::unique_ptr<JournalThread> journal_;
  std::unique_ptr<ProjectionThread> projection_;
  std::thread thread_;
};

}  // namespace millrace::server
