// This node's copy of the catalog (core/catalog/catalog.h). Code that needs a document, perhaps for
// each request, reads it here without a request to a shard.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "core/catalog/catalog.h"
#include "core/command.h"
#include "core/reply.h"

namespace millrace::service {

// Immutable.
struct CatalogSnapshot {
  std::map<core::CatalogKey, core::CatalogEntry> entries;

  // Null: there is no such entry.
  const core::CatalogEntry* find(core::CatalogKind kind, std::string_view name) const;
  // In order of name.
  template <typename Visit>
  void each(core::CatalogKind kind, Visit visit) const {
    for (auto at = entries.lower_bound({kind, {}}); at != entries.end(); ++at) {
      if (at->first.kind != kind) return;
      visit(at->second);
    }
  }
};

// Thread-safe. Its owner keeps it current: it sends next() to the first shard at least every
// kCatalogPause, and passes the reply to take().
class Catalog {
 public:
  std::shared_ptr<const CatalogSnapshot> snapshot() const;
  // The time of the newest reply of the first shard: the snapshot is no older. Steady::min():
  // never.
  Steady heard_at() const;

  core::GetCatalog next() const;
  // `asked_at`: when next() was called. True: there is more, ask again at once.
  bool take(core::CatalogReply reply, Steady asked_at);

  // Call after a write by this node, so that the change is visible at once, not only with the next
  // reply.
  void put(const core::CatalogEntry& entry);
  void remove(const core::CatalogKey& key);

 private:
  template <typename Change>
  void change(Change change) MILLRACE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::shared_ptr<const CatalogSnapshot> snapshot_ MILLRACE_GUARDED_BY(mutex_) =
      std::make_shared<const CatalogSnapshot>();
  std::uint64_t since_ MILLRACE_GUARDED_BY(mutex_) = 0;
  // A snapshot that is being read from the first revision; it replaces the current one when
  // complete.
  std::shared_ptr<CatalogSnapshot> anew_ MILLRACE_GUARDED_BY(mutex_);
  Steady heard_at_ MILLRACE_GUARDED_BY(mutex_) = Steady::min();
};

// A changed document reaches every node within a second: twice this pause, plus two round trips.
inline constexpr std::chrono::milliseconds kCatalogPause{250};

}  // namespace millrace::service
