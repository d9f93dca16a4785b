#include "service/findings/judge.h"

#include <gtest/gtest.h>

#include "service/findings/judge_testing.h"

namespace millrace::service {
namespace {

using namespace std::chrono_literals;
using enum api::FindingCode;
using enum api::Severity;

core::Queue queue(std::string_view name, std::uint64_t ready, Duration age) {
  core::Queue made;
  made.name = SharedBytes(name);
  made.counts[static_cast<std::size_t>(core::State::kReady)] = ready;
  if (ready > 0) made.oldest_ready_at = kJudged - age;
  return made;
}

engine::WorkerView worker(std::string_view of_queue, std::vector<SharedBytes> types = {}) {
  engine::WorkerView made;
  made.info.id = SharedBytes("w-1");
  made.queues = {SharedBytes(of_queue)};
  made.types = std::move(types);
  made.last_seen_at = kJudged;
  return made;
}

class QueueJudgeTest : public JudgeTest {
 protected:
  void judge(const core::Queue& queue, bool explained = false) {
    QueueJudge judge(judge_, takers_);
    judge.judge(queue, explained);
  }
  Takers takers_;
};

TEST_F(QueueJudgeTest, AQueueWithoutWorkersIsBadOnceAJobHasWaited) {
  judge(queue("mail", 2, at_.alone));
  EXPECT_TRUE(nothing()) << "at the threshold it is no finding yet";
  judge(queue("mail", 2, at_.alone + 1ms));
  const auto found = only(kQueueWithoutWorkers, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "No worker takes jobs from mail");
  EXPECT_EQ(found->about.queue, "mail");
  EXPECT_EQ(found->command, "millrace work -q mail -- COMMAND");
  ASSERT_EQ(found->figures.size(), 2u);
  EXPECT_EQ(found->figures[0].value, 2);
  EXPECT_EQ(found->figures[1].value, 5'001);
  EXPECT_EQ(found->figures[1].threshold, 5'000);
}

TEST_F(QueueJudgeTest, APushTargetServesItsQueuesUnlessItIsPaused) {
  api::PushTarget target;
  target.queues = {"mail"};
  target.paused = true;
  takers_.add(target);
  judge(queue("mail", 1, 9s));
  EXPECT_TRUE(only(kQueueWithoutWorkers, kBad));
}

TEST_F(QueueJudgeTest, AQueueThatAPushTargetServesIsNotAlone) {
  api::PushTarget target;
  target.queues = {"mail"};
  takers_.add(target);
  judge(queue("mail", 1, 9s));
  EXPECT_TRUE(nothing());
}

TEST_F(QueueJudgeTest, AWorkerThatIsQuietTakesNothing) {
  engine::WorkerView quiet = worker("mail");
  quiet.state = engine::WorkerState::kQuiet;
  takers_.add(quiet);
  judge(queue("mail", 1, 9s));
  EXPECT_TRUE(only(kQueueWithoutWorkers, kBad));
}

TEST_F(QueueJudgeTest, AQueueIsBehindUnlessAnotherFindingSaysWhy) {
  takers_.add(worker("mail"));
  judge(queue("mail", 1, at_.late), false);
  judge(queue("mail", 1, 90s), true);
  EXPECT_TRUE(nothing());
  judge(queue("mail", 1, 90s));
  const auto found = only(kQueueBehind, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Queue mail is behind by 1m30s");
}

TEST_F(QueueJudgeTest, APausedQueueQuotesItsReason) {
  core::Queue paused = queue("it's", 1, 90s);
  paused.paused = true;
  paused.pause_reason = SharedBytes("the bank is down");
  judge(paused);
  const auto found = only(kQueuePaused, kWarn);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, "\"the bank is down\". 1 ready job waits.");
  EXPECT_EQ(found->command, "millrace queue resume 'it'\\''s'");
}

TEST_F(QueueJudgeTest, AQueueIsFullAtItsBound) {
  core::Queue full = queue("mail", 4, 0s);
  full.settings.max_ready = 5;
  judge(full);
  EXPECT_TRUE(nothing());
  full.settings.max_ready = 4;
  judge(full);
  EXPECT_TRUE(only(kQueueFull, kBad));
}

TEST_F(QueueJudgeTest, AllArePausedIfEveryQueueWithReadyJobsIs) {
  for (const bool another : {true, false}) {
    QueueJudge judge(judge_, takers_);
    core::Queue paused = queue("a", 1, 0s);
    paused.paused = true;
    judge.judge(paused);
    judge.judge(queue("empty", 0, 0s));
    if (another) judge.judge(queue("b", 1, 0s));
    judge.finish();
    EXPECT_EQ(findings().items.size(), another ? 1u : 2u);
  }
}

TEST_F(QueueJudgeTest, TheTypesThatAreTaken) {
  EXPECT_EQ(takers_.types_of("mail"), nullptr);
  takers_.add(worker("mail", {SharedBytes("a")}));
  takers_.add(worker("mail", {SharedBytes("b"), SharedBytes("a")}));
  ASSERT_NE(takers_.types_of("mail"), nullptr);
  EXPECT_EQ(*takers_.types_of("mail"), (std::set<std::string, std::less<>>{"a", "b"}));
  takers_.add(worker("mail"));
  EXPECT_EQ(takers_.types_of("mail"), nullptr) << "one takes all";
}

TEST_F(QueueJudgeTest, ManyTypesAreNotLookedAt) {
  std::vector<SharedBytes> types;
  for (std::size_t i = 0; i < kMostTypesTaken; ++i) types.emplace_back(std::to_string(i));
  takers_.add(worker("mail", types));
  EXPECT_NE(takers_.types_of("mail"), nullptr);
  takers_.add(worker("mail", {SharedBytes("one more")}));
  EXPECT_EQ(takers_.types_of("mail"), nullptr);
}

TEST_F(JudgeTest, ATypeThatNobodyTakes) {
  core::Job job;
  job.queue = SharedBytes("mail");
  job.type = SharedBytes("charge");
  judge_untaken(judge_, job);
  const auto found = only(kTypeUntaken, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "No worker takes jobs of type charge from mail");
  EXPECT_EQ(found->about.job, to_string(job.id));
}

TEST_F(JudgeTest, AWorkerIsSilentIfItHoldsJobs) {
  engine::WorkerView silent = worker("mail");
  silent.last_seen_at = kJudged - 100s;
  silent.info.host = "box7";
  judge_worker(judge_, silent);
  EXPECT_TRUE(nothing());
  silent.running.resize(2);
  judge_worker(judge_, silent);
  const auto found = only(kWorkerSilent, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Worker w-1 has not been heard of for 1m40s");
  EXPECT_EQ(found->why, "It holds 2 jobs, which come back when their leases run out.");
  EXPECT_TRUE(found->next.ends_with("on box7"));
}

TEST(FindingListTest, TheWorstAreKeptAndTheOthersCounted) {
  FindingList list(2);
  const auto make = [&](api::FindingCode code, api::Severity severity, std::string what) {
    list.add(code, severity, [&] {
      api::Finding made;
      made.what = what;
      return made;
    });
  };
  make(kTokenExpires, kNote, "note 1");
  make(kTokenExpires, kNote, "note 2");
  make(kTokenExpires, kWarn, "warn 1");
  make(kScheduleEnded, kNote, "note 3");
  make(kQueueFull, kBad, "bad 1");
  make(kQueueFull, kBad, "bad 2");
  make(kQueueFull, kBad, "bad 3");
  api::Findings answer;
  list.finish(answer);
  std::vector<std::string> whats;
  for (const api::Finding& finding : answer.items) whats.push_back(finding.what);
  EXPECT_EQ(whats, (std::vector<std::string>{"bad 1", "bad 2", "warn 1", "note 3", "note 1"}));
  ASSERT_EQ(answer.more.size(), 2u);
  EXPECT_EQ(answer.more[0].code, kQueueFull);
  EXPECT_EQ(answer.more[0].count, 1);
  EXPECT_EQ(answer.more[1].severity, kNote);
  EXPECT_EQ(answer.more[1].count, 1);
}

}  // namespace
}  // namespace millrace::service
