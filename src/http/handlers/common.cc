#include "http/handlers/common.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "api/text.h"
#include "engine/worker_name.h"
#include "http/convert.h"

namespace millrace::http {

using api::ProblemCode;

std::optional<JobId> path_id(Call& call) {
  const std::optional<JobId> id = parse_job_id(call.parameter());
  if (!id) call.refuse(ProblemCode::kNotFound, "there is no such job");
  return id;
}

namespace {

api::Problem tables_unreadable() {
  return api::make_problem(ProblemCode::kStorageUnavailable, "the tables can't be read now");
}

}  // namespace

void refuse_reads(Call& call, const Error& error) {
  call.note = error.message;
  call.refuse(tables_unreadable());
}

namespace {

bool needs_tables(const core::JobReply& memory, const api::Include& include) {
  if (memory.job == nullptr) return !memory.deleted;
  const core::Job& job = memory.job->job;
  return include.attempts || include.logs || include.events ||
         (include.payload && job.payload.empty()) ||
         (include.result && job.result.empty() && job.state == core::State::kSucceeded);
}

void refuse_absent(Call& call) { call.refuse(ProblemCode::kNotFound, "there is no such job"); }

// The job that memory answered with, or else the tables of those shards have; null: neither knows
// it. None: the call is answered, for they can't be read.
Task<std::optional<SharedJobView>> look_up(Call& call, JobId id, const core::JobReply& memory,
                                           api::Include include, engine::Lookup lookup) {
  if (!needs_tables(memory, include)) co_return memory.job;
  const engine::History history = include.logs ? engine::History::kWhole
                                  : include.attempts || include.events
                                      ? engine::History::kWithoutLogs
                                      : engine::History::kNone;
  auto read = [&](const std::stop_token&) {
    return call.services.reads.job(id, memory, history, lookup);
  };
  const Lane lane = history == engine::History::kWhole ? Lane::kSearches : Lane::kLookups;
  auto found = co_await call.read(lane, read);
  if (!found) co_return std::nullopt;
  if (!*found) {
    refuse_reads(call, found->error());
    co_return std::nullopt;
  }
  std::optional<core::JobView>& view = **found;
  if (!view) co_return SharedJobView();
  co_return std::make_shared<const core::JobView>(std::move(*view));
}

// Also where the node that was asked knows the token otherwise: another time it may not.
api::Problem problem_of_silence(const engine::Answer& answer) {
  const auto* why = std::get_if<engine::Unavailable>(&answer);
  return problem_of(why != nullptr ? *why : engine::Unavailable::kNoLeader);
}

// Asks the memory of the jobs' shards, or of all, of those at `places` of `ids`. Gives the places
// of those that it does not know.
Task<std::vector<std::size_t>> look_in_memory(Call& call, const std::vector<JobId>& ids,
                                              const std::vector<std::size_t>& places,
                                              engine::Lookup lookup, std::vector<Reach>& reach) {
  std::vector<engine::Request> requests;
  requests.reserve(places.size());
  for (const std::size_t place : places) {
    if (lookup == engine::Lookup::kItsShard) {
      requests.emplace_back(core::GetJob{ids[place]});
    } else {
      requests.emplace_back(engine::FindJob{ids[place]});
    }
  }
  std::vector<engine::Answer> answers = co_await call.ask_all(std::move(requests));
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Reach& found = reach[places[i]];
    const auto* reply = reply_in<core::JobReply>(answers[i]);
    if (reply == nullptr) {
      // The node that leads its shard says that it is out of reach.
      const auto* denied = std::get_if<engine::Denied>(&answers[i]);
      const bool closed = denied != nullptr && *denied == engine::Denied::kQueue;
      if (!closed) found.unknown = problem_of_silence(answers[i]);
    } else if (reply->job != nullptr) {
      found.open = call.allows_queue(reply->job->job.queue.view());
    } else if (!reply->deleted) {
      unknown.push_back(places[i]);
    }
  }
  co_return unknown;
}

}  // namespace

Task<SharedJobView> find_job(Call& call, JobId id, const core::JobReply& memory,
                             api::Include include) {
  auto found = co_await look_up(call, id, memory, include, engine::Lookup::kItsShard);
  if (found && *found == nullptr && call.services.shards() > 1) {
    engine::Answer answer = co_await call.ask(engine::FindJob{id});
    const auto* elsewhere = reply_in<core::JobReply>(answer);
    if (elsewhere == nullptr) {
      call.refuse(answer);
      co_return nullptr;
    }
    found = co_await look_up(call, id, *elsewhere, include, engine::Lookup::kOtherShards);
  }
  if (!found) co_return nullptr;
  if (*found == nullptr || !call.allows_queue((*found)->job.queue.view())) {
    refuse_absent(call);
    co_return nullptr;
  }
  co_return std::move(*found);
}

Task<SharedJobView> find_job(Call& call, JobId id, api::Include include) {
  engine::Answer answer = co_await call.ask(core::GetJob{id});
  auto* reply = reply_in<core::JobReply>(answer);
  if (reply == nullptr) {
    call.refuse(answer);
    co_return nullptr;
  }
  auto view = co_await find_job(call, id, *reply, include);
  co_return view;
}

Task<std::vector<Reach>> reach_of(Call& call, const std::vector<JobId>& ids) {
  std::vector<Reach> reach(ids.size());
  if (!call.limited()) {
    for (Reach& one : reach) one.open = true;
    co_return reach;
  }
  std::vector<std::size_t> all(ids.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  auto places = co_await look_in_memory(call, ids, all, engine::Lookup::kItsShard, reach);
  if (!places.empty() && call.services.shards() > 1) {
    const std::vector<std::size_t> elsewhere = std::move(places);
    places = co_await look_in_memory(call, ids, elsewhere, engine::Lookup::kOtherShards, reach);
  }
  if (places.empty()) co_return reach;
  std::vector<JobId> unknown;
  for (const std::size_t place : places) unknown.push_back(ids[place]);
  auto read = [&](const std::stop_token&) { return call.services.reads.fetch(unknown); };
  const auto done = co_await call.read(Lane::kLookups, read);
  if (!done) call.response.clear();  // each job is answered for itself
  if (done && !*done) call.note = done->error().message;
  for (const std::size_t place : places) {
    if (!done || !*done) {
      reach[place].unknown = tables_unreadable();
      continue;
    }
    const std::vector<core::Job>& jobs = **done;
    const auto found = std::ranges::find(jobs, ids[place], &core::Job::id);
    reach[place].open = found != jobs.end() && call.allows_queue(found->queue.view());
  }
  co_return reach;
}

Task<bool> admits_job(Call& call, JobId id) {
  if (!call.limited()) co_return true;
  const std::vector<JobId> ids(1, id);
  const std::vector<Reach> reach = co_await reach_of(call, ids);
  if (reach.front().unknown) {
    call.refuse(*reach.front().unknown);
  } else if (!reach.front().open) {
    refuse_absent(call);
  }
  co_return reach.front().open;
}

Task<void> refresh_statistics(Call& call) {
  const Time now = call.now();
  if (!call.services.statistics.is_stale(now)) co_return;
  auto refresh = [&](const std::stop_token&) {
    call.services.statistics.refresh(now);
    return true;
  };
  const auto done = co_await call.read(Lane::kLookups, refresh);
  if (!done) call.response.clear();  // those of a moment ago will do
}

bool take_if_match(Call& call, std::optional<std::uint64_t>& version) {
  const Field* field = call.head->find("if-match");
  if (field == nullptr) return true;
  version = accepted(call, api::decode_if_match(field->value));
  return version.has_value();
}

SharedBytes worker_name(const Call& call, std::string_view id) {
  return engine::worker_name(id, call.limited() ? call.access->id() : std::string_view());
}

bool admits_queue(Call& call) {
  if (api::is_name(call.parameter()) && call.allows_queue(call.parameter())) return true;
  call.refuse(ProblemCode::kNotFound, "there is no such queue");
  return false;
}

void answer_job(Call& call, const core::JobView& view, const api::Include& include) {
  const JobShape shape(view, include);
  JsonWriter json(call.response.body);
  api::encode(json, shape.job());
  call.response.version = view.job.version;
}

Task<void> answer_item(Call& call, const core::ItemReply& reply, api::Include include) {
  if (reply.refusal) {
    call.refuse(to_problem(reply.refusal));
    co_return;
  }
  // The pruned form is for jobs that ended and are kept nowhere.
  const core::JobReply memory{reply.job, reply.deleted};
  auto view = co_await find_job(call, reply.id, memory, include);
  if (view != nullptr) {
    answer_job(call, *view, include);
  } else if (call.response.status == 404) {
    call.response.clear();
    JsonWriter json(call.response.body);
    api::encode_pruned_job(json, reply.id);
  }
}

Task<bool> await_projection(Call& call) {
  engine::Answer answer = co_await call.ask(engine::AwaitProjection{});
  if (std::holds_alternative<std::monostate>(answer)) co_return true;
  const auto* why = std::get_if<engine::Unavailable>(&answer);
  if (why != nullptr && *why == engine::Unavailable::kStorage) {
    call.refuse(ProblemCode::kStorageUnavailable,
                "the tables do not hold yet what was acknowledged; come back later");
  } else {
    call.refuse(answer);
  }
  co_return false;
}

}  // namespace millrace::http
