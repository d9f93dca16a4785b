// Slows down clients that guess tokens, by their address and by the token that they name. Its
// memory is bounded.
//
// An address may cause a number of failures per minute. Beyond it, the answer to a failure is the
// time to wait, not the reason. A good token is always admitted, so that other clients at a
// guesser's address can go on working. For an existing token the bound is a tenth of that from one
// address. Beyond it, the credentials are not checked for a while, unless the same credentials were
// good from that address before.
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

// A token bucket: it refills over time, up to its size.
class SpendingBucket {
 public:
  SpendingBucket(std::uint32_t per_minute, Steady now) : left_(per_minute), at_(now) {}
  // The time until a token is available; none: now.
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

  // `seed`: random, so that nobody can predict which addresses share a place.
  LoginThrottle(std::uint32_t failures_per_minute, std::uint64_t seed);
  LoginThrottle(const LoginThrottle&) = delete;
  LoginThrottle& operator=(const LoginThrottle&) = delete;

  // Call before checking credentials that name the token `id`. Returns the time to wait instead of
  // a check; none: check them.
  std::optional<Duration> refuses(std::string_view address, std::string_view id,
                                  std::string_view credentials, Steady now);
  // The credentials were bad. `known_id`: the existing token that they name; empty: there is none.
  // Returns the time to wait, which the answer gives instead of the reason; none: it may give the
  // reason.
  std::optional<Duration> failed(std::string_view address, std::string_view known_id, Steady now);
  // The credentials were good.
  void succeeded(std::string_view address, std::string_view credentials);

  void set_failures_per_minute(std::uint32_t failures) { per_minute_ = failures; }
  std::size_t tracked() const;

 private:
  using Buckets = std::unordered_map<std::uint64_t, SpendingBucket>;

  std::uint64_t key(std::string_view first, std::string_view second) const;
  // The key of the network to which the address belongs: for IPv6 its /64.
  std::uint64_t key_of(std::string_view address) const;
  SpendingBucket& bucket(Buckets& buckets, std::uint64_t key, std::uint32_t per_minute, Steady now)
      MILLRACE_REQUIRES(mutex_);
  std::uint32_t per_token() const;

  const std::uint64_t seed_;
  std::atomic<std::uint32_t> per_minute_;
  std::atomic<bool> quiet_ = true;  // no recent failures: look-ups are skipped
  // Good credentials and their addresses, each in the single place for its hash.
  std::array<std::atomic<std::uint64_t>, 4'096> good_{};
  mutable Mutex mutex_;
  Buckets by_address_ MILLRACE_GUARDED_BY(mutex_);
  Buckets by_token_ MILLRACE_GUARDED_BY(mutex_);  // and address
};

}  // namespace millrace::service
