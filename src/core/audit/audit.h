// The audit log: an entry for each change that a person or a token requested. The machine adds the
// entry to the events of the change, so that neither is durable without the other.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/flow/limit.h"
#include "core/jobs/job.h"
#include "core/queues/queue.h"
#include "core/schedules/schedule.h"
#include "digest/sha256.h"

namespace millrace::core {

enum class AuditVia : std::uint8_t { kHttp, kDashboard, kSql, kSystem };

struct Actor {
  SharedBytes token;    // its public id; empty: the server has no tokens, or none was good
  SharedBytes name;     // of the token
  SharedBytes address;  // empty: unknown
  AuditVia via{};
  SharedBytes request;  // the id of the request
};

// Accompanies an operator's command; the door makes it. The command implies the members left empty.
struct Origin {
  Actor actor;
  SharedBytes action;  // such as "queue.purged", where several commands do one thing
  SharedBytes kind;    // of the object
  SharedBytes name;
  SharedBytes reason;
  // JSON objects: documents that the machine does not read. They contain no secrets.
  SharedBytes before;
  SharedBytes after;
};
using SharedOrigin = std::shared_ptr<const Origin>;
// A command that operators may give. `by` is null if the command has no such origin.
template <typename C>
concept Attributed = requires(C& command) {
  { command.by } -> std::convertible_to<const SharedOrigin&>;
};

// Adds an entry for an action that no shard decides, such as draining a node or signing in. Goes to
// the first shard.
struct NoteAudit {
  SharedOrigin by;  // holds the whole entry
};

struct QueueImage {
  QueueSettings settings;
  bool paused = false;
  SharedBytes pause_reason;
};
struct LimitImage {
  LimitSettings settings;  // only the keys that changed, at most kMaxAuditedKeys
  std::vector<LimitPause> pauses;
};
struct ScheduleImage {
  ScheduleSpec spec;  // job and workflow are left out if they did not change or are large
  bool paused = false;
  SharedBytes pause_reason;
};
struct JobImage {
  SharedBytes queue;
  SharedBytes type;
  State state{};
  std::int16_t priority = 0;
  std::optional<Time> run_at;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  std::vector<SharedBytes> tags;
  bool cancel_requested = false;
  bool new_payload = false;  // the payload changed; the audit never shows it
};

// An object before or after a change. At most one member is set; none is set if the object did not
// exist.
struct AuditImage {
  std::shared_ptr<const QueueImage> queue;
  std::shared_ptr<const LimitImage> limit;
  std::shared_ptr<const ScheduleImage> schedule;
  std::shared_ptr<const JobImage> job;
  SharedBytes text;  // a JSON object
};

inline constexpr std::size_t kMaxAuditedKeys = 32;
inline constexpr std::size_t kMaxAuditedJobBytes = 2'048;  // of a schedule's job
inline constexpr std::size_t kMaxAuditedTags = 20;
inline constexpr std::size_t kMaxAuditedPauses = 16;
inline constexpr std::size_t kMaxAuditedText = 4'096;

struct Audited {
  std::uint64_t n = 0;  // numbers the shard's entries from 1, without gaps
  Actor actor;
  SharedBytes action;
  SharedBytes kind;  // of the object
  SharedBytes name;
  std::optional<std::uint64_t> jobs;  // number changed; none: not about several
  SharedBytes reason;
  AuditImage before;
  AuditImage after;
};

// An entry as the tables store it.
struct AuditRow {
  Time at{};
  Audited entry;
  Sha256 hash{};  // see audit_chain.h
};

}  // namespace millrace::core
