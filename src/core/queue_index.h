// The queues by name. None is ever removed: an entry stays where it is.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/string_map.h"
#include "core/queue_entry.h"

namespace millrace::core {

class QueueIndex {
 public:
  // Null: there is none.
  const QueueEntry* find(std::string_view name) const { return look_up(name); }
  // Made where there is none.
  QueueEntry& ensure(const SharedBytes& name) {
    if (QueueEntry* const entry = look_up(name.view())) return *entry;
    auto& entry = queues_[std::string(name.view())];
    entry = std::make_unique<QueueEntry>(name);
    return *entry;
  }

  std::size_t size() const { return queues_.size(); }
  // In no order that means anything.
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [name, entry] : queues_) visit(*entry);
  }

 private:
  QueueEntry* look_up(std::string_view name) const {
    if (last_ != nullptr && last_->name.view() == name) return last_;
    const auto found = queues_.find(name);
    if (found == queues_.end()) return nullptr;
    return last_ = found->second.get();
  }

  StringMap<std::unique_ptr<QueueEntry>> queues_;
  // Found last: a command's jobs are mostly of one queue, which is looked for several times a job.
  mutable QueueEntry* last_ = nullptr;
};

}  // namespace millrace::core
