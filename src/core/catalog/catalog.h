// The catalog: named, versioned documents that every node keeps a copy of, such as tokens made at
// run time. The machine does not read a document; its owner in the service checks and writes it.
//
// A whole store has one catalog, which belongs to its first shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/btree_map.h"
#include "base/bytes.h"
#include "base/time.h"

namespace millrace::core {

enum class CatalogKind : std::uint8_t { kToken, kPushTarget, kErrorGroup };
inline constexpr std::size_t kCatalogKinds = 3;

struct CatalogEntry {
  CatalogKind kind{};
  SharedBytes name;  // unique within the kind
  SharedBytes body;  // at most kMaxCatalogBody bytes
  std::uint64_t version = 1;
  // Grows with each change of any entry, so that a copy requests only later changes.
  std::uint64_t revision = 0;
  Time created_at{};
  Time updated_at{};
};

// A command: returns the entries changed after `since`, in order of revision. See CatalogReply.
struct GetCatalog {
  std::uint64_t since = 0;
};

struct CatalogKey {
  CatalogKind kind{};
  SharedBytes name;
  friend bool operator<(const CatalogKey& a, const CatalogKey& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.name.view() < b.name.view();
  }
};

// The entries by key and by revision.
class CatalogIndex {
 public:
  // Null: there is no such entry. Valid until the next change.
  const CatalogEntry* find(const CatalogKey& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second;
  }
  // Replaces an entry of this key.
  void put(CatalogEntry entry) {
    CatalogKey key{entry.kind, entry.name};
    remove(key);
    by_revision_.emplace(entry.revision, key);
    by_key_.emplace(std::move(key), std::move(entry));
  }
  void remove(const CatalogKey& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    by_revision_.erase(found->second.revision);
    by_key_.erase(found);
  }
  std::size_t size() const { return by_key_.size(); }
  std::size_t count(CatalogKind kind) const {
    std::size_t n = 0;
    walk({kind, {}}, [&](const CatalogEntry& entry) { return entry.kind == kind && ++n > 0; });
    return n;
  }
  // In order of key, from `first` on, until `visit` returns false.
  template <typename Visit>
  void walk(const CatalogKey& first, Visit visit) const {
    for (auto at = by_key_.lower_bound(first); at != by_key_.end(); ++at) {
      if (!visit(at->second)) return;
    }
  }
  // In order of revision, above `revision`, until `visit` returns false.
  template <typename Visit>
  void walk_changed(std::uint64_t revision, Visit visit) const {
    for (auto at = by_revision_.upper_bound(revision); at != by_revision_.end(); ++at) {
      if (!visit(by_key_.at(at->second))) return;
    }
  }
  bool consistent() const {
    if (by_revision_.size() != by_key_.size()) return false;
    for (const auto& [revision, key] : by_revision_) {
      const CatalogEntry* const entry = find(key);
      if (entry == nullptr || entry->revision != revision) return false;
    }
    return true;
  }

 private:
  absl::btree_map<CatalogKey, CatalogEntry> by_key_;
  absl::btree_map<std::uint64_t, CatalogKey> by_revision_;
};

}  // namespace millrace::core
