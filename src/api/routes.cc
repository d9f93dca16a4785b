#include "api/routes.h"

#include <algorithm>
#include <array>

#include "api/text.h"
#include "base/check.h"

namespace millrace::api {
namespace {

using enum Method;
using enum Scope;

// In the order of RouteId. If a literal segment and one in braces both fit, the literal one comes
// first.
constexpr std::array<Route, kRouteIds> kRoutes = {{
    {kGet, "/livez", RouteId::kLivez, kNone},
    {kGet, "/readyz", RouteId::kReadyz, kNone},
    {kGet, "/metrics", RouteId::kMetrics, kRead},
    {kGet, "/v1/meta", RouteId::kMeta, kRead},
    {kGet, "/v1/openapi.json", RouteId::kOpenApi, kRead},
    {kPost, "/v1/admin/backup", RouteId::kBackup, kAdmin},
    {kPost, "/v1/admin/reproject", RouteId::kReproject, kAdmin},
    {kGet, "/v1/admin/config", RouteId::kConfiguration, kAdmin},
    {kGet, "/v1/admin/nodes", RouteId::kListNodes, kAdmin},
    {kGet, "/v1/admin/diagnosis", RouteId::kDiagnosis, kAdmin},
    {kPost, "/v1/admin/nodes/{id}/drain", RouteId::kDrainNode, kAdmin},
    {kPost, "/v1/admin/nodes/{id}/undrain", RouteId::kUndrainNode, kAdmin},
    {kGet, "/v1/admin/audit", RouteId::kAudit, kAdmin},
    {kGet, "/v1/tokens", RouteId::kListTokens, kAdmin},
    {kPost, "/v1/tokens", RouteId::kCreateToken, kAdmin},
    {kGet, "/v1/tokens/{id}", RouteId::kGetToken, kAdmin},
    {kDelete, "/v1/tokens/{id}", RouteId::kDeleteToken, kAdmin},
    {kPost, "/v1/tokens/{id}/rotate", RouteId::kRotateToken, kAdmin},
    {kPost, "/v1/jobs", RouteId::kSubmitJob, kSubmit},
    {kPost, "/v1/jobs/batch", RouteId::kSubmitBatch, kSubmit},
    {kPost, "/v1/jobs/bulk", RouteId::kBulk, kOperate},
    {kGet, "/v1/jobs", RouteId::kListJobs, kRead},
    {kGet, "/v1/jobs/{id}", RouteId::kGetJob, kRead},
    {kPatch, "/v1/jobs/{id}", RouteId::kPatchJob, kOperate},
    {kDelete, "/v1/jobs/{id}", RouteId::kDeleteJob, kOperate},
    {kPost, "/v1/jobs/{id}/cancel", RouteId::kCancelJob, kOperate},
    {kPost, "/v1/jobs/{id}/retry", RouteId::kRetryJob, kOperate},
    {kGet, "/v1/jobs/{id}/why", RouteId::kWhy, kRead},
    {kGet, "/v1/jobs/{id}/attempts", RouteId::kListAttempts, kRead},
    {kGet, "/v1/jobs/{id}/logs", RouteId::kListLogs, kRead},
    {kGet, "/v1/jobs/{id}/events", RouteId::kListJobEvents, kRead},
    {kPost, "/v1/jobs/{id}/complete", RouteId::kCompleteJob, kWork},
    {kPost, "/v1/jobs/{id}/fail", RouteId::kFailJob, kWork},
    {kPost, "/v1/jobs/{id}/snooze", RouteId::kSnoozeJob, kWork},
    {kPost, "/v1/jobs/{id}/release", RouteId::kReleaseJob, kWork},
    {kPost, "/v1/jobs/{id}/heartbeat", RouteId::kHeartbeatJob, kWork},
    {kPost, "/v1/claim", RouteId::kClaim, kWork},
    {kPost, "/v1/heartbeat", RouteId::kHeartbeat, kWork},
    {kPost, "/v1/ack", RouteId::kAck, kWork},
    {kPost, "/v1/workers/{id}/poll", RouteId::kPoll, kWork},
    {kGet, "/v1/workers", RouteId::kListWorkers, kRead},
    {kPost, "/v1/workers/{id}/quiet", RouteId::kQuietWorker, kOperate},
    {kPost, "/v1/workers/{id}/stop", RouteId::kStopWorker, kOperate},
    {kGet, "/v1/queues", RouteId::kListQueues, kRead},
    {kGet, "/v1/queues/{name}", RouteId::kGetQueue, kRead},
    {kPut, "/v1/queues/{name}", RouteId::kPutQueue, kOperate},
    {kPatch, "/v1/queues/{name}", RouteId::kPatchQueue, kOperate},
    {kDelete, "/v1/queues/{name}", RouteId::kDeleteQueue, kOperate},
    {kPost, "/v1/queues/{name}/pause", RouteId::kPauseQueue, kOperate},
    {kPost, "/v1/queues/{name}/resume", RouteId::kResumeQueue, kOperate},
    {kPost, "/v1/queues/{name}/purge", RouteId::kPurgeQueue, kOperate},
    {kGet, "/v1/queues/{name}/scale", RouteId::kScaleQueue, kRead},
    {kGet, "/v1/queues/{name}/shares", RouteId::kListShares, kRead},
    {kGet, "/v1/limits", RouteId::kListLimits, kRead},
    {kGet, "/v1/limits/{name}", RouteId::kGetLimit, kRead},
    {kPut, "/v1/limits/{name}", RouteId::kPutLimit, kOperate},
    {kPatch, "/v1/limits/{name}", RouteId::kPatchLimit, kOperate},
    {kDelete, "/v1/limits/{name}", RouteId::kDeleteLimit, kOperate},
    {kPost, "/v1/limits/{name}/pause", RouteId::kPauseLimit, kOperate},
    {kPost, "/v1/limits/{name}/resume", RouteId::kResumeLimit, kOperate},
    {kGet, "/v1/limits/{name}/keys", RouteId::kListLimitKeys, kRead},
    {kGet, "/v1/limits/{name}/holders", RouteId::kListLimitHolders, kRead},
    {kGet, "/v1/types", RouteId::kListTypes, kRead},
    {kGet, "/v1/types/{name}", RouteId::kGetType, kRead},
    {kPut, "/v1/types/{name}", RouteId::kPutType, kOperate},
    {kDelete, "/v1/types/{name}", RouteId::kDeleteType, kOperate},
    {kGet, "/v1/operations", RouteId::kListOperations, kRead},
    {kGet, "/v1/operations/{id}", RouteId::kGetOperation, kRead},
    {kPatch, "/v1/operations/{id}", RouteId::kPatchOperation, kOperate},
    {kPost, "/v1/operations/{id}/pause", RouteId::kPauseOperation, kOperate},
    {kPost, "/v1/operations/{id}/resume", RouteId::kResumeOperation, kOperate},
    {kPost, "/v1/operations/{id}/cancel", RouteId::kCancelOperation, kOperate},
    {kGet, "/v1/schedules", RouteId::kListSchedules, kRead},
    {kPut, "/v1/schedules", RouteId::kApplySchedules, kOperate},
    {kPost, "/v1/schedules/preview", RouteId::kPreviewSchedule, kRead},
    {kGet, "/v1/schedules/{name}", RouteId::kGetSchedule, kRead},
    {kPut, "/v1/schedules/{name}", RouteId::kPutSchedule, kOperate},
    {kDelete, "/v1/schedules/{name}", RouteId::kDeleteSchedule, kOperate},
    {kPost, "/v1/schedules/{name}/pause", RouteId::kPauseSchedule, kOperate},
    {kPost, "/v1/schedules/{name}/resume", RouteId::kResumeSchedule, kOperate},
    {kPost, "/v1/schedules/{name}/trigger", RouteId::kTriggerSchedule, kOperate},
    {kPost, "/v1/schedules/{name}/backfill", RouteId::kBackfillSchedule, kOperate},
    {kGet, "/v1/schedules/{name}/runs", RouteId::kListRuns, kRead},
    {kGet, "/v1/push-targets", RouteId::kListPushTargets, kRead},
    {kGet, "/v1/push-targets/{name}", RouteId::kGetPushTarget, kRead},
    // Only administrators may choose where payloads are sent.
    {kPut, "/v1/push-targets/{name}", RouteId::kPutPushTarget, kAdmin},
    {kDelete, "/v1/push-targets/{name}", RouteId::kDeletePushTarget, kAdmin},
    {kPost, "/v1/push-targets/{name}/pause", RouteId::kPausePushTarget, kOperate},
    {kPost, "/v1/push-targets/{name}/resume", RouteId::kResumePushTarget, kOperate},
    {kPost, "/v1/push-targets/{name}/test", RouteId::kTestPushTarget, kOperate},
    {kGet, "/v1/stats", RouteId::kStats, kRead},
    {kGet, "/v1/error-groups", RouteId::kListErrorGroups, kRead},
    {kGet, "/v1/error-groups/{id}", RouteId::kGetErrorGroup, kRead},
    {kPatch, "/v1/error-groups/{id}", RouteId::kPatchErrorGroup, kOperate},
    {kPost, "/v1/error-groups/{id}/retry", RouteId::kRetryErrorGroup, kOperate},
    {kPost, "/v1/error-groups/{id}/delete", RouteId::kDeleteErrorGroupJobs, kOperate},
    {kGet, "/v1/events", RouteId::kEvents, kRead},
    // For browsers. These routes give no access by themselves, so they are open.
    {kGet, "/v1/session", RouteId::kGetSession, kNone},
    {kPost, "/v1/session", RouteId::kSignIn, kNone},
    {kDelete, "/v1/session", RouteId::kSignOut, kNone},
    // The dashboard's files, the same for all callers; not in openapi.yaml.
    {kGet, "/", RouteId::kDashboard, kNone},
    {kGet, "/assets/{name}", RouteId::kDashboardAsset, kNone},
    // Between nodes, which authenticate differently (http/peer/peer_frames.h). Not part of the
    // public contract, so not in openapi.yaml.
    {kGet, "/internal/v1/peer", RouteId::kPeer, kNone},
}};

constexpr bool routes_stand_in_order() {
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    if (static_cast<std::size_t>(kRoutes[i].id) != i) return false;
  }
  return true;
}
static_assert(routes_stand_in_order());

// Both begin with '/'. Sets `parameter` to the segment for the braces, still encoded.
bool fits(std::string_view pattern, std::string_view path, std::string_view& parameter) {
  const std::size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return pattern == path;
  if (path.substr(0, brace) != pattern.substr(0, brace)) return false;
  const std::string_view tail = pattern.substr(pattern.find('}') + 1);
  const std::string_view rest = path.substr(brace);
  const std::size_t segment_end = std::min(rest.find('/'), rest.size());
  if (segment_end == 0 || rest.substr(segment_end) != tail) return false;
  parameter = rest.substr(0, segment_end);
  return true;
}

}  // namespace

std::string_view name_of(Method method) {
  constexpr std::array<std::string_view, 7> kNames = {"GET",   "HEAD",   "POST", "PUT",
                                                      "PATCH", "DELETE", "other"};
  return kNames.at(static_cast<std::size_t>(method));
}

std::string_view name_of(Scope scope) {
  constexpr std::array<std::string_view, 7> kNames = {"none",    "submit", "work",   "read",
                                                      "operate", "admin",  "payload"};
  return kNames.at(static_cast<std::size_t>(scope));
}

std::span<const Route> all_routes() { return kRoutes; }

const Route& route_of(RouteId id) { return kRoutes.at(static_cast<std::size_t>(id)); }

RouteMatch match_route(Method method, std::string_view path) {
  RouteMatch match;
  std::string_view parameter;
  const auto first = std::ranges::find_if(
      kRoutes, [&](const Route& route) { return fits(route.pattern, path, parameter); });
  if (first == kRoutes.end()) return match;
  if (!parameter.empty()) {
    std::optional<std::string> decoded = percent_decode(parameter, PlusSign::kItself);
    if (!decoded) return match;
    match.parameter = std::move(*decoded);
  }
  const Method wanted = method == kHead ? kGet : method;
  for (const Route& route : kRoutes) {
    if (route.pattern != first->pattern) continue;
    if (route.method == wanted) {
      match.result = RouteMatch::Result::kFound;
      match.route = &route;
      match.allow.clear();
      return match;
    }
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += name_of(route.method);
    if (route.method == kGet) match.allow += ", HEAD";
  }
  match.result = RouteMatch::Result::kMethodNotAllowed;
  match.parameter.clear();
  return match;
}

}  // namespace millrace::api
