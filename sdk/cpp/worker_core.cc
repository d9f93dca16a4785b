#include "worker_core.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/random.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstBackoff{200};
constexpr milliseconds kMaxBackoff{10'000};
constexpr milliseconds kIdlePause{
    1'000};  // between claims of a worker that waits for its own last jobs
constexpr milliseconds kAbortedFlush{2'000};  // for the last outcomes of a worker that was aborted
constexpr milliseconds kGoodbye{1'000};       // the server's time for an answer to it
// Outcomes are answered only when the claim beside them has waited; a refusal must be known before
// the lease ends.
constexpr milliseconds kWaitWithAcks{1'000};
// When the worker is told to stop, a claim younger than this may still be answered, and its jobs
// given back. If it were cancelled while many jobs are ready, it would leave them leased to nobody.
constexpr milliseconds kYoungClaim{500};
constexpr std::size_t kMaxLogLines = 1'000;
constexpr std::string_view kUntold =
    "the worker stops before it could report all outcomes; the server will run those jobs again";

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

}  // namespace

WorkerCore::WorkerCore(Client& client, WorkerOptions options, Handler handler)
    : client_(client),
      options_(std::move(options)),
      handler_(std::move(handler)),
      outbox_(options_.ack_delay),
      claim_backoff_(kFirstBackoff, kMaxBackoff, system_random()),
      report_backoff_(kFirstBackoff, kMaxBackoff, system_random()) {
  info_.host = host_name();
  info_.pid = static_cast<int>(getpid());
  if (options_.id.empty()) {
    options_.id = fmt::format("{}-{}-{:08x}", info_.host, info_.pid, system_random() & 0xffffffff);
  }
  if (options_.exit_when == ExitWhen::kOneJobDone) options_.concurrency = 1;
  options_.concurrency = std::max(options_.concurrency, 1);
  free_slots_ = options_.concurrency;
}

Result<void> WorkerCore::run(const std::stop_token& stop) {
  stop_ = stop;
  Result<void> result;
  bool told_all = false;
  {
    std::vector<std::jthread> handlers;
    handlers.reserve(static_cast<std::size_t>(options_.concurrency));
    for (int i = 0; i < options_.concurrency; ++i) handlers.emplace_back([this] { handle_jobs(); });
    const std::jthread reporter([this] { report(); });
    const std::jthread breaker([this] { break_off_claim(); });
    result = claim_until_stopped();
    told_all = drain();
  }
  if (result) say_goodbye();
  if (told_all) return result;
  if (!result) {
    notice(kUntold);
    return result;
  }
  Error untold;
  untold.kind = ErrorKind::kUnreachable;
  untold.message = kUntold;
  return std::unexpected(std::move(untold));
}

// Waits for running handlers and for the answers to the last outcomes, then ends handlers and
// reporter. False: some outcomes could not be reported.
bool WorkerCore::drain() {
  Lock lock(mutex_);
  is_draining_ = true;
  report_not_before_ =
      std::min(report_not_before_, std::chrono::steady_clock::now() + kFirstBackoff);
  leave_acks_to_reporter(lock);
  claimer_wakes_.wait(
      lock, [this] { return free_slots_ == options_.concurrency && (asked_ == 0 || is_aborted_); });
  const auto has_told_all = [this] { return outbox_.empty() && acks_in_flight_ == 0; };
  const auto deadline = std::chrono::steady_clock::now() + options_.flush_timeout;
  claimer_wakes_.wait_until(lock, deadline, [&] { return is_aborted_ || has_told_all(); });
  if (is_aborted_) claimer_wakes_.wait_for(lock, kAbortedFlush, has_told_all);
  const bool told_all = has_told_all();
  is_closing_ = true;
  handler_wakes_.notify_all();
  reporter_wakes_.notify_all();
  breaker_wakes_.notify_all();
  lock.unlock();
  report_stop_.request_stop();
  return told_all;
}

// Removes the worker from the server's list. Nothing depends on it, so it is tried once.
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
    const std::lock_guard lock(mutex_);
    for (const auto& [key, attempt] : attempts_) keys.push_back(key);
    is_aborted_ = true;
    claimer_wakes_.notify_all();
  }
  for (const AttemptKey& key : keys) end_attempt(key, StopReason::kAborted);
}

Result<void> WorkerCore::claim_until_stopped() {
  for (;;) {
    {
      Lock lock(mutex_);
      claimer_ = acks_are_suspect_ ? Claimer::kAway : Claimer::kReady;
      claimer_wakes_.wait(lock, stop_, [&] { return open_slots(lock) > 0 || is_told_to_stop_; });
      if (is_stopping()) return {};
    }
    auto go_on = claim_once();
    if (!go_on) return std::unexpected(std::move(go_on.error()));
    if (!*go_on) return {};
  }
}

Result<bool> WorkerCore::claim_once() {
  Lock lock(mutex_);
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
  wake_reporter(lock, acks_due(lock));  // of those that did not fit in
  lock.unlock();

  const auto answer = exchange(By::kClaimer, request, acks);
  if (!answer) {
    give_back(std::move(acks));
    const Error& error = answer.error();
    // Cancelled: by our stop, or by the server's, which the reporter was told.
    if (stop_.stop_requested() || error.kind == ErrorKind::kInterrupted) return true;
    // One of the outcomes may be the reason, even for a proxy's "forbidden".
    const bool is_suspect = had_acks && !error.is_temporary();
    if (!is_suspect && ends_work(error)) return std::unexpected(error);
    claim_failed(error, is_suspect);
    return true;
  }
  claim_backoff_.reset();
  const bool is_early = std::chrono::steady_clock::now() - began < wait / 2;
  if (is_early && !answer->brought_jobs && !answer->brought_commands) {
    // A server that is about to stop lets no claim wait.
    pause_claims(milliseconds{0});
  }
  return !may_exit(!answer->brought_jobs);
}

// Waits for the stop, then cancels the claim under way.
void WorkerCore::break_off_claim() {
  Lock lock(mutex_);
  breaker_wakes_.wait(lock, stop_, [this] { return is_closing_ || is_told_to_stop_; });
  breaker_wakes_.wait_until(lock, claim_began_ + kYoungClaim,
                            [this] { return claimer_ != Claimer::kPolling; });
  lock.unlock();
  claim_stop_.request_stop();
}

void WorkerCore::claim_failed(const Error& error, bool acks_are_suspect) {
  if (acks_are_suspect) {
    // The next claim goes without outcomes, and shows whether it is at fault itself.
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
  claimer_wakes_.wait_for(lock, stop_, delay, [this] { return is_told_to_stop_; });
}

void WorkerCore::leave_acks_to_reporter(const Lock& held) {
  claimer_ = Claimer::kAway;
  wake_reporter(held, acks_due(held));
}

// Called after each claim. Waits if a worker that exits when all is done still has running jobs.
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
    if (waiting_.empty()) return;
    const std::unique_ptr<Context> context = std::move(waiting_.front());
    waiting_.pop_front();
    wake_a_handler(lock);
    lock.unlock();

    Ack ack = handle(*context);
    ack.logs = context->pending_->take_logs(kMaxLogLines);

    lock.lock();
    attempts_.erase({ack.id, ack.token});
    if (context->stop_reason() != StopReason::kLeaseLost) {
      tell(lock, {.ack = std::move(ack), .since = std::chrono::steady_clock::now()});
    }
    ++free_slots_;
    ++finished_;
    claimer_wakes_.notify_all();
    if (claimer_ != Claimer::kReady) wake_reporter(lock, acks_due(lock));
  }
}

// Wakes one handler at a time, and each wakes the next while jobs wait: if handlers return at once,
// a few of them take all jobs.
void WorkerCore::wake_a_handler(const Lock&) {
  if (waiting_.empty() || idle_handlers_ == 0 || is_handler_waking_) return;
  is_handler_waking_ = true;
  handler_wakes_.notify_one();
}

Ack WorkerCore::handle(Context& context) {
  Outcome outcome;
  try {
    outcome = handler_(context);
  } catch (const std::exception& fault) {
    outcome = Outcome::failed({.type = "exception", .message = fault.what()});
  } catch (...) {
    outcome =
        Outcome::failed({.type = "exception",
                         .message = "the handler threw something that is not a std::exception"});
  }
  return {.id = context.job().id,
          .token = context.job().token,
          .outcome = std::move(outcome.outcome),
          .result = std::move(outcome.result),
          .error = std::move(outcome.error),
          .retryable = outcome.retryable,
          .delay = outcome.delay,
          .enqueue = std::move(outcome.enqueue)};
}

Worker::Worker(Client& client, WorkerOptions options, Handler handler)
    : core_(std::make_unique<WorkerCore>(client, std::move(options), std::move(handler))) {}
Worker::~Worker() = default;
Result<void> Worker::run(const std::stop_token& stop) { return core_->run(stop); }
void Worker::abort() { core_->abort(); }
const std::string& Worker::id() const { return core_->id(); }

}  // namespace millrace::sdk
