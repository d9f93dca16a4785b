#include "store/sqlite/search.h"

#include <algorithm>
#include <limits>
#include <set>

#include "store/job_filter_facts.h"
#include "store/job_match.h"
#include "store/page_budget.h"

namespace millrace::store {
namespace {

using core::Comparison;
using core::Condition;
using core::JobField;

constexpr const char* kSelectJob = "SELECT " MILLRACE_JOB_COLUMNS " FROM jobs WHERE ord = ?1";
constexpr const char* kSelectNewest = "SELECT ifnull(max(ord), 0) FROM jobs";
constexpr const char* kSelectCreated =
    "SELECT ord, created_at FROM jobs WHERE ord <= ?1 ORDER BY ord DESC LIMIT 1";
// The streams.
constexpr const char* kById =
    "SELECT ord FROM jobs WHERE id = ?3 AND ord BETWEEN ?1 AND ?2 ORDER BY ord DESC";
constexpr const char* kByWorkflow =
    "SELECT ord FROM jobs WHERE workflow = ?3 AND ord BETWEEN ?1 AND ?2 ORDER BY ord DESC";
constexpr const char* kByQueue =
    "SELECT ord FROM jobs WHERE queue = ?3 AND state = ?4 AND ord BETWEEN ?1 AND ?2 "
    "ORDER BY ord DESC";
constexpr const char* kByState =
    "SELECT ord FROM jobs WHERE state = ?3 AND state <> 5 AND ord BETWEEN ?1 AND ?2 "
    "ORDER BY ord DESC";
constexpr const char* kAll = "SELECT ord FROM jobs WHERE ord BETWEEN ?1 AND ?2 ORDER BY ord DESC";

// More streams than this are no better than reading every job.
constexpr std::size_t kMaxStreams = 64;
// The clock is read once for this many jobs.
constexpr std::uint32_t kJobsALook = 64;

}  // namespace

Search::Search(Database& database, JobRowReader& rows, const QueueIds& queues, const Clock& clock)
    : database_(database),
      rows_(rows),
      queues_(queues),
      clock_(clock),
      select_job_(database, kSelectJob),
      select_newest_(database, kSelectNewest),
      select_created_(database, kSelectCreated) {}

Result<std::int64_t> Search::newest_before(std::int64_t time_ms) {
  if (!select_newest_.begin().row()) return database_.failure("read");
  std::int64_t most = select_newest_.number(0);
  // Ords and creation times ascend together: a job's time is that of its submission, and a shard's
  // clock never goes back. The answer lies between `least` and `most`.
  std::int64_t least = 0;
  while (least < most) {
    const std::int64_t middle = least + (most - least + 1) / 2;
    if (!select_created_.begin(middle).row()) {
      if (!select_created_.ok()) return database_.failure("read");
      least = middle;  // nothing at or below `middle`, so nothing to find there
      continue;
    }
    const std::int64_t found = select_created_.number(0);
    if (select_created_.number(1) < time_ms) {
      least = middle;
    } else {
      most = found - 1;
    }
  }
  return least;
}

Result<Search::Range> Search::range_of(const core::JobFilter& filter,
                                       std::optional<std::uint64_t> after_ord) {
  Range range{1, std::numeric_limits<std::int64_t>::max()};
  if (after_ord) range.most = static_cast<std::int64_t>(*after_ord) - 1;
  const auto at_most = [&](std::int64_t time_ms) -> Status {
    const auto ord = newest_before(time_ms);
    if (!ord) return std::unexpected(ord.error());
    range.most = std::min(range.most, *ord);
    return {};
  };
  const auto at_least = [&](std::int64_t time_ms) -> Status {
    const auto ord = newest_before(time_ms);
    if (!ord) return std::unexpected(ord.error());
    range.least = std::max(range.least, *ord + 1);
    return {};
  };
  for (const Condition& condition : filter.conditions) {
    if (condition.field != JobField::kCreatedAt || condition.negated) continue;
    const std::int64_t time = condition.number;
    const std::int64_t after = time == std::numeric_limits<std::int64_t>::max() ? time : time + 1;
    Status done;
    switch (condition.comparison) {
      case Comparison::kLess:
        done = at_most(time);
        break;
      case Comparison::kLessEqual:
        done = at_most(after);
        break;
      case Comparison::kGreater:
        done = at_least(after);
        break;
      case Comparison::kGreaterEqual:
        done = at_least(time);
        break;
      default:
        break;
    }
    if (!done) return std::unexpected(done.error());
  }
  return range;
}

template <typename... Values>
Status Search::open_stream(Plan& plan, const char* sql, const Values&... values) {
  Stream stream{std::make_unique<Statement>(database_, sql), 0};
  stream.select->begin(plan.range.least, plan.range.most, values...);
  if (stream.select->row()) {
    stream.ord = stream.select->number(0);
    plan.streams.push_back(std::move(stream));
  } else if (!stream.select->ok()) {
    return database_.failure("read");
  }
  return {};
}

Status Search::open_streams(const core::JobFilter& filter, Plan& plan) {
  if (filter.workflow) {
    return open_stream(plan, kByWorkflow, Blob{to_blob(*filter.workflow)});
  }
  if (const Condition* by_id = find_plain(filter, JobField::kId)) {
    // One stream for each job, however often it is named.
    std::set<JobId> ids;
    for (const std::string& text : by_id->values) {
      if (const auto id = parse_job_id(text)) ids.insert(*id);
    }
    for (const JobId& id : ids) {
      if (Status done = open_stream(plan, kById, Blob{to_blob(id)}); !done) return done;
    }
    return {};
  }
  const std::vector<core::State> states = states_of(filter);
  if (const Condition* by_queue = find_plain(filter, JobField::kQueue)) {
    const auto queues = queues_.select([&](std::string_view name) {
      return std::ranges::any_of(by_queue->values, [&](const std::string& pattern) {
        return matches_pattern(pattern, name);
      });
    });
    if (queues.size() * states.size() <= kMaxStreams) {
      plan.answered = by_queue;
      plan.states_answered = true;
      for (const std::int64_t queue : queues) {
        for (const core::State state : states) {
          Status done = open_stream(plan, kByQueue, queue, static_cast<std::int64_t>(state));
          if (!done) return done;
        }
      }
      return {};
    }
  }
  if (std::ranges::count(states, core::State::kSucceeded) > 0) return open_stream(plan, kAll);
  plan.states_answered = true;
  for (const core::State state : states) {
    Status done = open_stream(plan, kByState, static_cast<std::int64_t>(state));
    if (!done) return done;
  }
  return {};
}

Result<Search::Plan> Search::plan(const core::JobFilter& filter,
                                  std::optional<std::uint64_t> after_ord, ReadBudget budget) {
  Plan plan;
  plan.end = clock_() + budget.time;
  plan.gone = std::move(budget.gone);
  const auto range = range_of(filter, after_ord);
  if (!range) return std::unexpected(range.error());
  plan.range = *range;
  if (Status opened = open_streams(filter, plan); !opened) return std::unexpected(opened.error());
  for (const Condition& condition : filter.conditions) {
    if (&condition == plan.answered) continue;
    if (condition.field == JobField::kState && plan.states_answered) continue;
    switch (condition.field) {
      case JobField::kTag:
      case JobField::kSchedule:
      case JobField::kLimit:
      case JobField::kOrder:
      case JobField::kFair:
      case JobField::kWorker:
      case JobField::kError:
      case JobField::kMeta:
        plan.rest.detail.push_back(&condition);
        break;
      case JobField::kPayload:
        plan.rest.payload.push_back(&condition);
        break;
      case JobField::kResult:
        plan.rest.result.push_back(&condition);
        break;
      default:
        plan.rest.columns.push_back(&condition);
    }
  }
  return plan;
}

Result<std::int64_t> Search::take_newest(Plan& plan) {
  const auto newest = std::ranges::max_element(plan.streams, {}, &Stream::ord);
  if (newest == plan.streams.end()) return 0;
  const std::int64_t ord = newest->ord;
  if (newest->select->row()) {
    newest->ord = newest->select->number(0);
  } else if (!newest->select->ok()) {
    return database_.failure("read");
  } else {
    plan.streams.erase(newest);
  }
  return ord;
}

Result<bool> Search::meets(const Rest& rest, core::Job& job) {
  const auto all = [&](const std::vector<const Condition*>& conditions) {
    return std::ranges::all_of(conditions,
                               [&](const Condition* one) { return matches(*one, job); });
  };
  if (Status read = rows_.read_columns(select_job_, job); !read) {
    return std::unexpected(read.error());
  }
  if (!all(rest.columns)) return false;
  if (!rest.detail.empty()) {
    if (Status read = rows_.read_detail(select_job_, job); !read) {
      return std::unexpected(read.error());
    }
    if (!all(rest.detail)) return false;
  }
  if (!rest.payload.empty()) {
    rows_.read_payload(select_job_, job);
    if (!all(rest.payload)) return false;
  }
  if (!rest.result.empty()) {
    rows_.read_result(select_job_, job);
    if (!all(rest.result)) return false;
  }
  return true;
}

Result<Search::Ended> Search::run(
    Plan& plan, bool need_rows, std::int64_t& last,
    const std::function<Result<bool>(std::int64_t, core::Job&)>& visit) {
  need_rows = need_rows || !plan.rest.empty();
  for (std::uint32_t looked = 1;; ++looked) {
    if (plan.gone.stop_requested()) return Ended::kByTime;
    if (looked % kJobsALook == 0 && clock_() >= plan.end) return Ended::kByTime;
    const auto ord = take_newest(plan);
    if (!ord) return std::unexpected(ord.error());
    if (*ord == 0) return Ended::kAll;
    core::Job job;
    if (need_rows) {
      if (!select_job_.begin(*ord).row()) return database_.failure("read");
      const auto met = meets(plan.rest, job);
      if (!met) return std::unexpected(met.error());
      if (!*met) {
        last = *ord;
        continue;
      }
    }
    const auto more = visit(*ord, job);
    if (!more) return std::unexpected(more.error());
    if (!*more) return Ended::kByVisitor;
    last = *ord;
  }
}

Result<JobPage> Search::list(const JobQuery& query) {
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return database_.failure("read");
  auto planned = plan(query.filter, query.after_ord, query.budget);
  if (!planned) return std::unexpected(planned.error());
  JobPage page;
  PageBudget left(query);
  std::int64_t last = query.after_ord ? static_cast<std::int64_t>(*query.after_ord)
                                      : std::numeric_limits<std::int64_t>::max();
  const auto ended = run(*planned, true, last, [&](std::int64_t, core::Job& job) -> Result<bool> {
    if (Status read = rows_.read_detail(select_job_, job); !read) {
      return std::unexpected(read.error());
    }
    job.payload = job.result = SharedBytes();
    if (query.columns.payload) rows_.read_payload(select_job_, job);
    if (query.columns.result) rows_.read_result(select_job_, job);
    if (!left.take(job)) return false;
    page.jobs.push_back(std::move(job));
    return true;
  });
  if (!ended) return std::unexpected(ended.error());
  if (*ended != Ended::kAll) page.next_after_ord = static_cast<std::uint64_t>(last);
  return page;
}

Result<Tables::IdPage> Search::select_ids(const core::JobFilter& filter,
                                          std::optional<std::uint64_t> after_ord,
                                          std::uint32_t limit, ReadBudget budget) {
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return database_.failure("read");
  auto planned = plan(filter, after_ord, budget);
  if (!planned) return std::unexpected(planned.error());
  Tables::IdPage page;
  std::int64_t last =
      after_ord ? static_cast<std::int64_t>(*after_ord) : std::numeric_limits<std::int64_t>::max();
  const auto ended =
      run(*planned, true, last, [&](std::int64_t ord, core::Job& job) -> Result<bool> {
        if (page.ids.size() >= limit) return false;
        page.ids.push_back(job.id);
        page.ords.push_back(static_cast<std::uint64_t>(ord));
        return true;
      });
  if (!ended) return std::unexpected(ended.error());
  if (*ended != Ended::kAll) page.next_after_ord = static_cast<std::uint64_t>(last);
  return page;
}

Result<std::uint64_t> Search::count(const core::JobFilter& filter, std::uint64_t limit,
                                    ReadBudget budget) {
  if (limit == 0) return 0;
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return database_.failure("read");
  auto planned = plan(filter, std::nullopt, budget);
  if (!planned) return std::unexpected(planned.error());
  std::uint64_t found = 0;
  std::int64_t last = 0;
  const auto ended = run(*planned, false, last,
                         [&](std::int64_t, core::Job&) -> Result<bool> { return ++found < limit; });
  if (!ended) return std::unexpected(ended.error());
  if (*ended == Ended::kByTime) {
    return failure("the server could not count the jobs in time; use a narrower filter");
  }
  return found;
}

}  // namespace millrace::store
