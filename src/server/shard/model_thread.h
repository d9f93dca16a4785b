// Follows a shard's log on its own thread, and updates and stores the shard's read models
// (engine/models/). The shard's thread only hands over a pointer to each batch; a follower that
// falls behind reads the journal instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/models/read_models.h"
#include "engine/observer.h"
#include "store/tables.h"

namespace millrace::server {

// The most rows and events queued for the follower; it reads further ones from the journal.
inline constexpr std::size_t kMaxRowsHandedOver = 1'000;
inline constexpr std::size_t kMaxEventsHandedOver = 200'000;

class ModelThread final : public engine::ModelFollower {
 public:
  // `durable`: the journal's newest row; later rows count as live. `pace`: the shortest time
  // between two writes of the models.
  ModelThread(engine::ShardModels& models, store::Store& store, Seq durable, Logger log,
              std::chrono::milliseconds pace = std::chrono::milliseconds{2'000});
  ~ModelThread() override;  // stops
  ModelThread(const ModelThread&) = delete;
  ModelThread& operator=(const ModelThread&) = delete;

  // --- On the shard's thread.
  void share(Seq seq, const std::shared_ptr<const core::EventBatch>& batch);
  void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                   Time at);

  // --- Thread-safe.
  bool await(Duration at_most) override;
  Duration lag() const override;
  // The row up to which the models are stored. Later rows are still needed.
  Seq stored() const;
  // Reads the rows handed over and stores the models. Must be called from one thread, when no batch
  // comes any more.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Row {
    Seq seq{};
    std::shared_ptr<const core::EventBatch> batch;
    Clock::time_point since;
  };
  struct Worker {
    std::string name, version, sdk;
    Time at{};
  };
  struct News {
    std::deque<Row> rows;
    std::vector<Worker> workers;
    Seq durable{};
    bool stop = false;
  };

  void run();
  News wait();
  bool load();
  void take(News& news);
  void take(Seq seq, const core::EventBatch& batch);
  bool read_journal(Seq last);
  void note_taken(Seq seq);
  void store_now_and_then(bool now);
  void look_at_store();
  void warn(const char* what, const std::string& reason);
  bool stopping() const;

  engine::ShardModels& models_;
  store::Store& store_;
  const Seq live_after_;
  const Logger log_;
  const Clock::duration pace_;

  mutable Mutex mutex_;
  WaitCondition wake_;
  WaitCondition taken_;
  News news_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t events_ MILLRACE_GUARDED_BY(mutex_) = 0;  // in the queued rows
  bool asleep_ MILLRACE_GUARDED_BY(mutex_) = false;
  int readers_ MILLRACE_GUARDED_BY(mutex_) = 0;  // callers of await() that are waiting
  Seq taken_seq_ MILLRACE_GUARDED_BY(mutex_){};
  Seq stored_ MILLRACE_GUARDED_BY(mutex_){};
  std::optional<Clock::time_point> behind_since_ MILLRACE_GUARDED_BY(mutex_);

  // Only for the thread.
  bool loaded_ = false;
  bool warned_ = false;
  Seq at_{};  // the models' position
  Seq counted_live_{};
  Clock::time_point next_store_;
  Clock::time_point next_look_;
  Clock::time_point not_before_;  // after a failure

  std::thread thread_;  // last: it starts once all other members exist
};

}  // namespace millrace::server
