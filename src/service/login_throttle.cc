#include "service/login_throttle.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>

#include "base/random.h"

namespace millrace::service {
namespace {

constexpr double kMinute = 60.0;

double seconds(Steady from, Steady to) { return std::chrono::duration<double>(to - from).count(); }

// The part of an address that counts as one caller.
std::string neighbourhood(std::string_view address) {
  std::string text(address);
  in6_addr v6{};
  if (text.find(':') == std::string::npos || ::inet_pton(AF_INET6, text.c_str(), &v6) != 1) {
    return text;
  }
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    char v4[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &v6.s6_addr[12], v4, sizeof v4);
    return v4;
  }
  return {reinterpret_cast<const char*>(v6.s6_addr), 8};
}

}  // namespace

void SpendingBucket::refill(std::uint32_t per_minute, Steady now) {
  if (now > at_) {
    left_ = std::min<double>(per_minute, left_ + seconds(at_, now) * per_minute / kMinute);
    at_ = now;
  }
}

std::optional<Duration> SpendingBucket::wait(std::uint32_t per_minute, Steady now) {
  refill(per_minute, now);
  if (left_ >= 1) return std::nullopt;
  const double ms = (1 - left_) * kMinute * 1000 / std::max<std::uint32_t>(per_minute, 1);
  return Duration{std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(ms)))};
}

bool SpendingBucket::full(std::uint32_t per_minute, Steady now) const {
  const double gained = now > at_ ? seconds(at_, now) * per_minute / kMinute : 0;
  return left_ + gained >= per_minute;
}

LoginThrottle::LoginThrottle(std::uint32_t failures_per_minute, std::uint64_t seed)
    : seed_(seed), per_minute_(failures_per_minute) {}

std::uint64_t LoginThrottle::key(std::string_view first, std::string_view second) const {
  const std::hash<std::string_view> hash;
  const std::uint64_t made = mix64(mix64(hash(first) ^ seed_) + hash(second));
  return made == 0 ? 1 : made;  // 0 marks an empty place
}

std::uint64_t LoginThrottle::key_of(std::string_view address) const {
  return key(neighbourhood(address), {});
}

std::uint32_t LoginThrottle::per_token() const {
  return std::max<std::uint32_t>(3, per_minute_.load(std::memory_order_relaxed) / 10);
}

// A new bucket is full. If there is no room, removes those that are full again or else the first
// one: a caller with very many addresses is slowed by its connections.
SpendingBucket& LoginThrottle::bucket(Buckets& buckets, std::uint64_t key, std::uint32_t per_minute,
                                      Steady now) {
  const auto found = buckets.find(key);
  if (found != buckets.end()) return found->second;
  if (buckets.size() >= kMaxTracked) {
    std::erase_if(buckets, [&](const auto& entry) { return entry.second.full(per_minute, now); });
    if (buckets.size() >= kMaxTracked) buckets.erase(buckets.begin());
  }
  return buckets.emplace(key, SpendingBucket(per_minute, now)).first->second;
}

std::optional<Duration> LoginThrottle::refuses(std::string_view address, std::string_view id,
                                               std::string_view credentials, Steady now) {
  if (quiet_.load(std::memory_order_relaxed) || id.empty()) return std::nullopt;
  const std::uint64_t good = key(credentials, address);
  if (good_[good % good_.size()].load(std::memory_order_relaxed) == good) return std::nullopt;
  const MutexLock lock(mutex_);
  const auto found = by_token_.find(key(id, neighbourhood(address)));
  if (found == by_token_.end()) return std::nullopt;
  return found->second.wait(per_token(), now);
}

std::optional<Duration> LoginThrottle::failed(std::string_view address, std::string_view known_id,
                                              Steady now) {
  const std::uint32_t per_minute = per_minute_.load(std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  quiet_ = false;
  if (!known_id.empty()) {
    bucket(by_token_, key(known_id, neighbourhood(address)), per_token(), now).spend();
  }
  SpendingBucket& of_address = bucket(by_address_, key_of(address), per_minute, now);
  const auto wait = of_address.wait(per_minute, now);
  if (!wait) of_address.spend();
  return wait;
}

void LoginThrottle::succeeded(std::string_view address, std::string_view credentials) {
  const std::uint64_t good = key(credentials, address);
  std::atomic<std::uint64_t>& place = good_[good % good_.size()];
  if (place.load(std::memory_order_relaxed) != good) place.store(good, std::memory_order_relaxed);
}

std::size_t LoginThrottle::tracked() const {
  const MutexLock lock(mutex_);
  return by_address_.size() + by_token_.size();
}

}  // namespace millrace::service
