// The shard loop without I/O. Commands go in; rows to append and changes to flush come out; answers
// are held until the rows that they depend on are durable. In the server a driver with threads runs
// it; the simulator runs the same object step by step.
//
// One thread owns it. The driver's cycle, in any order as things happen:
//   offer()         hands over requests that came in
//   step(now)       decides waiting requests, serves waiters and timers, fills the next row
//   next_append()   a row to append, if none is in flight; append it, then call append_done()
//   next_flush()    changes to project, if due and none is in flight; flush them, then call
//                   flush_done()
//   take_answers()  the answers that may leave now
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/machine.h"
#include "core/workflows/workflow_index.h"
#include "engine/observer.h"
#include "engine/request.h"
#include "engine/routing/gateway.h"
#include "engine/schedules/zones.h"
#include "engine/shard/inbox_order.h"
#include "engine/store_format.h"
#include "store/journal.h"
#include "store/tables.h"

namespace millrace::engine {

struct ShardOptions {
  std::uint32_t shard = 0;  // part of each journal row's checksum
  std::uint32_t shards = 1;
  core::MachineOptions machine;
  // A request that needs a newer format level is refused, since an older node would stop at its
  // rows. Null: only this program reads the store.
  std::shared_ptr<const StoreFormat> store_format = nullptr;
  // New jobs are refused when this many changed jobs wait for the projection. Above `hard`,
  // everything but reads is refused.
  std::size_t max_unprojected = 2'000'000;
  std::size_t hard_max_unprojected = 4'000'000;
  // New jobs are refused when memory holds more bytes of payloads and results than this.
  std::uint64_t max_bytes_held = std::uint64_t{2} << 30;
  // The most bytes of workers' self-descriptions: see Workers.
  std::size_t max_worker_bytes = std::size_t{32} << 20;
  // For schedules: their zones, and the wall clock. Without a clock the shard's time is the wall
  // clock's; without zones there is only UTC.
  std::shared_ptr<Zones> zones = nullptr;
  const TimeSource* time = nullptr;
  // A flush starts when the oldest unprojected change is this old, or when the flush would write
  // `flush_rows` jobs. After a slow flush it may start later, up to 800 ms after the start of the
  // last one.
  Duration flush_after{100};
  std::size_t flush_rows = 30'000;
};

// How much memory the process has left, as measured by the owner of the shard.
enum class MemoryRoom : std::uint8_t {
  kWide,
  kTight,   // payloads leave memory as soon as the tables hold them; schedules slow down
  kScarce,  // schedules wait, so that the rest is for submissions
  kNone,    // new jobs are refused as well
};

struct Outgoing {
  ReplyPort* port = nullptr;
  Delivery delivery;
};

// A flush for the projection thread: write `changes`, moving the progress from `from` to `to`.
struct Flush {
  std::shared_ptr<const core::Changes> changes;
  // The changes are everything after this row, which may be before `from`: a leader that followed
  // its predecessor does not know exactly where the predecessor's flushes ended.
  Seq base{};
  Seq from{};
  store::Progress to;
};

struct Recovered;

class Shard {
 public:
  // For a store with no other writer: recovers its state (recovery.h) and leads. `alive_until`: the
  // last time at which the former process is known to have served.
  static Result<std::unique_ptr<Shard>> recover(ShardOptions options, store::Store& store, Time now,
                                                std::optional<Time> alive_until,
                                                DurableObserver& observer);
  // Leads from a given state. Decides the term's first batch: its epoch, at least `at_least`, and
  // an extension of live leases by the time that the shard was silent. Nothing is answered until
  // that batch is durable. If it is fenced, the former leader has added a row, and the caller must
  // load the state again. `tables` are only read.
  static std::unique_ptr<Shard> lead(ShardOptions options, store::Tables& tables,
                                     Recovered recovered, Epoch at_least, Time now,
                                     Duration silent_for, DurableObserver& observer);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  void offer(Request request, ReplyPort& port, Ticket ticket);
  // Offers a command from a row of the shard's inbox. If the command changes something, the commit
  // of that change also deletes the row; if it changes nothing or is refused, the row stays. Jobs
  // of one round are made in the order in which they are offered.
  void offer(core::Command command, FromInbox from, ReplyPort& port, Ticket ticket);
  void cancel(ReplyPort& port, Ticket ticket);

  // Decides the offered requests, as many as fit one row. It waits for append_done() if a decided
  // row already waits behind the one in flight, or if a row is in flight and few requests were
  // offered, so that these are committed together. So step() is due after offer(), append_done()
  // and flush_done(), and at next_wakeup(). False: it decided nothing; the requests keep waiting
  // (or were refused, because the journal has failed for too long).
  bool step(Time now);
  // Nothing could run since the last call that gave the time (the process was stopped, or the clock
  // is being moved ahead). The next step extends live leases by that time.
  void stood_still();

  // The row to append now; the pointer is valid until append_done(). Null: there is none, or one is
  // in flight.
  const store::JournalRow* next_append();
  // kDurable releases answers. After kUnknown and kFailed next_append() gives the same row again
  // (the driver sets the pace). kFenced and kBroken end the shard: see ended().
  void append_done(const store::AppendResult& result, Time now);

  // Whether a flush is outstanding that may be written now or once it is durable, or changes should
  // be taken.
  bool flush_due(Time now);
  // Takes changes if necessary. None: nothing may be written now.
  std::optional<Flush> next_flush(Time now);
  void flush_done(const Status& status, Time now);

  std::vector<Outgoing> take_answers();

  // When step() next has work without a call (a timer, the end of a wait) or, if `may_flush`, when
  // a flush falls due.
  std::optional<Time> next_wakeup(bool may_flush = true) const;

  // From now on new work is answered kDraining; waiting claims and watches are answered at once.
  // Acks, heartbeats and reads continue.
  void drain();
  // No decision waits for its commit, and the projection is complete.
  bool idle() const;
  // Called before another node leads. All waits are answered now and no new ones begin. Requests
  // that were offered are still decided, until quiet().
  void resign();
  // No request waits to be decided, and no decision waits to become durable.
  bool quiet() const;
  // Another node leads, or may lead: the shard ends. Waiting requests are answered kNoLeader, or
  // kUnknown if a row with their effect may or may not be durable.
  void depose(std::string why);
  // The shard must not decide anything at the moment: answers requests that wait for a decision
  // with `why`.
  void turn_away(Unavailable why);
  // Answers all waits (for a job, a job's end, rows, the projection) now with `why`, whatever their
  // deadlines. Call before drain() or resign() if the shard's state may be out of date.
  void refuse_waits(Unavailable why);
  // Makes a flush due now.
  void request_flush();

  // Initially kWide.
  void set_memory_room(MemoryRoom room);
  // Why the shard has stopped for good, if it has.
  const std::optional<std::string>& ended() const;
  // It stopped because its journal cannot be trusted. Loading it again has the same result until an
  // operator has repaired the cause.
  bool broken() const;

  struct Figures {
    core::StateCounts counts{};
    std::size_t jobs_in_memory = 0;
    std::size_t live_leases = 0;
    std::size_t waiting_claims = 0;
    std::size_t keys = 0;
    std::size_t schedules = 0;
    std::size_t broken_schedules = 0;
    // When the next schedule is due, by the wall clock; a time in the past shows how late it is.
    std::optional<Time> schedule_due;
    // Since this term began, by core::RunOutcome.
    std::array<std::uint64_t, 5> schedule_runs{};
    // Parts of operations, by core::OperationState; and the jobs touched since this term began.
    std::array<std::size_t, core::kOperationStates> operations{};
    std::uint64_t operation_jobs_changed = 0;
    std::uint64_t operation_jobs_failed = 0;
    core::WorkflowTotals workflows;  // of those in memory
    std::uint64_t audited = 0;       // entries of the audit, ever
    std::size_t unprojected = 0;
    std::uint64_t payload_bytes = 0;
    Seq applied{};
    Seq durable{};
    Seq projected{};
    // When the oldest of this term's rows that the tables lack was decided; none: they lack none.
    std::optional<Time> behind_since;
    Epoch epoch{};
    // The start of the time by which live leases must be extended and that no durable row covers
    // yet. A later process must not assume that this one served after that instant. None: no
    // extension is due.
    std::optional<Time> owed_since;

    // The age of the oldest durable change that the tables lack.
    Duration projection_lag(Time now) const {
      if (projected >= durable || !behind_since) return Duration{0};
      return std::max(now - *behind_since, Duration{0});
    }
  };
  Figures figures() const;

  const core::Machine& machine() const;

 private:
  class Impl;
  explicit Shard(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::engine
