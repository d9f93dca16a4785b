#include <algorithm>
#include <utility>

#include "api/meta.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/openapi.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

std::vector<std::pair<std::string_view, std::int64_t>> limits_of(const Services& services) {
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  return {
      {"body_bytes", number(services.limits.body_bytes)},
      {"payload_bytes", number(services.limits.payload_bytes)},
      {"json_depth", number(services.limits.json_depth)},
      {"header_block_bytes", number(services.head_limits.block_bytes)},
      {"headers", number(services.head_limits.fields)},
      {"target_bytes", number(services.head_limits.target_bytes)},
      {"batch_items", number(api::kMaxBatchItems)},
      {"list_limit", api::kMaxListLimit},
      {"wait_ms", api::kMaxWaitMs},
      {"min_lease_ms", api::kMinLeaseMs},
      {"max_lease_ms", api::kMaxLeaseMs},
      {"max_attempts", api::kMaxAttempts},
      {"max_delay_ms", api::kMaxDelayMs},
      {"name_bytes", number(api::kMaxNameBytes)},
      {"tags", number(api::kMaxTags)},
      {"meta_bytes", number(api::kMaxMetaBytes)},
      {"idempotency_window_ms", services.idempotency_window.count()},
  };
}

// What concerns all queues is not for somebody who may see some of them only. False: refused.
bool admits_to_all_queues(Call& call) {
  if (!call.limited()) return true;
  call.refuse(ProblemCode::kForbidden, "a token limited to queues can't do this: it is of all");
  return false;
}

}  // namespace

Task<void> livez(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  call.response.body = R"({"status":"ok"})";
}

Task<void> readyz(Call& call) {
  const auto verbose = accepted(call, api::decode_verbose_query(call.query()));
  if (!verbose) co_return;
  const Readiness readiness = call.services.operations.readiness();
  const bool ok = std::ranges::all_of(readiness.checks, &ReadinessCheck::ok);
  const bool draining = readiness.draining || call.services.draining;
  if (draining || !ok) {
    call.response.status = 503;
    call.response.retry_after = Duration{1'000};
  }
  JsonWriter json(call.response.body);
  json.begin_object();
  json.member("status", draining ? "draining" : ok ? "ready" : "unready");
  // Strangers are told yes or no.
  if (*verbose && (call.services.tokens.empty() || call.access != nullptr)) {
    json.key("checks");
    json.begin_array();
    for (const ReadinessCheck& check : readiness.checks) {
      json.begin_object();
      json.member("name", check.name);
      json.member("ok", check.ok);
      json.key("detail");
      check.detail.empty() ? json.null() : json.string(check.detail);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

Task<void> metrics(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!admits_to_all_queues(call)) co_return;
  auto collect = [&](const std::stop_token&) { return call.services.operations.metrics_text(); };
  auto text = co_await call.read(Lane::kSearches, collect);
  if (!text) co_return;
  call.response.body = std::move(*text);
  call.response.media_type = MediaType::kText;
}

Task<void> get_meta(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const About& about = call.services.operations.about();
  api::Meta meta;
  meta.version = about.version;
  meta.commit = about.commit;
  meta.store = about.store;
  meta.node = about.node;
  meta.shards = about.shards;
  meta.started_at = about.started_at;
  meta.server_time = call.now();
  meta.limits = limits_of(call.services);
  JsonWriter json(call.response.body);
  api::encode(json, meta);
}

Task<void> get_openapi(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  call.response.body = openapi_json();
}

Task<void> backup(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!admits_to_all_queues(call)) co_return;
  const auto wanted = accepted(call, api::decode_backup(call.body, call.services.limits));
  if (!wanted) co_return;
  auto copy = [&](const std::stop_token&) { return call.services.operations.backup(wanted->path); };
  auto result = co_await call.read(Lane::kSearches, copy);
  if (!result) co_return;
  const auto done = accepted(call, *std::move(result));
  if (!done) co_return;
  JsonWriter json(call.response.body);
  api::encode_backup_done(json, wanted->path, done->bytes);
}

Task<void> list_nodes(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  JsonWriter json(call.response.body);
  encode(json, call.services.operations.cluster());
}

// Both ways: the route says which.
Task<void> drain_node(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!admits_to_all_queues(call)) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const bool draining = call.route_id() == api::RouteId::kDrainNode;
  auto set = [&](const std::stop_token&) {
    return call.services.operations.set_draining(call.parameter(), draining);
  };
  auto result = co_await call.read(Lane::kLookups, set);
  if (!result) co_return;
  const auto cluster = accepted(call, *std::move(result));
  if (!cluster) co_return;
  JsonWriter json(call.response.body);
  encode(json, *cluster);
}

Task<void> list_tokens(Call& call) {
  const auto page = accepted(call, api::decode_page_query(call.query()));
  if (!page) co_return;
  std::vector<api::TokenInfo> tokens;
  for (const TokenSettings& settings : call.services.tokens.tokens()) {
    if (call.access != nullptr && !call.access->reaches(settings)) continue;
    api::TokenInfo info;
    info.name = settings.name;
    info.scopes.assign(settings.scopes.begin(), settings.scopes.end());
    info.queues.assign(settings.queues.begin(), settings.queues.end());
    info.expires_at = settings.expires_at;
    tokens.push_back(std::move(info));
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, tokens, {});
}

}  // namespace millrace::http
