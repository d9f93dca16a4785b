// Calls that touch many jobs: bulk, and the purge of a queue. By ids: one command. By filter: ids
// are selected from the tables a thousand at a time, once those hold all that was acknowledged
// before.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "http/convert.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using api::ProblemCode;
using core::RefusalDetail;

constexpr std::uint64_t kMaxBulkJobs = 100'000;  // of one call by filter
constexpr std::chrono::milliseconds kSelectBudget{5'000};
constexpr std::chrono::milliseconds kCountBudget{1'000};
constexpr std::uint64_t kCountedPerRound = 10'000;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

const std::vector<api::JobState> kAnyButRunning = {
    api::JobState::kScheduled, api::JobState::kReady,     api::JobState::kRetrying,
    api::JobState::kBlocked,   api::JobState::kSucceeded, api::JobState::kDead,
    api::JobState::kCancelled, api::JobState::kExpired};

// `states`: what the ids were selected by, which may have changed since.
engine::Request command_for(const api::Bulk& bulk, std::vector<JobId> ids, core::StateSet states) {
  switch (bulk.action) {
    case api::BulkAction::kRetry:
      return core::Retry{std::move(ids), std::nullopt, true, states};
    case api::BulkAction::kCancel:
      return core::Cancel{std::move(ids), {}, states};
    case api::BulkAction::kDelete:
      return core::Delete{std::move(ids), core::DeleteCause::kOperator, states};
    case api::BulkAction::kReprioritize:
      break;
  }
  core::Edit edit;
  edit.ids = std::move(ids);
  edit.priority = bulk.priority;
  edit.states = states;
  return edit;
}

void answer_outcome(Call& call, const api::BulkOutcome& outcome) {
  JsonWriter json(call.response.body);
  api::encode(json, outcome, call.request_id);
}

// How many of these ids there are, for a dry run.
Task<void> count_ids(Call& call, const std::vector<JobId>& ids) {
  const bool fresh = co_await await_projection(call);
  if (!fresh) co_return;
  auto read = [&](const std::stop_token&) { return call.services.reads.fetch(ids); };
  const auto jobs = co_await call.read(Lane::kLookups, read);
  if (!jobs) co_return;
  if (!*jobs) {
    refuse_reads(call, jobs->error());
    co_return;
  }
  api::BulkOutcome outcome;
  for (const core::Job& job : **jobs)
    outcome.matched += call.allows_queue(job.queue.view()) ? 1 : 0;
  answer_outcome(call, outcome);
}

Task<void> bulk_ids(Call& call, const api::Bulk& bulk) {
  const std::vector<Reach> reach = co_await reach_of(call, bulk.ids);
  std::vector<JobId> ids;
  for (std::size_t i = 0; i < bulk.ids.size(); ++i) {
    if (reach[i].open) ids.push_back(bulk.ids[i]);
  }
  const std::size_t asked = ids.size();
  core::ItemsReply none;
  core::ItemsReply* reply = &none;
  engine::Answer answer;
  if (asked > 0) {
    engine::Request command = command_for(bulk, std::move(ids), {});
    answer = co_await call.ask(std::move(command));
    reply = reply_in<core::ItemsReply>(answer);
  }
  if (reply == nullptr) {
    call.refuse(answer);
    co_return;
  }
  if (reply->items.size() != asked) {
    call.refuse(ProblemCode::kInternal, "the shard answered for another number of jobs");
    co_return;
  }
  api::BulkOutcome outcome;
  outcome.results.emplace();
  std::size_t next = 0;
  for (std::size_t i = 0; i < bulk.ids.size(); ++i) {
    api::BulkOutcome::Result result;
    result.id = bulk.ids[i];
    if (reach[i].unknown) {
      result.refused = reach[i].unknown;
      ++outcome.matched;
      ++outcome.failed;
      outcome.results->push_back(std::move(result));
      continue;
    }
    core::Refusal refusal{core::Rejection::kNotFound, {}, {}};
    if (reach[i].open) {
      const core::ItemReply& item = reply->items[next++];
      refusal = item.refusal;
      // A job that is deleted has no state; it is told by the one it had.
      if (item.state) result.state = api::name_of(to_api(*item.state));
    }
    if (refusal) result.refused = to_problem(refusal);
    outcome.matched += refusal.why == core::Rejection::kNotFound ? 0 : 1;
    (refusal ? outcome.failed : outcome.changed) += 1;
    outcome.results->push_back(std::move(result));
  }
  answer_outcome(call, outcome);
}

// Runs `command` (made of ids) over all jobs that match, up to `most`. False: the call is answered.
template <typename MakeCommand>
Task<bool> for_all(Call& call, const engine::JobFilter& filter, std::uint64_t most,
                   const MakeCommand& make_command, api::BulkOutcome& outcome) {
  const bool fresh = co_await await_projection(call);
  if (!fresh) co_return false;
  engine::JobCursor after;
  std::uint64_t selected = 0;
  while (true) {
    const auto limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(core::kMaxItemsPerCommand, most - selected));
    auto select = [&](const std::stop_token&) {
      return call.services.reads.select_ids(filter, after, limit, kSelectBudget);
    };
    auto done = co_await call.read(Lane::kSearches, select);
    if (!done) co_return false;
    Result<engine::IdPage>& page = *done;
    if (!page) {
      refuse_reads(call, page.error());
      co_return false;
    }
    selected += page->ids.size();
    outcome.matched += static_cast<std::int64_t>(page->ids.size());
    if (!page->ids.empty()) {
      engine::Request command = make_command(std::move(page->ids));
      engine::Answer answer = co_await call.ask(std::move(command));
      const auto* reply = reply_in<core::ItemsReply>(answer);
      if (reply == nullptr) {
        call.refuse(answer);
        co_return false;
      }
      for (const core::ItemReply& item : reply->items) {
        (item.refusal ? outcome.failed : outcome.changed) += 1;
      }
    }
    outcome.more = page->next.has_value();
    if (!page->next || selected >= most) co_return true;
    after = std::move(*page->next);
  }
}

// How many jobs match, up to one more than a call by filter takes. In one go where that is quick,
// else round by round, as for_all() does.
Task<void> count_filter(Call& call, const engine::JobFilter& filter) {
  const bool fresh = co_await await_projection(call);
  if (!fresh) co_return;
  auto count = [&](const std::stop_token& gone) {
    const engine::ReadBudget budget(kCountBudget, gone);
    return call.services.reads.count(filter, kMaxBulkJobs + 1, budget);
  };
  const auto done = co_await call.read(Lane::kSearches, count, Call::Patience::kWait);
  if (!done) co_return;
  const Result<std::uint64_t>& counted = *done;
  std::uint64_t matched = counted.value_or(0);
  engine::JobCursor after;
  bool all = counted.has_value();
  while (!all && matched <= kMaxBulkJobs) {
    const auto limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kCountedPerRound, kMaxBulkJobs + 1 - matched));
    auto select = [&](const std::stop_token& gone) {
      const engine::ReadBudget budget(kSelectBudget, gone);
      return call.services.reads.select_ids(filter, after, limit, budget);
    };
    auto round = co_await call.read(Lane::kSearches, select, Call::Patience::kWait);
    if (!round) co_return;
    Result<engine::IdPage>& page = *round;
    if (!page) {
      refuse_reads(call, page.error());
      co_return;
    }
    matched += page->ids.size();
    all = !page->next;
    if (!all) after = std::move(*page->next);
  }
  api::BulkOutcome outcome;
  outcome.more = matched > kMaxBulkJobs;
  outcome.matched = static_cast<std::int64_t>(std::min(matched, kMaxBulkJobs));
  answer_outcome(call, outcome);
}

Task<void> bulk_filter(Call& call, const api::Bulk& bulk) {
  const auto filter = accepted(call, to_engine(*bulk.filter, call.access));
  if (!filter) co_return;
  if (bulk.dry_run) {
    co_await count_filter(call, *filter);
    co_return;
  }
  api::BulkOutcome outcome;
  const core::StateSet states = states_of(*filter);
  const auto make_command = [&](std::vector<JobId> ids) -> engine::Request {
    return command_for(bulk, std::move(ids), states);
  };
  const bool done = co_await for_all(call, *filter, kMaxBulkJobs, make_command, outcome);
  if (done) answer_outcome(call, outcome);
}

// The path's queue as the shard knows it. Null: the call is answered, with 404 where there is none.
Task<std::optional<core::Queue>> known_queue(Call& call) {
  core::Command get = core::GetQueues{SharedBytes(call.parameter())};
  engine::Answer answer = co_await call.ask(std::move(get));
  auto* reply = reply_in<core::QueueReply>(answer);
  if (reply == nullptr) {
    call.refuse(answer);
  } else if (reply->refusal || reply->queues.empty()) {
    call.refuse(to_problem({core::Rejection::kNotFound, {}, {}}, "queue"));
  } else {
    co_return std::move(reply->queues.front());
  }
  co_return std::nullopt;
}

// Deletes the path's queue's jobs in these states, and notes how many they were. None: the call is
// answered.
Task<std::optional<std::int64_t>> purge(Call& call, const std::vector<api::JobState>& states) {
  const SharedBytes queue(call.parameter());
  const engine::JobFilter filter = jobs_of_queue(queue.view(), states);
  const core::StateSet set = states_of(filter);
  const auto make_command = [set](std::vector<JobId> ids) -> engine::Request {
    return core::Delete{std::move(ids), core::DeleteCause::kPurge, set};
  };
  api::BulkOutcome outcome;
  const bool done = co_await for_all(call, filter, kAll, make_command, outcome);
  if (!done) co_return std::nullopt;
  core::NotePurge note{queue, static_cast<std::uint64_t>(outcome.changed)};
  const engine::Answer noted = co_await call.ask(std::move(note));
  if (!std::holds_alternative<core::Reply>(noted)) {
    call.refuse(noted);
    co_return std::nullopt;
  }
  co_return outcome.changed;
}

api::Problem still_has_jobs(const core::Queue& queue, bool force) {
  const auto running = queue.counts[static_cast<std::size_t>(core::State::kRunning)];
  if (!force) return to_problem({core::Rejection::kInvalidState, {}, RefusalDetail::kQueueHasJobs});
  return api::make_problem(
      ProblemCode::kInvalidState,
      running > 0
          ? fmt::format("{} of its jobs run: cancel them, or pause the queue and wait", running)
          : "jobs came meanwhile: stop those who submit, and delete the queue again");
}

}  // namespace

Task<void> bulk_jobs(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto bulk = accepted(call, api::decode_bulk(call.body, call.services.limits));
  if (!bulk) co_return;
  if (bulk->filter) {
    co_await bulk_filter(call, *bulk);
  } else if (bulk->dry_run) {
    co_await count_ids(call, bulk->ids);
  } else {
    co_await bulk_ids(call, *bulk);
  }
}

Task<void> purge_queue(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto wanted = accepted(call, api::decode_purge(call.body, call.services.limits));
  if (!wanted) co_return;
  if (!admits_queue(call)) co_return;
  const auto queue = co_await known_queue(call);
  if (!queue) co_return;
  const auto deleted = co_await purge(call, wanted->states);
  if (!deleted) co_return;
  JsonWriter json(call.response.body);
  api::encode_purged(json, *deleted);
}

Task<void> delete_queue(Call& call) {
  const auto query = accepted(call, api::decode_delete_queue_query(call.query()));
  if (!query) co_return;
  if (!admits_queue(call)) co_return;
  auto queue = co_await known_queue(call);
  if (!queue) co_return;
  const auto deletion = [&] { return core::Command(core::DeleteQueue{queue->name}); };
  engine::Answer answer = co_await call.ask(deletion());
  const auto has_jobs = [&] {
    const auto* reply = reply_in<core::QueueReply>(answer);
    return reply != nullptr && reply->refusal.detail == RefusalDetail::kQueueHasJobs;
  };
  if (has_jobs() && query->force) {
    constexpr auto kRunning = static_cast<std::size_t>(core::State::kRunning);
    if (queue->counts[kRunning] > 0) {
      call.refuse(still_has_jobs(*queue, true));  // and none is deleted
      co_return;
    }
    const auto deleted = co_await purge(call, kAnyButRunning);
    if (!deleted) co_return;
    answer = co_await call.ask(deletion());
  }
  const auto* reply = reply_in<core::QueueReply>(answer);
  if (reply == nullptr) {
    call.refuse(answer);
  } else if (has_jobs()) {
    call.refuse(still_has_jobs(*queue, query->force));
  } else if (reply->refusal) {
    call.refuse(to_problem(reply->refusal, "queue"));
  } else {
    call.no_content();
  }
}

}  // namespace millrace::http
