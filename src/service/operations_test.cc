// Operations asked for without any door: an engine that is told what to answer, and one thread.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "service/leases.h"
#include "service/queues.h"
#include "store/memory/memory_store.h"

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

class NoOperations final : public Operations {
 public:
  const About& about() const override { return about_; }
  Readiness readiness() const override { return {false, {{"store", true, "secret"}}}; }
  api::Cluster cluster() const override { return {}; }
  std::string metrics_text() override { return {}; }
  api::Decoded<api::Cluster> set_draining(const std::string&, bool) override {
    return api::Cluster{};
  }
  api::Decoded<BackupDone> backup(const std::string&) override { return BackupDone{}; }

 private:
  About about_;
};

TokenBook one_token() {
  TokenSettings token;
  token.name = "mail-only";
  token.hash = make_token({}, {}).hash;
  token.scopes = {"submit", "work", "read", "operate"};
  token.queues = {"mail"};
  return *TokenBook::make({token});
}

class OperationsTest : public ::testing::Test {
 protected:
  // Runs it to its end.
  template <typename T>
  T finish(Task<T> operation) {
    std::optional<T> result;
    Task<void> run = keep(operation, result);
    run.start();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!run.done() && std::chrono::steady_clock::now() < give_up) port_.run();
    EXPECT_TRUE(run.done());
    return std::move(*result);
  }
  // The caller may see the queue `mail` only.
  void limit() { caller_.access = tokens_.authenticate("Bearer " + make_token({}, {}).token, {}); }

  ToldGateway gateway_;
  Caller& caller() { return caller_; }

 private:
  template <typename T>
  static Task<void> keep(Task<T>& operation, std::optional<T>& result) {
    T value = co_await operation;
    result.emplace(std::move(value));
  }

  store::Store store_ = store::make_memory_store();
  engine::Reads reads_{*store_.tables};
  engine::EventFeed feed_{*store_.journal, Seq{}};
  engine::StoreStatistics statistics_{{store_.tables.get()}};
  TokenBook tokens_ = one_token();
  NoOperations operations_;
  SystemClock clock_;
  ReaderPool readers_{1};
  Services services_{reads_,      feed_,  statistics_, tokens_,
                     operations_, clock_, readers_,    core::kDefaultIdempotencyWindow,
                     {}};
  AnswerPort port_{gateway_, [] {}};
  IdMaker ids_{1};
  Caller caller_{services_, port_, ids_};
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

// Which door it came through, and what that calls its headers, is the door's.
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

}  // namespace
}  // namespace millrace::service
