#include "api/queue.h"

#include <utility>

#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/names_cursor.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

void encode_queue(Call& call, const core::Queue& queue) {
  const engine::QueueRates rates = call.services.statistics.rates(queue.name.view(), call.now());
  JsonWriter json(call.response.body);
  api::encode(json, to_api(queue, rates, call.now()));
  call.response.version = queue.version;
}

// Sends a command on the path's queue and answers with the queue.
template <typename Command>
Task<void> command_queue(Call& call, Command& command) {
  engine::Answer answer = co_await call.ask(std::move(command));
  const auto* reply = reply_in<core::QueueReply>(answer);
  if (reply == nullptr) {
    call.refuse(answer);
  } else if (reply->refusal) {
    call.refuse(to_problem(reply->refusal, "queue"));
  } else if (reply->queues.empty()) {
    call.refuse(ProblemCode::kNotFound, "there is no such queue");
  } else {
    co_await refresh_statistics(call);
    encode_queue(call, reply->queues.front());
    if (reply->created) call.response.status = 201;
  }
}

}  // namespace

Task<void> list_queues(Call& call) {
  const auto page = accepted(call, api::decode_page_query(call.query()));
  if (!page) co_return;
  const auto after = parse_name_cursor(page->cursor);
  if (!after) {
    call.refuse(bad_cursor());
    co_return;
  }
  // One more, to know whether there are more. The caller may not see all of them.
  const auto wanted = static_cast<std::size_t>(page->limit) + 1;
  core::GetQueues get;
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(
      call.limited() ? core::kMaxQueuesPerPage
                     : std::min<std::size_t>(wanted, core::kMaxQueuesPerPage));
  std::vector<core::Queue> found;
  do {
    core::Command command = get;
    engine::Answer answer = co_await call.ask(std::move(command));
    auto* reply = reply_in<core::QueueReply>(answer);
    if (reply == nullptr) {
      call.refuse(answer);
      co_return;
    }
    for (core::Queue& queue : reply->queues) {
      if (found.size() < wanted && call.allows_queue(queue.name.view())) {
        found.push_back(std::move(queue));
      }
    }
    get.after = reply->next;
  } while (found.size() < wanted && !get.after.empty());
  co_await refresh_statistics(call);
  const bool more = found.size() == wanted;
  if (more) found.pop_back();
  const Time now = call.now();
  std::vector<api::Queue> queues;
  for (const core::Queue& queue : found) {
    const std::string_view name = queue.name.view();
    queues.push_back(to_api(queue, call.services.statistics.rates(name, now), now));
  }
  const std::string cursor = more ? name_cursor(queues.back().name) : std::string();
  JsonWriter json(call.response.body);
  api::encode_list(json, queues, cursor);
}

Task<void> get_queue(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!admits_queue(call)) co_return;
  core::GetQueues command{SharedBytes(call.parameter())};
  co_await command_queue(call, command);
}

Task<void> set_queue(Call& call) {
  const bool replaces = call.route_id() == api::RouteId::kPutQueue;
  api::QueueQuery query;
  if (replaces) {
    if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  } else if (const auto given = accepted(call, api::decode_queue_query(call.query()))) {
    query = *given;
  } else {
    co_return;
  }
  if (!admits_queue(call)) co_return;
  const auto change = accepted(call, api::decode_queue_settings(call.body, call.services.limits));
  if (!change) co_return;
  core::SetQueue command;
  if (!take_if_match(call, command.if_version)) co_return;
  command.queue = SharedBytes(call.parameter());
  command.replace = replaces;
  command.create = query.create;
  command.patch = to_core(*change, call.services.default_retention);
  co_await command_queue(call, command);
}

Task<void> pause_queue(Call& call) {
  const auto query = accepted(call, api::decode_queue_query(call.query()));
  if (!query) co_return;
  if (!admits_queue(call)) co_return;
  const auto pause = accepted(call, api::decode_pause(call.body, call.services.limits));
  if (!pause) co_return;
  core::PauseQueue command{SharedBytes(call.parameter()), SharedBytes(pause->reason),
                           query->create};
  co_await command_queue(call, command);
}

Task<void> resume_queue(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!admits_queue(call)) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  core::ResumeQueue command{SharedBytes(call.parameter())};
  co_await command_queue(call, command);
}

}  // namespace millrace::http
