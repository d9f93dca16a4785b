// Keeps the journal's rows in an archive (store/sqlite/archive.h), on a thread of its own: a slow
// disk there delays nobody. Rows that are not archived yet are not trimmed.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "base/time.h"
#include "store/sqlite/archive.h"

namespace millrace::server {

class Archiver {
 public:
  struct Parts {
    std::string directory;
    std::string store_id;
    store::Journal& journal;  // outlives the archiver
    Duration every{};         // the archive is never longer behind, while it can be written
    Logger log;
  };
  static Result<std::unique_ptr<Archiver>> start(Parts parts);
  ~Archiver();  // stops without a last round
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;

  // --- Thread-safe.
  // The newest row that the archive has.
  Seq archived() const { return Seq{archived_.load(std::memory_order_relaxed)}; }
  // The last round did not succeed.
  bool failing() const { return failing_.load(std::memory_order_relaxed); }
  // All that was answered by then is in the journal.
  void answered_until(Time until) { until_ms_.store(to_ms(until), std::memory_order_relaxed); }

  // Archives what is left and joins. Nothing is added to the journal any more.
  void finish(Time until);

 private:
  using Clock = std::chrono::steady_clock;

  Archiver(Parts parts, std::unique_ptr<store::ArchiveWriter> writer);
  void run();
  // Whether the next round is due; waits for it. False: stop.
  bool await_round();
  void round(bool last);
  // The last round is not interrupted.
  Status archive_all(bool last_round);
  bool stops();

  const Parts parts_;
  const std::unique_ptr<store::ArchiveWriter> writer_;  // only for the thread
  std::atomic<std::uint64_t> archived_;
  std::atomic<std::int64_t> until_ms_{0};
  std::atomic<bool> failing_ = false;

  Mutex mutex_;
  WaitCondition wake_;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it starts when all other members exist
};

}  // namespace millrace::server
