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
  kRefusalBeforeCommit,  // only refusals do
  kSkipSync,             // the journal commits without a sync
  kRetrySync,            // a failed sync is retried and then trusted
  kChecksumIgnored,      // damaged journal rows are used
  kAppendIgnoresPredecessor,
  kAppendOverwrites,     // a row replaces another one at its seq
  kUnknownAppendedAnew,  // an append of unknown outcome is repeated as the next row
  kFlushUnfenced,        // the projection does not check where the progress stands
  kStalePrefetch,        // the tables' job wins over memory's
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
  kReadAfterLease,      // a node considers itself the leader after its lease is over
  kTakeUncompared,      // a shard is taken whoever leads it
  kForwardedTwice,      // a request that was perhaps done is sent again, whatever it is
  kOutboxUnkeyed,       // a job passed on from an outbox has no idempotency key
  kOutboxAckedUnheard,  // the outbox job is acknowledged, whatever the answer
  kDoubtIgnored,        // a renewal of unknown outcome changes nothing
  kInboxRowKept,        // a row that a journal row has taken stays in the inbox
  kInboxOrderIgnored,   // a row of the inbox is taken after an earlier one of its queue was put off
  kRetryUnfenced,       // a generation begins while transactions may still finish the previous one
  kForgottenUnfenced,   // the finish of a forgotten job reopens its fence
  kClaimUnbounded,      // the payloads of a claim are not counted
  kForeignFinishBelieved,    // a transaction finishes a job with the token of another job's lease
  kFormatRaisedAlone,        // the store's format is that of whichever node renews
  kDeletedQueueKept,         // a deleted queue stays in the tables
  kFormatGateOpen,           // a shard writes what other nodes present can't read
  kCatalogEntryKept,         // a deleted entry of the catalog stays in the tables
  kScheduleProgressLost,     // what a schedule has dealt with is in memory only
  kStaleScheduleFires,       // a schedule fires as it was before an edit
  kOverlapIgnored,           // a schedule fires while the job before it lives
  kInstantEarly,             // a schedule fires half a second before its instant
  kMissedInstantKept,        // an instant that was skipped as missed is dealt with again
  kLimitSlotLate,            // a slot counts only once the lease that takes it has begun
  kLimitSlotLeaked,          // the end of a lease does not always free its slots
  kLimitBucketForgotten,     // what a bucket holds is in memory only
  kLimitOpeningDropped,      // a gate that opens wakes nobody
  kAuditLate,                // the entry of a change is in a later batch than the change
  kLimitPauseForgotten,      // a paused limit lets jobs through after a restart
  kOrderFreedAtRetry,        // the successors of a job with an order key run while it retries
  kWhyForgetsRate,           // a job that waits for a token has no reason to wait
  kSlowDownForgotten,        // a gate that a worker has slowed down is open again after a restart
  kRetryBudgetIgnored,       // a job that failed once starts without a token of the retry budget
  kBreakerForgotten,         // a breaker is closed again after a restart
  kBreakerProbesUnbounded,   // a half-open breaker lets everything through
  kDebounceShortensBackoff,  // a debounced job that failed starts before its backoff is over
  kFairCreditWoundUp,        // a fair key that could not run for a while catches up on it
  kFairTagForgotten,         // where fair keys stand is in memory only
  kShareRaisedFirst,         // a share is given on before the shard that had it has let go of it
  kUnclaimedServed,          // a shard whose jobs nobody asks for keeps others from a limit
  kOldShareBelieved,         // a shard takes a share that is older than the one it has
  kSlotLeakedAtTakeover,     // shares that a new leader of the home finds called back stay so
  kOperationCursorApart,     // a part of an operation moves on in a commit of its own
  kOperationCursorLost,      // a new leader begins an operation anew
  kOperationRateWoundUp,     // an operation catches up on a pause
  kLast,
};

#ifdef MILLRACE_MUTANTS
// The planted bug; set once, at start.
inline Mutant planted_mutant = Mutant::kNone;
inline bool mutated(Mutant mutant) { return planted_mutant == mutant; }
#else
constexpr bool mutated(Mutant) { return false; }
#endif

// "reply-before-commit" for kReplyBeforeCommit; empty: there is none of that number.
std::string_view mutant_name(Mutant mutant);
// kNone: unknown name.
Mutant mutant_by_name(std::string_view name);

}  // namespace millrace
