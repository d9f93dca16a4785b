// The kinds of commands about workflows: see kind.h.
#pragma once

#include "core/command.h"
#include "core/kind.h"
#include "core/reply.h"
#include "core/row_bytes.h"

namespace millrace::core {

// A workflow's commands go to its home, which the id names.
struct OnWorkflow : Unremarkable {
  static constexpr std::uint32_t kPeerLevel = 2;
  static constexpr std::uint32_t kEventFormat = 2;
  static constexpr Scopes kScopes = kOperateScope;
  template <typename Command>
  static void name(const Command& command, Named& named) {
    named.workflows.push_back(command.id);
  }
  template <typename Command>
  static std::size_t row_bytes(const Command&) {
    return kMaxWorkflowBytes;
  }
  template <typename Command>
  static AuditObject object(const Command& command) {
    return {"workflow", SharedBytes(to_string(command.id))};
  }
};

template <>
struct KindOf<CreateWorkflow>
    : Row<WorkflowReply, Route::kByQueue, Effect::kWrites, Again::kAlways, OnWorkflow> {
  static constexpr std::string_view kName = "create workflow";
  static constexpr Scopes kScopes = kSubmitScope;
  static std::string_view routed_by(const CreateWorkflow& command) {
    return command.spec.queue.view();
  }
  static void name(const CreateWorkflow& command, Named& named) { named.queues_of(command); }
  template <typename Needed>
  static void need(const CreateWorkflow& command, Needed& needed) {
    if (command.id_of_client) needed.add_workflow(command.id);
  }
  static std::size_t row_bytes(const CreateWorkflow& command) {
    return kMaxWorkflowBytes + bytes_of(command.members);
  }
  static constexpr std::string_view kDone = "created";
};

template <>
struct KindOf<AddMembers>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kAlways, OnWorkflow> {
  static constexpr std::string_view kName = "add members";
  static constexpr Scopes kScopes = kSubmitScope;
  static void name(const AddMembers& command, Named& named) {
    named.workflows.push_back(command.id);
    named.queues_of(command.members);
  }
  static std::size_t row_bytes(const AddMembers& command) {
    return kMaxWorkflowBytes + bytes_of(command.members);
  }
};

template <>
struct KindOf<CloseWorkflow>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kAlways, OnWorkflow> {
  static constexpr std::string_view kName = "close workflow";
  static constexpr Scopes kScopes = kSubmitScope;
};

template <>
struct KindOf<CancelWorkflow>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kNever, OnWorkflow> {
  static constexpr std::string_view kName = "cancel workflow";
  static constexpr std::string_view kDone = "cancelled";
};

template <>
struct KindOf<RetryWorkflow>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kNever, OnWorkflow> {
  static constexpr std::string_view kName = "retry workflow";
  static constexpr std::string_view kDone = "retried";
};

template <>
struct KindOf<SkipMember>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kNever, OnWorkflow> {
  static constexpr std::string_view kName = "skip member";
  static constexpr std::string_view kDone = "skipped";
};

template <>
struct KindOf<DeleteWorkflow>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kNever, OnWorkflow> {
  static constexpr std::string_view kName = "delete workflow";
  static constexpr std::string_view kDone = "deleted";
  template <typename Needed>
  static void need(const DeleteWorkflow& command, Needed& needed) {
    needed.add_workflow(command.id);
  }
};

template <>
struct KindOf<GetWorkflow>
    : Row<WorkflowReply, Route::kToOne, Effect::kReads, Again::kAlways, OnWorkflow> {
  static constexpr std::string_view kName = "get workflow";
  // A submission of members looks at their workflow.
  static constexpr Scopes kScopes = kReadScope | kOperateScope | kSubmitScope;
  static std::size_t row_bytes(const GetWorkflow&) { return 0; }
};

// --- Between shards.

struct BetweenHomes : Unremarkable {
  static constexpr std::uint32_t kPeerLevel = 2;
  static constexpr std::uint32_t kEventFormat = 2;
};

template <>
struct KindOf<SettleMembers>
    : Row<WorkflowReply, Route::kToOne, Effect::kEnds, Again::kAlways, BetweenHomes> {
  static constexpr std::string_view kName = "settle members";
  static std::size_t row_bytes(const SettleMembers& command) {
    std::size_t bytes = kItemBytes + command.reports.size() * 2 * kRefBytes;
    for (const MemberReport& report : command.reports) {
      if (report.role != MemberRole::kMember) bytes += kMaxWorkflowBytes;
      bytes += bytes_of(report.grow);
    }
    return bytes;
  }
};

template <>
struct KindOf<RetryMember>
    : Row<ItemsReply, Route::kToOne, Effect::kWrites, Again::kAlways, BetweenHomes> {
  static constexpr std::string_view kName = "retry member";
  template <typename Needed>
  static void need(const RetryMember& command, Needed& needed) {
    needed.add_with_payload(command.spec->id);
    needed.add(command.spec->id);
  }
  static std::size_t row_bytes(const RetryMember& command) {
    return kItemBytes + core::row_bytes(*command.spec);
  }
};

template <>
struct KindOf<CancelMembers>
    : Row<WorkflowReply, Route::kToOne, Effect::kWrites, Again::kAlways, BetweenHomes> {
  static constexpr std::string_view kName = "cancel members";
  static std::size_t row_bytes(const CancelMembers& command) {
    return kItemBytes + command.items.size() * (2 * kRefBytes + command.reason.size());
  }
};

}  // namespace millrace::core
