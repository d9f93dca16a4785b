// The members of workflows, of their rows and of their events: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/jobs/job_fields.h"
#include "core/workflows/member_fields.h"
#include "core/workflows/workflow_events.h"

namespace millrace::core {

constexpr auto last_of(Of<WorkflowChange>) { return WorkflowChange::kLateSuccess; }
constexpr auto last_of(Of<MembersSettled::Cause>) { return MembersSettled::Cause::kReported; }

constexpr auto describe(Of<Callback>) {
  return std::tuple(Field(1, &Callback::role), Field(2, &Callback::queue, Form::kName),
                    Field(3, &Callback::job));
}

constexpr auto describe(Of<WorkflowSpec>) {
  return std::tuple(Field(1, &WorkflowSpec::queue, Form::kName), Field(2, &WorkflowSpec::name),
                    Field(3, &WorkflowSpec::tags), Field(4, &WorkflowSpec::meta),
                    Field(5, &WorkflowSpec::on_member_failed), Field(6, &WorkflowSpec::callbacks),
                    Field(7, &WorkflowSpec::max_active), Field(8, &WorkflowSpec::timeout),
                    Field(9, &WorkflowSpec::result_from), Field(10, &WorkflowSpec::keep_members),
                    Field(11, &WorkflowSpec::unique_key));
}

constexpr auto describe(Of<CallbackRun>) {
  return std::tuple(Field(1, &CallbackRun::role), Field(2, &CallbackRun::job),
                    Field(3, &CallbackRun::ended));
}

constexpr auto describe(Of<Workflow>) {
  return std::tuple(
      Field(1, &Workflow::id), Field(2, &Workflow::spec), Field(3, &Workflow::content),
      Field(4, &Workflow::state), Field(5, &Workflow::reason), Field(6, &Workflow::cancel_reason),
      Field(7, &Workflow::generation), Field(8, &Workflow::version), Field(9, &Workflow::open),
      Field(10, &Workflow::created_at), Field(11, &Workflow::timeout_at),
      Field(12, &Workflow::ended_at), Field(13, &Workflow::members), Field(14, &Workflow::counts),
      Field(15, &Workflow::callbacks), Field(16, &Workflow::reset_attempts),
      Field(17, &Workflow::drop_limits));
}

constexpr auto describe(Of<MemberChunk>) {
  return std::tuple(Field(1, &MemberChunk::workflow), Field(2, &MemberChunk::first),
                    Field(3, &MemberChunk::members));
}

constexpr auto describe(Of<FatePage>) {
  return std::tuple(Field(1, &FatePage::workflow), Field(2, &FatePage::first),
                    Field(3, &FatePage::fates));
}

constexpr auto describe(Of<WorkflowSet>) {
  return std::tuple(Field(1, &WorkflowSet::change), Field(2, &WorkflowSet::workflow),
                    Field(3, &WorkflowSet::key));
}

constexpr auto describe(Of<MembersAdded>) {
  return std::tuple(Field(1, &MembersAdded::workflow), Field(2, &MembersAdded::queue, Form::kName),
                    Field(3, &MembersAdded::first), Field(4, &MembersAdded::members),
                    Field(5, &MembersAdded::by));
}

constexpr auto describe(Of<MembersReleased>) {
  return std::tuple(Field(1, &MembersReleased::workflow), Field(2, &MembersReleased::numbers));
}

constexpr auto describe(Of<MembersSettled::Item>) {
  return std::tuple(Field(1, &MembersSettled::Item::number), Field(2, &MembersSettled::Item::round),
                    Field(3, &MembersSettled::Item::state),
                    Field(4, &MembersSettled::Item::reason));
}

constexpr auto describe(Of<MembersSettled>) {
  return std::tuple(Field(1, &MembersSettled::workflow),
                    Field(2, &MembersSettled::queue, Form::kName), Field(3, &MembersSettled::cause),
                    Field(4, &MembersSettled::items));
}

constexpr auto describe(Of<MembersRevived>) {
  return std::tuple(Field(1, &MembersRevived::workflow), Field(2, &MembersRevived::numbers));
}

constexpr auto describe(Of<WorkflowForgotten>) {
  return std::tuple(Field(1, &WorkflowForgotten::workflow),
                    Field(2, &WorkflowForgotten::queue, Form::kName),
                    Field(3, &WorkflowForgotten::state));
}

}  // namespace millrace::core
