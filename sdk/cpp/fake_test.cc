#include "millrace/fake.h"

#include <gtest/gtest.h>

#include "millrace/exceptions.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

Handlers unlucky_once() {
  return Handlers().on<std::string>("greet", [](Context& context, const std::string& name) {
    if (context.job().attempt == 1 && name == "Bob") throw std::runtime_error("no luck");
    return "hello " + name;
  });
}

TEST(FakeTest, RunsWhatIsDueWhenItIsDrained) {
  Fake fake(unlucky_once());
  const auto ada = value_of(fake.client().submit("greet", "Ada"));
  const auto bob = value_of(fake.client().submit("greet", "Bob"));
  EXPECT_EQ(fake.enqueued("greet").size(), 2u);
  EXPECT_EQ(fake.enqueued("greet").at(1).payload, R"("Bob")");
  EXPECT_EQ(fake.drain(), 2u);
  EXPECT_EQ(value_of(fake.client().wait(ada.job.id, 1s)).result, R"("hello Ada")");
  const auto waiting = value_of(fake.client().get(bob.job.id));
  EXPECT_EQ(waiting.state, "retrying");
  EXPECT_EQ(waiting.last_error->message, "no luck");
  EXPECT_EQ(waiting.run_at, fake.now() + 5s);
  fake.advance(4'999ms);
  EXPECT_EQ(fake.drain(), 0u);
  fake.advance(1ms);
  EXPECT_EQ(fake.drain(), 1u);
  EXPECT_EQ(value_of(fake.client().get(bob.job.id)).state, "succeeded");
}

TEST(FakeTest, InlineRunsWithinTheSubmission) {
  Fake fake(unlucky_once(), FakeMode::kInline);
  const auto ada = value_of(fake.client().submit("greet", "Ada"));
  EXPECT_EQ(value_of(fake.client().get(ada.job.id)).state, "succeeded");
  const auto later = value_of(fake.client().submit("greet", "Ada", {.delay = 1s}));
  EXPECT_EQ(later.job.state, "scheduled");
}

TEST(FakeTest, HandlersMaySubmitAndCancelThemselves) {
  Fake fake;
  Client client = fake.client();
  Handlers handlers;
  handlers.on<int>("count", [&client](Context& context, int left) {
    if (left > 0) value_of(client.submit("count", left - 1));
    context.enqueue("end", left);
  });
  handlers.on("end", [&client](Context& context) {
    value_of(client.cancel(context.job().id));
    EXPECT_EQ(context.stop_reason(), StopReason::kCancelled);
    context.throw_if_stopped();
  });
  fake.set_handlers(handlers);
  value_of(client.submit("count", 2));
  EXPECT_EQ(fake.drain(), 6u);
  for (const Job& job : fake.enqueued("end")) EXPECT_EQ(job.state, "cancelled");
}

TEST(FakeTest, KeepsKeys) {
  Fake fake;
  Client& client = fake.client();
  EXPECT_TRUE(value_of(client.submit("t", 1, {.idempotency_key = "k"})).is_new);
  EXPECT_FALSE(value_of(client.submit("t", 1, {.idempotency_key = "k"})).is_new);
  const auto other = client.submit("t", 2, {.idempotency_key = "k"});
  EXPECT_EQ(other.error().code, "idempotency_mismatch");
  value_of(client.submit("t", 1, {.unique = Unique{.key = "u"}}));
  const auto second =
      client.submit("t", 1, {.unique = Unique{.key = "u", .on_conflict = "reject"}});
  EXPECT_EQ(second.error().problem(), Problem::kDuplicateJob);
}

TEST(FakeTest, ListsPageByPage) {
  Fake fake;
  for (int n = 0; n < 7; ++n) value_of(fake.client().submit(n % 2 == 0 ? "even" : "odd", n));
  std::string seen;
  for (const auto& job :
       fake.client().list_all({.type = "even", .include = {"payload"}, .limit = 2})) {
    ASSERT_TRUE(job);
    seen += *job->payload;
  }
  EXPECT_EQ(seen, "6420");
  EXPECT_EQ(fake.client().queue("default").error().problem(), Problem::kNotFound);
}

TEST(FakeTest, KeepsWhatAnApplicationDeclaresAtItsStart) {
  Fake fake(unlucky_once());
  Client& client = fake.client();
  value_of(client.put_queue("shop", R"({"max_attempts":3,"max_ready":2})"));
  EXPECT_EQ(value_of(client.put_limit("provider", {.concurrency = 4})).concurrency, 4);
  const NewSchedule daily{.cron = "0 9 * * *",
                          .job = new_job("greet", std::string("Ada"), {.queue = "shop"})};
  ScheduleSet set{.managed_by = "shop", .schedules = {{"daily", to_json(daily)}}};
  EXPECT_EQ(value_of(client.apply_schedules(set)).created, std::vector<std::string>{"daily"});
  EXPECT_EQ(value_of(client.apply_schedules(set)).unchanged, std::vector<std::string>{"daily"});
  EXPECT_EQ(value_of(client.schedule("daily")).cron, "0 9 * * *");

  const auto job = value_of(client.trigger_schedule("daily")).job;
  EXPECT_EQ(job.max_attempts, 3);
  EXPECT_EQ(job.schedule->name, "daily");
  value_of(client.submit("greet", std::string("Bob"), {.queue = "shop"}));
  EXPECT_EQ(value_of(client.queue("shop")).counts.ready, 2);
  EXPECT_EQ(client.submit("greet", 1, {.queue = "shop"}).error().problem(), Problem::kQueueFull);
  EXPECT_EQ(fake.drain(), 2u);

  set.schedules.clear();
  set.prune = true;
  EXPECT_EQ(value_of(client.apply_schedules(set)).deleted, std::vector<std::string>{"daily"});
  EXPECT_EQ(client.schedule("daily").error().problem(), Problem::kNotFound);
}

TEST(FakeTest, AJobThatComesTooLateExpires) {
  Fake fake(unlucky_once());
  const auto job = value_of(fake.client().submit("greet", "Ada", {.expires_in = 1s}));
  fake.advance(1s);
  EXPECT_EQ(fake.drain(), 0u);
  EXPECT_EQ(value_of(fake.client().get(job.job.id)).state, "expired");
}

}  // namespace
}  // namespace millrace::sdk
