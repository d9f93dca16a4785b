// Commands about limits and about the reasons why a job waits: see command.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit/audit.h"
#include "core/bounds.h"
#include "core/flow/limit.h"

namespace millrace::core {

// Extra content of a reply about one limit: its keys in order, starting after `after`; the keys
// with the most waiting jobs; or the jobs that hold it, by token.
enum class LimitDetail : std::uint8_t { kNone, kKeys, kBusiestKeys, kHolders };

// Creates the limit, or replaces its settings. A limit that already has these settings is not
// changed and keeps its version. kType: the gate of all jobs of a type.
struct SetLimit {
  LimitKind kind{};  // never kQueue: SetQueue does that
  SharedBytes name;
  LimitSettings settings;
  std::uint64_t incarnation = 0;  // random; for a new limit
  // Otherwise kVersionConflict; 0: the limit must not exist.
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
};
// Stops starts under the limit, or under one of its keys.
struct PauseLimit {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;  // empty: the whole limit
  SharedBytes reason;
  std::optional<Duration> length;  // none: until a user resumes it
  SharedOrigin by = {};
};
struct ResumeLimit {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;  // empty: the whole limit
  SharedOrigin by = {};
};
struct DeleteLimit {
  LimitKind kind{};
  SharedBytes name;
  bool force = false;                       // jobs that name it become free
  std::optional<std::uint64_t> if_version;  // otherwise kVersionConflict
  SharedOrigin by = {};
};
// Returns one limit, or all of a kind in order of name, starting after `after`.
struct GetLimits {
  LimitKind kind{};
  SharedBytes name;  // empty: all
  SharedBytes after;
  std::uint32_t limit = kMaxLimitsPerPage;
  // For one limit: the extra content.
  LimitDetail detail = LimitDetail::kNone;
  SharedBytes key;  // kHolders; empty: of all keys
};
// In a worker's report: nothing more passes the limit's gate for `length`.
struct SlowDown {
  SharedBytes limit;  // that the job names
  SharedBytes key;    // the job's key for it; empty: the whole limit
  Duration length{};
};
// Returns the fair keys of a queue with their current and past use: in order of key, starting after
// `after`, or those with the most waiting jobs. None if the queue does not share fairly.
struct GetShares {
  SharedBytes queue;
  SharedBytes after;  // empty: from the first key; otherwise LimitReply::next of the page before
  std::uint32_t limit = kMaxLimitsPerPage;
  bool busiest = false;
};
// Returns why a job is not running.
struct GetWhy {
  JobId id;
};

}  // namespace millrace::core
