// Idempotency keys within their window, and the job that each key made.
#pragma once

#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/changes.h"

namespace millrace::core {

class KeyIndex {
 public:
  // Null: the key is free at `now`. A key is free from its expiry on, even before expire() removes
  // it.
  const KeyRow* find(const Fingerprint& key, Time now) const;
  void insert(const KeyRow& row);
  // Removes the keys that expire at or before `until`.
  void expire(Time until);

  std::size_t size() const { return rows_.size(); }
  std::optional<Time> earliest_expiry() const;
  // In order of expiry, then key; the digest needs this order.
  const absl::btree_set<std::pair<Time, Fingerprint>>& by_expiry() const { return by_expiry_; }
  const KeyRow& at(const Fingerprint& key) const { return rows_.at(key); }

 private:
  absl::flat_hash_map<Fingerprint, KeyRow> rows_;
  absl::btree_set<std::pair<Time, Fingerprint>> by_expiry_;
};

}  // namespace millrace::core
