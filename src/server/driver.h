// Runs a shard: gives its loop (node/shard_loop.h) a thread, the journal and the projection one
// each, and the time.
// Requests come in through the Gateway from any thread; answers go out by port, one delivery for
// each port and commit.
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
#include "engine/gateway.h"
#include "engine/lease.h"
#include "engine/shard.h"
#include "engine/shard_clock.h"
#include "node/shard_loop.h"
#include "server/driver_status.h"
#include "server/flush_turns.h"
#include "server/journal_thread.h"
#include "server/liveness.h"
#include "server/memory_gauge.h"
#include "server/projection_thread.h"
#include "server/trim_policy.h"
#include "store/tables.h"

namespace millrace::server {

class Driver final : public engine::Gateway, private node::ShardLoop::Hands {
 public:
  struct Parts {
    store::Store& store;
    const engine::TimeSource& time;
    engine::DurableObserver& observer;  // called on the shard's thread
    DriverProbe& probe;
    // Regular work that may block for a read or write of the store; about once a second, on the
    // projection's thread.
    std::function<void(Time now)> chores;
    // Something is over: all is drained, the shard has resigned, or it has ended for good. status()
    // says which. On the shard's thread.
    std::function<void()> on_settled;
    Logger log;
    const engine::Lease* lease = nullptr;  // null: nobody else can lead the shard
    FlushTurns* flush_turns = nullptr;     // null: it waits for no other shard's flush
  };

  // Recovers the shard and starts the threads. All of `parts` must outlive the driver.
  static Result<std::unique_ptr<Driver>> start(DriverOptions options, Parts parts);
  // Goes on with a shard that was made to lead.
  static std::unique_ptr<Driver> lead(DriverOptions options, Parts parts,
                                      std::unique_ptr<engine::Shard> shard);
  // Stops if that was not done; no request may come any more.
  ~Driver() override;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials = {}) override;
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override;
  // What a row of the shard's inbox brings: see engine::Shard::offer.
  void submit(core::Command command, engine::FromInbox from, engine::ReplyPort& port,
              engine::Ticket ticket);

  // --- Any thread.
  // New work is refused from now on, waits are answered, everything is committed and projected;
  // then comes on_settled.
  void drain();
  // For a successor that is ready, in this order, when no request comes any more: no flush is
  // begun, so that the tables are free for it; then all that has come is decided and made durable,
  // and on_settled comes. `flushes_ended`: on the shard's thread.
  void end_flushes(std::function<void()> flushes_ended);
  void resign();
  // Another node leads: the shard ends, and who waits is told.
  void depose(std::string why);
  // The lease may hold again.
  void look_at_lease();
  // Nothing is decided any more, from its return on, and nothing that was answered is lost. Who
  // asks from then on is told kNoLeader, at once. From one thread.
  void stop();

  Time now() const { return loop_.clock().now(); }
  DriverStatus status() const;
  // Keeps the journal from being trimmed, for a backup.
  std::shared_ptr<void> hold_trimming() {
    return std::make_shared<JournalThread::TrimHold>(*journal_);
  }

 private:
  using Mail = node::ShardLoop::Mail;
  // What has come for the shard's thread.
  struct Inbox {
    node::ShardLoop::News news;
    std::function<void()> flushes_ended;
    bool look = false;  // at the clock, the lease, or whose turn to flush it is
    bool only_mail() const {
      return !news.appended && !news.flushed && !news.drain && !news.resign && !flushes_ended &&
             !news.depose && !look && !news.stop;
    }
  };

  Driver(DriverOptions options, Parts parts, std::unique_ptr<engine::Shard> shard);

  // --- The shard's thread.
  void run();
  void wait_for_work(Inbox& inbox);
  void take(Inbox& inbox) MILLRACE_REQUIRES(mutex_);
  void publish(bool force);
  void end();

  // --- The loop's, in a round.
  void append(const store::JournalRow& row) override;
  bool may_flush() override;
  void needs_no_flush() override { flush_turn_.reset(); }
  void flush(engine::Flush flush) override;
  void release(std::vector<engine::Outgoing> answers) override;
  engine::MemoryRoom memory_room(std::uint64_t to_reuse) override;
  void offers(const Mail& mail) override;

  void submit(Mail mail);
  static void tell_stopped(engine::ReplyPort& port, engine::Ticket ticket);
  // Changes the inbox and wakes the shard's thread.
  template <typename Change>
  void post(Change change);

  // --- The other threads' reports.
  void on_append_done(store::AppendResult result, std::chrono::nanoseconds took);
  void on_flush_done(Status status, const engine::Flush& flush, std::chrono::nanoseconds took);
  void do_chores();
  void stamp(Time alive_at);
  void trim();

  const DriverOptions options_;
  Parts parts_;
  node::ShardLoop loop_;  // the shard's thread's alone, but for its clock
  LivenessFile liveness_;

  Mutex mutex_;
  WaitCondition wake_;
  Inbox inbox_ MILLRACE_GUARDED_BY(mutex_);
  bool waiting_ MILLRACE_GUARDED_BY(mutex_) = false;  // the shard's thread sleeps
  bool stopped_ MILLRACE_GUARDED_BY(mutex_) = false;  // it has ended
  // So much mail wakes it.
  std::size_t wake_at_mail_ MILLRACE_GUARDED_BY(mutex_) = 1;

  // What others may know of the shard.
  mutable Mutex status_mutex_;
  DriverStatus status_ MILLRACE_GUARDED_BY(status_mutex_);
  // When the shard's thread means to wake by itself, so that the chores notice a clock that ran on
  // meanwhile.
  std::atomic<std::int64_t> wakeup_ms_{0};
  // Since when it has not waited for work, for the chores.
  std::atomic<std::int64_t> busy_since_ms_{std::numeric_limits<std::int64_t>::max()};

  // The shard's thread's own.
  std::vector<std::pair<engine::ReplyPort*, std::vector<engine::Delivery>>> outgoing_;
  MemoryGauge memory_;
  std::atomic<bool> memory_is_short_ = false;
  engine::MemoryRoom memory_room_ = engine::MemoryRoom::kWide;
  std::unique_ptr<FlushTurns::Place> flush_turn_;  // while a flush is due, and waits for it
  std::function<void()> flushes_ended_;
  bool ended_ = false;
  std::size_t requests_since_row_ = 0;
  std::chrono::steady_clock::time_point published_;
  bool unpublished_ = true;
  Time stopped_at_{};
  // Of the row in flight; read by the journal's thread when it is done.
  std::size_t row_bytes_ = 0;
  std::size_t row_requests_ = 0;

  // The projection's thread's own.
  Seq synced_{};
  std::chrono::steady_clock::time_point next_trim_;

  // Last, and in this order: they stop before what they use goes.
  std::unique_ptr<JournalThread> journal_;
  std::unique_ptr<ProjectionThread> projection_;
  std::thread thread_;
};

}  // namespace millrace::server
