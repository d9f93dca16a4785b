#include "millrace/handler.h"

#include <gtest/gtest.h>

#include <thread>

#include "millrace/exceptions.h"
#include "trace.h"
#include "worker_testing.h"

namespace {

struct Sum {
  int a = 0;
  int b = 0;
};

struct Unlucky : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

MILLRACE_JSON(Sum, a, b);

namespace millrace::sdk {
namespace {
struct Unwritable;
}
template <>
struct Codec<Unwritable> {
  static std::string encode(const Unwritable&) { throw 42; }
};
}  // namespace millrace::sdk

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

class HandlerTest : public WorkerTest {
 protected:
  // The outcome of one job with this payload, as sent.
  std::string outcome_of(Handlers handlers, const std::string& payload = "null") {
    server_.put("a", 1, payload);
    Worker worker(client_, options(), std::move(handlers));
    EXPECT_TRUE(worker.run({}));
    const auto& sent = server_.outcomes["a"];
    return sent.empty() ? "" : sent.front();
  }
  std::string outcome_of_throwing(const auto& ending) {
    return outcome_of(Handlers().on("t", [&](Context&) { throw ending; }));
  }
};

TEST_F(HandlerTest, ReadsItsPayloadAndReturnsItsResult) {
  const auto add = [](const Sum& sum) { return sum.a + sum.b; };
  EXPECT_EQ(outcome_of(Handlers().on<Sum>("t", add), R"({"a":2,"b":40})"),
            R"({"id":"a","token":1,"outcome":"succeeded","result":42})");
  EXPECT_EQ(server_.polls.at(0).limit, 1);
}

struct Speechless : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

// An ending of the application's own, which fails when it is asked for its outcome.
struct Confused : NonRetryable {
  Confused() : NonRetryable("no") {}
  Outcome outcome() const override { throw std::runtime_error("which outcome?"); }
};

// A result whose conversion fails.
struct Unwritable {};

TEST_F(HandlerTest, AnErrorThatCannotBeDescribedIsReported) {
  const std::string sent = outcome_of_throwing(Speechless());
  EXPECT_NE(sent.find("Speechless"), std::string::npos) << sent;
  EXPECT_NE(sent.find("its what() returned a null pointer"), std::string::npos) << sent;
}

TEST_F(HandlerTest, WhatIsNoExceptionIsReportedWithItsType) {
  const std::string sent = outcome_of_throwing(42);
  EXPECT_NE(sent.find(R"("type":"int","message":"what was thrown is not a std::exception")"),
            std::string::npos)
      << sent;
}

TEST_F(HandlerTest, AnEndingThatFailsIsReported) {
  const std::string sent = outcome_of_throwing(Confused());
  EXPECT_NE(sent.find("which outcome?"), std::string::npos) << sent;
}

TEST_F(HandlerTest, AResultWhoseConversionFailsIsReported) {
  const std::string sent = outcome_of(Handlers().on("t", [](Context&) { return Unwritable(); }));
  EXPECT_NE(sent.find(R"("type":"outcome_refused")"), std::string::npos) << sent;
}

TEST_F(HandlerTest, TheApplicationsCallbacksMayThrow) {
  server_.put("a", 1);
  server_.put("b", 2);
  auto own = options();
  own.notice = [](std::string_view, std::string_view) { throw std::runtime_error("no log"); };
  own.reported = [](const Ack&) { throw 42; };
  Worker worker(client_, own, [](Context&) -> Outcome { throw std::runtime_error("broken"); });
  EXPECT_TRUE(worker.run({}));
  EXPECT_EQ(server_.outcomes.size(), 2u);
}

TEST_F(HandlerTest, NothingIsNull) {
  EXPECT_NE(outcome_of(Handlers().on("t", [](Context&) {})).find(R"("result":null)"),
            std::string::npos);
}

TEST_F(HandlerTest, APayloadOfAnotherKindFailsTheAttempt) {
  const std::string sent = outcome_of(Handlers().on<Sum>("t", [](const Sum&) {}), R"({"a":"x"})");
  EXPECT_NE(sent.find("a: expected a whole number in range and found"), std::string::npos) << sent;
}

TEST_F(HandlerTest, AnErrorHasItsClass) {
  const std::string sent = outcome_of_throwing(Unlucky("no luck"));
  EXPECT_NE(sent.find(R"(Unlucky","message":"no luck")"), std::string::npos) << sent;
}

TEST_F(HandlerTest, NonRetryableIsForGood) {
  EXPECT_EQ(outcome_of_throwing(NonRetryable("no address")),
            R"({"id":"a","token":1,"outcome":"failed","error":{"type":"NonRetryable",)"
            R"("message":"no address","retryable":false}})");
}

TEST_F(HandlerTest, RetryAfterHasADelay) {
  const std::string sent = outcome_of_throwing(RetryAfter(7s, "busy"));
  EXPECT_NE(sent.find(R"("message":"busy"},"delay_ms":7000)"), std::string::npos) << sent;
}

TEST_F(HandlerTest, SnoozeMayBeReturned) {
  const auto handle = [](Context&) -> Outcome { return Snooze(2min); };
  EXPECT_EQ(outcome_of(Handlers().on("t", handle)),
            R"({"id":"a","token":1,"outcome":"snoozed","delay_ms":120000})");
}

TEST_F(HandlerTest, TheReasonOfACancellationIsALine) {
  const std::string sent = outcome_of_throwing(Cancel("account closed"));
  EXPECT_NE(sent.find(R"("outcome":"cancelled")"), std::string::npos);
  EXPECT_EQ(server_.logs, (std::vector<std::string>{"account closed"}));
}

TEST_F(HandlerTest, AResultThatIsNoJsonIsRefused) {
  const auto nan = [](Context&) { return std::nan(""); };
  EXPECT_NE(outcome_of(Handlers().on("t", nan)).find(R"("type":"outcome_refused")"),
            std::string::npos);
  server_.outcomes.clear();
  const auto text = [](Context&) { return Outcome::succeeded("{"); };
  EXPECT_NE(outcome_of(Handlers().on("t", text)).find(R"("type":"outcome_refused")"),
            std::string::npos);
}

TEST_F(HandlerTest, OnlyASuccessSubmitsWhatWasEnqueued) {
  const auto handle = [](Context& context) {
    context.enqueue("next", 5, {.queue = "q"});
    if (context.job().payload == "1") throw Unlucky("no");
  };
  const std::string sent = outcome_of(Handlers().on("t", handle));
  EXPECT_NE(sent.find(R"("enqueue":[{"type":"next","id":")"), std::string::npos) << sent;
  server_.outcomes.clear();
  EXPECT_EQ(outcome_of(Handlers().on("t", handle), "1").find("enqueue"), std::string::npos);
}

TEST_F(HandlerTest, WhatItAsksOfLimitsGoesWithAnyOutcome) {
  const auto handle = [](Context& context) -> Outcome {
    EXPECT_THROW(context.slow_down({"api", Milliseconds{99}}), std::invalid_argument);
    context.slow_down({"api", Milliseconds{60'000}});
    context.slow_down({"acct", Milliseconds{100}, "k"});
    context.slow_down({"api", Milliseconds{30'000}});
    return Snooze(Milliseconds{30'000});
  };
  const std::string sent = outcome_of(Handlers().on("t", handle));
  EXPECT_NE(sent.find(R"("slow_down":[{"limit":"acct","key":"k","for_ms":100},)"
                      R"({"limit":"api","for_ms":30000}])"),
            std::string::npos)
      << sent;
}

TEST_F(HandlerTest, MiddlewareWrapsFromOutsideIn) {
  std::string order;
  Handlers handlers;
  handlers.on("t", [&](Context&) { order += "h"; });
  handlers.use([&](Context& context, const Handler& next) {
    order += "(";
    auto outcome = next(context);
    order += ")";
    return outcome;
  });
  handlers.use([&](Context&, const Handler&) {
    order += "2";
    return Outcome::snoozed(1s);
  });
  const std::string sent = outcome_of(handlers);
  EXPECT_EQ(order, "(2)");
  EXPECT_NE(sent.find("snoozed"), std::string::npos);
}

TEST_F(HandlerTest, WithoutAHandlerOfItsTypeAJobFails) {
  const std::string sent = outcome_of(Handlers().on("other", [](Context&) {}));
  EXPECT_NE(sent.find(R"("type":"no_handler")"), std::string::npos) << sent;
}

TEST(HandlersTest, AWorkerClaimsTheirTypes) {
  Handlers handlers;
  handlers.on("b", [](Context&) {}).on("a", [](Context&) {});
  EXPECT_EQ(handlers.types(), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(handlers.has("c"));
  handlers.otherwise([](Context&) { return Outcome::succeeded(); });
  EXPECT_TRUE(handlers.types().empty());
  EXPECT_TRUE(handlers.has("c"));
}

TEST(TraceTest, ASubmissionCarriesTheContextOfItsThread) {
  const TraceScope scope({"00-1-2-01", "a=b"});
  EXPECT_EQ(with_trace({}).traceparent, "00-1-2-01");
  EXPECT_EQ(with_trace({}).tracestate, "a=b");
  EXPECT_EQ(with_trace({.traceparent = "own"}).traceparent, "own");
  std::thread([] { EXPECT_EQ(with_trace({}).traceparent, ""); }).join();
}

TEST(ExceptionsTest, TheErrorOfACallIsThrownByItsClass) {
  Error error;
  error.kind = ErrorKind::kRefused;
  error.status = 404;
  error.code = "not_found";
  EXPECT_THROW(value_of(Result<int>(std::unexpected(error))), NotFound);
  error.code = "queue_full";
  error.status = 429;
  EXPECT_THROW(value_of(Result<int>(std::unexpected(error))), QueueFull);
  error.code = "draining";
  error.status = 503;
  EXPECT_THROW(value_of(Result<int>(std::unexpected(error))), Unavailable);
  error.code = "of_tomorrow";
  error.status = 400;
  EXPECT_THROW(value_of(Result<int>(std::unexpected(error))), MillraceError);
  EXPECT_EQ(name_of(error.problem()), "MillraceError");
  EXPECT_EQ(value_of(Result<int>(5)), 5);
}

}  // namespace
}  // namespace millrace::sdk
