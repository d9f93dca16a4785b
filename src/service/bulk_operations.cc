#include "service/bulk_operations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/bounds.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

using api::ProblemCode;
using core::OperationPart;
using core::OperationState;

constexpr std::chrono::milliseconds kCountBudget{1'000};
constexpr std::uint64_t kMostCounted = 10'000'000;

api::Problem no_such_operation() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such operation");
}

// For the audit.
SharedBytes rate_text(const std::optional<std::uint32_t>& rate_per_s) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("rate_per_s");
  rate_per_s ? json.number(static_cast<std::uint64_t>(*rate_per_s)) : json.null();
  json.end_object();
  return SharedBytes(text);
}
core::Origin about_start(const core::StartOperation& start) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("kind", name_of(start.spec.kind));
  json.text_or_null("query", start.spec.query.view());
  json.text_or_null("queue", start.spec.queue.view());
  json.key("rate_per_s");
  start.rate_per_s ? json.number(static_cast<std::uint64_t>(*start.rate_per_s)) : json.null();
  json.end_object();
  core::Origin made = about("operation.started", "operation", to_string(start.id));
  made.after = SharedBytes(text);
  return made;
}

// A token limited to queues sees operations on its queues, and those it started itself.
bool may_see(const Caller& caller, const OperationPart& part) {
  if (!caller.limited()) return true;
  const core::OperationSpec& spec = part.spec;
  if (!spec.queue.empty()) return caller.allows_queue(spec.queue.view());
  return !spec.created_by.empty() &&
         spec.created_by.view() == std::string_view(caller.access->settings().name);
}

// The state of an operation, from its parts.
OperationState state_of(const std::vector<const OperationPart*>& parts) {
  const auto any = [&](OperationState state) {
    return std::ranges::any_of(parts, [&](const auto* part) { return part->state == state; });
  };
  for (const OperationState state : {OperationState::kRunning, OperationState::kPaused,
                                     OperationState::kFailed, OperationState::kCancelled}) {
    if (any(state)) return state;
  }
  return OperationState::kCompleted;
}

// The expected end, at its rate or at the pace so far.
std::optional<Time> estimated_end(const OperationPart& whole, Time now) {
  if (whole.state != OperationState::kRunning || !whole.spec.matched) return std::nullopt;
  const std::uint64_t done = whole.done();
  const std::uint64_t left = *whole.spec.matched - std::min(*whole.spec.matched, done);
  double ms = 0;
  if (whole.rate_per_s) {
    ms = static_cast<double>(left) * 1'000 / *whole.rate_per_s;
  } else if (done > 0) {
    const Duration taken = std::max(now - whole.spec.created_at, Duration{1});
    ms = static_cast<double>(taken.count()) * static_cast<double>(left) / static_cast<double>(done);
  } else {
    return std::nullopt;
  }
  const auto most = static_cast<double>(core::kTenYears.count());
  return now + Duration{static_cast<std::int64_t>(std::min(ms, most))};
}

OperationAnswer united(const std::vector<const OperationPart*>& parts, Time now) {
  OperationAnswer answer{*parts.front(), {}};
  OperationPart& whole = answer.whole;
  whole.changed = whole.failed = 0;
  whole.state = state_of(parts);
  whole.ended_at.reset();
  for (const OperationPart* const part : parts) {
    whole.changed += part->changed;
    whole.failed += part->failed;
    if (part->updated_at >= whole.updated_at) {
      whole.updated_at = part->updated_at;
      // An order may not have reached a part that had ended.
      if (!core::has_ended(part->state)) whole.rate_per_s = part->rate_per_s;
    }
    if (whole.reason.empty()) whole.reason = part->reason;
    if (part->ended_at) {
      whole.ended_at = std::max(whole.ended_at.value_or(*part->ended_at), *part->ended_at);
    }
  }
  if (!core::has_ended(whole.state)) whole.ended_at.reset();
  answer.estimated_end_at = estimated_end(whole, now);
  return answer;
}

// Groups parts by operation; newest first.
std::vector<OperationAnswer> unite(std::vector<OperationPart>& parts, Time now) {
  std::ranges::sort(parts, std::greater{}, &OperationPart::id);
  std::vector<OperationAnswer> all;
  for (std::size_t at = 0; at < parts.size();) {
    std::vector<const OperationPart*> of_one;
    const std::size_t first = at;
    for (; at < parts.size() && parts[at].id == parts[first].id; ++at) of_one.push_back(&parts[at]);
    all.push_back(united(of_one, now));
  }
  return all;
}

// Estimates the number of jobs from the current tables, as far as that is quick.
Task<std::optional<std::uint64_t>> estimate(Caller& caller, const engine::JobFilter& filter) {
  std::optional<std::uint64_t> counted;
  auto count = [&](const std::stop_token& gone) {
    const engine::ReadBudget budget(kCountBudget, gone);
    const Result<std::uint64_t> number = caller.services.reads.count(filter, kMostCounted, budget);
    if (number) counted = *number;
    return number.has_value();
  };
  (void)co_await caller.read(Lane::kSearches, count);
  co_return counted;
}

}  // namespace

api::Operation to_api(const OperationAnswer& operation) {
  const OperationPart& whole = operation.whole;
  const core::OperationSpec& spec = whole.spec;
  api::Operation shown;
  shown.id = whole.id;
  shown.kind = name_of(spec.kind);
  if (spec.action != core::OperationAction::kNone) shown.action = name_of(spec.action);
  shown.query = spec.query.view();
  shown.queue = spec.queue.view();
  shown.error_group = spec.error_group.view();
  shown.state = name_of(whole.state);
  shown.matched = spec.matched;
  shown.changed = whole.changed;
  shown.failed = whole.failed;
  if (whole.rate_per_s) shown.rate_per_s = *whole.rate_per_s;
  shown.created_at = spec.created_at;
  shown.created_by = spec.created_by.view();
  shown.updated_at = whole.updated_at;
  shown.ended_at = whole.ended_at;
  shown.estimated_end_at = operation.estimated_end_at;
  shown.reason = whole.reason.view();
  return shown;
}

Task<Answered<OperationAnswer>> start_operation(Caller& caller, const OperationSpec& spec) {
  core::StartOperation start;
  start.id = caller.ids.make(caller.now(), "operation");
  start.shard = 0;  // the node that leads it has the others start
  start.rate_per_s = spec.rate_per_s;
  start.spec.kind = spec.kind;
  start.spec.action = spec.action;
  start.spec.priority = spec.priority;
  start.spec.filter = spec.filter;
  if (caller.limited()) {
    engine::Condition own;
    own.field = engine::JobField::kQueue;
    own.values = caller.access->settings().queues;
    start.spec.filter.conditions.push_back(std::move(own));
  }
  start.spec.states = states_of(start.spec.filter);
  start.spec.matched = spec.matched;
  if (!spec.matched) {
    auto fresh = co_await await_projection(caller);
    if (!fresh) co_return refused(fresh);
    start.spec.matched = co_await estimate(caller, start.spec.filter);
  }
  start.spec.query = SharedBytes(spec.query);
  start.spec.queue = SharedBytes(spec.queue);
  start.spec.error_group = SharedBytes(spec.error_group);
  start.spec.deletes_queue = spec.deletes_queue;
  start.spec.created_at = caller.now();
  if (caller.access != nullptr) {
    start.spec.created_by = SharedBytes(caller.access->settings().name);
  }
  caller.about = spec.kind == core::OperationKind::kReproject
                     ? about("store.reprojected", "operation", to_string(start.id))
                     : about_start(start);
  auto reply = co_await caller.ask(start);
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "operation"));
  if (reply->parts.empty()) co_return refused(other_number_of_jobs());
  if (caller.services.shards() > 1) {
    // The operation has started and ignores jobs created from now on. A shard that cannot be
    // reached is told later, by the node that leads the first one.
    start.shard.reset();
    engine::Request others = core::Command(start);
    Ask told(caller.port, std::move(others), Asking{engine::kNodesOwn, nullptr});
    (void)co_await told;
  }
  co_return unite(reply->parts, caller.now()).front();
}

Task<Answered<OperationAnswer>> get_operation(Caller& caller, JobId id) {
  core::GetOperations get;
  get.id = id;
  auto reply = co_await caller.ask(get);
  if (!reply) co_return refused(reply);
  if (reply->parts.empty() || !may_see(caller, reply->parts.front())) {
    co_return refused(no_such_operation());
  }
  co_return unite(reply->parts, caller.now()).front();
}

Task<Answered<OperationPage>> list_operations(Caller& caller,
                                              const api::OperationListQuery& query) {
  core::GetOperations get;
  if (!query.cursor.empty()) {
    const auto before = parse_job_id(query.cursor);
    if (!before) co_return refused(bad_cursor());
    get.before = *before;
  }
  const auto wanted = static_cast<std::size_t>(query.limit);
  get.limit = static_cast<std::uint32_t>(query.limit + 1);
  OperationPage page;
  do {
    auto reply = co_await caller.ask(get);
    if (!reply) co_return refused(reply);
    for (OperationAnswer& operation : unite(reply->parts, caller.now())) {
      const bool of_state = !query.state || static_cast<std::size_t>(*query.state) ==
                                                static_cast<std::size_t>(operation.whole.state);
      if (!of_state || !may_see(caller, operation.whole)) continue;
      if (page.operations.size() == wanted) {
        page.next = to_string(page.operations.back().whole.id);
        co_return page;
      }
      page.operations.push_back(std::move(operation));
    }
    get.before = reply->next;
  } while (get.before != core::kNoJob);
  co_return page;
}

Task<Answered<OperationAnswer>> order_operation(Caller& caller, JobId id,
                                                core::OperationOrder order,
                                                std::optional<std::uint32_t> rate_per_s) {
  auto standing = co_await get_operation(caller, id);
  if (!standing) co_return refused(standing);
  if (core::has_ended(standing->whole.state)) {
    co_return refused(ProblemCode::kInvalidState,
                      "the operation has ended (" + std::string(name_of(standing->whole.state)) +
                          ") and takes no more orders; start a new one");
  }
  if (standing->whole.spec.kind == core::OperationKind::kReproject) {
    co_return refused(ProblemCode::kInvalidState,
                      "the read models are being made anew, and what they had before is gone: "
                      "this can't be paused, slowed down or cancelled; wait until it has ended");
  }
  core::SetOperation set{id, order, rate_per_s};
  auto reply = co_await caller.ask(set);
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "operation"));
  if (reply->parts.empty()) co_return refused(no_such_operation());
  // Every shard takes the order in its own commit, so the entry needs a commit of its own too.
  constexpr std::array<std::string_view, 4> kActions = {
      "operation.paused", "operation.resumed", "operation.cancelled", "operation.rate_changed"};
  core::Origin entry =
      about(kActions.at(static_cast<std::size_t>(order)), "operation", to_string(id));
  if (order == core::OperationOrder::kSetRate) {
    entry.before = rate_text(standing->whole.rate_per_s);
    entry.after = rate_text(rate_per_s);
  }
  co_await note_audit(caller, std::move(entry));
  co_return unite(reply->parts, caller.now()).front();
}

}  // namespace millrace::service
