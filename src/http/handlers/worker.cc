#include "api/worker.h"

#include <algorithm>
#include <utility>

#include "api/worker_reply.h"
#include "engine/worker_name.h"
#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/names_cursor.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

// A caller who is limited to some queues sees its own workers, those of tokens that open nothing
// more than its own, and of those that are nobody's alone the ones that serve one of its queues.
bool sees(const Call& call, const engine::WorkerView& worker) {
  if (!call.limited()) return true;
  const std::string_view owner = engine::owner_in(worker.info.id.view());
  if (!owner.empty()) {
    const TokenSettings* const token = call.services.tokens.find(owner);
    return token != nullptr && call.access->reaches(*token);
  }
  const auto allowed = [&call](const SharedBytes& queue) {
    return call.allows_queue(queue.view());
  };
  return std::ranges::any_of(worker.queues, allowed) ||
         std::ranges::any_of(worker.running,
                             [&](const core::JobView& view) { return allowed(view.job.queue); });
}

}  // namespace

Task<void> list_workers(Call& call) {
  const auto page = accepted(call, api::decode_page_query(call.query()));
  if (!page) co_return;
  const auto after = parse_name_cursor(page->cursor);
  if (!after) {
    call.refuse(bad_cursor());
    co_return;
  }
  engine::Answer answer = co_await call.ask(engine::ListWorkers{});
  const auto* reply = std::get_if<engine::WorkersReply>(&answer);
  if (reply == nullptr) {
    call.refuse(answer);
    co_return;
  }
  std::vector<api::Worker> workers;
  bool more = false;
  for (const engine::WorkerView& worker : reply->workers) {
    if (worker.info.id.view() <= *after || !sees(call, worker)) continue;
    more = workers.size() == static_cast<std::size_t>(page->limit);
    if (more) break;
    workers.push_back(to_api(worker, call.access));
  }
  const std::string cursor = more ? name_cursor(workers.back().id) : std::string();
  JsonWriter json(call.response.body);
  api::encode_list(json, workers, cursor);
}

Task<void> command_worker(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const std::string& id = call.parameter();
  if (call.limited()) {
    // Quieting a worker touches all its queues: not for somebody who may see some of them only.
    call.refuse(ProblemCode::kForbidden, "a token limited to queues can't command workers");
    co_return;
  }
  const bool quiet = call.route_id() == api::RouteId::kQuietWorker;
  const auto state = quiet ? engine::WorkerState::kQuiet : engine::WorkerState::kStopping;
  engine::CommandWorker command{SharedBytes(id), state};
  engine::Answer answer = co_await call.ask(std::move(command));
  const auto* reply = std::get_if<engine::WorkersReply>(&answer);
  if (reply == nullptr) {
    call.refuse(answer);
    co_return;
  }
  const auto named = std::ranges::find_if(reply->workers, [&id](const engine::WorkerView& worker) {
    return worker.info.id.view() == id;
  });
  if (!reply->found || named == reply->workers.end()) {
    call.refuse(ProblemCode::kNotFound, "there is no such worker");
    co_return;
  }
  JsonWriter json(call.response.body);
  api::encode(json, to_api(*named, call.access));
}

}  // namespace millrace::http
