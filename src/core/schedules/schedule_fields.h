// The members of schedules and of their runs: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/reply_fields.h"
#include "core/schedules/schedule.h"

namespace millrace::core {

constexpr auto describe(Of<ScheduleSpec>) {
  return std::tuple(Field(1, &ScheduleSpec::cron), Field(2, &ScheduleSpec::every),
                    Field(3, &ScheduleSpec::timezone), Field(4, &ScheduleSpec::job),
                    Field(5, &ScheduleSpec::queue), Field(6, &ScheduleSpec::managed_by),
                    Field(7, &ScheduleSpec::start_at), Field(8, &ScheduleSpec::end_at),
                    Field(9, &ScheduleSpec::jitter), Field(10, &ScheduleSpec::missed_after),
                    Field(11, &ScheduleSpec::missed), Field(12, &ScheduleSpec::overlap),
                    Field(13, &ScheduleSpec::skip_dst_gap),
                    Field(14, &ScheduleSpec::twice_in_dst_overlap),
                    Field(15, &ScheduleSpec::missed_limit), Field(16, &ScheduleSpec::workflow),
                    Field(17, &ScheduleSpec::queues));
}

constexpr auto describe(Of<ScheduleProgress>) {
  return std::tuple(
      Field(1, &ScheduleProgress::done_until), Field(2, &ScheduleProgress::done_local),
      Field(3, &ScheduleProgress::planned), Field(4, &ScheduleProgress::next),
      Field(5, &ScheduleProgress::due), Field(6, &ScheduleProgress::tries),
      Field(7, &ScheduleProgress::zone_version), Field(8, &ScheduleProgress::broken),
      Field(9, &ScheduleProgress::last_scheduled_at), Field(10, &ScheduleProgress::last_job),
      Field(11, &ScheduleProgress::last_box), Field(12, &ScheduleProgress::waiting),
      Field(13, &ScheduleProgress::replaces), Field(14, &ScheduleProgress::runs),
      Field(15, &ScheduleProgress::owed), Field(16, &ScheduleProgress::last_is_workflow));
}

constexpr auto describe(Of<Schedule>) {
  return std::tuple(Field(1, &Schedule::name), Field(2, &Schedule::spec),
                    Field(3, &Schedule::version), Field(4, &Schedule::incarnation, Form::kFixed),
                    Field(5, &Schedule::paused), Field(6, &Schedule::pause_reason),
                    Field(7, &Schedule::created_at), Field(8, &Schedule::updated_at),
                    Field(9, &Schedule::progress));
}

constexpr auto describe(Of<ScheduleRun>) {
  return std::tuple(Field(1, &ScheduleRun::scheduled_at), Field(2, &ScheduleRun::at),
                    Field(3, &ScheduleRun::outcome), Field(4, &ScheduleRun::job),
                    Field(5, &ScheduleRun::count), Field(6, &ScheduleRun::error),
                    Field(7, &ScheduleRun::workflow));
}

constexpr auto describe(Of<ScheduleRunRow>) {
  return std::tuple(Field(1, &ScheduleRunRow::schedule), Field(2, &ScheduleRunRow::n),
                    Field(3, &ScheduleRunRow::run));
}

constexpr auto describe(Of<ScheduleReply>) {
  return std::tuple(Field(1, &ScheduleReply::refusal), Field(2, &ScheduleReply::created),
                    Field(3, &ScheduleReply::changed), Field(4, &ScheduleReply::schedules),
                    Field(5, &ScheduleReply::runs), Field(6, &ScheduleReply::next));
}

}  // namespace millrace::core
