// Known bugs that can be planted on purpose, to show that the checks find them. Only a build with
// MILLRACE_MUTANTS (preset `mutants`) can hold them; elsewhere mutated() is the constant false, and
// nothing of this is in the binary. `tools/soak mutants` plants each in turn.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

enum class Mutant : std::uint8_t {
  kNone,
  kReplyBeforeCommit,    // answers leave before their batch is durable
  kRefusalBeforeCommit,  // only refusals do
  kSkipSync,             // the journal commits without a sync
  kRetrySync,            // a failed sync is tried again and believed
  kChecksumIgnored,      // damaged journal rows are used
  kAppendIgnoresPredecessor,
  kAppendOverwrites,     // a row takes the place of another that stands there
  kUnknownAppendedAnew,  // an append of unknown outcome is repeated as the next row
  kFlushUnfenced,        // the projection does not look where the progress stands
  kStalePrefetch,        // the tables' job wins over memory's
  kSlotReleasedTwice,
  kSlotLeakedOnCancel,
  kWakeUpDropped,
  kTimersOnWallClock,
  kTokenUnchecked,
  kTokensRestart,  // each term counts its tokens from the same number
  kAttemptCountedAtNack,
  kLeaseExpiresEarly,
  kLeasesExpiredAtRestart,
  kLateKey,  // an idempotency key is stored after its batch
  kPartialAtomicEnqueue,
  kBackoffOverflow,
  kLateAckOverwrites,   // a terminal job takes another outcome
  kRetryWithoutRecord,  // the event needs a job that only the leader had
  kPauseForgotten,      // the flag is not durable
  kPayloadNormalised,   // white space in payloads is not kept
  kReadAfterLease,      // a node takes itself for the leader when its lease is over
  kTakeUncompared,      // a shard is taken from whoever leads it
  kForwardedTwice,      // what was perhaps done is sent again, whatever it is
  kOutboxUnkeyed,       // what is passed on from an outbox has no idempotency key
  kOutboxAckedUnheard,  // its job is acknowledged whatever came of it
  kDoubtIgnored,        // a renewal of unknown outcome changes nothing
  kInboxRowKept,        // what a row of the journal has taken of the inbox stays there
  kInboxOrderIgnored,   // a row of the inbox is taken though one of its queue before it was put off
  kRetryUnfenced,       // a generation begins while transactions may still finish the one before
  kForgottenUnfenced,   // the finish of a job that is forgotten opens its fence again
  kClaimUnbounded,      // a claim's payloads are not counted
  kForeignFinishBelieved,  // a transaction finishes a job with a token of another's lease
  kFormatRaisedAlone,      // the store's format is that of whoever renews, whoever else is there
  kDeletedQueueKept,       // a queue that was deleted stays in the tables
  kFormatGateOpen,         // a shard writes what nodes that are there can't read
  kLast,
};

#ifdef MILLRACE_MUTANTS
// The one that is planted; set once, at start.
inline Mutant planted_mutant = Mutant::kNone;
inline bool mutated(Mutant mutant) { return planted_mutant == mutant; }
#else
constexpr bool mutated(Mutant) { return false; }
#endif

// "reply-before-commit" for kReplyBeforeCommit; empty when there is none of that number.
std::string_view mutant_name(Mutant mutant);
// kNone: unknown.
Mutant mutant_by_name(std::string_view name);

}  // namespace millrace
