// The members of the events: see describe.h. An event is a message of events.proto.
#pragma once

#include <tuple>

#include "core/audit/audit_fields.h"
#include "core/catalog/catalog_fields.h"
#include "core/describe.h"
#include "core/event.h"
#include "core/flow/share_fields.h"
#include "core/jobs/job_fields.h"
#include "core/operations/operation_fields.h"
#include "core/queues/queue_fields.h"
#include "core/schedules/schedule_fields.h"
#include "core/workflows/workflow_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<QueueChange>) { return QueueChange::kResumed; }
constexpr auto last_of(Of<Keep>) { return Keep::kForgotten; }

constexpr auto describe(Of<JobRef>) {
  return std::tuple(Field(1, &JobRef::id), Field(2, &JobRef::queue, Form::kName),
                    Field(3, &JobRef::type, Form::kName), Field(4, &JobRef::attempt));
}

constexpr auto describe(Of<QueueChanged>) {
  return std::tuple(Field(1, &QueueChanged::queue, Form::kName), Field(2, &QueueChanged::change),
                    Field(3, &QueueChanged::settings), Field(4, &QueueChanged::pause_reason));
}

constexpr auto describe(Of<Submitted>) {
  return std::tuple(Field(1, &Submitted::job), Field(2, &Submitted::key));
}

constexpr auto describe(Of<Claimed::Item>) {
  return std::tuple(Field(1, &Claimed::Item::job), Field(2, &Claimed::Item::token),
                    Field(3, &Claimed::Item::expires_at), Field(4, &Claimed::Item::length),
                    Field(5, &Claimed::Item::deadline), Field(6, &Claimed::Item::waited));
}

constexpr auto describe(Of<Claimed>) {
  return std::tuple(Field(1, &Claimed::worker, Form::kName), Field(2, &Claimed::items));
}

constexpr auto describe(Of<Extended::Item>) {
  return std::tuple(Field(1, &Extended::Item::id), Field(2, &Extended::Item::expires_at),
                    Field(3, &Extended::Item::progress));
}

constexpr auto describe(Of<Extended>) { return std::tuple(Field(1, &Extended::items)); }

constexpr auto describe(Of<AttemptEnded>) {
  return std::tuple(Field(1, &AttemptEnded::job), Field(2, &AttemptEnded::token),
                    Field(3, &AttemptEnded::worker, Form::kName), Field(4, &AttemptEnded::outcome),
                    Field(5, &AttemptEnded::state), Field(6, &AttemptEnded::run_at),
                    Field(7, &AttemptEnded::counted), Field(8, &AttemptEnded::crashed),
                    Field(9, &AttemptEnded::keep), Field(10, &AttemptEnded::ran),
                    Field(11, &AttemptEnded::result), Field(12, &AttemptEnded::error));
}

constexpr auto describe(Of<Logged>) {
  return std::tuple(Field(1, &Logged::id), Field(2, &Logged::lines), Field(3, &Logged::drop_below));
}

constexpr auto describe(Of<BecameDue>) { return std::tuple(Field(1, &BecameDue::jobs)); }

constexpr auto describe(Of<Expired>) {
  return std::tuple(Field(1, &Expired::job), Field(2, &Expired::keep));
}

constexpr auto describe(Of<CancelRequested>) {
  return std::tuple(Field(1, &CancelRequested::job),
                    Field(2, &CancelRequested::worker, Form::kName),
                    Field(3, &CancelRequested::token), Field(4, &CancelRequested::reason));
}

constexpr auto describe(Of<Cancelled>) {
  return std::tuple(Field(1, &Cancelled::job), Field(2, &Cancelled::reason),
                    Field(3, &Cancelled::keep));
}

constexpr auto describe(Of<Retried>) {
  return std::tuple(Field(1, &Retried::job), Field(2, &Retried::from));
}

constexpr auto describe(Of<Finished>) {
  return std::tuple(Field(1, &Finished::job), Field(2, &Finished::from), Field(3, &Finished::token),
                    Field(4, &Finished::keep));
}

constexpr auto describe(Of<Edited>) {
  return std::tuple(Field(1, &Edited::job), Field(2, &Edited::priority), Field(3, &Edited::run_at),
                    Field(4, &Edited::state), Field(5, &Edited::payload),
                    Field(6, &Edited::max_attempts), Field(7, &Edited::tags));
}

constexpr auto describe(Of<Deleted::Item>) {
  return std::tuple(Field(1, &Deleted::Item::job), Field(2, &Deleted::Item::state),
                    Field(3, &Deleted::Item::unique_key));
}

constexpr auto describe(Of<Deleted>) {
  return std::tuple(Field(1, &Deleted::cause), Field(2, &Deleted::items));
}

constexpr auto describe(Of<QueuePurged>) {
  return std::tuple(Field(1, &QueuePurged::queue, Form::kName), Field(2, &QueuePurged::deleted));
}

constexpr auto describe(Of<QueueDeleted>) {
  return std::tuple(Field(1, &QueueDeleted::queue, Form::kName));
}

constexpr auto last_of(Of<ScheduleChange>) { return ScheduleChange::kResumed; }

constexpr auto describe(Of<ScheduleSet>) {
  return std::tuple(Field(1, &ScheduleSet::change), Field(2, &ScheduleSet::schedule));
}

constexpr auto describe(Of<ScheduleAdvanced>) {
  return std::tuple(Field(1, &ScheduleAdvanced::name), Field(2, &ScheduleAdvanced::progress),
                    Field(3, &ScheduleAdvanced::runs),
                    Field(4, &ScheduleAdvanced::queue, Form::kName));
}

constexpr auto describe(Of<ScheduleDeleted>) {
  return std::tuple(Field(1, &ScheduleDeleted::name),
                    Field(2, &ScheduleDeleted::queue, Form::kName));
}

constexpr auto describe(Of<CatalogPut>) {
  return std::tuple(Field(1, &CatalogPut::kind), Field(2, &CatalogPut::name),
                    Field(3, &CatalogPut::body));
}

constexpr auto describe(Of<CatalogDeleted>) {
  return std::tuple(Field(1, &CatalogDeleted::kind), Field(2, &CatalogDeleted::name));
}

constexpr auto last_of(Of<LimitChange>) { return LimitChange::kCopied; }

constexpr auto describe(Of<LimitSet>) {
  return std::tuple(Field(1, &LimitSet::change), Field(2, &LimitSet::limit));
}

constexpr auto describe(Of<LimitDeleted>) {
  return std::tuple(Field(1, &LimitDeleted::kind), Field(2, &LimitDeleted::name),
                    Field(3, &LimitDeleted::copied));
}

constexpr auto describe(Of<ShareTaken>) {
  return std::tuple(Field(1, &ShareTaken::kind), Field(2, &ShareTaken::name),
                    Field(3, &ShareTaken::key), Field(4, &ShareTaken::share),
                    Field(5, &ShareTaken::level));
}

constexpr auto describe(Of<SharesSet>) {
  return std::tuple(Field(1, &SharesSet::kind), Field(2, &SharesSet::name),
                    Field(3, &SharesSet::key), Field(4, &SharesSet::book));
}

constexpr auto describe(Of<SlowedDown>) {
  return std::tuple(Field(1, &SlowedDown::kind), Field(2, &SlowedDown::name),
                    Field(3, &SlowedDown::key), Field(4, &SlowedDown::until));
}

constexpr auto describe(Of<BreakerTurned>) {
  return std::tuple(Field(1, &BreakerTurned::kind), Field(2, &BreakerTurned::name),
                    Field(3, &BreakerTurned::key), Field(4, &BreakerTurned::open_until));
}

constexpr auto describe(Of<Debounced>) {
  return std::tuple(Field(1, &Debounced::job), Field(2, &Debounced::payload),
                    Field(3, &Debounced::run_at), Field(4, &Debounced::state));
}

constexpr auto describe(Of<KeysExpired>) { return std::tuple(Field(1, &KeysExpired::until)); }

constexpr auto describe(Of<UniquesReleased>) {
  return std::tuple(Field(1, &UniquesReleased::until));
}

constexpr auto describe(Of<EpochStarted>) {
  return std::tuple(Field(1, &EpochStarted::epoch), Field(2, &EpochStarted::first_token));
}

constexpr auto describe(Of<LeasesExtended>) { return std::tuple(Field(1, &LeasesExtended::by)); }

}  // namespace millrace::core
