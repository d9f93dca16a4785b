#include "http/handlers/handlers.h"

#include <array>

#include "http/middlewares.h"

namespace millrace::http {
namespace {

using api::RouteId;
using Handler = Task<void> (*)(Call&);

struct Entry {
  RouteId id;
  Handler handler;
};

constexpr std::array<Entry, api::kRouteIds> kHandlers = {{
    {RouteId::kLivez, livez},
    {RouteId::kReadyz, readyz},
    {RouteId::kMetrics, metrics},
    {RouteId::kMeta, get_meta},
    {RouteId::kOpenApi, get_openapi},
    {RouteId::kBackup, backup},
    {RouteId::kReproject, reproject},
    {RouteId::kConfiguration, get_configuration},
    {RouteId::kListNodes, list_nodes},
    {RouteId::kDiagnosis, get_diagnosis},
    {RouteId::kDrainNode, drain_node},
    {RouteId::kUndrainNode, drain_node},
    {RouteId::kAudit, list_audit},
    {RouteId::kListTokens, list_tokens},
    {RouteId::kCreateToken, create_token},
    {RouteId::kGetToken, get_token},
    {RouteId::kDeleteToken, delete_token},
    {RouteId::kRotateToken, rotate_token},
    {RouteId::kSubmitJob, submit_job},
    {RouteId::kSubmitBatch, submit_batch},
    {RouteId::kBulk, bulk_jobs},
    {RouteId::kListJobs, list_jobs},
    {RouteId::kGetJob, get_job},
    {RouteId::kPatchJob, patch_job},
    {RouteId::kDeleteJob, delete_job},
    {RouteId::kCancelJob, cancel_job},
    {RouteId::kRetryJob, retry_job},
    {RouteId::kWhy, why},
    {RouteId::kListAttempts, list_attempts},
    {RouteId::kListLogs, list_logs},
    {RouteId::kListJobEvents, list_job_events},
    {RouteId::kCompleteJob, finish_job},
    {RouteId::kFailJob, finish_job},
    {RouteId::kSnoozeJob, finish_job},
    {RouteId::kReleaseJob, finish_job},
    {RouteId::kHeartbeatJob, heartbeat_job},
    {RouteId::kClaim, claim},
    {RouteId::kHeartbeat, heartbeat},
    {RouteId::kAck, ack},
    {RouteId::kPoll, poll},
    {RouteId::kListWorkers, list_workers},
    {RouteId::kQuietWorker, command_worker},
    {RouteId::kStopWorker, command_worker},
    {RouteId::kListQueues, list_queues},
    {RouteId::kGetQueue, get_queue},
    {RouteId::kPutQueue, set_queue},
    {RouteId::kPatchQueue, set_queue},
    {RouteId::kDeleteQueue, delete_queue},
    {RouteId::kPauseQueue, pause_queue},
    {RouteId::kResumeQueue, resume_queue},
    {RouteId::kPurgeQueue, purge_queue},
    {RouteId::kScaleQueue, scale_queue},
    {RouteId::kListShares, list_shares},
    {RouteId::kListLimits, list_limits},
    {RouteId::kGetLimit, get_limit},
    {RouteId::kPutLimit, set_limit},
    {RouteId::kPatchLimit, patch_limit},
    {RouteId::kDeleteLimit, delete_limit},
    {RouteId::kPauseLimit, pause_limit},
    {RouteId::kResumeLimit, resume_limit},
    {RouteId::kListLimitKeys, list_limit_keys},
    {RouteId::kListLimitHolders, list_limit_holders},
    {RouteId::kListTypes, list_types},
    {RouteId::kGetType, get_type},
    {RouteId::kPutType, set_type},
    {RouteId::kDeleteType, delete_type},
    {RouteId::kListOperations, list_operations},
    {RouteId::kGetOperation, get_operation},
    {RouteId::kPatchOperation, patch_operation},
    {RouteId::kPauseOperation, order_operation},
    {RouteId::kResumeOperation, order_operation},
    {RouteId::kCancelOperation, order_operation},
    {RouteId::kListSchedules, list_schedules},
    {RouteId::kApplySchedules, apply_schedules},
    {RouteId::kPreviewSchedule, preview_schedule},
    {RouteId::kGetSchedule, get_schedule},
    {RouteId::kPutSchedule, set_schedule},
    {RouteId::kDeleteSchedule, delete_schedule},
    {RouteId::kPauseSchedule, pause_schedule},
    {RouteId::kResumeSchedule, resume_schedule},
    {RouteId::kTriggerSchedule, trigger_schedule},
    {RouteId::kBackfillSchedule, backfill_schedule},
    {RouteId::kListRuns, list_runs},
    {RouteId::kListPushTargets, list_push_targets},
    {RouteId::kGetPushTarget, get_push_target},
    {RouteId::kPutPushTarget, put_push_target},
    {RouteId::kDeletePushTarget, delete_push_target},
    {RouteId::kPausePushTarget, pause_push_target},
    {RouteId::kResumePushTarget, resume_push_target},
    {RouteId::kTestPushTarget, test_push_target},
    {RouteId::kStats, get_stats},
    {RouteId::kListErrorGroups, list_error_groups},
    {RouteId::kGetErrorGroup, get_error_group},
    {RouteId::kPatchErrorGroup, patch_error_group},
    {RouteId::kRetryErrorGroup, retry_error_group},
    {RouteId::kDeleteErrorGroupJobs, delete_error_group_jobs},
    {RouteId::kEvents, list_events},
    {RouteId::kGetSession, get_session},
    {RouteId::kSignIn, sign_in},
    {RouteId::kSignOut, sign_out},
    {RouteId::kDashboard, get_asset},
    {RouteId::kDashboardAsset, get_asset},
    {RouteId::kPeer, connect_peer},
}};

constexpr bool handlers_stand_in_order() {
  for (std::size_t i = 0; i < kHandlers.size(); ++i) {
    if (static_cast<std::size_t>(kHandlers[i].id) != i) return false;
  }
  return true;
}
static_assert(handlers_stand_in_order());

}  // namespace

Task<void> handle(Call& call) {
  call.introduce();
  return kHandlers[static_cast<std::size_t>(call.route_id())].handler(call);
}

}  // namespace millrace::http
