#include "service/queues.h"

#include <algorithm>
#include <utility>

#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

// Sends a command on one queue, and returns that queue.
template <typename Command>
Task<Answered<QueueAnswer>> command_queue(Caller& caller, Command command) {
  auto admitted = admits_queue(caller, command.queue.view());
  if (!admitted) co_return refused(admitted);
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "queue"));
  if (reply->queues.empty()) {
    co_return refused(api::ProblemCode::kNotFound, "there is no such queue");
  }
  co_await refresh_statistics(caller);
  QueueAnswer answer{std::move(reply->queues.front()), {}, reply->created};
  answer.blocked_by = std::move(reply->blocked_by);
  answer.rates = caller.services.models.rates(answer.queue.name.view(), caller.now());
  co_return answer;
}

}  // namespace

Task<Answered<QueuePage>> list_queues(Caller& caller, const api::Page& page) {
  const auto after = parse_name_cursor(page.cursor);
  if (!after) co_return refused(bad_cursor());
  // One more, to detect a further page. The caller may not see all of them.
  const auto wanted = static_cast<std::size_t>(page.limit) + 1;
  core::GetQueues get;
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(
      caller.limited() ? core::kMaxQueuesPerPage
                       : std::min<std::size_t>(wanted, core::kMaxQueuesPerPage));
  std::vector<core::Queue> found;
  do {
    auto reply = co_await caller.ask(get);
    if (!reply) co_return refused(reply);
    for (core::Queue& queue : reply->queues) {
      if (found.size() < wanted && caller.allows_queue(queue.name.view())) {
        found.push_back(std::move(queue));
      }
    }
    get.after = reply->next;
  } while (found.size() < wanted && !get.after.empty());
  co_await refresh_statistics(caller);
  const bool more = found.size() == wanted;
  if (more) found.pop_back();
  QueuePage made;
  if (more) made.next = name_cursor(found.back().name.view());
  const Time now = caller.now();
  for (core::Queue& queue : found) {
    const engine::QueueRates rates = caller.services.models.rates(queue.name.view(), now);
    made.queues.push_back({std::move(queue), rates});
  }
  co_return made;
}

Task<Answered<QueueAnswer>> get_queue(Caller& caller, std::string_view queue) {
  core::GetQueues get{SharedBytes(queue)};
  get.blocked_by = true;
  return command_queue(caller, std::move(get));
}

Task<Answered<QueueAnswer>> set_queue(Caller& caller, std::string_view queue,
                                      const QueueChange& change) {
  core::SetQueue command;
  command.queue = SharedBytes(queue);
  command.if_version = change.if_version;
  command.replace = change.replace;
  command.create = change.create;
  command.patch = to_core(change.settings, caller.services.default_retention);
  return command_queue(caller, std::move(command));
}

Task<Answered<QueueAnswer>> pause_queue(Caller& caller, std::string_view queue,
                                        const api::Pause& pause, api::QueueQuery query) {
  return command_queue(
      caller, core::PauseQueue{SharedBytes(queue), SharedBytes(pause.reason), query.create});
}

Task<Answered<QueueAnswer>> resume_queue(Caller& caller, std::string_view queue) {
  return command_queue(caller, core::ResumeQueue{SharedBytes(queue)});
}

Task<Answered<SharePage>> list_shares(Caller& caller, std::string_view queue,
                                      const api::SharesQuery& query) {
  auto admitted = admits_queue(caller, queue);
  if (!admitted) co_return refused(admitted);
  const auto after = parse_name_cursor(query.cursor);
  if (!after) co_return refused(bad_cursor());
  core::GetShares get;
  get.queue = SharedBytes(queue);
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(query.limit);
  get.busiest = query.by_waiting;
  auto reply = co_await caller.ask(std::move(get));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "queue"));
  SharePage made{std::move(reply->keys), {}};
  if (!reply->next.empty()) made.next = name_cursor(reply->next.view());
  co_return made;
}

}  // namespace millrace::service
