#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/refusal.h"
#include "base/check.h"
#include "service/caller.h"
#include "service/convert.h"

namespace millrace::service {
namespace {

constexpr Duration kQueueFullRetryAfter{1'000};

std::string_view hexadecimal(std::uint64_t number, std::deque<std::string>& texts) {
  if (number == 0) return {};
  return texts.emplace_back(fmt::format("{:016x}", number));
}

api::JobError error_shape(const core::JobError& error, std::deque<std::string>& texts,
                          Shown shown) {
  api::JobError made;
  made.type = error.type.view();
  made.redacted = shown == Shown::kRedacted;
  if (!made.redacted) {
    made.message = error.message.view();
    made.stack = error.stack.view();
  }
  made.fingerprint = hexadecimal(error.fingerprint, texts);
  made.attempt = error.attempt;
  made.at = error.at;
  return made;
}

api::Attempt attempt_shape(const core::Attempt& attempt, std::deque<std::string>& texts,
                           Shown shown) {
  api::Attempt made;
  made.n = attempt.n;
  made.attempt = attempt.attempt;
  made.worker = attempt.worker.view();
  made.started_at = attempt.started_at;
  made.finished_at = attempt.finished_at;
  made.outcome = attempt.outcome;
  if (attempt.error) made.error = error_shape(*attempt.error, texts, shown);
  return made;
}

api::Progress progress_shape(const core::Progress& progress) {
  return {progress.percent, progress.message.view(), progress.checkpoint.view()};
}

std::vector<std::string_view> views_of(const std::vector<SharedBytes>& texts) {
  std::vector<std::string_view> views;
  views.reserve(texts.size());
  for (const SharedBytes& text : texts) views.push_back(text.view());
  return views;
}

api::StringMapView view_of(const std::vector<std::pair<SharedBytes, SharedBytes>>& map) {
  api::StringMapView views;
  views.reserve(map.size());
  for (const auto& [name, value] : map) views.emplace_back(name.view(), value.view());
  return views;
}

std::optional<std::int64_t> to_signed(const auto& number) {
  if (!number) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace

api::RetryPolicy to_api(const core::RetryPolicy& policy) {
  api::RetryPolicy made;
  made.strategy = policy.strategy;
  made.base = policy.base;
  made.max = policy.max;
  made.jitter = policy.jitter_ppm / api::kPartsPerMillion;
  made.delays = policy.delays;
  return made;
}

api::Membership to_api(const core::Membership& member) {
  api::Membership made;
  made.workflow = member.workflow;
  made.name = member.name.view();
  made.role = member.role;
  made.number = member.number;
  made.ref = member.ref.view();
  made.generation = member.generation;
  made.state = member.state;
  made.counts = member.counts;
  made.failed = views_of(member.failed);
  return made;
}

JobShape::JobShape(const core::JobView& view, const api::Include& include) {
  fill(view.job, include);
  const Shown shown = include.redacted ? Shown::kRedacted : Shown::kWhole;
  if (include.attempts) job_.attempts = attempts_of(view, texts_, shown);
  if (include.logs) job_.logs = logs_of(view.logs, shown);
  if (include.events) {
    events_ = engine::job_events(view);
    job_.events.emplace();
    for (engine::FeedEvent& event : events_) {
      if (include.redacted) redact(event);
      job_.events->push_back(to_api(event));
    }
  }
}

JobShape::JobShape(const core::Job& job, const api::Include& include) { fill(job, include); }

void JobShape::fill(const core::Job& job, const api::Include& include) {
  job_.id = job.id;
  job_.queue = job.queue.view();
  job_.type = job.type.view();
  job_.state = job.state;
  job_.priority = job.priority;
  job_.attempt = job.attempt;
  job_.max_attempts = job.max_attempts;
  job_.crashes = job.crashes;
  job_.generation = job.generation;
  job_.version = job.version;
  job_.created_at = job.created_at;
  job_.run_at = job.run_at;
  job_.expires_at = job.expires_at;
  if (job.latest.n > 0) job_.started_at = job.latest.started_at;
  job_.finished_at = job.finished_at;
  if (job.state == core::State::kRunning) {
    job_.lease_expires_at = job.lease_expires_at;
    job_.worker = job.latest.worker.view();
  }
  job_.cancel_requested = job.cancel_requested;
  if (job.progress) job_.progress = progress_shape(*job.progress);
  if (include.redacted && job_.progress) job_.progress->checkpoint = {};
  if (job.last_error) {
    job_.last_error =
        error_shape(*job.last_error, texts_, include.redacted ? Shown::kRedacted : Shown::kWhole);
  }
  job_.retry = to_api(*job.retry);
  job_.lease = job.lease;
  job_.timeout = job.timeout;
  if (job.extras) {
    if (job.extras->unique) job_.unique = to_api(*job.extras->unique);
    job_.tags = views_of(job.extras->tags);
    job_.meta = view_of(job.extras->meta);
    job_.limits = job.extras->limits;
    job_.order_key = job.extras->order_key.view();
    if (job.extras->order_passes) job_.order_on_failure = api::OrderOnFailure::kPass;
    job_.fair_key = job.extras->fair_key.view();
    job_.traceparent = job.extras->traceparent.view();
    job_.schedule = job.extras->schedule.view();
    job_.scheduled_at = job.extras->scheduled_at.value_or(Time{});
    if (job.extras->member) job_.workflow = to_api(*job.extras->member);
  }
  job_.redacted = include.redacted;
  if (include.redacted) return;
  if (include.payload) job_.payload = job.payload.empty() ? "null" : job.payload.view();
  if (include.result) job_.result = job.result.view();
}

std::vector<api::Attempt> attempts_of(const core::JobView& view, std::deque<std::string>& texts,
                                      Shown shown) {
  std::vector<api::Attempt> attempts;
  attempts.reserve(view.attempts.size() + 1);
  for (const core::Attempt& attempt : view.attempts) {
    attempts.push_back(attempt_shape(attempt, texts, shown));
  }
  if (view.job.latest.n > 0) attempts.push_back(attempt_shape(view.job.latest, texts, shown));
  return attempts;
}

std::vector<api::LogLine> logs_of(const std::vector<core::LogLine>& log, Shown shown) {
  std::vector<api::LogLine> lines;
  lines.reserve(log.size());
  for (const core::LogLine& line : log) {
    const bool redacted = shown == Shown::kRedacted;
    lines.push_back({line.seq, line.attempt, line.at, static_cast<terms::LogLevel>(line.level),
                     redacted ? std::string_view() : line.message.view(), redacted});
  }
  return lines;
}

void redact(engine::FeedEvent& event) {
  auto* const facts = std::get_if<terms::AttemptFacts>(&event.facts);
  if (facts == nullptr || !facts->error) return;
  facts->error->message = {};
  facts->error->redacted = true;
}

api::JobEvent to_api(const engine::FeedEvent& event) {
  api::JobEvent made;
  made.id = event.position;
  made.at = event.at;
  made.type = event.type;
  made.queue = event.queue.view();
  made.job_id = event.job;
  made.job_type = event.job_type.view();
  made.attempt = to_signed(event.attempt);
  made.worker = event.worker.view();
  made.facts = &event.facts;
  return made;
}

std::vector<api::JobEvent> to_api(const std::vector<engine::FeedEvent>& events) {
  std::vector<api::JobEvent> made;
  made.reserve(events.size());
  for (const engine::FeedEvent& event : events) made.push_back(to_api(event));
  return made;
}

std::string_view state_name(const std::optional<core::State>& state) {
  return state ? name_of(*state) : std::string_view("pruned");
}

api::ClaimedJob claimed(const core::Job& job) {
  api::ClaimedJob made;
  made.id = job.id;
  made.queue = job.queue.view();
  made.type = job.type.view();
  if (!job.payload.empty()) made.payload = job.payload.view();
  made.priority = job.priority;
  made.attempt = job.attempt;
  made.max_attempts = job.max_attempts;
  made.token = job.token;
  made.lease_expires_at = job.lease_expires_at.value_or(Time{});
  made.lease = job.lease_length;
  made.created_at = job.created_at;
  made.deadline = job.deadline;
  made.timeout = job.timeout;
  if (job.extras) {
    made.tags = views_of(job.extras->tags);
    made.meta = view_of(job.extras->meta);
    made.traceparent = job.extras->traceparent.view();
    made.tracestate = job.extras->tracestate.view();
    made.schedule = job.extras->schedule.view();
    made.scheduled_at = job.extras->scheduled_at.value_or(Time{});
    if (job.extras->member) made.workflow = to_api(*job.extras->member);
  }
  if (job.progress) made.progress = progress_shape(*job.progress);
  return made;
}

api::WorkerCommand to_api(const engine::WorkerCommand& order) {
  return {order.kind, order.job, order.token};
}

api::Worker to_api(const engine::WorkerView& worker) {
  const engine::WorkerInfo& info = worker.info;
  api::Worker made;
  made.id = info.id.view();
  made.host = info.host;
  made.pid = info.pid;
  made.sdk = info.sdk;
  made.version = info.version;
  for (const auto& [name, value] : info.labels) made.labels.emplace_back(name, value);
  made.queues = views_of(worker.queues);
  made.types = views_of(worker.types);
  made.state = worker.state;
  made.first_seen_at = worker.first_seen_at;
  made.last_seen_at = worker.last_seen_at;
  for (const core::JobView& view : worker.running) {
    const core::Job& job = view.job;
    made.running.push_back({job.id, job.queue.view(), job.type.view(), job.attempt,
                            job.latest.started_at, job.lease_expires_at.value_or(Time{})});
  }
  return made;
}

api::Bounds to_api(const core::Bounds& bounds) {
  api::Bounds made;
  made.concurrency = to_signed(bounds.concurrency);
  made.rate = bounds.rate;
  return made;
}

api::FairSettings to_api(const core::FairSettings& fair) {
  api::FairSettings made;
  for (const core::FairWeight& own : fair.weights) {
    made.weights.emplace_back(own.key.view(), own.weight);
  }
  made.default_weight = fair.default_weight;
  made.by = fair.by;
  return made;
}

api::UniqueKey to_api(const core::UniqueRule& rule) {
  return {std::string(rule.key.view()), rule.hold_for, rule.on_conflict, rule.max_wait};
}

api::Queue to_api(const core::Queue& queue, const engine::QueueRates& rates, Time now) {
  api::Queue made;
  made.name = queue.name.view();
  made.paused = queue.paused;
  made.pause_reason = queue.pause_reason.view();
  for (std::size_t i = 0; i < made.counts.size(); ++i) {
    made.counts[i] = static_cast<std::int64_t>(queue.counts[i]);
  }
  if (queue.oldest_ready_at) {
    made.oldest_ready_age = std::max(Duration{0}, now - *queue.oldest_ready_at);
  }
  made.rates = {rates.submitted, rates.started, rates.succeeded, rates.failed};
  const core::QueueSettings& settings = queue.settings;
  made.settings.max_attempts = settings.max_attempts;
  made.settings.max_crashes = to_signed(settings.max_crashes);
  made.settings.retry = to_api(*settings.retry);
  made.settings.lease = settings.lease;
  made.settings.max_ready = to_signed(settings.max_ready);
  const api::Bounds bounds = to_api(settings.bounds());
  made.settings.concurrency = bounds.concurrency;
  made.settings.rate = bounds.rate;
  made.settings.breaker = settings.breaker;
  made.settings.limits = settings.limits;
  if (settings.fair) made.settings.fair = to_api(*settings.fair);
  made.settings.ageing = settings.ageing;
  made.settings.max_ready_per_key = to_signed(settings.max_ready_per_key);
  made.settings.retention.succeeded = settings.retention.succeeded;
  made.settings.retention.dead = settings.retention.dead;
  made.settings.retention.cancelled = settings.retention.cancelled;
  made.settings.retention.expired = settings.retention.expired;
  made.version = queue.version;
  return made;
}

namespace {

// An item gets the same answer as a whole request to its shard.
engine::Unavailable unavailable_of(core::RefusalDetail detail) {
  using core::RefusalDetail;
  using engine::Unavailable;
  switch (detail) {
    case RefusalDetail::kShardSilent:
      return Unavailable::kUnknown;
    case RefusalDetail::kShardWithoutLeader:
      return Unavailable::kNoLeader;
    case RefusalDetail::kShardStopping:
      return Unavailable::kDraining;
    case RefusalDetail::kShardUnwritable:
      return Unavailable::kStorage;
    default:
      return Unavailable::kOverloaded;
  }
}

// The faulty member of the request.
std::string_view place_of(core::RefusalDetail detail, std::string_view what) {
  if (detail == core::RefusalDetail::kFairAndAgeing) return "/ageing_ms";
  if (detail == core::RefusalDetail::kKeyBoundWithoutFair) return "/max_ready_per_key";
  if (detail == core::RefusalDetail::kSlowsLimitOfOthers) return "/slow_down";
  if (what.starts_with('/')) return what;
  return what == "limit" ? "/key" : "/limits";
}

// Fills in how full the queue, or its key, is, and when to try again.
void add_room(const core::Refusal& refusal, api::Problem& problem) {
  problem.retry_after = kQueueFullRetryAfter;
  if (refusal.full == nullptr) return;
  problem.full = {refusal.full->depth, refusal.full->oldest};
  problem.retry_after = refusal.full->room_in.value_or(kQueueFullRetryAfter);
}

// The fault may lie in a job or queue that names the limit, or in a pause of one of its keys.
api::Problem unfit_limit(core::RefusalDetail detail, std::string_view what) {
  if (what == "queue" && detail == core::RefusalDetail::kLimitWantsKey) {
    return api::make_fault(
        api::FieldError::Place::kPointer, "/limits",
        "the limit counts by key; send a key, or \"key_from\": \"fair_key\", with it");
  }
  return api::make_fault(api::FieldError::Place::kPointer, std::string(place_of(detail, what)),
                         std::string(api::sentence_of(detail)));
}

api::Problem duplicate_workflow(const JobId& holder) {
  return api::make_problem(api::ProblemCode::kDuplicateWorkflow,
                           "workflow " + to_string(holder) +
                               " holds this unique key; wait until it ends, or send "
                               "\"on_conflict\": \"return\"");
}

}  // namespace

api::Problem to_problem(const core::Refusal& refusal, std::string_view what) {
  using api::ProblemCode;
  const std::string_view said = api::sentence_of(refusal.detail);
  const auto problem = [said](ProblemCode code, std::string detail) {
    if (!said.empty()) detail = said;
    return api::make_problem(code, std::move(detail));
  };
  switch (refusal.why) {
    case core::Rejection::kOverloaded: {
      api::Problem made = problem_of(unavailable_of(refusal.detail));
      if (!said.empty()) made.detail = said;
      return made;
    }
    case core::Rejection::kIdempotencyMismatch:
      return problem(
          ProblemCode::kIdempotencyMismatch,
          "an earlier request used this idempotency key with another body; use a new key");
    case core::Rejection::kDuplicateJob:
      return problem(ProblemCode::kDuplicateJob,
                     "job " + to_string(refusal.other) + " already has this id or unique key");
    case core::Rejection::kQueueFull:
    case core::Rejection::kKeyFull: {
      const bool of_key = refusal.why == core::Rejection::kKeyFull;
      api::Problem made = problem(of_key ? ProblemCode::kKeyFull : ProblemCode::kQueueFull,
                                  "the queue has reached its max_ready; try again later");
      add_room(refusal, made);
      return made;
    }
    case core::Rejection::kNotFound:
      return problem(ProblemCode::kNotFound, "there is no such " + std::string(what));
    case core::Rejection::kLeaseLost:
      return problem(ProblemCode::kLeaseLost,
                     "the worker's lease of this job has ended; stop working on the job");
    case core::Rejection::kVersionConflict:
      return problem(ProblemCode::kVersionConflict,
                     "the " + std::string(what) + " has a newer version; read it again");
    case core::Rejection::kInvalidState:
      return problem(ProblemCode::kInvalidState, "the job's state does not allow this");
    case core::Rejection::kIdMismatch:
      return problem(ProblemCode::kIdMismatch,
                     "a job with this id has other content; use a new id");
    case core::Rejection::kTooManyQueues:
      return problem(ProblemCode::kTooManyQueues,
                     "the shard has reached its limit of queues; delete unused queues");
    case core::Rejection::kTooManySchedules:
      return problem(ProblemCode::kTooManySchedules,
                     "the shard has reached its limit of schedules; delete unused schedules");
    case core::Rejection::kTooManyEntries:
      return problem(ProblemCode::kTooManyEntries,
                     "the store has reached its limit of these; delete unused ones");
    case core::Rejection::kTooManyLimits:
      return problem(ProblemCode::kTooManyEntries, "there are too many limits; delete unused ones");
    case core::Rejection::kUnknownLimit:
      return problem(ProblemCode::kUnknownLimit, "no limit has this name");
    case core::Rejection::kUnfitLimit:
      return unfit_limit(refusal.detail, what);
    case core::Rejection::kLimitInUse:
      return problem(ProblemCode::kLimitInUse, "jobs or queues name the limit");
    case core::Rejection::kDuplicateWorkflow:
      return duplicate_workflow(refusal.other);
    case core::Rejection::kUnfitMembers:
      return api::make_fault(api::FieldError::Place::kPointer,
                             std::string(what.starts_with('/') ? what : "/members"),
                             std::string(said));
    case core::Rejection::kNone:
      break;
  }
  MILLRACE_CHECK(false);
}

}  // namespace millrace::service
