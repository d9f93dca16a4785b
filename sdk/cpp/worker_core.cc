#include "worker_core.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/random.h"
#include "constants.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPauseAfterNothing{100};  // used if a claim did not wait as it should
constexpr milliseconds kIdlePause{
    1'000};  // between claims of a worker that waits for its own last jobs
// Outcomes are answered only after the claim sent with them has waited. A refusal must be known
// before the lease ends.
constexpr milliseconds kWaitWithAcks{1'000};
constexpr std::string_view kUntold =
    "the worker stops before it could report all outcomes; the server will run those jobs again";

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

std::string version_of_environment() {
  const char* version = std::getenv("MILLRACE_WORKER_VERSION");
  return version == nullptr ? "" : version;
}

}  // namespace

WorkerCore::WorkerCore(const Client& client, WorkerOptions options)
    : client_(client),
      options_(std::move(options)),
      outbox_(options_.ack_delay),
      claim_backoff_(kFirstPause, kLongestPause, system_random()),
      report_backoff_(kFirstPause, kLongestPause, system_random()) {
  info_.host = host_name();
  info_.pid = static_cast<int>(getpid());
  info_.version = options_.version.empty() ? version_of_environment() : options_.version;
  if (options_.id.empty()) {
    options_.id = fmt::format("{}-{}-{:08x}", info_.host, info_.pid, system_random() & 0xffffffff);
  }
  if (options_.exit_when == ExitWhen::kOneJobDone) options_.concurrency = 1;
  options_.concurrency = std::max(options_.concurrency, 1);
  free_slots_ = options_.concurrency;
}

Result<void> WorkerCore::run(const std::stop_token& stop, Handlers handlers) {
  handlers_ = std::move(handlers);
  if (auto types = handlers_.types(); !types.empty()) options_.types = std::move(types);
  Result<void> result;
  bool told_all = false;
  {
    const std::stop_callback on_stop(stop, [this] { begin_stop(); });
    std::vector<std::thread> threads;
    living_handlers_ = options_.concurrency;
    for (int i = 0; i < options_.concurrency; ++i) {
      threads.emplace_back([self = shared_from_this()] { self->handle_jobs(); });
    }
    const std::jthread reporter([this] { report(); });
    const std::jthread watcher([this] { watch(); });
    result = claim_until_stopped();
    if (!result) begin_stop();
    told_all = drain();
    close(std::move(threads));
  }
  if (result) say_goodbye();
  if (told_all) return result;
  if (!result) {
    notice(kUntold);
    return result;
  }
  Error untold;
  untold.kind = ErrorKind::kUnreachable;
  untold.code = "unreachable";
  untold.message = kUntold;
  return std::unexpected(std::move(untold));
}

// Waits for running handlers and for the answers to the last outcomes. False: some outcomes could
// not be reported.
bool WorkerCore::drain() {
  Lock lock(mutex_);
  is_draining_ = true;
  report_not_before_ = std::min(report_not_before_, std::chrono::steady_clock::now() + kFirstPause);
  leave_acks_to_reporter(lock);
  claimer_wakes_.wait(
      lock, [this] { return free_slots_ == options_.concurrency && (asked_ == 0 || is_aborted_); });
  const auto has_told_all = [this] {
    return outbox_.empty() && partings_.empty() && parting_now_.empty() && acks_in_flight_ == 0;
  };
  const auto deadline = std::chrono::steady_clock::now() + options_.flush_timeout;
  claimer_wakes_.wait_until(lock, deadline, [&] { return is_aborted_ || has_told_all(); });
  if (is_aborted_) claimer_wakes_.wait_for(lock, kRefusedFlush, has_told_all);
  return has_told_all();
}

// Ends the threads. A handler left behind keeps its own thread, and this object.
void WorkerCore::close(std::vector<std::thread> handlers) {
  Lock lock(mutex_);
  is_closing_ = true;
  handler_wakes_.notify_all();
  reporter_wakes_.notify_all();
  watcher_wakes_.notify_all();
  handler_ended_.wait(
      lock, [this] { return static_cast<std::size_t>(living_handlers_) == left_behind_; });
  const bool all_ended = living_handlers_ == 0;
  std::stop_source report = report_stop_;
  lock.unlock();
  report.request_stop();
  for (std::thread& handler : handlers) all_ended ? handler.join() : handler.detach();
}

// Removes the worker from the server's list. This is optional, so it is tried only once.
void WorkerCore::say_goodbye() {
  {
    const std::lock_guard lock(mutex_);
    if (is_unreachable_) return;
  }
  PollRequest request;
  request.goodbye = true;
  const std::stop_source not_broken_off;
  static_cast<void>(client_.poll(options_.id, request, not_broken_off.get_token(), kGoodbye));
}

void WorkerCore::abort() {
  std::vector<AttemptKey> keys;
  {
    const Lock lock(mutex_);
    for (const auto& [key, attempt] : attempts_) keys.push_back(key);
    if (!std::exchange(is_aborted_, true)) aborted_ = std::chrono::steady_clock::now();
    claimer_wakes_.notify_all();
    watcher_wakes_.notify_all();
  }
  for (const AttemptKey& key : keys) end_attempt(key, StopReason::kStopping);
}

std::size_t WorkerCore::left_behind() {
  const Lock lock(mutex_);
  return left_behind_;
}

Result<void> WorkerCore::claim_until_stopped() {
  for (;;) {
    {
      Lock lock(mutex_);
      claimer_ = acks_are_suspect_ || is_quiet_ ? Claimer::kAway : Claimer::kReady;
      if (is_quiet_) wake_reporter(lock, acks_due(lock));
      const auto may_claim = [&] { return open_slots(lock) > 0 && !is_quiet_; };
      const auto has_ended = [&] {
        const bool exits = is_quiet_ && options_.exit_when == ExitWhen::kNothingToClaim;
        return is_stopping() || (exits && free_slots_ == options_.concurrency && asked_ == 0);
      };
      claimer_wakes_.wait(lock, [&] { return may_claim() || has_ended(); });
      if (has_ended()) return {};
    }
    auto go_on = claim_once();
    if (!go_on) return std::unexpected(std::move(go_on.error()));
    if (!*go_on) return {};
  }
}

Result<bool> WorkerCore::claim_once() {
  Lock lock(mutex_);
  tell_what_is_due(lock);
  if (is_stopping()) return true;
  auto acks = acks_are_suspect_ ? std::vector<OutgoingAck>{} : take_acks(lock);
  const bool had_acks = !acks.empty();
  milliseconds wait{0};
  if (options_.exit_when != ExitWhen::kNothingToClaim) {
    wait = had_acks ? std::min(options_.poll_wait, kWaitWithAcks) : options_.poll_wait;
  }
  PollRequest request;
  add_claim(lock, request, wait);
  claimer_ = Claimer::kPolling;
  claim_began_ = std::chrono::steady_clock::now();
  const auto began = claim_began_;
  wake_reporter(lock, acks_due(lock));  // for those that did not fit
  lock.unlock();

  const auto answer = exchange(By::kClaimer, request, acks);
  if (!answer) {
    give_back(std::move(acks));
    const Error& error = answer.error();
    // Cancelled by a stop.
    if (error.kind == ErrorKind::kInterrupted) return true;
    // One of the outcomes may be the reason, even if a proxy answered "forbidden".
    const bool is_suspect = had_acks && !may_pass(error);
    if (!is_suspect && ends_work(error)) return std::unexpected(error);
    claim_failed(error, is_suspect);
    return true;
  }
  claim_backoff_.reset();
  const bool is_early = std::chrono::steady_clock::now() - began < wait / 2;
  if (is_early && !answer->brought_jobs && !answer->brought_commands) {
    // A server that is about to stop answers claims at once.
    pause_claims(kPauseAfterNothing);
  }
  return !may_exit(!answer->brought_jobs);
}

void WorkerCore::claim_failed(const Error& error, bool acks_are_suspect) {
  if (acks_are_suspect) {
    // The next claim carries no outcomes, which shows whether the claim itself is at fault.
    const std::lock_guard lock(mutex_);
    acks_are_suspect_ = true;
  } else {
    connection_failed(error);
  }
  pause_claims(error.retry_after.value_or(milliseconds{0}));
}

void WorkerCore::pause_claims(milliseconds at_least) {
  Lock lock(mutex_);
  leave_acks_to_reporter(lock);
  const auto delay = std::max(claim_backoff_.next(), at_least);
  claimer_wakes_.wait_for(lock, delay, [this] { return is_stopping(); });
}

void WorkerCore::leave_acks_to_reporter(const Lock& held) {
  claimer_ = Claimer::kAway;
  wake_reporter(held, acks_due(held));
}

// Called after each claim. If the worker exits when all is done, waits for its running jobs.
bool WorkerCore::may_exit(bool claimed_nothing) {
  Lock lock(mutex_);
  const auto is_idle = [this] { return free_slots_ == options_.concurrency && asked_ == 0; };
  switch (options_.exit_when) {
    case ExitWhen::kStopped:
      return false;
    case ExitWhen::kOneJobDone:
      leave_acks_to_reporter(lock);
      claimer_wakes_.wait(lock, is_idle);
      return finished_ > 0;
    case ExitWhen::kNothingToClaim:
      if (!claimed_nothing) return false;
      if (is_idle()) return true;
      leave_acks_to_reporter(lock);
      const std::uint64_t before = finished_;
      claimer_wakes_.wait_for(lock, kIdlePause, [&] { return finished_ != before || is_idle(); });
      return false;
  }
  return false;
}

void WorkerCore::handle_jobs() {
  Lock lock(mutex_);
  for (;;) {
    while (waiting_.empty() && !is_closing_) {
      ++idle_handlers_;
      handler_wakes_.wait(lock);
      --idle_handlers_;
      is_handler_waking_ = false;
    }
    if (waiting_.empty()) break;
    std::unique_ptr<Context> context = std::move(waiting_.front());
    waiting_.pop_front();
    wake_a_handler(lock);
    lock.unlock();
    Ack ack = carry_out(*context);
    lock.lock();
    finish(lock, *context, std::move(ack));
    lock.unlock();
    context.reset();  // not under our mutex: may destroy the handler's objects
    lock.lock();
  }
  --living_handlers_;
  handler_ended_.notify_all();
}

// The end of an attempt: its outcome will be sent, unless the job was given back already.
void WorkerCore::finish(const Lock& held, Context& context, Ack ack) {
  const auto found = attempts_.find({ack.id, ack.token});
  if (found == attempts_.end()) {  // released at the end of the grace time
    --left_behind_;
    return;
  }
  const SteadyTime certain_until = found->second.certain_until;
  attempts_.erase(found);
  if (context.stop_reason() != StopReason::kLeaseLost) {
    Context::Pending& pending = *context.pending_;
    OutgoingAck outcome{.ack = std::move(ack), .since = std::chrono::steady_clock::now()};
    if (pending.has_progress()) {
      Heartbeat beat{.id = outcome.ack.id, .token = outcome.ack.token};
      pending.take_progress(beat);
      partings_.push_back({std::move(beat), std::move(outcome), certain_until});
      wake_reporter(held, report_due(held));
    } else {
      tell(held, std::move(outcome));
    }
  }
  ++free_slots_;
  ++finished_;
  claimer_wakes_.notify_all();
  if (claimer_ != Claimer::kReady) wake_reporter(held, acks_due(held));
}

// Wakes one handler at a time, and each wakes the next while jobs wait: if handlers return at once,
// a few of them take all jobs.
void WorkerCore::wake_a_handler(const Lock&) {
  if (waiting_.empty() || idle_handlers_ == 0 || is_handler_waking_) return;
  is_handler_waking_ = true;
  handler_wakes_.notify_one();
}

// Whatever fails, also in this library, the attempt ends: its slot is freed, and the server is
// told.
Ack WorkerCore::carry_out(Context& context) {
  try {
    return handle(context);
  } catch (...) {
    return {.id = context.job().id,
            .token = context.job().token,
            .outcome = "failed",
            .error = detail::error_of_current_exception()};
  }
}

Ack WorkerCore::handle(Context& context) {
  Outcome outcome = run_handler(handlers_, context);
  if (outcome.error && context.stop_reason() != StopReason::kLeaseLost)
    notice_failure(context, outcome);
  if (!outcome.reason.empty()) context.log("info", outcome.reason);
  std::vector<SlowDown> wishes;
  {
    const std::lock_guard lock(context.pending_->mutex);
    wishes = std::move(context.pending_->wishes);
  }
  return {.id = context.job().id,
          .token = context.job().token,
          .outcome = std::move(outcome.outcome),
          .result = std::move(outcome.result),
          .error = std::move(outcome.error),
          .retryable = outcome.retryable,
          .delay = outcome.delay,
          .logs = context.pending_->take_logs(kMaxLogLines),
          .enqueue = std::move(outcome.enqueue),
          .slow_down = std::move(wishes),
          .grow = std::move(outcome.grow)};
}

void WorkerCore::notice_failure(const Context& context, const Outcome& outcome) {
  const ClaimedJob& job = context.job();
  const bool is_dead = !outcome.retryable || job.attempt >= job.max_attempts;
  // A failure with a delay is a RetryAfter: the handler meant it, and nobody need be warned.
  notice(is_dead || !outcome.delay ? "warn" : "info",
         fmt::format("job {} ({}): attempt {} of {} failed: {}: {}; {}", job.id, job.type,
                     job.attempt, job.max_attempts, outcome.error->type, outcome.error->message,
                     is_dead ? "the job is dead" : "the server tries it again"));
}

Worker::Worker(const Client& client, WorkerOptions options)
    : core_(std::make_shared<WorkerCore>(client, std::move(options))) {}
Worker::Worker(const Client& client, WorkerOptions options, Handlers handlers)
    : handlers_(std::move(handlers)),
      core_(std::make_shared<WorkerCore>(client, std::move(options))) {}
Worker::Worker(const Client& client, WorkerOptions options, Handler handler)
    : core_(std::make_shared<WorkerCore>(client, std::move(options))) {
  handlers_.otherwise(std::move(handler));
}
Worker::~Worker() = default;
Worker& Worker::use(Middleware middleware) {
  handlers_.use(std::move(middleware));
  return *this;
}
Result<void> Worker::run(const std::stop_token& stop) { return core_->run(stop, handlers_); }
void Worker::abort() { core_->abort(); }
std::size_t Worker::left_behind() const { return core_->left_behind(); }
const std::string& Worker::id() const { return core_->id(); }

}  // namespace millrace::sdk
