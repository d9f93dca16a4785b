// Reading the server's answers: JSON text to typed structures.
#pragma once

#include <string_view>

#include "millrace/client.h"

namespace millrace::sdk {

// Unknown members are skipped; a body in another format is kBadAnswer.
Result<Job> read_job(std::string_view json);
Result<Page<Job>> read_jobs(std::string_view json);
Result<Batch> read_batch(std::string_view json);
Result<Page<LogLine>> read_logs(std::string_view json);
Result<Queue> read_queue(std::string_view json);
Result<Page<Queue>> read_queues(std::string_view json);
Result<Limit> read_limit(std::string_view json);
Result<Page<Limit>> read_limits(std::string_view json);
Result<Why> read_why(std::string_view json);
Result<Cluster> read_cluster(std::string_view json);
Result<ServerInfo> read_server_info(std::string_view json);
Result<Readiness> read_readiness(std::string_view json);
Result<SeenWorker> read_worker(std::string_view json);
Result<Page<SeenWorker>> read_workers(std::string_view json);
Result<Page<Event>> read_events(std::string_view json);
Result<Stats> read_stats(std::string_view json);
Result<BulkAnswer> read_bulk(std::string_view json);
Result<Operation> read_operation(std::string_view json);
Result<Page<Operation>> read_operations(std::string_view json);
Result<PollAnswer> read_poll_answer(std::string_view json);
Result<Schedule> read_schedule(std::string_view json);
Result<Page<Schedule>> read_schedules(std::string_view json);
Result<BackfillAnswer> read_backfill(std::string_view json);
Result<ScheduleRuns> read_schedule_runs(std::string_view json);
Result<SchedulePreview> read_preview(std::string_view json);
Result<ScheduleChanges> read_schedule_changes(std::string_view json);
Result<Workflow> read_workflow(std::string_view json);
Result<Page<Workflow>> read_workflows(std::string_view json);
Result<Page<Member>> read_workflow_members(std::string_view json);
Result<MemberDetail> read_workflow_member(std::string_view json);
Result<Page<GraphLine>> read_workflow_graph(std::string_view json);
Result<WorkflowWhy> read_workflow_why(std::string_view json);
Result<AddedMembers> read_added_members(std::string_view json);

// The refusal in an answer with a status of 400 or above, whether or not its body is a problem.
Error read_problem(int status, std::string_view body);

}  // namespace millrace::sdk
