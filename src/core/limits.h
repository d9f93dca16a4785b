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
// Of a job that is started more often, the logs of the last so many starts are kept.
inline constexpr std::uint32_t kStartsWithLogs = 16;

// How the last leases of a shard ended is remembered, so that a repeated ack is answered as the
// first was.
inline constexpr std::size_t kEndedLeasesRemembered = 1'000'000;
inline constexpr std::uint64_t kDefaultMaxKeys = 100'000'000;

// What one step may do before it commits: keeps a step short whatever has piled up.
inline constexpr std::size_t kMaxDuePerTick = 1'000;
// Jobs past their expires_at that one claim ends on its way; it looks no further then. The timers
// come to the rest, and whoever waits is served after that.
inline constexpr std::size_t kMaxExpiredPerClaim = kMaxDuePerTick;
inline constexpr std::size_t kMaxJournalBodyBytes = 32 * 1024 * 1024;

// A wall clock further ahead than this is followed in one journaled step that gives live leases as
// much grace.
inline constexpr Duration kMaxClockLag{1'000};
// A stretch without commits longer than this extends live leases by as much.
inline constexpr Duration kStallGrace{1'000};

inline constexpr Duration kDefaultIdempotencyWindow{24 * 3600 * 1000};
inline constexpr Duration kDefaultRetention{86'400'000};
inline constexpr Duration kDefaultDeadRetention{2'592'000'000};

static_assert(kMinLease < kDefaultLease && kDefaultLease < kMaxLease);
static_assert(kMaxErrorStackBytes + kMaxErrorMessageBytes < kMaxJournalBodyBytes);
static_assert(kMaxLogLineBytes <= kMaxLogBytesPerAttempt);

}  // namespace millrace::core
