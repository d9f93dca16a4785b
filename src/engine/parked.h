// Parked<Item>: requests that wait for something, each with its asker and a deadline, in order of
// arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "engine/asker.h"

namespace millrace::engine {

// The order of arrival; identifies an entry while it is parked.
using ParkingNumber = std::uint64_t;

template <typename Item>
class Parked {
 public:
  struct Entry {
    Asker asker;
    Time deadline{};
    Item item;
  };

  // Precondition: the asker has no other entry; an asker waits for one thing at a time.
  ParkingNumber park(Asker asker, Time deadline, Item item) {
    const ParkingNumber number = next_number_++;
    deadlines_.emplace(deadline, number);
    by_asker_[asker] = number;
    entries_.emplace(number, Entry{asker, deadline, std::move(item)});
    return number;
  }

  // Null: no longer parked.
  Entry* find(ParkingNumber number) {
    const auto found = entries_.find(number);
    return found == entries_.end() ? nullptr : &found->second;
  }
  std::optional<ParkingNumber> number_of(const Asker& asker) const {
    const auto found = by_asker_.find(asker);
    if (found == by_asker_.end()) return std::nullopt;
    return found->second;
  }

  // Precondition: the entry exists.
  Entry take(ParkingNumber number) {
    const auto found = entries_.find(number);
    Entry entry = std::move(found->second);
    entries_.erase(found);
    deadlines_.erase({entry.deadline, number});
    by_asker_.erase(entry.asker);
    return entry;
  }

  // In order of deadline.
  std::vector<ParkingNumber> expired(Time now) const {
    std::vector<ParkingNumber> numbers;
    for (const auto& [deadline, number] : deadlines_) {
      if (deadline > now) break;
      numbers.push_back(number);
    }
    return numbers;
  }
  // In order of arrival.
  std::vector<ParkingNumber> all() const {
    std::vector<ParkingNumber> numbers;
    numbers.reserve(entries_.size());
    for (const auto& [number, entry] : entries_) numbers.push_back(number);
    return numbers;
  }

  std::optional<Time> next_deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
  }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  ParkingNumber next_number_ = 1;
  absl::btree_map<ParkingNumber, Entry> entries_;
  absl::btree_set<std::pair<Time, ParkingNumber>> deadlines_;
  absl::flat_hash_map<Asker, ParkingNumber> by_asker_;
};

}  // namespace millrace::engine
