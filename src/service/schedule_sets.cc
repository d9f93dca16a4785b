// Schedules by the set, and jobs of their past.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "api/text.h"
#include "core/limits.h"
#include "digest/fingerprint.h"
#include "engine/schedules/planner.h"
#include "service/convert.h"
#include "service/schedule_spec.h"
#include "service/schedules.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

// So many requests are under way at once.
constexpr std::size_t kAtOnce = 500;
// So many instants are looked at in one call of a backfill.
constexpr std::size_t kMostInstants = 10'000;
// About the bytes of the jobs of a backfill that are submitted as one.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

std::string pointer_to(std::string_view name) {
  std::string pointer = "/schedules/";
  for (const char c : name) {
    if (c == '/') {
      pointer += "~1";
    } else if (c == '~') {
      pointer += "~0";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

using Standing = std::map<std::string, core::Schedule, std::less<>>;

// Sends all, kAtOnce at a time. The first answer that is no reply refuses the whole.
Task<Answered<std::vector<core::ScheduleReply>>> ask_each(Caller& caller,
                                                          std::vector<core::Command> commands) {
  std::vector<core::ScheduleReply> replies;
  for (std::size_t begin = 0; begin < commands.size(); begin += kAtOnce) {
    std::vector<engine::Request> requests;
    const std::size_t end = std::min(begin + kAtOnce, commands.size());
    for (std::size_t i = begin; i < end; ++i) requests.emplace_back(std::move(commands[i]));
    auto all = caller.answers_to(std::move(requests));
    std::vector<engine::Answer> answers = co_await all;
    for (engine::Answer& answer : answers) {
      auto* const reply = reply_in<core::ScheduleReply>(answer);
      if (reply == nullptr) co_return refused(caller.problem_of(answer));
      replies.push_back(std::move(*reply));
    }
  }
  co_return replies;
}

// The owner's schedules, and those that have a name of the set.
Task<Answered<Standing>> look_at(Caller& caller, const api::ScheduleSet& set) {
  Standing standing;
  core::GetSchedules get;
  get.of_owner = true;
  get.managed_by = SharedBytes(set.managed_by);
  do {
    auto reply = co_await caller.ask(get);
    if (!reply) co_return refused(reply);
    for (core::Schedule& schedule : reply->schedules) {
      std::string name(schedule.name.view());
      standing.insert_or_assign(std::move(name), std::move(schedule));
    }
    get.after = reply->next;
  } while (!get.after.empty());
  std::vector<core::Command> questions;
  for (const auto& [name, spec] : set.schedules) {
    if (standing.contains(name)) continue;
    core::GetSchedules one;
    one.name = SharedBytes(name);
    questions.emplace_back(std::move(one));
  }
  auto replies = co_await ask_each(caller, std::move(questions));
  if (!replies) co_return refused(replies);
  for (core::ScheduleReply& reply : *replies) {
    if (reply.schedules.empty()) continue;
    std::string name(reply.schedules.front().name.view());
    standing.insert_or_assign(std::move(name), std::move(reply.schedules.front()));
  }
  co_return standing;
}

struct Plan {
  std::vector<core::Command> commands;
  api::SetOutcome outcome;
};

Answered<Plan> plan_set(Caller& caller, const api::ScheduleSet& set, const Standing& standing) {
  Plan plan;
  for (const auto& [name, spec] : set.schedules) {
    const std::string where = pointer_to(name);
    if (auto admitted = admits_schedule_name(name); !admitted) {
      return refused(
          api::make_fault(api::FieldError::Place::kPointer, where, admitted.error().detail));
    }
    if (!caller.allows_queue(spec.job.queue)) return refused(no_queue_for_token());
    auto made = to_core(caller, spec, where);
    if (!made) return refused(made);
    const auto found = standing.find(name);
    core::SetSchedule command;
    command.name = SharedBytes(name);
    command.spec = std::move(*made);
    command.paused = spec.paused;
    command.incarnation = caller.ids.random();
    command.if_version = 0;
    if (found == standing.end()) {
      plan.outcome.created.push_back(name);
      plan.commands.emplace_back(std::move(command));
      continue;
    }
    const core::Schedule& now = found->second;
    const std::string_view owner = now.spec.managed_by.view();
    if (!caller.allows_queue(now.spec.queue.view())) return refused(no_queue_for_token());
    if (!owner.empty() && owner != set.managed_by && !set.force) {
      return refused(api::ProblemCode::kInvalidState,
                     "schedule " + name + " belongs to " + std::string(owner) +
                         ": choose another name, or take it over with \"force\": true");
    }
    if (now.spec == command.spec && spec.paused.value_or(now.paused) == now.paused) {
      plan.outcome.unchanged.push_back(name);
      continue;
    }
    command.if_version = now.version;
    plan.outcome.updated.push_back(name);
    plan.commands.emplace_back(std::move(command));
  }
  if (set.prune) {
    std::vector<std::string_view> named;
    for (const auto& [name, spec] : set.schedules) named.push_back(name);
    std::ranges::sort(named);
    for (const auto& [name, schedule] : standing) {
      if (schedule.spec.managed_by.view() != set.managed_by) continue;
      if (std::ranges::binary_search(named, std::string_view(name))) continue;
      if (!caller.allows_queue(schedule.spec.queue.view())) continue;
      plan.outcome.deleted.push_back(name);
      plan.commands.emplace_back(core::DeleteSchedule{schedule.name, schedule.version});
    }
  }
  for (auto* names : {&plan.outcome.created, &plan.outcome.updated, &plan.outcome.unchanged}) {
    std::ranges::sort(*names);
  }
  return plan;
}

// The least time for which the queue keeps a job that has ended; none: for ever.
std::optional<Duration> shortest_retention(const core::Retention& retention) {
  std::optional<Duration> shortest;
  for (const auto& time :
       {retention.succeeded, retention.dead, retention.cancelled, retention.expired}) {
    if (time) shortest = std::min(shortest.value_or(*time), *time);
  }
  return shortest;
}

// The key of one job of a backfill that has a key.
std::shared_ptr<const core::SubmissionKey> key_of(const Caller& caller, std::string_view key,
                                                  std::string_view as_sent, const JobId& id) {
  auto made = std::make_shared<core::SubmissionKey>();
  made->key = fingerprint("backfill " + to_string(id), key);
  made->body = fingerprint("backfill", as_sent);
  made->window = caller.services.idempotency_window;
  return made;
}

}  // namespace

Task<Answered<api::SetOutcome>> apply_schedules(Caller& caller, const api::ScheduleSet& set) {
  auto standing = co_await look_at(caller, set);
  if (!standing) co_return refused(standing);
  auto plan = plan_set(caller, set, *standing);
  if (!plan) co_return refused(plan);
  if (set.dry_run) co_return std::move(plan->outcome);
  auto replies = co_await ask_each(caller, std::move(plan->commands));
  if (!replies) co_return refused(replies);
  for (const core::ScheduleReply& reply : *replies) {
    if (reply.refusal) co_return refused(to_problem(reply.refusal, "schedule"));
  }
  co_return std::move(plan->outcome);
}

Task<Answered<BackfillAnswer>> backfill_schedule(Caller& caller, std::string_view name,
                                                 const BackfillRequest& request) {
  const api::Backfill& backfill = request.backfill;
  auto found = co_await get_schedule(caller, name);
  if (!found) co_return refused(found);
  const core::Schedule& schedule = found->schedule;
  const auto fault = [](std::string_view member, std::string detail) {
    return refused(api::make_fault(api::FieldError::Place::kPointer, "/" + std::string(member),
                                   std::move(detail)));
  };
  if (backfill.to > caller.now()) co_return fault("to", "must not be later than now");
  auto timing = engine::timing_of(schedule.spec, *caller.services.zones);
  if (!timing) co_return refused(api::ProblemCode::kInvalidState, timing.error().message);

  core::Retention retention = caller.services.default_retention;
  auto queue = co_await caller.ask(core::GetQueues{schedule.spec.queue});
  if (!queue) co_return refused(queue);
  if (!queue->queues.empty()) retention = queue->queues.front().settings.retention;
  const auto kept = shortest_retention(retention);
  if (!backfill.rerun && kept && backfill.from < caller.now() - *kept) {
    co_return fault("from",
                    "is older than the queue keeps ended jobs, so that nobody knows what has run: "
                    "\"rerun\": true runs all of it again");
  }
  // What the schedule owes by itself is no past.
  Time until = backfill.to;
  const core::ScheduleProgress& progress = schedule.progress;
  if (!schedule.paused && progress.next) until = std::min(until, *progress.next);
  if (progress.waiting) until = std::min(until, *progress.waiting);

  BackfillAnswer answer;
  api::BackfillOutcome& outcome = answer.outcome;
  std::vector<std::pair<Time, JobId>> made;
  std::optional<Time> next = timing->next(backfill.from - Duration{1});
  std::size_t seen = 0;
  while (next && *next < until && outcome.submitted < backfill.limit && seen < kMostInstants) {
    std::vector<Time> instants;
    std::vector<JobId> ids;
    const auto room = std::min(static_cast<std::size_t>(backfill.limit - outcome.submitted),
                               std::max<std::size_t>(kBytesAtOnce / schedule.spec.job.size(), 1));
    for (; next && *next < until && instants.size() < room; next = timing->next(*next)) {
      instants.push_back(*next);
      ids.push_back(engine::job_id_of(schedule, *next));
    }
    seen += instants.size();
    auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(ids); };
    std::vector<bool> exists(ids.size());
    if (backfill.dry_run) {
      std::vector<engine::Request> questions;
      for (const JobId& id : ids) questions.emplace_back(core::GetJob{id});
      auto all = caller.answers_to(std::move(questions));
      std::vector<engine::Answer> answers = co_await all;
      auto stored = co_await caller.read(Lane::kLookups, read);
      if (!stored) co_return refused(stored);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto* const reply = reply_in<core::JobReply>(answers[i]);
        if (reply == nullptr) co_return refused(caller.problem_of(answers[i]));
        const auto is_it = [&](const core::Job& job) { return job.id == ids[i]; };
        exists[i] =
            reply->job != nullptr || (!reply->deleted && std::ranges::any_of(*stored, is_it));
      }
    } else {
      // All or nothing: a key that came with another body before must not do a part. A job of its
      // instant that was edited since still exists, and the others are tried again.
      for (bool done = false; !done;) {
        core::Enqueue enqueue;
        enqueue.atomicity = core::Atomicity::kAll;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < ids.size(); ++i) {
          if (exists[i]) continue;
          auto spec = engine::job_of(schedule, instants[i]);
          if (!spec) co_return refused(api::ProblemCode::kInternal, spec.error().message);
          spec->id = ids[i];
          spec->id_origin = core::IdOrigin::kClient;
          if (request.key) spec->key = key_of(caller, *request.key, request.as_sent, ids[i]);
          enqueue.jobs.push_back(std::move(*spec));
          places.push_back(i);
        }
        if (places.empty()) break;
        auto reply = co_await caller.ask(std::move(enqueue));
        if (!reply) co_return refused(reply);
        if (reply->items.size() != places.size()) co_return refused(other_number_of_jobs());
        done = !reply->refused_as_one;
        for (std::size_t place = 0; place < places.size(); ++place) {
          const core::EnqueueReply::Item& item = reply->items[place];
          const std::size_t i = places[place];
          const bool edited = item.refusal.why == core::Rejection::kIdMismatch;
          if (item.refusal && !edited) co_return refused(to_problem(item.refusal));
          if (edited) exists[i] = true;
          if (!done) continue;
          // By its key: a call that is repeated by this one has made it.
          exists[i] = item.fate == core::Fate::kExisting && !item.by_key;
          if (item.fate == core::Fate::kCreated) made.emplace_back(instants[i], ids[i]);
          answer.replayed = answer.replayed || item.by_key;
        }
      }
    }
    for (const bool there : exists) ++(there ? outcome.existing : outcome.submitted);
  }
  outcome.more = next && *next < until;
  // The list of runs shows the last ones.
  const std::size_t shown = std::min<std::size_t>(made.size(), core::kRunsKept);
  std::vector<core::Command> notes;
  for (std::size_t i = made.size() - shown; i < made.size(); ++i) {
    notes.emplace_back(core::NoteScheduleRun{
        schedule.name, schedule.incarnation, made[i].first, made[i].second, {}});
  }
  (void)co_await ask_each(caller, std::move(notes));
  co_return answer;
}

}  // namespace millrace::service
