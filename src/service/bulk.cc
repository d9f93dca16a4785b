#include "service/bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "engine/shard/outbox.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

using api::ProblemCode;
using core::RefusalDetail;

constexpr std::uint64_t kMaxBulkJobs = 100'000;  // per call by filter
constexpr std::chrono::milliseconds kSelectBudget{5'000};
constexpr std::chrono::milliseconds kCountBudget{1'000};
constexpr std::uint64_t kCountedPerRound = 10'000;
constexpr std::size_t kMostWords = 1'000;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

const std::vector<api::JobState> kAnyButRunning = {
    api::JobState::kScheduled, api::JobState::kReady,     api::JobState::kRetrying,
    api::JobState::kBlocked,   api::JobState::kSucceeded, api::JobState::kDead,
    api::JobState::kCancelled, api::JobState::kExpired};

// `states`: the states by which the ids were selected, which may have changed since.
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

// The filter in words, for the audit.
std::string words_of(const api::JobFilter& filter) {
  std::string words;
  const auto add = [&words](std::string_view name, std::string_view value) {
    if (!value.empty()) words += fmt::format("{}{}:{}", words.empty() ? "" : " ", name, value);
  };
  add("queue", filter.queue);
  add("type", filter.type);
  add("tag", filter.tag);
  for (const api::JobState state : filter.states) add("state", api::name_of(state));
  if (filter.created_after)
    add("created", fmt::format(">={}", format_rfc3339(*filter.created_after)));
  if (filter.created_before)
    add("created", fmt::format("<{}", format_rfc3339(*filter.created_before)));
  for (const api::QueryTerm& term : filter.query.terms) {
    std::string any;
    for (const api::QueryValue& value : term.any_of) {
      any += fmt::format("{}{}{}", any.empty() ? "" : ",", value.text, value.wildcard ? "*" : "");
    }
    words += fmt::format("{}{}{}{}{}{}", words.empty() ? "" : " ", term.negated ? "-" : "",
                         api::name_of(term.field), term.path.empty() ? "" : "." + term.path,
                         api::text_of(term.op), any);
  }
  if (words.size() > kMostWords) {
    words.resize(words.rfind(' ', kMostWords) == std::string::npos ? 0
                                                                   : words.rfind(' ', kMostWords));
    words += " ...";
  }
  return words;
}

// How many of these ids there are, for a dry run.
Task<Answered<api::BulkOutcome>> count_ids(Caller& caller, const std::vector<JobId>& ids) {
  auto fresh = co_await await_projection(caller);
  if (!fresh) co_return refused(fresh);
  auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(ids); };
  auto jobs = co_await caller.read(Lane::kLookups, read);
  if (!jobs) co_return refused(jobs);
  api::BulkOutcome outcome;
  outcome.matched = std::ranges::count_if(
      *jobs, [&](const core::Job& job) { return caller.allows_queue(job.queue.view()); });
  co_return outcome;
}

Task<Answered<api::BulkOutcome>> bulk_ids(Caller& caller, const api::Bulk& bulk) {
  const std::vector<Visibility> reach = co_await visibility_of(caller, bulk.ids);
  std::vector<JobId> ids;
  for (std::size_t i = 0; i < bulk.ids.size(); ++i) {
    if (reach[i].open) ids.push_back(bulk.ids[i]);
  }
  const std::size_t asked = ids.size();
  Answered<core::ItemsReply> reply;
  if (asked > 0) {
    engine::Request command = command_for(bulk, std::move(ids), {});
    reply = co_await caller.ask_for<core::ItemsReply>(std::move(command));
  }
  if (!reply) co_return refused(reply);
  if (reply->items.size() != asked) co_return refused(other_number_of_jobs());
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
      // A deleted job has no state; the result gives its last one.
      if (item.state) result.state = state_name(item.state);
    }
    if (refusal) result.refused = to_problem(refusal);
    outcome.matched += refusal.why == core::Rejection::kNotFound ? 0 : 1;
    (refusal ? outcome.failed : outcome.changed) += 1;
    outcome.results->push_back(std::move(result));
  }
  co_return outcome;
}

// Runs `command` (made of ids) on all jobs that match, up to `most`.
template <typename MakeCommand>
Task<Answered<api::BulkOutcome>> for_all(Caller& caller, const engine::JobFilter& filter,
                                         std::uint64_t most, const MakeCommand& make_command) {
  auto fresh = co_await await_projection(caller);
  if (!fresh) co_return refused(fresh);
  api::BulkOutcome outcome;
  engine::JobCursor after;
  std::uint64_t selected = 0;
  while (true) {
    const auto limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(core::kMaxItemsPerCommand, most - selected));
    auto select = [&](const std::stop_token&) {
      return caller.services.reads.select_ids(filter, after, limit, kSelectBudget);
    };
    auto page = co_await caller.read(Lane::kSearches, select);
    if (!page) co_return refused(page);
    selected += page->ids.size();
    outcome.matched += static_cast<std::int64_t>(page->ids.size());
    if (!page->ids.empty()) {
      engine::Request command = make_command(std::move(page->ids));
      auto reply = co_await caller.ask_for<core::ItemsReply>(std::move(command));
      if (!reply) co_return refused(reply);
      for (const core::ItemReply& item : reply->items) {
        (item.refusal ? outcome.failed : outcome.changed) += 1;
      }
    }
    outcome.more = page->next.has_value();
    if (!page->next || selected >= most) co_return outcome;
    after = std::move(*page->next);
  }
}

// How many jobs match, up to one more than a call by filter may take. In one go if that is quick,
// otherwise page by page, like for_all().
Task<Answered<api::BulkOutcome>> count_filter(Caller& caller, const engine::JobFilter& filter) {
  auto fresh = co_await await_projection(caller);
  if (!fresh) co_return refused(fresh);
  std::optional<std::uint64_t> counted;  // none: not in that time
  auto count = [&](const std::stop_token& gone) {
    const engine::ReadBudget budget(kCountBudget, gone);
    const Result<std::uint64_t> number =
        caller.services.reads.count(filter, kMaxBulkJobs + 1, budget);
    if (number) counted = *number;
    return number.has_value();
  };
  auto done = co_await caller.read(Lane::kSearches, count, Caller::Patience::kWait);
  if (!done) co_return refused(done);
  std::uint64_t matched = counted.value_or(0);
  engine::JobCursor after;
  bool all = counted.has_value();
  while (!all && matched <= kMaxBulkJobs) {
    const auto limit = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kCountedPerRound, kMaxBulkJobs + 1 - matched));
    auto select = [&](const std::stop_token& gone) {
      const engine::ReadBudget budget(kSelectBudget, gone);
      return caller.services.reads.select_ids(filter, after, limit, budget);
    };
    auto page = co_await caller.read(Lane::kSearches, select, Caller::Patience::kWait);
    if (!page) co_return refused(page);
    matched += page->ids.size();
    all = !page->next;
    if (!all) after = std::move(*page->next);
  }
  api::BulkOutcome outcome;
  outcome.more = matched > kMaxBulkJobs;
  outcome.matched = static_cast<std::int64_t>(std::min(matched, kMaxBulkJobs));
  co_return outcome;
}

core::OperationAction to_core(api::BulkAction action) {
  switch (action) {
    case api::BulkAction::kRetry:
      return core::OperationAction::kRetry;
    case api::BulkAction::kCancel:
      return core::OperationAction::kCancel;
    case api::BulkAction::kDelete:
      return core::OperationAction::kDelete;
    case api::BulkAction::kReprioritize:
      break;
  }
  return core::OperationAction::kReprioritize;
}

// The filter in the search language.
std::string text_of(const api::JobFilter& filter) {
  std::string text;
  const auto add = [&](std::string_view word, std::string_view value) {
    if (value.empty()) return;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", word, value);
  };
  std::string states;
  for (const api::JobState state : filter.states) {
    states += fmt::format("{}{}", states.empty() ? "" : ",", api::name_of(state));
  }
  add("state:", states);
  add("queue:", filter.queue);
  add("type:", filter.type);
  add("tag:", filter.tag);
  if (filter.created_after) add("created>=", format_rfc3339(*filter.created_after));
  if (filter.created_before) add("created<", format_rfc3339(*filter.created_before));
  add("", filter.query_text);
  return text;
}

// Jobs that acks submitted to other shards are in transit, and filters must not change them.
engine::Condition of_users() {
  engine::Condition condition;
  condition.field = engine::JobField::kQueue;
  condition.negated = true;
  condition.values = {std::string(engine::kOutboxQueue)};
  return condition;
}

Task<Answered<BulkAnswer>> begin(Caller& caller, const api::Bulk& bulk,
                                 const engine::JobFilter& filter) {
  OperationSpec spec;
  spec.kind = core::OperationKind::kBulk;
  spec.action = to_core(bulk.action);
  spec.priority = bulk.priority.value_or(0);
  spec.filter = filter;
  spec.query = text_of(*bulk.filter);
  spec.queue = bulk.filter->queue;
  if (bulk.rate_per_s) spec.rate_per_s = static_cast<std::uint32_t>(*bulk.rate_per_s);
  auto begun = co_await start_operation(caller, spec);
  if (!begun) co_return refused(begun);
  co_return BulkAnswer{{}, std::move(*begun)};
}

Task<Answered<BulkAnswer>> bulk_filter(Caller& caller, const api::Bulk& bulk) {
  auto filter = to_engine(*bulk.filter, caller.access.get());
  if (!filter) co_return refused(filter);
  filter->conditions.push_back(of_users());
  if (bulk.operation || bulk.rate_per_s) {
    auto begun = co_await begin(caller, bulk, *filter);
    co_return begun;
  }
  auto counted = co_await count_filter(caller, *filter);
  if (!counted) co_return refused(counted);
  if (bulk.dry_run) co_return BulkAnswer{std::move(*counted), {}};
  if (counted->more) {
    auto begun = co_await begin(caller, bulk, *filter);
    co_return begun;
  }
  const core::StateSet states = states_of(*filter);
  const auto make_command = [&](std::vector<JobId> ids) -> engine::Request {
    return command_for(bulk, std::move(ids), states);
  };
  auto outcome = co_await for_all(caller, *filter, kMaxBulkJobs, make_command);
  if (!outcome) co_return refused(outcome);
  co_return BulkAnswer{std::move(*outcome), {}};
}

// The queue as known to its shard; refused if it does not exist.
Task<Answered<core::Queue>> known_queue(Caller& caller, std::string_view name) {
  auto admitted = admits_queue(caller, name);
  if (!admitted) co_return refused(admitted);
  core::GetQueues get{SharedBytes(name)};
  auto reply = co_await caller.ask(std::move(get));
  if (!reply) co_return refused(reply);
  if (reply->refusal || reply->queues.empty()) {
    co_return refused(to_problem({core::Rejection::kNotFound, {}, {}}, "queue"));
  }
  co_return std::move(reply->queues.front());
}

// How many jobs the queue has in these states.
std::uint64_t jobs_in(const core::Queue& queue, const std::vector<api::JobState>& states) {
  std::uint64_t jobs = 0;
  for (const api::JobState state : states) {
    jobs += queue.counts[static_cast<std::size_t>(state)];
  }
  return jobs;
}

Task<Answered<OperationAnswer>> begin_purge(Caller& caller, const core::Queue& queue,
                                            const std::vector<api::JobState>& states,
                                            bool deletes_queue) {
  OperationSpec spec;
  spec.kind = core::OperationKind::kPurge;
  spec.action = core::OperationAction::kDelete;
  spec.filter = jobs_of_queue(queue.name.view(), states);
  api::JobFilter shown;
  shown.states = states;
  shown.queue = queue.name.view();
  spec.query = text_of(shown);
  spec.queue = shown.queue;
  spec.deletes_queue = deletes_queue;
  spec.matched = jobs_in(queue, states);
  auto begun = co_await start_operation(caller, spec);
  co_return begun;
}

// Deletes the jobs in these states, and records their number in the log of events.
Task<Answered<std::int64_t>> purge(Caller& caller, const SharedBytes& queue,
                                   const std::vector<api::JobState>& states) {
  const engine::JobFilter filter = jobs_of_queue(queue.view(), states);
  const core::StateSet set = states_of(filter);
  const auto make_command = [set](std::vector<JobId> ids) -> engine::Request {
    return core::Delete{std::move(ids), core::DeleteCause::kPurge, set};
  };
  auto outcome = co_await for_all(caller, filter, kAll, make_command);
  if (!outcome) co_return refused(outcome);
  core::NotePurge note{queue, static_cast<std::uint64_t>(outcome->changed)};
  auto noted = co_await caller.ask(std::move(note));
  if (!noted) co_return refused(noted);
  co_return outcome->changed;
}

api::Problem still_has_jobs(const core::Queue& queue, QueueEnd end) {
  const auto running = queue.counts[static_cast<std::size_t>(core::State::kRunning)];
  if (end == QueueEnd::kIfEmpty)
    return to_problem({core::Rejection::kInvalidState, {}, RefusalDetail::kQueueHasJobs});
  return api::make_problem(
      ProblemCode::kInvalidState,
      running > 0
          ? fmt::format(
                "the queue still has running jobs ({}); cancel them, or pause the queue and wait",
                running)
          : "a client submitted jobs during the deletion; stop the clients, then delete the queue "
            "again");
}

}  // namespace

Task<Answered<BulkAnswer>> bulk_jobs(Caller& caller, const api::Bulk& bulk) {
  constexpr std::array<std::string_view, 4> kActions = {"job.retried", "job.cancelled",
                                                        "job.deleted", "job.edited"};
  caller.about = about(kActions.at(static_cast<std::size_t>(bulk.action)), "jobs",
                       bulk.filter ? words_of(*bulk.filter) : std::string());
  if (bulk.filter) {
    auto answer = co_await bulk_filter(caller, bulk);
    co_return answer;
  }
  Answered<api::BulkOutcome> outcome;
  if (bulk.dry_run) {
    outcome = co_await count_ids(caller, bulk.ids);
  } else {
    outcome = co_await bulk_ids(caller, bulk);
  }
  if (!outcome) co_return refused(outcome);
  co_return BulkAnswer{std::move(*outcome), {}};
}

Task<Answered<PurgeAnswer>> purge_queue(Caller& caller, std::string_view queue,
                                        const api::Purge& wanted) {
  caller.about = about("queue.purged", "queue", queue);
  auto known = co_await known_queue(caller, queue);
  if (!known) co_return refused(known);
  if (wanted.operation || jobs_in(*known, wanted.states) > kMaxBulkJobs) {
    auto begun = co_await begin_purge(caller, *known, wanted.states, false);
    if (!begun) co_return refused(begun);
    co_return PurgeAnswer{0, std::move(*begun)};
  }
  auto deleted = co_await purge(caller, known->name, wanted.states);
  if (!deleted) co_return refused(deleted);
  co_return PurgeAnswer{*deleted, {}};
}

Task<Answered<std::optional<OperationAnswer>>> delete_queue(Caller& caller, std::string_view name,
                                                            QueueEnd end) {
  caller.about = about("queue.deleted", "queue", name);
  auto queue = co_await known_queue(caller, name);
  if (!queue) co_return refused(queue);
  core::DeleteQueue deletion{queue->name};
  auto reply = co_await caller.ask(deletion);
  const auto has_jobs = [&] {
    return reply && reply->refusal.detail == RefusalDetail::kQueueHasJobs;
  };
  if (has_jobs() && end == QueueEnd::kWithJobs) {
    constexpr auto kRunning = static_cast<std::size_t>(core::State::kRunning);
    // In that case no job is deleted.
    if (queue->counts[kRunning] > 0) co_return refused(still_has_jobs(*queue, end));
    if (jobs_in(*queue, kAnyButRunning) > kMaxBulkJobs) {
      auto begun = co_await begin_purge(caller, *queue, kAnyButRunning, true);
      if (!begun) co_return refused(begun);
      co_return std::optional(std::move(*begun));
    }
    auto deleted = co_await purge(caller, queue->name, kAnyButRunning);
    if (!deleted) co_return refused(deleted);
    reply = co_await caller.ask(deletion);
  }
  if (!reply) co_return refused(reply);
  if (has_jobs()) co_return refused(still_has_jobs(*queue, end));
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "queue"));
  co_return std::optional<OperationAnswer>();
}

}  // namespace millrace::service
