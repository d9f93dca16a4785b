#include "fake_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/ascii.h"
#include "millrace/codec.h"
#include "pending.h"

namespace millrace::sdk {
namespace {

constexpr std::string_view kDefaultQueue = "default";
constexpr int kDefaultAttempts = 5;
constexpr Milliseconds kDefaultLease{30'000};
constexpr Milliseconds kDefaultBase{5'000};
constexpr Milliseconds kDefaultMax{300'000};
constexpr double kDefaultJitter = 0.2;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kAllLogs = 1'000;

bool is_name(std::string_view text) {
  const auto may_be = [](char c) { return is_unreserved(c) ? c != '~' : c == ':' || c == '/'; };
  return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, may_be);
}

RetryPolicy with_defaults(RetryPolicy retry) {
  if (retry.strategy.empty()) retry.strategy = "exponential";
  if (retry.strategy == "list") return retry;
  if (!retry.base) retry.base = kDefaultBase;
  if (!retry.max) retry.max = kDefaultMax;
  if (!retry.jitter) retry.jitter = kDefaultJitter;
  return retry;
}

// The pause after attempt `n`, counted from 1.
Milliseconds backoff(const RetryPolicy& retry, int n) {
  if (retry.strategy == "list") {
    const auto last = retry.delays.size() - 1;
    return retry.delays.empty() ? Milliseconds{0}
                                : retry.delays[std::min(static_cast<std::size_t>(n - 1), last)];
  }
  Milliseconds delay = *retry.base;
  if (retry.strategy == "linear") delay *= n;
  for (int i = 1; retry.strategy == "exponential" && i < n && delay < *retry.max; ++i) delay *= 2;
  return std::min(delay, *retry.max);
}

bool is_same(const NewJob& a, const NewJob& b) {
  const auto key = [](const NewJob& job) { return job.unique ? job.unique->key : ""; };
  return a.type == b.type && a.payload == b.payload &&
         a.priority.value_or(0) == b.priority.value_or(0) && a.timeout == b.timeout &&
         a.tags == b.tags && a.meta == b.meta && key(a) == key(b);
}

}  // namespace

void FakeJobs::set_handlers(Handlers handlers) {
  const std::lock_guard lock(mutex_);
  handlers_ = std::move(handlers);
}

void FakeJobs::advance(Milliseconds time) {
  const std::lock_guard lock(mutex_);
  now_ += time;
}

Timestamp FakeJobs::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

std::vector<FieldError> FakeJobs::faults_of(const NewJob& spec, std::string_view at) {
  std::vector<FieldError> faults;
  const auto require = [&](bool is_met, std::string_view member, std::string_view detail) {
    if (!is_met) faults.push_back({fmt::format("{}/{}", at, member), std::string(detail)});
  };
  constexpr std::string_view kName = "must be 1 to 128 characters of A-Z a-z 0-9 . _ : / -";
  require(is_name(spec.type), "type", kName);
  require(spec.queue.empty() || is_name(spec.queue), "queue", kName);
  using Bounds = std::numeric_limits<std::int16_t>;
  const int priority = spec.priority.value_or(0);
  require(priority >= Bounds::min() && priority <= Bounds::max(), "priority",
          "must be -32768 to 32767");
  const int attempts = spec.max_attempts.value_or(1);
  require(attempts >= 1 && attempts <= 1'000, "max_attempts", "must be 1 to 1000");
  require(!spec.run_at || !spec.delay, "delay_ms", "not together with run_at");
  return faults;
}

// An existing job that takes the place of the submission.
auto FakeJobs::known(const NewJob& spec, std::string_view text)
    -> Answer<std::pair<FakeJob*, bool>> {
  if (!spec.idempotency_key.empty()) {
    const auto key = keys_.find({spec.queue, spec.idempotency_key});
    if (key != keys_.end() && key->second.text != text) {
      return std::unexpected(
          Refusal{422, "idempotency_mismatch", "the idempotency key was used with another body"});
    }
    if (key != keys_.end()) return std::pair{find(key->second.id), false};
  }
  if (FakeJob* same = spec.id.empty() ? nullptr : find(spec.id)) {
    if (same->spec.queue != spec.queue) {
      return std::unexpected(Refusal{409, "duplicate_job", "a job of another queue has this id"});
    }
    if (!is_same(same->spec, spec)) {
      return std::unexpected(Refusal{409, "id_mismatch", "another job has this id"});
    }
    return std::pair{same, false};
  }
  FakeJob* const holder = holder_of(spec);
  if (holder == nullptr) return std::pair{nullptr, true};
  const std::string& conflict = spec.unique->on_conflict;
  if (conflict == "replace" && holder->state != "running") {
    if (!holder->has_ended()) end(*holder, "cancelled");
    return std::pair{nullptr, true};
  }
  if (conflict == "return" || conflict.empty()) return std::pair{holder, false};
  return std::unexpected(Refusal{409, "duplicate_job", "a job holds this unique key"});
}

auto FakeJobs::submit(NewJob spec, std::string_view text) -> Answer<std::pair<FakeJob*, bool>> {
  if (spec.queue.empty()) spec.queue = kDefaultQueue;
  auto found = known(spec, text);
  if (!found || !found->second) return found;
  if (names_no_limit(spec)) {
    return std::unexpected(Refusal{422, "unknown_limit", std::string(kNoSuchLimit)});
  }
  if (is_full(spec.queue)) {
    return std::unexpected(
        Refusal{429, "queue_full", fmt::format("the queue {} is full", spec.queue)});
  }
  FakeJob& job = store(std::move(spec));
  if (!job.spec.idempotency_key.empty()) {
    keys_[{job.spec.queue, job.spec.idempotency_key}] = {std::string(text), job.spec.id};
  }
  const bool is_due = job.run_at <= now_;
  if (mode_ == FakeMode::kInline && is_due && handlers_.has(job.spec.type)) run(job, handlers_);
  return std::pair{&job, true};
}

bool FakeJobs::names_no_limit(const NewJob& spec) const {
  const auto is_there = [this](const JobLimit& limit) { return setup_.has_limit(limit.name); };
  return !std::ranges::all_of(spec.limits, is_there);
}

bool FakeJobs::is_full(const std::string& queue) const {
  const auto most = JsonView(setup_.member_of("queues", queue, "max_ready")).natural();
  const auto is_ready = [&](const auto& entry) {
    return entry.second.spec.queue == queue && entry.second.state == "ready";
  };
  return most && static_cast<std::uint64_t>(std::ranges::count_if(jobs_, is_ready)) >= *most;
}

FakeJob& FakeJobs::store(NewJob spec) {
  if (spec.id.empty()) spec.id = make_id(spec.queue);
  // What a job leaves out is the queue's.
  const auto setting = [&](const char* name) {
    return setup_.member_of("queues", spec.queue, name);
  };
  if (!spec.max_attempts) {
    const auto attempts = JsonView(setting("max_attempts")).integer();
    spec.max_attempts = static_cast<int>(attempts.value_or(kDefaultAttempts));
  }
  if (!spec.lease) {
    spec.lease =
        Milliseconds{JsonView(setting("lease_ms")).integer().value_or(kDefaultLease.count())};
  }
  if (const std::string retry = setting("retry"); !spec.retry && !retry.empty()) {
    spec.retry = read_new_job(JsonView(fmt::format(R"({{"retry":{}}})", retry))).retry;
  }
  spec.retry = with_defaults(spec.retry.value_or(RetryPolicy{}));
  if (spec.unique && spec.unique->on_conflict.empty()) spec.unique->on_conflict = "return";
  FakeJob job;
  job.created_at = now_;
  job.run_at = spec.delay ? now_ + *spec.delay : spec.run_at.value_or(now_);
  job.expires_at = spec.expires_in ? std::optional(now_ + *spec.expires_in) : spec.expires_at;
  job.state = job.run_at > now_ ? "scheduled" : "ready";
  job.number = ++last_number_;
  job.spec = std::move(spec);
  order_.push_back(job.spec.id);
  return jobs_.emplace(order_.back(), std::move(job)).first->second;
}

FakeJob& FakeJobs::release(NewJob spec) {
  FakeJob& job = store(std::move(spec));
  if (mode_ == FakeMode::kInline) released_.push_back(job.spec.id);
  return job;
}

void FakeJobs::run_released() {
  while (!released_.empty()) {
    FakeJob* const job = find(std::exchange(released_.front(), {}));
    released_.pop_front();
    const bool is_due = job != nullptr && job->state == "ready";
    if (is_due && handlers_.has(job->spec.type)) run(*job, handlers_);
  }
}

FakeJob* FakeJobs::holder_of(const NewJob& spec) {
  if (!spec.unique) return nullptr;
  for (auto& [id, job] : jobs_) {
    if (!job.spec.unique || job.spec.unique->key != spec.unique->key) continue;
    if (job.spec.queue != spec.queue) continue;
    const bool is_held = job.spec.unique->hold && now_ < job.created_at + *job.spec.unique->hold;
    if (!job.has_ended() || is_held) return &job;
  }
  return nullptr;
}

auto FakeJobs::cancel(const std::string& id, std::string_view) -> Answer<FakeJob*> {
  FakeJob* const job = find(id);
  if (job == nullptr) return std::unexpected(Refusal{});
  if (job->has_ended()) {
    return std::unexpected(Refusal{409, "invalid_state", "the job's state does not allow this"});
  }
  if (job->state == "running") {
    job->cancel_requested = true;
    job->stop.request_stop();
  } else {
    end(*job, "cancelled");
  }
  return job;
}

auto FakeJobs::retry(const std::string& id, JsonView options) -> Answer<FakeJob*> {
  FakeJob* const job = find(id);
  if (job == nullptr) return std::unexpected(Refusal{});
  if (!job->has_ended()) {
    return std::unexpected(
        Refusal{409, "invalid_state", "the job has not ended; only an ended job can be retried"});
  }
  if (job->workflow && job->workflow->number) {
    return std::unexpected(Refusal{409, "invalid_state",
                                   "the job is a member's; retry it by its workflow, on a server"});
  }
  job->run_at = read_time(options["run_at"].string().value_or("")).value_or(now_);
  job->state = job->run_at > now_ ? "scheduled" : "ready";
  if (options["reset_attempts"].boolean().value_or(true)) job->attempt = 0;
  job->finished_at.reset();
  job->expires_at.reset();
  job->cancel_requested = false;
  ++job->generation;
  ++job->version;
  return job;
}

FakeJob* FakeJobs::find(const std::string& id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

void FakeJobs::end(FakeJob& job, std::string_view state) {
  job.state = state;
  job.finished_at = now_;
  ++job.version;
  workflows_.job_ended(job);
}

std::size_t FakeJobs::drain() {
  const std::lock_guard lock(mutex_);
  return drain(handlers_);
}

std::size_t FakeJobs::drain(const Handlers& handlers) {
  const std::lock_guard lock(mutex_);
  std::size_t ran = 0;
  while (FakeJob* job = next_due(handlers)) {
    run(*job, handlers);
    ++ran;
  }
  return ran;
}

FakeJob* FakeJobs::next_due(const Handlers& handlers) {
  FakeJob* next = nullptr;
  const auto rank = [](const FakeJob& job) {
    return std::tuple(job.spec.priority.value_or(0), job.run_at, job.number);
  };
  for (auto& [id, job] : jobs_) {
    if (job.has_ended() || job.state == "running") continue;
    if (job.attempt == 0 && job.expires_at && *job.expires_at <= now_) {
      end(job, "expired");
      continue;
    }
    if (job.run_at > now_) continue;
    job.state = "ready";
    if (!handlers.has(job.spec.type)) continue;
    if (next == nullptr || rank(job) < rank(*next)) next = &job;
  }
  return next;
}

void FakeJobs::run(FakeJob& job, const Handlers& handlers) {
  job.state = "running";
  job.started_at = now_;
  ++job.attempt;
  ++job.version;
  auto pending = std::make_shared<Context::Pending>();
  ClaimedJob claim{.id = job.spec.id,
                   .queue = job.spec.queue,
                   .type = job.spec.type,
                   .payload = job.spec.payload,
                   .attempt = job.attempt,
                   .max_attempts = *job.spec.max_attempts,
                   .token = ++last_token_,
                   .lease = job.spec.lease,
                   .tags = job.spec.tags,
                   .meta = job.spec.meta,
                   .traceparent = job.spec.traceparent,
                   .tracestate = job.spec.tracestate,
                   .schedule = job.schedule,
                   .checkpoint = job.checkpoint};
  workflows_.describe(job, claim);
  Context context(std::move(claim), pending);
  job.stop = context.stop_;
  const std::stop_callback told(job.stop.get_token(), [&pending] {
    const std::lock_guard lock(pending->mutex);
    pending->reason = StopReason::kCancelled;
  });
  Outcome outcome = run_handler(handlers, context);
  if (!outcome.reason.empty()) context.log("info", outcome.reason);
  Heartbeat last;
  pending->take_progress(last);
  if (last.progress) job.progress = std::move(last.progress);
  if (!last.checkpoint.empty()) job.checkpoint = std::move(last.checkpoint);
  for (WorkerLogLine& line : pending->take_logs(kAllLogs)) {
    job.logs.push_back({.seq = static_cast<std::int64_t>(job.logs.size()) + 1,
                        .attempt = job.attempt,
                        .at = now_,
                        .level = std::move(line.level),
                        .message = std::move(line.message)});
  }
  settle(job, std::move(outcome));
}

void FakeJobs::settle(FakeJob& job, Outcome outcome) {
  ++job.version;
  if (const auto refusal = workflows_.grow(job, std::move(outcome.grow))) {
    outcome = Outcome::failed({.type = "outcome_refused", .message = refusal->detail});
    for (const FieldError& fault : refusal->errors) {
      outcome.error->message += fmt::format("; {}: {}", fault.where, fault.detail);
    }
  }
  if (outcome.outcome == "succeeded") {
    job.result = outcome.result.empty() ? "null" : std::move(outcome.result);
    end(job, "succeeded");
    for (NewJob& next : outcome.enqueue) static_cast<void>(submit(std::move(next), {}));
    return;
  }
  if (outcome.outcome == "cancelled") return end(job, "cancelled");
  if (outcome.outcome == "snoozed" || outcome.outcome == "released") {
    --job.attempt;
    job.run_at = now_ + outcome.delay.value_or(Milliseconds{0});
    job.state = outcome.outcome == "snoozed" ? "scheduled" : "ready";
    return;
  }
  job.last_error = outcome.error.value_or(JobError{.type = "error"});
  job.last_error->attempt = job.attempt;
  job.last_error->at = now_;
  if (job.cancel_requested) return end(job, "cancelled");
  const bool is_dead = !outcome.retryable || job.attempt >= *job.spec.max_attempts;
  if (is_dead || outcome.outcome == "dead") return end(job, "dead");
  job.state = "retrying";
  job.run_at = now_ + outcome.delay.value_or(backoff(*job.spec.retry, job.attempt));
}

}  // namespace millrace::sdk
