// For tests: the router over real shards on memory stores, which the test steps, and simulated
// other nodes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/routing/exchange.h"
#include "engine/routing/router.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {

inline constexpr ShardNumber kShards = 4;

class ManualTime final : public TimeSource {
 public:
  Time wall() const override { return now; }
  std::chrono::nanoseconds since_boot() const override { return now.time_since_epoch(); }
  Time now = time_from_ms(1'700'000'000'000);
};

// A shard behind its driver's interface: it accepts requests at any time and answers them in run().
class TestShard final : public Gateway, public DurableObserver {
 public:
  TestShard(ShardNumber number, const ManualTime& time, ShardOptions options = {})
      : time_(time), store_(store::make_memory_store()) {
    options.shard = number;
    shard_ = *Shard::recover(options, store_, time.now, {}, *this);
  }
  void submit(Request request, ReplyPort& port, Ticket ticket, std::string_view) override {
    ++requests;
    shard_->offer(std::move(request), port, ticket);
  }
  void cancel(ReplyPort& port, Ticket ticket) override { shard_->cancel(port, ticket); }
  // True: something happened.
  bool run() {
    bool any = false;
    for (int quiet = 0; quiet < 2;) {
      shard_->step(time_.now);
      const store::JournalRow* row = shard_->next_append();
      if (row != nullptr) shard_->append_done(store_.journal->append(*row), time_.now);
      std::vector<Outgoing> answers = shard_->take_answers();
      for (Outgoing& answer : answers) answer.port->deliver({&answer.delivery, 1});
      quiet = row != nullptr || !answers.empty() ? 0 : quiet + 1;
      any |= quiet == 0;
    }
    return any;
  }
  void durable(Seq, const core::EventBatch&) override {}
  Shard& shard() { return *shard_; }

  int requests = 0;

 private:
  const ManualTime& time_;
  store::Store store_;
  std::unique_ptr<Shard> shard_;
};

// The other nodes, as the router sees them.
class TestPeers final : public Peers {
 public:
  struct Asked {
    PeerShard where;
    Request request;
    std::string credentials;
    ReplyPort* port = nullptr;
    Ticket ticket{};
  };
  void ask(const PeerShard& where, Request request, std::string_view credentials, ReplyPort& port,
           Ticket ticket) override {
    asked.push_back({where, std::move(request), std::string(credentials), &port, ticket});
  }
  void cancel(ReplyPort&, Ticket ticket) override { cancelled.push_back(ticket); }
  void ask_for_shard(const PeerShard&, std::uint64_t, Epoch, Done) override {}
  void answer(std::size_t which, Answer answer) {
    Delivery delivery{asked[which].ticket, std::move(answer)};
    asked[which].port->deliver({&delivery, 1});
  }

  std::vector<Asked> asked;
  std::vector<Ticket> cancelled;
};

class RouterTest : public testing::Test, public ReplyPort {
 protected:
  RouterTest() : router(kShards, time, &peers) {
    for (ShardNumber shard = 0; shard < kShards; ++shard) {
      shards.push_back(std::make_unique<TestShard>(shard, time));
      router.lead_here(shard, *shards.back());
    }
    run();
  }

  void deliver(std::span<Delivery> deliveries) override {
    for (Delivery& delivery : deliveries) {
      EXPECT_TRUE(answers.emplace(delivery.ticket, std::move(delivery.answer)).second);
    }
  }
  Ticket ask(Request request, std::string_view credentials = {}) {
    const Ticket ticket{++tickets};
    router.submit(std::move(request), *this, ticket, credentials);
    return ticket;
  }
  void run() {
    for (bool any = true; any;) {
      any = false;
      for (const auto& shard : shards) any |= shard->run();
    }
  }
  void pass(Duration by) {
    time.now += by;
    router.tick();
    run();
  }
  template <typename T>
  T reply(Ticket ticket) {
    const auto found = answers.find(ticket);
    if (found == answers.end()) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    if constexpr (std::is_same_v<T, PollReply> || std::is_same_v<T, WorkersReply> ||
                  std::is_same_v<T, Unavailable>) {
      if (auto* answer = std::get_if<T>(&found->second)) return *answer;
    } else if (auto* core_reply = std::get_if<core::Reply>(&found->second)) {
      if (auto* answer = std::get_if<T>(core_reply)) return *answer;
    }
    ADD_FAILURE() << "an answer of another kind: " << found->second.index();
    return {};
  }
  template <typename T>
  T answer(Request request) {
    const Ticket ticket = ask(std::move(request));
    run();
    return reply<T>(ticket);
  }

  // A queue that lies on the shard, of the form "queue-N".
  static std::string queue_of(ShardNumber shard) {
    for (int n = 0;; ++n) {
      std::string name = "queue-" + std::to_string(n);
      if (shard_of(name, kShards) == shard) return name;
    }
  }
  core::JobSpec spec(const std::string& queue) {
    core::JobSpec spec;
    spec.id = make_job_id(time.now, queue_bits(queue), ++random);
    spec.queue = SharedBytes(queue);
    spec.type = SharedBytes("send");
    spec.payload = SharedBytes("1");
    return spec;
  }
  JobId submit(const std::string& queue) {
    core::Enqueue enqueue;
    enqueue.jobs.push_back(spec(queue));
    const JobId id = enqueue.jobs.front().id;
    EXPECT_EQ(answer<core::EnqueueReply>(core::Command(enqueue)).items.front().fate,
              core::Fate::kCreated);
    return id;
  }
  static WaitingClaim claim(std::vector<std::string> queues, std::uint32_t limit = 10,
                            Duration wait = {}) {
    return {ShardFixture::claim(std::move(queues), {}, limit), wait, ShardFixture::worker("anna")};
  }

  ManualTime time;
  TestPeers peers;
  Router router;
  std::vector<std::unique_ptr<TestShard>> shards;
  std::map<Ticket, Answer> answers;
  std::uint64_t tickets = 0;
  std::uint64_t random = 0;
};

}  // namespace millrace::engine
