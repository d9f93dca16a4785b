// The kinds of commands about queues: see kind.h.
#pragma once

#include "core/command.h"
#include "core/kind.h"
#include "core/reply.h"
#include "core/row_bytes.h"

namespace millrace::core {

// The event holds the queue's whole settings, including its retry policy, which the machine knows.
inline constexpr std::size_t kQueueChangedBytes =
    2 * kRefBytes + kMaxQueueLimitsBytes + 10 * kMaxRetryDelays;

template <>
struct KindOf<SetQueue>
    : Row<QueueReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnQueue> {
  static constexpr std::string_view kName = "set queue";
  static constexpr std::string_view kDone = "set";
  static std::size_t row_bytes(const SetQueue& command) {
    return 2 * kRefBytes + kMaxQueueLimitsBytes + bytes_of(command.patch.retry);
  }
};

template <>
struct KindOf<PauseQueue>
    : Row<QueueReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnQueue> {
  static constexpr std::string_view kName = "pause queue";
  static constexpr std::string_view kDone = "paused";
  static std::size_t row_bytes(const PauseQueue& command) {
    return kQueueChangedBytes + command.reason.size();
  }
};

template <>
struct KindOf<ResumeQueue>
    : Row<QueueReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnQueue> {
  static constexpr std::string_view kName = "resume queue";
  static constexpr std::string_view kDone = "resumed";
  static std::size_t row_bytes(const ResumeQueue&) { return kQueueChangedBytes; }
};

template <>
struct KindOf<DeleteQueue>
    : Row<QueueReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnQueue> {
  static constexpr std::string_view kName = "delete queue";
  static constexpr std::string_view kDone = "deleted";
  static std::size_t row_bytes(const DeleteQueue&) { return kRefBytes; }
};

// The jobs are already deleted: refusing the purge's closing note would deny that.
template <>
struct KindOf<NotePurge> : Row<QueueReply, Route::kByQueue, Effect::kEnds, Again::kNever, OnQueue> {
  static constexpr std::string_view kName = "purged queue";
  static constexpr std::string_view kDone = "purged";
  static AuditObject object(const NotePurge& command) { return {"queue", command.queue, {}, true}; }
  static std::size_t row_bytes(const NotePurge&) { return kRefBytes; }
};

template <>
struct KindOf<GetQueues>
    : Row<QueueReply, Route::kByQueue, Effect::kReads, Again::kAlways, OnQueue> {
  static constexpr std::string_view kName = "get queues";
  static constexpr Scopes kScopes = kReadScope | kOperateScope;
  // Without a name it asks for all; the answer is checked instead.
  static void name(const GetQueues& command, Named& named) {
    if (!command.queue.empty()) OnQueue::name(command, named);
  }
};

template <>
struct KindOf<GetShares>
    : Row<LimitReply, Route::kByQueue, Effect::kReads, Again::kAlways, OnQueue> {
  static constexpr std::string_view kName = "get shares";
  static constexpr Scopes kScopes = kReadScope;
};

}  // namespace millrace::core
