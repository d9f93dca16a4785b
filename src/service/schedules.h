// Operations on schedules. A token limited to queues sees the schedules all of whose jobs go to its
// queues.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/schedule.h"
#include "api/schedule_workflow.h"
#include "core/command.h"
#include "core/schedules/schedule.h"
#include "service/caller.h"
#include "service/jobs.h"
#include "service/workflows.h"

namespace millrace::service {

struct ScheduleAnswer {
  core::Schedule schedule;
  bool created = false;
};
struct SchedulePage {
  std::vector<core::Schedule> schedules;
  std::string next;  // empty: there are no more
};
Task<Answered<SchedulePage>> list_schedules(Caller& caller, const api::ScheduleListQuery& query);
Task<Answered<ScheduleAnswer>> get_schedule(Caller& caller, std::string_view name);
Task<Answered<ScheduleAnswer>> set_schedule(Caller& caller, std::string_view name,
                                            const api::ScheduleSpec& spec,
                                            const IfVersion& if_version);
Task<Answered<ScheduleAnswer>> pause_schedule(Caller& caller, std::string_view name,
                                              std::string_view reason);
Task<Answered<ScheduleAnswer>> resume_schedule(Caller& caller, std::string_view name);
Task<Answered<>> delete_schedule(Caller& caller, std::string_view name,
                                 const IfVersion& if_version);
// Newest first.
Task<Answered<std::vector<core::ScheduleRun>>> list_runs(Caller& caller, std::string_view name);

struct TriggerRequest {
  const api::Trigger& trigger;
  std::optional<std::string> key;  // see Submission
  std::string_view as_sent;
};
// One of them.
struct Triggered {
  std::optional<Submitted> job;
  std::optional<WorkflowMade> workflow;
};
Task<Answered<Triggered>> trigger_schedule(Caller& caller, std::string_view name,
                                           const TriggerRequest& request);
// `key`: a repetition with the same key gets the answer of the first call; `as_sent` must be the
// same.
struct BackfillRequest {
  const api::Backfill& backfill;
  std::optional<std::string> key;
  std::string_view as_sent;
};
struct BackfillAnswer {
  api::BackfillOutcome outcome;
  bool replayed = false;
};
Task<Answered<BackfillAnswer>> backfill_schedule(Caller& caller, std::string_view name,
                                                 const BackfillRequest& request);
// Sets all schedules of one owner.
Task<Answered<api::SetOutcome>> apply_schedules(Caller& caller, const api::ScheduleSet& set);

Answered<api::PreviewAnswer> preview_schedule(Caller& caller, const api::SchedulePreview& preview);

// The job as specified; a view of it.
void fill_job(const core::JobSpec& job, api::ScheduleJob& shape);

// A schedule's workflow as specified, with its jobs; a view of this object.
class ScheduleWorkflowShape {
 public:
  ScheduleWorkflowShape(core::CreateWorkflow create, bool redacted);
  ScheduleWorkflowShape(const ScheduleWorkflowShape&) = delete;
  ScheduleWorkflowShape& operator=(const ScheduleWorkflowShape&) = delete;
  const api::ScheduleWorkflow& workflow() const { return shape_; }

 private:
  api::ScheduleJob job_of(const SharedBytes& job, bool redacted);

  core::CreateWorkflow create_;
  std::deque<core::JobSpec> jobs_;
  api::ScheduleWorkflow shape_;
};

// A schedule's shape for the API, with its next instants. The views refer to `schedule` and to this
// object.
class ScheduleShape {
 public:
  ScheduleShape(const Caller& caller, const core::Schedule& schedule);
  ScheduleShape(const ScheduleShape&) = delete;
  ScheduleShape& operator=(const ScheduleShape&) = delete;
  const api::Schedule& schedule() const { return shape_; }

 private:
  api::Schedule shape_;
  core::JobSpec job_;
  std::optional<ScheduleWorkflowShape> workflow_;
  std::string error_;
};

}  // namespace millrace::service
