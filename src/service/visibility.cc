#include "service/visibility.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "api/text.h"
#include "engine/shard/worker_name.h"
#include "service/convert.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

bool needs_tables(const core::JobReply& memory, const api::Include& include) {
  if (memory.job == nullptr) return !memory.deleted;
  const core::Job& job = memory.job->job;
  return include.attempts || include.logs || include.events ||
         (include.payload && job.payload.empty()) ||
         (include.result && job.result.empty() && job.state == core::State::kSucceeded);
}

api::Problem no_such_job() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such job");
}

// The job from memory's answer or from the tables of those shards; null: neither has it.
Task<Answered<SharedJobView>> look_up(Caller& caller, JobId id, const core::JobReply& memory,
                                      api::Include include, engine::Lookup lookup) {
  if (!needs_tables(memory, include)) co_return memory.job;
  const engine::History history = include.logs ? engine::History::kWhole
                                  : include.attempts || include.events
                                      ? engine::History::kWithoutLogs
                                      : engine::History::kNone;
  auto read = [&](const std::stop_token&) {
    return caller.services.reads.job(id, memory, history, lookup);
  };
  const Lane lane = history == engine::History::kWhole ? Lane::kSearches : Lane::kLookups;
  auto found = co_await caller.read(lane, read);
  if (!found) co_return refused(found);
  if (!*found) co_return SharedJobView();
  co_return std::make_shared<const core::JobView>(std::move(**found));
}

// Also applies if the node that was asked has other tokens: this may change.
api::Problem problem_of_silence(const engine::Answer& answer) {
  const auto* why = std::get_if<engine::Unavailable>(&answer);
  return problem_of(why != nullptr ? *why : engine::Unavailable::kNoLeader);
}

// Asks the memory of the jobs' shards, or of all shards, about the ids at `places`. Returns the
// places of unknown jobs.
Task<std::vector<std::size_t>> look_in_memory(Caller& caller, const std::vector<JobId>& ids,
                                              const std::vector<std::size_t>& places,
                                              engine::Lookup lookup,
                                              std::vector<Visibility>& reach) {
  std::vector<engine::Request> requests;
  requests.reserve(places.size());
  for (const std::size_t place : places) {
    if (lookup == engine::Lookup::kItsShard) {
      requests.emplace_back(core::GetJob{ids[place]});
    } else {
      requests.emplace_back(engine::FindJob{ids[place]});
    }
  }
  std::vector<engine::Answer> answers = co_await caller.answers_to(std::move(requests));
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Visibility& found = reach[places[i]];
    const auto* reply = reply_in<core::JobReply>(answers[i]);
    if (reply == nullptr) {
      // The leader of its shard says that it is out of reach.
      const auto* denied = std::get_if<engine::Denied>(&answers[i]);
      const bool closed = denied != nullptr && *denied == engine::Denied::kQueue;
      if (!closed) found.unknown = problem_of_silence(answers[i]);
    } else if (reply->job != nullptr) {
      found.open = caller.allows_queue(reply->job->job.queue.view());
    } else if (!reply->deleted) {
      unknown.push_back(places[i]);
    }
  }
  co_return unknown;
}

}  // namespace

Task<Answered<SharedJobView>> find_job(Caller& caller, JobId id, const core::JobReply& memory,
                                       api::Include include) {
  auto found = co_await look_up(caller, id, memory, include, engine::Lookup::kItsShard);
  if (found && *found == nullptr && caller.services.shards() > 1) {
    const auto elsewhere = co_await caller.ask(engine::FindJob{id});
    if (!elsewhere) co_return std::unexpected(elsewhere.error());
    found = co_await look_up(caller, id, *elsewhere, include, engine::Lookup::kOtherShards);
  }
  if (!found) co_return refused(found);
  if (*found == nullptr || !caller.allows_queue((*found)->job.queue.view())) {
    co_return refused(no_such_job());
  }
  co_return std::move(*found);
}

Task<Answered<SharedJobView>> find_job(Caller& caller, JobId id, api::Include include) {
  auto reply = co_await caller.ask(core::GetJob{id});
  if (!reply) co_return refused(reply);
  auto view = co_await find_job(caller, id, *reply, include);
  co_return view;
}

Task<Answered<JobAnswer>> job_of(Caller& caller, const core::ItemReply& reply,
                                 api::Include include) {
  if (reply.refusal) co_return refused(to_problem(reply.refusal));
  // The pruned form is only for jobs that ended and are not kept.
  const core::JobReply memory{reply.job, reply.deleted};
  auto view = co_await find_job(caller, reply.id, memory, include);
  if (view) co_return JobAnswer{reply.id, std::move(*view)};
  if (view.error().code == ProblemCode::kNotFound) co_return JobAnswer{reply.id, nullptr};
  co_return refused(view);
}

Task<std::vector<Visibility>> visibility_of(Caller& caller, const std::vector<JobId>& ids) {
  std::vector<Visibility> reach(ids.size());
  if (!caller.limited()) {
    for (Visibility& one : reach) one.open = true;
    co_return reach;
  }
  std::vector<std::size_t> all(ids.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto places = co_await look_in_memory(caller, ids, all, engine::Lookup::kItsShard, reach);
  if (places.empty()) co_return reach;
  std::vector<std::size_t> nowhere = places;
  if (caller.services.shards() > 1) {
    nowhere = co_await look_in_memory(caller, ids, places, engine::Lookup::kOtherShards, reach);
  }
  // Includes jobs that another shard knows: a client may give a job the id of another client's job
  // on another shard, which only the tables have, and a command would then affect that job.
  std::vector<JobId> unknown;
  for (const std::size_t place : places) unknown.push_back(ids[place]);
  auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(unknown); };
  const auto jobs = co_await caller.read(Lane::kLookups, read);
  for (const std::size_t place : places) {
    if (!jobs) {
      reach[place].open = false;
      reach[place].unknown = tables_unreadable();
      continue;
    }
    bool known = !std::ranges::binary_search(nowhere, place) && reach[place].open;
    bool closed = !std::ranges::binary_search(nowhere, place) && !reach[place].open;
    for (const core::Job& job : *jobs) {
      if (job.id != ids[place]) continue;
      known = true;
      closed = closed || !caller.allows_queue(job.queue.view());
    }
    reach[place].open = known && !closed;
  }
  co_return reach;
}

Task<Answered<>> admits_job(Caller& caller, JobId id) {
  if (!caller.limited()) co_return Answered<>();
  const std::vector<JobId> ids(1, id);
  std::vector<Visibility> reach = co_await visibility_of(caller, ids);
  if (reach.front().unknown) co_return refused(std::move(*reach.front().unknown));
  if (!reach.front().open) co_return refused(no_such_job());
  co_return Answered<>();
}

Answered<> admits_queue(const Caller& caller, std::string_view queue) {
  if (api::is_name(queue) && caller.allows_queue(queue)) return {};
  return refused(ProblemCode::kNotFound, "there is no such queue");
}

Answered<> admits_to_all_queues(const Caller& caller) {
  if (!caller.limited()) return {};
  return refused(ProblemCode::kForbidden,
                 "the request concerns all queues; use a token that is not limited to queues");
}

namespace {

template <typename Opener>
bool opens_schedule(const Opener& opener, const core::ScheduleSpec& spec) {
  return opener.allows_queue(spec.queue.view()) &&
         std::ranges::all_of(spec.queues, [&](const SharedBytes& queue) {
           return opener.allows_queue(queue.view());
         });
}

}  // namespace

bool allows_schedule(const Access& access, const core::ScheduleSpec& spec) {
  return opens_schedule(access, spec);
}
bool allows_schedule(const Caller& caller, const core::ScheduleSpec& spec) {
  return opens_schedule(caller, spec);
}

api::Problem no_queue_for_token() {
  return api::make_problem(ProblemCode::kNotFound, "the token reaches no such queue");
}

SharedBytes worker_name(const Caller& caller, std::string_view id) {
  return engine::worker_name(id, caller.limited() ? caller.access->id() : std::string_view());
}

Task<Answered<>> await_projection(Caller& caller) {
  const engine::Answer answer = co_await caller.answer_to(engine::AwaitProjection{});
  if (std::holds_alternative<std::monostate>(answer)) co_return Answered<>();
  const auto* why = std::get_if<engine::Unavailable>(&answer);
  if (why != nullptr && *why == engine::Unavailable::kStorage) {
    co_return refused(ProblemCode::kStorageUnavailable,
                      "the tables lag behind the journal; try again later");
  }
  co_return refused(caller.problem_of(answer));
}

Task<void> refresh_statistics(Caller& caller) {
  const Time now = caller.now();
  if (!caller.services.models.is_stale(now)) co_return;
  auto refresh = [&](const std::stop_token&) {
    caller.services.models.refresh(now);
    return true;
  };
  // If the read fails, the previous statistics will do.
  co_await caller.read(Lane::kLookups, refresh);
}

}  // namespace millrace::service
