#include "service/leases.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "digest/fingerprint.h"
#include "engine/routing/scatter_gather.h"
#include "engine/schedules/planner.h"
#include "engine/whole_claim.h"
#include "service/convert.h"
#include "service/growth.h"
#include "service/workflow_draft.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

// Claim answers of at least this size are counted before they are written.
constexpr std::size_t kLargeAnswerBytes = 64 * 1024;

api::Problem lease_lost() { return to_problem({core::Rejection::kLeaseLost, {}, {}}); }

template <typename T>
void add_ids(std::vector<JobId>& ids, const std::vector<api::Item<T>>& items) {
  for (const api::Item<T>& item : items) ids.push_back(item.value.id);
}

// Refuses items with faults, and those for jobs of queues that the token does not allow, as if the
// jobs did not exist. `reach`: the visibility of each item's job.
template <typename T>
ItemAnswers admitted_items(const std::vector<api::Item<T>>& items,
                           std::span<const Visibility> reach) {
  ItemAnswers made;
  made.refused.reserve(items.size());
  made.ids.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::optional<api::Problem> refused = items[i].fault;
    if (!refused) refused = reach[i].unknown;
    if (!refused && !reach[i].open) refused = lease_lost();
    made.refused.push_back(std::move(refused));
    made.ids.push_back(items[i].value.id);
  }
  return made;
}

// A workflow of an ack.
Answered<core::CreateWorkflow> draft_of(Time now, const api::EnqueuedWorkflow& item) {
  auto admitted = admits_id(item.workflow);
  if (!admitted) return refused(admitted);
  return draft_for_later(item.workflow, now, api::kMaxEnqueuedWorkflowBytes,
                         "/enqueue/" + std::to_string(item.place) + "/workflow");
}

// Jobs and workflows in acks are submissions, and need the same rights.
std::optional<api::Problem> refusal_of_enqueued(const Caller& caller, const api::Ack& ack) {
  if (ack.enqueue.empty() && ack.workflows.empty()) return std::nullopt;
  if (caller.access != nullptr && !caller.access->allows(api::Scope::kSubmit)) {
    return api::make_problem(ProblemCode::kForbidden,
                             "`enqueue` needs a token with the scope submit");
  }
  for (const api::JobSubmission& job : ack.enqueue) {
    if (!caller.allows_queue(job.queue)) return no_queue_for_token();
  }
  for (const api::EnqueuedWorkflow& enqueued : ack.workflows) {
    if (!allows_workflow(caller, enqueued.workflow)) return no_queue_for_token();
    auto draft = draft_of(caller.now(), enqueued);
    if (!draft) return std::move(draft.error());
  }
  return std::nullopt;
}

// refusal_of_enqueued() has found no fault in it.
core::AckItem item_of(Caller& caller, const api::Ack& ack, SpecMaker& specs) {
  core::AckItem item = to_core(ack, specs);
  for (const api::EnqueuedWorkflow& enqueued : ack.workflows) {
    auto create = draft_of(caller.now(), enqueued);
    MILLRACE_CHECK(create.has_value());
    create->content = fingerprint("workflow of an ack", engine::template_of(*create).view());
    const api::NewWorkflow& workflow = enqueued.workflow;
    create->id = workflow.id ? *workflow.id : caller.ids.make(caller.now(), workflow.queue);
    create->id_of_client = true;
    item.workflows.push_back(std::move(*create));
  }
  return item;
}

ItemAnswers sieve_acks(const Caller& caller, const std::vector<api::Item<api::Ack>>& items,
                       std::span<const Visibility> reach) {
  ItemAnswers sieved = admitted_items(items, reach);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!sieved.refused[i]) sieved.refused[i] = refusal_of_enqueued(caller, items[i].value);
  }
  return sieved;
}

// The items that were not refused, as one command.
template <typename Command, typename T, typename Convert>
Command command_of(const std::vector<api::Item<T>>& items, const ItemAnswers& sieved,
                   const Convert& convert) {
  Command command;
  command.items.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!sieved.refused[i]) command.items.push_back(convert(items[i].value));
  }
  return command;
}

// Refuses items whose growth the token may not submit.
Task<core::Ack> acks_of(Caller& caller, const std::vector<api::Item<api::Ack>>& items,
                        ItemAnswers& sieved) {
  SpecMaker specs(caller.ids, caller.now());
  core::Ack command;
  command.items.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (sieved.refused[i]) continue;
    const api::Ack& ack = items[i].value;
    std::shared_ptr<const core::Growth> growth;
    if (ack.grow) {
      auto made = co_await growth_of(caller, ack);
      if (!made) {
        sieved.refused[i] = std::move(made.error());
        continue;
      }
      growth = std::move(*made);
    }
    command.items.push_back(item_of(caller, ack, specs));
    command.items.back().grow = std::move(growth);
  }
  co_return command;
}

core::Heartbeat heartbeats_of(const std::vector<api::Item<api::Heartbeat>>& items,
                              const ItemAnswers& sieved) {
  return command_of<core::Heartbeat>(
      items, sieved, [](const api::Heartbeat& heartbeat) { return to_core(heartbeat); });
}

core::AppendLogs logs_of(const std::vector<api::Item<api::LogItem>>& items,
                         const ItemAnswers& sieved) {
  return command_of<core::AppendLogs>(items, sieved,
                                      [](const api::LogItem& log) { return to_core(log); });
}

Answered<> admits_claim(const Caller& caller, const api::Claim& claim) {
  const bool admitted = std::ranges::all_of(
      claim.queues, [&](const std::string& queue) { return caller.allows_queue(queue); });
  if (!admitted) return refused(no_queue_for_token());
  return {};
}

api::Problem crowded() {
  return api::make_problem(
      ProblemCode::kOverloaded,
      "the server is sending too many large answers, and gave the jobs back; claim again later");
}

// Reads the payloads that memory has dropped.
Task<Answered<>> read_payloads(Caller& caller, core::ClaimReply& claim) {
  const Steady begun = caller.services.clock.steady();
  auto read = [&](const std::stop_token&) { return caller.services.reads.complete(claim); };
  auto done = co_await caller.read(Lane::kClaims, read);
  if (!done && done.error().code == ProblemCode::kOverloaded) co_return refused(crowded());
  if (!done) co_return refused(done);
  const auto took = caller.services.clock.steady() - begun;
  const bool late = std::ranges::any_of(claim.jobs, [&](const core::ClaimReply::Item& item) {
    return took * 2 > item.job.lease_given;
  });
  if (late) {
    co_return refused(ProblemCode::kOverloaded,
                      "the server could not read the payloads in time, and gave the jobs back; "
                      "claim again later");
  }
  co_return Answered<>();
}

// Prepares a claim for sending, or gives its jobs back and returns the reason.
Task<Answered<>> complete_claim(Caller& caller, core::ClaimReply& claim) {
  if (claim.jobs.empty()) co_return Answered<>();
  Answered<> complete;
  if (!engine::is_whole(claim)) complete = co_await read_payloads(caller, claim);
  const std::size_t bytes = payload_bytes(claim);
  if (complete && caller.client_gone()) complete = refused(crowded());
  if (complete && bytes > kLargeAnswerBytes && !caller.hold_answer(bytes)) {
    complete = refused(crowded());
  }
  if (complete) co_return complete;
  core::Command command(engine::releases_of(claim));
  claim.jobs.clear();
  co_await caller.answer_to(std::move(command));
  co_return complete;
}

// Sends one batch command, unless it is empty.
template <typename Command>
Task<Answered<core::ItemsReply>> ask_items(Caller& caller, Command& command) {
  if (command.items.empty()) co_return core::ItemsReply{};
  auto reply = co_await caller.ask(std::move(command));
  co_return reply;
}

template <typename Command>
Task<Answered<core::ItemReply>> ask_one(Caller& caller, JobId id, Command& command) {
  auto admitted = co_await admits_job(caller, id);
  if (!admitted) co_return refused(admitted);
  command.detail = core::Detail::kJobs;
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->items.size() != 1) co_return refused(other_number_of_jobs());
  co_return std::move(reply->items.front());
}

// Waits until the job is to be cancelled, or its lease is over (false); updates `item` accordingly.
// The heartbeat is valid in any case: a stopping shard ends all waits.
Task<bool> still_holds(Caller& caller, core::ItemReply& item, const api::Heartbeat& heartbeat) {
  if (item.refusal || item.cancel_requested || item.job == nullptr) co_return true;
  engine::WatchJob watch{item.id, heartbeat.wait, item.job->job.queue, heartbeat.token};
  engine::Answer answer = co_await caller.answer_to(std::move(watch), Caller::Patience::kWait);
  auto* later = reply_in<core::JobReply>(answer);
  if (later == nullptr) co_return true;
  if (later->job == nullptr || later->job->job.token != heartbeat.token) co_return false;
  item.job = later->job;
  co_return true;
}

}  // namespace

// To a worker, a missing job is a job that it does not hold.
api::Problem ItemAnswers::problem_of(const core::ItemReply& item) {
  return item.refusal.why == core::Rejection::kNotFound ? lease_lost() : to_problem(item.refusal);
}

std::size_t payload_bytes(const core::ClaimReply& claim) {
  std::size_t bytes = 0;
  for (const core::ClaimReply::Item& item : claim.jobs) bytes += item.job.payload.size();
  return bytes;
}

Task<Answered<Claimed>> claim(Caller& caller, const api::Claim& claim) {
  auto admitted = admits_claim(caller, claim);
  if (!admitted) co_return refused(admitted);
  engine::WaitingClaim waiting{to_core(claim), claim.wait, to_engine(claim.worker)};
  waiting.worker.id = waiting.claim.worker = worker_name(caller, claim.worker.id);
  auto reply = co_await caller.ask(std::move(waiting), Caller::Patience::kWait);
  if (!reply) co_return refused(reply);
  auto complete = co_await complete_claim(caller, *reply);
  if (!complete) co_return refused(complete);
  Claimed claimed{std::move(*reply)};
  co_await read_parents(caller, claimed);
  co_return claimed;
}

Task<Answered<ItemAnswers>> heartbeat(Caller& caller,
                                      const std::vector<api::Item<api::Heartbeat>>& items) {
  std::vector<JobId> ids;
  add_ids(ids, items);
  const std::vector<Visibility> reach = co_await visibility_of(caller, ids);
  ItemAnswers answers = admitted_items(items, reach);
  core::Heartbeat command = heartbeats_of(items, answers);
  auto reply = co_await ask_items(caller, command);
  if (!reply) co_return refused(reply);
  answers.reply = std::move(*reply);
  co_return answers;
}

Task<Answered<ItemAnswers>> ack(Caller& caller, const std::vector<api::Item<api::Ack>>& items) {
  std::vector<JobId> ids;
  add_ids(ids, items);
  const std::vector<Visibility> reach = co_await visibility_of(caller, ids);
  ItemAnswers answers = sieve_acks(caller, items, reach);
  core::Ack command = co_await acks_of(caller, items, answers);
  auto reply = co_await ask_items(caller, command);
  if (!reply) co_return refused(reply);
  answers.reply = std::move(*reply);
  co_return answers;
}

Task<Answered<PollAnswer>> poll(Caller& caller, std::string_view worker, const api::Poll& body) {
  if (body.claim) {
    auto admitted = admits_claim(caller, *body.claim);
    if (!admitted) co_return refused(admitted);
  }
  std::vector<JobId> ids;
  add_ids(ids, body.acks);
  add_ids(ids, body.heartbeats);
  add_ids(ids, body.logs);
  const std::vector<Visibility> reach = co_await visibility_of(caller, ids);
  std::span<const Visibility> left = reach;
  PollAnswer answer;
  answer.acks = sieve_acks(caller, body.acks, left);
  left = left.subspan(body.acks.size());
  answer.heartbeats = admitted_items(body.heartbeats, left);
  left = left.subspan(body.heartbeats.size());
  answer.logs = admitted_items(body.logs, left);

  engine::Poll poll;
  poll.acks = co_await acks_of(caller, body.acks, answer.acks);
  poll.heartbeats = heartbeats_of(body.heartbeats, answer.heartbeats);
  poll.logs = logs_of(body.logs, answer.logs);
  if (body.claim) {
    poll.claim = to_core(*body.claim);
    poll.wait = body.claim->wait;
    poll.worker = to_engine(body.claim->worker);
  }
  poll.goodbye = body.goodbye;
  poll.worker.id = worker_name(caller, worker);
  if (poll.claim) poll.claim->worker = poll.worker.id;
  auto reply = co_await caller.ask(std::move(poll), Caller::Patience::kWait);
  if (!reply) co_return refused(reply);
  // Acknowledgements are answered whether or not jobs can be handed out.
  co_await complete_claim(caller, reply->claim);
  answer.acks.reply = std::move(reply->acks);
  answer.heartbeats.reply = std::move(reply->heartbeats);
  answer.logs.reply = std::move(reply->logs);
  answer.claimed.claim = std::move(reply->claim);
  co_await read_parents(caller, answer.claimed);
  answer.commands = std::move(reply->commands);
  co_return answer;
}

Task<Answered<JobAnswer>> finish_job(Caller& caller, const api::Ack& ack, api::Include include) {
  if (auto refusal = refusal_of_enqueued(caller, ack)) co_return refused(std::move(*refusal));
  auto growth = co_await growth_of(caller, ack);
  if (!growth) co_return refused(growth);
  SpecMaker specs(caller.ids, caller.now());
  core::Ack command;
  command.items.push_back(item_of(caller, ack, specs));
  command.items.back().grow = std::move(*growth);
  auto item = co_await ask_one(caller, ack.id, command);
  if (!item) co_return refused(item);
  auto job = co_await job_of(caller, *item, include);
  co_return job;
}

Task<Answered<JobAnswer>> heartbeat_job(Caller& caller, const api::Heartbeat& heartbeat,
                                        api::Include include) {
  core::Heartbeat command;
  command.items.push_back(to_core(heartbeat));
  auto item = co_await ask_one(caller, heartbeat.id, command);
  if (!item) co_return refused(item);
  if (heartbeat.wait > Duration{0}) {
    const bool holds = co_await still_holds(caller, *item, heartbeat);
    if (!holds) co_return refused(lease_lost());
  }
  auto job = co_await job_of(caller, *item, include);
  co_return job;
}

}  // namespace millrace::service
