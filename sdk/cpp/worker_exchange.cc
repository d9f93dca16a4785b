// A round trip of the claimer or the reporter: building the request, and acting on the answer.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "constants.h"
#include "worker_core.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDefaultLease{30'000};  // the server's default
constexpr milliseconds kMinLease{1'000};
// How late the answer to a claim may be. Jobs in a later answer are lost until their leases end.
// Meanwhile, a hanging claim brings no jobs, and delays outcomes that it carries.
constexpr milliseconds kClaimPatience{10'000};
constexpr milliseconds kAckPatience{5'000};
constexpr std::size_t kMaxMessageBytes = 4 << 10;

// The length of a job's lease. If the server does not state it, it is derived from the lease's end
// on the server's clock, which may differ from ours; the result is limited to the default length.
milliseconds lease_of(const ClaimedJob& job, const std::optional<Milliseconds>& asked) {
  if (job.lease) return *job.lease;
  if (asked) return *asked;
  if (!job.lease_expires_at) return kDefaultLease;
  return std::clamp(*job.lease_expires_at - SystemClock().now(), kMinLease, kDefaultLease);
}

// The attempt's time limit, if the claim's answer has it: directly, or derived from three instants
// of the server's clock. If the lease ends with the attempt's deadline, it can't be derived.
std::optional<milliseconds> time_of(const ClaimedJob& job) {
  if (job.timeout) return job.timeout;
  if (!job.deadline || !job.lease_expires_at || !job.lease) return std::nullopt;
  if (*job.lease_expires_at >= *job.deadline) return std::nullopt;
  return *job.deadline - (*job.lease_expires_at - *job.lease);
}

}  // namespace

bool is_about_content(const Error& error) {
  if (error.status == 413) return true;
  return (error.status == 400 || error.status == 422) && error.code != "bad_answer";
}

bool may_pass(const Error& error) {
  return error.is_temporary() || error.kind == ErrorKind::kUnreachable;
}

bool ends_work(const Error& error) {
  if (error.kind == ErrorKind::kBadArgument || error.status == 401 || error.status == 403) {
    return true;
  }
  const bool is_refused = error.status == 400 || error.status == 404 || error.status == 422;
  return is_refused && error.code != "bad_answer";
}

// A slot must be free.
void WorkerCore::add_claim(const Lock& held, PollRequest& request, Milliseconds wait) {
  request.worker = info_;
  Claim& claim = request.claim.emplace();
  claim.queues = options_.queues;
  claim.types = options_.types;
  claim.limit = std::min(open_slots(held), static_cast<int>(kMostItems));
  claim.lease = options_.lease;
  claim.wait = wait;
  asked_ += claim.limit;
}

std::vector<OutgoingAck> WorkerCore::take_acks(const Lock&) {
  auto taken = outbox_.take();
  acks_in_flight_ += static_cast<int>(taken.size());
  return taken;
}

std::vector<OutgoingAck> WorkerCore::take_alone(const Lock&) {
  auto taken = outbox_.take_alone(std::chrono::steady_clock::now());
  acks_in_flight_ += static_cast<int>(taken.size());
  return taken;
}

// On an error the caller keeps the acks.
Result<WorkerCore::Exchanged> WorkerCore::exchange(By by, PollRequest& request,
                                                   std::vector<OutgoingAck>& acks) {
  std::size_t ack_bytes = 0;
  for (const OutgoingAck& outgoing : acks) {
    request.acks.push_back(outgoing.ack);
    ack_bytes += size_of(outgoing.ack);
  }
  const int asked = request.claim ? request.claim->limit : 0;
  const SteadyTime sent = std::chrono::steady_clock::now();
  const Milliseconds for_acks{ack_bytes * 1'000 / kSlowLineBytesPerS};
  const Milliseconds patience = (acks.empty() ? kClaimPatience : kAckPatience) + for_acks;
  auto answer = by == By::kClaimer
                    ? client_.poll(options_.id, request, claim_stop_.get_token(), patience)
                    : poll_as_reporter(request, for_acks);
  if (!answer) {
    admit(by, {}, asked, sent);
    return std::unexpected(std::move(answer.error()));
  }
  connection_worked();
  const Exchanged brought{.brought_jobs = !answer->jobs.empty(),
                          .brought_commands = !answer->commands.empty()};
  admit(by, std::move(answer->jobs), asked, sent);
  settle_acks(std::move(acks), answer->acks);
  take_heartbeats(request.heartbeats, answer->heartbeats, sent);
  take_commands(answer->commands);
  return brought;
}

// Handles the end of a poll that was sent at `sent` and had asked for `asked` jobs.
void WorkerCore::admit(By by, std::vector<ClaimedJob> jobs, int asked, SteadyTime sent) {
  const Lock lock(mutex_);
  asked_ -= asked;
  if (by == By::kClaimer) {
    claimer_ = Claimer::kReady;
    watcher_wakes_.notify_all();
  }
  for (ClaimedJob& job : jobs) {
    if (is_stopping()) {
      // Claimed before the stop: given back as if never claimed.
      outbox_.add({.ack = {.id = job.id, .token = job.token, .outcome = "released"},
                   .since = std::chrono::steady_clock::now()});
    } else {
      start(lock, std::move(job), sent);
    }
  }
  wake_a_handler(lock);
  wake_reporter(lock, report_due(lock));
  claimer_wakes_.notify_all();
}

// Starts a job of a claim that was sent at `sent` and has just been answered.
void WorkerCore::start(const Lock& held, ClaimedJob job, SteadyTime sent) {
  auto pending = std::make_shared<Context::Pending>();
  pending->worker_stops = worker_stops_;
  std::unique_ptr<Context> context(new Context(std::move(job), pending));
  const ClaimedJob& claimed = context->job();
  const AttemptKey key{claimed.id, claimed.token};
  const auto now = std::chrono::steady_clock::now();
  if (attempts_.empty()) next_log_flush_ = now + kLogDelay;
  Attempt& attempt = attempts_[key];
  attempt.id = claimed.id;
  attempt.token = claimed.token;
  attempt.pending = std::move(pending);
  attempt.stop = context->stop_;
  attempt.lease = lease_of(claimed, options_.lease);
  attempt.beat_every = attempt.lease / 3;
  if (const auto time = time_of(claimed)) {
    attempt.times_out = now + *time;
  } else if (claimed.deadline) {
    ask_for_time_.emplace_back(key, now);
  }
  --free_slots_;
  if (now - sent > attempt.beat_every) {
    // The lease may have begun when the request was sent, so it is confirmed first. It has
    // certainly ended once its length has passed since the answer.
    attempt.unconfirmed = std::move(context);
    attempt.next_beat = now;
    attempt.certain_until = now + attempt.lease;
    report_not_before_ = now;
  } else {
    attempt.next_beat = sent + attempt.beat_every;
    attempt.certain_until = sent + attempt.lease;
    report_not_before_ = std::min(report_not_before_, now + attempt.beat_every / 2);
    waiting_.push_back(std::move(context));
  }
  wake_watcher(held, std::min({attempt.certain_until, attempt.times_out, report_breaks(held)}));
}

// Sends a handler's outcome, after those of its lines that are being sent.
void WorkerCore::tell(const Lock&, OutgoingAck outcome) {
  if (!telling_.contains({outcome.ack.id, outcome.ack.token})) {
    outbox_.add(std::move(outcome));
    return;
  }
  behind_news_.push_back(std::move(outcome));
  ++acks_in_flight_;
}

// These outcomes were not answered. If the server already has them, it repeats its first answer.
void WorkerCore::give_back(std::vector<OutgoingAck> acks) {
  const Lock lock(mutex_);
  acks_in_flight_ -= static_cast<int>(acks.size());
  outbox_.give_back(std::move(acks));
  wake_reporter(lock, acks_due(lock));
}

void WorkerCore::settle_acks(std::vector<OutgoingAck> acks, const std::vector<PollItem>& answers) {
  std::vector<OutgoingAck> again;
  for (std::size_t i = 0; i < acks.size(); ++i) {
    if (i >= answers.size()) {
      again.push_back(std::move(acks[i]));
      continue;
    }
    if (!answers[i].error) {
      was_reported(acks[i].ack);
      continue;
    }
    const Error& error = *answers[i].error;
    if (error.is_temporary()) {
      again.push_back(std::move(acks[i]));
    } else if (error.code == "lease_lost") {
      notice(fmt::format("job {}: the worker lost the lease before it could report the outcome",
                         acks[i].ack.id));
    } else {
      refuse(std::move(acks[i]), error);
    }
  }
  const Lock lock(mutex_);
  acks_in_flight_ -= static_cast<int>(acks.size());
  for (OutgoingAck& ack : again) {
    ack.since = std::chrono::steady_clock::now() + kPauseAfterRefusal;
    outbox_.add(std::move(ack));
  }
  wake_reporter(lock, acks_due(lock));
  claimer_wakes_.notify_all();
}

void WorkerCore::was_reported(const Ack& ack) {
  if (!options_.reported) return;
  try {
    options_.reported(ack);
  } catch (...) {
    notice(fmt::format("job {}: WorkerOptions::reported threw: {}", ack.id,
                       detail::error_of_current_exception().message));
  }
}

// The server will never accept this outcome: the attempt fails, and a substitute gives the reason.
void WorkerCore::refuse(OutgoingAck refused, const Error& error) {
  notice(
      fmt::format("job {}: the server refused the outcome: {}", refused.ack.id, describe(error)));
  if (refused.is_substitute) return;
  OutgoingAck substitute{
      .ack = {.id = refused.ack.id,
              .token = refused.ack.token,
              .outcome = "failed",
              .error = JobError{.type = "outcome_refused",
                                .message = describe(error).substr(0, kMaxMessageBytes)}},
      .since = std::chrono::steady_clock::now(),
      .is_substitute = true};
  const Lock lock(mutex_);
  outbox_.add(std::move(substitute));
  wake_reporter(lock, acks_due(lock));
}

void WorkerCore::take_heartbeats(const std::vector<Heartbeat>& sent,
                                 const std::vector<PollItem>& answers, SteadyTime sent_at) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const AttemptKey key{sent[i].id, sent[i].token};
    if (i >= answers.size()) {
      beat_again({sent[i]}, std::chrono::steady_clock::now() + kPauseAfterRefusal);
    } else if (answers[i].error && answers[i].error->code == "lease_lost") {
      end_attempt(key, StopReason::kLeaseLost);
    } else if (answers[i].error) {
      beat_refused(sent[i], *answers[i].error);
    } else {
      lease_extended(key, sent_at);
      if (answers[i].cancel_requested) end_attempt(key, StopReason::kCancelled);
    }
  }
}

void WorkerCore::lease_extended(const AttemptKey& key, SteadyTime sent_at) {
  const Lock lock(mutex_);
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return;
  Attempt& attempt = found->second;
  if (attempt.certain_until == SteadyTime::max())
    return;  // the lease is lost; its handler was told
  attempt.certain_until = sent_at + attempt.lease;
  if (!attempt.unconfirmed) return;
  waiting_.push_back(std::move(attempt.unconfirmed));
  wake_a_handler(lock);
}

// The lease was not extended. Tries again soon, without the progress if that may be the reason.
void WorkerCore::beat_refused(Heartbeat beat, const Error& error) {
  const auto now = std::chrono::steady_clock::now();
  if (error.is_temporary()) return beat_again({std::move(beat)}, now + kPauseAfterRefusal);
  const bool had_progress = beat.progress || !beat.checkpoint.empty();
  notice(fmt::format("job {}: the server refused the {}: {}", beat.id,
                     had_progress ? "progress" : "heartbeat", describe(error)));
  if (!had_progress) return;
  beat.progress.reset();
  beat.checkpoint.clear();
  beat_again({std::move(beat)}, now, NextBeat::kPlain);
}

// The watcher cancels the request if it hangs for so long that running jobs, or jobs that start
// meanwhile, would lose their leases.
Result<PollAnswer> WorkerCore::poll_as_reporter(const PollRequest& request, Milliseconds for_acks) {
  std::stop_token stop;
  std::optional<Milliseconds> timeout;
  {
    const Lock lock(mutex_);
    if (!is_closing_) report_stop_ = std::stop_source();
    stop = report_stop_.get_token();
    is_reporting_ = true;
    report_began_ = std::chrono::steady_clock::now();
    report_patience_ = for_acks;
    const SteadyTime breaks = report_breaks(lock);
    if (breaks != SteadyTime::max()) {
      timeout = std::chrono::duration_cast<Milliseconds>(breaks - report_began_);
    }
    wake_watcher(lock, breaks);
  }
  auto answer = client_.poll(options_.id, request, stop, timeout);
  const Lock lock(mutex_);
  is_reporting_ = false;
  if (!answer && answer.error().kind == ErrorKind::kInterrupted && !is_closing_) {
    answer.error().kind = ErrorKind::kUnreachable;
    answer.error().code = "unreachable";
    answer.error().message = fmt::format("{} did not answer in time", client_.url());
  }
  return answer;
}

void WorkerCore::take_commands(const std::vector<WorkerCommand>& commands) {
  for (const WorkerCommand& command : commands) {
    if (command.type == "cancel") {
      end_attempt({command.job_id, command.token}, StopReason::kCancelled);
    } else if (command.type == "stop") {
      take_stop();
    } else if (command.type == "quiet") {
      take_quiet();
    }
  }
}

// Commands come with the answers to polls. Without claims, the reporter polls from time to time.
void WorkerCore::take_quiet() {
  const Lock lock(mutex_);
  if (std::exchange(is_quiet_, true)) return;
  if (claimer_ == Claimer::kReady) claimer_ = Claimer::kAway;  // takes no more outcomes
  next_listen_ = std::chrono::steady_clock::now();
  wake_reporter(lock, next_listen_);
  claimer_wakes_.notify_all();
}

void WorkerCore::take_stop() {
  if (!begin_stop()) return;  // every answer repeats it
  notice("info", "the server told the worker to stop; the worker finishes the jobs that run");
}

void WorkerCore::end_attempt(const AttemptKey& key, StopReason reason) {
  Lock lock(mutex_);
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return;
  if (found->second.unconfirmed) {
    if (reason == StopReason::kLeaseLost) give_up(lock, key);
    return;  // a cancellation: the answer to its heartbeat reports it too
  }
  auto told = mark(lock, found->second, reason);
  lock.unlock();
  if (told) told->request_stop();  // runs the handler's callbacks: not under our mutex
}

void WorkerCore::connection_failed(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_unreachable_, true)) return;
  }
  notice("warn", describe(error) + "; the worker tries again");
}

void WorkerCore::connection_worked() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_unreachable_, false)) return;
  }
  notice("info", fmt::format("the worker reached {} again", client_.url()));
}

void WorkerCore::notice(std::string_view level, std::string_view message) {
  if (options_.notice) {
    try {
      return options_.notice(level, message);
    } catch (...) {
      // A message for people is not worth a worker: it goes to standard error.
    }
  }
  const std::string line = fmt::format("millrace: {}: {}\n", level, message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace millrace::sdk
