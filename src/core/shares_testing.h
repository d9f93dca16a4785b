// For tests: follows the journals of all shards of a store, and says what is broken of the promises
// about limits that hold over all of them.
//
// F1: the live leases under a gate are at most its concurrency, wherever they are; a bound that was
// lowered only stops new starts. F2: the starts in any stretch of time, each by its own shard's
// clock, are at most the burst and what the rate brings meanwhile. F8: the shares of a gate sum to
// at most its bounds.
//
// It knows no machine: only events, in the order in which they became durable.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "core/event.h"

namespace millrace::core {

class ShareWatch {
 public:
  explicit ShareWatch(std::uint32_t shards) : shards_(shards) {}

  void follow(std::uint32_t number, const EventBatch& batch) {
    Shard& shard = shards_.at(number);
    for (const Event& event : batch.events) {
      std::visit([&](const auto& e) { on(shard, e, batch.at); }, event);
    }
  }

  // The first broken promise; empty: none. A check of F2 looks at all starts so far.
  const std::string& broken() const { return broken_; }
  const std::string& check_rates() {
    for (auto& [gate, starts] : starts_) check_rate(gate, starts);
    return broken_;
  }
  // The books, for whoever looks for a fault.
  std::string books() const {
    std::string all;
    for (const auto& [gate, book] : books_) {
      all += fmt::format("\n{} {}: concurrency {}, rate {} in {} ms, burst {}; {} units at {};",
                         std::get<1>(gate), std::get<2>(gate), book.bounds.concurrency.value_or(0),
                         book.bounds.rate ? book.bounds.rate->limit : 0,
                         book.bounds.rate ? book.bounds.rate->per.count() : 0,
                         book.bounds.rate ? book.bounds.rate->most_at_once() : 0, book.tokens,
                         to_ms(book.at));
      for (const Grant& grant : book.grants) {
        const auto text = [](const Portion& portion) {
          return fmt::format("({} {} {})", portion.slots, portion.rate, portion.burst);
        };
        all +=
            fmt::format(" shard {}: version {}, {} counted {}{}", grant.shard, grant.version,
                        text(grant.portion), text(grant.counted), grant.taken ? "" : ", not taken");
      }
    }
    return all;
  }
  std::uint64_t starts() const { return started_; }
  std::uint64_t starts_shared() const { return started_shared_; }
  std::uint64_t moves() const { return moves_; }
  std::size_t running() const {
    std::size_t all = 0;
    for (const Shard& shard : shards_) all += shard.running.size();
    return all;
  }

 private:
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
  struct Starts {
    Rate rate;
    std::vector<std::pair<Time, std::uint64_t>> at;  // with costs
  };

  static std::string text(const SharedBytes& bytes) { return std::string(bytes.view()); }
  void broke(std::string what) {
    if (broken_.empty()) broken_ = std::move(what);
  }

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
  // The gates that a start of the job passes on this shard, each with its cost.
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
  // The highest concurrency that some shard still goes by; none: there is no bound, or no such
  // limit any more.
  std::optional<std::uint32_t> concurrency_of(const GateName& gate) const {
    std::uint32_t most = 0;
    if (at_home(gate) == nullptr) return std::nullopt;
    for (const Shard& shard : shards_) {
      const auto copy = shard.copies.find({std::get<0>(gate), std::get<1>(gate)});
      if (copy == shard.copies.end() || copy->second.incarnation != std::get<2>(gate)) {
        // Jobs of a type need no limit to name.
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

  void started(Shard& shard, const JobId& id, Time at) {
    ++started_;
    const auto job = shard.jobs.find(id);
    if (job == shard.jobs.end()) return broke("a job that nobody submitted starts");
    shard.running.insert(id);
    for (const auto& [gate, cost] : gates_of(shard, job->second)) {
      const Limit& copy = shard.copies.at({std::get<0>(gate), std::get<1>(gate)});
      const Bounds bounds = bounds_of(copy, std::get<3>(gate));
      const auto share = shard.shares.find(gate);
      if (share != shard.shares.end() && share->second.contested) ++started_shared_;
      if (const auto most = concurrency_of(gate); most && running_under(gate) > *most) {
        std::string where;
        for (const Shard& each : shards_) where += fmt::format(" {}", running_under(each, gate));
        broke(fmt::format("F1: {} jobs run under {} {} of concurrency {}: by shard{}",
                          running_under(gate), std::get<1>(gate), std::get<3>(gate), *most, where));
      }
      // A shard that has missed a deletion promises nothing.
      if (!bounds.rate || at_home(gate) == nullptr) continue;
      Starts& starts = starts_[{gate, copy.bounds_revision}];
      starts.rate = *bounds.rate;
      starts.at.emplace_back(at, cost);
    }
  }

  void check_rate(const std::pair<GateName, std::uint64_t>& gate, Starts& starts) {
    std::ranges::sort(starts.at);
    using Wide = __int128;
    const Wide per = starts.rate.per.count();
    const Wide room = static_cast<Wide>(starts.rate.most_at_once()) * per;
    Wide level = room;
    Time last{};
    for (const auto& [at, cost] : starts.at) {
      if (last != Time{}) {
        const Wide came = static_cast<Wide>(starts.rate.limit) * (at - last).count();
        level = std::min(room, level + came);
      }
      level -= static_cast<Wide>(cost) * per;
      last = at;
      if (level >= 0) continue;
      return broke(fmt::format("F2: {} {} starts more than {} in {} ms, burst {}, at {}",
                               std::get<1>(gate.first), std::get<3>(gate.first), starts.rate.limit,
                               starts.rate.per.count(), starts.rate.most_at_once(), to_ms(at)));
    }
  }

  // F8.
  void check_shares(const GateName& gate) {
    const Limit* const home = at_home(gate);
    if (home == nullptr) return;
    std::uint64_t slots = 0, rate = 0, burst = 0;
    for (const Shard& shard : shards_) {
      const auto share = shard.shares.find(gate);
      if (share == shard.shares.end()) continue;
      if (share->second.of != home->bounds_revision) continue;
      slots += share->second.portion.slots;
      rate += share->second.portion.rate;
      burst += share->second.portion.burst;
    }
    const Bounds bounds = bounds_of(*home, std::get<3>(gate));
    const bool fits = slots <= bounds.concurrency.value_or(0) &&
                      rate <= (bounds.rate ? bounds.rate->limit : 0) &&
                      burst <= (bounds.rate ? bounds.rate->most_at_once() : 0);
    if (!fits) {
      broke(fmt::format("F8: the shares of {} {} sum to {} slots, {} of the rate, {} of the burst",
                        std::get<1>(gate), std::get<3>(gate), slots, rate, burst));
    }
  }

  // --- Events.
  template <typename T>
  void on(Shard&, const T&, Time) {}
  void on(Shard& shard, const Submitted& event, Time) { keep(shard, event.job); }
  void on(Shard& shard, const Retried& event, Time) { keep(shard, event.job); }
  void on(Shard& shard, const Finished& event, Time) {
    shard.running.erase(event.job.id);
    keep(shard, event.job);
  }
  static void keep(Shard& shard, const core::Job& job) {
    Job& kept = shard.jobs[job.id];
    kept.type = text(job.type);
    kept.limits = job.extras == nullptr ? JobLimits() : job.extras->limits;
  }
  void on(Shard& shard, const Claimed& event, Time at) {
    for (const Claimed::Item& item : event.items) started(shard, item.job.id, at);
  }
  void on(Shard& shard, const AttemptEnded& event, Time) { shard.running.erase(event.job.id); }
  void on(Shard& shard, const LimitSet& event, Time) {
    shard.copies[{event.limit.kind, text(event.limit.name)}] = event.limit;
  }
  void on(Shard& shard, const LimitDeleted& event, Time) {
    shard.copies.erase({event.kind, text(event.name)});
    std::erase_if(shard.shares, [&](const auto& share) {
      return std::get<0>(share.first) == event.kind &&
             std::get<1>(share.first) == event.name.view();
    });
  }
  void on(Shard& shard, const ShareTaken& event, Time) {
    ++moves_;
    const auto copy = shard.copies.find({event.kind, text(event.name)});
    if (copy == shard.copies.end()) return broke("a shard takes a share of no limit");
    const GateName gate{event.kind, text(event.name), copy->second.incarnation, text(event.key)};
    shard.shares[gate] = event.share;
    check_shares(gate);
  }

  void on(Shard&, const SharesSet& event, Time) {
    const std::tuple gate(event.kind, text(event.name), text(event.key));
    if (event.book) {
      books_[gate] = *event.book;
    } else {
      books_.erase(gate);
    }
  }

  std::vector<Shard> shards_;
  std::map<std::pair<GateName, std::uint64_t>, Starts> starts_;  // by bounds_revision
  std::map<std::tuple<LimitKind, std::string, std::string>, ShareBook> books_;
  std::string broken_;
  std::uint64_t started_ = 0;
  std::uint64_t started_shared_ = 0;
  std::uint64_t moves_ = 0;
};

}  // namespace millrace::core
