// The queues by name. An entry's address stays the same until its queue is deleted.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "base/bytes.h"
#include "core/queues/queue_entry.h"
#include "core/string_map.h"

namespace millrace::core {

class QueueIndex {
 public:
  // Null: there is no such queue.
  const QueueEntry* find(std::string_view name) const { return look_up(name); }
  // As find(), for changing the entry.
  QueueEntry* find_entry(std::string_view name) { return look_up(name); }
  // Creates the queue if it does not exist.
  QueueEntry& ensure(const SharedBytes& name) {
    if (QueueEntry* const entry = look_up(name.view())) return *entry;
    auto& entry = queues_[std::string(name.view())];
    entry = std::make_unique<QueueEntry>(name);
    by_name_.emplace(entry->name.view(), entry.get());
    return *entry;
  }
  // Removes the entry; null: there is no such queue.
  std::unique_ptr<QueueEntry> take(std::string_view name) {
    const auto found = queues_.find(name);
    if (found == queues_.end()) return nullptr;
    std::unique_ptr<QueueEntry> entry = std::move(found->second);
    by_name_.erase(entry->name.view());
    queues_.erase(found);
    last_ = nullptr;
    return entry;
  }

  std::size_t size() const { return queues_.size(); }
  // Visits entries in order of name, starting after `after`, until `visit` returns false.
  template <typename Visit>
  void walk(std::string_view after, Visit visit) const {
    for (auto at = by_name_.upper_bound(after); at != by_name_.end(); ++at) {
      if (!visit(*at->second)) return;
    }
  }
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [name, entry] : by_name_) visit(*entry);
  }

 private:
  QueueEntry* look_up(std::string_view name) const {
    if (last_ != nullptr && last_->name.view() == name) return last_;
    const auto found = queues_.find(name);
    if (found == queues_.end()) return nullptr;
    return last_ = found->second.get();
  }

  StringMap<std::unique_ptr<QueueEntry>> queues_;
  absl::btree_map<std::string_view, QueueEntry*> by_name_;  // views of the entries' own names
  // The entry found last: most jobs of a command are of one queue, and each job looks it up
  // repeatedly.
  mutable QueueEntry* last_ = nullptr;
};

}  // namespace millrace::core
