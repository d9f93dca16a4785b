// The members of the commands, as nodes send them to each other: see describe.h.
#pragma once

#include <tuple>

#include "base/tomorrow.h"
#include "core/audit/audit_fields.h"
#include "core/catalog/catalog_fields.h"
#include "core/command.h"
#include "core/describe.h"
#include "core/event_fields.h"
#include "core/flow/limit_command_fields.h"
#include "core/flow/share_fields.h"
#include "core/operations/operation_fields.h"
#include "core/workflows/workflow_command_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<Detail>) { return Detail::kJobs; }
constexpr auto last_of(Of<Atomicity>) { return Atomicity::kAll; }
constexpr auto last_of(Of<IdOrigin>) { return IdOrigin::kClient; }

constexpr auto describe(Of<SubmissionKey>) {
  return std::tuple(Field(1, &SubmissionKey::key), Field(2, &SubmissionKey::body),
                    Field(3, &SubmissionKey::window));
}

constexpr auto describe(Of<JobSpec>) {
  const auto today = std::tuple(
      Field(1, &JobSpec::id), Field(2, &JobSpec::id_origin), Field(3, &JobSpec::queue, Form::kName),
      Field(4, &JobSpec::type, Form::kType), Field(5, &JobSpec::payload),
      Field(6, &JobSpec::priority), Field(7, &JobSpec::run_at), Field(8, &JobSpec::delay),
      Field(9, &JobSpec::expires_at), Field(10, &JobSpec::expires_in),
      Field(11, &JobSpec::max_attempts), Field(12, &JobSpec::retry, Form::kOwnPolicy),
      Field(13, &JobSpec::lease), Field(14, &JobSpec::timeout), Field(15, &JobSpec::extras),
      Field(16, &JobSpec::key));
  if constexpr (kOfTomorrow) {
    return std::tuple_cat(today, std::tuple(Field(17, &JobSpec::type, Form::kOfTomorrow).since(3)));
  } else {
    return today;
  }
}

constexpr auto describe(Of<Enqueue>) {
  return std::tuple(Field(1, &Enqueue::jobs), Field(2, &Enqueue::atomicity),
                    Field(3, &Enqueue::detail), Field(4, &Enqueue::key),
                    Field(5, &Enqueue::key_window), Field(6, &Enqueue::by));
}

constexpr auto describe(Of<Claim>) {
  return std::tuple(Field(1, &Claim::queues), Field(2, &Claim::types), Field(3, &Claim::limit),
                    Field(4, &Claim::lease), Field(5, &Claim::worker));
}

constexpr auto describe(Of<SlowDown>) {
  return std::tuple(Field(1, &SlowDown::limit), Field(2, &SlowDown::key),
                    Field(3, &SlowDown::length));
}

constexpr auto describe(Of<HeartbeatItem>) {
  return std::tuple(Field(1, &HeartbeatItem::id), Field(2, &HeartbeatItem::token),
                    Field(3, &HeartbeatItem::extend), Field(4, &HeartbeatItem::progress),
                    Field(5, &HeartbeatItem::slow_down));
}

constexpr auto describe(Of<Heartbeat>) {
  return std::tuple(Field(1, &Heartbeat::items), Field(2, &Heartbeat::detail));
}

constexpr auto describe(Of<LogEntry>) {
  return std::tuple(Field(1, &LogEntry::at), Field(2, &LogEntry::level),
                    Field(3, &LogEntry::message));
}

constexpr auto describe(Of<AckItem>) {
  return std::tuple(
      Field(1, &AckItem::id), Field(2, &AckItem::token), Field(3, &AckItem::outcome),
      Field(4, &AckItem::result), Field(5, &AckItem::error), Field(6, &AckItem::retryable),
      Field(7, &AckItem::delay), Field(8, &AckItem::logs), Field(9, &AckItem::enqueue),
      Field(10, &AckItem::slow_down), Field(11, &AckItem::grow), Field(12, &AckItem::workflows));
}

constexpr auto describe(Of<Ack>) {
  // A fenced ack comes from the inbox, never from another node.
  return std::tuple(Field(1, &Ack::items), Field(2, &Ack::detail),
                    Field(0, &Ack::right, Form::kUnsent));
}

constexpr auto describe(Of<LogItem>) {
  return std::tuple(Field(1, &LogItem::id), Field(2, &LogItem::token), Field(3, &LogItem::entry));
}

constexpr auto describe(Of<AppendLogs>) { return std::tuple(Field(1, &AppendLogs::items)); }

constexpr auto describe(Of<Cancel>) {
  return std::tuple(Field(1, &Cancel::ids), Field(2, &Cancel::reason), Field(3, &Cancel::states),
                    Field(4, &Cancel::by));
}

constexpr auto describe(Of<Retry>) {
  return std::tuple(Field(1, &Retry::ids), Field(2, &Retry::run_at),
                    Field(3, &Retry::reset_attempts), Field(4, &Retry::states),
                    Field(5, &Retry::drop_limits), Field(6, &Retry::by));
}

constexpr auto describe(Of<Edit>) {
  return std::tuple(Field(1, &Edit::ids), Field(2, &Edit::if_version), Field(3, &Edit::priority),
                    Field(4, &Edit::run_at), Field(5, &Edit::payload),
                    Field(6, &Edit::max_attempts), Field(7, &Edit::tags), Field(8, &Edit::states),
                    Field(9, &Edit::by));
}

constexpr auto describe(Of<Delete>) {
  return std::tuple(Field(1, &Delete::ids), Field(2, &Delete::cause), Field(3, &Delete::states),
                    Field(4, &Delete::if_version), Field(5, &Delete::by));
}

constexpr auto describe(Of<SetQueue>) {
  return std::tuple(Field(1, &SetQueue::queue), Field(2, &SetQueue::replace),
                    Field(3, &SetQueue::patch), Field(4, &SetQueue::if_version),
                    Field(5, &SetQueue::create), Field(6, &SetQueue::by));
}

constexpr auto describe(Of<PauseQueue>) {
  return std::tuple(Field(1, &PauseQueue::queue), Field(2, &PauseQueue::reason),
                    Field(3, &PauseQueue::create), Field(4, &PauseQueue::by));
}

constexpr auto describe(Of<ResumeQueue>) {
  return std::tuple(Field(1, &ResumeQueue::queue), Field(2, &ResumeQueue::by));
}

constexpr auto describe(Of<NotePurge>) {
  return std::tuple(Field(1, &NotePurge::queue), Field(2, &NotePurge::deleted),
                    Field(3, &NotePurge::by));
}

constexpr auto describe(Of<GetJob>) { return std::tuple(Field(1, &GetJob::id)); }

constexpr auto describe(Of<GetQueues>) {
  return std::tuple(Field(1, &GetQueues::queue), Field(2, &GetQueues::after),
                    Field(3, &GetQueues::limit), Field(4, &GetQueues::counts_only),
                    Field(5, &GetQueues::blocked_by));
}

constexpr auto describe(Of<SetSchedule>) {
  return std::tuple(
      Field(1, &SetSchedule::name), Field(2, &SetSchedule::spec), Field(3, &SetSchedule::paused),
      Field(4, &SetSchedule::incarnation, Form::kFixed), Field(5, &SetSchedule::if_version),
      Field(6, &SetSchedule::by), Field(0, &SetSchedule::wall, Form::kUnsent),
      Field(0, &SetSchedule::owed, Form::kUnsent));
}

constexpr auto describe(Of<PauseSchedule>) {
  return std::tuple(Field(1, &PauseSchedule::name), Field(2, &PauseSchedule::reason),
                    Field(3, &PauseSchedule::by));
}

constexpr auto describe(Of<ResumeSchedule>) {
  return std::tuple(Field(1, &ResumeSchedule::name), Field(2, &ResumeSchedule::by),
                    Field(0, &ResumeSchedule::wall, Form::kUnsent));
}

constexpr auto describe(Of<DeleteSchedule>) {
  return std::tuple(Field(1, &DeleteSchedule::name), Field(2, &DeleteSchedule::if_version),
                    Field(3, &DeleteSchedule::by));
}

constexpr auto describe(Of<NoteScheduleRun>) {
  return std::tuple(
      Field(1, &NoteScheduleRun::name), Field(2, &NoteScheduleRun::incarnation, Form::kFixed),
      Field(3, &NoteScheduleRun::scheduled_at), Field(4, &NoteScheduleRun::job),
      Field(5, &NoteScheduleRun::workflow), Field(0, &NoteScheduleRun::box, Form::kUnsent));
}

constexpr auto describe(Of<GetSchedules>) {
  return std::tuple(Field(1, &GetSchedules::name), Field(2, &GetSchedules::after),
                    Field(3, &GetSchedules::limit), Field(4, &GetSchedules::of_owner),
                    Field(5, &GetSchedules::managed_by), Field(6, &GetSchedules::queue));
}

constexpr auto describe(Of<GetShares>) {
  return std::tuple(Field(1, &GetShares::queue), Field(2, &GetShares::after),
                    Field(3, &GetShares::limit), Field(4, &GetShares::busiest));
}

constexpr auto describe(Of<GetWhy>) { return std::tuple(Field(1, &GetWhy::id)); }

constexpr auto describe(Of<DeleteQueue>) {
  return std::tuple(Field(1, &DeleteQueue::queue), Field(2, &DeleteQueue::by));
}

constexpr auto describe(Of<PutCatalogEntry>) {
  return std::tuple(Field(1, &PutCatalogEntry::kind), Field(2, &PutCatalogEntry::name),
                    Field(3, &PutCatalogEntry::body), Field(4, &PutCatalogEntry::if_version),
                    Field(5, &PutCatalogEntry::by));
}

constexpr auto describe(Of<DeleteCatalogEntry>) {
  return std::tuple(Field(1, &DeleteCatalogEntry::kind), Field(2, &DeleteCatalogEntry::name),
                    Field(3, &DeleteCatalogEntry::if_version), Field(4, &DeleteCatalogEntry::by));
}

constexpr auto describe(Of<NoteAudit>) { return std::tuple(Field(1, &NoteAudit::by)); }

constexpr auto describe(Of<GetCatalog>) { return std::tuple(Field(1, &GetCatalog::since)); }

constexpr auto describe(Of<ShareMessage>) {
  return std::tuple(Field(1, &ShareMessage::shard),
                    Field(0, &ShareMessage::command, Form::kUnsent));
}

}  // namespace millrace::core
