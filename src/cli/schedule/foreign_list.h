// Reads lists of recurring jobs as other programs keep them: Sidekiq-cron, Celery beat (also
// django-celery-beat and RedBeat), Oban. JSON: a list of objects, or an object of them by name.
//
//     name            name
//     the expression  cron, expression, schedule, crontab, interval: five or six fields, @daily and
//                     the like; with a zone behind it (Sidekiq-cron); a number of seconds;
//                     {"every": 10, "period": "minutes"}; {"minute": "0", "hour": "*/2",
//                     "day_of_week": "*", "day_of_month": "*", "month_of_year": "*"}
//     zone            timezone, tz, zone
//     type            type, class, klass, task, worker
//     payload         payload; or args, kwargs: one alone is the payload, both make an object of
//                     them; a string is read as JSON where it is JSON (django-celery-beat)
//     queue           queue, queue_name
//     paused          paused, enabled, status ("enabled", "disabled")
//     more            opts (Oban): queue, args, priority, max_attempts, tags, timezone;
//                     options (Celery): queue
//
// What says nothing about when and what, such as description or last_run_at, is passed over; any
// other member is a fault, so that nothing is lost unseen.
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
  std::string name;  // what a schedule's name can't have is "-"
  sdk::NewSchedule schedule;
};

std::expected<std::vector<ForeignEntry>, FileFaults> read_foreign_list(std::string_view json);

}  // namespace millrace::cli
