#include "api/worker.h"

#include <fmt/format.h>

#include <utility>

#include "api/job_decode.h"
#include "api/named_decode.h"
#include "api/text.h"
#include "api/workflow_decode.h"

namespace millrace::api {
namespace {

bool read_token(Decode& decode, const Path& path, LeaseToken& out) {
  std::int64_t value = 0;
  if (!read_integer(decode, path, 0, static_cast<std::int64_t>(kMaxLeaseToken), value))
    return false;
  out = static_cast<LeaseToken>(value);
  return true;
}

// The first member of every call about a lease.
template <typename T>
constexpr Member<T> kId{"id", [](Decode& d, const Path& p, T& out) { read_id(d, p, out.id); }};
template <typename T>
constexpr Member<T> kToken{"token",
                           [](Decode& d, const Path& p, T& out) { read_token(d, p, out.token); }};

constexpr Member<WorkerInfo> kWorkerMembers[] = {
    {"id", [](Decode& d, const Path& p, WorkerInfo& w) { read_name(d, p, w.id); }},
    {"host", [](Decode& d, const Path& p,
                WorkerInfo& w) { read_text(d, p, 0, kMaxWorkerTextBytes, w.host); }},
    {"pid", [](Decode& d, const Path& p,
               WorkerInfo& w) { read_into(w.pid, read_integer, d, p, 0, INT64_MAX); }},
    {"sdk", [](Decode& d, const Path& p,
               WorkerInfo& w) { read_text(d, p, 0, kMaxWorkerTextBytes, w.sdk); }},
    {"version", [](Decode& d, const Path& p,
                   WorkerInfo& w) { read_text(d, p, 0, kMaxWorkerTextBytes, w.version); }},
    {"labels", [](Decode& d, const Path& p,
                  WorkerInfo& w) { read_string_map(d, p, kMaxWorkerLabelsBytes, w.labels); }},
};

// For a claim's queues: naming a queue twice would be an unnoticed mistake.
void refuse_repetition(Decode& decode, const Path& path, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (names[i] != names[j]) continue;
      decode.fault(Path{&path, {}, i}, "must be named once");
      break;
    }
  }
}

// In a claim of its own the worker names itself; in a poll the path does.
struct ClaimParts {
  Claim claim;
  Seen worker;
};

constexpr Member<ClaimParts> kClaimMembers[] = {
    {"queues",
     [](Decode& d, const Path& p, ClaimParts& parts) {
       if (read_names(d, p, 1, kMaxClaimQueues, parts.claim.queues))
         refuse_repetition(d, p, parts.claim.queues);
     }},
    {"types",
     [](Decode& d, const Path& p, ClaimParts& parts) {
       read_names(d, p, 1, kMaxClaimTypes, parts.claim.types.emplace());
     }},
    {"limit", [](Decode& d, const Path& p,
                 ClaimParts& parts) { read_integer(d, p, 1, kMaxClaimLimit, parts.claim.limit); }},
    {"wait_ms", [](Decode& d, const Path& p,
                   ClaimParts& parts) { read_duration(d, p, 0, kMaxWaitMs, parts.claim.wait); }},
    {"lease_ms",
     [](Decode& d, const Path& p, ClaimParts& parts) {
       read_into(parts.claim.lease, read_duration, d, p, kMinLeaseMs, kMaxLeaseMs);
     }},
    {"worker",
     [](Decode& d, const Path& p, ClaimParts& parts) {
       parts.worker = read_object(d, p, kWorkerMembers, parts.claim.worker).value_or(Seen{});
     }},
};

// `worker_id`: the path's, or empty.
void read_claim(Decode& decode, const Path& path, std::string_view worker_id, Claim& out) {
  ClaimParts parts;
  const std::optional<Seen> seen = read_object(decode, path, kClaimMembers, parts);
  if (!seen) return;
  require(decode, path, "queues", seen->has(bit_of(kClaimMembers, "queues")));
  const Path worker_path{&path, "worker", 0};
  if (worker_id.empty()) {
    require(decode, path, "worker", seen->has(bit_of(kClaimMembers, "worker")));
    if (seen->has(bit_of(kClaimMembers, "worker"))) {
      require(decode, worker_path, "id", parts.worker.has(bit_of(kWorkerMembers, "id")));
    }
  } else if (parts.claim.worker.id.empty()) {
    parts.claim.worker.id = worker_id;
  } else if (parts.claim.worker.id != worker_id) {
    decode.fault(Path{&worker_path, "id", 0}, "must be the worker id in the path");
  }
  out = std::move(parts.claim);
}

constexpr Member<ReportedProgress> kProgressMembers[] = {
    {"percent", [](Decode& d, const Path& p,
                   ReportedProgress& out) { read_into(out.percent, read_real, d, p, 0.0, 100.0); }},
    {"message",
     [](Decode& d, const Path& p, ReportedProgress& out) {
       read_text(d, p, 0, kMaxProgressMessageBytes, out.message);
     }},
    {"checkpoint",
     [](Decode& d, const Path& p, ReportedProgress& out) {
       read_raw(d, p, kMaxProgressBytes, out.checkpoint);
     }},
};

void read_progress(Decode& decode, const Path& path, Heartbeat& heartbeat) {
  const std::size_t size = JsonCursor(decode.cursor).skip().size();
  if (size > kMaxProgressBytes) {
    refuse_value(decode, path, fmt::format("must have at most {} bytes", kMaxProgressBytes));
    return;
  }
  ReportedProgress progress;
  if (read_object(decode, path, kProgressMembers, progress))
    heartbeat.progress = std::move(progress);
}

constexpr Member<SlowDown> kSlowDownMembers[] = {
    {"limit", [](Decode& d, const Path& p, SlowDown& out) { read_name(d, p, out.limit); }},
    {"key", [](Decode& d, const Path& p,
               SlowDown& out) { read_text(d, p, 1, kMaxLimitKeyBytes, out.key); }},
    {"for_ms",
     [](Decode& d, const Path& p, SlowDown& out) {
       read_duration(d, p, kMinSlowDownMs, kMaxSlowDownMs, out.length);
     }},
};

// For an ack or a heartbeat.
template <typename T>
constexpr Member<T> kSlowDown{
    "slow_down", [](Decode& d, const Path& p, T& out) {
      read_array(d, p, 0, kMaxJobLimits, [&](const Path& element) {
        SlowDown wish;
        const std::optional<Seen> seen = read_object(d, element, kSlowDownMembers, wish);
        if (!seen) return;
        require(d, element, "limit", seen->has(bit_of(kSlowDownMembers, "limit")));
        require(d, element, "for_ms", seen->has(bit_of(kSlowDownMembers, "for_ms")));
        out.slow_down.push_back(std::move(wish));
      });
    }};

constexpr Member<Heartbeat> kExtend{"extend_ms", [](Decode& d, const Path& p, Heartbeat& out) {
                                      read_into(out.extend, read_duration, d, p, kMinLeaseMs,
                                                kMaxLeaseMs);
                                    }};
constexpr Member<Heartbeat> kProgress{"progress", read_progress};
constexpr Member<Heartbeat> kHeartbeatMembers[] = {kId<Heartbeat>, kToken<Heartbeat>, kExtend,
                                                   kProgress, kSlowDown<Heartbeat>};
constexpr Member<Heartbeat> kHeartbeatWait{"wait_ms", [](Decode& d, const Path& p, Heartbeat& out) {
                                             read_duration(d, p, 0, kMaxWaitMs, out.wait);
                                           }};
constexpr Member<Heartbeat> kSingleHeartbeatMembers[] = {kToken<Heartbeat>, kExtend, kProgress,
                                                         kHeartbeatWait, kSlowDown<Heartbeat>};

constexpr Member<ReportedError> kErrorMembers[] = {
    {"type", [](Decode& d, const Path& p,
                ReportedError& out) { read_cut_text(d, p, kErrorTypeBytes, out.type); }},
    {"message", [](Decode& d, const Path& p,
                   ReportedError& out) { read_cut_text(d, p, kErrorMessageBytes, out.message); }},
    {"stack", [](Decode& d, const Path& p,
                 ReportedError& out) { read_cut_text(d, p, kErrorStackBytes, out.stack); }},
    {"retryable",
     [](Decode& d, const Path& p, ReportedError& out) { read_boolean(d, p, out.retryable); }},
};

void read_error(Decode& decode, const Path& path, Ack& ack) {
  ReportedError error;
  const std::optional<Seen> seen = read_object(decode, path, kErrorMembers, error);
  if (!seen) return;
  require(decode, path, "type", seen->has(bit_of(kErrorMembers, "type")));
  require(decode, path, "message", seen->has(bit_of(kErrorMembers, "message")));
  ack.error = std::move(error);
}

constexpr Member<LogItem> kLogMembers[] = {
    {"at", [](Decode& d, const Path& p, LogItem& out) { read_into(out.line.at, read_time, d, p); }},
    {"level", [](Decode& d, const Path& p, LogItem& out) { read_named(d, p, out.line.level); }},
    {"message", [](Decode& d, const Path& p,
                   LogItem& out) { read_cut_text(d, p, kLogLineBytes, out.line.message); }},
};
constexpr Member<LogItem> kLogItemMembers[] = {kId<LogItem>, kToken<LogItem>, kLogMembers[0],
                                               kLogMembers[1], kLogMembers[2]};

void read_logs(Decode& decode, const Path& path, Ack& ack) {
  read_array(decode, path, 0, kMaxLogLinesPerAck, [&](const Path& element) {
    LogItem item;
    const std::optional<Seen> seen = read_object(decode, element, kLogMembers, item);
    if (!seen) return;
    require(decode, element, "message", seen->has(bit_of(kLogMembers, "message")));
    ack.logs.push_back(std::move(item.line));
  });
}

void read_log_item(Decode& decode, const Path& path, LogItem& item) {
  const std::optional<Seen> seen = read_object(decode, path, kLogItemMembers, item);
  if (!seen) return;
  require(decode, path, "id", seen->has(bit_of(kLogItemMembers, "id")));
  require(decode, path, "token", seen->has(bit_of(kLogItemMembers, "token")));
  require(decode, path, "message", seen->has(bit_of(kLogItemMembers, "message")));
}

constexpr Member<Ack> kOutcome{
    "outcome", [](Decode& d, const Path& p, Ack& ack) { read_named(d, p, ack.outcome); }};
constexpr Member<Ack> kResult{"result",
                              [](Decode& d, const Path& p, Ack& ack) {
                                read_raw(d, p, d.limits().payload_bytes, ack.result);
                              },
                              NullMember::kValue};
constexpr Member<Ack> kError{"error", read_error};
constexpr Member<Ack> kDelay{"delay_ms", [](Decode& d, const Path& p, Ack& ack) {
                               read_into(ack.delay, read_duration, d, p, 0, kMaxDelayMs);
                             }};
constexpr Member<Ack> kLogs{"logs", read_logs};

// Whether the value at the cursor is an object with the member `workflow`.
bool names_workflow(JsonCursor at) {
  if (at.type() != JsonType::kObject) return false;
  at.enter();
  for (std::string_view name; at.next_member(name); at.skip()) {
    if (name == "workflow") return true;
  }
  return false;
}

constexpr Member<EnqueuedWorkflow> kEnqueuedWorkflow[] = {
    {"workflow",
     [](Decode& d, const Path& p, EnqueuedWorkflow& out) {
       const std::size_t most = d.limits().payload_bytes;
       if (JsonCursor(d.cursor).skip().size() <= most) return read_workflow(d, p, out.workflow);
       d.cursor.skip();
       d.too_large(p, most);
     }},
};

constexpr Member<Ack> kEnqueue{"enqueue", [](Decode& d, const Path& p, Ack& ack) {
                                 read_array(d, p, 0, kMaxBatchItems, [&](const Path& element) {
                                   if (names_workflow(d.cursor)) {
                                     EnqueuedWorkflow& item = ack.workflows.emplace_back();
                                     item.place = element.index;
                                     const std::optional<Seen> seen =
                                         read_object(d, element, kEnqueuedWorkflow, item);
                                     if (seen)
                                       require(d, element, "workflow", seen->has(MemberSet{1}));
                                   } else {
                                     read_job(d, element, ack.enqueue.emplace_back());
                                   }
                                 });
                               }};

constexpr Member<Ack> kGrow{
    "grow", [](Decode& d, const Path& p, Ack& ack) { read_growth(d, p, ack.grow.emplace()); }};

constexpr Member<Ack> kAckMembers[] = {kId<Ack>, kToken<Ack>, kOutcome, kResult, kError,
                                       kDelay,   kLogs,       kEnqueue, kGrow,   kSlowDown<Ack>};
constexpr Member<Ack> kCompleteMembers[] = {kToken<Ack>, kResult, kLogs,
                                            kEnqueue,    kGrow,   kSlowDown<Ack>};
constexpr Member<Ack> kFailMembers[] = {kToken<Ack>, kError,   kDelay,
                                        kLogs,       kEnqueue, kSlowDown<Ack>};
constexpr Member<Ack> kSnoozeMembers[] = {kToken<Ack>, kDelay, kLogs, kEnqueue, kSlowDown<Ack>};
constexpr Member<Ack> kReleaseMembers[] = {kToken<Ack>, kLogs, kEnqueue, kSlowDown<Ack>};

// Checks which members go with the outcome: a member without effect is reported as a mistake.
void check_outcome(Decode& decode, const Path& path, Ack& ack) {
  const auto refuse = [&](bool given, std::string_view name) {
    if (given)
      decode.fault(Path{&path, name, 0},
                   fmt::format("does not apply to outcome {}", name_of(ack.outcome)));
  };
  if (ack.outcome != AckOutcome::kSucceeded) {
    refuse(!ack.result.empty() && ack.result != "null", "result");
    ack.result = {};
  }
  const bool takes_error = ack.outcome == AckOutcome::kFailed ||
                           ack.outcome == AckOutcome::kCancelled ||
                           ack.outcome == AckOutcome::kDead;
  refuse(ack.grow.has_value() && ack.outcome != AckOutcome::kSucceeded, "grow");
  refuse(ack.error && !takes_error, "error");
  const bool takes_delay =
      ack.outcome == AckOutcome::kFailed || ack.outcome == AckOutcome::kSnoozed;
  refuse(ack.delay && !takes_delay, "delay_ms");
}

void read_ack(Decode& decode, const Path& path, Ack& ack) {
  const std::optional<Seen> seen = read_object(decode, path, kAckMembers, ack);
  if (!seen) return;
  require(decode, path, "id", seen->has(bit_of(kAckMembers, "id")));
  require(decode, path, "token", seen->has(bit_of(kAckMembers, "token")));
  require(decode, path, "outcome", seen->has(bit_of(kAckMembers, "outcome")));
  if (!seen->has(bit_of(kAckMembers, "outcome"))) return;
  check_outcome(decode, path, ack);
  if (ack.outcome == AckOutcome::kSnoozed)
    require(decode, path, "delay_ms", seen->has(bit_of(kAckMembers, "delay_ms")));
}

void read_heartbeat(Decode& decode, const Path& path, Heartbeat& heartbeat) {
  const std::optional<Seen> seen = read_object(decode, path, kHeartbeatMembers, heartbeat);
  if (!seen) return;
  require(decode, path, "id", seen->has(bit_of(kHeartbeatMembers, "id")));
  require(decode, path, "token", seen->has(bit_of(kHeartbeatMembers, "token")));
}

template <typename T>
using Items = std::vector<Item<T>>;

constexpr Member<Items<Heartbeat>> kHeartbeatCall[] = {
    {"items",
     [](Decode& d, const Path& p, Items<Heartbeat>& out) {
       read_items(d, p, 1, kMaxBatchItems, out,
                  [&](const Path& item, Heartbeat& value) { read_heartbeat(d, item, value); });
     }},
};
constexpr Member<Items<Ack>> kAckCall[] = {
    {"items",
     [](Decode& d, const Path& p, Items<Ack>& out) {
       read_items(d, p, 1, kMaxBatchItems, out,
                  [&](const Path& item, Ack& value) { read_ack(d, item, value); });
     }},
};

struct PollParts {
  Poll poll;
  std::string_view worker_id;
};
constexpr Member<PollParts> kPollMembers[] = {
    {"acks",
     [](Decode& d, const Path& p, PollParts& out) {
       read_items(d, p, 0, kMaxBatchItems, out.poll.acks,
                  [&](const Path& item, Ack& value) { read_ack(d, item, value); });
     }},
    {"heartbeats",
     [](Decode& d, const Path& p, PollParts& out) {
       read_items(d, p, 0, kMaxBatchItems, out.poll.heartbeats,
                  [&](const Path& item, Heartbeat& value) { read_heartbeat(d, item, value); });
     }},
    {"logs",
     [](Decode& d, const Path& p, PollParts& out) {
       read_items(d, p, 0, kMaxBatchItems, out.poll.logs,
                  [&](const Path& item, LogItem& value) { read_log_item(d, item, value); });
     }},
    {"claim", [](Decode& d, const Path& p,
                 PollParts& out) { read_claim(d, p, out.worker_id, out.poll.claim.emplace()); }},
    {"goodbye",
     [](Decode& d, const Path& p, PollParts& out) { read_boolean(d, p, out.poll.goodbye); }},
};

// A single form: the id comes from the path, the outcome from the call.
template <typename T, std::size_t N>
Decoded<T> decode_single(std::string_view body, const DecodeLimits& limits,
                         const Member<T> (&members)[N], T start,
                         std::string_view also_required = {}) {
  return decode_body<T>(body, limits, EmptyBody::kRefused,
                        [&](Decode& decode, const Path& path, T& out) {
                          out = std::move(start);
                          const std::optional<Seen> seen = read_object(decode, path, members, out);
                          if (!seen) return;
                          for (std::size_t i = 0; i < N; ++i) {
                            if (members[i].name != "token" && members[i].name != also_required)
                              continue;
                            require(decode, path, members[i].name, seen->has(MemberSet{1} << i));
                          }
                        });
}

Ack ack_of(const JobId& id, AckOutcome outcome) {
  Ack ack;
  ack.id = id;
  ack.outcome = outcome;
  return ack;
}

}  // namespace

bool is_worker_id(std::string_view text) { return is_name(text); }

Decoded<Claim> decode_claim(std::string_view body, const DecodeLimits& limits) {
  return decode_body<Claim>(
      body, limits, EmptyBody::kRefused,
      [](Decode& decode, const Path& path, Claim& claim) { read_claim(decode, path, {}, claim); });
}

Decoded<std::vector<Item<Heartbeat>>> decode_heartbeats(std::string_view body,
                                                        const DecodeLimits& limits) {
  return decode_body<Items<Heartbeat>>(
      body, limits, EmptyBody::kRefused,
      [](Decode& decode, const Path& path, Items<Heartbeat>& items) {
        const std::optional<Seen> seen = read_object(decode, path, kHeartbeatCall, items);
        if (seen) require(decode, path, "items", seen->has(bit_of(kHeartbeatCall, "items")));
      });
}

Decoded<std::vector<Item<Ack>>> decode_acks(std::string_view body, const DecodeLimits& limits) {
  return decode_body<Items<Ack>>(
      body, limits, EmptyBody::kRefused, [](Decode& decode, const Path& path, Items<Ack>& items) {
        const std::optional<Seen> seen = read_object(decode, path, kAckCall, items);
        if (seen) require(decode, path, "items", seen->has(bit_of(kAckCall, "items")));
      });
}

Decoded<Poll> decode_poll(std::string_view body, std::string_view worker_id,
                          const DecodeLimits& limits) {
  return decode_body<Poll>(
      body, limits, EmptyBody::kEmptyObject, [&](Decode& decode, const Path& path, Poll& poll) {
        PollParts parts{{}, worker_id};
        read_object(decode, path, kPollMembers, parts);
        poll = std::move(parts.poll);
        if (poll.goodbye && poll.claim) {
          decode.fault(Path{&path, "goodbye", 0}, "can't be combined with claim");
        }
      });
}

Decoded<Ack> decode_complete(std::string_view body, const JobId& id, const DecodeLimits& limits) {
  return decode_single(body, limits, kCompleteMembers, ack_of(id, AckOutcome::kSucceeded));
}

Decoded<Ack> decode_fail(std::string_view body, const JobId& id, const DecodeLimits& limits) {
  return decode_single(body, limits, kFailMembers, ack_of(id, AckOutcome::kFailed));
}

Decoded<Ack> decode_snooze(std::string_view body, const JobId& id, const DecodeLimits& limits) {
  return decode_single(body, limits, kSnoozeMembers, ack_of(id, AckOutcome::kSnoozed), "delay_ms");
}

Decoded<Ack> decode_release(std::string_view body, const JobId& id, const DecodeLimits& limits) {
  return decode_single(body, limits, kReleaseMembers, ack_of(id, AckOutcome::kReleased));
}

Decoded<Heartbeat> decode_heartbeat(std::string_view body, const JobId& id,
                                    const DecodeLimits& limits) {
  Heartbeat start;
  start.id = id;
  return decode_single(body, limits, kSingleHeartbeatMembers, std::move(start));
}

}  // namespace millrace::api
