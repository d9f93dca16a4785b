#include "server/shard/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <map>
#include <thread>

#include "base/random.h"
#include "server/process/system_time.h"
#include "store/memory/memory_store.h"
#include "store/testing/failing_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// A running clock that can be moved.
class MovableTime final : public engine::TimeSource {
 public:
  Time wall() const override { return system_time().wall() + Duration(moved_ms_.load()); }
  std::chrono::nanoseconds since_boot() const override { return system_time().since_boot(); }
  void move(Duration by) { moved_ms_ += by.count(); }

 private:
  std::atomic<std::int64_t> moved_ms_{0};
};

// Waits for answers, and fails on a second one for the same ticket.
class Port final : public engine::ReplyPort {
 public:
  explicit Port(engine::Gateway& gateway) : gateway_(gateway) {}

  engine::Ticket send(engine::Request request) {
    const engine::Ticket ticket{++last_};
    gateway_.submit(std::move(request), *this, ticket);
    return ticket;
  }
  void cancel(engine::Ticket ticket) { gateway_.cancel(*this, ticket); }

  engine::Answer wait(engine::Ticket ticket) {
    std::unique_lock lock(mutex_);
    const bool came = came_.wait_for(lock, 60s, [&] { return answers_.contains(ticket); });
    EXPECT_TRUE(came) << "no answer for ticket " << static_cast<std::uint64_t>(ticket);
    return came ? answers_.at(ticket) : engine::Answer{};
  }
  engine::Answer ask(engine::Request request) { return wait(send(std::move(request))); }
  bool answered(engine::Ticket ticket) {
    const std::lock_guard lock(mutex_);
    return answers_.contains(ticket);
  }
  std::size_t deliveries() const { return deliveries_; }
  std::atomic<int> stall_ms{0};  // of the shard's thread, at an answer

  void deliver(std::span<engine::Delivery> deliveries) override {
    std::this_thread::sleep_for(Duration(stall_ms));
    const std::lock_guard lock(mutex_);
    ++deliveries_;
    for (engine::Delivery& delivery : deliveries) {
      EXPECT_TRUE(answers_.emplace(delivery.ticket, std::move(delivery.answer)).second);
    }
    came_.notify_all();
  }

 private:
  engine::Gateway& gateway_;
  std::uint64_t last_ = 0;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<engine::Ticket, engine::Answer> answers_;
  std::atomic<std::size_t> deliveries_{0};
};

// A journal with scripted answers, then correct ones.
class MoodyJournal final : public store::Journal {
 public:
  explicit MoodyJournal(std::unique_ptr<store::Journal> inner) : inner_(std::move(inner)) {}

  store::AppendResult append(const store::JournalRow& row) override {
    std::this_thread::sleep_for(Duration(delay_ms.load()));
    if (failures > 0) {
      --failures;
      return {outcome, "as told"};
    }
    return inner_->append(row);
  }
  Status read(Seq from, const std::function<bool(const store::JournalRow&)>& visit) override {
    return inner_->read(from, visit);
  }
  Result<Extent> extent() override { return inner_->extent(); }
  Result<std::uint64_t> trim(Seq below) override { return inner_->trim(below); }

  std::atomic<int> failures{0};
  std::atomic<store::AppendOutcome> outcome{store::AppendOutcome::kFailed};
  std::atomic<int> delay_ms{0};

 private:
  std::unique_ptr<store::Journal> inner_;
};

class NoProbe final : public DriverProbe {
 public:
  void committed(std::chrono::nanoseconds, std::size_t, std::size_t requests) override {
    ++commits;
    committed_requests += requests;
  }
  void append_failed(store::AppendOutcome) override { ++failures; }
  void flushed(std::chrono::nanoseconds, std::size_t, bool) override { ++flushes; }
  std::atomic<std::size_t> commits{0}, committed_requests{0}, failures{0}, flushes{0};
};

class Events final : public engine::DurableObserver {
 public:
  void durable(Seq seq, const core::EventBatch& batch) override {
    EXPECT_GT(to_number(seq), last_);
    last_ = to_number(seq);
    for (const core::Event& event : batch.events) {
      if (std::holds_alternative<core::LeasesExtended>(event)) ++extensions;
    }
  }
  std::atomic<int> extensions{0};

 private:
  std::uint64_t last_ = 0;
};

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

class DriverTest : public testing::Test {
 protected:
  DriverTest() : store(store::make_memory_store()) {
    auto moody = std::make_unique<MoodyJournal>(std::move(store.journal));
    journal = moody.get();
    store.journal = std::move(moody);
    auto failing = std::make_unique<store::FailingTables>(std::move(store.tables));
    tables = failing.get();
    store.tables = std::move(failing);
    std::string name = std::filesystem::temp_directory_path() / "millrace-driver-XXXXXX";
    folder = ::mkdtemp(name.data());
    options.liveness_file = folder / "alive";
    options.events = {.age = 1h, .bytes = 1 << 30};
  }
  ~DriverTest() override {
    driver.reset();
    std::filesystem::remove_all(folder);
  }

  void start() {
    driver.reset();
    auto started = Driver::start(options, {.store = store,
                                           .time = time,
                                           .observer = events,
                                           .probe = probe,
                                           .read_until = [] { return Seq{1'000'000'000}; },
                                           .on_settled = [this] { ++settled; },
                                           .log = {},
                                           .flush_semaphore = &turns});
    ASSERT_TRUE(started) << started.error().message;
    driver = std::move(*started);
  }

  core::Command enqueue(std::size_t jobs) {
    core::Enqueue command;
    for (std::size_t i = 0; i < jobs; ++i) {
      core::JobSpec spec;
      spec.id = make_job_id(driver->now(), queue_bits("q"), system_random());
      spec.queue = SharedBytes("q");
      spec.type = SharedBytes("t");
      spec.payload = SharedBytes("{}");
      command.jobs.push_back(std::move(spec));
    }
    return command;
  }
  static core::Claim claim(std::uint32_t limit) {
    core::Claim command;
    command.queues = {SharedBytes("q")};
    command.limit = limit;
    command.worker = SharedBytes("w");
    return command;
  }
  static engine::WaitingClaim waiting_claim(Duration wait) {
    engine::WaitingClaim request;
    request.claim = claim(1);
    request.wait = wait;
    request.worker.id = SharedBytes("w");
    return request;
  }
  static const std::vector<core::ClaimReply::Item>& jobs_of(const engine::Answer& answer) {
    return std::get<core::ClaimReply>(std::get<core::Reply>(answer)).jobs;
  }
  static core::Ack ack(const std::vector<core::ClaimReply::Item>& jobs) {
    core::Ack command;
    for (const auto& item : jobs) {
      core::AckItem one;
      one.id = item.job.id;
      one.token = item.job.token;
      one.outcome = core::AckOutcome::kSucceeded;
      command.items.push_back(std::move(one));
    }
    return command;
  }

  MovableTime time;
  store::Store store;
  MoodyJournal* journal = nullptr;
  store::FailingTables* tables = nullptr;
  NoProbe probe;
  Events events;
  DriverOptions options;
  FlushSemaphore turns{1};
  std::filesystem::path folder;
  std::atomic<int> settled{0};
  std::unique_ptr<Driver> driver;
};

TEST_F(DriverTest, ManyThreadsEachGetTheirAnswers) {
  start();
  constexpr int kProducers = 4;
  constexpr int kBatches = 50;
  constexpr std::size_t kJobs = 20;
  std::atomic<std::size_t> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kProducers; ++i) {
    threads.emplace_back([&] {
      Port port(*driver);
      for (int batch = 0; batch < kBatches; ++batch) {
        const engine::Answer answer = port.ask(enqueue(kJobs));
        const auto& reply = std::get<core::EnqueueReply>(std::get<core::Reply>(answer));
        ASSERT_EQ(reply.items.size(), kJobs);
        EXPECT_EQ(reply.items[0].fate, core::Fate::kCreated);
      }
    });
    threads.emplace_back([&] {
      Port port(*driver);
      while (done < kProducers * kBatches * kJobs) {
        const engine::Answer claimed = port.ask(core::Command(claim(100)));
        const auto& jobs = jobs_of(claimed);
        if (jobs.empty()) continue;
        const engine::Answer acked = port.ask(core::Command(ack(jobs)));
        for (const auto& item : std::get<core::ItemsReply>(std::get<core::Reply>(acked)).items) {
          EXPECT_FALSE(item.refusal);
        }
        done += jobs.size();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kProducers * kBatches * kJobs);
}

TEST_F(DriverTest, TablesThatAreBehindSlowWhoSubmitsAndNobodyElse) {
  start();
  const auto created = [](Port& port, engine::Ticket ticket) {
    const engine::Answer answer = port.wait(ticket);
    const auto* const reply = std::get_if<core::Reply>(&answer);
    return reply != nullptr &&
           std::get<core::EnqueueReply>(*reply).items.at(0).fate == core::Fate::kCreated;
  };
  tables->flushes_fail = true;
  {
    Port port(*driver);
    port.ask(enqueue(1));
    std::this_thread::sleep_for(2'300ms);
    port.ask(enqueue(1'000));  // not slowed: a thousand make no flush long
    // It is slowed by at most a second, in which the machine may stall: then once more.
    bool was_slowed = false;
    for (int i = 0; i < 5 && !was_slowed; ++i) {
      const engine::Ticket first = port.send(enqueue(1));
      const engine::Ticket second = port.send(enqueue(1));
      EXPECT_EQ(jobs_of(port.ask(core::Command(claim(10)))).size(), 10U);
      was_slowed = !port.answered(first);
      EXPECT_TRUE(created(port, second));
      EXPECT_TRUE(port.answered(first));
    }
    EXPECT_TRUE(was_slowed);
  }

  // A drain does not wait for others, and does not refuse earlier requests.
  bool was_quick = false;
  for (int i = 0; i < 5 && !was_quick; ++i) {
    if (i > 0) start();
    Port port(*driver);
    if (i > 0) port.ask(enqueue(1));
    if (i > 0) std::this_thread::sleep_for(2'300ms);
    const engine::Ticket late = port.send(enqueue(1));
    const auto drained_at = std::chrono::steady_clock::now();
    driver->drain();
    EXPECT_TRUE(created(port, late));
    was_quick = std::chrono::steady_clock::now() - drained_at <
                node::SubmissionThrottle<int>::kLongest - 50ms;
  }
  EXPECT_TRUE(was_quick);
  tables->flushes_fail = false;
  EXPECT_TRUE(eventually([&] { return driver->status().drained; }));
}

TEST_F(DriverTest, AFlushWaitsForItsTurnAndTakesWhatCameMeanwhile) {
  std::optional<FlushSemaphore::Permit> other(std::in_place, turns, [] {});
  start();
  Port port(*driver);
  port.ask(enqueue(1));
  const std::clock_t before = std::clock();  // of all threads
  std::this_thread::sleep_for(400ms);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 5);
  EXPECT_EQ(probe.flushes, 0U);
  port.ask(enqueue(1));
  other.reset();
  EXPECT_TRUE(eventually([&] {
    const DriverStatus status = driver->status();
    return status.figures.projected == status.figures.durable;
  }));
  EXPECT_EQ(probe.flushes, 1U);

  // It gives the turn back, even if it ends while it waits.
  other.emplace(turns, [] {});
  EXPECT_TRUE(other->granted());
  port.ask(enqueue(1));
  std::this_thread::sleep_for(200ms);
  driver.reset();
  other.reset();
  EXPECT_TRUE(FlushSemaphore::Permit(turns, [] {}).granted());
}

TEST_F(DriverTest, AJournalThatStandsStillIsNoFaultOfTheTables) {
  bool was_quick = false;
  for (int i = 0; i < 5 && !was_quick; ++i) {  // the machine may stand still, too
    start();
    Port port(*driver);
    tables->flushes_fail = true;  // or they would have caught up at once
    journal->delay_ms = 2'500;
    port.ask(enqueue(1));
    journal->delay_ms = 0;
    const auto sent_at = std::chrono::steady_clock::now();
    port.ask(enqueue(1));
    was_quick =
        std::chrono::steady_clock::now() - sent_at < node::SubmissionThrottle<int>::kLongest - 50ms;
    tables->flushes_fail = false;
  }
  EXPECT_TRUE(was_quick);
}

TEST_F(DriverTest, OneCommitAnswersAllThatGathered) {
  journal->delay_ms = 200;  // all are sent in a few of these
  start();
  Port port(*driver);
  std::vector<engine::Ticket> tickets;
  for (int i = 0; i < 200; ++i) tickets.push_back(port.send(enqueue(1)));
  for (const engine::Ticket ticket : tickets) port.wait(ticket);
  EXPECT_LT(probe.commits, 20u);
  EXPECT_LT(port.deliveries(), 20u);
}

TEST_F(DriverTest, WaitingClaimIsServedByTheSubmission) {
  start();
  Port worker(*driver);
  Port producer(*driver);
  const engine::Ticket waiting = worker.send(waiting_claim(30s));
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(worker.answered(waiting));
  producer.ask(enqueue(1));
  EXPECT_EQ(jobs_of(worker.wait(waiting)).size(), 1u);
}

TEST_F(DriverTest, AWaitEndsByItself) {
  start();
  Port port(*driver);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(jobs_of(port.ask(waiting_claim(120ms))).empty());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 119ms);
}

TEST_F(DriverTest, ACancelledWaitTakesNoJob) {
  start();
  Port port(*driver);
  const engine::Ticket waiting = port.send(waiting_claim(30s));
  port.cancel(waiting);
  port.ask(enqueue(1));
  EXPECT_EQ(jobs_of(port.ask(core::Command(claim(1)))).size(), 1u);
}

TEST_F(DriverTest, AFailedAppendIsTriedAgainBeforeAnythingIsAnswered) {
  start();
  Port port(*driver);
  port.ask(enqueue(1));
  for (const auto outcome : {store::AppendOutcome::kFailed, store::AppendOutcome::kUnknown}) {
    journal->outcome = outcome;
    const std::size_t before = probe.failures;
    journal->failures = 1'000'000;
    const engine::Ticket ticket = port.send(enqueue(1));
    EXPECT_TRUE(eventually([&] { return probe.failures >= before + 3; }));
    EXPECT_FALSE(port.answered(ticket));
    EXPECT_TRUE(driver->status().journal_failing);
    journal->failures = 0;
    port.wait(ticket);
    EXPECT_FALSE(driver->status().journal_failing);
  }
  EXPECT_EQ(settled, 0);
}

TEST_F(DriverTest, ABrokenJournalEndsTheShard) {
  struct End {
    store::AppendOutcome outcome;
    engine::Unavailable decided, later;
  };
  for (const End& end : {End{store::AppendOutcome::kBroken, engine::Unavailable::kStorage,
                             engine::Unavailable::kStorage},
                         End{store::AppendOutcome::kFenced, engine::Unavailable::kUnknown,
                             engine::Unavailable::kNoLeader}}) {
    settled = 0;
    start();
    Port port(*driver);
    port.ask(enqueue(1));
    journal->outcome = end.outcome;
    journal->failures = 1;
    EXPECT_EQ(std::get<engine::Unavailable>(port.ask(enqueue(1))), end.decided);
    EXPECT_EQ(std::get<engine::Unavailable>(port.ask(core::Command(claim(1)))), end.later);
    EXPECT_EQ(settled, 1);
    EXPECT_TRUE(driver->status().ended);
  }
}

TEST_F(DriverTest, DrainingAnswersWaitsRefusesNewWorkAndProjects) {
  start();
  Port port(*driver);
  port.ask(enqueue(50));
  const engine::Answer claimed = port.ask(core::Command(claim(10)));
  core::Claim elsewhere = claim(1);
  elsewhere.queues = {SharedBytes("other")};
  engine::WaitingClaim idle = waiting_claim(60s);
  idle.claim = elsewhere;
  const engine::Ticket waiting = port.send(idle);
  EXPECT_TRUE(eventually([&] { return driver->status().figures.waiting_claims == 1; }));
  driver->drain();
  EXPECT_TRUE(jobs_of(port.wait(waiting)).empty());
  EXPECT_EQ(std::get<engine::Unavailable>(port.ask(enqueue(1))), engine::Unavailable::kDraining);
  const engine::Answer acked = port.ask(core::Command(ack(jobs_of(claimed))));
  EXPECT_EQ(std::get<core::ItemsReply>(std::get<core::Reply>(acked)).items.size(), 10u);
  EXPECT_TRUE(eventually([&] { return driver->status().drained; }));
  EXPECT_GE(settled, 1);
  // The ack may come after the first moment at which all was drained; figures lag a little.
  EXPECT_TRUE(eventually([&] {
    const auto progress = store.tables->progress();
    return progress && progress->seq == Seq{4} && driver->status().figures.durable == Seq{4};
  }));
}

TEST_F(DriverTest, ARestartFindsEverything) {
  start();
  Port port(*driver);
  port.ask(enqueue(100));
  EXPECT_EQ(jobs_of(port.ask(core::Command(claim(30)))).size(), 30u);
  start();
  Port again(*driver);
  EXPECT_EQ(jobs_of(again.ask(core::Command(claim(1000)))).size(), 70u);
  EXPECT_EQ(driver->status().figures.jobs_in_memory, 100u);
}

TEST_F(DriverTest, AWallClockThatIsMovedAheadIsFollowedWithGrace) {
  start();
  Port port(*driver);
  port.ask(enqueue(1));
  EXPECT_EQ(jobs_of(port.ask(core::Command(claim(1)))).size(), 1u);
  const Time before = driver->now();
  const int extensions = events.extensions;
  time.move(1h);
  port.ask(core::Command(core::GetQueues{}));
  EXPECT_GE(driver->now() - before, 1h);
  EXPECT_GT(events.extensions, extensions);
  // The lease still runs: no other worker gets the job.
  EXPECT_TRUE(jobs_of(port.ask(core::Command(claim(1)))).empty());
  EXPECT_TRUE(eventually([&] { return driver->status().figures.live_leases == 1; }));
}

TEST_F(DriverTest, AWallClockThatIsBehindIsNotFollowed) {
  start();
  Port port(*driver);
  port.ask(enqueue(1));
  const Time before = driver->now();
  time.move(-10h);
  port.ask(enqueue(1));
  EXPECT_GE(driver->now(), before);
  EXPECT_LT(driver->status().wall_ahead, -9h);
  // Nor by the next process: its time continues from the journal's.
  start();
  EXPECT_GE(driver->now(), before);
}

TEST_F(DriverTest, TheIdleShardNoticesAStepToo) {
  start();
  Port port(*driver);
  core::Enqueue later = std::get<core::Enqueue>(enqueue(1));
  later.jobs[0].delay = 1h;
  port.ask(core::Command(later));
  const engine::Ticket waiting = port.send(waiting_claim(60s));
  std::this_thread::sleep_for(50ms);
  time.move(2h);
  EXPECT_LE(jobs_of(port.wait(waiting)).size(), 1u);
  EXPECT_EQ(jobs_of(port.ask(core::Command(claim(1)))).size() + jobs_of(port.wait(waiting)).size(),
            1u);
}

TEST_F(DriverTest, AShardThatStoodStillGivesItsLeasesAsMuchMoreTime) {
  start();
  Port port(*driver);
  port.ask(enqueue(1));
  core::Claim one = claim(1);
  one.lease = 5s;
  const auto jobs = jobs_of(port.ask(core::Command(one)));
  ASSERT_EQ(jobs.size(), 1U);
  Port slow(*driver);
  slow.stall_ms = 5'500;
  slow.ask(enqueue(1));
  const engine::Answer answer = port.ask(core::Command(ack(jobs)));
  const auto& acked = std::get<core::ItemsReply>(std::get<core::Reply>(answer));
  EXPECT_FALSE(acked.items.front().refusal);
}

TEST_F(DriverTest, ATimerThatIsCenturiesAwayLetsItSleep) {
  start();
  Port port(*driver);
  core::Enqueue later = std::get<core::Enqueue>(enqueue(1));
  later.jobs[0].run_at = time_from_ms(253'402'300'799'000);  // the last second of 9999
  port.ask(core::Command(later));
  const std::clock_t before = std::clock();  // of all threads
  std::this_thread::sleep_for(400ms);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 5);
}

TEST_F(DriverTest, WhoAsksAfterTheStopIsToldSo) {
  start();
  Port port(*driver);
  driver->stop();
  EXPECT_EQ(std::get<engine::Unavailable>(port.ask(core::Command(core::GetQueues{}))),
            engine::Unavailable::kNoLeader);
  EXPECT_FALSE(driver->status().ended);
  EXPECT_TRUE(driver->hold_trimming());
}

TEST_F(DriverTest, TheStampTellsOfThePresentWithLeasesAndWithout) {
  start();
  const Time begun_at = driver->now();
  Port port(*driver);
  port.ask(enqueue(1));
  EXPECT_TRUE(eventually([&] {
    const std::optional<Time> stamp = LivenessFile(options.liveness_file).read();
    return stamp && *stamp >= begun_at;
  }));
  port.ask(core::Command(claim(1)));
  const Time claimed_at = driver->now();
  EXPECT_TRUE(eventually([&] {
    const std::optional<Time> stamp = LivenessFile(options.liveness_file).read();
    return stamp && *stamp >= claimed_at;
  }));
}

TEST_F(DriverTest, TheLastStampIsThatOfTheStop) {
  start();
  Port port(*driver);
  port.ask(enqueue(1));
  port.ask(core::Command(claim(1)));
  const Time before = driver->now();
  driver.reset();
  const std::optional<Time> stamp = LivenessFile(options.liveness_file).read();
  ASSERT_TRUE(stamp);
  EXPECT_GE(*stamp, before);
}

TEST_F(DriverTest, TheJournalIsTrimmedBelowWhatIsSyncedUnlessItIsHeld) {
  options.events = {.age = 0s, .bytes = 1 << 20};
  start();
  Port port(*driver);
  const auto oldest = [&] { return to_number(store.journal->extent()->oldest); };
  {
    const auto hold = driver->hold_trimming();
    for (int i = 0; i < 20; ++i) port.ask(enqueue(1));
    std::this_thread::sleep_for(2500ms);
    EXPECT_EQ(oldest(), 1u);
  }
  EXPECT_TRUE(eventually([&] { return oldest() > 1; }));
  EXPECT_LE(oldest(), to_number(driver->status().synced));
  // The rest still starts a shard.
  start();
  EXPECT_EQ(driver->status().figures.jobs_in_memory, 20u);
}

}  // namespace
}  // namespace millrace::server
