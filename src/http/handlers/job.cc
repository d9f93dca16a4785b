#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/convert.h"
#include "service/jobs.h"

namespace millrace::http {
Task<void> get_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  auto query = accepted(call, api::decode_job_query(call.query()));
  if (!query) co_return;
  query->include = service::shown_to(call.caller, query->include);
  const auto view = co_await service::get_job(call.caller, *id, *query);
  if (!view) co_return call.refuse(view.error());
  answer_job(call, **view, query->include);
}

Task<void> patch_job(Call& call) {
  const auto job = named_job(call);
  if (!job) co_return;
  service::IfVersion version;
  if (!take_if_match(call, version)) co_return;
  const auto patch = accepted(call, api::decode_job_patch(call.body, call.services.limits));
  if (!patch) co_return;
  const auto answer =
      co_await service::edit_job(call.caller, job->id, *patch, version, job->include);
  answer_job(call, answer, job->include);
}

Task<void> cancel_job(Call& call) {
  const auto job = named_job(call);
  if (!job) co_return;
  const auto cancel = accepted(call, api::decode_cancel(call.body, call.services.limits));
  if (!cancel) co_return;
  const auto answer = co_await service::cancel_job(call.caller, job->id, *cancel, job->include);
  answer_job(call, answer, job->include);
}

Task<void> retry_job(Call& call) {
  const auto job = named_job(call);
  if (!job) co_return;
  const auto retry = accepted(call, api::decode_retry(call.body, call.services.limits));
  if (!retry) co_return;
  const auto answer = co_await service::retry_job(call.caller, job->id, *retry, job->include);
  answer_job(call, answer, job->include);
  // A member's job is as it was until its workflow has decided.
  const bool waits = answer && answer->view != nullptr && is_terminal(answer->view->job.state);
  if (waits) call.response.status = 202;
}

Task<void> delete_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  service::IfVersion version;
  if (!take_if_match(call, version)) co_return;
  const auto deleted = co_await service::delete_job(call.caller, *id, version);
  if (!deleted) co_return call.refuse(deleted.error());
  call.no_content();
}

}  // namespace millrace::http
