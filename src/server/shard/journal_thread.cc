#include "server/shard/journal_thread.h"

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

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

JournalThread::~JournalThread() { stop(); }

void JournalThread::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void JournalThread::append(const store::JournalRow* row) {
  {
    const MutexLock lock(mutex_);
    row_ = row;
  }
  wake_.notify_one();
}

void JournalThread::trim_below(Seq below) {
  {
    const MutexLock lock(mutex_);
    if (below <= trim_target_) return;
    trim_target_ = below;
  }
  wake_.notify_one();
}

JournalThread::TrimHold::TrimHold(JournalThread& owner) : owner_(owner) {
  const MutexLock lock(owner_.mutex_);
  ++owner_.holds_;
  while (owner_.biting_) owner_.bite_done_.wait(owner_.mutex_);
}

JournalThread::TrimHold::~TrimHold() {
  {
    const MutexLock lock(owner_.mutex_);
    --owner_.holds_;
  }
  owner_.wake_.notify_one();
}

void JournalThread::run() {
  name_this_thread("journal");
  while (true) {
    const Task task = next_task();
    if (const auto* const append = std::get_if<Append>(&task)) {
      perform(*append);
    } else if (const auto* const bite = std::get_if<TrimBite>(&task)) {
      perform(*bite);
    } else {
      return;
    }
  }
}

JournalThread::Task JournalThread::next_task() {
  const MutexLock lock(mutex_);
  while (true) {
    if (stopping_) return Stop{};
    const auto now = Clock::now();
    const bool may_trim = trim_target_ > trimmed_ && holds_ == 0;
    if (may_trim && (row_ == nullptr || now >= next_bite_)) {
      biting_ = true;
      return TrimBite{trim_target_};
    }
    if (row_ == nullptr) {
      wake_.wait(mutex_);
    } else if (now < not_before_) {
      wake_.wait_until(mutex_, not_before_);
    } else {
      return Append{std::exchange(row_, nullptr)};
    }
  }
}

void JournalThread::perform(Append append) {
  const auto start = Clock::now();
  store::AppendResult result = journal_.append(*append.row);
  const auto end = Clock::now();
  note(result, failures_);
  not_before_ = end;
  if (result.outcome == store::AppendOutcome::kDurable) {
    failures_ = 0;
  } else {
    not_before_ += std::min(kFirstPause * (1 << std::min(failures_++, 5)), kLongestPause);
  }
  done_(std::move(result), end - start);
  journal_.tidy();
}

void JournalThread::perform(TrimBite bite) {
  const Result<std::uint64_t> deleted = journal_.trim(bite.target);
  if (!deleted)
    log_.warn("the server can't trim the journal", {{"reason", deleted.error().message}});
  next_bite_ = Clock::now() + kBiteInterval;
  {
    const MutexLock lock(mutex_);
    biting_ = false;
    // After an error the next target is tried.
    if (!deleted || *deleted == 0) trimmed_ = bite.target;
  }
  bite_done_.notify_all();
}

void JournalThread::note(const store::AppendResult& result, int failures_before) const {
  using Outcome = store::AppendOutcome;
  if (result.outcome == Outcome::kDurable) {
    if (failures_before > 0) {
      log_.info("the server can write the journal again", {{"tries", failures_before + 1}});
    }
    return;
  }
  const bool final = result.outcome == Outcome::kBroken || result.outcome == Outcome::kFenced;
  if (failures_before > 0 && !final) return;  // said already
  log_.error(result.outcome == Outcome::kUnknown
                 ? "the server does not know whether an append to the journal succeeded"
                 : "the server can't write the journal",
             {{"reason", result.message}});
}

}  // namespace millrace::server
