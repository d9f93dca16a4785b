// Maintains the documents that hold the state of error groups (service/error_groups.h). It logs
// each new group once, reopens a resolved group whose error comes back, ends mutes, and records the
// end of a canary. Runs on the node that leads the first shard, which keeps the documents.
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
#include "server/operations.h"
#include "server/stores/backend.h"
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
  // All parts must outlive it; call stop() before the shards stop.
  explicit ErrorWatch(Parts parts);
  ~ErrorWatch();
  ErrorWatch(const ErrorWatch&) = delete;
  ErrorWatch& operator=(const ErrorWatch&) = delete;

  // Has its own thread from then on.
  void start();
  void stop();

  // The number of groups by api::ErrorStatus; none if another node knows them. Thread-safe.
  using Counts = std::array<std::uint64_t, 3>;
  std::optional<Counts> counts() const;

 private:
  struct Round;

  void run();
  void look();
  // The state to write for a group; none: no change.
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
  std::thread thread_;
};

}  // namespace millrace::server
