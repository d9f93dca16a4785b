#include "server/shard/projection_thread.h"

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kFirstPause = 100ms;
constexpr auto kLongestPause = 5000ms;
constexpr auto kSyncInterval = 5s;
constexpr auto kChoresInterval = 1s;

}  // namespace

ProjectionThread::ProjectionThread(store::Tables& tables, Seq synced, Hooks hooks, Logger log)
    : tables_(tables),
      hooks_(std::move(hooks)),
      log_(std::move(log)),
      projected_(synced),
      synced_(synced),
      thread_([this] { run(); }) {}

ProjectionThread::~ProjectionThread() { stop(); }

void ProjectionThread::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  const MutexLock lock(mutex_);
  waiting_.reset();  // gives back its turn
}

void ProjectionThread::flush(engine::Flush flush, std::unique_ptr<FlushSemaphore::Permit> turn) {
  {
    const MutexLock lock(mutex_);
    waiting_ = Waiting{std::move(flush), std::move(turn)};
  }
  wake_.notify_one();
}

void ProjectionThread::run() {
  name_this_thread("projection");
  while (true) {
    switch (next_task()) {
      case Task::kFlush:
        flush_waiting();
        break;
      case Task::kChores:
        next_chores_ = Clock::now() + kChoresInterval;
        hooks_.chores();
        break;
      case Task::kSync:
        next_sync_ = Clock::now() + kSyncInterval;
        sync();
        break;
      case Task::kStop:
        if (projected_ > synced_) sync();
        return;
    }
  }
}

ProjectionThread::Task ProjectionThread::next_task() {
  const MutexLock lock(mutex_);
  while (true) {
    if (stopping_) return Task::kStop;
    const auto now = Clock::now();
    if (waiting_ && now >= not_before_) return Task::kFlush;
    if (now >= next_chores_) return Task::kChores;
    if (projected_ > synced_ && now >= next_sync_) return Task::kSync;
    wake_.wait_until(mutex_, waiting_ ? std::min(not_before_, next_chores_) : next_chores_);
  }
}

void ProjectionThread::flush_waiting() {
  Waiting waiting = [this] {
    const MutexLock lock(mutex_);
    return *std::exchange(waiting_, std::nullopt);
  }();
  const engine::Flush& flush = waiting.flush;
  const auto start = Clock::now();
  Status status = tables_.flush(*flush.changes, {flush.base, flush.from}, flush.to);
  const auto end = Clock::now();
  waiting.turn.reset();
  if (status) {
    if (failures_ > 0)
      log_.info("the server can write the tables again", {{"tries", failures_ + 1}});
    failures_ = 0;
    projected_ = flush.to.seq;
    not_before_ = end;
  } else {
    if (failures_++ == 0) {
      log_.error("the server can't write the tables", {{"reason", status.error().message}});
    }
    not_before_ = end + std::min(kFirstPause * (1 << std::min(failures_ - 1, 6)), kLongestPause);
  }
  hooks_.flushed(std::move(status), flush, end - start);
}

void ProjectionThread::sync() {
  const Result<Seq> synced = tables_.sync();
  if (!synced) {
    log_.error("the server can't sync the tables", {{"reason", synced.error().message}});
    return;
  }
  synced_ = *synced;
  hooks_.synced(*synced);
}

}  // namespace millrace::server
