// How the last leases of the shard ended, so that a repeated ack gets the same answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "core/bounds.h"
#include "core/changes.h"

namespace millrace::core {

class EndedLeases {
 public:
  // When kEndedLeasesRemembered are held, a new one replaces the oldest.
  void add(const EndedLease& lease) {
    std::uint32_t place = oldest_;
    if (ring_.size() < kEndedLeasesRemembered) {
      place = static_cast<std::uint32_t>(ring_.size());
      ring_.push_back(lease);
    } else {
      forget(ring_[place].token, place);
      ring_[place] = lease;
      oldest_ = (oldest_ + 1) % kEndedLeasesRemembered;
    }
    remember(lease.token, place);
  }

  // Null: the lease has not ended, or it ended too long ago.
  const EndedLease* find(LeaseToken token) const {
    const auto page = pages_.find(to_number(token) / kPageTokens);
    if (page == pages_.end()) return nullptr;
    const std::uint32_t place = page->second->places[to_number(token) % kPageTokens];
    return place == kNowhere ? nullptr : &ring_[place];
  }

  std::size_t size() const { return ring_.size(); }
  // True: the oldest may have been forgotten. False: a token not held here belongs to a live lease
  // or was never issued.
  bool is_full() const { return ring_.size() == kEndedLeasesRemembered; }
  // The i-th from the oldest; i < size().
  const EndedLease& nth(std::size_t i) const { return ring_[(oldest_ + i) % ring_.size()]; }

 private:
  // Tokens are given in ascending order, and leases end roughly in that order. A page holds the
  // ring positions of neighbouring tokens, so that a batch of acks touches few cache lines.
  static constexpr std::uint64_t kPageTokens = 64;
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  struct Page {
    Page() { places.fill(kNowhere); }
    std::array<std::uint32_t, kPageTokens> places;
    std::uint32_t held = 0;  // entries that are not kNowhere
  };

  void remember(LeaseToken token, std::uint32_t place) {
    auto& page = pages_[to_number(token) / kPageTokens];
    if (page == nullptr) page = std::make_unique<Page>();
    std::uint32_t& held = page->places[to_number(token) % kPageTokens];
    if (held == kNowhere) ++page->held;
    held = place;
  }
  // Unless a later lease of the same token has taken another position in the ring.
  void forget(LeaseToken token, std::uint32_t place) {
    const auto page = pages_.find(to_number(token) / kPageTokens);
    if (page == pages_.end()) return;
    std::uint32_t& held = page->second->places[to_number(token) % kPageTokens];
    if (held != place) return;
    held = kNowhere;
    if (--page->second->held == 0) pages_.erase(page);
  }

  std::vector<EndedLease> ring_;
  std::uint32_t oldest_ = 0;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by token / kPageTokens
};

}  // namespace millrace::core
