// A claim, or a worker's poll, over several shards: what it brings is committed first, on all
// shards at once; then the shards of its queues are asked for jobs, one after the other in the
// order of the queues, each for what is left of the limit. If none has any, a hint is left on each:
// the first that fires begins the round anew. A hint leases nothing.
#include <algorithm>
#include <utility>

#include "engine/operation.h"
#include "engine/router.h"

namespace millrace::engine {
namespace {

// With jobs in hand, the next shard is not waited for any longer.
constexpr std::chrono::milliseconds kNextShardPatience{1'000};
// Before a hint is left anew on a shard that could not keep it; twice as long each time.
constexpr std::chrono::milliseconds kLostHintPause{100};
constexpr std::chrono::milliseconds kLongestLostHintPause{2'000};

// A run of queues that lie on one shard.
struct Leg {
  ShardNumber shard = 0;
  std::vector<SharedBytes> queues;
};

std::vector<Leg> legs_of(const std::vector<SharedBytes>& queues, ShardNumber shards) {
  std::vector<Leg> legs;
  for (const SharedBytes& queue : queues) {
    const ShardNumber shard = shard_of(queue.view(), shards);
    if (legs.empty() || legs.back().shard != shard) legs.push_back({shard, {}});
    legs.back().queues.push_back(queue);
  }
  return legs;
}

class Pursuit final : public Operation {
 public:
  Pursuit(Router& router, Request request, Asker asker, std::string credentials)
      : Operation(router, asker, std::move(credentials)) {
    if (auto* poll = std::get_if<Poll>(&request)) {
      is_poll_ = true;
      poll_ = std::move(*poll);
      return;
    }
    if (auto* waiting = std::get_if<WaitingClaim>(&request)) {
      poll_.claim = std::move(waiting->claim);
      poll_.wait = waiting->wait;
      poll_.worker = std::move(waiting->worker);
      return;
    }
    is_plain_claim_ = true;
    poll_.claim = std::get<core::Claim>(std::get<core::Command>(std::move(request)));
  }

 private:
  enum class Phase : std::uint8_t { kBringing, kClaiming, kWaiting };

  void start() override MILLRACE_REQUIRES(mutex_) {
    until_ = now() + poll_.wait;
    if (poll_.claim) {
      legs_ = legs_of(poll_.claim->queues, shards());
    } else {
      // For the worker's orders alone.
      for (ShardNumber shard = 0; shard < shards(); ++shard) legs_.push_back({shard, {}});
    }
    if (is_poll_) bring();
    if (bringing_ == 0) claim_round();
  }

  // --- What the worker brings.
  struct Brought {
    core::ItemsReply* into = nullptr;
    Request whole;  // of its kind, for those that their shards know nothing of
    std::vector<Part> parts;
  };

  void bring() MILLRACE_REQUIRES(mutex_) {
    bring_one(reply_.acks, core::Command(std::exchange(poll_.acks, {})));
    bring_one(reply_.heartbeats, core::Command(std::exchange(poll_.heartbeats, {})));
    bring_one(reply_.logs, core::Command(std::exchange(poll_.logs, {})));
  }

  void bring_one(core::ItemsReply& into, Request request) MILLRACE_REQUIRES(mutex_) {
    Answer whole = empty_whole(request);
    into = std::get<core::ItemsReply>(std::get<core::Reply>(std::move(whole)));
    if (into.items.empty()) return;
    for (Part& part : divide(request, shards()).parts) {
      bring_part(into, part.shard, std::move(part.request), std::move(part.places),
                 Errand::kAtHome);
    }
  }

  enum class Errand : std::uint8_t { kAtHome, kElsewhere };
  struct Carried {
    core::ItemsReply* into = nullptr;
    ShardNumber shard = 0;
    Part part;  // its request is kept
    Errand errand{};
  };

  void bring_part(core::ItemsReply& into, ShardNumber shard, Request request,
                  std::vector<std::uint32_t> places, Errand errand) MILLRACE_REQUIRES(mutex_) {
    ++bringing_;
    const std::size_t number = ask(shard, request);
    carried_.resize(std::max(carried_.size(), number + 1));
    carried_[number] = {&into, shard, {shard, std::move(request), std::move(places)}, errand};
  }

  void brought(Carried carried, Answer answer) MILLRACE_REQUIRES(mutex_) {
    Answer whole = core::Reply(std::move(*carried.into));
    if (carried.errand == Errand::kAtHome) {
      unite(whole, carried.part, answer);
      look_elsewhere(carried, answer);
    } else {
      unite_elsewhere(whole, carried.part, std::move(answer));
    }
    *carried.into = std::get<core::ItemsReply>(std::get<core::Reply>(std::move(whole)));
    if (--bringing_ == 0) claim_round();
  }

  void look_elsewhere(const Carried& carried, const Answer& answer) MILLRACE_REQUIRES(mutex_) {
    const auto missing = ask_elsewhere(carried.part.request, answer);
    if (!missing) return;
    std::vector<std::uint32_t> places;
    for (const std::uint32_t place : missing->places) places.push_back(carried.part.places[place]);
    for (ShardNumber shard = 0; shard < shards(); ++shard) {
      if (shard == carried.shard) continue;
      bring_part(*carried.into, shard, missing->request, places, Errand::kElsewhere);
    }
  }

  // --- The round.
  void claim_round() MILLRACE_REQUIRES(mutex_) {
    phase_ = Phase::kClaiming;
    leg_ = 0;
    unavailable_.reset();
    refused_ = 0;
    claim_next();
  }

  void claim_next() MILLRACE_REQUIRES(mutex_) {
    const std::size_t got = reply_.claim.jobs.size();
    const bool full = poll_.claim && got >= poll_.claim->limit;
    if (full || leg_ == legs_.size()) return round_over();
    if (got > 0) ring_at(now() + kNextShardPatience);
    std::optional<core::Claim> claim = poll_.claim;
    if (claim) {
      claim->queues = legs_[leg_].queues;
      claim->limit -= static_cast<std::uint32_t>(got);
    }
    asked_at_ = now();
    if (is_poll_) {
      claiming_ = ask(legs_[leg_].shard, Poll{poll_.worker, {}, {}, {}, std::move(claim), {}});
    } else if (is_plain_claim_) {
      claiming_ = ask(legs_[leg_].shard, core::Command(*std::move(claim)));
    } else {
      claiming_ = ask(legs_[leg_].shard, WaitingClaim{*std::move(claim), {}, poll_.worker});
    }
  }

  void claimed(Answer answer) MILLRACE_REQUIRES(mutex_) {
    if (std::holds_alternative<Denied>(answer)) return denied(answer);
    if (const auto* why = std::get_if<Unavailable>(&answer)) {
      unavailable_ = *why;
      ++refused_;
    } else if (auto* poll = std::get_if<PollReply>(&answer)) {
      take_jobs(std::move(poll->claim));
      for (WorkerOrder& order : poll->orders) take_order(order);
    } else {
      take_jobs(std::get<core::ClaimReply>(std::get<core::Reply>(std::move(answer))));
    }
    ++leg_;
    claim_next();
  }

  void take_jobs(core::ClaimReply claim) MILLRACE_REQUIRES(mutex_) {
    std::ranges::move(claim.jobs, std::back_inserter(reply_.claim.jobs));
  }
  // What several shards say of the worker as a whole is said once.
  void take_order(const WorkerOrder& order) MILLRACE_REQUIRES(mutex_) {
    const auto same = [&](const WorkerOrder& other) {
      return other.kind == order.kind && other.kind != WorkerOrder::Kind::kCancel;
    };
    if (std::ranges::none_of(reply_.orders, same)) reply_.orders.push_back(order);
  }

  void round_over() MILLRACE_REQUIRES(mutex_) {
    const bool got = !reply_.claim.jobs.empty() || !reply_.orders.empty();
    if (got || !poll_.claim) return conclude();
    if (refused_ == legs_.size() && unavailable_ && !is_poll_) return finish(*unavailable_);
    if (now() >= until_) return conclude();
    wait();
  }

  void wait() MILLRACE_REQUIRES(mutex_) {
    phase_ = Phase::kWaiting;
    hints_.clear();
    hints_open_ = 0;
    lost_.clear();
    lost_pause_ = kLostHintPause;
    std::vector<ShardNumber> asked;
    for (const Leg& leg : legs_) {
      if (std::ranges::find(asked, leg.shard) != asked.end()) continue;
      asked.push_back(leg.shard);
      leave_hint(leg.shard);
    }
  }

  void leave_hint(ShardNumber shard) MILLRACE_REQUIRES(mutex_) {
    const auto left = std::chrono::ceil<Duration>(until_ - now());
    AwaitWork hint{{}, poll_.claim->types, poll_.worker.id, left};
    for (const Leg& leg : legs_) {
      if (leg.shard != shard) continue;
      hint.queues.insert(hint.queues.end(), leg.queues.begin(), leg.queues.end());
    }
    ++hints_open_;
    hints_.push_back({ask(shard, std::move(hint)), shard});
  }

  void drop_hints() MILLRACE_REQUIRES(mutex_) {
    for (const Hint& hint : hints_) drop(hint.part);
  }

  // Another node knows the token otherwise: with it nobody need come back.
  void denied(const Answer& answer) MILLRACE_REQUIRES(mutex_) {
    if (!reply_.claim.jobs.empty()) return conclude();
    finish(answer);
  }

  void hinted(std::size_t part, const Answer& answer) MILLRACE_REQUIRES(mutex_) {
    const auto hint = std::ranges::find(hints_, part, &Hint::part);
    if (hint == hints_.end()) return;
    --hints_open_;
    if (std::holds_alternative<Denied>(answer)) {
      drop_hints();
      return denied(answer);
    }
    if (std::holds_alternative<Unavailable>(answer)) {
      if (hints_open_ == 0) return conclude();
      // It will not tell of anything; the others may, and so may its next leader.
      if (lost_.empty()) ring_at(now() + lost_pause_);
      lost_.push_back(hint->shard);
      hints_.erase(hint);
      return;
    }
    drop_hints();
    claim_round();
  }

  void conclude() MILLRACE_REQUIRES(mutex_) {
    if (is_poll_) return finish(std::move(reply_));
    finish(core::Reply(std::move(reply_.claim)));
  }

  void answered(std::size_t part, Answer answer) override MILLRACE_REQUIRES(mutex_) {
    switch (phase_) {
      case Phase::kBringing:
        return brought(std::move(carried_[part]), std::move(answer));
      case Phase::kClaiming:
        return claimed(std::move(answer));
      case Phase::kWaiting:
        return hinted(part, answer);
    }
  }

  void rang() override MILLRACE_REQUIRES(mutex_) {
    if (phase_ == Phase::kWaiting && !lost_.empty() && now() < until_) {
      lost_pause_ = std::min(lost_pause_ * 2, kLongestLostHintPause);
      for (const ShardNumber shard : std::exchange(lost_, {})) leave_hint(shard);
    }
    if (phase_ != Phase::kClaiming || reply_.claim.jobs.empty()) return;
    if (now() - asked_at_ < kNextShardPatience) return;
    give_up(claiming_);
    conclude();
  }

  void given_up() override MILLRACE_REQUIRES(mutex_) {
    switch (phase_) {
      case Phase::kBringing:
        // It is carried out; nothing is claimed.
        poll_.claim.reset();
        legs_.clear();
        return;
      case Phase::kClaiming:
        give_up(claiming_);
        break;
      case Phase::kWaiting:
        drop_hints();
        break;
    }
    for (core::ClaimReply::Item& item : std::exchange(reply_.claim.jobs, {})) {
      const ShardNumber shard = shard_of(item.job.queue.view(), shards());
      core::ClaimReply one;
      one.jobs.push_back(std::move(item));
      give_back(shard, one);
    }
    finish(Unavailable::kDraining);
  }

  bool is_poll_ = false;
  bool is_plain_claim_ = false;
  Poll poll_;
  PollReply reply_;
  Instant until_{};
  Phase phase_ = Phase::kBringing;

  std::vector<Carried> carried_;  // by part
  std::size_t bringing_ = 0;

  std::vector<Leg> legs_;
  std::size_t leg_ = 0;
  std::size_t claiming_ = 0;
  Instant asked_at_{};
  std::size_t refused_ = 0;
  std::optional<Unavailable> unavailable_;

  struct Hint {
    std::size_t part = 0;
    ShardNumber shard = 0;
  };
  std::vector<Hint> hints_;  // of this wait
  std::size_t hints_open_ = 0;
  std::vector<ShardNumber> lost_;  // to be left anew
  std::chrono::milliseconds lost_pause_{};
};

}  // namespace

std::shared_ptr<Operation> make_pursuit(Router& router, Request request, Asker asker,
                                        std::string credentials) {
  return std::make_shared<Pursuit>(router, std::move(request), asker, std::move(credentials));
}

}  // namespace millrace::engine
