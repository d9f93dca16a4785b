// Operations without a door, on one thread, with an engine that gives prepared answers.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/shard/outbox.h"
#include "service/bulk.h"
#include "service/leases.h"
#include "service/operations_testing.h"
#include "service/queues.h"
#include "store/memory/memory_store.h"
#include "store/testing/jobs.h"

namespace millrace::service {
namespace {

class ToldGateway final : public engine::Gateway {
 public:
  std::function<engine::Answer(const engine::Request&)> answer;
  std::vector<engine::Request> asked;

  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view) override {
    engine::Delivery delivery{ticket, answer(request)};
    asked.push_back(std::move(request));
    port.deliver({&delivery, 1});
  }
  void cancel(engine::ReplyPort&, engine::Ticket) override {}
};

class OperationsTest : public ::testing::Test {
 protected:
  template <typename T>
  T finish(Task<T> operation) {
    return world_.finish(std::move(operation));
  }
  void limit() { world_.limit(); }
  Caller& caller() { return world_.caller(); }

  ToldGateway gateway_;
  store::Store store_ = store::make_memory_store();

 private:
  SystemClock clock_;
  OperationsWorld world_{store_, gateway_, clock_};
};

TEST_F(OperationsTest, AQueueOutOfReachIsNotAskedAbout) {
  limit();
  const auto answer = finish(get_queue(caller(), "secret"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, api::ProblemCode::kNotFound);
  EXPECT_TRUE(gateway_.asked.empty());
}

TEST_F(OperationsTest, AnAnswerOfAnotherKindIsAnInternalProblem) {
  gateway_.answer = [](const engine::Request&) { return core::Reply(core::ClaimReply{}); };
  const auto answer = finish(get_queue(caller(), "mail"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, api::ProblemCode::kInternal);
}

// Which door was used, and what it calls its headers, is the door's concern.
TEST_F(OperationsTest, ADeniedTokenIsNotedForTheLog) {
  caller().scope = api::Scope::kWork;
  gateway_.answer = [](const engine::Request&) { return engine::Denied::kScope; };
  const auto answer = finish(get_queue(caller(), "mail"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().detail, "the token lacks the scope work");
  EXPECT_FALSE(caller().note.empty());
}

TEST_F(OperationsTest, AnAckForAJobOutOfReachIsToldThatItsLeaseIsLost) {
  limit();
  gateway_.answer = [](const engine::Request&) {
    auto view = std::make_shared<core::JobView>();
    view->job.queue = SharedBytes("secret");
    return core::Reply(core::JobReply{std::move(view), false});
  };
  const std::vector<api::Item<api::Ack>> items(1);
  const auto answers = finish(ack(caller(), items));
  ASSERT_TRUE(answers);
  ASSERT_TRUE(answers->refused.front());
  EXPECT_EQ(answers->refused.front()->code, api::ProblemCode::kLeaseLost);
  EXPECT_EQ(gateway_.asked.size(), 1u) << "the job was looked up, and no ack sent";
}

// Jobs that acks submitted to other shards wait there, and no filter may cancel them.
TEST_F(OperationsTest, ACallByFilterLeavesTheOutboxAlone) {
  const core::Job mine = store::make_job(1, "mail");
  const core::Job on_its_way = store::make_job(2, std::string(engine::kOutboxQueue));
  store::Flusher flusher;
  ASSERT_TRUE(flusher.flush(*store_.tables, {mine, on_its_way}));
  std::vector<JobId> cancelled;
  gateway_.answer = [&](const engine::Request& request) -> engine::Answer {
    const auto* const command = std::get_if<core::Command>(&request);
    const auto* const cancel = command == nullptr ? nullptr : std::get_if<core::Cancel>(command);
    if (cancel == nullptr) return std::monostate{};
    cancelled.insert(cancelled.end(), cancel->ids.begin(), cancel->ids.end());
    return core::Reply(core::ItemsReply{std::vector<core::ItemReply>(cancel->ids.size())});
  };
  api::Bulk bulk;
  bulk.action = api::BulkAction::kCancel;
  bulk.filter.emplace();
  const auto answer = finish(bulk_jobs(caller(), bulk));
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->outcome.matched, 1);
  EXPECT_EQ(cancelled, std::vector{mine.id});
}

}  // namespace
}  // namespace millrace::service
