// Random lives of a shard. Whatever happens and wherever a life is cut off, acknowledged effects
// are found again, and the recovered state is that of the newest durable row.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "engine/shard/recovery.h"
#include "engine/shard/row_budget.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_fixture.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

class RandomLife : public ShardFixture {
 public:
  explicit RandomLife(std::uint64_t seed)
      : ShardFixture(store::make_memory_store(), {}), random_(seed) {}

  void live(int moments) {
    for (int i = 0; i < moments && !HasFatalFailure(); ++i) {
      moment();
    }
    run();
    expect_recoverable();
  }

  void durable(Seq seq, const core::EventBatch& batch) override {
    ShardFixture::durable(seq, batch);
    std::string body;
    store::encode_events(batch, body);
    std::size_t bound = 64;
    for (const core::Event& event : batch.events) bound += row_bytes(event);
    EXPECT_LE(body.size(), bound);
  }

 private:
  static bool HasFatalFailure() { return ::testing::Test::HasFatalFailure(); }
  std::uint64_t below(std::uint64_t limit) { return random_.next() % limit; }
  std::string any_job() { return "j" + std::to_string(below(kJobs)); }
  std::string any_queue() { return "q" + std::to_string(below(3)); }

  void moment() {
    switch (below(16)) {
      case 0:
        now += Duration{static_cast<std::int64_t>(below(3'000))};
        return;
      case 1:
        return crash_somewhere();
      case 2:
      case 3:
      case 4:
        return step();
      case 5:
      case 6:
        return append_somehow();
      case 7:
        return flush_somehow();
      case 8:
        run();
        return expect_no_lost_wake_up();
      default:
        return ask_something();
    }
  }

  void ask_something() {
    const Request request = any_request();
    tickets_.push_back(ask(request));
    if (const auto* claim = std::get_if<WaitingClaim>(&request)) {
      claims_.emplace(tickets_.back(), claim->claim);
    }
    if (below(10) != 0) return;
    const Ticket given_up = tickets_[below(tickets_.size())];
    cancel(given_up);
    claims_.erase(given_up);
  }

  Request any_request() {
    const std::string job = any_job();
    switch (below(12)) {
      case 0:
      case 1:
      case 2: {
        core::JobSpec made = spec(job, any_queue(), below(2) == 0 ? "send" : "fax");
        made.id_origin = core::IdOrigin::kClient;
        made.priority = static_cast<std::int16_t>(below(3));
        if (below(4) == 0) made.delay = Duration{static_cast<std::int64_t>(below(5'000))};
        if (below(8) == 0) made.expires_in = Duration{static_cast<std::int64_t>(1 + below(5'000))};
        made.max_attempts = 1 + static_cast<std::uint32_t>(below(3));
        return enqueue(made);
      }
      case 3:
      case 4:
      case 5: {
        core::Claim made =
            claim({any_queue(), any_queue()}, {}, 1 + static_cast<std::uint32_t>(below(3)));
        if (below(3) == 0) made.types.emplace_back("fax");
        return waiting(made, static_cast<std::int64_t>(below(4'000)),
                       "w" + std::to_string(below(3)));
      }
      case 6:
      case 7:
        return ack(job, static_cast<core::AckOutcome>(below(2)));
      case 8:
        return core::Command(core::Cancel{{id(job), id(any_job())}, SharedBytes("why not")});
      case 9:
        return core::Command(core::Retry{{id(job)}, {}, below(2) == 0});
      case 10:
        return core::Command(core::Delete{{id(job)}, core::DeleteCause::kOperator});
      default:
        return WatchJob{id(job), Duration{static_cast<std::int64_t>(below(2'000))}};
    }
  }

  void append_somehow() {
    const store::JournalRow* row = shard().next_append();
    if (row == nullptr) return;
    switch (below(5)) {
      case 0:
        return append_done({store::AppendOutcome::kFailed, "disk full"});
      case 1:
        store.journal->append(*row);
        return append_done({store::AppendOutcome::kUnknown, "connection lost"});
      default:
        return append_done(store.journal->append(*row));
    }
  }

  void flush_somehow() {
    const std::optional<Flush> flush = shard().next_flush(now);
    if (!flush) return;
    Status status;
    if (below(4) == 0) {
      status = failure("disk full");
    } else {
      status = store.tables->flush(*flush->changes, flush->from, flush->to);
      EXPECT_TRUE(status.has_value());
    }
    shard().flush_done(status, now);
  }

  void crash_somewhere() {
    if (below(4) != 0) return;
    if (below(2) == 0) {
      // The last row reached the disk, but its append was not reported.
      if (const store::JournalRow* row = shard().next_append()) store.journal->append(*row);
    }
    expect_recoverable();
    claims_.clear();
    crash(Duration{static_cast<std::int64_t>(below(60'000))});
  }

  void expect_recoverable() {
    const Result<Recovered> recovered = recover_state(0, {}, store);
    ASSERT_TRUE(recovered.has_value()) << recovered.error().message;
    if (recovered->head == Seq{0}) return;  // not even the term's first row
    ASSERT_TRUE(digests.contains(recovered->head));
    EXPECT_EQ(recovered->machine->digest(), digests.at(recovered->head));
    recovered->machine->check_invariants();
    // The state contains every acknowledged effect.
    if (durable_batches.empty()) return;
    EXPECT_GE(recovered->head, durable_batches.back().first);
  }

  // A ready job and a claim that waits for it never exist at the same time.
  void expect_no_lost_wake_up() {
    for (const auto& [ticket, claim] : claims_) {
      if (answered(ticket)) continue;
      for (int i = 0; i < kJobs; ++i) {
        const auto view = machine().view(id("j" + std::to_string(i)));
        if (view == nullptr || view->job.state != core::State::kReady) continue;
        const bool wanted =
            std::ranges::find(claim.queues, view->job.queue) != claim.queues.end() &&
            (claim.types.empty() ||
             std::ranges::find(claim.types, view->job.type) != claim.types.end());
        EXPECT_FALSE(wanted) << name(view->job.id) << " is ready, and a claim waits for it";
      }
    }
  }

  static constexpr int kJobs = 40;
  Random random_;
  std::vector<Ticket> tickets_;
  std::map<Ticket, core::Claim> claims_;  // of this life, and not given up
};

TEST(RandomLives, EndWhereTheJournalEnds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomLife(seed).live(400);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace millrace::engine
