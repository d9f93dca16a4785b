// The handlers: each decodes the request, calls one operation of the service, and encodes the
// result. There is one file per noun.
#pragma once

#include "http/call.h"

namespace millrace::http {

// jobs.cc
Task<void> submit_job(Call& call);
Task<void> submit_batch(Call& call);
Task<void> list_jobs(Call& call);

// bulk.cc
Task<void> bulk_jobs(Call& call);
// bulk_operations.cc
Task<void> list_operations(Call& call);
Task<void> get_operation(Call& call);
Task<void> patch_operation(Call& call);
Task<void> pause_operation(Call& call);
Task<void> resume_operation(Call& call);
Task<void> cancel_operation(Call& call);
Task<void> purge_queue(Call& call);
Task<void> scale_queue(Call& call);
Task<void> delete_queue(Call& call);

// job.cc
Task<void> get_job(Call& call);
Task<void> patch_job(Call& call);
Task<void> delete_job(Call& call);
Task<void> cancel_job(Call& call);
Task<void> retry_job(Call& call);

// history.cc
Task<void> list_attempts(Call& call);
Task<void> list_logs(Call& call);
Task<void> list_job_events(Call& call);

// lease.cc
Task<void> claim(Call& call);
Task<void> heartbeat(Call& call);
Task<void> ack(Call& call);
Task<void> poll(Call& call);
Task<void> complete_job(Call& call);
Task<void> fail_job(Call& call);
Task<void> snooze_job(Call& call);
Task<void> release_job(Call& call);
Task<void> heartbeat_job(Call& call);

// worker.cc
Task<void> list_workers(Call& call);
Task<void> quiet_worker(Call& call);
Task<void> stop_worker(Call& call);

// queue.cc
Task<void> list_queues(Call& call);
Task<void> get_queue(Call& call);
Task<void> put_queue(Call& call);
Task<void> patch_queue(Call& call);
Task<void> pause_queue(Call& call);
Task<void> resume_queue(Call& call);
Task<void> list_shares(Call& call);

// schedule.cc
Task<void> list_limits(Call& call);
Task<void> get_limit(Call& call);
Task<void> set_limit(Call& call);
Task<void> patch_limit(Call& call);
Task<void> delete_limit(Call& call);
Task<void> pause_limit(Call& call);
Task<void> resume_limit(Call& call);
Task<void> list_limit_keys(Call& call);
Task<void> list_limit_holders(Call& call);
Task<void> list_types(Call& call);
Task<void> get_type(Call& call);
Task<void> set_type(Call& call);
Task<void> delete_type(Call& call);
Task<void> why(Call& call);
Task<void> list_schedules(Call& call);
Task<void> apply_schedules(Call& call);
Task<void> preview_schedule(Call& call);
Task<void> get_schedule(Call& call);
Task<void> set_schedule(Call& call);
Task<void> delete_schedule(Call& call);
Task<void> pause_schedule(Call& call);
Task<void> resume_schedule(Call& call);
Task<void> trigger_schedule(Call& call);
Task<void> backfill_schedule(Call& call);
Task<void> list_runs(Call& call);

// workflow.cc
Task<void> create_workflow(Call& call);
Task<void> list_workflows(Call& call);
Task<void> get_workflow(Call& call);
Task<void> delete_workflow(Call& call);
Task<void> list_members(Call& call);
Task<void> get_member(Call& call);
Task<void> get_graph(Call& call);
Task<void> why_workflow(Call& call);
Task<void> add_members(Call& call);
Task<void> close_workflow(Call& call);
Task<void> cancel_workflow(Call& call);
Task<void> retry_workflow(Call& call);
Task<void> skip_member(Call& call);

// push_target.cc
Task<void> list_push_targets(Call& call);
Task<void> get_push_target(Call& call);
Task<void> put_push_target(Call& call);
Task<void> delete_push_target(Call& call);
Task<void> pause_push_target(Call& call);
Task<void> resume_push_target(Call& call);
Task<void> test_push_target(Call& call);

// insight.cc
Task<void> get_stats(Call& call);
Task<void> get_findings(Call& call);
Task<void> reproject(Call& call);
Task<void> list_error_groups(Call& call);
Task<void> get_error_group(Call& call);
Task<void> patch_error_group(Call& call);
Task<void> retry_error_group(Call& call);
Task<void> delete_error_group_jobs(Call& call);
Task<void> list_events(Call& call);

// event_stream.cc
Task<void> stream_events(Call& call);

// session.cc
Task<void> get_session(Call& call);
Task<void> sign_in(Call& call);
Task<void> sign_out(Call& call);

// dashboard.cc
Task<void> get_asset(Call& call);

// operations.cc
Task<void> livez(Call& call);
Task<void> readyz(Call& call);
Task<void> metrics(Call& call);
Task<void> get_meta(Call& call);
Task<void> get_openapi(Call& call);
Task<void> backup(Call& call);
Task<void> get_configuration(Call& call);
Task<void> list_nodes(Call& call);
Task<void> get_diagnosis(Call& call);
Task<void> drain_node(Call& call);
Task<void> undrain_node(Call& call);
Task<void> list_tokens(Call& call);
Task<void> create_token(Call& call);
Task<void> get_token(Call& call);
Task<void> delete_token(Call& call);
Task<void> rotate_token(Call& call);

// audit.cc
Task<void> list_audit(Call& call);

// peer.cc
Task<void> connect_peer(Call& call);

}  // namespace millrace::http
