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
// Jobs are bounded, their starts are not: a job keeps the logs of its last kStartsWithLogs starts.
inline constexpr std::uint32_t kStartsWithLogs = 16;

// The total payload bytes of a claim. The first job is always handed out, however large its
// payload.
inline constexpr std::uint64_t kMaxClaimBytes = std::uint64_t{16} << 20;

// The number of ended leases that the shard remembers, so that a repeated ack gets the same reply
// as the first.
inline constexpr std::size_t kEndedLeasesRemembered = 1'000'000;
inline constexpr std::uint64_t kDefaultMaxKeys = 100'000'000;

// A queue counts until it is deleted.
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
// The passed instants of a schedule that an edit keeps: the newest.
inline constexpr std::size_t kMaxOwed = 64;
// The most schedules that one page of the list by name holds.
inline constexpr std::uint32_t kMaxSchedulesPerPage = 1'000;

// Whether one user of a bounded number of places may take another one: while it has fewer than are
// free. So a single user gets half of the places, n users an equal part each, and no number of them
// leaves nothing to the next one.
constexpr bool fits_share(std::size_t own, std::size_t free) { return own < free; }

// The number of running operations per store, which tokens share (fits_share()); the retention and
// the maximum number of ended ones.
inline constexpr std::size_t kMaxRunningOperations = 100;
inline constexpr Duration kOperationsKept{std::int64_t{7} * 86'400'000};
inline constexpr std::size_t kMaxEndedOperations = 1'000;

// Limits of each kind: named ones, and gates of types.
inline constexpr std::size_t kMaxLimits = 10'000;
inline constexpr std::size_t kMaxLimitsPerJob = 8;
inline constexpr std::size_t kMaxKeyBounds = 100;  // keys of a limit with bounds of their own
inline constexpr std::size_t kMaxLimitPauses = 1'000;
// The keys of all limits of a shard that are in memory, which limits share (fits_share()).
inline constexpr std::size_t kDefaultMaxLimitKeys = 1'000'000;
// How long a breaker stays half-open without the verdict of a probe; then it is closed.
inline constexpr Duration kBreakerHalfOpen{86'400'000};
inline constexpr std::uint32_t kMaxLimitsPerPage = 1'000;
inline constexpr std::size_t kMaxFairWeights = 1'000;
// The keys without unfinished jobs whose running time a queue remembers.
inline constexpr std::size_t kMaxRestingFairKeys = 10'000;
// The period that reported shares cover.
inline constexpr Duration kShareWindow{60'000};
// A change of a queue's order is refused while it has more jobs than this to sort again.
inline constexpr std::size_t kMaxJobsSortedAgain = 1'000'000;
inline constexpr std::size_t kBusiestKeys = 100;
inline constexpr std::size_t kHoldersTold = 5;
inline constexpr std::size_t kMaxAheadCounted = 1'000;
// For the reasons that hold a queue back: lanes, groups and keys examined, and gates reported.
inline constexpr std::size_t kMaxLanesLookedAt = 5'000;
inline constexpr std::size_t kMaxBlockersTold = 20;
// A claim passes at most this many lanes whose gates are closed, and moves each to its closed gate.
// It continues at the next timer.
inline constexpr std::size_t kMaxHeldBackPerClaim = 1'000;

// A shard repeats its need of a limit after kShareRepeat, and its holdings or unused share after
// kShareIdle. A reported need counts for kShareNeedLasts. A share that other shards also want stays
// with one for kShareTurn.
inline constexpr Duration kShareRepeat{250};
inline constexpr Duration kShareIdle{1'000};
inline constexpr Duration kShareNeedLasts{2'000};
inline constexpr Duration kShareTurn{250};
inline constexpr Duration kShareLongestTurn{10'000};  // of a slow rate
// The least time between two reports, whatever changes.
inline constexpr Duration kSharePause{20};
inline constexpr std::size_t kMaxShareItems = 256;  // of a message

// The most actions of one step, so that it commits soon, however much is due.
inline constexpr std::size_t kMaxDuePerTick = 1'000;
// The most expired jobs that a claim ends in passing before it stops looking. Timers end the rest;
// a waiting claim is served after that.
inline constexpr std::size_t kMaxExpiredPerClaim = kMaxDuePerTick;
inline constexpr std::size_t kMaxJournalBodyBytes = 32 * 1024 * 1024;

// If the wall clock is ahead of the shard's time by more than this, the shard follows it in one
// journaled step, which extends live leases by as much.
inline constexpr Duration kMaxClockLag{1'000};
// A period without commits that is longer than this extends live leases by its length.
inline constexpr Duration kStallGrace{1'000};

// Of a workflow: members, needs, queues; how many members may need one; refs that a callback shows.
inline constexpr std::size_t kMaxMembers = 1'000'000;
inline constexpr std::size_t kMaxNeeds = 4'000'000;
inline constexpr std::size_t kMaxWorkflowQueues = 100;
inline constexpr std::size_t kMaxDependants = 100'000;
inline constexpr std::size_t kMaxFailedRefs = 20;
// What an ack may add: members, and bytes of their jobs.
inline constexpr std::size_t kMaxGrownMembers = 1'000;
inline constexpr std::size_t kMaxGrownBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxWaitsTold = 20;
// The releases and skips of a step; and the members of a shard that may be active for releases to
// go on while memory is full.
inline constexpr std::size_t kMaxAdvancedPerStep = 1'000;
inline constexpr std::uint64_t kMaxActiveWhenFull = 1'000;
// A stop is repeated to other shards until their reports show it.
inline constexpr Duration kStopRepeat{500};

inline constexpr Duration kDefaultIdempotencyWindow{24 * 3600 * 1000};
inline constexpr Duration kDefaultRetention{86'400'000};
inline constexpr Duration kDefaultDeadRetention{2'592'000'000};

static_assert(kMinLease < kDefaultLease && kDefaultLease < kMaxLease);
static_assert(kMaxErrorStackBytes + kMaxErrorMessageBytes < kMaxJournalBodyBytes);
static_assert(kMaxLogLineBytes <= kMaxLogBytesPerAttempt);

}  // namespace millrace::core
