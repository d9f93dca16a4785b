// The state machine of a shard: all live scheduling state, in memory, deterministic. decide() reads
// the state and returns events, each already applied; only apply() changes state. No I/O, no
// threads, no clock, no randomness.
//
// One thread, one owner; not movable. The same commands at the same times give the same events, on
// any compiler and with any hash seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/bounds.h"
#include "core/changes.h"
#include "core/command.h"
#include "core/event.h"
#include "core/reply.h"
#include "core/schedules/firing.h"

namespace millrace::core {

class Submissions;    // workflows/submissions.h
class WorkflowIndex;  // workflows/workflow_index.h

struct MachineOptions {
  Retention default_retention;  // for queues that their first job creates
  std::uint64_t max_keys = kDefaultMaxKeys;
  std::size_t max_queues = kMaxQueues;
  // When more bytes of payloads and results than this are in memory, the machine drops payloads
  // that the tables hold, the youngest first. This changes no decision and no event.
  std::uint64_t keep_bytes = std::uint64_t{1} << 30;
  std::uint64_t max_claim_bytes = kMaxClaimBytes;
  std::size_t max_held_back = kMaxHeldBackPerClaim;
  std::size_t max_limits = kMaxLimits;
  std::size_t max_limit_keys = kDefaultMaxLimitKeys;
  std::optional<Duration> audit_retention = std::nullopt;  // of the tables' rows; none: for ever
  std::uint32_t shard = 0;                                 // of `shards`, which share the limits
  std::uint32_t shards = 1;
  // Outlives the machine; null: it has no workflows.
  const Submissions* submissions = nullptr;
};

// Jobs that only the tables hold, read for one step. A requested id that is missing here does not
// exist.
class Prefetched {
 public:
  virtual ~Prefetched() = default;
  virtual const Job* find(const JobId& id) const = 0;
  // True: no transaction of an earlier generation can finish the job any more. False: one has
  // finished it, or still may.
  virtual bool fenced(const JobId&) const { return true; }
  // A workflow that only the tables hold, whole.
  virtual const WorkflowImage* workflow(const JobId&) const { return nullptr; }
};

// Whether new jobs are admitted. The engine decides this from facts that the machine cannot see.
enum class Admission : std::uint8_t {
  kOpen,
  kClosed,  // the tables lag behind the journal
  kMemoryFull,
};

// A job that ended within the current step, for callers that wait for its end.
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

  // Appends the ids that the decision on `command` needs from the tables: jobs that are neither in
  // memory nor known to be deleted, and jobs in memory without their payload.
  void needed(const Command& command, std::vector<JobId>& out) const;

  // Workflows that the decision needs whole from the tables.
  std::vector<JobId> needed_workflows(const Command& command) const;

  // Decides one command. `now` must not be before the latest time seen. Appends the resulting
  // events, which are already applied, to `events`.
  Reply decide(const Command& command, Time now, const Prefetched& prefetched, Admission admission,
               std::vector<Event>& events);

  // How many jobs of a queue and of these types (empty: any) a claim at `now` could get, counted up
  // to `most`. Jobs that became claimable by time alone since the last tick() are not counted.
  std::size_t claimable(std::string_view queue, const std::vector<SharedBytes>& types, Time now,
                        std::size_t most) const;

  // Performs the actions due at `now`: jobs become ready or expire, leases end, keys are freed. At
  // most kMaxDuePerTick actions; call again while next_timer() <= now.
  void tick(Time now, std::vector<Event>& events);
  // When tick() next has work.
  std::optional<Time> next_timer() const;

  // Schedules that need fire() at `wall`, at most `most`, in order of time; and the time after
  // `after` when another one does. Both times are of the wall clock.
  std::vector<SharedBytes> due_schedules(Time wall, std::size_t most) const;
  std::optional<Time> next_schedule(Time after) const;
  // Null: there is no such schedule. Valid until the next change.
  const Schedule* schedule(std::string_view name) const;
  // The job belongs to this shard and has not ended.
  bool lives(const JobId& id) const;
  // Schedules with an instant that waits for the end of a job on another shard, by name.
  std::vector<SharedBytes> schedules_waiting_elsewhere() const;
  // Handles the due instants of a schedule. No-op if the schedule has changed since.
  void fire(const Firing& firing, Time now, Admission admission, std::vector<Event>& events);

  // Call at the end of each step that may have ended jobs: makes messages of the ends of members
  // whose workflows live on other shards. Their row must be that of the ends.
  void report_members(Time now, std::vector<Event>& events);
  // Decides what the ends of members have made due, at most `limit` releases and skips.
  void advance_workflows(std::size_t limit, Time now, Admission admission,
                         std::vector<Event>& events);
  // Some workflows may have something to decide.
  bool has_pending_workflows() const;

  // This shard's messages about shares of limits. Messages may contain only durable facts, so the
  // sender must wait for the newest row.
  std::vector<ShareMessage> take_share_messages(Time now);
  std::optional<Time> next_share_message() const;

  // A term begins at `now`. Its tokens start above all tokens issued before.
  void start_epoch(Epoch epoch, Time now, std::vector<Event>& events);
  // Extends live leases by `by`: the length of an outage during which the shard could answer
  // nobody, or of a step of the clock. The outage must not begin before the shard's last event.
  void extend_leases(Duration by, Time now, std::vector<Event>& events);

  // Replay: applies an event of the journal at its batch's time. CHECKs its preconditions.
  void apply(const Event& event, Time at);

  // --- For the engine, between the commands of a step.

  // The queues that gained claimable jobs since the last call, in that order, each once.
  std::vector<SharedBytes> take_woken_queues();
  // The jobs that ended or were deleted since the last call.
  std::vector<Ending> take_endings();
  // Frees the jobs forgotten on ending. Until then view() still finds them.
  void end_step();

  // Null: not in memory. A reply with Detail::kJobs carries the same view. The payload is empty if
  // memory has dropped it; the tables have it.
  std::shared_ptr<const JobView> view(const JobId& id) const;
  // True: the job was deleted and the tables may still show it.
  bool is_tombstone(const JobId& id) const;
  // A worker's running jobs, in order of their tokens, without members that may be large.
  std::vector<JobView> running_jobs(const SharedBytes& worker) const;
  // Workers that hold leases, by name.
  std::vector<SharedBytes> workers_with_leases() const;

  // --- The projection.

  // Takes all changes since the last call. The machine keeps every job in them until
  // changes_stored() is called. Precondition: no other Changes is outstanding.
  std::unique_ptr<const Changes> take_changes();
  // The tables hold the Changes taken last. Ended jobs not touched since then leave memory, as do
  // tombstones, and payloads beyond MachineOptions::keep_bytes.
  void changes_stored();
  // Replaces MachineOptions::keep_bytes from now on.
  void set_keep_bytes(std::uint64_t bytes);
  // Drops payloads that the tables hold while more than keep_bytes are in memory. Examines `most`
  // jobs; the next call continues there. False: it has examined all of them since
  // restart_letting_go().
  bool let_go_of_payloads(std::size_t most);
  void restart_letting_go();
  // Between follow() and lead() another node writes the tables. They may then hold jobs that this
  // machine has never projected, so each forgotten job is added to the deletions and the
  // tombstones.
  void follow();
  void lead();
  // The number of jobs that wait to be projected, including short-lived jobs that need no row.
  std::size_t unprojected() const;
  // The number of rows that a flush would write or delete now.
  std::size_t rows_to_flush() const;

  // --- Recovery: call these in this order, then apply() for each event after the projection.
  void load_facts(const ShardFacts& facts);
  void load_queue(const Queue& queue);
  void load_job(const Job& job);  // not terminal
  void load_key(const KeyRow& row);
  void load_held_unique(const HeldUnique& unique);
  void load_ended_lease(const EndedLease& lease);
  void load_schedule(const Schedule& schedule);
  void load_catalog_entry(const CatalogEntry& entry);
  void load_operation(const OperationPart& part);
  void load_workflow(const WorkflowImage& whole);  // that may change
  void load_audited(const AuditRow& newest);
  // Both after the queues and before the jobs.
  void load_limit(const Limit& limit);
  void load_bucket(const BucketRow& row);
  // After loading: a queue whose counts differ from its loaded jobs.
  struct Miscount {
    std::string_view queue;  // valid while the machine exists
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
  std::size_t schedules() const;
  std::uint64_t audited() const;  // entries of the audit, ever
  std::size_t broken_schedules() const;
  const WorkflowIndex& workflows() const;
  const OperationIndex& operations() const;
  StateCounts counts() const;  // over all queues
  // The bytes of payloads and results in memory.
  std::uint64_t bytes_held() const;
  // Allocated but empty bytes; new jobs use them first.
  std::uint64_t bytes_to_reuse() const;
  // A digest of all state that decides later behaviour: equal for equal states, however they were
  // reached. Payloads are left out, since it decides nothing whether memory holds them.
  Fingerprint digest() const;
  // Recomputes every index from the jobs and CHECKs that they agree (S1, S4, L1). Slow; for tests
  // and the simulator.
  void check_invariants() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::core
