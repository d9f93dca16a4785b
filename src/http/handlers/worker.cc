#include <utility>

#include "api/worker_reply.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/workers.h"

namespace millrace::http {

Task<void> list_workers(Call& call) {
  const auto wanted = accepted(call, api::decode_page_query(call.query()));
  if (!wanted) co_return;
  const auto page = co_await service::list_workers(call.caller, *wanted);
  if (!page) co_return call.refuse(page.error());
  std::vector<api::Worker> workers;
  workers.reserve(page->workers.size());
  for (const engine::WorkerView& worker : page->workers) {
    workers.push_back(service::to_api(worker));
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, workers, page->next);
}

namespace {

Task<void> command_worker(Call& call, engine::WorkerState state) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto worker = co_await service::command_worker(call.caller, call.parameter(), state);
  if (!worker) co_return call.refuse(worker.error());
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(*worker));
}

}  // namespace

Task<void> quiet_worker(Call& call) { return command_worker(call, engine::WorkerState::kQuiet); }

Task<void> stop_worker(Call& call) { return command_worker(call, engine::WorkerState::kStopping); }

}  // namespace millrace::http
