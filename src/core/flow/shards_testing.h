// For tests: the limits of all shards of a store, and the jobs that run under each gate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/event.h"

namespace millrace::core {

class ShardsOfLimits {
 public:
  explicit ShardsOfLimits(std::uint32_t shards) : shards_(shards) {}

  std::size_t running() const {
    std::size_t all = 0;
    for (const Shard& shard : shards_) all += shard.running.size();
    return all;
  }

 protected:
  using LimitName = std::pair<LimitKind, std::string>;
  using GateName = std::tuple<LimitKind, std::string, std::uint64_t, std::string>;  // + incarnation
  struct Job {
    std::string type;
    JobLimits limits;
  };
  struct Shard {
    std::map<LimitName, Limit> copies;
    std::map<JobId, Job> jobs;
    std::set<JobId> running;
    std::map<GateName, Share> shares;
  };

  static std::string text(const SharedBytes& bytes) { return std::string(bytes.view()); }
  static Bounds bounds_of(const Limit& limit, const std::string& key) {
    Bounds bounds = limit.settings.bounds;
    if (limit.settings.per_key && key.empty()) return {};
    for (const KeyBounds& own : limit.settings.keys) {
      if (own.key.view() != key) continue;
      if (own.bounds.concurrency) bounds.concurrency = own.bounds.concurrency;
      if (own.bounds.rate) bounds.rate = own.bounds.rate;
    }
    return bounds;
  }
  // The gates that the job passes when it starts on this shard, each with its cost.
  std::vector<std::pair<GateName, std::uint64_t>> gates_of(const Shard& shard,
                                                           const Job& job) const {
    std::vector<std::pair<GateName, std::uint64_t>> gates;
    for (const JobLimit& named : job.limits) {
      const auto copy = shard.copies.find({LimitKind::kNamed, text(named.name)});
      if (copy == shard.copies.end() || copy->second.incarnation != named.incarnation) continue;
      gates.push_back({{LimitKind::kNamed, copy->first.second, named.incarnation, text(named.key)},
                       named.cost});
    }
    const auto of_type = shard.copies.find({LimitKind::kType, job.type});
    if (of_type != shard.copies.end()) {
      gates.push_back({{LimitKind::kType, job.type, of_type->second.incarnation, ""}, 1});
    }
    return gates;
  }
  const Limit* at_home(const GateName& gate) const {
    const Shard& home = shards_[queue_bits(std::get<1>(gate)) % shards_.size()];
    const auto limit = home.copies.find({std::get<0>(gate), std::get<1>(gate)});
    const bool is_it = limit != home.copies.end() && limit->second.incarnation == std::get<2>(gate);
    return is_it ? &limit->second : nullptr;
  }
  // The highest concurrency that any shard still applies; none: there is no bound, or the limit is
  // gone.
  std::optional<std::uint32_t> concurrency_of(const GateName& gate) const {
    std::uint32_t most = 0;
    if (at_home(gate) == nullptr) return std::nullopt;
    for (const Shard& shard : shards_) {
      const auto copy = shard.copies.find({std::get<0>(gate), std::get<1>(gate)});
      if (copy == shard.copies.end() || copy->second.incarnation != std::get<2>(gate)) {
        // A type's jobs pass without naming a limit.
        if (std::get<0>(gate) == LimitKind::kType) return std::nullopt;
        continue;
      }
      const Bounds bounds = bounds_of(copy->second, std::get<3>(gate));
      if (!bounds.concurrency) return std::nullopt;
      most = std::max(most, *bounds.concurrency);
    }
    return most;
  }
  std::uint64_t running_under(const GateName& gate) const {
    std::uint64_t count = 0;
    for (const Shard& shard : shards_) count += running_under(shard, gate);
    return count;
  }
  static std::uint64_t running_under(const Shard& shard, const GateName& gate) {
    std::uint64_t count = 0;
    {
      for (const JobId& id : shard.running) {
        const Job& job = shard.jobs.at(id);
        if (std::get<0>(gate) == LimitKind::kType) {
          count += job.type == std::get<1>(gate);
          continue;
        }
        for (const JobLimit& named : job.limits) {
          count += named.name.view() == std::get<1>(gate) &&
                   named.incarnation == std::get<2>(gate) &&
                   (std::get<3>(gate).empty() || named.key.view() == std::get<3>(gate));
        }
      }
    }
    return count;
  }

  std::vector<Shard> shards_;
};

}  // namespace millrace::core
