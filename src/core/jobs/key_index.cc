#include "core/jobs/key_index.h"

namespace millrace::core {

const KeyRow* KeyIndex::find(const Fingerprint& key, Time now) const {
  const auto found = rows_.find(key);
  if (found == rows_.end() || found->second.key.expires_at <= now) return nullptr;
  return &found->second;
}

void KeyIndex::insert(const KeyRow& row) {
  const auto [place, inserted] = rows_.insert({row.key.key, row});
  if (!inserted) {  // an expired one that has not been removed yet
    by_expiry_.erase({place->second.key.expires_at, row.key.key});
    place->second = row;
  }
  by_expiry_.insert({row.key.expires_at, row.key.key});
}

void KeyIndex::expire(Time until) {
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= until) {
    rows_.erase(by_expiry_.begin()->second);
    by_expiry_.erase(by_expiry_.begin());
  }
}

std::optional<Time> KeyIndex::earliest_expiry() const {
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.begin()->first;
}

}  // namespace millrace::core
