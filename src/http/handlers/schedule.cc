#include "api/schedule.h"

#include <deque>
#include <utility>

#include "api/list.h"
#include "api/queue.h"
#include "api/refusal.h"
#include "core/schedules/schedule.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/schedules.h"

namespace millrace::http {
namespace {

void answer_schedule(Call& call, const service::Answered<service::ScheduleAnswer>& answer) {
  if (!answer) return call.refuse(answer.error());
  const service::ScheduleShape shape(call.caller, answer->schedule);
  JsonWriter json(call.response.body);
  api::encode(json, shape.schedule());
  call.response.version = answer->schedule.version;
  if (answer->created) call.response.status = 201;
}

}  // namespace

Task<void> list_schedules(Call& call) {
  const auto query = accepted(call, api::decode_schedule_list_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_schedules(call.caller, *query);
  if (!page) co_return call.refuse(page.error());
  std::deque<service::ScheduleShape> shapes;
  std::vector<api::Schedule> schedules;
  for (const core::Schedule& schedule : page->schedules) {
    schedules.push_back(shapes.emplace_back(call.caller, schedule).schedule());
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, schedules, page->next);
}

Task<void> apply_schedules(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto set = accepted(call, api::decode_schedule_set(call.body, call.services.limits));
  if (!set) co_return;
  const auto outcome = co_await service::apply_schedules(call.caller, *set);
  if (!outcome) co_return call.refuse(outcome.error());
  JsonWriter json(call.response.body);
  api::encode(json, *outcome);
}

Task<void> preview_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto preview = accepted(call, api::decode_preview(call.body, call.services.limits));
  if (!preview) co_return;
  const auto answer = service::preview_schedule(call.caller, *preview);
  if (!answer) co_return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, *answer);
}

Task<void> get_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto answer = co_await service::get_schedule(call.caller, call.parameter());
  answer_schedule(call, answer);
}

Task<void> set_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto spec = accepted(call, api::decode_schedule(call.body, call.services.limits));
  if (!spec) co_return;
  service::IfVersion if_version;
  if (!take_if_match(call, if_version)) co_return;
  const auto answer =
      co_await service::set_schedule(call.caller, call.parameter(), *spec, if_version);
  answer_schedule(call, answer);
}

Task<void> delete_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  service::IfVersion if_version;
  if (!take_if_match(call, if_version)) co_return;
  const auto gone = co_await service::delete_schedule(call.caller, call.parameter(), if_version);
  if (!gone) co_return call.refuse(gone.error());
  call.response.status = 204;
}

Task<void> pause_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto pause = accepted(call, api::decode_pause(call.body, call.services.limits));
  if (!pause) co_return;
  const auto answer =
      co_await service::pause_schedule(call.caller, call.parameter(), pause->reason);
  answer_schedule(call, answer);
}

Task<void> resume_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto answer = co_await service::resume_schedule(call.caller, call.parameter());
  answer_schedule(call, answer);
}

Task<void> trigger_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto trigger = accepted(call, api::decode_trigger(call.body, call.services.limits));
  if (!trigger) co_return;
  service::TriggerRequest request{*trigger, {}, call.body};
  if (!take_key(call, request.key)) co_return;
  const auto made = co_await service::trigger_schedule(call.caller, call.parameter(), request);
  if (!made) co_return call.refuse(made.error());
  if (made->workflow) co_return answer_made(call, *made->workflow);
  answer_job(call, made->job->job, {});
  if (made->job->created) call.response.status = 201;
  call.response.replayed = made->job->replayed;
}

Task<void> backfill_schedule(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto backfill = accepted(call, api::decode_backfill(call.body, call.services.limits));
  if (!backfill) co_return;
  service::BackfillRequest request{*backfill, {}, call.body};
  if (!take_key(call, request.key)) co_return;
  const auto answer = co_await service::backfill_schedule(call.caller, call.parameter(), request);
  if (!answer) co_return call.refuse(answer.error());
  JsonWriter json(call.response.body);
  api::encode(json, answer->outcome);
  call.response.replayed = answer->replayed;
}

Task<void> list_runs(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto found = co_await service::list_runs(call.caller, call.parameter());
  if (!found) co_return call.refuse(found.error());
  std::vector<api::ScheduleRun> runs;
  for (const core::ScheduleRun& run : *found) {
    api::ScheduleRun& shown = runs.emplace_back();
    shown.scheduled_at = run.scheduled_at;
    shown.at = run.at;
    if (run.job != core::kNoJob) (run.workflow ? shown.workflow : shown.job) = run.job;
    shown.outcome = name_of(run.outcome);
    shown.count = run.count;
    shown.error = api::sentence_of(run.error);
  }
  JsonWriter json(call.response.body);
  api::encode_runs(json, runs);
}

}  // namespace millrace::http
