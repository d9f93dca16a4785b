// The queues by name. None is ever removed: an entry stays where it is.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

  // Visits the queues of these names, in their order, until `visit` returns false; names of none
  // are passed over. What several of them lie in comes from memory at the same time.
  template <typename Visit>
  void visit(const std::vector<SharedBytes>& names, Visit visit) const {
    std::array<const QueueEntry*, kVisitedTogether> entries{};
    for (std::size_t first = 0; first < names.size(); first += entries.size()) {
      const std::size_t count = std::min(entries.size(), names.size() - first);
      if (count > 1) prefetch(names, first, count);
      for (std::size_t i = 0; i < count; ++i) {
        entries[i] = find(names[first + i].view());
        __builtin_prefetch(entries[i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (entries[i] != nullptr && !visit(*entries[i])) return;
      }
    }
  }

  std::size_t size() const { return queues_.size(); }
  // In no order that means anything.
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [name, entry] : queues_) visit(*entry);
  }

 private:
  static constexpr std::size_t kVisitedTogether = 16;

  QueueEntry* look_up(std::string_view name) const {
    if (last_ != nullptr && last_->name.view() == name) return last_;
    const auto found = queues_.find(name);
    if (found == queues_.end()) return nullptr;
    return last_ = found->second.get();
  }
  void prefetch(const std::vector<SharedBytes>& names, std::size_t first, std::size_t count) const {
    for (std::size_t i = first; i < first + count; ++i) names[i].prefetch();
    for (std::size_t i = first; i < first + count; ++i) queues_.prefetch(names[i].view());
  }

  StringMap<std::unique_ptr<QueueEntry>> queues_;
  // Found last: a command's jobs are mostly of one queue, which is looked for several times a job.
  mutable QueueEntry* last_ = nullptr;
};

}  // namespace millrace::core
