#include "api/limit_decode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace millrace::api {
namespace {

// `max` has at most 32 bits.
bool read_count(Decode& decode, const Path& path, std::int64_t min, std::int64_t max,
                std::uint32_t& out) {
  std::int64_t value = 0;
  if (!read_integer(decode, path, min, max, value)) return false;
  out = static_cast<std::uint32_t>(value);
  return true;
}

constexpr Member<Rate> kRateMembers[] = {
    {"limit",
     [](Decode& d, const Path& p, Rate& out) { read_count(d, p, 1, kMaxRateLimit, out.limit); }},
    {"per_ms",
     [](Decode& d, const Path& p, Rate& out) { read_duration(d, p, 1, kMaxRatePerMs, out.per); }},
    {"burst", [](Decode& d, const Path& p,
                 Rate& out) { read_into(out.burst, read_count, d, p, 1, kMaxRateLimit); }},
};

constexpr Member<BreakerRule> kBreakerMembers[] = {
    {"failure_rate",
     [](Decode& d, const Path& p, BreakerRule& out) {
       double rate = 0;
       if (!read_real(d, p, 0, 1, rate)) return;
       if (rate <= 0) return d.fault(p, "must be above 0");
       // The least representable share is one in a million.
       out.failure_ppm =
           static_cast<std::uint32_t>(std::max(1L, std::lround(rate * kPartsPerMillion)));
     }},
    {"min_attempts",
     [](Decode& d, const Path& p, BreakerRule& out) {
       read_count(d, p, 1, kMaxBreakerAttempts, out.min_attempts);
     }},
    {"window_ms",
     [](Decode& d, const Path& p, BreakerRule& out) {
       read_duration(d, p, kMinBreakerWindowMs, kMaxBreakerWindowMs, out.window);
     }},
    {"open_ms",
     [](Decode& d, const Path& p, BreakerRule& out) {
       read_duration(d, p, kMinBreakerOpenMs, kMaxBreakerOpenMs, out.open);
     }},
    {"probes", [](Decode& d, const Path& p,
                  BreakerRule& out) { read_count(d, p, 1, kMaxBreakerProbes, out.probes); }},
};

constexpr Member<JobLimit> kName = {"name", [](Decode& d, const Path& p, JobLimit& out) {
                                      std::string name;
                                      read_name(d, p, name);
                                      out.name = SharedBytes(name);
                                    }};
constexpr Member<JobLimit> kKey = {"key", [](Decode& d, const Path& p, JobLimit& out) {
                                     std::string key;
                                     read_text(d, p, 1, kMaxLimitKeyBytes, key);
                                     out.key = SharedBytes(key);
                                   }};
constexpr Member<JobLimit> kCost = {"cost", [](Decode& d, const Path& p, JobLimit& out) {
                                      read_count(d, p, 1, kMaxLimitCost, out.cost);
                                    }};
constexpr std::array<std::string_view, 1> kKeySources = {"fair_key"};
constexpr Member<JobLimit> kKeyFrom = {"key_from", [](Decode& d, const Path& p, JobLimit& out) {
                                         std::size_t source = 0;
                                         out.key_from_fair = read_word(d, p, kKeySources, source);
                                       }};
constexpr Member<JobLimit> kJobLimitMembers[] = {kName, kKey, kCost};
constexpr Member<JobLimit> kQueueLimitMembers[] = {kName, kKey, kCost, kKeyFrom};

template <std::size_t N>
bool read_limits(Decode& decode, const Path& path, const Member<JobLimit> (&members)[N],
                 std::vector<JobLimit>& out) {
  return read_array(decode, path, 0, kMaxJobLimits, [&](const Path& element) {
    JobLimit limit;
    const std::optional<Seen> seen = read_object(decode, element, members, limit);
    if (!seen) return;
    require(decode, element, "name", seen->has(bit_of(kJobLimitMembers, "name")));
    if (std::ranges::find(out, limit.name, &JobLimit::name) != out.end()) {
      return decode.fault(element, "names a limit that is named already; name each limit once");
    }
    if (limit.key_from_fair && !limit.key.empty()) {
      return decode.fault(element, "has both key and key_from; leave one of them out");
    }
    out.push_back(std::move(limit));
  });
}

}  // namespace

bool read_rate(Decode& decode, const Path& path, Rate& out) {
  const std::optional<Seen> seen = read_object(decode, path, kRateMembers, out);
  if (!seen) return false;
  require(decode, path, "limit", seen->has(bit_of(kRateMembers, "limit")));
  require(decode, path, "per_ms", seen->has(bit_of(kRateMembers, "per_ms")));
  return true;
}

bool read_breaker(Decode& decode, const Path& path, BreakerRule& out) {
  const std::optional<Seen> seen = read_object(decode, path, kBreakerMembers, out);
  if (!seen) return false;
  for (std::size_t i = 0; i < std::size(kBreakerMembers); ++i) {
    require(decode, path, kBreakerMembers[i].name, seen->has(MemberSet{1} << i));
  }
  return true;
}

bool read_job_limits(Decode& decode, const Path& path, std::vector<JobLimit>& out) {
  return read_limits(decode, path, kJobLimitMembers, out);
}

bool read_queue_limits(Decode& decode, const Path& path, std::vector<JobLimit>& out) {
  return read_limits(decode, path, kQueueLimitMembers, out);
}

}  // namespace millrace::api
