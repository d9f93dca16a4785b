// Every bound of the machine, with its unit in its name. The reference documentation lists them
// (docs/reference/limits.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace millrace::core {

inline constexpr Duration kTenYears{std::int64_t{10} * 365 * 24 * 3600 * 1000};

inline constexpr std::size_t kMaxItemsPerCommand = 1'000;
inline constexpr std::uint32_t kMaxAttempts = 1'000;
inline constexpr std::uint32_t kDefaultMaxAttempts = 5;
inline constexpr std::uint32_t kMaxCrashes = 1'000;

inline constexpr Duration kMinLease{1'000};
inline constexpr Duration kMaxLease{86'400'000};
inline constexpr Duration kDefaultLease{30'000};

inline constexpr Duration kDefaultRetryBase{5'000};
inline constexpr Duration kDefaultRetryMax{300'000};
inline constexpr std::uint32_t kDefaultJitterPpm = 200'000;  // parts per million of the delay
inline constexpr std::uint32_t kMaxJitterPpm = 1'000'000;
inline constexpr std::size_t kMaxRetryDelays = 1'000;

inline constexpr std::size_t kMaxErrorMessageBytes = 4 * 1024;
inline constexpr std::size_t kMaxErrorStackBytes = 32 * 1024;
inline constexpr std::size_t kMaxLogLineBytes = 8 * 1024;
inline constexpr std::size_t kMaxLogBytesPerAttempt = 256 * 1024;
// Jobs are bounded, starts are not: a job keeps the logs of its last kStartsWithLogs starts.
inline constexpr std::uint32_t kStartsWithLogs = 16;

// The payloads of one claim, together. The first job is handed out however large its payload is.
inline constexpr std::uint64_t kMaxClaimBytes = std::uint64_t{16} << 20;

// The shard remembers how this many of its last leases ended, so that a repeated ack gets the same
// answer as the first.
inline constexpr std::size_t kEndedLeasesRemembered = 1'000'000;
inline constexpr std::uint64_t kDefaultMaxKeys = 100'000'000;

// A queue's name counts until somebody deletes the queue.
inline constexpr std::size_t kMaxQueues = 50'000;
// The most queues that one page of the list by name holds.
inline constexpr std::uint32_t kMaxQueuesPerPage = 1'000;

// The documents of one kind in the catalog, and the bytes of each.
inline constexpr std::size_t kMaxCatalogEntries = 10'000;
inline constexpr std::size_t kMaxCatalogBody = 64 * 1024;
// A page of the catalog ends with the first entry that takes it past this.
inline constexpr std::size_t kMaxCatalogPageBytes = std::size_t{1} << 20;

// The schedules of one shard, and how many of each schedule's last runs are kept.
inline constexpr std::size_t kMaxSchedules = 1'000'000;
inline constexpr std::uint32_t kRunsKept = 100;
// The instants of a schedule that an edit keeps, of those that had passed: the newest.
inline constexpr std::size_t kMaxOwed = 64;
// The most schedules that one page of the list by name holds.
inline constexpr std::uint32_t kMaxSchedulesPerPage = 1'000;

// The operations of a store that go on at once; and how long, and how many, that have ended are
// kept.
inline constexpr std::size_t kMaxRunningOperations = 100;
inline constexpr Duration kOperationsKept{std::int64_t{7} * 86'400'000};
inline constexpr std::size_t kMaxEndedOperations = 1'000;

// Limits of each kind: named ones, and gates of types.
inline constexpr std::size_t kMaxLimits = 10'000;
inline constexpr std::size_t kMaxLimitsPerJob = 8;
inline constexpr std::size_t kMaxKeyBounds = 100;  // keys of a limit with bounds of their own
inline constexpr std::size_t kMaxLimitPauses = 1'000;
inline constexpr std::uint32_t kMaxLimitsPerPage = 1'000;
inline constexpr std::size_t kMaxFairWeights = 1'000;
// Keys without unfinished jobs of which a queue remembers how long they run.
inline constexpr std::size_t kMaxRestingFairKeys = 10'000;
// Shares are told of this time.
inline constexpr Duration kShareWindow{60'000};
// A change of a queue's order is refused while it has more jobs than this to sort again.
inline constexpr std::size_t kMaxJobsSortedAgain = 1'000'000;
inline constexpr std::size_t kBusiestKeys = 100;
inline constexpr std::size_t kHoldersTold = 5;
inline constexpr std::size_t kMaxAheadCounted = 1'000;
// What holds a queue back: lanes, groups and keys looked at, and gates told.
inline constexpr std::size_t kMaxLanesLookedAt = 5'000;
inline constexpr std::size_t kMaxBlockersTold = 20;
// A claim passes at most this many lanes whose gates are closed, and moves each to where it waits.
// It goes on at the next timer.
inline constexpr std::size_t kMaxHeldBackPerClaim = 1'000;

// A shard says again what it needs of a limit after the first of these times, and what it has or
// does not use after the second. What it said counts for the third. A share that others want too
// is its own for the fourth.
inline constexpr Duration kShareRepeat{250};
inline constexpr Duration kShareIdle{1'000};
inline constexpr Duration kShareNeedLasts{2'000};
inline constexpr Duration kShareTurn{250};
inline constexpr Duration kShareLongestTurn{10'000};  // of a slow rate
// A queue counts as claimed for this long after a claim has named it: longer than a claim waits.
inline constexpr Duration kClaimRemembered{90'000};
// The groups that a report looks at to find one whose queue is claimed; beyond, one counts as
// found.
inline constexpr std::size_t kMaxGroupsLookedAt = 1'000;
// And not sooner than this, whatever changes.
inline constexpr Duration kSharePause{20};
inline constexpr std::size_t kMaxShareItems = 256;  // of a message

// The most that one step does before it commits: it keeps a step short, however much is due.
inline constexpr std::size_t kMaxDuePerTick = 1'000;
// A claim ends at most this many jobs past their expires_at on its way, and then looks no further.
// The timers end the rest; a waiting claim is served after that.
inline constexpr std::size_t kMaxExpiredPerClaim = kMaxDuePerTick;
inline constexpr std::size_t kMaxJournalBodyBytes = 32 * 1024 * 1024;

// A wall clock that is ahead of the shard's time by more than this is followed in one journaled
// step, which extends live leases by as much.
inline constexpr Duration kMaxClockLag{1'000};
// A period without commits that is longer than this extends live leases by its length.
inline constexpr Duration kStallGrace{1'000};

inline constexpr Duration kDefaultIdempotencyWindow{24 * 3600 * 1000};
inline constexpr Duration kDefaultRetention{86'400'000};
inline constexpr Duration kDefaultDeadRetention{2'592'000'000};

static_assert(kMinLease < kDefaultLease && kDefaultLease < kMaxLease);
static_assert(kMaxErrorStackBytes + kMaxErrorMessageBytes < kMaxJournalBodyBytes);
static_assert(kMaxLogLineBytes <= kMaxLogBytesPerAttempt);

}  // namespace millrace::core
