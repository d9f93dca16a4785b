// A worker's reporter: sends outcomes that come while the claimer is away, heartbeats, log lines.
#include <fmt/format.h>

#include <algorithm>

#include "constants.h"
#include "worker_core.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;

constexpr int kMaxDoublings = 6;
constexpr milliseconds kTimeQuestion{1'000};
constexpr int kMaxFailuresInARow = 3;  // after this many, no outcome is at fault

// Whether the request's content may be the reason for its failure.
bool is_its_own(const Error& error) {
  return !may_pass(error) && error.kind != ErrorKind::kInterrupted;
}

}  // namespace

void WorkerCore::report() {
  Lock lock(mutex_);
  while (wait_for_report(lock)) {
    // After this process was suspended, handlers must be told before the server is asked.
    tell_what_is_due(lock);
    ask_for_times(lock);
    if (auto alone = take_alone(lock); !alone.empty()) {
      lock.unlock();
      const auto error = settle_alone(std::move(alone));
      const bool is_away = error && may_pass(*error);
      if (is_away) pause_reports(*error);
      lock.lock();
      if (is_away) continue;
    }
    const auto now = std::chrono::steady_clock::now();
    const bool acks_are_due = acks_due(lock) <= now;
    const bool listens = next_listen_ <= now;
    if (listens) next_listen_ = now + kQuietPoll;
    PollRequest request = next_report(lock);
    const bool has_news = !request.heartbeats.empty() || !request.logs.empty();
    if (!acks_are_due && !has_news && !listens) continue;
    auto acks = take_acks(lock);
    // Claims for slots that the claimer's poll did not ask for, unless the answer is likely to be
    // lost, which would leave its jobs leased to nobody.
    if (!acks.empty() && claimer_ == Claimer::kPolling && open_slots(lock) > 0 && !is_stopping() &&
        !is_unreachable_) {
      add_claim(lock, request, Milliseconds{0});
    }
    lock.unlock();
    send_report(std::move(request), std::move(acks));
    lock.lock();
  }
}

// Waits until something is due. False: the worker is closing.
bool WorkerCore::wait_for_report(Lock& held) {
  while (!is_closing_) {
    const SteadyTime due = report_due(held);
    if (due <= std::chrono::steady_clock::now()) return true;
    reporter_sleeps_until_ = due;
    if (due == SteadyTime::max()) {
      reporter_wakes_.wait(held);
    } else {
      reporter_wakes_.wait_until(held, due);
    }
    reporter_sleeps_until_ = SteadyTime::min();
  }
  return false;
}

// When the reporter must send the outbox, if the claimer has not done so by then.
SteadyTime WorkerCore::acks_due(const Lock&) const {
  const bool nothing_joins_them = is_draining_ || attempts_.empty();
  return claimer_ != Claimer::kReady && nothing_joins_them ? outbox_.due_without_delay()
                                                           : outbox_.due();
}

SteadyTime WorkerCore::report_due(const Lock& held) const {
  SteadyTime due = std::min(acks_due(held), outbox_.due_alone());
  if (!ask_for_time_.empty()) due = SteadyTime::min();
  if (!is_draining_) due = std::min(due, next_listen_);
  for (const Parting& parting : partings_) due = std::min(due, parting.outcome.since);
  if (!attempts_.empty()) due = std::min(due, next_log_flush_);
  for (const auto& [key, attempt] : attempts_) due = std::min(due, attempt.next_beat);
  return due == SteadyTime::max() ? due : std::max(due, report_not_before_);
}

// No effect if the reporter wakes up by then anyway.
void WorkerCore::wake_reporter(const Lock&, SteadyTime due) {
  if (due >= reporter_sleeps_until_) return;
  reporter_sleeps_until_ = due;
  reporter_wakes_.notify_one();
}

// Asks for these jobs once each: the answer has the time limit of the job's attempts.
void WorkerCore::ask_for_times(Lock& held) {
  for (const auto& [key, claimed] : std::exchange(ask_for_time_, {})) {
    held.unlock();
    const SteadyTime sent = std::chrono::steady_clock::now();
    const auto answer =
        client_.call({.method = "POST",
                      .path = fmt::format("/v1/jobs/{}/heartbeat", url_encode(key.first)),
                      .body = fmt::format(R"({{"token":{}}})", key.second),
                      .timeout = kTimeQuestion,
                      .stop = report_stop_.get_token()});
    const auto time = answer ? read_integer(answer->body, "timeout_ms") : std::nullopt;
    if (answer) lease_extended(key, sent);
    held.lock();
    const auto found = attempts_.find(key);
    if (!time || found == attempts_.end()) continue;
    found->second.times_out = claimed + milliseconds{*time};
    wake_watcher(held, found->second.times_out);
  }
}

// The due heartbeats, and log lines.
PollRequest WorkerCore::next_report(const Lock&) {
  PollRequest request;
  const auto now = std::chrono::steady_clock::now();
  const bool flush_logs = now >= next_log_flush_;
  if (flush_logs) next_log_flush_ = now + kLogDelay;
  parting_now_ = std::exchange(partings_, {});
  for (const Parting& parting : parting_now_) request.heartbeats.push_back(parting.beat);
  for (auto& [key, attempt] : attempts_) {
    const std::size_t room = flush_logs ? kMostItems - request.logs.size() : 0;
    for (WorkerLogLine& line : attempt.pending->take_logs(room)) {
      request.logs.push_back({attempt.id, attempt.token, std::move(line)});
      telling_.insert(key);
    }
    const bool has_news = flush_logs && !attempt.unconfirmed && attempt.pending->has_progress() &&
                          attempt.certain_until != SteadyTime::max();
    const bool is_due = attempt.next_beat <= now || has_news;
    if (!is_due || request.heartbeats.size() >= kMostItems) continue;
    attempt.next_beat = now + attempt.beat_every;
    Heartbeat beat{.id = attempt.id, .token = attempt.token};
    if (!std::exchange(attempt.next_is_plain, false)) attempt.pending->take_progress(beat);
    if (beat.progress || !beat.checkpoint.empty()) telling_.insert(key);
    request.heartbeats.push_back(std::move(beat));
  }
  return request;
}

void WorkerCore::send_report(PollRequest request, std::vector<OutgoingAck> acks) {
  const bool had_acks = !acks.empty();
  const auto answer = exchange(By::kReporter, request, acks);
  news_told(answer);
  if (answer) {
    const std::lock_guard lock(mutex_);
    report_backoff_.reset();
    if (had_acks) acks_are_suspect_ = false;
    return;
  }
  const Error& error = answer.error();
  if (!had_acks || !is_its_own(error)) {
    give_back(std::move(acks));
    return report_failed(request, error);
  }
  settle_one_by_one(std::move(acks));
  beat_again(request.heartbeats, std::chrono::steady_clock::now());
}

// Outcomes that waited for news may be sent now, even if the news was lost. Outcomes that waited
// for the last progress may be sent once that was answered, or when the lease has ended.
void WorkerCore::news_told(const Result<Exchanged>& answer) {
  const Lock lock(mutex_);
  telling_.clear();
  acks_in_flight_ -= static_cast<int>(behind_news_.size());
  for (OutgoingAck& outcome : std::exchange(behind_news_, {})) outbox_.add(std::move(outcome));
  const bool may_try_again = !answer && may_pass(answer.error());
  const auto now = std::chrono::steady_clock::now();
  for (Parting& parting : std::exchange(parting_now_, {})) {
    if (may_try_again && now < parting.until && !is_aborted_) {
      partings_.push_back(std::move(parting));
    } else {
      outbox_.add(std::move(parting.outcome));
    }
  }
}

void WorkerCore::report_failed(const PollRequest& request, const Error& error) {
  if (error.kind == ErrorKind::kInterrupted) return;
  std::vector<Heartbeat> again = request.heartbeats;
  const auto next = may_pass(error) ? NextBeat::kWithNews : NextBeat::kPlain;
  if (is_about_content(error)) {
    notice(fmt::format("the server refused heartbeats: {}", describe(error)));
    for (Heartbeat& beat : again) beat = {.id = beat.id, .token = beat.token};
  } else {
    connection_failed(error);
  }
  // The log lines are dropped: they may have arrived, and a repeated line is worse than a missing
  // one.
  beat_again(again, pause_reports(error), next);
}

// Pauses no longer than the leases allow, and no longer than an ending worker has time. Returns the
// end of the pause.
SteadyTime WorkerCore::pause_reports(const Error& error) {
  const Lock lock(mutex_);
  auto pause = report_backoff_.next();
  if (!is_draining_) pause = std::max(pause, error.retry_after.value_or(milliseconds{0}));
  pause = std::min(pause, kLongestPause);
  if (!attempts_.empty()) pause = std::min(pause, shortest_beat(lock) / 2);
  report_not_before_ = std::chrono::steady_clock::now() + pause;
  return report_not_before_;
}

// A job must be running.
Milliseconds WorkerCore::shortest_beat(const Lock&) const {
  const auto shortest = std::ranges::min_element(
      attempts_, {}, [](const auto& entry) { return entry.second.beat_every; });
  return shortest->second.beat_every;
}

// These heartbeats were not answered. The next ones carry their content, unless there is newer one.
void WorkerCore::beat_again(const std::vector<Heartbeat>& unanswered, SteadyTime when,
                            NextBeat next) {
  const std::lock_guard lock(mutex_);
  for (const Heartbeat& beat : unanswered) {
    const auto found = attempts_.find({beat.id, beat.token});
    if (found == attempts_.end()) continue;
    found->second.next_beat = when;
    found->second.next_is_plain = next == NextBeat::kPlain;
    Context::Pending& pending = *found->second.pending;
    const std::lock_guard pending_lock(pending.mutex);
    if (!pending.progress) pending.progress = beat.progress;
    if (pending.checkpoint.empty()) pending.checkpoint = beat.checkpoint;
  }
}

// One of these outcomes may have made the request fail. Sent alone, each gets its own answer.
void WorkerCore::settle_one_by_one(std::vector<OutgoingAck> acks) {
  int failures_in_a_row = 0;
  for (auto ack = acks.begin(); ack != acks.end(); ++ack) {
    std::vector<OutgoingAck> one;
    one.push_back(std::move(*ack));
    const auto error = settle_alone(std::move(one));
    failures_in_a_row = error ? failures_in_a_row + 1 : 0;
    if (!error) continue;
    if (is_its_own(*error) && failures_in_a_row < kMaxFailuresInARow) continue;
    // The others would fail in the same way.
    acks.erase(acks.begin(), ack + 1);
    give_back(std::move(acks));
    pause_reports(*error);
    return;
  }
  const std::lock_guard lock(mutex_);
  acks_are_suspect_ = false;
}

// An error means that the outcome got no answer; it will be sent again.
std::optional<Error> WorkerCore::settle_alone(std::vector<OutgoingAck> one) {
  PollRequest request;
  const auto answer = exchange(By::kReporter, request, one);
  if (answer) return std::nullopt;
  const Error& error = answer.error();
  if (may_pass(error)) connection_failed(error);
  if (!is_its_own(error) && one.front().failures == 0) {
    give_back(std::move(one));
    return error;
  }
  const bool is_refused = is_about_content(error);
  if (is_refused) {
    refuse(std::move(one.front()), error);
  } else {
    put_aside(std::move(one.front()), error);
  }
  const std::lock_guard lock(mutex_);
  --acks_in_flight_;
  claimer_wakes_.notify_all();
  return is_refused ? std::nullopt : std::optional(error);
}

// This outcome fails even alone, perhaps because of its content. It is sent again alone, after a
// pause.
void WorkerCore::put_aside(OutgoingAck ack, const Error& error) {
  if (ack.failures == 0) {
    notice(fmt::format("job {}: the worker could not report the outcome: {}; it tries again",
                       ack.ack.id, describe(error)));
  }
  const auto pause = kPauseAfterRefusal * (1 << std::min(ack.failures, kMaxDoublings));
  ++ack.failures;
  ack.since = std::chrono::steady_clock::now() + std::min(pause, kLongestPause);
  const Lock lock(mutex_);
  outbox_.add_alone(std::move(ack));
}

}  // namespace millrace::sdk
