// A job's attempts, log lines and events, in pages. The cursor is the number of the last item
// shown. Only log lines are read from the store in pages.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/list.h"
#include "service/caller.h"
#include "service/visibility.h"

namespace millrace::service {

// `next`: the cursor of the next page; empty: there are no more.
struct AttemptPage {
  std::vector<api::Attempt> attempts;  // views of the next two
  std::string next;
  SharedJobView job;
  std::deque<std::string> texts;
};
struct LogPage {
  std::vector<core::LogLine> lines;
  std::string next;
};
struct EventPage {
  std::vector<engine::FeedEvent> events;  // numbered within the job
  std::string next;
};
Task<Answered<AttemptPage>> list_attempts(Caller& caller, JobId id, const api::Page& page);
Task<Answered<LogPage>> list_logs(Caller& caller, JobId id, const api::Page& page);
Task<Answered<EventPage>> list_job_events(Caller& caller, JobId id, const api::Page& page);

}  // namespace millrace::service
