#include "service/limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/text.h"
#include "core/bounds.h"
#include "engine/schedules/planner.h"
#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

using api::ProblemCode;
using core::LimitKind;

static_assert(api::kMaxJobLimits == core::kMaxLimitsPerJob);
static_assert(api::kMaxKeyBounds == core::kMaxKeyBounds);

// How often a change is retried if the version has changed meanwhile.
constexpr int kTries = 5;

std::string_view noun(LimitKind kind) {
  return kind == LimitKind::kType ? "gate of a type" : "limit";
}

// A limit applies to all queues, so a caller limited to some of them may not change it.
Answered<> admits_limit(const Caller& caller, std::string_view name) {
  if (auto all = admits_to_all_queues(caller); !all) return all;
  if (!api::is_name(name)) {
    return refused(ProblemCode::kNotFound,
                   "there is no such limit: a name " + std::string(api::kNameRule));
  }
  return {};
}

core::LimitSettings settings_of(const core::LimitSettings& before, const api::LimitChange& change,
                                Absent absent) {
  const bool stays = absent == Absent::kStays;
  core::LimitSettings made = stays ? before : core::LimitSettings{};
  if (change.concurrency.present) made.bounds.concurrency = to_core(change.concurrency.value);
  if (change.rate.present) made.bounds.rate = change.rate.value;
  if (change.breaker.present) made.breaker = change.breaker.value;
  if (change.retry_rate.present) made.retry_rate = change.retry_rate.value;
  if (change.per_key.present) made.per_key = change.per_key.value.value_or(false);
  if (change.keys.present) {
    made.keys.clear();
    if (change.keys.value) {
      for (const api::KeyBounds& key : *change.keys.value) {
        made.keys.push_back(
            {SharedBytes(key.key), {to_core(key.bounds.concurrency), key.bounds.rate}});
      }
    }
    std::ranges::sort(made.keys, {}, [](const core::KeyBounds& key) { return key.key.view(); });
  }
  return made;
}

template <typename Command>
Task<Answered<core::LimitReply>> command_limit(Caller& caller, Command command) {
  auto admitted = admits_limit(caller, command.name.view());
  if (!admitted) co_return refused(admitted);
  const std::string_view what = noun(command.kind);
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, what));
  if (reply->limits.empty()) {
    co_return refused(ProblemCode::kNotFound, "there is no such " + std::string(what));
  }
  co_return std::move(*reply);
}

Task<Answered<core::LimitReply>> ask_limit(Caller& caller, LimitKind kind, std::string_view name) {
  core::GetLimits get;
  get.kind = kind;
  get.name = SharedBytes(name);
  return command_limit(caller, std::move(get));
}

// Sends the limit's current state to all shards; the answer tells if some may not have it.
Task<Answered<>> copy_to_all(Caller& caller, core::Limit limit, bool gone) {
  if (caller.services.shards() == 1) co_return Answered<>();
  auto copied = co_await caller.ask(core::CopyLimit{std::nullopt, std::move(limit), gone});
  if (copied) co_return Answered<>();
  api::Problem problem = std::move(copied).error();
  problem.detail +=
      "; the change is made, but a shard of the store may not know it yet: send this "
      "request again";
  co_return std::unexpected(std::move(problem));
}

// The home's answer to a change, after all shards know it, with their total counts.
Task<Answered<LimitAnswer>> changed_everywhere(Caller& caller, core::LimitReply reply) {
  LimitAnswer answer{std::move(reply.limits.front()), reply.created};
  if (caller.services.shards() == 1) co_return answer;
  auto copied = co_await copy_to_all(caller, answer.limit.limit, false);
  if (!copied) co_return refused(copied);
  auto whole = co_await ask_limit(caller, answer.limit.limit.kind, answer.limit.limit.name.view());
  if (whole) answer.limit.use = whole->limits.front().use;
  co_return answer;
}

template <typename Command>
Task<Answered<LimitAnswer>> change_limit(Caller& caller, Command command) {
  auto reply = co_await command_limit(caller, std::move(command));
  if (!reply) co_return refused(reply);
  co_return co_await changed_everywhere(caller, std::move(*reply));
}

// A single shard cannot tell whether jobs or queues of others name the limit.
Task<Answered<>> delete_everywhere(Caller& caller, core::DeleteLimit command) {
  auto standing = co_await ask_limit(caller, command.kind, command.name.view());
  if (!standing) co_return refused(standing);
  core::Limit limit = standing->limits.front().limit;
  const bool named = command.kind == LimitKind::kNamed;
  core::Refusal refusal{core::Rejection::kLimitInUse, {}, core::RefusalDetail::kLimitNamedByQueue};
  if (standing->named) co_return refused(to_problem(refusal, noun(command.kind)));
  if (named && !command.force && standing->limits.front().use.unfinished > 0) {
    refusal.detail = core::RefusalDetail::kLimitNamedByJobs;
    co_return refused(to_problem(refusal, noun(command.kind)));
  }
  command.force = true;
  auto reply = co_await caller.ask(std::move(command));
  if (!reply) co_return refused(reply);
  // The home has deleted it, but some shards may not have: repeat the message.
  const bool again = reply->refusal.why == core::Rejection::kNotFound;
  if (reply->refusal && !again) {
    co_return refused(to_problem(reply->refusal, noun(limit.kind)));
  }
  co_return co_await copy_to_all(caller, std::move(limit), true);
}

bool names_limit(const SharedBytes& job, std::string_view name) {
  const auto spec = engine::read_template(job);
  if (!spec || spec->extras == nullptr) return false;
  return std::ranges::any_of(
      spec->extras->limits, [&](const core::JobLimit& limit) { return limit.name.view() == name; });
}

bool names_limit(const core::ScheduleSpec& spec, std::string_view name) {
  if (spec.workflow.empty()) return names_limit(spec.job, name);
  const auto workflow = engine::read_workflow_template(spec.workflow);
  if (!workflow) return false;
  const auto names = [&](const auto& of) { return names_limit(of.job, name); };
  return std::ranges::any_of(workflow->members, names) ||
         std::ranges::any_of(workflow->spec.callbacks, names);
}

// A schedule's job is made long after the schedule was set, and would then be refused. Only the
// service reads a schedule's job, so a schedule that is being set at this moment may be missed.
Task<Answered<>> refuse_if_scheduled(Caller& caller, std::string_view name) {
  core::GetSchedules get;
  do {
    auto reply = co_await caller.ask(get);
    if (!reply) co_return refused(reply);
    for (const core::Schedule& schedule : reply->schedules) {
      if (!names_limit(schedule.spec, name)) continue;
      co_return refused(ProblemCode::kLimitInUse,
                        "the job or workflow of schedule " + std::string(schedule.name.view()) +
                            " names the limit; change or delete the schedule first");
    }
    get.after = reply->next;
  } while (!get.after.empty());
  co_return Answered<>();
}

// `paused` and `pause_reason` of a type.
Task<Answered<LimitAnswer>> pause_type(Caller& caller, LimitAnswer standing,
                                       const api::LimitChange& change, Absent absent) {
  const std::vector<core::LimitPause>& pauses = standing.limit.limit.pauses;
  const bool is_paused = !pauses.empty();
  const bool named = change.paused.present || absent == Absent::kDefault;
  const bool paused = named ? change.paused.value.value_or(false) : is_paused;
  const SharedBytes& name = standing.limit.limit.name;
  const bool created = standing.created;
  if (paused == is_paused && (!paused || change.pause_reason == pauses.front().reason.view())) {
    co_return standing;
  }
  if (!named) co_return standing;
  if (paused) {
    auto changed = co_await change_limit(
        caller, core::PauseLimit{
                    LimitKind::kType, name, {}, SharedBytes(change.pause_reason), std::nullopt});
    if (changed) changed->created = created;
    co_return changed;
  }
  auto changed = co_await change_limit(caller, core::ResumeLimit{LimitKind::kType, name, {}});
  if (changed) changed->created = created;
  co_return changed;
}

}  // namespace

Task<Answered<LimitPage>> list_limits(Caller& caller, LimitKind kind, const api::Page& page) {
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  const auto after = parse_name_cursor(page.cursor);
  if (!after) co_return refused(bad_cursor());
  core::GetLimits get;
  get.kind = kind;
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(page.limit);
  auto reply = co_await caller.ask(std::move(get));
  if (!reply) co_return refused(reply);
  LimitPage made{std::move(reply->limits), {}};
  if (!reply->next.empty()) made.next = name_cursor(reply->next.view());
  co_return made;
}

Task<Answered<LimitAnswer>> get_limit(Caller& caller, LimitKind kind, std::string_view name) {
  auto reply = co_await ask_limit(caller, kind, name);
  if (!reply) co_return refused(reply);
  co_return LimitAnswer{std::move(reply->limits.front()), false};
}

Task<Answered<LimitAnswer>> set_limit(Caller& caller, LimitKind kind, std::string_view name,
                                      const api::LimitChange& change, Absent absent,
                                      const IfVersion& if_version) {
  auto admitted = admits_limit(caller, name);
  if (!admitted) co_return refused(admitted);
  for (int tries = 1;; ++tries) {
    core::SetLimit set;
    set.kind = kind;
    set.name = SharedBytes(name);
    set.incarnation = caller.ids.random();
    set.if_version = if_version;
    core::LimitSettings before;
    if (absent == Absent::kStays) {
      auto standing = co_await ask_limit(caller, kind, name);
      if (!standing) co_return refused(standing);
      const core::Limit& limit = standing->limits.front().limit;
      before = limit.settings;
      if (!set.if_version) set.if_version = limit.version;
    }
    set.settings = settings_of(before, change, absent);
    if (!set.settings.per_key && !set.settings.keys.empty()) {
      co_return refused(api::make_fault(api::FieldError::Place::kPointer, "/keys",
                                        "must be empty unless per_key is true"));
    }
    if (caller.services.shards() > 1) {
      // The home alone cannot tell whether jobs on other shards name the limit.
      auto standing = co_await ask_limit(caller, kind, name);
      const bool turns = standing && standing->limits.front().use.unfinished > 0 &&
                         standing->limits.front().limit.settings.per_key != set.settings.per_key;
      if (turns) {
        const core::Refusal refusal{
            core::Rejection::kLimitInUse, {}, core::RefusalDetail::kLimitCountsJobs};
        co_return refused(to_problem(refusal, noun(kind)));
      }
    }
    auto reply = co_await caller.ask(std::move(set));
    if (!reply) co_return refused(reply);
    const bool again = reply->refusal.why == core::Rejection::kVersionConflict && !if_version;
    if (again && tries < kTries) continue;
    if (reply->refusal) co_return refused(to_problem(reply->refusal, noun(kind)));
    auto answer = co_await changed_everywhere(caller, std::move(*reply));
    if (!answer || kind != LimitKind::kType) co_return answer;
    co_return co_await pause_type(caller, std::move(*answer), change, absent);
  }
}

Task<Answered<>> delete_limit(Caller& caller, LimitKind kind, std::string_view name, bool force,
                              const IfVersion& if_version) {
  auto admitted = admits_limit(caller, name);
  if (!admitted) co_return refused(admitted);
  if (kind == LimitKind::kNamed) {
    auto unnamed = co_await refuse_if_scheduled(caller, name);
    if (!unnamed) co_return refused(unnamed);
  }
  core::DeleteLimit command{kind, SharedBytes(name), force, if_version};
  if (caller.services.shards() > 1) {
    co_return co_await delete_everywhere(caller, std::move(command));
  }
  auto gone = co_await command_limit(caller, std::move(command));
  if (!gone) co_return refused(gone);
  co_return Answered<>();
}

Task<Answered<LimitAnswer>> pause_limit(Caller& caller, std::string_view name,
                                        const api::LimitPause& pause) {
  return change_limit(caller,
                      core::PauseLimit{LimitKind::kNamed, SharedBytes(name), SharedBytes(pause.key),
                                       SharedBytes(pause.reason), pause.length});
}

Task<Answered<LimitAnswer>> resume_limit(Caller& caller, std::string_view name,
                                         std::string_view key) {
  return change_limit(caller,
                      core::ResumeLimit{LimitKind::kNamed, SharedBytes(name), SharedBytes(key)});
}

Task<Answered<LimitKeyPage>> list_limit_keys(Caller& caller, std::string_view name,
                                             const api::LimitKeysQuery& query) {
  const auto after = parse_name_cursor(query.cursor);
  if (!after) co_return refused(bad_cursor());
  core::GetLimits get;
  get.kind = LimitKind::kNamed;
  get.name = SharedBytes(name);
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(query.limit);
  get.detail = query.by_waiting ? core::LimitDetail::kBusiestKeys : core::LimitDetail::kKeys;
  auto reply = co_await command_limit(caller, std::move(get));
  if (!reply) co_return refused(reply);
  LimitKeyPage made{std::move(reply->keys), {}};
  if (query.by_waiting) {  // the busiest of each shard
    std::ranges::sort(made.keys, [](const core::GateUse& a, const core::GateUse& b) {
      return a.waiting != b.waiting ? a.waiting > b.waiting : a.key.view() < b.key.view();
    });
    if (made.keys.size() > core::kBusiestKeys) made.keys.resize(core::kBusiestKeys);
  }
  if (!reply->next.empty()) made.next = name_cursor(reply->next.view());
  co_return made;
}

Task<Answered<LimitHolderPage>> list_limit_holders(Caller& caller, std::string_view name,
                                                   const api::LimitHoldersQuery& query) {
  const auto after = parse_name_cursor(query.cursor);
  if (!after) co_return refused(bad_cursor());
  core::GetLimits get;
  get.kind = LimitKind::kNamed;
  get.name = SharedBytes(name);
  get.after = SharedBytes(*after);
  get.limit = static_cast<std::uint32_t>(query.limit);
  get.detail = core::LimitDetail::kHolders;
  get.key = SharedBytes(query.key);
  auto reply = co_await command_limit(caller, std::move(get));
  if (!reply) co_return refused(reply);
  LimitHolderPage made{std::move(reply->holders), {}};
  if (!reply->next.empty()) made.next = name_cursor(reply->next.view());
  co_return made;
}

// --- Shapes for the API.

api::GateUse use_of(const core::GateUse& use) {
  api::GateUse shown;
  shown.in_use = use.in_use;
  shown.waiting = use.waiting;
  shown.next_token_at = use.next_token_at;
  if (use.pause) {
    shown.paused = true;
    shown.pause_reason = use.pause->reason.view();
    shown.paused_until = use.pause->until;
  }
  if (use.breaker) {
    constexpr std::array<std::string_view, 3> kStates = {"closed", "open", "half_open"};
    shown.breaker_state = kStates.at(static_cast<std::size_t>(*use.breaker));
  }
  shown.open_until = use.open_until;
  shown.blocked_until = use.slow_until;
  if (shown.paused_until) {
    shown.blocked_until = std::max(*shown.paused_until, use.slow_until.value_or(Time::min()));
  }
  return shown;
}

api::Limit to_api(const core::LimitView& view) {
  const core::LimitSettings& settings = view.limit.settings;
  api::Limit shown;
  shown.name = view.limit.name.view();
  shown.of_type = view.limit.kind == LimitKind::kType;
  shown.bounds = to_api(settings.bounds);
  shown.breaker = settings.breaker;
  shown.retry_rate = settings.retry_rate;
  shown.per_key = settings.per_key;
  for (const core::KeyBounds& key : settings.keys) {
    shown.keys.push_back({std::string(key.key.view()), to_api(key.bounds)});
  }
  shown.version = view.limit.version;
  shown.use = use_of(view.use);
  return shown;
}

api::LimitKey to_api(const core::GateUse& use) { return {use.key.view(), use_of(use)}; }

api::LimitHolder to_api(const core::LimitHolder& holder) {
  return {holder.job, holder.key.view(), holder.worker.view(), holder.since};
}

}  // namespace millrace::service
