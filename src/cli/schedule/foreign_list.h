// Reads lists of recurring jobs in other programs' formats: Sidekiq-cron, Celery beat (also
// django-celery-beat and RedBeat), Oban. JSON: a list of objects, or an object that maps names to
// them.
//
//     name            name
//     the expression  cron, expression, schedule, crontab, interval: five or six fields, @daily and
//                     the like; followed by a zone (Sidekiq-cron); a number of seconds;
//                     {"every": 10, "period": "minutes"}; {"minute": "0", "hour": "*/2",
//                     "day_of_week": "*", "day_of_month": "*", "month_of_year": "*"}
//     zone            timezone, tz, zone
//     type            type, class, klass, task, worker
//     payload         payload; or args, kwargs: one alone is the payload, both are combined into an
//                     object; a string that is valid JSON is read as JSON (django-celery-beat)
//     queue           queue, queue_name
//     paused          paused, enabled, status ("enabled", "disabled")
//     more            opts (Oban): queue, args, priority, max_attempts, tags, timezone;
//                     options (Celery): queue
//
// Members that affect neither the time nor the job, such as description or last_run_at, are
// ignored. Any other member is a fault, so that nothing is lost silently.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cli/schedule/document.h"
#include "millrace/schedule.h"

namespace millrace::cli {

struct ForeignEntry {
  std::size_t line = 0;
  std::string name;  // characters that a schedule's name can't have become "-"
  sdk::NewSchedule schedule;
};

std::expected<std::vector<ForeignEntry>, FileFaults> read_foreign_list(std::string_view json);

}  // namespace millrace::cli
