// How the last leases of the shard ended, so that the same ack sent again gets the same answer.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "core/changes.h"
#include "core/limits.h"

namespace millrace::core {

class EndedLeases {
 public:
  // The oldest goes when more than kEndedLeasesRemembered are held.
  void add(const EndedLease& lease) {
    if (ring_.size() < kEndedLeasesRemembered) {
      index_[to_number(lease.token)] = static_cast<std::uint32_t>(ring_.size());
      ring_.push_back(lease);
      return;
    }
    index_.erase(to_number(ring_[oldest_].token));
    index_[to_number(lease.token)] = static_cast<std::uint32_t>(oldest_);
    ring_[oldest_] = lease;
    oldest_ = (oldest_ + 1) % ring_.size();
  }

  // Null: never ended, or too long ago.
  const EndedLease* find(LeaseToken token) const {
    const auto found = index_.find(to_number(token));
    return found == index_.end() ? nullptr : &ring_[found->second];
  }

  std::size_t size() const { return ring_.size(); }
  // From the oldest on; i < size().
  const EndedLease& nth(std::size_t i) const { return ring_[(oldest_ + i) % ring_.size()]; }

 private:
  std::vector<EndedLease> ring_;
  std::size_t oldest_ = 0;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> index_;
};

}  // namespace millrace::core
