#include "http/routes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/text.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using enum api::Method;
using enum api::Scope;
using enum Route::Coding;

// If a literal segment and one in braces both fit, the literal one comes first.
constexpr auto kRoutes = std::to_array<Route>({
    {kGet, "/livez", kNone, livez},
    {kGet, "/readyz", kNone, readyz},
    {kGet, "/metrics", kRead, metrics},
    {kGet, "/v1/meta", kRead, get_meta},
    {kGet, "/v1/openapi.json", kRead, get_openapi},
    {kPost, "/v1/admin/backup", kAdmin, backup},
    {kPost, "/v1/admin/reproject", kAdmin, reproject},
    {kGet, "/v1/admin/config", kAdmin, get_configuration, kPlain},
    {kGet, "/v1/admin/nodes", kAdmin, list_nodes},
    {kGet, "/v1/admin/diagnosis", kAdmin, get_diagnosis},
    {kPost, "/v1/admin/nodes/{id}/drain", kAdmin, drain_node},
    {kPost, "/v1/admin/nodes/{id}/undrain", kAdmin, undrain_node},
    {kGet, "/v1/admin/audit", kAdmin, list_audit},
    {kGet, "/v1/tokens", kAdmin, list_tokens, kPlain},
    {kPost, "/v1/tokens", kAdmin, create_token},
    {kGet, "/v1/tokens/{id}", kAdmin, get_token, kPlain},
    {kDelete, "/v1/tokens/{id}", kAdmin, delete_token},
    {kPost, "/v1/tokens/{id}/rotate", kAdmin, rotate_token},
    {kPost, "/v1/jobs", kSubmit, submit_job},
    {kPost, "/v1/jobs/batch", kSubmit, submit_batch},
    {kPost, "/v1/jobs/bulk", kOperate, bulk_jobs},
    {kGet, "/v1/jobs", kRead, list_jobs},
    {kGet, "/v1/jobs/{id}", kRead, get_job},
    {kPatch, "/v1/jobs/{id}", kOperate, patch_job},
    {kDelete, "/v1/jobs/{id}", kOperate, delete_job},
    {kPost, "/v1/jobs/{id}/cancel", kOperate, cancel_job},
    {kPost, "/v1/jobs/{id}/retry", kOperate, retry_job},
    {kGet, "/v1/jobs/{id}/why", kRead, why},
    {kGet, "/v1/jobs/{id}/attempts", kRead, list_attempts},
    {kGet, "/v1/jobs/{id}/logs", kRead, list_logs, kPlain},
    {kGet, "/v1/jobs/{id}/events", kRead, list_job_events},
    {kPost, "/v1/jobs/{id}/complete", kWork, complete_job},
    {kPost, "/v1/jobs/{id}/fail", kWork, fail_job},
    {kPost, "/v1/jobs/{id}/snooze", kWork, snooze_job},
    {kPost, "/v1/jobs/{id}/release", kWork, release_job},
    {kPost, "/v1/jobs/{id}/heartbeat", kWork, heartbeat_job},
    {kPost, "/v1/claim", kWork, claim},
    {kPost, "/v1/heartbeat", kWork, heartbeat},
    {kPost, "/v1/ack", kWork, ack},
    {kPost, "/v1/workers/{id}/poll", kWork, poll},
    {kGet, "/v1/workers", kRead, list_workers},
    {kPost, "/v1/workers/{id}/quiet", kOperate, quiet_worker},
    {kPost, "/v1/workers/{id}/stop", kOperate, stop_worker},
    {kGet, "/v1/queues", kRead, list_queues},
    {kGet, "/v1/queues/{name}", kRead, get_queue},
    {kPut, "/v1/queues/{name}", kOperate, put_queue},
    {kPatch, "/v1/queues/{name}", kOperate, patch_queue},
    {kDelete, "/v1/queues/{name}", kOperate, delete_queue},
    {kPost, "/v1/queues/{name}/pause", kOperate, pause_queue},
    {kPost, "/v1/queues/{name}/resume", kOperate, resume_queue},
    {kPost, "/v1/queues/{name}/purge", kOperate, purge_queue},
    {kGet, "/v1/queues/{name}/scale", kRead, scale_queue},
    {kGet, "/v1/queues/{name}/shares", kRead, list_shares},
    {kGet, "/v1/limits", kRead, list_limits},
    {kGet, "/v1/limits/{name}", kRead, get_limit},
    {kPut, "/v1/limits/{name}", kOperate, set_limit},
    {kPatch, "/v1/limits/{name}", kOperate, patch_limit},
    {kDelete, "/v1/limits/{name}", kOperate, delete_limit},
    {kPost, "/v1/limits/{name}/pause", kOperate, pause_limit},
    {kPost, "/v1/limits/{name}/resume", kOperate, resume_limit},
    {kGet, "/v1/limits/{name}/keys", kRead, list_limit_keys},
    {kGet, "/v1/limits/{name}/holders", kRead, list_limit_holders},
    {kGet, "/v1/types", kRead, list_types},
    {kGet, "/v1/types/{name}", kRead, get_type},
    {kPut, "/v1/types/{name}", kOperate, set_type},
    {kDelete, "/v1/types/{name}", kOperate, delete_type},
    {kGet, "/v1/operations", kRead, list_operations},
    {kGet, "/v1/operations/{id}", kRead, get_operation},
    {kPatch, "/v1/operations/{id}", kOperate, patch_operation},
    {kPost, "/v1/operations/{id}/pause", kOperate, pause_operation},
    {kPost, "/v1/operations/{id}/resume", kOperate, resume_operation},
    {kPost, "/v1/operations/{id}/cancel", kOperate, cancel_operation},
    {kGet, "/v1/schedules", kRead, list_schedules, kPlain},
    {kPut, "/v1/schedules", kOperate, apply_schedules},
    {kPost, "/v1/schedules/preview", kRead, preview_schedule},
    {kGet, "/v1/schedules/{name}", kRead, get_schedule, kPlain},
    {kPut, "/v1/schedules/{name}", kOperate, set_schedule},
    {kDelete, "/v1/schedules/{name}", kOperate, delete_schedule},
    {kPost, "/v1/schedules/{name}/pause", kOperate, pause_schedule},
    {kPost, "/v1/schedules/{name}/resume", kOperate, resume_schedule},
    {kPost, "/v1/schedules/{name}/trigger", kOperate, trigger_schedule},
    {kPost, "/v1/schedules/{name}/backfill", kOperate, backfill_schedule},
    {kGet, "/v1/schedules/{name}/runs", kRead, list_runs},
    {kPost, "/v1/workflows", kSubmit, create_workflow},
    {kGet, "/v1/workflows", kRead, list_workflows},
    {kGet, "/v1/workflows/{id}", kRead, get_workflow},
    {kDelete, "/v1/workflows/{id}", kOperate, delete_workflow},
    {kGet, "/v1/workflows/{id}/members", kRead, list_members},
    {kPost, "/v1/workflows/{id}/members", kSubmit, add_members},
    {kGet, "/v1/workflows/{id}/members/{ref}", kRead, get_member},
    {kPost, "/v1/workflows/{id}/members/{ref}/skip", kOperate, skip_member},
    {kGet, "/v1/workflows/{id}/graph", kRead, get_graph},
    {kGet, "/v1/workflows/{id}/why", kRead, why_workflow},
    {kPost, "/v1/workflows/{id}/close", kSubmit, close_workflow},
    {kPost, "/v1/workflows/{id}/cancel", kOperate, cancel_workflow},
    {kPost, "/v1/workflows/{id}/retry", kOperate, retry_workflow},
    {kGet, "/v1/push-targets", kRead, list_push_targets, kPlain},
    {kGet, "/v1/push-targets/{name}", kRead, get_push_target, kPlain},
    // Only administrators may choose where payloads are sent.
    {kPut, "/v1/push-targets/{name}", kAdmin, put_push_target},
    {kDelete, "/v1/push-targets/{name}", kAdmin, delete_push_target},
    {kPost, "/v1/push-targets/{name}/pause", kOperate, pause_push_target},
    {kPost, "/v1/push-targets/{name}/resume", kOperate, resume_push_target},
    {kPost, "/v1/push-targets/{name}/test", kOperate, test_push_target},
    {kGet, "/v1/stats", kRead, get_stats},
    {kGet, "/v1/findings", kRead, get_findings},
    {kGet, "/v1/error-groups", kRead, list_error_groups},
    {kGet, "/v1/error-groups/{id}", kRead, get_error_group},
    {kPatch, "/v1/error-groups/{id}", kOperate, patch_error_group},
    {kPost, "/v1/error-groups/{id}/retry", kOperate, retry_error_group},
    {kPost, "/v1/error-groups/{id}/delete", kOperate, delete_error_group_jobs},
    {kGet, "/v1/events", kRead, list_events},
    // For browsers. These routes give no access by themselves, so they are open.
    {kGet, "/v1/session", kNone, get_session, kPlain},
    {kPost, "/v1/session", kNone, sign_in},
    {kDelete, "/v1/session", kNone, sign_out},
    // The dashboard's files, the same for all callers; not in openapi.yaml.
    {kGet, "/", kNone, get_asset, kPlain},
    {kGet, "/assets/{name}", kNone, get_asset, kPlain},
    // Between nodes, which authenticate differently (http/peer/peer_frames.h). Not part of the
    // public contract, so not in openapi.yaml.
    {kGet, "/internal/v1/peer", kNone, connect_peer},
});

// The values of the segments in braces, still encoded.
using Segments = std::array<std::string_view, 2>;

// Both begin with '/'. Sets `segments`.
bool fits(std::string_view pattern, std::string_view path, Segments& segments) {
  std::size_t found = 0;
  for (;;) {
    const std::size_t brace = pattern.find('{');
    if (brace == std::string_view::npos) return pattern == path;
    if (path.substr(0, brace) != pattern.substr(0, brace)) return false;
    path.remove_prefix(brace);
    pattern.remove_prefix(pattern.find('}') + 1);
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end == 0) return false;
    segments.at(found++) = path.substr(0, end);
    path.remove_prefix(end);
  }
}

}  // namespace

std::span<const Route> all_routes() { return kRoutes; }

std::size_t row_of(const Route& route) { return static_cast<std::size_t>(&route - kRoutes.data()); }

RouteMatch match_route(api::Method method, std::string_view path) {
  RouteMatch match;
  Segments segments;
  const auto first = std::ranges::find_if(kRoutes, [&](const Route& route) {
    segments = {};
    return fits(route.pattern, path, segments);
  });
  if (first == kRoutes.end()) return match;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments.at(i).empty()) continue;
    auto decoded = api::percent_decode(segments.at(i), api::PlusSign::kItself);
    if (!decoded) return match;
    (i == 0 ? match.parameter : match.second) = std::move(*decoded);
  }
  const api::Method wanted = method == kHead ? kGet : method;
  for (const Route& route : kRoutes) {
    if (route.pattern != first->pattern) continue;
    if (route.method == wanted) {
      match.result = RouteMatch::Result::kFound;
      match.route = &route;
      match.allow.clear();
      return match;
    }
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += api::name_of(route.method);
    if (route.method == kGet) match.allow += ", HEAD";
  }
  match.result = RouteMatch::Result::kMethodNotAllowed;
  match.parameter.clear();
  match.second.clear();
  return match;
}

}  // namespace millrace::http
