// Rates, breakers and the limits that a job names; what a fair share is counted in.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "terms/names.h"

namespace millrace::terms {

// A token bucket: `limit` starts per `per`, at most `burst` at once.
struct Rate {
  std::uint32_t limit = 1;
  Duration per{1'000};
  std::optional<std::uint32_t> burst;  // none: `limit`

  std::uint32_t most_at_once() const { return burst.value_or(limit); }
  friend bool operator==(const Rate&, const Rate&) = default;
};

// Stops all starts if too many attempts fail, then lets a few probes run before it closes again.
struct BreakerRule {
  std::uint32_t failure_ppm = 1'000'000;  // opens at this many failures per million attempts
  std::uint32_t min_attempts = 1;         // in the window; with fewer, the breaker stays closed
  Duration window{1'000};
  Duration open{100};        // how long nothing starts
  std::uint32_t probes = 1;  // that may run after that; this many successes close the breaker
  friend bool operator==(const BreakerRule&, const BreakerRule&) = default;
};

// A limit that a job names.
struct JobLimit {
  SharedBytes name;
  SharedBytes key;         // empty: the limit is not per key
  std::uint32_t cost = 1;  // of a start, against the rate
  // The limit's incarnation when the shard took the job; 0 until then. A later limit with this name
  // does not hold the job.
  std::uint64_t incarnation = 0;
  bool key_from_fair = false;  // only in a queue's settings: the key is the job's fair_key
  friend bool operator==(const JobLimit&, const JobLimit&) = default;
};

enum class FairBy : std::uint8_t { kTime, kStarts };
template <>
inline constexpr auto kNames<FairBy> = names_up_to<FairBy::kStarts>({
    {FairBy::kTime, "time"},
    {FairBy::kStarts, "starts"},
});

}  // namespace millrace::terms
