#include "service/workers.h"

#include <algorithm>
#include <utility>

#include "engine/shard/worker_name.h"
#include "service/audit.h"
#include "service/names_cursor.h"
#include "service/peer_admission.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

}  // namespace

bool sees_worker(const Caller& caller, const engine::WorkerView& worker) {
  if (!caller.limited()) return true;
  const std::string_view owner = engine::owner_in(worker.info.id.view());
  if (!owner.empty()) {
    const SharedAccess token = caller.services.tokens.find(owner);
    return token != nullptr && caller.access->reaches(token->settings());
  }
  const auto allowed = [&caller](const SharedBytes& queue) {
    return caller.allows_queue(queue.view());
  };
  return std::ranges::any_of(worker.queues, allowed) ||
         std::ranges::any_of(worker.running,
                             [&](const core::JobView& view) { return allowed(view.job.queue); });
}

Task<Answered<WorkerPage>> list_workers(Caller& caller, const api::Page& page) {
  const auto after = parse_name_cursor(page.cursor);
  if (!after) co_return refused(bad_cursor());
  auto reply = co_await caller.ask(engine::ListWorkers{});
  if (!reply) co_return refused(reply);
  WorkerPage made;
  bool more = false;
  for (engine::WorkerView& worker : reply->workers) {
    if (worker.info.id.view() <= *after || !sees_worker(caller, worker)) continue;
    more = made.workers.size() == static_cast<std::size_t>(page.limit);
    if (more) break;
    if (caller.access != nullptr) hide_from(*caller.access, worker);
    made.workers.push_back(std::move(worker));
  }
  if (more) made.next = name_cursor(made.workers.back().info.id.view());
  co_return made;
}

Task<Answered<engine::WorkerView>> command_worker(Caller& caller, std::string_view id,
                                                  engine::WorkerState state) {
  // The command affects all the worker's queues, so a caller limited to some of them may not send
  // it.
  if (caller.limited()) {
    co_return refused(
        ProblemCode::kForbidden,
        "a token that is limited to queues can't command workers; use one that is not");
  }
  engine::SetWorkerState command{SharedBytes(id), state};
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  const auto named = std::ranges::find_if(reply->workers, [&id](const engine::WorkerView& worker) {
    return worker.info.id.view() == id;
  });
  if (!reply->found || named == reply->workers.end()) {
    co_return refused(ProblemCode::kNotFound, "there is no such worker");
  }
  const bool quiet = state == engine::WorkerState::kQuiet;
  co_await note_audit(caller, about(quiet ? "worker.quieted" : "worker.stopped", "worker", id));
  co_return std::move(*named);
}

}  // namespace millrace::service
