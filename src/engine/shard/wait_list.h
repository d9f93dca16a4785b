// WaitList<Item>: requests that wait for something, each with its caller and a deadline, in order
// of arrival.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "engine/routing/reply_address.h"

namespace millrace::engine {

// The order of arrival; identifies an entry while it waits.
using WaitNumber = std::uint64_t;

template <typename Item>
class WaitList {
 public:
  struct Entry {
    ReplyAddress reply_to;
    Time deadline{};
    Item item;
  };

  // Precondition: the caller has no other entry; a caller waits for one thing at a time.
  WaitNumber add(ReplyAddress reply_to, Time deadline, Item item) {
    const WaitNumber number = next_number_++;
    deadlines_.emplace(deadline, number);
    by_address_[reply_to] = number;
    entries_.emplace(number, Entry{reply_to, deadline, std::move(item)});
    return number;
  }

  // Null: it no longer waits.
  Entry* find(WaitNumber number) {
    const auto found = entries_.find(number);
    return found == entries_.end() ? nullptr : &found->second;
  }
  std::optional<WaitNumber> number_of(const ReplyAddress& reply_to) const {
    const auto found = by_address_.find(reply_to);
    if (found == by_address_.end()) return std::nullopt;
    return found->second;
  }

  // Precondition: the entry exists.
  Entry take(WaitNumber number) {
    const auto found = entries_.find(number);
    Entry entry = std::move(found->second);
    entries_.erase(found);
    deadlines_.erase({entry.deadline, number});
    by_address_.erase(entry.reply_to);
    return entry;
  }

  // In order of deadline.
  std::vector<WaitNumber> expired(Time now) const {
    std::vector<WaitNumber> numbers;
    for (const auto& [deadline, number] : deadlines_) {
      if (deadline > now) break;
      numbers.push_back(number);
    }
    return numbers;
  }
  // In order of arrival.
  std::vector<WaitNumber> all() const {
    std::vector<WaitNumber> numbers;
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
  WaitNumber next_number_ = 1;
  absl::btree_map<WaitNumber, Entry> entries_;
  absl::btree_set<std::pair<Time, WaitNumber>> deadlines_;
  absl::flat_hash_map<ReplyAddress, WaitNumber> by_address_;
};

}  // namespace millrace::engine
