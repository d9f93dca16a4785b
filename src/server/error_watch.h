// Looks after the documents that say in which state groups of errors are (service/error_groups.h):
// a new group is told in the log once, a resolved one that came back is open again, a mute ends, a
// canary's end is kept. Done by the node that leads the first shard, which keeps the documents.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "server/backend.h"
#include "server/operations.h"
#include "service/catalog.h"
#include "service/error_groups.h"

namespace millrace::server {

class ErrorWatch {
 public:
  struct Parts {
    Backend& backend;
    service::Catalog& catalog;
    const Clock& clock;
    Logger log;
  };
  // Has a thread of its own. All parts must outlive it; stop() before the shards stop.
  explicit ErrorWatch(Parts parts);
  ~ErrorWatch();
  ErrorWatch(const ErrorWatch&) = delete;
  ErrorWatch& operator=(const ErrorWatch&) = delete;

  void stop();

  // How many groups there are, by api::ErrorStatus; none: another node knows. Thread-safe.
  using Counts = std::array<std::uint64_t, 3>;
  std::optional<Counts> counts() const;

 private:
  struct Round;

  void run();
  void look();
  // What is to be written of a group; none: nothing.
  std::optional<api::ErrorGroupState> wanted(const engine::ErrorGroup& group,
                                             const core::CatalogEntry* entry, Round& round);
  bool put(const std::string& id, const core::CatalogEntry* entry,
           const api::ErrorGroupState& state);
  void forget(const core::CatalogEntry& entry);
  bool stopping() const;

  Parts parts_;
  ShardQuestions questions_;
  mutable Mutex mutex_;
  WaitCondition wake_;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::optional<Counts> counts_ MILLRACE_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it starts when all other members exist
};

}  // namespace millrace::server
