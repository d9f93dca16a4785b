// Copies the journal's rows to an archive (store/sqlite/archive.h) on its own thread, so that a
// slow disk there delays nobody. Rows not archived yet are not trimmed.
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
    Duration every{};         // the archive lags by at most this while it is writable
    Logger log;
  };
  static Result<std::unique_ptr<Archiver>> start(Parts parts);
  ~Archiver();  // stops without a last round
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;

  // --- Thread-safe.
  // The newest archived row.
  Seq archived() const { return Seq{archived_.load(std::memory_order_relaxed)}; }
  // Whether the last round failed.
  bool failing() const { return failing_.load(std::memory_order_relaxed); }
  // Everything answered up to `until` is in the journal.
  void answered_until(Time until) { until_ms_.store(to_ms(until), std::memory_order_relaxed); }

  // Archives the remaining rows and joins the thread. Nothing may be added to the journal any more.
  void finish(Time until);

 private:
  using Clock = std::chrono::steady_clock;

  Archiver(Parts parts, std::unique_ptr<store::ArchiveWriter> writer);
  void run();
  // Waits until the next round is due. False: stop.
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
  std::thread thread_;  // last: it starts once all other members exist
};

}  // namespace millrace::server
