// The members of commands about workflows and of their answers, as nodes send them: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/reply_fields.h"
#include "core/workflows/workflow_commands.h"
#include "core/workflows/workflow_fields.h"
#include "core/workflows/workflow_reply.h"

namespace millrace::core {

constexpr auto describe(Of<MemberDraft::Need>) {
  return std::tuple(Field(1, &MemberDraft::Need::ref), Field(2, &MemberDraft::Need::on));
}

constexpr auto describe(Of<MemberDraft>) {
  return std::tuple(Field(1, &MemberDraft::ref), Field(2, &MemberDraft::needs),
                    Field(3, &MemberDraft::any), Field(4, &MemberDraft::queue, Form::kName),
                    Field(5, &MemberDraft::job), Field(6, &MemberDraft::limits));
}

constexpr auto describe(Of<Growth>) {
  return std::tuple(Field(1, &Growth::members), Field(2, &Growth::skip));
}

constexpr auto describe(Of<MemberReport>) {
  return std::tuple(Field(1, &MemberReport::workflow), Field(2, &MemberReport::role),
                    Field(3, &MemberReport::number), Field(4, &MemberReport::round),
                    Field(5, &MemberReport::state), Field(6, &MemberReport::reason),
                    Field(7, &MemberReport::grow));
}

constexpr auto describe(Of<CreateWorkflow>) {
  return std::tuple(Field(1, &CreateWorkflow::id), Field(2, &CreateWorkflow::id_of_client),
                    Field(3, &CreateWorkflow::spec), Field(4, &CreateWorkflow::open),
                    Field(5, &CreateWorkflow::members), Field(6, &CreateWorkflow::content),
                    Field(7, &CreateWorkflow::key), Field(8, &CreateWorkflow::reject),
                    Field(9, &CreateWorkflow::by));
}

constexpr auto describe(Of<AddMembers>) {
  return std::tuple(Field(1, &AddMembers::id), Field(2, &AddMembers::members),
                    Field(3, &AddMembers::while_active), Field(4, &AddMembers::close),
                    Field(5, &AddMembers::if_version), Field(6, &AddMembers::key));
}

constexpr auto describe(Of<CloseWorkflow>) {
  return std::tuple(Field(1, &CloseWorkflow::id), Field(2, &CloseWorkflow::if_version));
}

constexpr auto describe(Of<CancelWorkflow>) {
  return std::tuple(Field(1, &CancelWorkflow::id), Field(2, &CancelWorkflow::reason),
                    Field(3, &CancelWorkflow::if_version), Field(4, &CancelWorkflow::by));
}

constexpr auto describe(Of<RetryWorkflow>) {
  return std::tuple(Field(1, &RetryWorkflow::id), Field(2, &RetryWorkflow::refs),
                    Field(3, &RetryWorkflow::reset_attempts), Field(4, &RetryWorkflow::drop_limits),
                    Field(5, &RetryWorkflow::if_version), Field(6, &RetryWorkflow::by),
                    Field(7, &RetryWorkflow::rounds));
}

constexpr auto describe(Of<SkipMember>) {
  return std::tuple(Field(1, &SkipMember::id), Field(2, &SkipMember::ref),
                    Field(3, &SkipMember::if_version), Field(4, &SkipMember::by));
}

constexpr auto describe(Of<DeleteWorkflow>) {
  return std::tuple(Field(1, &DeleteWorkflow::id), Field(2, &DeleteWorkflow::by_retention),
                    Field(3, &DeleteWorkflow::if_version), Field(4, &DeleteWorkflow::by));
}

constexpr auto describe(Of<GetWorkflow>) {
  return std::tuple(Field(1, &GetWorkflow::id), Field(2, &GetWorkflow::ref),
                    Field(3, &GetWorkflow::first), Field(4, &GetWorkflow::limit),
                    Field(5, &GetWorkflow::state), Field(6, &GetWorkflow::why),
                    Field(7, &GetWorkflow::queues));
}

constexpr auto describe(Of<SettleMembers>) {
  return std::tuple(Field(1, &SettleMembers::shard), Field(2, &SettleMembers::reports));
}

constexpr auto describe(Of<RetryMember>) {
  return std::tuple(Field(1, &RetryMember::shard), Field(2, &RetryMember::spec),
                    Field(3, &RetryMember::reset_attempts), Field(4, &RetryMember::drop_limits));
}

constexpr auto describe(Of<CancelMembers::Item>) {
  return std::tuple(Field(1, &CancelMembers::Item::job), Field(2, &CancelMembers::Item::round));
}

constexpr auto describe(Of<CancelMembers>) {
  return std::tuple(Field(1, &CancelMembers::shard), Field(2, &CancelMembers::items),
                    Field(3, &CancelMembers::reason));
}

constexpr auto describe(Of<MemberMessage>) {
  return std::tuple(Field(1, &MemberMessage::settle), Field(2, &MemberMessage::retry),
                    Field(3, &MemberMessage::remove), Field(4, &MemberMessage::wish));
}

constexpr auto describe(Of<MemberView>) {
  return std::tuple(Field(1, &MemberView::number), Field(2, &MemberView::spec),
                    Field(3, &MemberView::fate), Field(4, &MemberView::job),
                    Field(5, &MemberView::need_refs), Field(6, &MemberView::waits_for));
}

constexpr auto describe(Of<InTransit>) {
  return std::tuple(Field(1, &InTransit::shard), Field(2, &InTransit::count));
}

constexpr auto describe(Of<WorkflowWhy>) {
  return std::tuple(Field(1, &WorkflowWhy::open), Field(2, &WorkflowWhy::active),
                    Field(3, &WorkflowWhy::active_jobs), Field(4, &WorkflowWhy::releasing),
                    Field(5, &WorkflowWhy::at_max_active), Field(6, &WorkflowWhy::in_transit),
                    Field(7, &WorkflowWhy::overloaded));
}

constexpr auto describe(Of<WorkflowReply>) {
  return std::tuple(Field(1, &WorkflowReply::refusal), Field(2, &WorkflowReply::at),
                    Field(3, &WorkflowReply::created), Field(4, &WorkflowReply::id),
                    Field(5, &WorkflowReply::deleted), Field(6, &WorkflowReply::workflow),
                    Field(7, &WorkflowReply::members), Field(8, &WorkflowReply::next),
                    Field(9, &WorkflowReply::added), Field(10, &WorkflowReply::existing),
                    Field(11, &WorkflowReply::why), Field(12, &WorkflowReply::queues),
                    Field(13, &WorkflowReply::by_key));
}

}  // namespace millrace::core
