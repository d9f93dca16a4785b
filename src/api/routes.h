// The table of all calls: method, path, and the scope that each needs. An unknown path is 404; a
// known path with another method is 405.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/scope.h"

namespace millrace::api {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOther };
std::string_view name_of(Method method);

enum class RouteId : std::uint8_t {
  kLivez,
  kReadyz,
  kMetrics,
  kMeta,
  kOpenApi,
  kBackup,
  kReproject,
  kConfiguration,
  kListNodes,
  kDiagnosis,
  kDrainNode,
  kUndrainNode,
  kAudit,
  kListTokens,
  kCreateToken,
  kGetToken,
  kDeleteToken,
  kRotateToken,
  kSubmitJob,
  kSubmitBatch,
  kBulk,
  kListJobs,
  kGetJob,
  kPatchJob,
  kDeleteJob,
  kCancelJob,
  kRetryJob,
  kWhy,
  kListAttempts,
  kListLogs,
  kListJobEvents,
  kCompleteJob,
  kFailJob,
  kSnoozeJob,
  kReleaseJob,
  kHeartbeatJob,
  kClaim,
  kHeartbeat,
  kAck,
  kPoll,
  kListWorkers,
  kQuietWorker,
  kStopWorker,
  kListQueues,
  kGetQueue,
  kPutQueue,
  kPatchQueue,
  kDeleteQueue,
  kPauseQueue,
  kResumeQueue,
  kPurgeQueue,
  kScaleQueue,
  kListShares,
  kListLimits,
  kGetLimit,
  kPutLimit,
  kPatchLimit,
  kDeleteLimit,
  kPauseLimit,
  kResumeLimit,
  kListLimitKeys,
  kListLimitHolders,
  kListTypes,
  kGetType,
  kPutType,
  kDeleteType,
  kListOperations,
  kGetOperation,
  kPatchOperation,
  kPauseOperation,
  kResumeOperation,
  kCancelOperation,
  kListSchedules,
  kApplySchedules,
  kPreviewSchedule,
  kGetSchedule,
  kPutSchedule,
  kDeleteSchedule,
  kPauseSchedule,
  kResumeSchedule,
  kTriggerSchedule,
  kBackfillSchedule,
  kListRuns,
  kListPushTargets,
  kGetPushTarget,
  kPutPushTarget,
  kDeletePushTarget,
  kPausePushTarget,
  kResumePushTarget,
  kTestPushTarget,
  kStats,
  kListErrorGroups,
  kGetErrorGroup,
  kPatchErrorGroup,
  kRetryErrorGroup,
  kDeleteErrorGroupJobs,
  kEvents,
  kGetSession,
  kSignIn,
  kSignOut,
  kDashboard,
  kDashboardAsset,
  kPeer,
};
constexpr std::size_t kRouteIds = static_cast<std::size_t>(RouteId::kPeer) + 1;

struct Route {
  Method method;
  std::string_view pattern;  // a segment in braces matches any one segment
  RouteId id;
  Scope scope;
};

std::span<const Route> all_routes();
const Route& route_of(RouteId id);

struct RouteMatch {
  enum class Result : std::uint8_t { kFound, kNotFound, kMethodNotAllowed };
  Result result = Result::kNotFound;
  const Route* route = nullptr;  // kFound
  std::string parameter;  // kFound: the value of the segment in braces, percent-decoded, valid
                          // UTF-8, not empty
  std::string allow;      // kMethodNotAllowed: the header Allow, "GET, HEAD, POST"
};

// `path` is the target before any '?', as sent. HEAD uses GET's routes. A literal segment is
// preferred to one in braces: GET /v1/jobs/batch is 405, not a job named "batch".
RouteMatch match_route(Method method, std::string_view path);

}  // namespace millrace::api
