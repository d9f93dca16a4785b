#include "service/peer_admission.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "engine/kinds.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

constexpr core::Scopes bit(api::Scope scope) {
  return 1u << (static_cast<unsigned>(scope) - static_cast<unsigned>(api::Scope::kSubmit));
}
static_assert(bit(api::Scope::kSubmit) == core::kSubmitScope);
static_assert(bit(api::Scope::kWork) == core::kWorkScope);
static_assert(bit(api::Scope::kRead) == core::kReadScope);
static_assert(bit(api::Scope::kOperate) == core::kOperateScope);

core::Scopes scopes_of(const engine::Request& request) {
  // The holder of a lease watches its job.
  const auto* const watch = std::get_if<engine::WatchJob>(&request);
  if (watch != nullptr && watch->lease != kNoToken) return core::kWorkScope;
  return engine::visit_kind([]<typename T>(const T&) { return engine::Kind<T>::kScopes; }, request);
}

core::Named named_by(const engine::Request& request) {
  core::Named named;
  engine::visit_kind([&]<typename T>(const T& asked) { engine::Kind<T>::name(asked, named); },
                     request);
  return named;
}

bool brings_jobs(const core::Ack& ack) {
  return std::ranges::any_of(ack.items, [](const core::AckItem& item) {
    return !item.enqueue.empty() || !item.workflows.empty() || item.grow != nullptr;
  });
}

// Whether the request has acks that submit jobs.
bool brings_jobs(const engine::Request& request) {
  if (const auto* const poll = std::get_if<engine::Poll>(&request)) return brings_jobs(poll->acks);
  const auto* const command = std::get_if<core::Command>(&request);
  const auto* const ack = command == nullptr ? nullptr : std::get_if<core::Ack>(command);
  return ack != nullptr && brings_jobs(*ack);
}

// Whether the request needs all queues of a workflow, not only its own.
bool operates(const engine::Request& request) { return scopes_of(request) == core::kOperateScope; }

// `all`: every queue of the workflow must be open, else the first.
Task<std::optional<engine::Answer>> refusal_for_workflow(Services& services, AnswerPort& port,
                                                         engine::Gateway& shard,
                                                         const Access& access, JobId id, bool all) {
  core::GetWorkflow get;
  get.id = id;
  get.queues = true;
  Ask asked(port, core::Command(get), Asking{{}, &shard});
  engine::Answer answer = co_await asked;
  const auto* const reply = reply_in<core::WorkflowReply>(answer);
  if (reply == nullptr) co_return std::move(answer);  // deny access if it cannot be checked
  std::vector<SharedBytes> queues = reply->queues;
  if (reply->workflow == nullptr && !reply->deleted) {
    auto read = [&](const std::stop_token&) { return services.reads.workflow(get); };
    const Reader reader{access.settings().name};
    Blocking reading(services.readers, Lane::kLookups, reader, port, read);
    auto stored = co_await reading;
    if (!stored) co_return engine::Unavailable::kOverloaded;
    if (!*stored) co_return engine::Unavailable::kStorage;
    if (**stored) queues = std::move((**stored)->queues);
  }
  if (!all && queues.size() > 1) queues.resize(1);
  for (const SharedBytes& queue : queues) {
    if (!access.allows_queue(queue.view())) co_return engine::Denied::kQueue;
  }
  co_return std::nullopt;
}

}  // namespace

bool allows_kind(const Access& access, const engine::Request& request) {
  if (brings_jobs(request) && !access.allows(api::Scope::kSubmit)) return false;
  const core::Scopes scopes = scopes_of(request);
  return std::ranges::any_of(
      std::array{api::Scope::kSubmit, api::Scope::kWork, api::Scope::kRead, api::Scope::kOperate},
      [&](api::Scope scope) { return (scopes & bit(scope)) != 0 && access.allows(scope); });
}

Task<std::optional<engine::Answer>> refusal_for(Services& services, AnswerPort& port,
                                                engine::Gateway& shard, const Access& access,
                                                const engine::Request& request) {
  if (!allows_kind(access, request)) co_return engine::Denied::kScope;
  if (!access.limited()) co_return std::nullopt;
  const core::Named named = named_by(request);
  if (named.workers) co_return engine::Denied::kScope;
  for (const std::string_view queue : named.queues) {
    if (!access.allows_queue(queue)) co_return engine::Denied::kQueue;
  }
  for (const std::string_view name : named.schedules) {
    core::GetSchedules get;
    get.name = SharedBytes(name);
    Ask asked(port, core::Command(std::move(get)), Asking{{}, &shard});
    engine::Answer answer = co_await asked;
    const auto* const reply = reply_in<core::ScheduleReply>(answer);
    if (reply == nullptr) co_return std::move(answer);
    for (const core::Schedule& schedule : reply->schedules) {
      if (!allows_schedule(access, schedule.spec)) co_return engine::Denied::kQueue;
    }
  }
  for (const JobId& id : named.workflows) {
    auto refusal =
        co_await refusal_for_workflow(services, port, shard, access, id, operates(request));
    if (refusal) co_return refusal;
  }
  if (named.ids.empty()) co_return std::nullopt;

  std::vector<engine::Request> questions;
  questions.reserve(named.ids.size());
  for (const JobId& id : named.ids) questions.emplace_back(core::GetJob{id});
  AskAll asked(port, std::move(questions), Asking{{}, &shard});
  std::vector<engine::Answer> answers = co_await asked;
  std::vector<JobId> elsewhere;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto* reply = reply_in<core::JobReply>(answers[i]);
    if (reply == nullptr) co_return std::move(answers[i]);  // deny access if it cannot be checked
    if (reply->job != nullptr) {
      if (!access.allows_queue(reply->job->job.queue.view())) co_return engine::Denied::kQueue;
    } else if (!reply->deleted) {
      elsewhere.push_back(named.ids[i]);
    }
  }
  if (elsewhere.empty()) co_return std::nullopt;
  auto read = [&](const std::stop_token&) { return services.reads.fetch(elsewhere); };
  const Reader reader{access.settings().name};
  Blocking reading(services.readers, Lane::kLookups, reader, port, read);
  const auto jobs = co_await reading;
  if (!jobs) co_return engine::Unavailable::kOverloaded;
  if (!*jobs) co_return engine::Unavailable::kStorage;
  for (const core::Job& job : **jobs) {
    if (!access.allows_queue(job.queue.view())) co_return engine::Denied::kQueue;
  }
  co_return std::nullopt;
}

void hide_from(const Access& access, engine::WorkerView& worker) {
  const auto closed = [&access](const SharedBytes& queue) {
    return !access.allows_queue(queue.view());
  };
  std::erase_if(worker.queues, closed);
  std::erase_if(worker.running, [&](const core::JobView& view) { return closed(view.job.queue); });
}

void hide_from(const Access& access, engine::Answer& answer) {
  if (!access.limited()) return;
  const auto closed = [&access](const SharedBytes& queue) {
    return !access.allows_queue(queue.view());
  };
  if (auto* job = reply_in<core::JobReply>(answer)) {
    if (job->job != nullptr && closed(job->job->job.queue)) answer = engine::Denied::kQueue;
  } else if (auto* schedules = reply_in<core::ScheduleReply>(answer)) {
    std::erase_if(schedules->schedules, [&](const core::Schedule& schedule) {
      return !allows_schedule(access, schedule.spec);
    });
  } else if (auto* workflow = reply_in<core::WorkflowReply>(answer)) {
    if (workflow->workflow != nullptr && closed(workflow->workflow->spec.queue)) {
      answer = engine::Denied::kQueue;
    }
  } else if (auto* queues = reply_in<core::QueueReply>(answer)) {
    std::erase_if(queues->queues, [&](const core::Queue& queue) { return closed(queue.name); });
  } else if (auto* workers = std::get_if<engine::WorkersReply>(&answer)) {
    for (engine::WorkerView& worker : workers->workers) hide_from(access, worker);
  }
}

}  // namespace millrace::service
