// The conditions of a list or search, all of which must hold; free of query syntax and SQL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"

namespace millrace::core {

enum class Comparison : std::uint8_t {
  kEqual,
  kContains,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual
};

enum class JobField : std::uint8_t {
  kId,
  kQueue,
  kType,
  kState,
  kTag,
  kWorker,
  kPriority,
  kAttempt,
  kCreatedAt,
  kRunAt,
  kFinishedAt,
  kError,     // type or message of the last error
  kSchedule,  // that made the job
  kLimit,     // a limit that the job names
  kOrder,     // the order key
  kFair,      // the fair key
  kMeta,      // path: the key
  kPayload,   // path: members joined by dots; a number is an array index where it meets an array
  kResult,
};

struct Condition {
  JobField field{};
  Comparison comparison = Comparison::kEqual;
  bool negated = false;
  // The job matches if any of these values does (kEqual, kContains). Text is compared as written;
  // for kQueue, kType, kTag, kSchedule and kLimit a trailing "*" matches any ending. For kState:
  // names of states. For kPayload and kResult: the member's text (the content of a string, a number
  // as spelled, true, false, null).
  std::vector<std::string> values;
  std::int64_t number = 0;  // kPriority, kAttempt; times in ms since the epoch
  double real = 0;  // kPayload, kResult in an ordering comparison; `values` holds it as sent
  std::string path;
};

struct JobFilter {
  std::vector<Condition> conditions;
  std::optional<JobId> workflow = {};  // only jobs of this one: members and callbacks
};

}  // namespace millrace::core
