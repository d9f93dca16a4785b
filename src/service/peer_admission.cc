#include "service/peer_admission.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::service {
namespace {

// --- By kind: the scopes of the routes that make such requests; any one is enough. GetJob also
// precedes every request that names a job, to find its queue.

using Scopes = std::uint32_t;
constexpr Scopes bit(api::Scope scope) { return 1u << static_cast<unsigned>(scope); }
constexpr Scopes kSubmit = bit(api::Scope::kSubmit);
constexpr Scopes kWork = bit(api::Scope::kWork);
constexpr Scopes kRead = bit(api::Scope::kRead);
constexpr Scopes kOperate = bit(api::Scope::kOperate);

struct ScopesOf {
  Scopes operator()(const core::Enqueue&) const { return kSubmit; }
  Scopes operator()(const core::Claim&) const { return kWork; }
  Scopes operator()(const core::Heartbeat&) const { return kWork; }
  Scopes operator()(const core::Ack&) const { return kWork; }
  Scopes operator()(const core::AppendLogs&) const { return kWork; }
  Scopes operator()(const core::Cancel&) const { return kOperate; }
  Scopes operator()(const core::Retry&) const { return kOperate; }
  Scopes operator()(const core::Edit&) const { return kOperate; }
  Scopes operator()(const core::Delete&) const { return kOperate; }
  Scopes operator()(const core::SetQueue&) const { return kOperate; }
  Scopes operator()(const core::PauseQueue&) const { return kOperate; }
  Scopes operator()(const core::ResumeQueue&) const { return kOperate; }
  Scopes operator()(const core::DeleteQueue&) const { return kOperate; }
  Scopes operator()(const core::NotePurge&) const { return kOperate; }
  Scopes operator()(const core::SetSchedule&) const { return kOperate; }
  Scopes operator()(const core::PauseSchedule&) const { return kOperate; }
  Scopes operator()(const core::ResumeSchedule&) const { return kOperate; }
  Scopes operator()(const core::DeleteSchedule&) const { return kOperate; }
  Scopes operator()(const core::NoteScheduleRun&) const { return kOperate; }
  Scopes operator()(const core::GetSchedules&) const { return kRead | kOperate; }
  // A node sends these in its own name, after it has checked the token.
  Scopes operator()(const core::PutCatalogEntry&) const { return 0; }
  Scopes operator()(const core::DeleteCatalogEntry&) const { return 0; }
  Scopes operator()(const core::GetCatalog&) const { return 0; }
  Scopes operator()(const core::NoteAudit&) const { return 0; }
  Scopes operator()(const core::SetLimit&) const { return kOperate; }
  Scopes operator()(const core::PauseLimit&) const { return kOperate; }
  Scopes operator()(const core::ResumeLimit&) const { return kOperate; }
  Scopes operator()(const core::DeleteLimit&) const { return kOperate; }
  Scopes operator()(const core::GetLimits&) const { return kRead | kOperate; }
  Scopes operator()(const core::GetShares&) const { return kRead; }
  Scopes operator()(const core::GetWhy&) const { return kRead; }
  Scopes operator()(const core::CopyLimit&) const { return kOperate; }
  Scopes operator()(const core::StartOperation&) const { return kOperate; }
  Scopes operator()(const core::SetOperation&) const { return kOperate; }
  Scopes operator()(const core::StepOperation&) const { return 0; }
  Scopes operator()(const core::GetOperations&) const { return kRead | kOperate; }
  Scopes operator()(const core::ForgetOperations&) const { return 0; }
  Scopes operator()(const core::ReportShares&) const { return 0; }
  Scopes operator()(const core::GiveShares&) const { return 0; }
  Scopes operator()(const core::GetJob&) const { return kSubmit | kWork | kRead | kOperate; }
  Scopes operator()(const core::GetQueues&) const { return kRead | kOperate; }

  Scopes operator()(const core::Command& command) const { return std::visit(*this, command); }
  Scopes operator()(const engine::WaitingClaim&) const { return kWork; }
  Scopes operator()(const engine::Poll&) const { return kWork; }
  Scopes operator()(const engine::WatchJob& watch) const {
    return watch.lease == kNoToken ? kRead : kWork;
  }
  Scopes operator()(const engine::FindJob&) const { return kSubmit | kWork | kRead | kOperate; }
  Scopes operator()(const engine::AwaitProjection&) const { return kRead | kOperate; }
  Scopes operator()(const engine::AwaitEvents&) const { return kRead; }
  Scopes operator()(const engine::AwaitWork&) const { return kWork; }
  Scopes operator()(const engine::ListWorkers&) const { return kRead; }
  // Never sent to another node.
  Scopes operator()(const engine::AwaitJobQuestions&) const { return 0; }
  Scopes operator()(const engine::TellOfJob&) const { return 0; }
  Scopes operator()(const engine::AwaitOperationWork&) const { return 0; }
  Scopes operator()(const engine::SetWorkerState&) const { return kOperate; }
};

// --- The names in a request. For GetJob, WatchJob and FindJob the answer is checked instead.

struct Named {
  std::vector<std::string_view> queues;
  std::vector<std::string_view> schedules;
  std::vector<JobId> ids;
  bool workers = false;  // orders to a worker touch all its queues

  void operator()(const core::Enqueue& command) { specs(command.jobs); }
  void operator()(const core::Claim& command) { names(command.queues); }
  void operator()(const core::Heartbeat& command) { items(command.items); }
  void operator()(const core::Ack& command) {
    items(command.items);
    for (const core::AckItem& item : command.items) specs(item.enqueue);
  }
  void operator()(const core::AppendLogs& command) { items(command.items); }
  void operator()(const core::Cancel& command) { ids = command.ids; }
  void operator()(const core::Retry& command) { ids = command.ids; }
  void operator()(const core::Edit& command) { ids = command.ids; }
  void operator()(const core::Delete& command) { ids = command.ids; }
  void operator()(const core::SetQueue& command) { queues.push_back(command.queue.view()); }
  void operator()(const core::PauseQueue& command) { queues.push_back(command.queue.view()); }
  void operator()(const core::ResumeQueue& command) { queues.push_back(command.queue.view()); }
  void operator()(const core::DeleteQueue& command) { queues.push_back(command.queue.view()); }
  void operator()(const core::NotePurge& command) { queues.push_back(command.queue.view()); }
  void operator()(const core::SetSchedule& command) {
    queues.push_back(command.spec.queue.view());
    schedules.push_back(command.name.view());
  }
  void operator()(const core::PauseSchedule& c) { schedules.push_back(c.name.view()); }
  void operator()(const core::ResumeSchedule& c) { schedules.push_back(c.name.view()); }
  void operator()(const core::DeleteSchedule& c) { schedules.push_back(c.name.view()); }
  void operator()(const core::NoteScheduleRun& c) { schedules.push_back(c.name.view()); }
  void operator()(const core::GetSchedules&) {}
  void operator()(const core::PutCatalogEntry&) {}
  void operator()(const core::DeleteCatalogEntry&) {}
  void operator()(const core::GetCatalog&) {}
  void operator()(const core::NoteAudit&) {}
  void operator()(const core::SetLimit&) {}
  void operator()(const core::PauseLimit&) {}
  void operator()(const core::ResumeLimit&) {}
  void operator()(const core::DeleteLimit&) {}
  void operator()(const core::GetLimits&) {}
  void operator()(const core::GetShares& c) { queues.push_back(c.queue.view()); }
  void operator()(const core::CopyLimit&) {}
  // The node that received the request has limited the filter to what the token allows.
  void operator()(const core::StartOperation& command) {
    if (!command.spec.queue.empty()) queues.push_back(command.spec.queue.view());
  }
  void operator()(const core::SetOperation&) {}
  void operator()(const core::StepOperation&) {}
  void operator()(const core::GetOperations&) {}
  void operator()(const core::ForgetOperations&) {}
  void operator()(const core::ReportShares&) {}
  void operator()(const core::GiveShares&) {}
  void operator()(const core::GetWhy& c) { ids.push_back(c.id); }
  void operator()(const core::GetJob&) {}
  void operator()(const core::GetQueues& command) {
    if (!command.queue.empty()) queues.push_back(command.queue.view());
  }

  void operator()(const core::Command& command) { std::visit(*this, command); }
  void operator()(const engine::WaitingClaim& request) { names(request.claim.queues); }
  void operator()(const engine::Poll& request) {
    (*this)(request.acks);
    items(request.heartbeats.items);
    items(request.logs.items);
    if (request.claim) names(request.claim->queues);
  }
  void operator()(const engine::WatchJob&) {}
  void operator()(const engine::FindJob&) {}
  void operator()(const engine::AwaitProjection&) {}
  void operator()(const engine::AwaitEvents&) {}
  void operator()(const engine::AwaitWork& request) { names(request.queues); }
  void operator()(const engine::ListWorkers&) {}
  void operator()(const engine::AwaitJobQuestions&) {}
  void operator()(const engine::TellOfJob&) {}
  void operator()(const engine::AwaitOperationWork&) {}
  void operator()(const engine::SetWorkerState&) { workers = true; }

 private:
  void names(const std::vector<SharedBytes>& all) {
    for (const SharedBytes& name : all) queues.push_back(name.view());
  }
  void specs(const std::vector<core::JobSpec>& jobs) {
    for (const core::JobSpec& spec : jobs) queues.push_back(spec.queue.view());
  }
  template <typename Item>
  void items(const std::vector<Item>& all) {
    for (const Item& item : all) ids.push_back(item.id);
  }
};

Named named_by(const engine::Request& request) {
  Named named;
  std::visit(named, request);
  return named;
}

}  // namespace

namespace {

bool brings_jobs(const core::Ack& ack) {
  return std::ranges::any_of(ack.items,
                             [](const core::AckItem& item) { return !item.enqueue.empty(); });
}

// Whether the request has acks that submit jobs.
bool brings_jobs(const engine::Request& request) {
  if (const auto* const poll = std::get_if<engine::Poll>(&request)) return brings_jobs(poll->acks);
  const auto* const command = std::get_if<core::Command>(&request);
  const auto* const ack = command == nullptr ? nullptr : std::get_if<core::Ack>(command);
  return ack != nullptr && brings_jobs(*ack);
}

}  // namespace

bool allows_kind(const Access& access, const engine::Request& request) {
  if (brings_jobs(request) && !access.allows(api::Scope::kSubmit)) return false;
  const Scopes scopes = std::visit(ScopesOf(), request);
  return std::ranges::any_of(
      std::array{api::Scope::kSubmit, api::Scope::kWork, api::Scope::kRead, api::Scope::kOperate},
      [&](api::Scope scope) { return (scopes & bit(scope)) != 0 && access.allows(scope); });
}

Task<std::optional<engine::Answer>> refusal_for(Services& services, AnswerPort& port,
                                                engine::Gateway& shard, const Access& access,
                                                const engine::Request& request) {
  if (!allows_kind(access, request)) co_return engine::Denied::kScope;
  if (!access.limited()) co_return std::nullopt;
  const Named named = named_by(request);
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
      if (!access.allows_queue(schedule.spec.queue.view())) co_return engine::Denied::kQueue;
    }
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
    std::erase_if(schedules->schedules,
                  [&](const core::Schedule& schedule) { return closed(schedule.spec.queue); });
  } else if (auto* queues = reply_in<core::QueueReply>(answer)) {
    std::erase_if(queues->queues, [&](const core::Queue& queue) { return closed(queue.name); });
  } else if (auto* workers = std::get_if<engine::WorkersReply>(&answer)) {
    for (engine::WorkerView& worker : workers->workers) hide_from(access, worker);
  }
}

}  // namespace millrace::service
