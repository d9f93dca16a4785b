// One function per sub-command. Each adds its command to the tree, with a callback that runs it and
// sets the session's exit code.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/session.h"

namespace millrace::cli {

// Top-level commands.
void add_enqueue(CLI::App& app, Session& session);
void add_work(CLI::App& app, Session& session);
void add_top(CLI::App& app, Session& session);
void add_doctor(CLI::App& app, Session& session);
void add_check(CLI::App& app, Session& session);
void add_health(CLI::App& app, Session& session);
void add_version(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);
void add_bench(CLI::App& app, Session& session);
void add_events(CLI::App& app, Session& session);
void add_stats(CLI::App& app, Session& session);

// `job`.
void add_job_list(CLI::App& job, Session& session);
void add_job_get(CLI::App& job, Session& session);
void add_job_wait(CLI::App& job, Session& session);
void add_job_retry(CLI::App& job, Session& session);
void add_job_cancel(CLI::App& job, Session& session);
void add_job_delete(CLI::App& job, Session& session);
void add_job_logs(CLI::App& job, Session& session);

// `queue`.
void add_queue_list(CLI::App& queue, Session& session);
void add_queue_get(CLI::App& queue, Session& session);
void add_queue_set(CLI::App& queue, Session& session);
void add_queue_pause(CLI::App& queue, Session& session);
void add_queue_resume(CLI::App& queue, Session& session);
void add_queue_shares(CLI::App& queue, Session& session);
void add_queue_purge(CLI::App& queue, Session& session);
void add_queue_scale(CLI::App& queue, Session& session);
void add_queue_delete(CLI::App& queue, Session& session);

void add_job_why(CLI::App& job, Session& session);

// `limit` and `type`.
void add_limit_list(CLI::App& limit, Session& session);
void add_limit_get(CLI::App& limit, Session& session);
void add_limit_set(CLI::App& limit, Session& session);
void add_limit_delete(CLI::App& limit, Session& session);
void add_limit_pause(CLI::App& limit, Session& session);
void add_limit_resume(CLI::App& limit, Session& session);
void add_limit_keys(CLI::App& limit, Session& session);
void add_limit_holders(CLI::App& limit, Session& session);
void add_type_list(CLI::App& type, Session& session);
void add_type_get(CLI::App& type, Session& session);
void add_type_set(CLI::App& type, Session& session);
void add_type_delete(CLI::App& type, Session& session);

// `schedule`.
void add_schedule_list(CLI::App& schedule, Session& session);
void add_schedule_get(CLI::App& schedule, Session& session);
void add_schedule_set(CLI::App& schedule, Session& session);
void add_schedule_delete(CLI::App& schedule, Session& session);
void add_schedule_pause(CLI::App& schedule, Session& session);
void add_schedule_resume(CLI::App& schedule, Session& session);
void add_schedule_trigger(CLI::App& schedule, Session& session);
void add_schedule_backfill(CLI::App& schedule, Session& session);
void add_schedule_runs(CLI::App& schedule, Session& session);
void add_schedule_preview(CLI::App& schedule, Session& session);
void add_schedule_apply(CLI::App& schedule, Session& session);
void add_schedule_import(CLI::App& schedule, Session& session);

// `error`: all sub-commands.
void add_error(CLI::App& group, Session& session);

// `push-target`: all sub-commands.
void add_push_target(CLI::App& group, Session& session);

// `worker`.
void add_worker_list(CLI::App& worker, Session& session);
void add_worker_quiet(CLI::App& worker, Session& session);
void add_worker_stop(CLI::App& worker, Session& session);

// `token`, in addition to the server's own command.
void add_token_create(CLI::App& token, Session& session);
void add_token_list(CLI::App& token, Session& session);
void add_token_rotate(CLI::App& token, Session& session);
void add_token_revoke(CLI::App& token, Session& session);

// `admin`, in addition to the server's own commands.
void add_admin_audit(CLI::App& admin, Session& session);
void add_admin_backup(CLI::App& admin, Session& session);
void add_admin_nodes(CLI::App& admin, Session& session);
void add_admin_reproject(CLI::App& admin, Session& session);

}  // namespace millrace::cli
