// The reporter of a worker, and what it shares with the claimer: outcomes, heartbeats and log lines
// on their way to the server, and what the server says to them.
#include <fmt/format.h>

#include <algorithm>

#include "worker_core.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLogDelay{1'000};  // a line waits no longer for company
constexpr std::size_t kMaxItems = 1'000;  // of one kind in one round trip
// Outcomes of one round trip: well below the server's bound on a body, which holds heartbeats and
// log lines too.
constexpr std::size_t kMaxAckBytes = std::size_t{6} << 20;
constexpr std::size_t kMaxMessageBytes = 4 << 10;

std::size_t size_of(const Ack& ack) {
  std::size_t size = ack.result.size() + 256;
  if (ack.error) size += ack.error->message.size() + ack.error->stack.size();
  for (const WorkerLogLine& line : ack.logs) size += line.message.size() + 64;
  for (const NewJob& job : ack.enqueue) size += job.payload.size() + 1'024;
  return size;
}

}  // namespace

std::vector<OutgoingAck> WorkerCore::take_acks(const Lock&) {
  std::vector<OutgoingAck> taken;
  std::size_t bytes = 0;
  while (!outbox_.empty() && taken.size() < kMaxItems) {
    bytes += size_of(outbox_.front().ack);
    if (!taken.empty() && bytes > kMaxAckBytes) break;
    taken.push_back(std::move(outbox_.front()));
    outbox_.pop_front();
  }
  acks_in_flight_ += static_cast<int>(taken.size());
  return taken;
}

// They were not answered: sent again, they are answered as the first time if the server had them
// already.
void WorkerCore::give_back(std::vector<OutgoingAck> acks) {
  const std::lock_guard lock(mutex_);
  acks_in_flight_ -= static_cast<int>(acks.size());
  for (auto ack = acks.rbegin(); ack != acks.rend(); ++ack) outbox_.push_front(std::move(*ack));
  changed_.notify_all();
}

void WorkerCore::settle_acks(std::vector<OutgoingAck> acks, const std::vector<PollItem>& answers) {
  std::vector<OutgoingAck> again;
  for (std::size_t i = 0; i < acks.size(); ++i) {
    if (i >= answers.size() || !answers[i].error) continue;
    const Error& error = *answers[i].error;
    if (error.is_temporary()) {
      again.push_back(std::move(acks[i]));
    } else if (error.code == "lease_lost") {
      notice(fmt::format("job {}: the lease was lost before its outcome arrived", acks[i].ack.id));
    } else {
      refuse(std::move(acks[i]), error);
    }
  }
  const std::lock_guard lock(mutex_);
  acks_in_flight_ -= static_cast<int>(acks.size());
  for (OutgoingAck& ack : again) outbox_.push_back(std::move(ack));
  changed_.notify_all();
}

// The server does not take this outcome, and never will: the attempt failed, and says why.
void WorkerCore::refuse(OutgoingAck refused, const Error& error) {
  notice(fmt::format("job {}: its outcome was refused: {}", refused.ack.id, describe(error)));
  if (refused.is_substitute) return;
  OutgoingAck substitute{
      .ack = {.id = refused.ack.id,
              .token = refused.ack.token,
              .outcome = "failed",
              .error = JobError{.type = "outcome_refused",
                                .message = describe(error).substr(0, kMaxMessageBytes)}},
      .is_substitute = true};
  const std::lock_guard lock(mutex_);
  outbox_.push_back(std::move(substitute));
}

void WorkerCore::take_heartbeats(const std::vector<Heartbeat>& sent,
                                 const std::vector<PollItem>& answers) {
  for (std::size_t i = 0; i < std::min(sent.size(), answers.size()); ++i) {
    const AttemptKey key{sent[i].id, sent[i].token};
    if (answers[i].error && answers[i].error->code == "lease_lost") {
      end_attempt(key, StopReason::kLeaseLost);
    } else if (answers[i].cancel_requested) {
      end_attempt(key, StopReason::kCancelled);
    }
  }
}

void WorkerCore::take_commands(const std::vector<WorkerCommand>& commands) {
  for (const WorkerCommand& command : commands) {
    if (command.type == "cancel") {
      end_attempt({command.job_id, command.token}, StopReason::kCancelled);
    } else if (command.type == "stop") {
      notice("told to stop by the server: finishing what runs");
      const std::lock_guard lock(mutex_);
      is_told_to_stop_ = true;
      changed_.notify_all();
    }
    // "quiet" needs nothing done: a quiet worker's claims come back empty.
  }
}

void WorkerCore::end_attempt(const AttemptKey& key, StopReason reason) {
  Lock lock(mutex_);
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return;
  {
    const std::lock_guard pending_lock(found->second.pending->mutex);
    StopReason& current = found->second.pending->reason;
    // A lost lease outranks the rest: nothing that the handler does counts any more.
    if (current != StopReason::kNone && reason != StopReason::kLeaseLost) return;
    current = reason;
  }
  std::stop_source stop = found->second.stop;
  lock.unlock();
  stop.request_stop();  // runs the handler's callbacks: not under our mutex
}

void WorkerCore::connection_failed(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_unreachable_, true)) return;
  }
  notice(describe(error) + "; trying again");
}

void WorkerCore::connection_worked() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_unreachable_, false)) return;
  }
  notice(fmt::format("reached {} again", client_.url()));
}

void WorkerCore::notice(std::string_view message) {
  if (options_.notice) options_.notice(message);
}

void WorkerCore::report() {
  for (;;) {
    Lock lock(mutex_);
    if (!wait_for_report(lock)) return;
    PollRequest request = next_report(lock);
    auto acks = claimer_takes_acks_ ? std::vector<OutgoingAck>{} : take_acks(lock);
    lock.unlock();
    if (!acks.empty() || !request.heartbeats.empty() || !request.logs.empty()) {
      send_report(std::move(request), std::move(acks));
    }
  }
}

// Until something may be due. False: closing.
bool WorkerCore::wait_for_report(Lock& held) {
  const auto now = std::chrono::steady_clock::now();
  if (now < report_not_before_) {
    changed_.wait_until(held, report_not_before_, [this] { return is_closing_; });
    return !is_closing_;
  }
  const auto admitted_before = admitted_;
  const auto is_due = [&] {
    return is_closing_ || admitted_ != admitted_before ||
           (!outbox_.empty() && !claimer_takes_acks_);
  };
  if (attempts_.empty()) {
    changed_.wait(held, is_due);
  } else {
    auto next = std::max(now, next_log_flush_);
    for (const auto& [key, attempt] : attempts_) next = std::min(next, attempt.next_beat);
    if (next > now) changed_.wait_until(held, next, is_due);
  }
  return !is_closing_;
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
  for (const OutgoingAck& outgoing : acks) request.acks.push_back(outgoing.ack);
  auto answer = client_.poll(options_.id, request, report_stop_.get_token());
  if (answer) {
    connection_worked();
    settle_acks(std::move(acks), answer->acks);
    take_heartbeats(request.heartbeats, answer->heartbeats);
    take_commands(answer->commands);
    const std::lock_guard lock(mutex_);
    report_backoff_.reset();
    acks_are_suspect_ = false;
  } else if (!answer.error().is_temporary() && !acks.empty()) {
    settle_one_by_one(std::move(acks));
  } else {
    give_back(std::move(acks));
    report_failed(request, answer.error());
  }
}

void WorkerCore::report_failed(const PollRequest& request, const Error& error) {
  if (error.kind == ErrorKind::kInterrupted) return;
  if (error.is_temporary()) {
    connection_failed(error);
  } else {
    notice(fmt::format("heartbeats were refused: {}", describe(error)));
  }
  const std::lock_guard lock(mutex_);
  report_not_before_ = std::chrono::steady_clock::now() + report_backoff_.next();
  // The heartbeats are due again as soon as may be. The log lines are gone: they may have arrived,
  // and a line twice is worse than a line less.
  for (const Heartbeat& beat : request.heartbeats) {
    const auto found = attempts_.find({beat.id, beat.token});
    if (found != attempts_.end()) found->second.next_beat = report_not_before_;
  }
}

// One outcome among these makes the server refuse the whole request: alone, each is answered for
// itself.
void WorkerCore::settle_one_by_one(std::vector<OutgoingAck> acks) {
  for (OutgoingAck& outgoing : acks) {
    PollRequest request;
    request.acks.push_back(outgoing.ack);
    auto answer = client_.poll(options_.id, request, report_stop_.get_token());
    std::vector<OutgoingAck> one;
    one.push_back(std::move(outgoing));
    if (answer) {
      settle_acks(std::move(one), answer->acks);
    } else if (answer.error().is_temporary() || answer.error().kind == ErrorKind::kInterrupted) {
      give_back(std::move(one));
    } else {
      refuse(std::move(one.front()), answer.error());
      const std::lock_guard lock(mutex_);
      --acks_in_flight_;
      changed_.notify_all();
    }
  }
  const std::lock_guard lock(mutex_);
  acks_are_suspect_ = false;
}

}  // namespace millrace::sdk
