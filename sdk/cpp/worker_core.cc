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
constexpr milliseconds kDefaultLease{30'000};  // the server's, for jobs and queues that name none
constexpr milliseconds kMinLease{1'000};
constexpr milliseconds kIdlePause{
    1'000};  // between claims of a worker that waits for its own last jobs
constexpr milliseconds kAbortedFlush{2'000};  // for the last outcomes of a worker that was aborted
constexpr int kMaxClaim = 1'000;

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

// The length of a job's lease. The server's clock may differ from ours, so that its expiry alone is
// trusted only where it makes us more careful.
milliseconds lease_of(const ClaimedJob& job, const std::optional<Milliseconds>& asked) {
  if (asked) return *asked;
  if (job.lease) return *job.lease;
  if (!job.lease_expires_at) return kDefaultLease;
  const auto left = std::chrono::duration_cast<milliseconds>(*job.lease_expires_at -
                                                             std::chrono::system_clock::now());
  return std::clamp(left, kMinLease, kDefaultLease);
}

}  // namespace

WorkerCore::WorkerCore(Client& client, WorkerOptions options, Handler handler)
    : client_(client),
      options_(std::move(options)),
      handler_(std::move(handler)),
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
  std::vector<std::jthread> handlers;
  handlers.reserve(static_cast<std::size_t>(options_.concurrency));
  for (int i = 0; i < options_.concurrency; ++i) handlers.emplace_back([this] { handle_jobs(); });
  std::jthread reporter([this] { report(); });

  auto result = claim_until(stop);

  Lock lock(mutex_);
  claimer_takes_acks_ = false;
  changed_.notify_all();
  changed_.wait(lock, [this] { return free_slots_ == options_.concurrency; });
  const auto has_told_all = [this] { return outbox_.empty() && acks_in_flight_ == 0; };
  const auto deadline = std::chrono::steady_clock::now() + options_.flush_timeout;
  changed_.wait_until(lock, deadline, [&] { return is_aborted_ || has_told_all(); });
  if (is_aborted_) changed_.wait_for(lock, kAbortedFlush, has_told_all);
  const bool told_all = has_told_all();
  is_closing_ = true;
  changed_.notify_all();
  lock.unlock();
  report_stop_.request_stop();
  if (!told_all) {
    notice("stopping with outcomes that the server could not be told; their jobs will run again");
  }
  return result;
}

void WorkerCore::abort() {
  std::vector<AttemptKey> keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, attempt] : attempts_) keys.push_back(key);
    is_aborted_ = true;
    changed_.notify_all();
  }
  for (const AttemptKey& key : keys) end_attempt(key, StopReason::kAborted);
}

Result<void> WorkerCore::claim_until(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      Lock lock(mutex_);
      claimer_takes_acks_ = !acks_are_suspect_;
      changed_.wait(lock, stop, [this] { return free_slots_ > 0 || is_told_to_stop_; });
      if (stop.stop_requested() || is_told_to_stop_) break;
    }
    auto go_on = claim_once(stop);
    if (!go_on) return std::unexpected(std::move(go_on.error()));
    if (!*go_on) break;
  }
  return {};
}

Result<bool> WorkerCore::claim_once(const std::stop_token& stop) {
  Lock lock(mutex_);
  auto acks = acks_are_suspect_ ? std::vector<OutgoingAck>{} : take_acks(lock);
  claimer_takes_acks_ = false;
  PollRequest request = next_claim();
  lock.unlock();
  for (const OutgoingAck& outgoing : acks) request.acks.push_back(outgoing.ack);

  auto answer = client_.poll(options_.id, request, stop);
  if (!answer) {
    const bool had_acks = !acks.empty();
    give_back(std::move(acks));
    if (stop.stop_requested()) return true;
    const Error& error = answer.error();
    if (!error.is_temporary() && !had_acks) return std::unexpected(error);
    claim_failed(error, had_acks, stop);
    return true;
  }
  connection_worked();
  settle_acks(std::move(acks), answer->acks);
  const bool claimed_nothing = answer->jobs.empty();
  admit(std::move(answer->jobs));
  take_commands(answer->commands);
  return !may_exit(claimed_nothing);
}

void WorkerCore::claim_failed(const Error& error, bool had_acks, const std::stop_token& stop) {
  if (error.is_temporary()) connection_failed(error);
  Lock lock(mutex_);
  // An outcome may be what was refused: the next claim goes without any and shows whether it is at
  // fault.
  if (!error.is_temporary()) acks_are_suspect_ = had_acks;
  const auto delay = std::max(claim_backoff_.next(), error.retry_after.value_or(milliseconds{0}));
  changed_.wait_for(lock, stop, delay, [] { return false; });
}

PollRequest WorkerCore::next_claim() {
  PollRequest request;
  request.worker = info_;
  Claim& claim = request.claim.emplace();
  claim.queues = options_.queues;
  claim.types = options_.types;
  claim.limit = std::min(free_slots_, kMaxClaim);
  claim.lease = options_.lease;
  if (options_.exit_when != ExitWhen::kNothingToClaim) claim.wait = options_.poll_wait;
  return request;
}

void WorkerCore::admit(std::vector<ClaimedJob> jobs) {
  const std::lock_guard lock(mutex_);
  claim_backoff_.reset();
  for (ClaimedJob& job : jobs) {
    auto pending = std::make_shared<Context::Pending>();
    std::unique_ptr<Context> context(new Context(std::move(job), pending));
    const ClaimedJob& claimed = context->job();
    const milliseconds beat_every = lease_of(claimed, options_.lease) / 3;
    attempts_[{claimed.id, claimed.token}] =
        Attempt{claimed.id,     claimed.token, std::move(pending),
                context->stop_, beat_every,    std::chrono::steady_clock::now() + beat_every};
    waiting_.push_back(std::move(context));
    --free_slots_;
    ++admitted_;
  }
  changed_.notify_all();
}

// Called after each claim; waits, where a worker that leaves when all is done still has jobs under
// way.
bool WorkerCore::may_exit(bool claimed_nothing) {
  Lock lock(mutex_);
  const auto is_idle = [this] { return free_slots_ == options_.concurrency; };
  switch (options_.exit_when) {
    case ExitWhen::kStopped:
      return false;
    case ExitWhen::kOneJobDone:
      changed_.wait(lock, is_idle);
      return finished_ > 0;
    case ExitWhen::kNothingToClaim:
      if (!claimed_nothing) return false;
      if (is_idle()) return true;
      const std::uint64_t before = finished_;
      changed_.wait_for(lock, kIdlePause, [this, before] { return finished_ != before; });
      return false;
  }
  return false;
}

void WorkerCore::handle_jobs() {
  for (;;) {
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty() || is_closing_; });
    if (waiting_.empty()) return;
    const std::unique_ptr<Context> context = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();

    Ack ack = handle(*context);
    ack.logs = context->pending_->take_logs(kMaxClaim);

    lock.lock();
    attempts_.erase({ack.id, ack.token});
    if (context->stop_reason() != StopReason::kLeaseLost) {
      outbox_.push_back({std::move(ack), false});
    }
    ++free_slots_;
    ++finished_;
    changed_.notify_all();
  }
}

Ack WorkerCore::handle(Context& context) {
  Outcome outcome;
  try {
    outcome = handler_(context);
  } catch (const std::exception& fault) {
    outcome = Outcome::failed({.type = "exception", .message = fault.what()});
  } catch (...) {
    outcome = Outcome::failed({.type = "exception", .message = "not a std::exception"});
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
