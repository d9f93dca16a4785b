#include "api/worker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/decode_testing.h"

namespace millrace::api {
namespace {

using testing::code_of;
using testing::faults;
using testing::kId;
using testing::kLimits;
using testing::places;
using testing::Strings;

const JobId kJob = *parse_job_id(kId);

std::string ack(std::string_view members) {
  return fmt::format(R"({{"items":[{{"id":"{}","token":5,{}}}]}})", kId, members);
}

// The faults of the only item.
Strings ack_faults(std::string_view members) {
  const std::string body = ack(members);
  const auto items = decode_acks(body, kLimits);
  if (!items) return faults(items);
  const auto& item = items->at(0);
  return item.fault ? faults(*item.fault) : Strings{};
}

std::string many(std::size_t count, const std::string& item) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += (i > 0 ? "," : "") + item;
  return all;
}

// --- Claims.

TEST(DecodeClaim, TakesEveryMember) {
  const auto claim = decode_claim(
      R"({"queues":["b","a"],"types":["t"],"limit":1000,"wait_ms":60000,"lease_ms":1000,
      "worker":{"id":"w-1","host":"h",
      "pid":0,"sdk":"cpp","version":"1","labels":{"zone":"eu"}}})",
      kLimits);
  ASSERT_TRUE(claim.has_value()) << faults(claim)[0];
  EXPECT_EQ(claim->queues, (Strings{"b", "a"}));
  EXPECT_EQ(*claim->types, (Strings{"t"}));
  EXPECT_EQ(claim->limit, 1000);
  EXPECT_EQ(claim->wait, Duration{60'000});
  EXPECT_EQ(claim->lease, Duration{1000});
  EXPECT_EQ(claim->worker.id, "w-1");
  EXPECT_EQ(claim->worker.pid, 0);
  EXPECT_EQ(claim->worker.labels, (StringMap{{"zone", "eu"}}));
}

TEST(DecodeClaim, TheSmallestAsksForOneJobAndDoesNotWait) {
  const auto claim = decode_claim(R"({"queues":["a"],"worker":{"id":"w"}})", kLimits);
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(claim->limit, 1);
  EXPECT_EQ(claim->wait, Duration{0});
  EXPECT_FALSE(claim->types || claim->lease);
}

TEST(DecodeClaim, IsHeldToItsBounds) {
  const auto claim = [](std::string_view members) {
    static std::string body;
    body = fmt::format(R"({{"queues":["a"],"worker":{{"id":"w"}},{}}})", members);
    return decode_claim(body, kLimits);
  };
  for (const auto& [within, beyond, place] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {R"("limit":1)", R"("limit":0)", "/limit"},
           {R"("limit":1000)", R"("limit":1001)", "/limit"},
           {R"("wait_ms":60000)", R"("wait_ms":60001)", "/wait_ms"},
           {R"("wait_ms":0)", R"("wait_ms":-1)", "/wait_ms"},
           {R"("lease_ms":86400000)", R"("lease_ms":86400001)", "/lease_ms"},
           {R"("types":["a"])", R"("types":[])", "/types"},
           {R"("types":[)" + many(100, "\"t\"") + "]", R"("types":[)" + many(101, "\"t\"") + "]",
            "/types"},
       }) {
    EXPECT_TRUE(claim(within).has_value()) << within;
    EXPECT_EQ(places(claim(beyond)), (Strings{place})) << beyond;
  }
}

TEST(DecodeClaim, NamesWhatIsMissingOrWrong) {
  EXPECT_EQ(places(decode_claim("{}", kLimits)), (Strings{"/queues", "/worker"}));
  EXPECT_EQ(places(decode_claim(R"({"queues":[],"worker":{}})", kLimits)),
            (Strings{"/queues", "/worker/id"}));
  EXPECT_EQ(places(decode_claim(R"({"queues":["a","b","a"],"worker":{"id":""}})", kLimits)),
            (Strings{"/queues/2", "/worker/id"}));
  EXPECT_EQ(places(decode_claim(R"({"queues":["a*"],"worker":{"id":"w","pid":-1,"host":")" +
                                    std::string(129, 'h') + R"(","labels":{"a":1}}})",
                                kLimits)),
            (Strings{"/queues/0", "/worker/pid", "/worker/host", "/worker/labels/a"}));
}

// --- Acks.

TEST(DecodeAcks, TakesEveryOutcome) {
  EXPECT_EQ(ack_faults(R"("outcome":"succeeded","result":[1, 2])"), Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"failed","error":{"type":"T","message":"m"},"delay_ms":0)"),
            Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"failed")"), Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"snoozed","delay_ms":1)"), Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"released")"), Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"cancelled","error":{"type":"T","message":"m"})"), Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"dead","error":{"type":"T","message":"m"},"result":null)"),
            Strings{});
}

TEST(DecodeAcks, ReadsAllOfAnItem) {
  const std::string body = ack(
      R"("outcome":"succeeded","result":{"b": 1},"logs":[{"message":"hi"},{"message":"oh",
      "level":"error",
      "at":"2026-03-01T09:30:00Z"}],"enqueue":[{"type":"next","payload":"\ud800"}])");
  const auto items = decode_acks(body, kLimits);
  ASSERT_TRUE(items.has_value()) << faults(items)[0];
  const Ack& item = items->at(0).value;
  EXPECT_EQ(item.id, kJob);
  EXPECT_EQ(to_number(item.token), 5U);
  EXPECT_EQ(item.result, R"({"b": 1})");
  ASSERT_EQ(item.logs.size(), 2U);
  EXPECT_EQ(item.logs[0].level, LogLevel::kInfo);
  EXPECT_FALSE(item.logs[0].at);
  EXPECT_EQ(item.logs[1].level, LogLevel::kError);
  EXPECT_EQ(item.logs[1].message, "oh");
  ASSERT_EQ(item.enqueue.size(), 1U);
  EXPECT_EQ(item.enqueue[0].type, "next");
  EXPECT_EQ(item.enqueue[0].payload, R"("\ud800")");
}

TEST(DecodeAcks, AnItemOfEnqueueMayBeAWorkflow) {
  const auto acks = decode_acks(
      R"({"items":[{"id":"0190a0a0-0000-7000-8000-000000000000","token":1,"outcome":"succeeded",
      "enqueue":[{"type":"a"},{"workflow":{"name":"w","members":[{"job":{"type":"b"}}]}},
      {"type":"c"}]}]})",
      kLimits);
  ASSERT_TRUE(acks.has_value()) << faults(acks)[0];
  const Ack& ack = acks->at(0).value;
  EXPECT_FALSE(acks->at(0).fault);
  ASSERT_EQ(ack.enqueue.size(), 2U);
  EXPECT_EQ(ack.enqueue[1].type, "c");
  ASSERT_EQ(ack.workflows.size(), 1U);
  EXPECT_EQ(ack.workflows[0].place, 1U);
  EXPECT_EQ(ack.workflows[0].workflow.name, "w");
  EXPECT_EQ(ack.workflows[0].workflow.members.size(), 1U);
}

TEST(DecodeAcks, AWorkflowOfEnqueueStandsAlone) {
  const auto faults_of = [](const std::string& item) {
    static std::string body;
    body = fmt::format(R"({{"token":1,"enqueue":[{}]}})", item);
    return places(decode_complete(body, JobId{}, kLimits));
  };
  EXPECT_EQ(faults_of(R"({"workflow":null})"), Strings{"/enqueue/0/workflow"});
  EXPECT_EQ(faults_of(R"({"workflow":{},"type":"t"})"), Strings{"/enqueue/0/type"});
  EXPECT_EQ(faults_of(R"({"workflow":{"members":[{"job":{}}]}})"),
            Strings{"/enqueue/0/workflow/members/0/job/type"});
}

TEST(DecodeAcks, ReadsWhatAWorkerAsksOfLimits) {
  const std::string body = ack(R"("outcome":"succeeded","slow_down":[{"limit":"api","for_ms":100},)"
                               R"({"limit":"acct","key":"k","for_ms":3600000}])");
  const auto items = decode_acks(body, kLimits);
  ASSERT_TRUE(items.has_value());
  const std::vector<SlowDown>& wishes = items->at(0).value.slow_down;
  ASSERT_EQ(wishes.size(), 2U);
  EXPECT_EQ(wishes[0].limit, "api");
  EXPECT_EQ(wishes[0].length, Duration{100});
  EXPECT_EQ(wishes[1].key, "k");
  EXPECT_EQ(ack_faults(R"("outcome":"succeeded","slow_down":[{"limit":"api","for_ms":99}])").size(),
            1U);
  EXPECT_EQ(ack_faults(R"("outcome":"succeeded","slow_down":[{"key":""}])").size(), 3U);
  const auto single = decode_snooze(
      R"({"token":1,"delay_ms":5,"slow_down":[{"limit":"api","for_ms":100}]})", kJob, kLimits);
  ASSERT_TRUE(single.has_value());
  EXPECT_EQ(single->slow_down.size(), 1U);
}

TEST(DecodeAcks, RefusesWhatDoesNotGoWithTheOutcome) {
  const std::string error = R"("error":{"type":"T","message":"m"})";
  EXPECT_EQ(ack_faults(R"("outcome":"failed","result":1)"),
            (Strings{"/result: does not apply to outcome failed"}));
  EXPECT_EQ(ack_faults(R"("outcome":"succeeded",)" + error),
            (Strings{"/error: does not apply to outcome succeeded"}));
  EXPECT_EQ(ack_faults(R"("outcome":"snoozed","delay_ms":1,)" + error),
            (Strings{"/error: does not apply to outcome snoozed"}));
  EXPECT_EQ(ack_faults(R"("outcome":"released","delay_ms":1)"),
            (Strings{"/delay_ms: does not apply to outcome released"}));
  EXPECT_EQ(ack_faults(R"("outcome":"snoozed")"), (Strings{"/delay_ms: is required"}));
  EXPECT_EQ(
      ack_faults(R"("outcome":"done")"),
      (Strings{"/outcome: must be one of succeeded, failed, snoozed, released, cancelled, dead"}));
}

TEST(DecodeAcks, AnItemsFaultIsItsOwnAndKeepsItsId) {
  const std::string body = fmt::format(
      R"({{"items":[{{"id":"{0}","token":-1,"outcome":"succeeded"}},{{"id":"{0}","token":1,
      "outcome":"succeeded"}},
      {{"id":"x"}},{{"id":"{0}","token":9007199254740992,"outcome":"failed","error":{{"stack":1}},
      "enqueue":[{{"type":"a"}},{{"queue":""}}],"logs":[{{}},1]}}]}})",
      kId);
  auto items = decode_acks(body, kLimits);
  ASSERT_TRUE(items.has_value());
  EXPECT_EQ(faults(*items->at(0).fault), (Strings{"/token: must be 0 to 9007199254740991"}));
  EXPECT_EQ(items->at(0).value.id, kJob);
  EXPECT_FALSE(items->at(1).fault);
  EXPECT_EQ(faults(*items->at(2).fault),
            (Strings{"/id: must be a UUID", "/token: is required", "/outcome: is required"}));
  Problem& last = *(*items)[3].fault;
  prefix_pointers(last, "/items/3");
  Strings where;
  for (const FieldError& error : last.errors) where.push_back(error.where);
  EXPECT_EQ(where,
            (Strings{"/items/3/token", "/items/3/error/stack", "/items/3/error/type",
                     "/items/3/error/message", "/items/3/enqueue/1/queue",
                     "/items/3/enqueue/1/type", "/items/3/logs/0/message", "/items/3/logs/1"}));
}

TEST(DecodeAcks, CutsWhatWorkersReportAtCharacters) {
  const std::string body =
      ack(fmt::format(R"("outcome":"failed","error":{{"type":"{}","message":"{}","stack":"{}",)"
                      R"("retryable":false}},"logs":[{{"message":"{}"}}])",
                      std::string(129, 't'), std::string(4095, 'm') + "\xC3\xA9",
                      std::string(32769, 's'), std::string(9000, 'l')));
  const auto items = decode_acks(body, kLimits);
  ASSERT_TRUE(items.has_value() && !items->at(0).fault);
  const Ack& item = items->at(0).value;
  EXPECT_EQ(item.error->type.size(), 128U);
  EXPECT_EQ(item.error->message, std::string(4095, 'm')) << "no half of a character";
  EXPECT_EQ(item.error->stack.size(), 32768U);
  EXPECT_FALSE(item.error->retryable);
  EXPECT_EQ(item.logs[0].message.size(), 8192U);
}

TEST(DecodeAcks, ReplacesNulInWhatWorkersReport) {
  const std::string body =
      ack(R"("outcome":"failed","error":{"type":"a\u0000","message":"\u0000\u0000"})");
  const auto items = decode_acks(body, kLimits);
  ASSERT_TRUE(items.has_value() && !items->at(0).fault);
  EXPECT_EQ(items->at(0).value.error->type, "a\xEF\xBF\xBD");
  EXPECT_EQ(items->at(0).value.error->message, "\xEF\xBF\xBD\xEF\xBF\xBD");
  const std::string full = ack(R"("outcome":"failed","error":{"type":"a","message":")" +
                               std::string(5000, 'x') + R"(\u0000"})");
  EXPECT_EQ(decode_acks(full, kLimits)->at(0).value.error->message, std::string(4096, 'x'));
}

TEST(DecodeAcks, BoundsTheCall) {
  const std::string item = fmt::format(R"({{"id":"{}","token":1,"outcome":"succeeded"}})", kId);
  EXPECT_EQ(decode_acks(R"({"items":[)" + many(1000, item) + "]}", kLimits)->size(), 1000U);
  EXPECT_EQ(faults(decode_acks(R"({"items":[)" + many(1001, item) + "]}", kLimits)),
            (Strings{"/items: must have 1 to 1000 items"}));
  EXPECT_EQ(faults(decode_acks(R"({"items":[]})", kLimits)),
            (Strings{"/items: must have 1 to 1000 items"}));
  EXPECT_EQ(places(decode_acks("{}", kLimits)), (Strings{"/items"}));
  EXPECT_EQ(ack_faults(R"("outcome":"succeeded","logs":[)" + many(1000, R"({"message":""})") + "]"),
            Strings{});
  EXPECT_EQ(ack_faults(R"("outcome":"succeeded","logs":[)" + many(1001, R"({"message":""})") + "]"),
            (Strings{"/logs: must have at most 1000 items"}));
  DecodeLimits limits;
  limits.payload_bytes = 4;
  EXPECT_FALSE(decode_acks(ack(R"("outcome":"succeeded","result":1234)"), limits)->at(0).fault);
  EXPECT_TRUE(decode_acks(ack(R"("outcome":"succeeded","result":12345)"), limits)->at(0).fault);
  EXPECT_EQ(code_of(decode_acks(ack(R"("outcome":"succeeded","outcome":"failed")"), kLimits)),
            ProblemCode::kInvalidJson);
}

// --- Heartbeats.

TEST(DecodeHeartbeats, TakesProgress) {
  const std::string body = fmt::format(
      R"({{"items":[{{"id":"{0}","token":1,"extend_ms":86400000,"progress":{{"percent":99.5,
      "message":"m",
      "checkpoint":{{"at": 7,"at":8}}}}}},{{"id":"{0}","token":1,"progress":null}},{{"id":"{0}",
      "token":1,"extend_ms":999,
      "progress":{{"percent":100.1,"message":5}}}}]}})",
      kId);
  const auto items = decode_heartbeats(body, kLimits);
  ASSERT_TRUE(items.has_value()) << faults(items)[0];
  const Heartbeat& first = items->at(0).value;
  EXPECT_EQ(first.extend, Duration{86'400'000});
  EXPECT_EQ(first.progress->percent, 99.5);
  EXPECT_EQ(first.progress->checkpoint, R"({"at": 7,"at":8})") << "opaque";
  EXPECT_FALSE(items->at(1).value.progress || items->at(1).fault);
  EXPECT_EQ(faults(*items->at(2).fault),
            (Strings{"/extend_ms: must be 1000 to 86400000", "/progress/percent: must be 0 to 100",
                     "/progress/message: must be a string"}));
}

TEST(DecodeHeartbeats, BoundsProgressAsAWhole) {
  const auto body = [](std::size_t size) {
    return fmt::format(R"({{"token":1,"progress":{{"checkpoint":"{}"}}}})", std::string(size, 'c'));
  };
  constexpr std::size_t kFrame = std::string_view(R"({"checkpoint":""})").size();
  EXPECT_TRUE(decode_heartbeat(body(kMaxProgressBytes - kFrame), kJob, kLimits).has_value());
  EXPECT_EQ(places(decode_heartbeat(body(kMaxProgressBytes - kFrame + 1), kJob, kLimits)),
            (Strings{"/progress"}));
}

// --- Polls and single forms.

TEST(DecodePoll, MayBeEmpty) {
  for (const std::string_view body :
       {"", "{}", R"({"acks":[],"heartbeats":[],"logs":[],"claim":null})"}) {
    const auto poll = decode_poll(body, "w", kLimits);
    ASSERT_TRUE(poll.has_value()) << body;
    EXPECT_TRUE(poll->acks.empty() && poll->heartbeats.empty() && poll->logs.empty() &&
                !poll->claim);
  }
}

TEST(DecodePoll, TakesAllOfItInOneRoundTrip) {
  const std::string body = fmt::format(
      R"({{"claim":{{"queues":["q"],"wait_ms":5}},"acks":[{{"id":"{0}","token":1,
      "outcome":"succeeded"}},{{}}],
      "heartbeats":[{{"id":"{0}","token":2}}],"logs":[{{"id":"{0}","token":3,"message":"m",
      "level":"warn"}},{{"message":"m"}}]}})",
      kId);
  const auto poll = decode_poll(body, "w-7", kLimits);
  ASSERT_TRUE(poll.has_value()) << faults(poll)[0];
  EXPECT_EQ(poll->claim->worker.id, "w-7");
  EXPECT_FALSE(poll->acks[0].fault);
  EXPECT_TRUE(poll->acks[1].fault);
  EXPECT_EQ(to_number(poll->heartbeats[0].value.token), 2U);
  EXPECT_EQ(poll->logs[0].value.line.level, LogLevel::kWarn);
  EXPECT_EQ(faults(*poll->logs[1].fault), (Strings{"/id: is required", "/token: is required"}));
}

TEST(DecodePoll, TheWorkerIsThePaths) {
  EXPECT_TRUE(
      decode_poll(R"({"claim":{"queues":["q"],"worker":{"id":"w"}}})", "w", kLimits).has_value());
  EXPECT_EQ(decode_poll(R"({"claim":{"queues":["q"],"worker":{"host":"h"}}})", "w", kLimits)
                ->claim->worker.host,
            "h");
  EXPECT_EQ(places(decode_poll(R"({"claim":{"queues":["q"],"worker":{"id":"v"}}})", "w", kLimits)),
            (Strings{"/claim/worker/id"}));
  EXPECT_EQ(places(decode_poll(R"({"claim":{}})", "w", kLimits)), (Strings{"/claim/queues"}));
}

TEST(SingleForms, KnowTheirOutcome) {
  EXPECT_EQ(decode_complete(R"({"token":1,"result":2})", kJob, kLimits)->outcome,
            AckOutcome::kSucceeded);
  EXPECT_EQ(
      decode_fail(R"({"token":1,"error":{"type":"T","message":"m"}})", kJob, kLimits)->outcome,
      AckOutcome::kFailed);
  EXPECT_EQ(decode_snooze(R"({"token":1,"delay_ms":7})", kJob, kLimits)->delay, Duration{7});
  EXPECT_EQ(decode_release(R"({"token":1})", kJob, kLimits)->outcome, AckOutcome::kReleased);
  EXPECT_EQ(decode_heartbeat(R"({"token":1})", kJob, kLimits)->id, kJob);
  EXPECT_EQ(decode_complete(R"({"token":1})", kJob, kLimits)->id, kJob);
}

TEST(Growth, IsOfASuccess) {
  const auto acks = decode_acks(
      R"({"items":[{"id":")" + to_string(kJob) +
          R"(","token":1,"outcome":"succeeded","grow":{"members":[{"ref":"b","needs":["a"],)"
          R"("job":{"type":"t"}}],"skip":["c","@7"]}}]})",
      kLimits);
  ASSERT_TRUE(acks);
  ASSERT_FALSE(acks->at(0).fault);
  const Growth& growth = acks->at(0).value.grow.value();
  EXPECT_EQ(growth.members.at(0).ref, "b");
  EXPECT_EQ(growth.members.at(0).needs.at(0).ref, "a");
  EXPECT_EQ(growth.skip, (Strings{"c", "@7"}));
  EXPECT_TRUE(decode_complete(R"({"token":1,"grow":{}})", kJob, kLimits)->grow);
}

TEST(Growth, RefusesWhatDoesNotFit) {
  const auto places_of = [](const std::string& grow) {
    return places(decode_complete(R"({"token":1,"grow":)" + grow + "}", kJob, kLimits));
  };
  EXPECT_EQ(places_of(R"({"members":[{"job":{"type":"t"}}]})"), (Strings{"/grow/members/0/ref"}));
  EXPECT_EQ(places_of(R"({"members":[{"ref":"a","job":{"type":"t","unique":{"key":"k"}}}]})"),
            (Strings{"/grow/members/0/job/unique"}));
  EXPECT_EQ(places_of(R"({"skip":["no ref"],"close":true})"),
            (Strings{"/grow/skip/0", "/grow/close"}));
  std::string many;
  for (std::size_t i = 0; i <= kMaxGrownMembers; ++i) many += R"("r",)";
  many.back() = ']';
  EXPECT_EQ(places_of(R"({"skip":[)" + many + "}"), (Strings{"/grow/skip"}));
  EXPECT_EQ(places(decode_fail(R"({"token":1,"grow":{}})", kJob, kLimits)), (Strings{"/grow"}));
}

TEST(SingleForms, RefuseWhatIsNotTheirs) {
  EXPECT_EQ(
      places(decode_complete(R"({"token":1,"error":{"type":"T","message":"m"}})", kJob, kLimits)),
      (Strings{"/error"}));
  EXPECT_EQ(places(decode_fail(R"({"token":1,"result":1})", kJob, kLimits)), (Strings{"/result"}));
  EXPECT_EQ(places(decode_snooze(R"({"token":1})", kJob, kLimits)), (Strings{"/delay_ms"}));
  EXPECT_EQ(places(decode_release("{}", kJob, kLimits)), (Strings{"/token"}));
  EXPECT_EQ(places(decode_heartbeat(R"({"id":"x"})", kJob, kLimits)), (Strings{"/id", "/token"}));
  EXPECT_EQ(code_of(decode_release("", kJob, kLimits)), ProblemCode::kInvalidJson);
}

TEST(WorkerId, IsAName) {
  EXPECT_TRUE(is_worker_id("host-1:42"));
  EXPECT_FALSE(is_worker_id(""));
  EXPECT_FALSE(is_worker_id("a b"));
  EXPECT_FALSE(is_worker_id(std::string(129, 'a')));
}

}  // namespace
}  // namespace millrace::api
