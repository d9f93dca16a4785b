// Known bugs that can be planted to show that the checks find them. Only a build with
// MILLRACE_MUTANTS (preset `mutants`) contains them; elsewhere mutated() is the constant false and
// the binary has none of this. `tools/soak mutants` plants each in turn.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class Mutant : std::uint8_t {
  kNone,
  kReplyBeforeCommit,    // answers leave before their batch is durable
  kRefusalBeforeCommit,  // only refusals leave before their batch is durable
  kSkipSync,             // the journal commits without a sync
  kRetrySync,            // a failed sync is retried and then trusted
  kChecksumIgnored,      // damaged journal rows are used
  kAppendIgnoresPredecessor,
  kAppendOverwrites,     // a row replaces another one at its seq
  kUnknownAppendedAnew,  // an append of unknown outcome is repeated as the next row
  kFlushUnfenced,        // the projection does not check the position of the stored progress
  kStalePrefetch,        // the tables' copy of a job takes precedence over memory's
  kSlotReleasedTwice,
  kSlotLeakedOnCancel,
  kWakeUpDropped,
  kTimersOnWallClock,
  kTokenUnchecked,
  kTokensRestart,  // each term numbers its tokens from the same start
  kAttemptCountedAtNack,
  kLeaseExpiresEarly,
  kLeasesExpiredAtRestart,
  kLateKey,  // an idempotency key is stored after its batch
  kPartialAtomicEnqueue,
  kBackoffOverflow,
  kLateAckOverwrites,   // an ended job takes another outcome
  kRetryWithoutRecord,  // the event needs a job that only the leader had
  kPauseForgotten,      // the flag is not durable
  kPayloadNormalised,   // white space in payloads is not kept
  kReadAfterLease,      // a node considers itself the leader after its lease has expired
  kTakeUncompared,      // a node takes over a shard regardless of its leader
  kForwardedTwice,      // any request that may have been executed is sent again
  kOutboxUnkeyed,       // a job passed on from an outbox has no idempotency key
  kOutboxAckedUnheard,  // the outbox job is acknowledged, whatever the reply
  kDoubtIgnored,        // a renewal of unknown outcome changes nothing
  kInboxRowKept,        // a row already taken into the journal stays in the inbox
  kInboxOrderIgnored,   // an inbox row is taken although an earlier one of its queue was deferred
  kRetryUnfenced,       // a generation begins while transactions may still finish the previous one
  kForgottenUnfenced,   // the finish of a forgotten job reopens its fence
  kClaimUnbounded,      // the payloads of a claim are not counted
  kForeignFinishBelieved,    // a transaction finishes a job with the token of another job's lease
  kFormatRaisedAlone,        // the renewing node sets the store's format alone
  kDeletedQueueKept,         // a deleted queue stays in the tables
  kFormatGateOpen,           // a shard writes records that other live nodes cannot read
  kCatalogEntryKept,         // a deleted entry of the catalog stays in the tables
  kScheduleProgressLost,     // a schedule's progress is only in memory
  kStaleScheduleFires,       // a schedule fires by its settings from before an edit
  kOverlapIgnored,           // a schedule fires while its previous job is unfinished
  kInstantEarly,             // a schedule fires half a second before its instant
  kMissedInstantKept,        // an instant skipped as missed is handled again
  kLimitSlotLate,            // a slot counts only once the lease that takes it has begun
  kLimitSlotLeaked,          // the end of a lease does not always free its slots
  kLimitBucketForgotten,     // the content of a bucket is only in memory
  kLimitOpeningDropped,      // a gate that opens wakes nobody
  kAuditLate,                // the entry of a change is in a later batch than the change
  kLimitKeysUnbounded,       // a limit remembers any number of keys
  kLimitPauseForgotten,      // a paused limit lets jobs through after a restart
  kOrderFreedAtRetry,        // the successors of a job with an order key run while it retries
  kWhyForgetsRate,           // a job that waits for a token has no reason to wait
  kSlowDownForgotten,        // a gate that a worker has slowed down is open again after a restart
  kRetryBudgetIgnored,       // a job that failed once starts without a token of the retry budget
  kBreakerForgotten,         // a breaker is closed again after a restart
  kBreakerProbesUnbounded,   // a half-open breaker lets everything through
  kDebounceShortensBackoff,  // a debounced job that failed starts before its backoff is over
  kFairCreditWoundUp,        // a fair key that could not run for a while catches up on it
  kFairTagForgotten,         // the tags of fair keys are only in memory
  kShareRaisedFirst,         // a share is granted before its previous shard has released it
  kOldShareBelieved,         // a shard accepts a share older than its own
  kSlotLeakedAtTakeover,     // a new leader of the home leaves recalled shares recalled
  kOperationCursorApart,     // a part of an operation advances in a separate commit
  kOperationCursorLost,      // a new leader restarts an operation
  kOperationRateWoundUp,     // an operation catches up on a pause
  kOperationTakesLater,      // a filter by state finds jobs that ended after the operation began
  kReportOfAnyRound,         // the end of an earlier round of a member's job counts
  kLateMemberDropped,        // a success after a failure of the same round does not count
  kLast,
};

#ifdef MILLRACE_MUTANTS
// The planted bug; set once, at start.
inline Mutant planted_mutant = Mutant::kNone;
inline bool mutated(Mutant mutant) { return planted_mutant == mutant; }
#else
constexpr bool mutated(Mutant) { return false; }
#endif

// "reply-before-commit" for kReplyBeforeCommit; empty: no mutant has this number.
std::string_view mutant_name(Mutant mutant);
// kNone: unknown name.
Mutant mutant_by_name(std::string_view name);

}  // namespace millrace
