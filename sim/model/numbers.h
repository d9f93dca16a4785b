// The numbers that a shard gives to its jobs and to some other changes, in the order of its
// decisions. The home of a limit also takes numbers for its book of shares. How many is not
// specified, so they are taken from the batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/event.h"

namespace millrace::sim {

class Numbers {
 public:
  void begin(const core::EventBatch& batch) {
    steps_.clear();
    at_ = 0;
    for (const core::Event& event : batch.events) {
      const auto* const set = std::get_if<core::LimitSet>(&event);
      const auto* const shares = std::get_if<core::SharesSet>(&event);
      const auto* const operation = std::get_if<core::OperationSet>(&event);
      const bool numbered =
          set != nullptr && set->change != core::LimitChange::kCopied && set->limit.revision > 0;
      if (numbered || std::holds_alternative<core::Submitted>(event) ||
          std::holds_alternative<core::CatalogPut>(event)) {
        steps_.push_back(kTaken);
      } else if (operation != nullptr && operation->change == core::OperationChange::kStarted) {
        steps_.push_back(kLooked);
      } else if (shares != nullptr && shares->book) {
        std::uint64_t highest = 0;
        if (shares->book->grants.empty()) continue;
        for (const core::Grant& grant : shares->book->grants) {
          highest = std::max(highest, grant.version);
        }
        steps_.push_back(highest);
      }
    }
  }
  // Takes the next number that the model predicts.
  std::uint64_t take() {
    skip();
    if (at_ < steps_.size()) ++at_;
    return next_++;
  }
  // The next result of take(); takes nothing.
  std::uint64_t next() {
    skip();
    if (at_ < steps_.size() && steps_[at_] == kLooked) ++at_;
    return next_;
  }
  void end() { skip(); }

 private:
  static constexpr std::uint64_t kTaken = 0;
  static constexpr std::uint64_t kLooked = ~std::uint64_t{0};  // an operation began
  void skip() {
    for (; at_ < steps_.size() && steps_[at_] != kTaken && steps_[at_] != kLooked; ++at_) {
      next_ = std::max(next_, steps_[at_] + 1);
    }
  }

  std::vector<std::uint64_t> steps_;  // any other value: the highest number in a book
  std::size_t at_ = 0;
  std::uint64_t next_ = 1;
};

}  // namespace millrace::sim
