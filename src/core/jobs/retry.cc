#include "core/jobs/retry.h"

#include <algorithm>
#include <cstring>

#include "base/mutant.h"
#include "base/random.h"
#include "core/bounds.h"

namespace millrace::core {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kLongestMs = kTenYears.count();
static_assert(kLongestMs <= INT64_MAX / kMillion / 2, "delay times jitter must not overflow");

std::int64_t base_delay_ms(const RetryPolicy& policy, std::uint32_t attempt) {
  const std::int64_t base = policy.base.count();
  switch (policy.strategy) {
    case RetryStrategy::kList: {
      if (policy.delays.empty()) return 0;
      const std::size_t index =
          std::min<std::size_t>(attempt == 0 ? 0 : attempt - 1, policy.delays.size() - 1);
      return std::min(policy.delays[index].count(), kLongestMs);
    }
    case RetryStrategy::kFixed:
      return std::min(base, policy.max.count());
    case RetryStrategy::kLinear: {
      const std::int64_t n = std::max<std::uint32_t>(attempt, 1);
      return base > policy.max.count() / n ? policy.max.count() : base * n;
    }
    case RetryStrategy::kExponential:
      break;
  }
  std::int64_t delay = base;
  if (mutated(Mutant::kBackoffOverflow)) {
    const std::uint32_t shift = std::min<std::uint32_t>(attempt, 40);
    return static_cast<std::int32_t>(static_cast<std::uint64_t>(base) << shift >> 1);
  }
  for (std::uint32_t i = 1; i < attempt && delay < policy.max.count() && delay > 0; ++i) delay *= 2;
  return std::min(delay, policy.max.count());
}

std::int64_t spread_ms(const RetryPolicy& policy, std::int64_t delay_ms) {
  return delay_ms * std::min<std::int64_t>(policy.jitter_ppm, kMillion) / kMillion;
}

}  // namespace

Duration retry_delay(const RetryPolicy& policy, const JobId& id, std::uint32_t generation,
                     std::uint32_t attempt) {
  const std::int64_t delay = base_delay_ms(policy, attempt);
  std::uint64_t halves[2];
  std::memcpy(halves, id.bytes.data(), sizeof halves);
  const std::uint64_t dice =
      mix64(halves[0] ^ mix64(halves[1] ^ (std::uint64_t{generation} << 32 | attempt)));
  const auto share_ppm = static_cast<std::int64_t>(dice % (2 * kMillion + 1)) - kMillion;
  return Duration{delay + spread_ms(policy, delay) * share_ppm / kMillion};
}

DelayBounds retry_delay_bounds(const RetryPolicy& policy, std::uint32_t attempt) {
  const std::int64_t delay = base_delay_ms(policy, attempt);
  const std::int64_t spread = spread_ms(policy, delay);
  return {Duration{delay - spread}, Duration{delay + spread}};
}

}  // namespace millrace::core
