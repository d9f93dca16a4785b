// The members of audit entries: see describe.h.
#pragma once

#include <tuple>

#include "core/audit/audit.h"
#include "core/describe.h"
#include "core/flow/limit_fields.h"
#include "core/jobs/job_fields.h"
#include "core/queues/queue_fields.h"
#include "core/schedules/schedule_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<AuditVia>) { return AuditVia::kSystem; }

constexpr auto describe(Of<Actor>) {
  return std::tuple(Field(1, &Actor::token), Field(2, &Actor::name), Field(3, &Actor::address),
                    Field(4, &Actor::via), Field(5, &Actor::request));
}

constexpr auto describe(Of<Origin>) {
  return std::tuple(Field(1, &Origin::actor), Field(2, &Origin::action), Field(3, &Origin::kind),
                    Field(4, &Origin::name), Field(5, &Origin::reason), Field(6, &Origin::before),
                    Field(7, &Origin::after));
}

constexpr auto describe(Of<QueueImage>) {
  return std::tuple(Field(1, &QueueImage::settings), Field(2, &QueueImage::paused),
                    Field(3, &QueueImage::pause_reason));
}

constexpr auto describe(Of<LimitImage>) {
  return std::tuple(Field(1, &LimitImage::settings), Field(2, &LimitImage::pauses));
}

constexpr auto describe(Of<ScheduleImage>) {
  return std::tuple(Field(1, &ScheduleImage::spec), Field(2, &ScheduleImage::paused),
                    Field(3, &ScheduleImage::pause_reason));
}

constexpr auto describe(Of<JobImage>) {
  return std::tuple(Field(1, &JobImage::queue), Field(2, &JobImage::type),
                    Field(3, &JobImage::state), Field(4, &JobImage::priority),
                    Field(5, &JobImage::run_at), Field(6, &JobImage::attempt),
                    Field(7, &JobImage::max_attempts), Field(8, &JobImage::tags),
                    Field(9, &JobImage::cancel_requested), Field(10, &JobImage::new_payload));
}

constexpr auto describe(Of<AuditImage>) {
  return std::tuple(Field(1, &AuditImage::queue), Field(2, &AuditImage::limit),
                    Field(3, &AuditImage::schedule), Field(4, &AuditImage::job),
                    Field(5, &AuditImage::text));
}

constexpr auto describe(Of<Audited>) {
  return std::tuple(Field(1, &Audited::n), Field(2, &Audited::actor), Field(3, &Audited::action),
                    Field(4, &Audited::kind), Field(5, &Audited::name), Field(6, &Audited::jobs),
                    Field(7, &Audited::reason), Field(8, &Audited::before),
                    Field(9, &Audited::after));
}

}  // namespace millrace::core
