// The reporter of a worker: outcomes that come while the claimer is away, heartbeats, log lines.
#include <fmt/format.h>

#include <algorithm>

#include "worker_core.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLogDelay{1'000};  // a line waits no longer for company
constexpr std::size_t kMaxItems = 1'000;  // of one kind in one round trip

}  // namespace

void WorkerCore::report() {
  Lock lock(mutex_);
  while (wait_for_report(lock)) {
    const bool acks_are_due = acks_due(lock) <= std::chrono::steady_clock::now();
    PollRequest request = next_report(lock);
    if (!acks_are_due && request.heartbeats.empty() && request.logs.empty()) continue;
    auto acks = take_acks(lock);
    // For slots that the claimer's poll under way did not ask for.
    // Not where its answer is likely to be lost, and the jobs in it leased to nobody.
    if (!acks.empty() && claimer_ == Claimer::kPolling && open_slots(lock) > 0 && !is_stopping() &&
        !is_unreachable_) {
      add_claim(lock, request, Milliseconds{0});
    }
    lock.unlock();
    send_report(std::move(request), std::move(acks));
    lock.lock();
  }
}

// Until something is due. False: closing.
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

// When the reporter must send what is in the outbox, if the claimer has not by then.
SteadyTime WorkerCore::acks_due(const Lock&) const {
  const bool nothing_joins_them = is_draining_ || attempts_.empty();
  return claimer_ != Claimer::kReady && nothing_joins_them ? outbox_.due_without_delay()
                                                           : outbox_.due();
}

SteadyTime WorkerCore::report_due(const Lock& held) const {
  SteadyTime due = acks_due(held);
  if (!attempts_.empty()) due = std::min(due, next_log_flush_);
  for (const auto& [key, attempt] : attempts_) due = std::min(due, attempt.next_beat);
  return due == SteadyTime::max() ? due : std::max(due, report_not_before_);
}

// Unless it wakes up by then anyway.
void WorkerCore::wake_reporter(const Lock&, SteadyTime due) {
  if (due >= reporter_sleeps_until_) return;
  reporter_sleeps_until_ = due;
  reporter_wakes_.notify_one();
}

// Heartbeats that are due, and log lines.
PollRequest WorkerCore::next_report(const Lock&) {
  PollRequest request;
  const auto now = std::chrono::steady_clock::now();
  const bool flush_logs = now >= next_log_flush_;
  if (flush_logs) next_log_flush_ = now + kLogDelay;
  for (auto& [key, attempt] : attempts_) {
    const std::size_t room = flush_logs ? kMaxItems - request.logs.size() : 0;
    for (WorkerLogLine& line : attempt.pending->take_logs(room)) {
      request.logs.push_back({attempt.id, attempt.token, std::move(line)});
    }
    if (attempt.next_beat > now || request.heartbeats.size() == kMaxItems) continue;
    attempt.next_beat = now + attempt.beat_every;
    Heartbeat beat{.id = attempt.id, .token = attempt.token};
    const std::lock_guard pending_lock(attempt.pending->mutex);
    beat.progress = std::exchange(attempt.pending->progress, std::nullopt);
    beat.checkpoint = std::exchange(attempt.pending->checkpoint, {});
    request.heartbeats.push_back(std::move(beat));
  }
  return request;
}

void WorkerCore::send_report(PollRequest request, std::vector<OutgoingAck> acks) {
  const auto answer = exchange(By::kReporter, request, acks);
  if (answer) {
    const std::lock_guard lock(mutex_);
    report_backoff_.reset();
    acks_are_suspect_ = false;
  } else if (is_about_content(answer.error()) && !acks.empty()) {
    settle_one_by_one(std::move(acks));
    beat_again(request.heartbeats, std::chrono::steady_clock::now());
  } else {
    give_back(std::move(acks));
    report_failed(request, answer.error());
  }
}

void WorkerCore::report_failed(const PollRequest& request, const Error& error) {
  if (error.kind == ErrorKind::kInterrupted) return;
  std::vector<Heartbeat> again = request.heartbeats;
  if (is_about_content(error)) {
    notice(fmt::format("heartbeats were refused: {}", describe(error)));
    for (Heartbeat& beat : again) beat = {.id = beat.id, .token = beat.token};
  } else {
    connection_failed(error);
  }
  pause_reports(error);
  // The log lines are gone: they may have arrived, and a line twice is worse than a line less.
  beat_again(again, report_not_before_);
}

// No longer than the leases allow.
void WorkerCore::pause_reports(const Error& error) {
  const Lock lock(mutex_);
  auto pause = std::max(report_backoff_.next(), error.retry_after.value_or(milliseconds{0}));
  if (!attempts_.empty()) pause = std::min(pause, shortest_beat(lock));
  report_not_before_ = std::chrono::steady_clock::now() + pause;
}

// Precondition: something runs.
Milliseconds WorkerCore::shortest_beat(const Lock&) const {
  const auto shortest = std::ranges::min_element(
      attempts_, {}, [](const auto& entry) { return entry.second.beat_every; });
  return shortest->second.beat_every;
}

// These heartbeats were not answered; what they told is told by the next, unless there is news.
void WorkerCore::beat_again(const std::vector<Heartbeat>& unanswered, SteadyTime when) {
  const std::lock_guard lock(mutex_);
  for (const Heartbeat& beat : unanswered) {
    const auto found = attempts_.find({beat.id, beat.token});
    if (found == attempts_.end()) continue;
    found->second.next_beat = when;
    Context::Pending& pending = *found->second.pending;
    const std::lock_guard pending_lock(pending.mutex);
    if (!pending.progress) pending.progress = beat.progress;
    if (pending.checkpoint.empty()) pending.checkpoint = beat.checkpoint;
  }
}

// One outcome among these makes the server refuse the whole request: alone, each is answered for
// itself.
void WorkerCore::settle_one_by_one(std::vector<OutgoingAck> acks) {
  for (std::size_t i = 0; i < acks.size(); ++i) {
    std::vector<OutgoingAck> one;
    one.push_back(std::move(acks[i]));
    PollRequest request;
    const auto answer = exchange(By::kReporter, request, one);
    if (answer) continue;
    if (!is_about_content(answer.error())) {
      // The rest would meet the same.
      acks[i] = std::move(one.front());
      acks.erase(acks.begin(), acks.begin() + static_cast<std::ptrdiff_t>(i));
      give_back(std::move(acks));
      if (answer.error().kind == ErrorKind::kInterrupted) return;
      connection_failed(answer.error());
      return pause_reports(answer.error());
    }
    refuse(std::move(one.front()), answer.error());
    const std::lock_guard lock(mutex_);
    --acks_in_flight_;
    claimer_wakes_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  acks_are_suspect_ = false;
}

}  // namespace millrace::sdk
