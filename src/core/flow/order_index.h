// Jobs of a queue with the same order key run one at a time, in the order of their places. A line
// holds the key's unfinished jobs, except those passed while they retry, and offers at most one of
// them to claims.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "base/check.h"
#include "base/time.h"
#include "core/jobs/job_slots.h"
#include "core/string_map.h"

namespace millrace::core {

struct OrderLine {
  absl::btree_map<std::pair<Time, std::uint64_t>, SlotIndex> jobs;  // by place, then ord
  SlotIndex running = kNoSlot;
  SlotIndex offered = kNoSlot;  // the job that is among the ready jobs of its lane

  // The next job to run, whatever its state; kNoSlot: one is running, or there is none.
  SlotIndex turn() const {
    return running != kNoSlot || jobs.empty() ? kNoSlot : jobs.begin()->second;
  }
};

class OrderIndex {
 public:
  // Null: no unfinished job has this key.
  OrderLine* find(std::string_view queue, std::string_view key) {
    const auto found = lines_.find(name_of(queue, key));
    return found == lines_.end() ? nullptr : found->second.get();
  }
  const OrderLine* find(std::string_view queue, std::string_view key) const {
    return const_cast<OrderIndex*>(this)->find(queue, key);
  }
  OrderLine& enter(std::string_view queue, std::string_view key, Time place, std::uint64_t ord,
                   SlotIndex slot) {
    auto& line = lines_[name_of(queue, key)];
    if (line == nullptr) line = std::make_unique<OrderLine>();
    MILLRACE_CHECK(line->jobs.emplace(std::pair(place, ord), slot).second);
    return *line;
  }
  // Removes the line when it becomes empty.
  void leave(std::string_view queue, std::string_view key, Time place, std::uint64_t ord) {
    const auto line = lines_.find(name_of(queue, key));
    MILLRACE_CHECK(line != lines_.end() && line->second->jobs.erase({place, ord}) == 1);
    if (line->second->jobs.empty()) lines_.erase(line);
  }

 private:
  static std::string name_of(std::string_view queue, std::string_view key) {
    std::string name;
    name.reserve(queue.size() + 1 + key.size());
    name.append(queue).push_back('\0');
    return name.append(key);
  }

  StringMap<std::unique_ptr<OrderLine>> lines_;
};

}  // namespace millrace::core
