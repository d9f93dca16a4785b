// The kinds of commands about jobs: see kind.h.
#pragma once

#include "core/command.h"
#include "core/kind.h"
#include "core/reply.h"
#include "core/row_bytes.h"

namespace millrace::core {

template <>
struct KindOf<Enqueue> : Row<EnqueueReply, Route::kByJob, Effect::kWrites, Again::kIfKeyed> {
  static constexpr std::string_view kName = "submit";
  static constexpr Scopes kScopes = kSubmitScope;
  static void name(const Enqueue& command, Named& named) { named.queues_of(command.jobs); }
  template <typename Needed>
  static void need(const Enqueue& command, Needed& needed) {
    needed.add(command.jobs);
  }
  static std::size_t row_bytes(const Enqueue& command) {
    return kItemBytes + bytes_of(command.jobs);
  }
  static constexpr std::string_view kDone = "submitted";
  static AuditObject object(const Enqueue& command) {
    if (command.jobs.size() != 1) return {"job", {}, {}, true};
    return {"job", SharedBytes(to_string(command.jobs.front().id))};
  }
};

template <>
struct KindOf<Claim> : Row<ClaimReply, Route::kByQueues, Effect::kWrites, Again::kNever> {
  static constexpr std::string_view kName = "claim";
  static constexpr Scopes kScopes = kWorkScope;
  static void name(const Claim& command, Named& named) { named.all_queues(command.queues); }
  static std::size_t row_bytes(const Claim& command) {
    return kRefBytes + command.limit * (kRefBytes + kItemBytes);
  }
};

template <>
struct KindOf<Heartbeat>
    : Row<ItemsReply, Route::kByItem, Effect::kEnds, Again::kAlways, OnRunningJobs> {
  static constexpr std::string_view kName = "heartbeat";
  static std::size_t row_bytes(const Heartbeat& command) {
    std::size_t bytes = kItemBytes;
    for (const HeartbeatItem& item : command.items) {
      bytes += kItemBytes + bytes_of(item.progress) + bytes_of(item.slow_down);
    }
    return bytes;
  }
};

template <>
struct KindOf<Ack> : Row<ItemsReply, Route::kByItem, Effect::kEnds, Again::kAlways, OnRunningJobs> {
  static constexpr std::string_view kName = "ack";
  static void name(const Ack& command, Named& named) {
    named.ids_of(command.items);
    for (const AckItem& item : command.items) {
      named.queues_of(item.enqueue);
      if (item.grow != nullptr) named.queues_of(item.grow->members);
      for (const CreateWorkflow& workflow : item.workflows) named.queues_of(workflow);
    }
  }
  template <typename Needed>
  static void need(const Ack& command, Needed& needed) {
    for (const AckItem& item : command.items) {
      needed.add(item.enqueue);
      if (command.right != AckRight::kLease) needed.add(item.id);
    }
  }
  static std::size_t row_bytes(const Ack& command) {
    std::size_t bytes = kItemBytes;
    for (const AckItem& item : command.items) {
      bytes += 2 * kRefBytes + item.result.size() + bytes_of_error(item.error) +
               bytes_of(item.logs) + bytes_of(item.enqueue) + bytes_of(item.slow_down) +
               bytes_of(item.grow);
    }
    return bytes;
  }
};

template <>
struct KindOf<AppendLogs>
    : Row<ItemsReply, Route::kByItem, Effect::kEnds, Again::kNever, OnRunningJobs> {
  static constexpr std::string_view kName = "append log lines";
  static std::size_t row_bytes(const AppendLogs& command) {
    std::size_t bytes = kItemBytes;
    for (const LogItem& item : command.items) bytes += 2 * kItemBytes + item.entry.message.size();
    return bytes;
  }
};

template <>
struct KindOf<Cancel> : Row<ItemsReply, Route::kByItem, Effect::kWrites, Again::kNever, OnJobs> {
  static constexpr std::string_view kName = "cancel";
  static constexpr std::string_view kDone = "cancelled";
  static std::size_t row_bytes(const Cancel& command) {
    return command.ids.size() * (2 * kRefBytes + command.reason.size());
  }
};

template <>
struct KindOf<Retry> : Row<ItemsReply, Route::kByItem, Effect::kWrites, Again::kNever, OnJobs> {
  static constexpr std::string_view kName = "retry";
  static constexpr std::string_view kDone = "retried";
  // The event holds the whole job.
  template <typename Needed>
  static void need(const Retry& command, Needed& needed) {
    for (const JobId& id : command.ids) {
      needed.add_with_payload(id);
      needed.add(id);
    }
  }
  // Without the retried jobs.
  static std::size_t row_bytes(const Retry& command) { return command.ids.size() * kItemBytes; }
};

template <>
struct KindOf<Edit> : Row<ItemsReply, Route::kByItem, Effect::kWrites, Again::kNever, OnJobs> {
  static constexpr std::string_view kName = "edit";
  static constexpr std::string_view kDone = "edited";
  static std::size_t row_bytes(const Edit& command) {
    return command.ids.size() *
           (kRefBytes + kItemBytes + command.payload.size() + bytes_of(command.tags));
  }
};

template <>
struct KindOf<Delete> : Row<ItemsReply, Route::kByItem, Effect::kWrites, Again::kNever, OnJobs> {
  static constexpr std::string_view kName = "delete";
  static constexpr std::string_view kDone = "deleted";
  static std::size_t row_bytes(const Delete& command) { return command.ids.size() * 2 * kRefBytes; }
};

// Precedes every request that names a job, to find its queue; the answer is checked instead of the
// name. The caller reads the tables if memory does not know the job.
template <>
struct KindOf<GetJob> : Row<JobReply, Route::kToOne, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "get job";
  static constexpr Scopes kScopes = kSubmitScope | kWorkScope | kReadScope | kOperateScope;
};

template <>
struct KindOf<GetWhy> : Row<WhyReply, Route::kToOne, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "why";
  static constexpr Scopes kScopes = kReadScope;
  static void name(const GetWhy& command, Named& named) { named.ids.push_back(command.id); }
};

}  // namespace millrace::core
