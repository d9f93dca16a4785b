// Commands about limits, and about what holds a job back: see command.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/audit.h"
#include "core/limit.h"
#include "core/limits.h"

namespace millrace::core {

// What an answer about one limit tells besides: its keys in order, beginning after `after`; the
// keys for which most jobs wait; or the jobs that hold it, by token.
enum class LimitDetail : std::uint8_t { kNone, kKeys, kBusiestKeys, kHolders };

// Makes the limit, or gives it these settings. One that has them already stays as it is, and keeps
// its version. kType: the gate of all jobs of a type.
struct SetLimit {
  LimitKind kind{};  // never kQueue: SetQueue does that
  SharedBytes name;
  LimitSettings settings;
  std::uint64_t incarnation = 0;  // random; for a new limit
  // Else kVersionConflict; 0: there must be no such limit.
  std::optional<std::uint64_t> if_version;
  SharedOrigin by = {};
};
// Nothing more starts under the limit, or under one of its keys.
struct PauseLimit {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;  // empty: the whole limit
  SharedBytes reason;
  std::optional<Duration> length;  // none: until somebody resumes it
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
  bool force = false;                       // jobs that name it go free
  std::optional<std::uint64_t> if_version;  // else kVersionConflict
  SharedOrigin by = {};
};
// One limit, or all of a kind in order of name, beginning after `after`.
struct GetLimits {
  LimitKind kind{};
  SharedBytes name;  // empty: all
  SharedBytes after;
  std::uint32_t limit = kMaxLimitsPerPage;
  // Of one limit: what to tell beside it.
  LimitDetail detail = LimitDetail::kNone;
  SharedBytes key;  // kHolders: empty: of all keys
};
// In a report of a worker: nothing more passes the limit's gate for so long.
struct SlowDown {
  SharedBytes limit;  // that the job names
  SharedBytes key;    // the job's key of it; empty: the whole limit
  Duration length{};
};
// The fair keys of a queue, with what they have and had: in order of key, beginning after `after`,
// or those for which most jobs wait. None of a queue that does not share fairly.
struct GetShares {
  SharedBytes queue;
  SharedBytes after;  // empty: from the first key; else LimitReply::next of the page before
  std::uint32_t limit = kMaxLimitsPerPage;
  bool busiest = false;
};
// Why a job is not running.
struct GetWhy {
  JobId id;
};

}  // namespace millrace::core
