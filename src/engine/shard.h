// The shard loop without its I/O: commands in, rows to append and changes to flush out, answers
// held back until what they rest on is durable. A driver with threads runs it in the server; the
// simulator runs the same object step by step.
//
// One thread owns it. The driver's cycle, in any order as things happen:
//   offer()         hands over what came in
//   step(now)       decides what waits, serves waiters and timers, encodes: fills the next row
//   next_append()   a row to append, if none is in flight; append it elsewhere, then append_done()
//   next_flush()    changes to project, if due and none is in flight; flush them elsewhere, then
//                   flush_done()
//   take_answers()  what may leave now
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/machine.h"
#include "engine/gateway.h"
#include "engine/inbox_order.h"
#include "engine/observer.h"
#include "engine/request.h"
#include "engine/store_format.h"
#include "store/journal.h"
#include "store/tables.h"

namespace millrace::engine {

struct ShardOptions {
  std::uint32_t shard = 0;  // its number: part of each journal row's checksum
  std::uint32_t shards = 1;
  core::MachineOptions machine;
  // What needs a newer level is refused: an older node would stop at its rows. Null: all who read
  // the store are this program.
  std::shared_ptr<const StoreFormat> store_format = nullptr;
  // New jobs are refused when this many changed jobs wait for the projection; at `hard` everything
  // but reads is.
  std::size_t max_unprojected = 2'000'000;
  std::size_t hard_max_unprojected = 4'000'000;
  // New jobs are refused when memory holds more bytes of payloads and results.
  std::uint64_t max_bytes_held = std::uint64_t{2} << 30;
  // What is known of workers: see Workers.
  std::size_t max_worker_bytes = std::size_t{32} << 20;
  // A flush starts when the oldest unprojected change is this old (or later, up to 800 ms after the
  // last one's start, where that took long), or would write `flush_rows` jobs.
  Duration flush_after{100};
  std::size_t flush_rows = 30'000;
};

// What the process's memory allows, as its owner measures it.
enum class MemoryRoom : std::uint8_t {
  kWide,
  kTight,  // payloads leave memory as soon as the tables hold them
  kNone,   // new jobs are refused, too
};

struct Outgoing {
  ReplyPort* port = nullptr;
  Delivery delivery;
};

// A flush for the projection thread: write `changes`, moving the progress from `from` to `to`.
struct Flush {
  std::shared_ptr<const core::Changes> changes;
  // They are all that changed since this row, which may lie before `from`: a leader that followed
  // its predecessor does not know exactly where that one's flushes ended.
  Seq base{};
  Seq from{};
  store::Progress to;
};

struct Recovered;

class Shard {
 public:
  // Of a store that nobody else writes: recovers it (recovery.h) and leads on. `alive_until`: the
  // last instant at which the former process is known to have served.
  static Result<std::unique_ptr<Shard>> recover(ShardOptions options, store::Store& store, Time now,
                                                std::optional<Time> alive_until,
                                                DurableObserver& observer);
  // Leads on from a state: decides the new term's first batch (its epoch, at least `at_least`, and
  // as much grace for live leases as the shard has been silent). Until that batch is durable nobody
  // is answered; if it is fenced, the former leader has added a row, and the state is to be loaded
  // anew. `tables` are used for reads only.
  static std::unique_ptr<Shard> lead(ShardOptions options, store::Tables& tables,
                                     Recovered recovered, Epoch at_least, Time now,
                                     Duration silent_for, DurableObserver& observer);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  void offer(Request request, ReplyPort& port, Ticket ticket);
  // A command that a row of the shard's inbox brings. If it changes anything, that row is gone with
  // the commit of the change; where it does not, and where it is refused, it is left. Jobs of one
  // round are made in the order in which they are offered.
  void offer(core::Command command, FromInbox from, ReplyPort& port, Ticket ticket);
  void cancel(ReplyPort& port, Ticket ticket);

  // Decides what was offered (as much as fits one body) unless a decided row already waits behind
  // one in flight, or one is in flight and little has been offered: that waits for append_done(),
  // to be committed together. So step() is due after offer(), after append_done(), after
  // flush_done() and at next_wakeup(). False: it decided nothing, what was offered waits on (or was
  // refused, where the journal has failed for too long).
  bool step(Time now);
  // Nothing could run since the last call that told the time (the process was stopped, or the clock
  // is moved ahead): live leases get that time back with the next step.
  void stood_still();

  // The row to append now; the pointer holds until append_done. Null: nothing, or one is in flight.
  const store::JournalRow* next_append();
  // kDurable releases answers; kUnknown and kFailed give the same row again from next_append() (the
  // driver paces it); kFenced and kBroken end the shard: ended() tells.
  void append_done(const store::AppendResult& result, Time now);

  // One is outstanding that may be written now or once it is durable, or changes should be taken.
  bool flush_due(Time now);
  // Takes them, if need be. None: nothing may be written now.
  std::optional<Flush> next_flush(Time now);
  void flush_done(const Status& status, Time now);

  std::vector<Outgoing> take_answers();

  // When step() has something to do by itself (a timer, a wait that ends), or `may_flush` and a
  // flush falls due.
  std::optional<Time> next_wakeup(bool may_flush = true) const;

  // New work is answered kDraining, waiting claims and watches are answered now. Acks, heartbeats
  // and reads go on.
  void drain();
  // Nothing decided waits for its commit, and the projection holds it all.
  bool idle() const;
  // Before another node leads: waits are answered now and none begins; what was offered is decided
  // as ever, to the end: quiet().
  void resign();
  // Nothing waits to be decided or to be durable.
  bool quiet() const;
  // Another node leads, or may: the shard has ended. Who waits is told kNoLeader; kUnknown where
  // something was decided and is not known to be durable.
  void depose(std::string why);
  // Nothing may be decided at the moment: who waits for that is told so.
  void turn_away(Unavailable why);
  // All who wait (for a job, a job's end, rows, the projection) are told so now, whatever their
  // deadlines. Before drain() or resign() where what the shard knows may be out of date.
  void refuse_waits(Unavailable why);
  // Asks for a flush now, whatever its age.
  void request_flush();

  // kWide at first.
  void set_memory_room(MemoryRoom room);
  // Why the shard stopped for good, if it did.
  const std::optional<std::string>& ended() const;
  // It stopped because its journal can't be trusted: who loads it anew meets the same again, until
  // somebody has mended what is wrong.
  bool broken() const;

  struct Figures {
    core::StateCounts counts{};
    std::size_t jobs_in_memory = 0;
    std::size_t live_leases = 0;
    std::size_t waiting_claims = 0;
    std::size_t keys = 0;
    std::size_t unprojected = 0;
    std::uint64_t payload_bytes = 0;
    Seq applied{};
    Seq durable{};
    Seq projected{};
    // Since when the tables lack the oldest row that they lack, of this term's; none: they lack
    // none.
    std::optional<Time> behind_since;
    Epoch epoch{};
    // Since when live leases are owed time that no durable row gives them yet: nobody who comes
    // after this process may take it to have served any later. None: nothing is owed.
    std::optional<Time> owed_since;

    // The age of what the tables lack and is durable.
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
