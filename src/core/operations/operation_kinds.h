// The kinds of commands about operations: see kind.h. Every shard has a part of an operation.
#pragma once

#include "core/kind.h"
#include "core/operations/operation.h"
#include "core/reply.h"
#include "core/row_bytes.h"

namespace millrace::core {

template <>
struct KindOf<StartOperation>
    : Row<OperationReply, Route::kToAll, Effect::kWrites, Again::kAlways> {
  static constexpr std::string_view kName = "start operation";
  static constexpr Scopes kScopes = kOperateScope;
  // The node that received the request has limited the filter to what the token allows.
  static void name(const StartOperation& command, Named& named) {
    if (!command.spec.queue.empty()) named.queue(command.spec.queue);
  }
  static std::size_t row_bytes(const StartOperation& command) {
    return kRefBytes + bytes_of(command.spec);
  }
  static constexpr std::string_view kDone = "started";
  static AuditObject object(const StartOperation& command) {
    return {"operation", SharedBytes(to_string(command.id))};
  }
};

template <>
struct KindOf<SetOperation> : Row<OperationReply, Route::kToAll, Effect::kWrites, Again::kAlways> {
  static constexpr std::string_view kName = "order operation";
  static constexpr Scopes kScopes = kOperateScope;
  // The event holds the whole part, which the machine knows.
  static std::size_t row_bytes(const SetOperation&) { return kMaxOperationBytes; }
};

template <>
struct KindOf<StepOperation> : Row<OperationReply, Route::kToOne, Effect::kWrites, Again::kNever> {
  static constexpr std::string_view kName = "step operation";
  template <typename Needed>
  static void need(const StepOperation& command, Needed& needed) {
    const OperationPart* const part = needed.part_of(command.id);
    if (part == nullptr) return;
    for (const StepOperation::Item& item : command.items) {
      if (part->spec.action == OperationAction::kRetry) needed.add_with_payload(item.id);
      needed.add(item.id);
    }
  }
  // Without retried jobs.
  static std::size_t row_bytes(const StepOperation& command) {
    return 4 * kRefBytes + command.items.size() * 2 * kRefBytes;
  }
};

template <>
struct KindOf<GetOperations>
    : Row<OperationReply, Route::kToAll, Effect::kReads, Again::kAlways, Reading> {
  static constexpr std::string_view kName = "get operations";
};

template <>
struct KindOf<ForgetOperations>
    : Row<OperationReply, Route::kToAll, Effect::kWrites, Again::kAlways> {
  static constexpr std::string_view kName = "forget operations";
  static std::size_t row_bytes(const ForgetOperations& command) {
    return kItemBytes + command.ids.size() * kItemBytes;
  }
};

}  // namespace millrace::core
