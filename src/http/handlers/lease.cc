// The workers' calls: claim, heartbeat, ack, poll, and the single forms for curl.
#include <algorithm>
#include <span>
#include <utility>

#include "api/worker.h"
#include "api/worker_reply.h"
#include "engine/split.h"
#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

// A claim's answer from here on is counted before it is written.
constexpr std::size_t kLargeAnswerBytes = 64 * 1024;
// What a job takes in an answer beside its payload, about.
constexpr std::size_t kJobEnvelopeBytes = 1'024;

// The items of a batch that go to the shard, and why the others do not.
struct Sieve {
  std::vector<std::optional<api::Problem>> refused;  // per item of the request
  std::vector<JobId> ids;
};

api::Problem lease_lost() { return to_problem({core::Rejection::kLeaseLost, {}, {}}); }

template <typename T>
void add_ids(std::vector<JobId>& ids, const std::vector<api::Item<T>>& items) {
  for (const api::Item<T>& item : items) ids.push_back(item.value.id);
}

// Items with faults are refused, and those for jobs of queues that the token does not open: to it
// they are not there. `reach`: of the items' jobs, one for each.
template <typename T>
Sieve sieve(const std::vector<api::Item<T>>& items, std::span<const Reach> reach) {
  Sieve made;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::optional<api::Problem> refused = items[i].fault;
    if (!refused) refused = reach[i].unknown;
    if (!refused && !reach[i].open) refused = lease_lost();
    made.refused.push_back(std::move(refused));
    made.ids.push_back(items[i].value.id);
  }
  return made;
}

// The id as a refused entry shows it: absent where the item named none.
std::optional<JobId> shown_id(const JobId& id) {
  return id == JobId{} ? std::nullopt : std::optional(id);
}

enum class Entry : std::uint8_t { kState, kLease };

// Puts the shard's answers and the refusals together, in the order of the request.
void encode_entries(Call& call, JsonWriter& json, const Sieve& sieved,
                    const core::ItemsReply& reply, Entry entry) {
  json.begin_array();
  std::size_t next = 0;
  for (std::size_t i = 0; i < sieved.refused.size(); ++i) {
    std::optional<api::Problem> problem = sieved.refused[i];
    const core::ItemReply* item = problem ? nullptr : &reply.items[next++];
    if (item != nullptr && item->refusal) {
      problem = to_problem(item->refusal.why == core::Rejection::kNotFound
                               ? core::Refusal{core::Rejection::kLeaseLost, {}, {}}
                               : item->refusal);
    }
    if (problem) {
      api::encode_refused_result(json, shown_id(sieved.ids[i]), *problem, call.request_id);
    } else if (entry == Entry::kLease) {
      api::encode_heartbeat_result(json, item->id, item->lease_expires_at.value_or(Time{}),
                                   item->cancel_requested);
    } else {
      const std::string_view state =
          item->state ? api::name_of(to_api(*item->state)) : std::string_view("pruned");
      api::encode_job_result(json, 200, item->id, state);
    }
  }
  json.end_array();
}

void answer_results(Call& call, const Sieve& sieved, const core::ItemsReply& reply, Entry entry) {
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("results");
  encode_entries(call, json, sieved, reply, entry);
  json.end_object();
}

api::Problem no_such_queue() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such queue for this token");
}

// Jobs that come with acks are submitted, and to queues.
std::optional<api::Problem> refusal_of_enqueued(const Call& call, const api::Ack& ack) {
  if (ack.enqueue.empty()) return std::nullopt;
  if (call.access != nullptr && !call.access->allows(api::Scope::kSubmit)) {
    return api::make_problem(ProblemCode::kForbidden,
                             "the token lacks the scope submit, which `enqueue` needs");
  }
  for (const api::JobSubmission& job : ack.enqueue) {
    if (!call.allows_queue(job.queue)) return no_such_queue();
  }
  return std::nullopt;
}

Sieve sieve_acks(const Call& call, const std::vector<api::Item<api::Ack>>& items,
                 std::span<const Reach> reach) {
  Sieve sieved = sieve(items, reach);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!sieved.refused[i]) sieved.refused[i] = refusal_of_enqueued(call, items[i].value);
  }
  return sieved;
}

core::Ack acks_of(Call& call, const std::vector<api::Item<api::Ack>>& items, const Sieve& sieved) {
  core::Ack acks;
  acks.items.reserve(items.size());
  SpecMaker specs(call.ids, call.now());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!sieved.refused[i]) acks.items.push_back(to_core(items[i].value, specs));
  }
  return acks;
}

core::Heartbeat heartbeats_of(const std::vector<api::Item<api::Heartbeat>>& items,
                              const Sieve& sieved) {
  core::Heartbeat heartbeats;
  heartbeats.items.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!sieved.refused[i]) heartbeats.items.push_back(to_core(items[i].value));
  }
  return heartbeats;
}

core::AppendLogs logs_of(const std::vector<api::Item<api::LogItem>>& items, const Sieve& sieved) {
  core::AppendLogs logs;
  logs.items.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!sieved.refused[i]) logs.items.push_back(to_core(items[i].value));
  }
  return logs;
}

// False: a queue is out of the token's reach, and the call is answered.
bool admits_claim(Call& call, const api::Claim& claim) {
  for (const std::string& queue : claim.queues) {
    if (call.allows_queue(queue)) continue;
    call.refuse(no_such_queue());
    return false;
  }
  return true;
}

// Why the jobs of a claim can't be handed out.
enum class Undone : std::uint8_t {
  kNot,        // they can
  kUnread,     // the tables can't be read
  kTooLate,    // reading took half of a lease, or more
  kCrowded,    // too much is on its way to clients that do not read
  kNobodyHere  // the client has gone
};

// The payloads that memory has let go of. None: the tables gave them.
Task<Undone> read_payloads(Call& call, core::ClaimReply& claim) {
  const Steady begun = call.services.clock.steady();
  auto read = [&](const std::stop_token&) { return call.services.reads.complete(claim); };
  const auto done = co_await call.read(Lane::kClaims, read);
  if (!done) co_return Undone::kCrowded;
  if (!*done) {
    call.note = done->error().message;
    co_return Undone::kUnread;
  }
  const auto took = call.services.clock.steady() - begun;
  const bool late = std::ranges::any_of(claim.jobs, [&](const core::ClaimReply::Item& item) {
    return took * 2 > item.job.lease_given;
  });
  co_return late ? Undone::kTooLate : Undone::kNot;
}

// Makes a claim ready to be sent: reads what memory has let go of, and takes room for the answer.
// Jobs that can't be sent, or only with little of their lease left, are given back at once, and no
// attempt is counted; then none are left.
Task<Undone> complete_claim(Call& call, core::ClaimReply& claim) {
  if (claim.jobs.empty()) co_return Undone::kNot;
  const bool whole = std::ranges::none_of(
      claim.jobs, [](const core::ClaimReply::Item& item) { return item.job.payload.empty(); });
  Undone undone = Undone::kNot;
  if (!whole) undone = co_await read_payloads(call, claim);
  std::size_t bytes = 0;
  for (const core::ClaimReply::Item& item : claim.jobs) bytes += item.job.payload.size();
  const bool large = bytes > kLargeAnswerBytes;
  if (undone == Undone::kNot && call.client_gone()) undone = Undone::kNobodyHere;
  if (undone == Undone::kNot && large && !call.hold_answer(bytes)) undone = Undone::kCrowded;
  if (undone == Undone::kNot) {
    if (large) call.response.body.reserve(bytes + claim.jobs.size() * kJobEnvelopeBytes);
    co_return undone;
  }
  core::Command command(engine::releases_of(claim));
  claim.jobs.clear();
  co_await call.ask(std::move(command));
  co_return undone;
}

void refuse_claim(Call& call, Undone undone) {
  switch (undone) {
    case Undone::kUnread:
      return call.refuse(ProblemCode::kStorageUnavailable, "the tables can't be read now");
    case Undone::kTooLate:
      return call.refuse(ProblemCode::kOverloaded,
                         "the jobs' payloads took too long to read; the jobs were given back");
    default:
      return call.refuse(ProblemCode::kOverloaded,
                         "too many large answers are on their way; the jobs were given back");
  }
}

std::vector<api::ClaimedJob> claimed_jobs(const core::ClaimReply& reply) {
  std::vector<api::ClaimedJob> jobs;
  jobs.reserve(reply.jobs.size());
  for (const core::ClaimReply::Item& item : reply.jobs) jobs.push_back(claimed(item.job));
  return jobs;
}

// Sends one batch command; null: the call is answered.
template <typename Command>
Task<std::optional<core::ItemsReply>> ask_items(Call& call, Command& command) {
  if (command.items.empty()) co_return core::ItemsReply{};
  engine::Answer answer = co_await call.ask(std::move(command));
  auto* reply = reply_in<core::ItemsReply>(answer);
  if (reply != nullptr) co_return std::move(*reply);
  call.refuse(answer);
  co_return std::nullopt;
}

api::Decoded<api::Ack> decode_single(const Call& call, const JobId& id) {
  const api::DecodeLimits& limits = call.services.limits;
  switch (call.route_id()) {
    case api::RouteId::kFailJob:
      return api::decode_fail(call.body, id, limits);
    case api::RouteId::kSnoozeJob:
      return api::decode_snooze(call.body, id, limits);
    case api::RouteId::kReleaseJob:
      return api::decode_release(call.body, id, limits);
    default:
      return api::decode_complete(call.body, id, limits);
  }
}

// Waits until the job is to be cancelled, or its lease is over (false); `item` then has the job as
// it is. The heartbeat stands whatever comes of that: a shard that stops lets nobody wait.
Task<bool> still_holds(Call& call, core::ItemReply& item, const api::Heartbeat& heartbeat) {
  if (item.refusal || item.cancel_requested || item.job == nullptr) co_return true;
  engine::WatchJob watch{item.id, heartbeat.wait, item.job->job.queue, heartbeat.token};
  engine::Answer answer = co_await call.ask(std::move(watch), Call::Patience::kWait);
  auto* later = reply_in<core::JobReply>(answer);
  if (later == nullptr) co_return true;
  if (later->job == nullptr || later->job->job.token != heartbeat.token) co_return false;
  item.job = later->job;
  co_return true;
}

// The answer to a single form.
template <typename Command>
Task<void> answer_single(Call& call, Command& command, JobId id, api::Include include) {
  const bool admitted = co_await admits_job(call, id);
  if (!admitted) co_return;
  auto reply = co_await ask_items(call, command);
  if (reply && reply->items.size() == 1) {
    co_await answer_item(call, reply->items.front(), include);
  }
}

}  // namespace

Task<void> claim(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto claim = accepted(call, api::decode_claim(call.body, call.services.limits));
  if (!claim || !admits_claim(call, *claim)) co_return;
  engine::WaitingClaim waiting{to_core(*claim), claim->wait, to_engine(claim->worker)};
  waiting.worker.id = waiting.claim.worker = worker_name(call, claim->worker.id);
  engine::Answer answer = co_await call.ask(std::move(waiting), Call::Patience::kWait);
  auto* reply = reply_in<core::ClaimReply>(answer);
  if (reply == nullptr) {
    call.refuse(answer);
    co_return;
  }
  const Undone undone = co_await complete_claim(call, *reply);
  if (undone != Undone::kNot) {
    refuse_claim(call, undone);
    co_return;
  }
  JsonWriter json(call.response.body);
  api::encode_claim_reply(json, claimed_jobs(*reply));
}

Task<void> heartbeat(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto items = accepted(call, api::decode_heartbeats(call.body, call.services.limits));
  if (!items) co_return;
  std::vector<JobId> ids;
  add_ids(ids, *items);
  const std::vector<Reach> reach = co_await reach_of(call, ids);
  const Sieve sieved = sieve(*items, reach);
  core::Heartbeat command = heartbeats_of(*items, sieved);
  const auto reply = co_await ask_items(call, command);
  if (reply) answer_results(call, sieved, *reply, Entry::kLease);
}

Task<void> ack(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto items = accepted(call, api::decode_acks(call.body, call.services.limits));
  if (!items) co_return;
  std::vector<JobId> ids;
  add_ids(ids, *items);
  const std::vector<Reach> reach = co_await reach_of(call, ids);
  const Sieve sieved = sieve_acks(call, *items, reach);
  core::Ack command = acks_of(call, *items, sieved);
  const auto reply = co_await ask_items(call, command);
  if (reply) answer_results(call, sieved, *reply, Entry::kState);
}

Task<void> poll(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const std::string& worker = call.parameter();
  if (!api::is_worker_id(worker)) {
    call.refuse(ProblemCode::kNotFound, "there is no such worker");
    co_return;
  }
  auto body = accepted(call, api::decode_poll(call.body, worker, call.services.limits));
  if (!body || (body->claim && !admits_claim(call, *body->claim))) co_return;
  std::vector<JobId> ids;
  add_ids(ids, body->acks);
  add_ids(ids, body->heartbeats);
  add_ids(ids, body->logs);
  const std::vector<Reach> reach = co_await reach_of(call, ids);
  std::span<const Reach> left = reach;
  const Sieve acks = sieve_acks(call, body->acks, left);
  left = left.subspan(body->acks.size());
  const Sieve heartbeats = sieve(body->heartbeats, left);
  left = left.subspan(body->heartbeats.size());
  const Sieve logs = sieve(body->logs, left);

  engine::Poll poll;
  poll.acks = acks_of(call, body->acks, acks);
  poll.heartbeats = heartbeats_of(body->heartbeats, heartbeats);
  poll.logs = logs_of(body->logs, logs);
  if (body->claim) {
    poll.claim = to_core(*body->claim);
    poll.wait = body->claim->wait;
    poll.worker = to_engine(body->claim->worker);
  }
  poll.goodbye = body->goodbye;
  poll.worker.id = worker_name(call, worker);
  if (poll.claim) poll.claim->worker = poll.worker.id;
  engine::Answer answer = co_await call.ask(std::move(poll), Call::Patience::kWait);
  auto* reply = std::get_if<engine::PollReply>(&answer);
  if (reply == nullptr) {
    call.refuse(answer);
    co_return;
  }
  // What was acknowledged is answered whether or not the jobs can be handed out.
  const Undone undone = co_await complete_claim(call, reply->claim);
  if (undone != Undone::kNot) call.response.clear();
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("acks");
  encode_entries(call, json, acks, reply->acks, Entry::kState);
  json.key("heartbeats");
  encode_entries(call, json, heartbeats, reply->heartbeats, Entry::kLease);
  json.key("logs");
  encode_entries(call, json, logs, reply->logs, Entry::kState);
  json.key("jobs");
  json.begin_array();
  for (const core::ClaimReply::Item& item : reply->claim.jobs) {
    api::encode(json, claimed(item.job));
  }
  json.end_array();
  json.key("commands");
  json.begin_array();
  for (const engine::WorkerOrder& order : reply->orders) api::encode(json, to_api(order));
  json.end_array();
  json.end_object();
}

Task<void> finish_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  const auto ack = accepted(call, decode_single(call, *id));
  if (!ack) co_return;
  if (const auto refusal = refusal_of_enqueued(call, *ack)) {
    call.refuse(*refusal);
    co_return;
  }
  SpecMaker specs(call.ids, call.now());
  core::Ack command;
  command.items.push_back(to_core(*ack, specs));
  command.detail = core::Detail::kJobs;
  co_await answer_single(call, command, *id, *include);
}

Task<void> heartbeat_job(Call& call) {
  const auto id = path_id(call);
  if (!id) co_return;
  const auto include = accepted(call, api::decode_include_query(call.query()));
  if (!include) co_return;
  const auto heartbeat =
      accepted(call, api::decode_heartbeat(call.body, *id, call.services.limits));
  if (!heartbeat) co_return;
  core::Heartbeat command;
  command.items.push_back(to_core(*heartbeat));
  command.detail = core::Detail::kJobs;
  if (heartbeat->wait <= Duration{0}) {
    co_await answer_single(call, command, *id, *include);
    co_return;
  }
  const bool admitted = co_await admits_job(call, *id);
  if (!admitted) co_return;
  auto reply = co_await ask_items(call, command);
  if (!reply || reply->items.size() != 1) co_return;
  core::ItemReply item = std::move(reply->items.front());
  const bool holds = co_await still_holds(call, item, *heartbeat);
  if (!holds) {
    call.refuse(lease_lost());
    co_return;
  }
  co_await answer_item(call, item, *include);
}

}  // namespace millrace::http
