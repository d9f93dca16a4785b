#include "service/error_groups.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/hex.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

using api::ErrorStatus;
using api::ProblemCode;

constexpr auto kKind = core::CatalogKind::kErrorGroup;
constexpr int kTries = 4;                  // for a document that another user is changing
constexpr std::uint32_t kCandidates = 20;  // dead jobs tried as a canary
constexpr std::chrono::milliseconds kSelectBudget{5'000};
constexpr Duration kHour{3'600'000};
constexpr std::string_view kCanary = "canary";

api::Problem no_such_group() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such group of errors");
}

// A group's numbers cover all its queues.
bool sees(const Caller& caller, const engine::ErrorGroup& group) {
  if (!caller.limited()) return true;
  return !group.more_queues && std::ranges::all_of(group.queues, [&](const std::string& queue) {
    return caller.allows_queue(queue);
  });
}

api::ErrorGroupState said_of(const CatalogSnapshot& catalog, const std::string& id) {
  const core::CatalogEntry* const entry = catalog.find(kKind, id);
  const auto read =
      entry == nullptr ? std::nullopt : api::read_stored_error_group(entry->body.view());
  return read.value_or(api::ErrorGroupState{});
}

ErrorGroupAnswer answer_of(const Caller& caller, engine::ErrorGroup group,
                           const CatalogSnapshot& catalog) {
  ErrorGroupAnswer answer;
  answer.id = error_group_id(group.fingerprint);
  answer.state = state_now(said_of(catalog, answer.id), group.last_seen, caller.now());
  answer.group = std::move(group);
  answer.redacted = !caller.sees_payloads();
  return answer;
}

// Updates the canaries that were running when their state was last stored.
Task<void> look_at_canaries(Caller& caller, std::vector<ErrorGroupAnswer>& answers) {
  std::vector<JobId> ids;
  for (const ErrorGroupAnswer& answer : answers) {
    const auto& canary = answer.state.canary;
    if (canary && canary->state == api::CanaryState::kRunning) ids.push_back(canary->job);
  }
  if (ids.empty()) co_return;
  auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(ids); };
  const auto jobs = co_await caller.read(Lane::kLookups, read);
  if (!jobs) co_return;
  for (ErrorGroupAnswer& answer : answers) {
    auto& canary = answer.state.canary;
    if (!canary || canary->state != api::CanaryState::kRunning) continue;
    const auto job =
        std::ranges::find(*jobs, canary->job, [](const core::Job& each) { return each.id; });
    canary->state = canary_now(*canary, job == jobs->end() ? nullptr : &*job, answer.group);
  }
}

bool wanted(const ErrorGroupAnswer& answer, const api::ErrorGroupsQuery& query) {
  const engine::ErrorGroup& group = answer.group;
  const auto has = [](const auto& list, const auto& value) {
    return std::ranges::find(list, value) != list.end();
  };
  return (query.statuses.empty() || has(query.statuses, answer.state.status)) &&
         (query.queue.empty() || has(group.queues, query.queue)) &&
         (query.type.empty() || has(group.types, query.type));
}

std::int64_t key_of(const engine::ErrorGroup& group, api::ErrorOrder order) {
  switch (order) {
    case api::ErrorOrder::kCount:
      return static_cast<std::int64_t>(group.total);
    case api::ErrorOrder::kFirstSeen:
      return to_ms(group.first_seen);
    case api::ErrorOrder::kLastSeen:
      break;
  }
  return to_ms(group.last_seen);
}

// A group's position in a list: its key, and its id.
struct Place {
  std::int64_t key = 0;
  std::string id;
};
bool before(const Place& a, const Place& b) { return a.key != b.key ? a.key > b.key : a.id < b.id; }

std::optional<Place> parse_place(const std::string& cursor) {
  const auto text = parse_name_cursor(cursor);
  const std::size_t dash = text ? text->find('-') : std::string::npos;
  if (dash == std::string::npos) return std::nullopt;
  Place place;
  const auto [end, error] = std::from_chars(text->data(), text->data() + dash, place.key);
  if (error != std::errc() || end != text->data() + dash) return std::nullopt;
  place.id = text->substr(dash + 1);
  return place;
}

Task<Answered<ErrorGroupAnswer>> find_group(Caller& caller, const std::string& id) {
  const auto fingerprint = parse_error_group_id(id);
  if (!fingerprint) co_return refused(no_such_group());
  std::optional<engine::ErrorGroup> group;
  auto read = [&](const std::stop_token&) {
    caller.services.models.refresh(caller.now());
    group = caller.services.models.error_group(*fingerprint);
    return true;
  };
  auto done = co_await caller.read(Lane::kLookups, read);
  if (!done) co_return refused(done);
  if (!group || !sees(caller, *group)) co_return refused(no_such_group());
  co_return answer_of(caller, std::move(*group), *caller.services.catalog.snapshot());
}

// In the node's own name: this node has checked the token.
template <typename Command>
Task<Answered<core::CatalogReply>> ask_catalog(Caller& caller, const Command& command) {
  engine::Request request{core::Command(command)};
  const Asking asking{engine::kNodesOwn, nullptr};
  Ask ask(caller.port, std::move(request), asking);
  engine::Answer answer = co_await ask;
  auto* const reply = reply_in<core::CatalogReply>(answer);
  if (reply == nullptr) co_return refused(caller.problem_of(answer));
  co_return std::move(*reply);
}

// For the audit.
core::Origin origin_of(const std::string& id, const api::ErrorGroupState& before,
                       const api::ErrorGroupState& after) {
  core::Origin origin = about("error_group." + after.change, "error_group", id);
  origin.before = SharedBytes(api::members_of(before));
  origin.after = SharedBytes(api::members_of(after));
  return origin;
}

// Writes `change`'s version of the group's document, which is durable on return.
template <typename Change>
Task<Answered<api::ErrorGroupState>> change_state(Caller& caller, const std::string& id,
                                                  const engine::ErrorGroup& group,
                                                  const Change& change) {
  for (int tries = 1;; ++tries) {
    const auto snapshot = caller.services.catalog.snapshot();
    const core::CatalogEntry* const known = snapshot->find(kKind, id);
    if (known != nullptr && !api::read_stored_error_group(known->body.view())) {
      co_return refused(ProblemCode::kInvalidState,
                        "a newer program has written the state of this group; ask a node of its "
                        "version");
    }
    // The opening is recorded first, and once.
    api::ErrorGroupState made = opened_group(group);
    core::SharedOrigin by;
    if (known != nullptr) {
      const api::ErrorGroupState before =
          state_now(said_of(*snapshot, id), group.last_seen, caller.now());
      made = change(before);
      // A canary's retry has an audit entry of its own.
      if (made.change != kCanary) by = caller.origin_of(origin_of(id, before, made));
    }
    core::PutCatalogEntry put;
    put.kind = kKind;
    put.name = SharedBytes(id);
    put.body = SharedBytes(api::stored_error_group(made));
    put.if_version = known == nullptr ? 0 : known->version;
    put.by = std::move(by);
    auto reply = co_await ask_catalog(caller, put);
    if (!reply) co_return refused(reply);
    const bool conflicts = reply->refusal.why == core::Rejection::kVersionConflict;
    if (!conflicts || tries >= kTries) {
      if (reply->refusal) co_return refused(to_problem(reply->refusal, "group of errors"));
      for (const core::CatalogEntry& entry : reply->entries) caller.services.catalog.put(entry);
      if (known == nullptr) continue;
      co_return made;
    }
    // Another node has changed it, and this node does not know yet.
    core::GetCatalog get;
    get.since = known == nullptr ? 0 : known->revision;
    do {
      auto news = co_await ask_catalog(caller, get);
      if (!news) co_return refused(news);
      for (const core::CatalogEntry& entry : news->entries) {
        get.since = entry.revision;
        if (entry.kind == kKind && entry.name.view() == id) caller.services.catalog.put(entry);
      }
      if (!news->more) break;
    } while (true);
  }
}

engine::JobFilter jobs_of(const Caller& caller, const engine::ErrorGroup& group,
                          std::vector<api::JobState> states) {
  api::JobFilter filter;
  filter.states = std::move(states);
  if (!group.more_queues && group.queues.size() == 1) filter.queue = group.queues.front();
  api::QueryTerm term;
  term.field = api::QueryField::kError;
  term.op = api::QueryOperator::kEquals;
  term.any_of.emplace_back().text = error_group_id(group.fingerprint);
  filter.query.terms.push_back(std::move(term));
  return *to_engine(filter, caller.access.get());
}

}  // namespace

std::string error_group_id(std::uint64_t fingerprint) { return hex_of(fingerprint); }

std::optional<std::uint64_t> parse_error_group_id(std::string_view id) {
  constexpr std::size_t kDigits = 16;
  if (id.size() != kDigits || !std::ranges::all_of(id, is_lower_hex)) return std::nullopt;
  std::uint64_t fingerprint = 0;
  for (const char digit : id) {
    fingerprint = fingerprint << 4 | static_cast<std::uint64_t>(hex_value(digit));
  }
  return fingerprint;
}

api::ErrorGroupState opened_group(const engine::ErrorGroup& group) {
  api::ErrorGroupState opened;
  opened.change = "opened";
  opened.since = group.first_seen;
  return opened;
}

api::ErrorGroupState state_now(const api::ErrorGroupState& said, Time last_seen, Time now) {
  api::ErrorGroupState state = said;
  if (said.status == ErrorStatus::kResolved && last_seen > said.since) {
    state.status = ErrorStatus::kOpen;
    state.reopened_at = state.since = last_seen;
  } else if (said.status == ErrorStatus::kMuted && said.muted_until && *said.muted_until <= now) {
    state.status = ErrorStatus::kOpen;
    state.since = *said.muted_until;
    state.muted_until.reset();
  }
  return state;
}

api::CanaryState canary_now(const api::Canary& canary, const core::Job* job,
                            const engine::ErrorGroup& group) {
  using enum api::CanaryState;
  if (canary.state != kRunning) return canary.state;
  if (job == nullptr) {
    // The job has ended, and was not kept.
    const bool failed = std::ranges::any_of(group.sample, [&](const auto& failure) {
      return failure.job == canary.job && failure.at > canary.at;
    });
    return failed ? kFailed : kSucceeded;
  }
  if (job->generation < canary.generation) return kRunning;  // the tables lag behind
  switch (job->state) {
    case core::State::kSucceeded:
      return kSucceeded;
    case core::State::kScheduled:
    case core::State::kReady:
    case core::State::kRunning:
    case core::State::kBlocked:
      return kRunning;
    case core::State::kRetrying:
    case core::State::kDead:
    case core::State::kCancelled:
    case core::State::kExpired:
      break;
  }
  return kFailed;
}

api::ErrorGroup ErrorGroupAnswer::view(Time now) const {
  api::ErrorGroup view;
  view.id = id;
  view.error_type = group.error_type;
  view.message = group.message;
  view.redacted = redacted;
  view.status = state.status;
  view.muted_until = state.muted_until;
  view.note = state.note;
  view.queues.assign(group.queues.begin(), group.queues.end());
  view.types.assign(group.types.begin(), group.types.end());
  view.waiting = group.waiting;
  view.dead = group.dead;
  view.total = group.total;
  view.first_seen = group.first_seen;
  view.last_seen = group.last_seen;
  view.trend.resize(engine::kTrendHours);
  const std::int64_t newest = std::max(now, group.last_seen).time_since_epoch() / kHour;
  for (const engine::ErrorGroup::Hour& hour : group.hours) {
    const std::int64_t back = newest - hour.hour;
    if (back >= 0 && back < static_cast<std::int64_t>(engine::kTrendHours)) {
      view.trend[static_cast<std::size_t>(static_cast<std::int64_t>(engine::kTrendHours) - 1 -
                                          back)] += hour.failures;
    }
  }
  for (const engine::ErrorGroup::Version& version : group.versions) {
    view.versions.push_back(
        {version.version, version.first_seen, version.last_seen, version.count});
  }
  for (const engine::ErrorGroup::Failure& failure : group.sample) {
    view.sample.push_back(failure.job);
  }
  view.canary = state.canary;
  view.reopened_at = state.reopened_at;
  return view;
}

Task<Answered<ErrorGroupPage>> list_error_groups(Caller& caller,
                                                 const api::ErrorGroupsQuery& query) {
  std::optional<Place> after;
  if (!query.cursor.empty()) {
    after = parse_place(query.cursor);
    if (!after) co_return refused(bad_cursor());
  }
  std::map<std::uint64_t, engine::ErrorGroup> groups;
  ErrorGroupPage page;
  auto read = [&](const std::stop_token&) {
    const Time now = caller.now();
    caller.services.models.refresh(now);
    page.as_of = caller.services.models.as_of(now);
    groups = caller.services.models.error_groups();
    return true;
  };
  auto done = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  if (!done) co_return refused(done);
  const auto catalog = caller.services.catalog.snapshot();
  std::vector<std::pair<Place, ErrorGroupAnswer>> found;
  for (auto& [fingerprint, group] : groups) {
    if (!sees(caller, group)) continue;
    Place place{key_of(group, query.order), error_group_id(fingerprint)};
    if (after && !before(*after, place)) continue;
    ErrorGroupAnswer answer = answer_of(caller, std::move(group), *catalog);
    if (wanted(answer, query)) found.emplace_back(std::move(place), std::move(answer));
  }
  const auto shown = std::min(found.size(), static_cast<std::size_t>(query.limit));
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(shown), before,
                            [](const auto& entry) -> const Place& { return entry.first; });
  for (std::size_t i = 0; i < shown; ++i) page.groups.push_back(std::move(found[i].second));
  if (shown < found.size()) {
    const Place& last = found[shown - 1].first;
    page.next = name_cursor(std::to_string(last.key) + "-" + last.id);
  }
  co_await look_at_canaries(caller, page.groups);
  co_return page;
}

Task<Answered<ErrorGroupAnswer>> get_error_group(Caller& caller, std::string_view id) {
  const std::string wanted_id(id);
  auto found = co_await find_group(caller, wanted_id);
  if (!found) co_return refused(found);
  std::vector<ErrorGroupAnswer> one;
  one.push_back(std::move(*found));
  co_await look_at_canaries(caller, one);
  co_return std::move(one.front());
}

Task<Answered<ErrorGroupAnswer>> patch_error_group(Caller& caller, std::string_view id,
                                                   const api::ErrorGroupPatch& patch) {
  const std::string group_id(id);
  auto found = co_await find_group(caller, group_id);
  if (!found) co_return refused(found);
  if (patch.muted_until && *patch.muted_until <= caller.now()) {
    co_return refused(
        api::make_fault(api::FieldError::Place::kPointer, "/muted_until", "must be in the future"));
  }
  const Time now = caller.now();
  const auto change = [&](api::ErrorGroupState state) {
    state.change = "noted";
    if (patch.has_note) state.note = patch.note;
    if (!patch.status) return state;
    const bool was_open = state.status == ErrorStatus::kOpen;
    state.status = *patch.status;
    state.since = now;
    state.muted_until.reset();
    switch (*patch.status) {
      case ErrorStatus::kOpen:
        if (was_open) break;
        state.change = "reopened";
        state.reopened_at = now;
        break;
      case ErrorStatus::kMuted:
        state.change = "muted";
        state.muted_until = patch.muted_until;
        break;
      case ErrorStatus::kResolved:
        state.change = "resolved";
        state.reopened_at.reset();
        break;
    }
    return state;
  };
  auto made = co_await change_state(caller, group_id, found->group, change);
  if (!made) co_return refused(made);
  found->state = state_now(*made, found->group.last_seen, now);
  co_return std::move(*found);
}

Task<Answered<ErrorGroupAnswer>> retry_canary(Caller& caller, std::string_view id) {
  const std::string group_id(id);
  auto found = co_await find_group(caller, group_id);
  if (!found) co_return refused(found);
  auto fresh = co_await await_projection(caller);
  if (!fresh) co_return refused(fresh);
  const engine::JobFilter filter = jobs_of(caller, found->group, {api::JobState::kDead});
  auto select = [&](const std::stop_token&) {
    return caller.services.reads.select_ids(filter, {}, kCandidates, kSelectBudget);
  };
  auto candidates = co_await caller.read(Lane::kSearches, select);
  if (!candidates) co_return refused(candidates);
  for (const JobId& job : candidates->ids) {
    api::Canary canary;
    canary.job = job;
    canary.at = caller.now();
    core::Retry retry;
    retry.ids = {job};
    retry.states = states_of(filter);
    auto reply = co_await caller.ask(std::move(retry));
    if (!reply) co_return refused(reply);
    // Another request was faster.
    if (reply->items.size() != 1 || reply->items.front().refusal) continue;
    const auto& view = reply->items.front().job;
    if (view != nullptr) canary.generation = view->job.generation;
    const auto change = [&](api::ErrorGroupState state) {
      state.change = kCanary;
      state.canary = canary;
      return state;
    };
    auto made = co_await change_state(caller, group_id, found->group, change);
    if (!made) co_return refused(made);
    found->state = state_now(*made, found->group.last_seen, caller.now());
    co_return std::move(*found);
  }
  co_return refused(ProblemCode::kInvalidState,
                    "no dead job has this error now; there is nothing to retry");
}

Task<Answered<OperationAnswer>> change_group_jobs(Caller& caller, std::string_view id,
                                                  api::BulkAction action,
                                                  std::optional<std::int64_t> rate_per_s) {
  const std::string group_id(id);
  auto found = co_await find_group(caller, group_id);
  if (!found) co_return refused(found);
  const bool deletes = action == api::BulkAction::kDelete;
  std::vector<api::JobState> states = {api::JobState::kDead};
  if (deletes) states.push_back(api::JobState::kRetrying);
  OperationSpec spec;
  spec.kind = core::OperationKind::kErrorGroup;
  spec.action = deletes ? core::OperationAction::kDelete : core::OperationAction::kRetry;
  spec.filter = jobs_of(caller, found->group, std::move(states));
  spec.query = (deletes ? "state:dead,retrying error=" : "state:dead error=") + group_id;
  spec.error_group = group_id;
  if (rate_per_s) spec.rate_per_s = static_cast<std::uint32_t>(*rate_per_s);
  auto begun = co_await start_operation(caller, spec);
  co_return begun;
}

}  // namespace millrace::service
