#include "server/shard/model_thread.h"

#include <algorithm>
#include <utility>

#include "base/thread_name.h"
#include "store/event_codec.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Large models are written less often: writing takes at most a twentieth of the time.
constexpr int kShareOfTime = 20;
constexpr auto kLongestPace = 60s;
constexpr auto kLook = 5s;
constexpr auto kAfterFailure = 1s;
// Rows gather for this long, since a wake-up for each would cost the shard's thread time.
constexpr auto kDoze = 20ms;

Result<std::optional<engine::ShardModels::Oldest>> oldest_row(store::Journal& journal) {
  const auto extent = journal.extent();
  if (!extent) return std::unexpected(extent.error());
  if (extent->newest == Seq{}) return std::nullopt;
  std::optional<engine::ShardModels::Oldest> oldest;
  Status fault;
  const Status read = journal.read(extent->oldest, [&](const store::JournalRow& row) {
    const auto batch = store::decode_events(row.body);
    if (batch) {
      oldest = {row.seq, batch->at};
    } else {
      fault = std::unexpected(batch.error());
    }
    return false;
  });
  if (!read) return std::unexpected(read.error());
  if (!fault) return std::unexpected(fault.error());
  return oldest;
}

}  // namespace

ModelThread::ModelThread(engine::ShardModels& models, store::Store& store, Seq durable, Logger log,
                         std::chrono::milliseconds pace)
    : models_(models), store_(store), live_after_(durable), log_(std::move(log)), pace_(pace) {
  {
    const MutexLock lock(mutex_);
    news_.durable = durable;
    behind_since_ = Clock::now();
  }
  thread_ = std::thread([this] { run(); });
}

ModelThread::~ModelThread() { stop(); }

void ModelThread::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    news_.stop = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ModelThread::share(Seq seq, const std::shared_ptr<const core::EventBatch>& batch) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    news_.durable = seq;
    const auto now = Clock::now();
    if (!behind_since_) behind_since_ = now;
    if (news_.rows.size() < kMaxRowsHandedOver &&
        events_ + batch->events.size() <= kMaxEventsHandedOver) {
      events_ += batch->events.size();
      news_.rows.push_back({seq, batch, now});
    }
    wake = std::exchange(asleep_, false) || news_.rows.size() == kMaxRowsHandedOver / 2;
  }
  if (wake) wake_.notify_one();
}

void ModelThread::worker_seen(std::string_view worker, std::string_view version,
                              std::string_view sdk, Time at) {
  const MutexLock lock(mutex_);
  if (news_.workers.size() >= kMaxRowsHandedOver) return;
  news_.workers.push_back({std::string(worker), std::string(version), std::string(sdk), at});
}

bool ModelThread::await(Duration at_most) {
  const auto give_up = Clock::now() + at_most;
  const MutexLock lock(mutex_);
  const Seq wanted = news_.durable;
  ++readers_;
  wake_.notify_one();
  while (taken_seq_ < wanted && !news_.stop && taken_.wait_until(mutex_, give_up)) {
  }
  --readers_;
  return taken_seq_ >= wanted;
}

Duration ModelThread::lag() const {
  const MutexLock lock(mutex_);
  if (!behind_since_) return Duration{0};
  return std::chrono::duration_cast<Duration>(Clock::now() - *behind_since_);
}

Seq ModelThread::stored() const {
  const MutexLock lock(mutex_);
  return stored_;
}

bool ModelThread::stopping() const {
  const MutexLock lock(mutex_);
  return news_.stop;
}

void ModelThread::run() {
  name_this_thread("models");
  while (true) {
    News news = wait();
    if (Clock::now() >= not_before_ && (loaded_ || load())) take(news);
    if (news.stop) break;
    store_now_and_then(false);
    look_at_store();
  }
  if (loaded_) store_now_and_then(true);
}

ModelThread::News ModelThread::wait() {
  const MutexLock lock(mutex_);
  const auto dozes_until = Clock::now() + kDoze;
  while (!news_.stop && readers_ == 0 && news_.rows.size() < kMaxRowsHandedOver / 2 &&
         wake_.wait_until(mutex_, dozes_until)) {
  }
  auto until = std::min(next_look_, Clock::now() + kLook);
  if (models_.changed()) until = std::min(until, next_store_);
  if (not_before_ > Clock::now()) until = not_before_;
  const auto anything = [this]() MILLRACE_REQUIRES(mutex_) {
    return news_.stop || !loaded_ || !news_.workers.empty() || taken_seq_ < news_.durable;
  };
  const bool resting = not_before_ > Clock::now();
  while (!(resting ? news_.stop : anything())) {
    asleep_ = true;
    if (!wake_.wait_until(mutex_, until)) break;
  }
  asleep_ = false;
  News news;
  news.durable = news_.durable;
  news.stop = news_.stop;
  if (resting && !news.stop) return news;  // the queued rows stay queued, up to the bound
  news.rows.swap(news_.rows);
  news.workers.swap(news_.workers);
  events_ = 0;
  return news;
}

bool ModelThread::load() {
  const auto oldest = oldest_row(*store_.journal);
  const Status loaded =
      oldest ? models_.load(*store_.tables, *oldest) : std::unexpected(oldest.error());
  if (!loaded) {
    warn("the server can't read its read models", loaded.error().message);
    return false;
  }
  if (models_.found_damage()) {
    log_.warn("the stored read models are damaged; the server makes them anew from the log", {});
  }
  at_ = models_.position().seq;
  next_store_ = Clock::now() + pace_;
  next_look_ = Clock::now() + kLook;
  loaded_ = true;
  const MutexLock lock(mutex_);
  stored_ = at_;
  taken_seq_ = at_;
  if (taken_seq_ < news_.durable && !behind_since_) behind_since_ = Clock::now();
  return true;
}

void ModelThread::take(Seq seq, const core::EventBatch& batch) {
  using Source = engine::Statistics::Source;
  const bool live = seq > std::max(live_after_, counted_live_);
  if (live) counted_live_ = seq;
  models_.take(seq, batch, live ? Source::kLive : Source::kReplayed);
  at_ = seq;
}

void ModelThread::take(News& news) {
  for (const Worker& worker : news.workers) {
    models_.worker_seen(worker.name, worker.version, worker.sdk, worker.at);
  }
  for (const Row& row : news.rows) {
    if (row.seq <= at_) continue;
    if (row.seq > next(at_) && !read_journal(Seq{to_number(row.seq) - 1})) return;
    if (row.seq != next(at_)) break;
    take(row.seq, *row.batch);
  }
  if (at_ < news.durable && !read_journal(news.durable)) return;
  note_taken(at_);
}

// Reads in pieces, so that it can stop soon and store its progress.
bool ModelThread::read_journal(Seq last) {
  while (at_ < last) {
    const auto extent = store_.journal->extent();
    if (!extent) {
      warn("the server can't measure the journal for its read models", extent.error().message);
      return false;
    }
    if (extent->newest == Seq{}) return true;
    Seq from = next(at_);
    const bool gap = from < extent->oldest;
    from = std::max(from, extent->oldest);
    bool first = true;
    std::string fault;
    const Status read = store_.journal->read(from, [&](const store::JournalRow& row) {
      const auto batch = store::decode_events(row.body);
      if (!batch) {
        fault = batch.error().message;
        return false;
      }
      if (std::exchange(first, false) && gap) {
        models_.skip(Seq{to_number(row.seq) - 1}, batch->at);
        if (at_ != Seq{}) {
          log_.warn("the journal no longer has rows that the read models still needed",
                    {{"after", to_number(at_)}, {"before", to_number(row.seq)}});
        }
      }
      take(row.seq, *batch);
      return at_ < last && !stopping() && Clock::now() < next_store_;
    });
    if (!read || !fault.empty()) {
      warn("the server can't read the journal for its read models",
           read ? fault : read.error().message);
      return false;
    }
    note_taken(at_);
    if (stopping()) return false;
    if (first) return true;  // the journal is still empty
    store_now_and_then(false);
    if (!loaded_) return false;
  }
  return true;
}

void ModelThread::note_taken(Seq seq) {
  {
    const MutexLock lock(mutex_);
    taken_seq_ = seq;
    if (taken_seq_ >= news_.durable) {
      behind_since_.reset();
    } else if (!news_.rows.empty()) {
      behind_since_ = news_.rows.front().since;
    }
  }
  taken_.notify_all();
}

void ModelThread::store_now_and_then(bool now) {
  if (!loaded_ || (!now && Clock::now() < next_store_) || !models_.changed()) return;
  const auto begin = Clock::now();
  const auto stored = models_.save(*store_.tables);
  const auto took = Clock::now() - begin;
  next_store_ =
      Clock::now() + std::clamp<Clock::duration>(took * kShareOfTime, pace_,
                                                 std::max<Clock::duration>(kLongestPace, pace_));
  if (!stored) {
    warn("the server can't store its read models", stored.error().message);
    return;
  }
  if (!*stored) {
    // Another leader has stored the models, or a rebuild was requested.
    loaded_ = false;
    return;
  }
  warned_ = false;
  const MutexLock lock(mutex_);
  stored_ = at_;
}

void ModelThread::look_at_store() {
  if (!loaded_ || Clock::now() < next_look_) return;
  next_look_ = Clock::now() + kLook;
  const auto overtaken = models_.overtaken(*store_.tables);
  if (overtaken && *overtaken) loaded_ = false;
}

void ModelThread::warn(const char* what, const std::string& reason) {
  if (!std::exchange(warned_, true)) log_.warn(what, {{"reason", reason}});
  not_before_ = Clock::now() + kAfterFailure;
}

}  // namespace millrace::server
