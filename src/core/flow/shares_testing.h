// For tests: follows the journals of all shards of a store, and reports the first broken promise
// about limits.
//
// F1: the live leases under a gate, on all shards, are at most its concurrency; a lowered bound
// only stops new starts. F2: the starts in any period, each by its own shard's clock, are at most
// the burst plus the rate's tokens of that period. F8: the shares of a gate sum to at most its
// bounds.
//
// It does not know the machine, only events, in the order in which they became durable.
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
#include "core/flow/shards_testing.h"

namespace millrace::core {

class ShareWatch : public ShardsOfLimits {
 public:
  using ShardsOfLimits::ShardsOfLimits;

  void follow(std::uint32_t number, const EventBatch& batch) {
    Shard& shard = shards_.at(number);
    for (const Event& event : batch.events) {
      std::visit([&](const auto& e) { on(shard, e, batch.at); }, event);
    }
  }

  // The first broken promise; empty: none. A check of F2 covers all starts so far.
  const std::string& broken() const { return broken_; }
  const std::string& check_rates() {
    for (auto& [gate, starts] : starts_) check_rate(gate, starts);
    return broken_;
  }
  // The books, to help find a fault.
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

 private:
  struct Starts {
    Rate rate;
    std::vector<std::pair<Time, std::uint64_t>> at;  // with costs
  };

  void broke(std::string what) {
    if (broken_.empty()) broken_ = std::move(what);
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

  std::map<std::pair<GateName, std::uint64_t>, Starts> starts_;  // by bounds_revision
  std::map<std::tuple<LimitKind, std::string, std::string>, ShareBook> books_;
  std::string broken_;
  std::uint64_t started_ = 0;
  std::uint64_t started_shared_ = 0;
  std::uint64_t moves_ = 0;
};

}  // namespace millrace::core
