#include "service/catalog.h"

#include <utility>

namespace millrace::service {

const core::CatalogEntry* CatalogSnapshot::find(core::CatalogKind kind,
                                                std::string_view name) const {
  const auto found = entries.find({kind, SharedBytes(name)});
  return found == entries.end() ? nullptr : &found->second;
}

std::shared_ptr<const CatalogSnapshot> Catalog::snapshot() const {
  const MutexLock lock(mutex_);
  return snapshot_;
}

Steady Catalog::heard_at() const {
  const MutexLock lock(mutex_);
  return heard_at_;
}

core::GetCatalog Catalog::next() const {
  const MutexLock lock(mutex_);
  return {since_};
}

template <typename Change>
void Catalog::change(Change change) {
  auto changed = std::make_shared<CatalogSnapshot>(*snapshot_);
  change(changed->entries);
  snapshot_ = std::move(changed);
}

bool Catalog::take(core::CatalogReply reply, Steady asked_at) {
  const MutexLock lock(mutex_);
  if (!reply.entries.empty()) {
    since_ = reply.entries.back().revision;
    const auto add = [&](auto& entries) {
      for (core::CatalogEntry& entry : reply.entries) {
        const core::CatalogKey key{entry.kind, entry.name};
        core::CatalogEntry& known = entries[key];
        if (known.revision < entry.revision) known = std::move(entry);
      }
    };
    if (anew_ != nullptr) {
      add(anew_->entries);
    } else {
      change(add);
    }
  }
  if (reply.more) return true;
  const std::size_t known = (anew_ != nullptr ? anew_ : snapshot_)->entries.size();
  if (known == reply.total) {
    if (anew_ != nullptr) snapshot_ = std::exchange(anew_, nullptr);
    heard_at_ = asked_at;
    return false;
  }
  // An entry was deleted, or the store is older than before: a restored backup.
  since_ = 0;
  anew_ = std::make_shared<CatalogSnapshot>();
  return true;
}

void Catalog::put(const core::CatalogEntry& entry) {
  const MutexLock lock(mutex_);
  const auto add = [&](auto& entries) {
    core::CatalogEntry& known = entries[{entry.kind, entry.name}];
    if (known.revision < entry.revision) known = entry;
  };
  change(add);
  if (anew_ != nullptr) add(anew_->entries);
}

void Catalog::remove(const core::CatalogKey& key) {
  const MutexLock lock(mutex_);
  change([&](auto& entries) { entries.erase(key); });
  if (anew_ != nullptr) anew_->entries.erase(key);
}

}  // namespace millrace::service
