#include "server/journal_thread.h"

#include <algorithm>
#include <utility>

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;

constexpr auto kFirstPause = 50ms;
constexpr auto kLongestPause = 1000ms;
// How often a busy journal is trimmed between two appends.
constexpr auto kBiteInterval = 100ms;

}  // namespace

JournalThread::JournalThread(store::Journal& journal, Done done, Logger log)
    : journal_(journal), done_(std::move(done)), log_(std::move(log)), thread_([this] { run(); }) {}

JournalThread::~JournalThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void JournalThread::append(const store::JournalRow* row) {
  {
    const std::lock_guard lock(mutex_);
    row_ = row;
  }
  wake_.notify_one();
}

void JournalThread::trim_below(Seq below) {
  {
    const std::lock_guard lock(mutex_);
    if (below <= trim_target_) return;
    trim_target_ = below;
  }
  wake_.notify_one();
}

JournalThread::TrimHold::TrimHold(JournalThread& owner) : owner_(owner) {
  std::unique_lock lock(owner_.mutex_);
  ++owner_.holds_;
  owner_.bite_done_.wait(lock, [this] { return !owner_.biting_; });
}

JournalThread::TrimHold::~TrimHold() {
  {
    const std::lock_guard lock(owner_.mutex_);
    --owner_.holds_;
  }
  owner_.wake_.notify_one();
}

void JournalThread::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = Clock::now();
    if (may_trim() && (row_ == nullptr || now >= next_bite_)) {
      trim_bite(lock);
    } else if (row_ != nullptr && now >= not_before_) {
      append_waiting(lock);
    } else if (row_ != nullptr) {
      wake_.wait_until(lock, not_before_);
    } else {
      wake_.wait(lock);
    }
  }
}

void JournalThread::append_waiting(std::unique_lock<std::mutex>& lock) {
  const store::JournalRow* const row = std::exchange(row_, nullptr);
  lock.unlock();
  const auto start = Clock::now();
  store::AppendResult result = journal_.append(*row);
  const auto end = Clock::now();
  note(result);
  const bool failed = result.outcome != store::AppendOutcome::kDurable;
  lock.lock();
  failures_ = failed ? failures_ + 1 : 0;
  not_before_ =
      failed ? end + std::min(kFirstPause * (1 << std::min(failures_ - 1, 5)), kLongestPause) : end;
  lock.unlock();
  done_(std::move(result), end - start);
  lock.lock();
}

void JournalThread::note(const store::AppendResult& result) {
  if (result.outcome == store::AppendOutcome::kDurable) {
    if (failures_ > 0) log_.info("the journal can be written again", {{"tries", failures_ + 1}});
    return;
  }
  const bool unknown = result.outcome == store::AppendOutcome::kUnknown;
  if (failures_ == 0 || result.outcome == store::AppendOutcome::kBroken ||
      result.outcome == store::AppendOutcome::kFenced) {
    log_.error(
        unknown ? "the outcome of a journal append is unknown" : "the journal can't be written",
        {{"reason", result.message}});
  }
}

void JournalThread::trim_bite(std::unique_lock<std::mutex>& lock) {
  const Seq target = trim_target_;
  biting_ = true;
  lock.unlock();
  const Result<std::uint64_t> deleted = journal_.trim(target);
  if (!deleted) log_.warn("the journal can't be trimmed", {{"reason", deleted.error().message}});
  lock.lock();
  biting_ = false;
  bite_done_.notify_all();
  next_bite_ = Clock::now() + kBiteInterval;
  // After an error the next target tries again.
  if (!deleted || *deleted == 0) trimmed_ = target;
}

}  // namespace millrace::server
