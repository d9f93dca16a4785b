// The state machine of a shard: all live scheduling state, in memory, deterministic. decide() reads
// state and says what happens as events, each applied at once; apply() alone changes state. No I/O,
// no threads, no clock, no randomness.
//
// One thread, one owner; not movable. A run of the same commands at the same times gives the same
// events, on any compiler and with any hash seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/changes.h"
#include "core/command.h"
#include "core/event.h"
#include "core/limits.h"
#include "core/reply.h"

namespace millrace::core {

struct MachineOptions {
  Retention default_retention;  // of queues made by their first job
  std::uint64_t max_keys = kDefaultMaxKeys;
  std::size_t max_queues = kMaxQueues;
  // With more bytes of payloads and results in memory, a payload is let go of once the tables hold
  // it, the youngest first. It changes no decision and no event.
  std::uint64_t keep_bytes = std::uint64_t{1} << 30;
  std::uint64_t max_claim_bytes = kMaxClaimBytes;
};

// Jobs that are in the tables alone, read for one step. An id that was asked for and is not here
// does not exist.
class Prefetched {
 public:
  virtual ~Prefetched() = default;
  virtual const Job* find(const JobId& id) const = 0;
  // Whether no transaction of an earlier generation can finish the job any more. False: one has, or
  // may yet.
  virtual bool fenced(const JobId&) const { return true; }
};

// Whether new jobs are taken. The engine says so from what the machine can't see.
enum class Admission : std::uint8_t { kOpen, kClosed };

// A job that ended within the current step, for those who wait for it.
struct Ending {
  JobId id;
  bool deleted = false;
};

class Machine {
 public:
  explicit Machine(MachineOptions options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The ids that deciding `command` needs from the tables: not in memory, not known to be gone; or
  // in memory without their payload.
  void wanted(const Command& command, std::vector<JobId>& out) const;

  // Decides one command at `now` (not before the last time seen), appends what happened to
  // `events`, already applied.
  Reply decide(const Command& command, Time now, const Prefetched& prefetched, Admission admission,
               std::vector<Event>& events);

  // How many jobs of a queue and of these types (empty: any) a claim at `now` could be given,
  // counted up to `most`.
  std::size_t claimable(std::string_view queue, const std::vector<SharedBytes>& types, Time now,
                        std::size_t most) const;

  // What is due at `now`: jobs become ready, expire, leases end, keys are freed. At most
  // kMaxDuePerTick actions; call again while next_timer() <= now.
  void tick(Time now, std::vector<Event>& events);
  // When tick() has something to do next.
  std::optional<Time> next_timer() const;

  // A term begins at `now`: tokens start above any given before.
  void start_epoch(Epoch epoch, Time now, std::vector<Event>& events);
  // Live leases get `by` more: the length of a stretch in which nobody could be answered, or of a
  // step of the clock. It must not begin before the shard's last event.
  void extend_leases(Duration by, Time now, std::vector<Event>& events);

  // Replay: an event of the journal, at its batch's time. CHECKs what must hold.
  void apply(const Event& event, Time at);

  // --- What the engine asks between commands, within a step.

  // Queues that gained claimable jobs since the last call, in the order in which they did, each
  // once.
  std::vector<SharedBytes> take_woken_queues();
  // Jobs that reached a terminal state, or were deleted, since the last call.
  std::vector<Ending> take_endings();
  // Jobs forgotten at once on ending can still be viewed until the step is over.
  void end_step();

  // Null: not in memory. With Detail::kJobs in a reply it is the same view. Its payload is empty
  // where memory has let go of it: the tables have it.
  std::shared_ptr<const JobView> view(const JobId& id) const;
  // True: `id` was deleted and the tables may still show it.
  bool is_tombstone(const JobId& id) const;
  // Running jobs of a worker, in order of their tokens, without what may be large.
  std::vector<JobView> running_jobs(const SharedBytes& worker) const;
  // Workers that hold leases, by name.
  std::vector<SharedBytes> workers_with_leases() const;

  // --- The projection.

  // Takes all that changed since the last call. Until changes_stored() is called the machine keeps
  // every job in it. Precondition: no other Changes is outstanding.
  std::unique_ptr<const Changes> take_changes();
  // The tables hold them: ended jobs not touched since leave memory, tombstones too, and payloads
  // beyond MachineOptions::keep_bytes.
  void changes_stored();
  // From now on so many bytes are kept, whatever the options say.
  void set_keep_bytes(std::uint64_t bytes);
  // Lets go of payloads that the tables hold while more than that are held, looking at `most` jobs;
  // goes on there the next time. False: all have been looked at since restart_letting_go().
  bool let_go_of_payloads(std::size_t most);
  void restart_letting_go();
  // From follow() until lead() another writes the tables. They may then hold jobs that this machine
  // has never projected: each one that is forgotten is among the deletions, and is a tombstone.
  void follow();
  void lead();
  // Jobs waiting to be projected, with those that came and went and of which nothing is written.
  std::size_t unprojected() const;
  // What a flush would have to write or delete now.
  std::size_t rows_to_flush() const;

  // --- Recovery, in this order, then apply() for each event after the projection.
  void load_facts(const ShardFacts& facts);
  void load_queue(const Queue& queue);
  void load_job(const Job& job);  // not terminal
  void load_key(const KeyRow& row);
  void load_held_unique(const HeldUnique& unique);
  void load_ended_lease(const EndedLease& lease);
  // Once all has been loaded: a queue that has counted other jobs than were loaded.
  struct Miscount {
    std::string_view queue;  // holds while the machine does
    State state{};
    std::uint64_t counted = 0;
    std::uint64_t loaded = 0;
  };
  std::optional<Miscount> miscount() const;

  // --- Figures.
  ShardFacts facts() const;
  std::size_t jobs_in_memory() const;
  std::size_t live_leases() const;
  std::size_t keys_held() const;
  std::size_t queues() const;
  StateCounts counts() const;  // over all queues
  // Bytes of payloads and results held.
  std::uint64_t bytes_held() const;
  // Bytes that are allocated and empty: new jobs fill them first.
  std::uint64_t bytes_to_reuse() const;
  // A digest of everything that decides later behaviour: equal for equal states, whatever way they
  // were reached. Payloads are not in it: whether memory holds them decides nothing.
  Fingerprint digest() const;
  // Recomputes every index from the jobs and compares (S1, S4, L1): CHECKs. Slow; for tests and the
  // simulator.
  void check_invariants() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::core
