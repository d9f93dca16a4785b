// A limit is shared among the shards whose jobs some worker asks for. Several machines, whose
// messages arrive at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/machine.h"

namespace millrace::core {
namespace {

constexpr std::uint32_t kShards = 8;
constexpr std::uint32_t kSlots = 10;

class Nothing final : public Prefetched {
 public:
  const Job* find(const JobId&) const override { return nullptr; }
};

class UnclaimedShares : public ::testing::Test {
 protected:
  UnclaimedShares() {
    for (std::uint32_t number = 0; number < kShards; ++number) {
      MachineOptions options;
      options.shard = number;
      options.shards = kShards;
      machines_.push_back(std::make_unique<Machine>(options));
      std::vector<Event> events;
      machines_.back()->start_epoch(Epoch{1}, now_, events);
    }
    SetLimit set;
    set.kind = LimitKind::kNamed;
    set.name = SharedBytes("api");
    set.incarnation = 7;
    set.settings.bounds.concurrency = kSlots;
    const std::uint32_t home = static_cast<std::uint32_t>(queue_bits("api") % kShards);
    const auto reply = std::get<LimitReply>(decide(home, set));
    for (std::uint32_t number = 0; number < kShards; ++number) {
      decide(number, CopyLimit{number, reply.limits.front().limit, false});
    }
  }

  Reply decide(std::uint32_t shard, const Command& command) {
    std::vector<Event> events;
    return machines_[shard]->decide(command, now_, Nothing(), Admission::kOpen, events);
  }
  void submit(std::uint32_t shard, std::size_t count, const char* queue = "mail") {
    Enqueue enqueue;
    for (std::size_t i = 0; i < count; ++i) {
      JobSpec& spec = enqueue.jobs.emplace_back();
      spec.id.bytes[6] = 0x70;
      spec.id.bytes[8] = 0x80;
      ++last_id_;
      for (std::size_t at = 0; at < 4; ++at) {
        spec.id.bytes[12 + at] = static_cast<std::uint8_t>(last_id_ >> (24 - 8 * at));
      }
      spec.queue = SharedBytes(queue);
      spec.type = SharedBytes("send");
      spec.payload = SharedBytes("1");
      JobExtras extras;
      extras.limits.emplace_back().name = SharedBytes("api");
      spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    }
    decide(shard, enqueue);
  }
  // The jobs that the claim starts.
  std::size_t claim(std::uint32_t shard) {
    Claim claim;
    claim.queues = {SharedBytes("mail")};
    claim.limit = 100;
    claim.lease = Duration{3'600'000};
    claim.worker = SharedBytes("w");
    const auto reply = std::get<ClaimReply>(decide(shard, claim));
    for (const auto& item : reply.jobs) running_.push_back({shard, item.job.id, item.job.token});
    return reply.jobs.size();
  }
  std::size_t running(std::uint32_t shard) const {
    return static_cast<std::size_t>(std::ranges::count(running_, shard, &Running::shard));
  }
  void end_all(std::uint32_t shard) {
    for (const Running& each : running_) {
      if (each.shard != shard) continue;
      Ack ack;
      AckItem& item = ack.items.emplace_back();
      item.id = each.id;
      item.token = each.token;
      item.outcome = AckOutcome::kSucceeded;
      decide(shard, ack);
    }
    std::erase_if(running_, [&](const Running& each) { return each.shard == shard; });
  }
  // At each step the messages of shards arrive, and the workers of the shards in `working` end
  // their jobs and claim others.
  void pass(Duration time, const std::vector<std::uint32_t>& working = {}) {
    for (const Time until = now_ + time; now_ < until; now_ += Duration{50}) {
      for (auto& machine : machines_) {
        std::vector<Event> events;
        machine->tick(now_, events);
      }
      for (auto& machine : machines_) {
        for (ShareMessage& message : machine->take_share_messages(now_)) {
          decide(message.shard, message.command);
        }
      }
      for (const std::uint32_t shard : working) {
        end_all(shard);
        claim(shard);
      }
    }
  }

  struct Running {
    std::uint32_t shard = 0;
    JobId id;
    LeaseToken token{};
  };
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<Running> running_;
  Time now_ = time_from_ms(1'800'000'000'000);
  std::uint32_t last_id_ = 0;
};

TEST_F(UnclaimedShares, AShardWhoseWorkersAreGoneKeepsNobodyFromTheLimit) {
  submit(0, 20'000);
  submit(1, 20'000);
  pass(Duration{3'000}, {0, 1});
  EXPECT_EQ(running(0), kSlots / 2);
  EXPECT_EQ(running(1), kSlots / 2);
  end_all(1);
  pass(Duration{3'000}, {0});
  EXPECT_EQ(running(0), kSlots / 2) << "a worker may ask shard 1 at any time";
  pass(kClaimRemembered, {0});
  EXPECT_EQ(running(0), kSlots);
  // They come back.
  pass(Duration{3'000}, {0, 1});
  EXPECT_EQ(running(0), kSlots / 2);
  EXPECT_EQ(running(1), kSlots / 2);
}

TEST_F(UnclaimedShares, APausedQueueKeepsNobodyFromTheLimit) {
  submit(0, 1'000);
  submit(1, 1'000);
  decide(1, PauseQueue{SharedBytes("mail"), {}});
  pass(Duration{3'000}, {0, 1});
  EXPECT_EQ(running(0), kSlots);
}

TEST_F(UnclaimedShares, WhatNoOtherShardWantsIsThereForTheFirstClaim) {
  submit(1, 20);
  pass(kClaimRemembered + Duration{5'000});
  EXPECT_EQ(claim(1), kSlots);
}

TEST_F(UnclaimedShares, OneOfManyShardsHasWorkers) {
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    submit(shard, 1'000);
    submit(shard, 1'000, "reports");
  }
  pass(Duration{2'000});
  pass(kClaimRemembered + Duration{1'000});
  for (int step = 0; step < 40; ++step) {
    pass(Duration{50});
    claim(0);
  }
  EXPECT_EQ(running(0), kSlots);
}

}  // namespace
}  // namespace millrace::core
