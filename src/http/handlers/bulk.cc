// Calls that affect many jobs.
#include "service/bulk.h"

#include "api/queue.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {

Task<void> bulk_jobs(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto bulk = accepted(call, api::decode_bulk(call.body, call.services.limits));
  if (!bulk) co_return;
  const auto outcome = co_await service::bulk_jobs(call.caller, *bulk);
  if (!outcome) co_return call.refuse(outcome.error());
  if (outcome->operation) co_return answer_begun(call, *outcome->operation);
  JsonWriter json(call.response.body);
  api::encode(json, outcome->outcome, call.request_id);
}

Task<void> purge_queue(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto wanted = accepted(call, api::decode_purge(call.body, call.services.limits));
  if (!wanted) co_return;
  const auto purged = co_await service::purge_queue(call.caller, call.parameter(), *wanted);
  if (!purged) co_return call.refuse(purged.error());
  if (purged->operation) co_return answer_begun(call, *purged->operation);
  JsonWriter json(call.response.body);
  api::encode_purged(json, purged->deleted);
}

Task<void> delete_queue(Call& call) {
  const auto query = accepted(call, api::decode_delete_queue_query(call.query()));
  if (!query) co_return;
  const auto end = query->force ? service::QueueEnd::kWithJobs : service::QueueEnd::kIfEmpty;
  const auto deleted = co_await service::delete_queue(call.caller, call.parameter(), end);
  if (!deleted) co_return call.refuse(deleted.error());
  if (*deleted) co_return answer_begun(call, **deleted);
  call.no_content();
}

}  // namespace millrace::http
