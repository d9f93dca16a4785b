// Slows down who tries tokens that are none: by the address that they come from, and by the token
// that they claim to have. Bounded memory, whoever calls.
//
// An address may fail so many times a minute; then each failure is answered with how long to wait
// instead of with what was wrong. A good token is let in all the while, so that who shares an
// address with a guesser goes on working. Secrets of a token that there is are tried a tenth as
// often from one address: beyond that nothing is looked at for a while, unless the very credentials
// were good from that address before.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"

namespace millrace::service {

// What may be spent: refilled with time up to its size.
class SpendingBucket {
 public:
  SpendingBucket(std::uint32_t per_minute, Steady now) : left_(per_minute), at_(now) {}
  // How long until there is one; none: there is.
  std::optional<Duration> wait(std::uint32_t per_minute, Steady now);
  void spend() { left_ -= left_ >= 1 ? 1 : left_; }
  bool full(std::uint32_t per_minute, Steady now) const;

 private:
  void refill(std::uint32_t per_minute, Steady now);

  double left_;
  Steady at_;
};

// Any thread.
class LoginThrottle {
 public:
  static constexpr std::size_t kMaxTracked = 8'192;  // addresses, and as many tokens at addresses

  // `seed`: random, so that nobody knows which addresses share a place.
  LoginThrottle(std::uint32_t failures_per_minute, std::uint64_t seed);
  LoginThrottle(const LoginThrottle&) = delete;
  LoginThrottle& operator=(const LoginThrottle&) = delete;

  // Before credentials that name the token `id` are looked at: how long to wait instead.
  std::optional<Duration> refuses(std::string_view address, std::string_view id,
                                  std::string_view credentials, Steady now);
  // They were no good. `known_id`: the token that there is; empty: none is. How long to wait, to be
  // told in place of the failure; none: it may be told.
  std::optional<Duration> failed(std::string_view address, std::string_view known_id, Steady now);
  // They were good.
  void succeeded(std::string_view address, std::string_view credentials);

  void set_failures_per_minute(std::uint32_t failures) { per_minute_ = failures; }
  std::size_t tracked() const;

 private:
  using Buckets = std::unordered_map<std::uint64_t, SpendingBucket>;

  std::uint64_t key(std::string_view first, std::string_view second) const;
  // Of the neighbourhood that the address stands for: of IPv6 its /64.
  std::uint64_t key_of(std::string_view address) const;
  SpendingBucket& bucket(Buckets& buckets, std::uint64_t key, std::uint32_t per_minute, Steady now)
      MILLRACE_REQUIRES(mutex_);
  std::uint32_t per_token() const;

  const std::uint64_t seed_;
  std::atomic<std::uint32_t> per_minute_;
  std::atomic<bool> quiet_ = true;  // nobody has failed lately: nothing is looked up
  // Credentials that were good, with where they came from: each in the one place for its hash.
  std::array<std::atomic<std::uint64_t>, 4'096> good_{};
  mutable Mutex mutex_;
  Buckets by_address_ MILLRACE_GUARDED_BY(mutex_);
  Buckets by_token_ MILLRACE_GUARDED_BY(mutex_);  // and address
};

}  // namespace millrace::service
