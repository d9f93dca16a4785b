#include <utility>

#include "api/meta.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/openapi.h"
#include "service/administration.h"

namespace millrace::http {
namespace {

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

}  // namespace

Task<void> livez(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  call.response.body = R"({"status":"ok"})";
}

Task<void> readyz(Call& call) {
  const auto verbose = accepted(call, api::decode_verbose_query(call.query()));
  if (!verbose) co_return;
  const service::ReadinessAnswer answer = service::readiness(call.caller);
  if (!answer.ready) {
    call.response.status = 503;
    call.response.retry_after = Duration{1'000};
  }
  JsonWriter json(call.response.body);
  json.begin_object();
  json.member("status", answer.draining ? "draining" : answer.ready ? "ready" : "unready");
  if (*verbose && answer.checks) {
    json.key("checks");
    json.begin_array();
    for (const service::ReadinessCheck& check : *answer.checks) {
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
  auto text = co_await service::metrics(call.caller);
  if (!text) co_return call.refuse(text.error());
  call.response.body = std::move(*text);
  call.response.media_type = MediaType::kText;
}

Task<void> get_meta(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const service::About& about = call.services.operations.about();
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
  const auto wanted = accepted(call, api::decode_backup(call.body, call.services.limits));
  if (!wanted) co_return;
  const auto done = co_await service::backup(call.caller, wanted->path);
  if (!done) co_return call.refuse(done.error());
  JsonWriter json(call.response.body);
  api::encode_backup_done(json, wanted->path, done->bytes);
}

Task<void> get_configuration(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto configuration = service::configuration(call.caller);
  if (!configuration) co_return call.refuse(configuration.error());
  JsonWriter json(call.response.body);
  encode(json, *configuration);
}

Task<void> list_nodes(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto cluster = service::nodes(call.caller);
  if (!cluster) co_return call.refuse(cluster.error());
  JsonWriter json(call.response.body);
  encode(json, *cluster);
}

Task<void> get_diagnosis(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto found = co_await service::diagnosis(call.caller);
  if (!found) co_return call.refuse(found.error());
  JsonWriter json(call.response.body);
  encode(json, *found);
}

namespace {

Task<void> set_draining(Call& call, bool draining) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto cluster = co_await service::set_draining(call.caller, call.parameter(), draining);
  if (!cluster) co_return call.refuse(cluster.error());
  JsonWriter json(call.response.body);
  encode(json, *cluster);
}

}  // namespace

Task<void> drain_node(Call& call) { return set_draining(call, true); }

Task<void> undrain_node(Call& call) { return set_draining(call, false); }

}  // namespace millrace::http
