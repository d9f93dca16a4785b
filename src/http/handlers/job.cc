#include <utility>

#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

// Sends a command on one job and answers with what became of it.
template <typename Command>
Task<void> command_job(Call& call, JobId id, Command& command, api::Include include) {
  const bool admitted = co_await admits_job(call, id);
  if (!admitted) co_return;
  engine::Answer answer = co_await call.ask(std::move(command));
  auto* reply = reply_in<core::ItemsReply>(answer);
  if (reply == nullptr || reply->items.size() != 1) {
    call.refuse(answer);
    co_return;
  }
  co_await answer_item(call, reply->items.front(), include);
}

// It goes on, on another shard than its id names, which therefore had nothing to wait for.
bool must_wait_elsewhere(const Call& call, const core::Job& job) {
  const engine::ShardNumber shards = call.services.shards();
  return !core::is_terminal(job.state) &&
         engine::shard_of(job.id, shards) != engine::shard_of(job.queue.view(), shards);
}

}  // namespace

Task<void> get_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  const auto query = accepted(call, api::decode_job_query(call.query()));
  if (!query) co_return;
  SharedJobView view;
  if (query->wait > Duration{0}) {
    // Nobody waits for the end of a job that they may not see.
    const bool admitted = co_await admits_job(call, *id);
    if (!admitted) co_return;
    engine::WatchJob watch{*id, query->wait};
    engine::Answer answer = co_await call.ask(std::move(watch), Call::Patience::kWait);
    auto* reply = reply_in<core::JobReply>(answer);
    if (reply == nullptr) {
      call.refuse(answer);
      co_return;
    }
    view = co_await find_job(call, *id, *reply, query->include);
    if (view != nullptr && must_wait_elsewhere(call, view->job)) {
      engine::WatchJob there{*id, query->wait, view->job.queue};
      answer = co_await call.ask(std::move(there), Call::Patience::kWait);
      reply = reply_in<core::JobReply>(answer);
      if (reply == nullptr) {
        call.refuse(answer);
        co_return;
      }
      view = co_await find_job(call, *id, *reply, query->include);
    }
  } else {
    view = co_await find_job(call, *id, query->include);
  }
  if (view != nullptr) answer_job(call, *view, query->include);
}

Task<void> patch_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  core::Edit edit;
  if (!take_if_match(call, edit.if_version)) co_return;
  const auto patch = accepted(call, api::decode_job_patch(call.body, call.services.limits));
  if (!patch) co_return;
  edit.ids = {*id};
  edit.priority = patch->priority;
  edit.run_at = patch->run_at;
  if (patch->payload) edit.payload = SharedBytes(*patch->payload);
  if (patch->max_attempts) edit.max_attempts = static_cast<std::uint32_t>(*patch->max_attempts);
  if (patch->tags) edit.tags = to_shared(*patch->tags);
  co_await command_job(call, *id, edit, *include);
}

Task<void> cancel_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  const auto cancel = accepted(call, api::decode_cancel(call.body, call.services.limits));
  if (!cancel) co_return;
  core::Cancel command{{*id}, SharedBytes(cancel->reason)};
  co_await command_job(call, *id, command, *include);
}

Task<void> retry_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  const auto retry = accepted(call, api::decode_retry(call.body, call.services.limits));
  if (!retry) co_return;
  core::Retry command{{*id}, retry->run_at, retry->reset_attempts};
  co_await command_job(call, *id, command, *include);
}

Task<void> delete_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  core::Delete command;
  if (!take_if_match(call, command.if_version)) co_return;
  const bool admitted = co_await admits_job(call, *id);
  if (!admitted) co_return;
  command.ids = {*id};
  engine::Answer answer = co_await call.ask(std::move(command));
  const auto* reply = reply_in<core::ItemsReply>(answer);
  if (reply == nullptr || reply->items.size() != 1) {
    call.refuse(answer);
  } else if (reply->items.front().refusal) {
    call.refuse(to_problem(reply->items.front().refusal));
  } else {
    call.no_content();
  }
}

}  // namespace millrace::http
