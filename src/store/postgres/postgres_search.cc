#include "store/postgres/postgres_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "store/job_filter_facts.h"
#include "store/job_match.h"
#include "store/page_budget.h"

namespace millrace::store {
namespace {

using core::Comparison;
using core::Condition;
using core::JobField;
using Use = ConnectionPool::Use;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Conditions on plain columns, with the same parameters in each statement. `{0}` is the ordering
// expression of the source.
constexpr const char* kPlain =
    "{0} BETWEEN $1 AND $2 AND j.priority BETWEEN $4 AND $5 AND j.attempt BETWEEN $6 AND $7 "
    "AND j.run_at BETWEEN $8 AND $9 "
    "AND ($10::bigint IS NULL OR coalesce(j.finished_at, j.kept_at) BETWEEN $10 AND $11) "
    "AND ($12::text[] IS NULL OR j.type = ANY($12)) ";
// The sources of the newest matching ords. Each stream is in the order of its index, so that only
// what the piece needs is read: see the indexes in schema.cc.
constexpr const char* kById =
    "SELECT j.ord FROM {0} AS j WHERE j.id = ANY($13) AND {1} ORDER BY j.ord DESC LIMIT $3";
constexpr const char* kByWorkflow =
    "SELECT w.ord FROM millrace.workflow_job_rows AS w JOIN {0} AS j ON j.ord = w.ord "
    "WHERE w.shard = $14 AND w.workflow = $13 AND w.ord BETWEEN $1 AND $2 AND {1} "
    "ORDER BY w.ord DESC LIMIT $3";
constexpr const char* kByQueue =
    "SELECT found.ord FROM unnest($13::text[]) AS q(name) CROSS JOIN unnest($14::text[]) AS "
    "s(name) CROSS JOIN LATERAL (SELECT j.ord FROM {0} AS j WHERE j.queue = q.name AND "
    "j.state = s.name AND {2} ORDER BY j.ord + 0 DESC LIMIT $3) AS found ORDER BY 1 DESC LIMIT $3";
constexpr const char* kByState =
    "SELECT found.ord FROM unnest($13::text[]) AS s(name) CROSS JOIN LATERAL (SELECT j.ord "
    "FROM {0} AS j WHERE j.state = s.name AND j.state <> 'succeeded' AND {2} "
    "ORDER BY j.ord + 0 DESC LIMIT $3) AS found ORDER BY 1 DESC LIMIT $3";
constexpr const char* kAll = "SELECT j.ord FROM {0} AS j WHERE {1} ORDER BY j.ord DESC LIMIT $3";
constexpr const char* kSelectJobs =
    "SELECT {2} FROM {0} WHERE ord = ANY(ARRAY({1})) ORDER BY ord DESC";
constexpr const char* kSelectNewest = "SELECT coalesce(max(ord), 0) FROM {}";
constexpr const char* kSelectCreated =
    "SELECT ord, created_at FROM {} WHERE ord <= $1 ORDER BY ord DESC LIMIT 1";

// More streams than this are no better than reading every job.
constexpr std::size_t kMaxStreams = 64;
constexpr std::uint64_t kFirstPiece = 256;
constexpr std::uint64_t kLargestPiece = 4'096;
// If the database must examine jobs one by one, it examines this range of ords at a time; the range
// grows or shrinks with the time that takes.
constexpr std::int64_t kFirstWindow = 65'536;
constexpr std::int64_t kLeastWindow = 4'096;
constexpr std::int64_t kMostWindow = std::int64_t{1} << 40;
constexpr auto kQuickPiece = std::chrono::milliseconds{100};

struct Bounds {
  std::int64_t least = kLeast;
  std::int64_t most = kMost;
  bool any() const { return least != kLeast || most != kMost; }
};

// The bounds that follow from all conditions on a number together.
Bounds bounds_of(const core::JobFilter& filter, JobField field) {
  Bounds bounds;
  for (const Condition& condition : filter.conditions) {
    if (condition.field != field || condition.negated) continue;
    const std::int64_t number = condition.number;
    switch (condition.comparison) {
      case Comparison::kEqual:
        bounds.least = std::max(bounds.least, number);
        bounds.most = std::min(bounds.most, number);
        break;
      case Comparison::kGreater:
      case Comparison::kGreaterEqual:
        bounds.least = std::max(bounds.least, number);
        break;
      case Comparison::kLess:
      case Comparison::kLessEqual:
        bounds.most = std::min(bounds.most, number);
        break;
      case Comparison::kContains:
        break;
    }
  }
  return bounds;
}

// Whether the database filters jobs that an index has found.
bool narrows(const core::JobFilter& filter) {
  return std::ranges::any_of(filter.conditions, [](const Condition& condition) {
    switch (condition.field) {
      case JobField::kType:
      case JobField::kPriority:
      case JobField::kAttempt:
      case JobField::kRunAt:
      case JobField::kFinishedAt:
        return true;
      default:
        return false;
    }
  });
}

bool is_exact(const Condition& condition) {
  return std::ranges::none_of(condition.values,
                              [](const std::string& value) { return value.ends_with('*'); });
}

SqlArray texts(const std::vector<std::string>& values) {
  SqlArray array(SqlType::kTexts);
  // No text of PostgreSQL, and no name, contains a zero byte.
  for (const std::string& value : values) {
    if (!value.contains('\0')) array.bytes(value);
  }
  return array;
}

}  // namespace

Result<std::int64_t> PostgresSearch::newest() {
  SqlMessage message({});
  message.add(fmt::format(fmt::runtime(kSelectNewest), shard_.table("job_rows")));
  const auto replies = shard_.pool->run(Use::kReading, message);
  if (!replies) return to_error(replies.error());
  return replies->results.front().row(0).number(0);
}

Result<std::int64_t> PostgresSearch::newest_before(std::int64_t time_ms) {
  const auto found = newest();
  if (!found) return found;
  std::int64_t most = *found;
  // Ords and creation times ascend together: a job's time is that of its submission, and a shard's
  // clock never goes back. The answer lies between `least` and `most`.
  std::int64_t least = 0;
  while (least < most) {
    const std::int64_t middle = least + (most - least + 1) / 2;
    SqlMessage message({});
    message.add(fmt::format(fmt::runtime(kSelectCreated), shard_.table("job_rows")),
                std::move(Parameters().number(middle)));
    const auto replies = shard_.pool->run(Use::kReading, message);
    if (!replies) return to_error(replies.error());
    const SqlResult& result = replies->results.front();
    if (result.rows() == 0 || result.row(0).number(1) < time_ms) {
      least = middle;  // nothing at or below `middle`, so nothing to find there
    } else {
      most = result.row(0).number(0) - 1;
    }
  }
  return least;
}

Result<PostgresSearch::Range> PostgresSearch::range_of(const core::JobFilter& filter,
                                                       std::optional<std::uint64_t> after_ord) {
  Range range{1, kMost};
  if (after_ord) range.most = static_cast<std::int64_t>(*after_ord) - 1;
  const Bounds created = bounds_of(filter, JobField::kCreatedAt);
  if (created.most != kMost) {
    const auto ord = newest_before(created.most + 1);
    if (!ord) return std::unexpected(ord.error());
    range.most = std::min(range.most, *ord);
  }
  if (created.least != kLeast) {
    const auto ord = newest_before(created.least);
    if (!ord) return std::unexpected(ord.error());
    range.least = std::max(range.least, *ord + 1);
  }
  return range;
}

namespace {

void add_types(const core::JobFilter& filter, Parameters& parameters) {
  const Condition* const type = find_plain(filter, JobField::kType);
  if (type != nullptr && is_exact(*type)) {
    parameters.array(texts(type->values));
  } else {
    parameters.no_array(SqlType::kTexts);
  }
}

}  // namespace

Result<std::size_t> PostgresSearch::piece(const core::JobFilter& filter, Range range,
                                          Columns columns, std::uint64_t limit,
                                          const Visit& visit) {
  Parameters parameters;
  parameters.number(range.least).number(range.most).number(static_cast<std::int64_t>(limit));
  for (const JobField field : {JobField::kPriority, JobField::kAttempt, JobField::kRunAt}) {
    const Bounds bounds = bounds_of(filter, field);
    parameters.number(bounds.least).number(bounds.most);
  }
  const Bounds finished = bounds_of(filter, JobField::kFinishedAt);
  parameters.number(finished.any() ? std::optional(finished.least) : std::nullopt)
      .number(finished.most);
  add_types(filter, parameters);
  const char* source = kAll;
  std::vector<std::string> states;
  for (const core::State state : states_of(filter)) states.emplace_back(name_of(state));
  const Condition* const id = find_plain(filter, JobField::kId);
  const Condition* const queue = find_plain(filter, JobField::kQueue);
  if (filter.workflow) {
    source = kByWorkflow;
    parameters.id(*filter.workflow).number(shard_.shard);
  } else if (id != nullptr) {
    source = kById;
    SqlArray ids(SqlType::kUuids);
    for (const std::string& text : id->values) {
      if (const auto parsed = parse_job_id(text)) ids.id(*parsed);
    }
    parameters.array(std::move(ids));
  } else if (queue != nullptr && is_exact(*queue) &&
             queue->values.size() * states.size() <= kMaxStreams) {
    source = kByQueue;
    // One stream for each name, however often it is given.
    std::vector<std::string> names = queue->values;
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    parameters.array(texts(names)).array(texts(states));
  } else if (std::ranges::count(states, "succeeded") == 0) {
    source = kByState;
    parameters.array(texts(states));
  }

  const std::string table = shard_.table("job_rows");
  const std::string ords =
      fmt::format(fmt::runtime(source), table, fmt::format(fmt::runtime(kPlain), "j.ord"),
                  fmt::format(fmt::runtime(kPlain), "(j.ord + 0)"));
  std::size_t seen = 0;
  Status status;
  bool more = true;
  SqlMessage message({.statement = std::chrono::milliseconds{10'000}});
  message.add(fmt::format(fmt::runtime(kSelectJobs), table, ords, job_columns(columns)),
              std::move(parameters), [&](const SqlRow& row) {
                ++seen;
                auto job = reader_.read(row);
                if (!job) {
                  status = std::unexpected(job.error());
                  return false;
                }
                more = visit(*job);
                return more;
              });
  const auto replies = shard_.pool->run(Use::kReading, message);
  if (!replies) return to_error(replies.error());
  if (!status) return std::unexpected(status.error());
  return seen;
}

Result<PostgresSearch::Ended> PostgresSearch::run(const core::JobFilter& filter,
                                                  std::optional<std::uint64_t> after_ord,
                                                  Columns columns, std::uint64_t wanted,
                                                  ReadBudget budget, std::uint64_t& last,
                                                  const Visit& visit) {
  const auto end = shard_.pool->now() + budget.time;
  auto range = range_of(filter, after_ord);
  if (!range) return std::unexpected(range.error());
  for (const Condition& condition : filter.conditions) {
    columns.payload = columns.payload || needs_payload(condition);
    columns.result = columns.result || needs_result(condition);
  }
  const bool windows =
      narrows(filter) && !filter.workflow && find_plain(filter, JobField::kId) == nullptr;
  if (windows) {
    const auto found = newest();
    if (!found) return std::unexpected(found.error());
    range->most = std::min(range->most, *found);
  }
  // Request one more, to see whether there are more.
  std::uint64_t limit = std::clamp<std::uint64_t>(wanted + 1, kFirstPiece, kLargestPiece);
  std::int64_t window = kFirstWindow;
  bool stopped = false;
  while (range->least <= range->most) {
    Range look = *range;
    if (windows) look.least = std::max(look.least, look.most - window + 1);
    const auto begun = shard_.pool->now();
    const auto seen = piece(filter, look, columns, limit, [&](core::Job& job) {
      range->most = static_cast<std::int64_t>(job.ord) - 1;
      if (budget.gone.stop_requested() || (matches(filter, job) && !visit(job))) {
        stopped = true;
        return false;
      }
      last = job.ord;
      return true;
    });
    if (!seen) return std::unexpected(seen.error());
    if (stopped) return Ended::kByVisitor;
    if (*seen < limit) {  // the range has no more jobs
      range->most = look.least - 1;
      last = static_cast<std::uint64_t>(look.least);
    }
    const auto now = shard_.pool->now();
    const bool over = now >= end || budget.gone.stop_requested();
    if (range->least <= range->most && over) return Ended::kByTime;
    window = now - begun < kQuickPiece ? std::min(window * 2, kMostWindow)
                                       : std::max(window / 2, kLeastWindow);
    limit = std::min(limit * 2, kLargestPiece);
  }
  return Ended::kAll;
}

Result<JobPage> PostgresSearch::list(const JobQuery& query) {
  JobPage page;
  PageBudget left(query);
  std::uint64_t last = query.after_ord.value_or(kMost);
  const auto ended = run(query.filter, query.after_ord, query.columns, query.limit, query.budget,
                         last, [&](core::Job& job) {
                           if (!query.columns.payload) job.payload = SharedBytes();
                           if (!query.columns.result) job.result = SharedBytes();
                           if (!left.take(job)) return false;
                           page.jobs.push_back(std::move(job));
                           return true;
                         });
  if (!ended) return std::unexpected(ended.error());
  if (*ended != Ended::kAll) page.next_after_ord = last;
  return page;
}

Result<Tables::IdPage> PostgresSearch::select_ids(const core::JobFilter& filter,
                                                  std::optional<std::uint64_t> after_ord,
                                                  std::uint32_t limit, ReadBudget budget) {
  Tables::IdPage page;
  std::uint64_t last = after_ord.value_or(kMost);
  const auto ended = run(filter, after_ord, {}, limit, budget, last, [&](core::Job& job) {
    if (page.ids.size() >= limit) return false;
    page.ids.push_back(job.id);
    page.ords.push_back(job.ord);
    return true;
  });
  if (!ended) return std::unexpected(ended.error());
  if (*ended != Ended::kAll) page.next_after_ord = last;
  return page;
}

Result<std::uint64_t> PostgresSearch::count(const core::JobFilter& filter, std::uint64_t limit,
                                            ReadBudget budget) {
  if (limit == 0) return 0;
  std::uint64_t found = 0;
  std::uint64_t last = 0;
  const auto ended = run(filter, std::nullopt, {}, kLargestPiece, budget, last,
                         [&](core::Job&) { return ++found < limit; });
  if (!ended) return std::unexpected(ended.error());
  if (*ended == Ended::kByTime) {
    return failure("the server could not count the jobs in time; use a narrower filter");
  }
  return found;
}

}  // namespace millrace::store
