// Coverage marks: situations that a long run must have met; otherwise it proves less than it
// claims.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace::sim {

enum class Mark : std::uint8_t {
  kCommitFailed,
  kCommitUnknownApplied,
  kCommitUnknownLost,
  kCommitLandedLate,
  kLateCommitFenced,
  kLeaderDeposed,
  kSyncBroken,
  kCrashInCommit,
  kCrashInFlush,
  kPowerCutTookFlushes,
  kTornTailCut,
  kDamageRefused,
  kRestartWithLeases,
  kJournalTrimmed,
  kStallGrace,
  kRestartGrace,
  kWallClockFollowed,
  kWallClockBehind,
  kRefusedStorage,
  kRefusedOverload,
  kRefusedDraining,
  kDrained,
  kReadFailed,
  kLeaseExpired,
  kAttemptTimedOut,
  kStaleToken,
  kRepeatedAck,
  kRepeatedAckAfterRestart,
  kAckRacedCancel,
  kCrashBudgetSpent,
  kAttemptsSpent,
  kKeyHit,
  kKeyMismatch,
  kKeyFreed,
  kUniqueHit,
  kUniqueRejected,
  kUniqueReplaced,
  kUniqueHeldPastEnd,
  kReplacedComesBack,
  kAtomicRefused,
  kNestedRefused,
  kIdTaken,
  kIdRepeated,
  kIdMismatch,
  kQueueFull,
  kJobExpired,
  kExpiredAtClaim,
  kClaimCut,
  kDelayedBecameReady,
  kBackoffOver,
  kWaiterServed,
  kWaiterTimedOut,
  kOrderDelivered,
  kWatchAnswered,
  kPausedClaim,
  kRetriedFromTables,
  kEditRefused,
  kStateNotNamed,
  kQueueDeleted,
  kToldUnknown,
  kPruned,
  kForgottenAtOnce,
  kReadFromTables,
  kDecidedAhead,
  kPayloadFromTables,
  kEntryMade,
  kEntryChanged,
  kEntryDeleted,
  kScheduleMade,
  kScheduleEdited,
  kScheduleDeleted,
  kScheduleFired,
  kEditKeepsOwed,
  kPassedWhilePaused,
  kRunWaits,
  kWaitingRun,
  kRunReplaced,
  kRunSkipped,
  kRunMissed,
  kRunRefused,
  kRunOwed,
  kRunNoted,
  kScheduleBroken,
  kShownAgain,
  kWallDoubted,
  kAudited,
  // Situations of several nodes:
  kRefusedInDoubt,
  kRefusedUpgrading,
  kOldAppendFenced,
  kOldAppendApplied,
  kSuccessorFenced,
  kAppendedAgain,
  kOldFlushFenced,
  kFlushOverlapped,
  kOldTrimFenced,
  kTwoBelieve,
  kPausedPastLease,
  kFollowerLeftBehind,
  kFollowerCaughtUp,
  kTakenWithLeases,
  kHandedOver,
  kLeftInOrder,
  kForwarded,
  kForwardUnknown,
  kForwardedAgain,
  kAllDied,
  kRenewalUnknown,
  kLedOnAfterDoubt,
  kFlushedAgain,
  kPutInOutbox,
  kPassedOn,
  kPassedOnTwice,
  kOutboxPutOff,
  kOutboxRefused,
  kOutboxTakenOver,
  kRelayDiedBetween,
  kFinishCommitted,
  kFinishRolledBack,
  kFinishRefused,
  kFinishOfOldFormat,
  kFinishedWithLease,
  kFinishedWaiting,
  kFinishedElsewhere,
  kFinishedAfterEnd,
  kFinishUseless,
  kFinishAstray,
  kFinishRejected,
  kFinishUndone,
  kFenceUndone,
  kFinishOfForgotten,
  kSubmissionCommitted,
  kSubmissionRolledBack,
  kSubmissionUseless,
  kSubmissionRejected,
  kSubmissionPutOff,
  kSubmissionBehind,
  kSubmissionLeft,
  kFinishesAlone,
  kInboxTakenOver,
  kRetryHeld,
  kOldRaiseFenced,
  kFormatRaised,
  kFormatWritten,
  kOldNodeRefused,
  kOldNodeTold,
  kRunOnOtherShard,
  kLast,
};
inline constexpr std::size_t kMarks = static_cast<std::size_t>(Mark::kLast);
// A single server can meet this many, which come first.
inline constexpr std::size_t kMarksOfOneNode = static_cast<std::size_t>(Mark::kRefusedInDoubt);
// Of these, so many without schedules.
inline constexpr std::size_t kMarksWithoutSchedules = static_cast<std::size_t>(Mark::kScheduleMade);

std::string_view mark_name(Mark mark);

class Marks {
 public:
  void hit(Mark mark) { ++counts_[static_cast<std::size_t>(mark)]; }
  void hit_if(bool seen, Mark mark) {
    if (seen) hit(mark);
  }
  std::uint64_t of(Mark mark) const { return counts_[static_cast<std::size_t>(mark)]; }
  void add(const Marks& other) {
    for (std::size_t i = 0; i < kMarks; ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::uint64_t, kMarks> counts_{};
};

}  // namespace millrace::sim
