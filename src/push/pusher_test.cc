#include "push/pusher.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "push/signature.h"

namespace millrace::push {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using How = CallEnd::How;

class ManualClock final : public Clock {
 public:
  Time now() const override { return wall; }
  Steady steady() const override { return at; }
  void pass(Duration time) {
    wall += time;
    at += time;
  }
  Time wall = *parse_rfc3339("2026-11-26T10:00:00Z");
  Steady at{1000s};
};

class FakeCaller final : public Caller {
 public:
  void start(Call call) override { calls.emplace(call.number, std::move(call)); }
  void cancel(CallNumber number) override {
    if (calls.erase(number) == 1) ++cancelled;
  }
  std::vector<CallEnd> wait(Duration) override { return std::exchange(ends, {}); }
  void wake() override {}

  void end(CallNumber number, CallEnd end) {
    end.number = number;
    calls.erase(number);
    ends.push_back(std::move(end));
  }
  void answer(CallNumber number, int status, std::string body = {}, std::string retry_after = {}) {
    end(number, {.how = How::kAnswered,
                 .status = status,
                 .retry_after = std::move(retry_after),
                 .body = std::move(body),
                 .took = 3ms});
  }

  std::map<CallNumber, Call> calls;  // under way
  std::vector<CallEnd> ends;
  int cancelled = 0;
};

class FakeGateway final : public engine::Gateway {
 public:
  struct Asked {
    engine::Request request;
    engine::Ticket ticket;
    bool is_cancelled = false;
  };
  void submit(engine::Request request, engine::ReplyPort& reply_port, engine::Ticket ticket,
              std::string_view credentials) override {
    EXPECT_EQ(credentials, engine::kNodesOwn);
    port = &reply_port;
    asked.push_back({std::move(request), ticket});
  }
  void cancel(engine::ReplyPort&, engine::Ticket ticket) override {
    for (Asked& one : asked) one.is_cancelled |= one.ticket == ticket;
  }
  void answer(engine::Ticket ticket, engine::Answer answer) {
    std::erase_if(asked, [ticket](const Asked& one) { return one.ticket == ticket; });
    engine::Delivery delivery{ticket, std::move(answer)};
    port->deliver({&delivery, 1});
  }

  std::vector<Asked> asked;  // unanswered
  engine::ReplyPort* port = nullptr;
};

class PusherTest : public testing::Test {
 protected:
  PusherTest() { add("t"); }

  Pusher::Parts parts() {
    AddressPolicy policy;
    policy.allow_http = true;
    return {.gateway = gateway,
            .caller = caller,
            .clock = clock,
            .policy = policy,
            .targets = [this] { return targets; },
            .leads = [this] { return leads; },
            .complete =
                [](core::ClaimReply& claim) {
                  for (auto& item : claim.jobs) item.job.payload = SharedBytes("\"read\"");
                  return Status();
                },
            .held = [this](const std::vector<std::string>&) -> Result<std::vector<HeldLease>> {
              ++counts;
              if (count_fails) return failure("no");
              return held;
            },
            .run = [](const std::function<void()>& work) { work(); },
            .disable = [this](const Target& target,
                              const std::string&) { disabled.push_back(target.name); },
            .log = {}};
  }

  void add(const std::string& name, std::int64_t concurrency = 2) {
    Targets all = targets == nullptr ? Targets() : *targets;
    Target target{.name = name, .version = ++version, .settings = {}};
    target.settings.url = "https://example.com/" + name;
    target.settings.queues = {"q-" + name};
    target.settings.concurrency = concurrency;
    std::erase_if(all, [&](const auto& other) { return other->name == name; });
    all.push_back(std::make_shared<Target>(std::move(target)));
    targets = std::make_shared<Targets>(std::move(all));
  }
  void change(const std::string& name, const std::function<void(api::PushTarget&)>& edit) {
    Targets all = *targets;
    for (auto& target : all) {
      if (target->name != name) continue;
      Target changed = *target;
      changed.version = ++version;
      edit(changed.settings);
      target = std::make_shared<Target>(std::move(changed));
    }
    targets = std::make_shared<Targets>(std::move(all));
  }

  void step(Duration passes = 0ms) {
    clock.pass(passes);
    pusher.step(0ms);
  }
  void steps(int count, Duration each) {
    for (int i = 0; i < count; ++i) step(each);
  }

  // The waiting claims that were not withdrawn, by the target's name.
  std::map<std::string, FakeGateway::Asked*> claims() {
    std::map<std::string, FakeGateway::Asked*> found;
    for (FakeGateway::Asked& one : gateway.asked) {
      const auto* const claim = std::get_if<engine::WaitingClaim>(&one.request);
      if (claim == nullptr || one.is_cancelled) continue;
      std::string name(claim->claim.worker.view().substr(kWorkerPrefix.size()));
      EXPECT_TRUE(found.emplace(std::move(name), &one).second) << "one claim a target";
    }
    return found;
  }
  const engine::WaitingClaim& claim_of(const std::string& name) {
    return std::get<engine::WaitingClaim>(claims().at(name)->request);
  }
  core::ClaimReply jobs(std::uint32_t count) {
    core::ClaimReply reply;
    for (std::uint32_t i = 0; i < count; ++i) {
      core::Job job;
      job.id = make_job_id(clock.wall, 0, ++made);
      job.queue = SharedBytes("q-t");
      job.type = SharedBytes("mail.send");
      job.payload = SharedBytes(R"({"n":1})");
      job.attempt = 1;
      job.token = LeaseToken{made};
      job.lease_given = lease;
      job.created_at = clock.wall;
      reply.jobs.push_back({std::move(job)});
    }
    return reply;
  }
  void hand_out(const std::string& name, std::uint32_t count) {
    EXPECT_LE(count, claim_of(name).claim.limit);
    gateway.answer(claims().at(name)->ticket, core::Reply(jobs(count)));
    step();
  }
  // Answers all pending acknowledgements as done.
  std::vector<core::AckItem> take_acks() {
    std::vector<core::AckItem> items;
    for (const FakeGateway::Asked& one : std::vector(gateway.asked)) {
      const auto* const command = std::get_if<core::Command>(&one.request);
      const auto* const ack = command == nullptr ? nullptr : std::get_if<core::Ack>(command);
      if (ack == nullptr) continue;
      items.insert(items.end(), ack->items.begin(), ack->items.end());
      core::ItemsReply reply;
      reply.items.resize(ack->items.size());
      gateway.answer(one.ticket, core::Reply(reply));
    }
    step();
    return items;
  }
  // The first pending heartbeat; null if there is none.
  const FakeGateway::Asked* heartbeat() {
    for (const FakeGateway::Asked& one : gateway.asked) {
      const auto* const command = std::get_if<core::Command>(&one.request);
      if (command != nullptr && std::holds_alternative<core::Heartbeat>(*command)) return &one;
    }
    return nullptr;
  }
  CallNumber only_call() {
    EXPECT_EQ(caller.calls.size(), 1U);
    return caller.calls.begin()->first;
  }
  // Passes one job through a call with this end.
  core::AckItem ack_after(int status, std::string body = {}, std::string retry_after = {}) {
    hand_out("t", 1);
    caller.answer(only_call(), status, std::move(body), std::move(retry_after));
    step();
    auto acks = take_acks();
    EXPECT_EQ(acks.size(), 1U);
    return acks.empty() ? core::AckItem() : acks.front();
  }

  ManualClock clock;
  FakeCaller caller;
  FakeGateway gateway;
  std::shared_ptr<const Targets> targets;
  bool leads = true;
  std::vector<HeldLease> held;
  int counts = 0;
  bool count_fails = false;
  std::vector<std::string> disabled;
  std::uint64_t version = 0;
  std::uint64_t made = 0;
  Duration lease = 35s;
  Pusher pusher{parts()};
};

TEST_F(PusherTest, ClaimsAsManyJobsAsMayBeCalled) {
  steps(3, 200ms);
  EXPECT_EQ(claim_of("t").claim.limit, 2U);
  EXPECT_EQ(claim_of("t").claim.queues.front().view(), "q-t");
  EXPECT_EQ(claim_of("t").claim.worker.view(), "~push:t");
  EXPECT_EQ(claim_of("t").claim.lease, Duration{35'000});
  hand_out("t", 1);
  EXPECT_EQ(claim_of("t").claim.limit, 1U);
  hand_out("t", 1);
  EXPECT_TRUE(claims().empty()) << "the bound is reached";
  EXPECT_EQ(caller.calls.size(), 2U);
  caller.answer(caller.calls.begin()->first, 200);
  step();
  EXPECT_EQ(claim_of("t").claim.limit, 1U);
}

// It takes more jobs than may be called at once, so that claims and calls overlap.
TEST_F(PusherTest, ShortCallsHaveJobsAhead) {
  steps(3, 200ms);
  for (std::uint64_t i = 0; i < Line::kCallsToKnow; ++i) ack_after(200);
  hand_out("t", 1);
  EXPECT_EQ(claim_of("t").claim.limit, 3U);
  hand_out("t", 3);
  EXPECT_TRUE(claims().empty());
  EXPECT_EQ(caller.calls.size(), 2U) << "never more calls than the bound";
  caller.answer(caller.calls.begin()->first, 200);
  step();
  EXPECT_EQ(caller.calls.size(), 2U);
  take_acks();
  // A job that waits for too long is given back.
  steps(20, 200ms);
  const auto acks = take_acks();
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_EQ(acks.front().outcome, core::AckOutcome::kReleased);
}

TEST_F(PusherTest, JobsAheadAreGivenBackWhenTheTargetIsPaused) {
  steps(3, 200ms);
  for (std::uint64_t i = 0; i < Line::kCallsToKnow; ++i) ack_after(200);
  hand_out("t", 1);
  hand_out("t", 3);
  change("t", [](api::PushTarget& target) { target.paused = true; });
  steps(2, 200ms);
  while (!caller.calls.empty()) {
    caller.answer(caller.calls.begin()->first, 200);
    step();
  }
  steps(2, 200ms);
  std::map<core::AckOutcome, int> outcomes;
  for (const core::AckItem& ack : take_acks()) ++outcomes[ack.outcome];
  EXPECT_EQ(outcomes[core::AckOutcome::kSucceeded], 2);
  EXPECT_EQ(outcomes[core::AckOutcome::kReleased], 2);
}

TEST_F(PusherTest, ACallSaysTheJobAndIsSigned) {
  change("t", [](api::PushTarget& target) {
    target.secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
    target.headers = {{"x-team", "a"}};
  });
  steps(3, 200ms);
  hand_out("t", 1);
  const Call& call = caller.calls.at(only_call());
  std::map<std::string, std::string> headers(call.headers.begin(), call.headers.end());
  EXPECT_EQ(call.url.text(), "https://example.com:443/t");
  EXPECT_EQ(call.body.view(), R"({"n":1})");
  EXPECT_EQ(call.timeout, Duration{30'000});
  EXPECT_EQ(headers.at("ce-type"), "mail.send");
  EXPECT_EQ(headers.at("millrace-token"), "1");
  EXPECT_EQ(headers.at("x-team"), "a");
  EXPECT_EQ(headers.at("webhook-id"), headers.at("ce-id"));
  EXPECT_EQ(headers.at("webhook-signature"),
            signature({*secret_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, headers.at("ce-id"),
                      std::stoll(headers.at("webhook-timestamp")), call.body.view()));
}

TEST_F(PusherTest, AnswersBecomeOutcomes) {
  using enum core::AckOutcome;
  steps(3, 200ms);
  core::AckItem ack = ack_after(200, R"({"sent": 1})");
  EXPECT_EQ(ack.outcome, kSucceeded);
  EXPECT_EQ(ack.result.view(), R"({"sent": 1})");
  EXPECT_EQ(ack_after(204).outcome, kSucceeded);
  EXPECT_EQ(ack_after(409, "twice").outcome, kDead);
  ack = ack_after(422, "bad address");
  EXPECT_EQ(ack.outcome, kDead);
  EXPECT_FALSE(ack.retryable);
  EXPECT_EQ(ack.error->type.view(), "http_422");
  EXPECT_EQ(ack.error->message.view(), "the receiver answered 422: bad address");
  ack = ack_after(500);
  EXPECT_EQ(ack.outcome, kFailed);
  EXPECT_TRUE(ack.retryable);
  EXPECT_EQ(ack_after(302).outcome, kFailed);
  ack = ack_after(429, "", "7");
  EXPECT_EQ(ack.outcome, kSnoozed);
  EXPECT_EQ(ack.delay, Duration{7'000});
  EXPECT_TRUE(claims().empty()) << "the receiver asked for rest";
  steps(36, 200ms);
  EXPECT_EQ(claims().size(), 1U);
}

TEST_F(PusherTest, WhatWasAcceptedIsAcknowledgedByOthers) {
  steps(3, 200ms);
  hand_out("t", 1);
  caller.answer(only_call(), 202);
  step();
  const auto* const beat = heartbeat();
  ASSERT_NE(beat, nullptr) << "its lease begins anew";
  EXPECT_TRUE(take_acks().empty());
  EXPECT_EQ(claim_of("t").claim.limit, 1U) << "the waiting claim";
  steps(300, 200ms);
  EXPECT_TRUE(take_acks().empty());
}

TEST_F(PusherTest, AReceiverThatIsGoneIsDisabled) {
  steps(3, 200ms);
  EXPECT_EQ(ack_after(410).outcome, core::AckOutcome::kDead);
  EXPECT_EQ(disabled, std::vector<std::string>{"t"});
  steps(20, 200ms);
  EXPECT_TRUE(claims().empty());
  change("t", [](api::PushTarget& target) { target.paused = true; });
  steps(20, 200ms);
  EXPECT_TRUE(claims().empty());
  change("t", [](api::PushTarget& target) { target.paused = false; });
  steps(20, 200ms);
  EXPECT_EQ(claims().size(), 1U);
}

TEST_F(PusherTest, ADeadTargetCostsTheOthersNothing) {
  add("u");
  steps(3, 200ms);
  for (int i = 0; i < Breaker::kFailuresToOpen; ++i) {
    hand_out("t", 1);
    caller.end(only_call(), {.how = How::kUnreachable, .reason = "no"});
    step();
    EXPECT_EQ(take_acks().front().error->type.view(), "unreachable");
  }
  EXPECT_EQ(claims().size(), 1U);
  EXPECT_EQ(claims().begin()->first, "u");
  EXPECT_EQ(pusher.health("t")->breaker, "open");
  EXPECT_EQ(pusher.health("t")->failed, 5U);
  EXPECT_EQ(pusher.health("u")->breaker, "closed");
  steps(6, 200ms);
  EXPECT_EQ(claim_of("t").claim.limit, 1U) << "a single call";
  hand_out("t", 1);
  EXPECT_EQ(claims().size(), 1U);
  caller.answer(only_call(), 200);
  step();
  EXPECT_EQ(claim_of("t").claim.limit, 2U);
  EXPECT_EQ(pusher.health("t")->breaker, "closed");
}

TEST_F(PusherTest, LongCallsAreKeptByHeartbeats) {
  change("t", [](api::PushTarget& target) { target.timeout = Duration{300'000}; });
  lease = 60s;
  steps(3, 200ms);
  EXPECT_EQ(claim_of("t").claim.lease, Duration{60'000});
  hand_out("t", 1);
  for (int i = 0; i < 1'000; ++i) {
    step(200ms);
    if (const auto* const beat = heartbeat()) {
      core::ItemsReply reply;
      reply.items.resize(1);
      gateway.answer(beat->ticket, core::Reply(reply));
    }
  }
  EXPECT_EQ(caller.calls.size(), 1U);
  // No more heartbeats are answered: the call ends before its lease does.
  steps(310, 200ms);
  EXPECT_TRUE(caller.calls.empty());
  EXPECT_EQ(caller.cancelled, 1);
  EXPECT_TRUE(take_acks().empty());
}

TEST_F(PusherTest, ACancelledJobsCallEnds) {
  steps(3, 200ms);
  hand_out("t", 1);
  steps(16, 200ms);
  core::ItemsReply reply;
  reply.items.resize(1);
  reply.items.front().cancel_requested = true;
  ASSERT_NE(heartbeat(), nullptr);
  gateway.answer(heartbeat()->ticket, core::Reply(reply));
  step();
  EXPECT_EQ(caller.cancelled, 1);
  EXPECT_EQ(take_acks().front().outcome, core::AckOutcome::kCancelled);
}

TEST_F(PusherTest, ALostLeaseEndsItsCall) {
  steps(3, 200ms);
  hand_out("t", 1);
  steps(16, 200ms);
  core::ItemsReply reply;
  reply.items.resize(1);
  reply.items.front().refusal.why = core::Rejection::kLeaseLost;
  ASSERT_NE(heartbeat(), nullptr);
  gateway.answer(heartbeat()->ticket, core::Reply(reply));
  step();
  EXPECT_EQ(caller.cancelled, 1);
  EXPECT_TRUE(take_acks().empty());
}

TEST_F(PusherTest, AnUnansweredAckIsSentAgainUntilTheLeaseIsOver) {
  steps(3, 200ms);
  hand_out("t", 1);
  caller.answer(only_call(), 200);
  step();
  int sent = 0;
  for (int i = 0; i < 400; ++i) {
    for (const FakeGateway::Asked& one : std::vector(gateway.asked)) {
      const auto* const command = std::get_if<core::Command>(&one.request);
      if (command == nullptr || !std::holds_alternative<core::Ack>(*command)) continue;
      ++sent;
      gateway.answer(one.ticket, engine::Unavailable::kUnknown);
    }
    step(200ms);
  }
  EXPECT_GT(sent, 50);
  EXPECT_LT(sent, 180);
}

TEST_F(PusherTest, AnotherNodesCallsCountUntilTheirLeasesAreOver) {
  leads = false;
  steps(10, 200ms);
  EXPECT_TRUE(claims().empty());
  EXPECT_FALSE(pusher.health("t").has_value());
  const JobId one = make_job_id(clock.wall, 0, 901);
  const JobId two = make_job_id(clock.wall, 0, 902);
  held = {{"t", one, LeaseToken{901}}, {"t", two, LeaseToken{902}}};
  leads = true;
  count_fails = true;
  steps(3, 200ms);
  EXPECT_TRUE(claims().empty()) << "before it has counted, it begins nothing";
  count_fails = false;
  steps(10, 200ms);
  EXPECT_TRUE(claims().empty()) << "two of two are under way";
  EXPECT_EQ(pusher.health("t")->held_elsewhere, 2);
  held.pop_back();
  steps(100, 200ms);
  EXPECT_EQ(claim_of("t").claim.limit, 1U);
  held.clear();
  hand_out("t", 1);
  held = {{"t", caller.calls.begin()->second.number == 0 ? one : one, LeaseToken{901}}};
  steps(100, 200ms);
  EXPECT_TRUE(claims().empty());
  held.clear();
  steps(100, 200ms);
  EXPECT_EQ(claim_of("t").claim.limit, 1U);
  const int before = counts;
  steps(200, 200ms);
  EXPECT_EQ(counts, before) << "nothing is left to count";
}

TEST_F(PusherTest, WhoLeadsNoMoreBeginsNothing) {
  steps(3, 200ms);
  const engine::Ticket ticket = claims().at("t")->ticket;
  leads = false;
  gateway.answer(ticket, core::Reply(jobs(2)));
  step();
  EXPECT_TRUE(caller.calls.empty());
  const auto acks = take_acks();
  ASSERT_EQ(acks.size(), 2U);
  EXPECT_EQ(acks.front().outcome, core::AckOutcome::kReleased);
}

TEST_F(PusherTest, AClaimThatWasGivenUpGivesItsJobsBack) {
  steps(3, 200ms);
  const engine::Ticket ticket = claims().at("t")->ticket;
  change("t", [](api::PushTarget& target) { target.paused = true; });
  steps(2, 200ms);
  EXPECT_TRUE(claims().empty());
  gateway.answer(ticket, core::Reply(jobs(1)));
  step();
  EXPECT_TRUE(caller.calls.empty());
  EXPECT_EQ(take_acks().front().outcome, core::AckOutcome::kReleased);
}

TEST_F(PusherTest, PayloadsThatMemoryDroppedAreRead) {
  steps(3, 200ms);
  core::ClaimReply claim = jobs(1);
  claim.jobs.front().job.payload = {};
  gateway.answer(claims().at("t")->ticket, core::Reply(std::move(claim)));
  step();
  step();
  EXPECT_EQ(caller.calls.at(only_call()).body.view(), "\"read\"");
  EXPECT_EQ(claim_of("t").claim.limit, 1U);
}

TEST_F(PusherTest, ARefusedClaimIsTriedAgainLater) {
  steps(3, 200ms);
  gateway.answer(claims().at("t")->ticket, engine::Unavailable::kOverloaded);
  step();
  EXPECT_TRUE(claims().empty());
  steps(2, 200ms);
  EXPECT_EQ(claims().size(), 1U);
}

TEST_F(PusherTest, AForbiddenUrlIsNeverCalled) {
  change("t", [](api::PushTarget& target) { target.url = "https://127.0.0.1/"; });
  steps(3, 200ms);
  EXPECT_TRUE(claims().empty());
  api::PushTestResult result;
  pusher.test(targets->front(), [&](api::PushTestResult made) { result = std::move(made); });
  step();
  EXPECT_TRUE(caller.calls.empty());
  EXPECT_NE(result.error.find("loopback"), std::string::npos);
}

TEST_F(PusherTest, ATestIsACallWithoutAJob) {
  leads = false;
  api::PushTestResult result;
  pusher.test(targets->front(), [&](api::PushTestResult made) { result = std::move(made); });
  step();
  caller.answer(only_call(), 500);
  step();
  EXPECT_EQ(result.status, 500);
  EXPECT_EQ(result.error, "the receiver answered 500");
  EXPECT_TRUE(take_acks().empty());
}

TEST_F(PusherTest, HealthTellsOfTheLastCalls) {
  steps(3, 200ms);
  for (int i = 0; i < 25; ++i) ack_after(i % 2 == 0 ? 200 : 500);
  const auto health = pusher.health("t");
  ASSERT_TRUE(health.has_value());
  EXPECT_EQ(health->succeeded, 13U);
  EXPECT_EQ(health->failed, 12U);
  EXPECT_EQ(health->last.size(), Line::kOutcomesKept);
  EXPECT_EQ(health->last.front().outcome, "succeeded");
  EXPECT_EQ(health->last.at(1).status, 500);
  EXPECT_NEAR(health->p50_ms.value(), 3, 0.2);
}

TEST_F(PusherTest, ATargetThatIsDeletedEndsItsCallsInPeace) {
  steps(3, 200ms);
  hand_out("t", 1);
  targets = std::make_shared<Targets>();
  steps(3, 200ms);
  EXPECT_TRUE(claims().empty());
  caller.answer(only_call(), 200);
  step();
  EXPECT_EQ(take_acks().front().outcome, core::AckOutcome::kSucceeded);
  steps(3, 200ms);
  EXPECT_FALSE(pusher.health("t").has_value());
}

}  // namespace
}  // namespace millrace::push
