#include "api/submission.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/decode_testing.h"

namespace millrace::api {
namespace {

using testing::code_of;
using testing::faults;
using testing::kId;
using testing::kLimits;
using testing::places;
using testing::Strings;

Decoded<JobSubmission> with(std::string_view member) {
  static std::string body;  // views into it outlive the call
  body = fmt::format(R"({{"type":"t",{}}})", member);
  return decode_job(body, kLimits);
}

JobSubmission good(std::string_view member) {
  auto job = with(member);
  EXPECT_TRUE(job.has_value()) << member << ": " << (job ? "" : faults(job)[0]);
  return job.value_or(JobSubmission{});
}

TEST(DecodeJob, TheSmallestHasTheDefaults) {
  const auto job = decode_job(R"({"type":"email.send"})", kLimits);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->type, "email.send");
  EXPECT_EQ(job->queue, "default");
  EXPECT_EQ(job->payload, "null");
  EXPECT_EQ(job->priority, 0);
  EXPECT_FALSE(job->id || job->run_at || job->delay || job->expires_at || job->expires_in ||
               job->max_attempts || job->retry || job->lease || job->timeout || job->unique);
  EXPECT_TRUE(job->tags.empty() && job->meta.empty() && job->traceparent.empty());
}

TEST(DecodeJob, TakesEveryMember) {
  const std::string body = fmt::format(
      R"({{"id":"{}","type":"a","queue":"q","payload":{{"x": 1.0}},"priority":-32768,
      "run_at":"2026-03-01T10:30:00.1239+01:00","expires_in_ms":5,"max_attempts":7,
      "retry":{{"strategy":"list","delays_ms":[0,315360000000]}},"lease_ms":1000,"timeout_ms":1,
      "unique":{{"key":"k\u00e9","for_ms":9,"on_conflict":"replace"}},"tags":["a","b:c/d"],
      "meta":{{"k":"v","\u0041":""}},
      "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "tracestate":"a=b"}})",
      "0195A1B2-C3D4-7E5F-8899-AABBCCDDEEFF");
  const auto job = decode_job(body, kLimits);
  ASSERT_TRUE(job.has_value()) << faults(job)[0];
  EXPECT_EQ(to_string(*job->id), kId);
  EXPECT_EQ(job->payload, R"({"x": 1.0})");
  EXPECT_EQ(job->priority, -32768);
  EXPECT_EQ(job->run_at, parse_rfc3339("2026-03-01T09:30:00.123Z"));
  EXPECT_EQ(job->expires_in, Duration{5});
  EXPECT_EQ(job->max_attempts, 7);
  EXPECT_EQ(job->retry->strategy, RetryStrategy::kList);
  EXPECT_EQ(job->retry->delays, (std::vector<Duration>{Duration{0}, Duration{315'360'000'000}}));
  EXPECT_EQ(job->lease, Duration{1000});
  EXPECT_EQ(job->timeout, Duration{1});
  EXPECT_EQ(*job->unique, (UniqueKey{"k\xC3\xA9", Duration{9}, OnConflict::kReplace}));
  EXPECT_EQ(job->tags, (Strings{"a", "b:c/d"}));
  EXPECT_EQ(job->meta, (StringMap{{"k", "v"}, {"A", ""}}));
  EXPECT_EQ(job->tracestate, "a=b");
}

TEST(DecodeJob, KeepsThePayloadByteForByte) {
  for (const std::string_view payload :
       {"null", "0", "-0", "1.0", "1E5", "1e400", "123456789012345678901234567890", "\"\"",
        "\"\\u0041\\/\"", "\"\\ud800\"", "{\"b\":1, \"a\":2 , \"b\":3}", "[ 1 ,\t2\n]",
        "\"\xF0\x9F\x98\x80\"", "{ }", "\"\\u0000\""}) {
    const std::string body = fmt::format("{{ \"type\" : \"t\" , \"payload\" :\n {}\t}}", payload);
    const auto job = decode_job(body, kLimits);
    ASSERT_TRUE(job.has_value()) << payload;
    EXPECT_EQ(job->payload, payload);
    EXPECT_GE(job->payload.data(), body.data()) << "a view of the body itself";
    EXPECT_LE(job->payload.data() + job->payload.size(), body.data() + body.size());
  }
}

TEST(DecodeJob, HoldsEveryBoundAndPassesNoneByOne) {
  const std::string name128(128, 'n');
  const std::string tags32 = "[" + std::string(R"("t")") + [] {
    std::string more;
    for (int i = 1; i < 32; ++i) more += R"(,"t")";
    return more;
  }();
  const struct {
    std::string member;
    std::string within;
    std::string beyond;
  } cases[] = {
      {"type", "\"" + name128 + "\"", "\"" + name128 + "n\""},
      {"type", "\"a\"", "\"\""},
      {"queue", "\"" + name128 + "\"", "\"" + name128 + "n\""},
      {"queue", "\"A-Za-z0-9._:/-\"", "\"a b\""},
      {"queue", "\"a\"", "\"\xC3\xA9\""},
      {"priority", "32767", "32768"},
      {"priority", "-32768", "-32769"},
      {"priority", "0", "99999999999999999999"},
      {"delay_ms", "0", "-1"},
      {"delay_ms", "315360000000", "315360000001"},
      {"expires_in_ms", "315360000000", "315360000001"},
      {"max_attempts", "1", "0"},
      {"max_attempts", "1000", "1001"},
      {"lease_ms", "1000", "999"},
      {"lease_ms", "86400000", "86400001"},
      {"timeout_ms", "1", "0"},
      {"timeout_ms", "315360000000", "315360000001"},
      {"run_at", "\"9999-12-31T23:59:59Z\"", "\"9999-12-31T23:59:59-01:00\""},
      {"run_at", "\"2024-02-29T00:00:00Z\"", "\"2026-02-29T00:00:00Z\""},
      {"tags", tags32 + "]", tags32 + ",\"t\"]"},
      {"tags", "[]", "[\"\"]"},
      {"unique", R"({"key":")" + std::string(255, 'k') + "\"}",
       R"({"key":")" + std::string(256, 'k') + "\"}"},
      {"unique", R"({"key":"k","for_ms":315360000000})", R"({"key":"k","for_ms":315360000001})"},
      {"unique", R"({"key":"k"})", R"({"key":""})"},
      {"unique", R"({"key":"k"})", R"({"key":"\u0000"})"},
      {"retry", R"({"strategy":"fixed","base_ms":315360000000})",
       R"({"strategy":"fixed","base_ms":315360000001})"},
      {"retry", R"({"strategy":"linear","max_ms":0})", R"({"strategy":"linear","max_ms":-1})"},
      {"retry", R"({"strategy":"fixed","jitter":1})", R"({"strategy":"fixed","jitter":1.0000001})"},
      {"retry", R"({"strategy":"fixed","jitter":0})",
       R"({"strategy":"fixed","jitter":-0.0000001})"},
      {"retry", R"({"strategy":"list","delays_ms":[1]})", R"({"strategy":"list","delays_ms":[]})"},
      {"meta", R"({"k":")" + std::string(8192 - 8, 'v') + "\"}",
       R"({"k":")" + std::string(8192 - 7, 'v') + "\"}"},
      {"id", "\"0195a1b2-c3d4-7e5f-8899-aabbccddeeff\"",
       "\"0195a1b2-c3d4-4e5f-8899-aabbccddeeff\""},
      {"tracestate", "\"" + std::string(512, 's') + "\"", "\"" + std::string(513, 's') + "\""},
  };
  for (const auto& each : cases) {
    const std::string type = each.member == "type" ? "" : R"("type":"t",)";
    const auto body = [&](const std::string& value) {
      return fmt::format(R"({{{}"{}":{}}})", type, each.member, value);
    };
    const std::string within = body(each.within);
    const auto taken = decode_job(within, kLimits);
    EXPECT_TRUE(taken.has_value()) << within << ": " << (taken ? "" : faults(taken)[0]);
    const std::string beyond = body(each.beyond);
    const auto refused = decode_job(beyond, kLimits);
    ASSERT_FALSE(refused.has_value()) << beyond;
    EXPECT_EQ(refused.error().code, ProblemCode::kValidationFailed);
    ASSERT_EQ(refused.error().errors.size(), 1U) << beyond;
    EXPECT_TRUE(refused.error().errors[0].where.starts_with("/" + each.member))
        << refused.error().errors[0].where;
  }
}

TEST(DecodeJob, BoundsThePayloadAsSent) {
  DecodeLimits limits;
  limits.payload_bytes = 10;
  EXPECT_TRUE(decode_job(R"({"type":"t","payload":"12345678"})", limits).has_value());
  const auto refused = decode_job(R"({"type":"t","payload":"123456789"})", limits);
  EXPECT_EQ(code_of(refused), ProblemCode::kPayloadTooLarge);
  EXPECT_EQ(refused.error().detail, "/payload must have at most 10 bytes");
  EXPECT_EQ(code_of(decode_job(R"({"type":"","payload":"123456789"})", limits)),
            ProblemCode::kValidationFailed)
      << "what is invalid besides comes first";
  EXPECT_TRUE(decode_job(R"({"type":"t","payload":[1 ,2,  3]})", limits).has_value());
  EXPECT_FALSE(decode_job(R"({"type":"t","payload":[1 ,2,   3]})", limits).has_value())
      << "white space counts";
}

TEST(DecodeJob, BoundsTheBodyAndItsDepth) {
  DecodeLimits limits;
  limits.body_bytes = 12;
  EXPECT_TRUE(decode_job(R"({"type":"t"})", limits).has_value());
  EXPECT_EQ(code_of(decode_job(R"({"type":"t"} )", limits)), ProblemCode::kPayloadTooLarge);
  const auto nested = [](std::size_t depth) {
    return R"({"type":"t","payload":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  EXPECT_TRUE(decode_job(nested(63), kLimits).has_value());
  EXPECT_EQ(code_of(decode_job(nested(64), kLimits)), ProblemCode::kInvalidJson);
  EXPECT_EQ(code_of(decode_job(nested(1'000'000), kLimits)), ProblemCode::kInvalidJson);
}

TEST(DecodeJob, WrongTypesAreFaultsWhereTheyStand) {
  const auto job = decode_job(
      R"({"type":1,"queue":[],"priority":"1","run_at":5,"delay_ms":1.5,"expires_at":"soon",
      "max_attempts":true,
      "retry":"often","lease_ms":{},"timeout_ms":1e3,"unique":[],"tags":{"a":1},"meta":[],
      "traceparent":{},"id":7})",
      kLimits);
  EXPECT_EQ(code_of(job), ProblemCode::kValidationFailed);
  EXPECT_EQ(places(job),
            (Strings{"/type", "/queue", "/priority", "/run_at", "/delay_ms", "/expires_at",
                     "/max_attempts", "/retry", "/lease_ms", "/timeout_ms", "/unique", "/tags",
                     "/meta", "/traceparent", "/id"}));
  EXPECT_EQ(job.error().detail, "15 faults");
}

TEST(DecodeJob, ABodyThatIsNoObjectIsAFaultAtTheRoot) {
  for (const std::string_view body : {"null", "1", "\"x\"", "[]", "true"}) {
    EXPECT_EQ(faults(decode_job(body, kLimits)), (Strings{": must be an object"})) << body;
  }
}

TEST(DecodeJob, WhatIsNotJsonIsSaidWithItsPlace) {
  EXPECT_EQ(faults(decode_job("", kLimits)),
            (Strings{"invalid_json: the body is empty; send a JSON object"}));
  EXPECT_EQ(faults(decode_job(R"({"type":"t",})", kLimits)),
            (Strings{"invalid_json: a comma without a value behind it, at byte 12"}));
  EXPECT_EQ(faults(decode_job("{\"type\":\"\xFF\"}", kLimits)),
            (Strings{"invalid_json: not UTF-8, at byte 9"}));
  EXPECT_EQ(faults(decode_job("{\"type\":1,\"x\":nul}", kLimits)),
            (Strings{"invalid_json: not a JSON value, at byte 14"}))
      << "outranks the faults before it";
}

TEST(DecodeJob, AMemberTwiceInTheEnvelopeIsInvalidJson) {
  for (const std::string_view body :
       {R"({"type":"t","type":"t"})", R"({"type":"t","typ\u0065":"t"})",
        R"({"type":"t","x":1,"x":2})", R"({"type":"t","queue":null,"queue":null})",
        R"({"type":"t","unique":{"key":"a","key":"b"}})",
        R"({"type":"t","meta":{"a":"1","b":"2","a":"3"}})",
        R"({"type":"t","meta":{"a":"1","\u0061":"3"}})",
        R"({"type":"t","retry":{"strategy":"fixed","strategy":"fixed"}})",
        R"({"nope":1,"type":1,"nope":2})"}) {
    EXPECT_EQ(code_of(decode_job(body, kLimits)), ProblemCode::kInvalidJson) << body;
  }
  EXPECT_TRUE(with(R"("payload":{"a":1,"a":2})").has_value()) << "the payload is the client's";
}

TEST(DecodeJob, LoneSurrogatesMayStandInThePayloadOnly) {
  EXPECT_TRUE(with(R"("payload":{"\ud800":"\udc00"})").has_value());
  for (const std::string_view member :
       {R"("queue":"\ud800")", R"("unique":{"key":"\udc00"})", R"("meta":{"a":"\ud800"})",
        R"("meta":{"\ud800":"a"})", R"("\ud800":1)", R"("nope":["\ud800"])",
        R"("priority":"\ud800")", R"("tags":["\udfff\ud800"])"}) {
    EXPECT_EQ(code_of(with(member)), ProblemCode::kInvalidJson) << member;
  }
}

TEST(DecodeJob, NamesMissingAndUnknownMembers) {
  EXPECT_EQ(faults(decode_job("{}", kLimits)), (Strings{"/type: is required"}));
  EXPECT_EQ(faults(decode_job(R"({"type":null})", kLimits)), (Strings{"/type: is required"}));
  EXPECT_EQ(faults(with(R"("unique":{})")), (Strings{"/unique/key: is required"}));
  EXPECT_EQ(faults(with(R"("retry":{})")), (Strings{"/retry/strategy: is required"}));
  EXPECT_EQ(faults(with(R"("retry":{"strategy":"list"})")),
            (Strings{"/retry/delays_ms: is required"}));
  EXPECT_EQ(faults(with(R"("priorty":1)")),
            (Strings{"/priorty: unknown member; did you mean 'priority'?"}));
  EXPECT_EQ(faults(with(R"("a/b~c":{"x":[1]})")), (Strings{"/a~1b~0c: unknown member"}));
  EXPECT_EQ(faults(with(R"("":1)")), (Strings{"/: unknown member"}));
  EXPECT_EQ(faults(with(R"("unique":{"key":"k","\u00e9":1})")),
            (Strings{"/unique/\xC3\xA9: unknown member"}));
  EXPECT_EQ(places(with("\"" + std::string(5000, 'x') + "\":1"))[0].size(), 129U)
      << "a long name is cut";
}

TEST(DecodeJob, NamesLimits) {
  const auto job = with(R"("limits":[{"name":"a","key":"k","cost":7},{"name":"b"}])");
  EXPECT_EQ(job->limits, (std::vector<JobLimit>{{SharedBytes("a"), SharedBytes("k"), 7},
                                                {SharedBytes("b"), {}}}));
  for (const std::string_view limits :
       {R"([{"name":"a"},{"name":"a"}])", R"([{"key":"k"}])", R"([{"name":"a","key":""}])",
        R"([{"name":"a","cost":0}])", R"([{"name":"a","cost":1000001}])", R"([{"name":"a b"}])",
        R"([1])", R"({})"}) {
    EXPECT_FALSE(with("\"limits\":" + std::string(limits)).has_value()) << limits;
  }
}

TEST(DecodeJob, HasAnOrderKey) {
  const auto job = with(R"("order_key":"a","order_on_failure":"pass")");
  EXPECT_EQ(job->order_key, "a");
  EXPECT_EQ(job->order_on_failure, OrderOnFailure::kPass);
  EXPECT_TRUE(with("\"order_key\":\"" + std::string(128, 'k') + "\"").has_value());
  EXPECT_FALSE(with("\"order_key\":\"" + std::string(129, 'k') + "\"").has_value());
  EXPECT_FALSE(with(R"("order_key":"")").has_value());
  EXPECT_FALSE(with(R"("order_on_failure":"pass")").has_value());
  EXPECT_FALSE(with(R"("order_key":"a","order_on_failure":"skip")").has_value());
}

TEST(DecodeJob, HasAFairKey) {
  EXPECT_EQ(with(R"("fair_key":"acme")")->fair_key, "acme");
  EXPECT_EQ(with(R"("fair_key":null)")->fair_key, "");
  EXPECT_TRUE(with("\"fair_key\":\"" + std::string(128, 'k') + "\"").has_value());
  EXPECT_FALSE(with("\"fair_key\":\"" + std::string(129, 'k') + "\"").has_value());
  EXPECT_FALSE(with(R"("fair_key":"")").has_value());
  // A limit of a single job must spell out its key.
  EXPECT_FALSE(with(R"("limits":[{"name":"a","key_from":"fair_key"}])").has_value());
}

TEST(DecodeJob, NullStandsForAMemberLeftOut) {
  const JobSubmission job = good(
      R"("id":null,"queue":null,"priority":null,"run_at":null,"delay_ms":7,"retry":null,
      "unique":null,"tags":null,
      "meta":null,"traceparent":null,"fair_key":null,"payload":null)");
  EXPECT_EQ(job.queue, "default");
  EXPECT_EQ(job.delay, Duration{7});
  EXPECT_EQ(job.payload, "null");
  EXPECT_FALSE(job.run_at || job.retry || job.unique);
}

TEST(DecodeJob, OneOfEachPair) {
  EXPECT_EQ(faults(with(R"("run_at":"2026-01-01T00:00:00Z","delay_ms":0)")),
            (Strings{"/delay_ms: must not be given together with run_at"}));
  EXPECT_EQ(faults(with(R"("expires_in_ms":1,"expires_at":"2026-01-01T00:00:00Z")")),
            (Strings{"/expires_in_ms: must not be given together with expires_at"}));
}

TEST(DecodeJob, RetryPoliciesFillInWhatIsLeftOut) {
  EXPECT_EQ(*good(R"("retry":{"strategy":"exponential"})").retry, RetryPolicy{});
  const RetryPolicy linear =
      *good(R"("retry":{"strategy":"linear","base_ms":1,"max_ms":2,"jitter":0.5})").retry;
  EXPECT_EQ(linear.strategy, RetryStrategy::kLinear);
  EXPECT_EQ(linear.base, Duration{1});
  EXPECT_EQ(linear.max, Duration{2});
  EXPECT_EQ(linear.jitter, 0.5);
  EXPECT_EQ(
      places(
          with(R"("retry":{"strategy":"list","delays_ms":[1],"base_ms":1,"max_ms":1,"jitter":0})")),
      (Strings{"/retry/base_ms", "/retry/max_ms", "/retry/jitter"}));
  EXPECT_EQ(places(with(R"("retry":{"strategy":"fixed","delays_ms":[1]})")),
            (Strings{"/retry/delays_ms"}));
  EXPECT_EQ(places(with(R"("retry":{"strategy":"list","delays_ms":[1,-1,"x",2]})")),
            (Strings{"/retry/delays_ms/1", "/retry/delays_ms/2"}));
  EXPECT_EQ(faults(with(R"("retry":{"strategy":"fibonacci"})")),
            (Strings{"/retry/strategy: must be one of exponential, linear, fixed, list"}));
}

TEST(DecodeJob, CollectsAtMostTwentyFaults) {
  std::string members;
  for (int i = 0; i < 30; ++i) members += fmt::format("\"unknown{}\":1,", i);
  const auto job = decode_job("{" + members + R"("type":1})", kLimits);
  EXPECT_EQ(job.error().errors.size(), 20U);
}

TEST(DecodeJob, EscapedNamesAndValuesAreRead) {
  const JobSubmission job = good(R"("que\u0075e":"\u0061\/b","tags":["\u0041"])");
  EXPECT_EQ(job.queue, "a/b");
  EXPECT_EQ(job.tags, (Strings{"A"}));
}

// --- Batches.

TEST(DecodeBatch, AnItemsFaultRefusesOnlyThatItem) {
  const std::string body =
      R"({"jobs":[{"type":"a"},{"type":"b","priority":1.5,"x":1},7,{},{"type":"e",)"
      R"("payload":[1]}]})";
  const auto batch = decode_batch(body, kLimits);
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->jobs.size(), 5U);
  EXPECT_FALSE(batch->atomic);
  EXPECT_FALSE(batch->jobs[0].fault);
  ASSERT_TRUE(batch->jobs[1].fault);
  EXPECT_EQ(faults(*batch->jobs[1].fault),
            (Strings{"/priority: must be an integer, without a decimal point or an exponent",
                     "/x: unknown member"}));
  EXPECT_EQ(faults(*batch->jobs[2].fault), (Strings{": must be an object"}));
  EXPECT_EQ(faults(*batch->jobs[3].fault), (Strings{"/type: is required"}));
  EXPECT_FALSE(batch->jobs[4].fault);
  EXPECT_EQ(batch->jobs[4].value.payload, "[1]");
}

TEST(DecodeBatch, AnAtomicOneIsRefusedAsAWhole) {
  const auto batch =
      decode_batch(R"({"jobs":[{"type":"a"},{"type":"b","priority":1.5},7,{"unique":{"key":""}}],)"
                   R"("atomic":true})",
                   kLimits);
  EXPECT_EQ(code_of(batch), ProblemCode::kValidationFailed);
  EXPECT_EQ(places(batch),
            (Strings{"/jobs/1/priority", "/jobs/2", "/jobs/3/unique/key", "/jobs/3/type"}));
  EXPECT_TRUE(decode_batch(R"({"jobs":[{"type":"a"}],"atomic":true})", kLimits)->atomic);
}

TEST(DecodeBatch, DefaultsFillWhatItemsDoNotName) {
  const std::string body =
      R"({"jobs":[{},{"type":"own","queue":null,"delay_ms":5,"payload":null,"tags":[]}],
      "defaults":{"type":"d","queue":"q","payload":{"a":1},"run_at":"2026-01-01T00:00:00Z",
      "priority":3,"tags":["x"],
      "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","max_attempts":9,
      "lease_ms":null}})";
  const auto batch = decode_batch(body, kLimits);
  ASSERT_TRUE(batch.has_value()) << faults(batch)[0];
  const JobSubmission& first = batch->jobs[0].value;
  EXPECT_EQ(first.type, "d");
  EXPECT_EQ(first.queue, "q");
  EXPECT_EQ(first.payload, R"({"a":1})");
  EXPECT_EQ(first.run_at, parse_rfc3339("2026-01-01T00:00:00Z"));
  EXPECT_EQ(first.priority, 3);
  EXPECT_EQ(first.tags, (Strings{"x"}));
  EXPECT_EQ(first.max_attempts, 9);
  EXPECT_FALSE(first.traceparent.empty());
  const JobSubmission& second = batch->jobs[1].value;
  EXPECT_EQ(second.type, "own");
  EXPECT_EQ(second.queue, "default") << "null names the member, and takes nothing";
  EXPECT_EQ(second.payload, "null");
  EXPECT_EQ(second.delay, Duration{5});
  EXPECT_FALSE(second.run_at) << "who names one of a pair has said it all";
  EXPECT_TRUE(second.tags.empty());
  EXPECT_EQ(second.priority, 3);
}

TEST(DecodeBatch, AnItemMayHaveAKeyAndIsThenKeptAsSent) {
  const std::string body = R"({"jobs":[{"type":"a", "idempotency_key":"k" },{"type":"b"},)"
                           R"({"type":"c","idempotency_key":"a b"}],)"
                           R"("defaults":{"queue": "q"}})";
  const auto batch = decode_batch(body, kLimits);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->jobs[0].value.idempotency_key, "k");
  EXPECT_EQ(batch->jobs[0].value.as_sent, R"({"type":"a", "idempotency_key":"k" })");
  EXPECT_TRUE(batch->jobs[1].value.as_sent.empty());
  EXPECT_EQ(faults(*batch->jobs[2].fault),
            (Strings{"/idempotency_key: must be 1 to 255 visible characters"}));
  EXPECT_EQ(batch->defaults, R"({"queue": "q"})");
  EXPECT_EQ(places(decode_job(R"({"type":"a","idempotency_key":"k"})", kLimits)),
            (Strings{"/idempotency_key"}));
  EXPECT_EQ(places(decode_batch(R"({"jobs":[{}],"defaults":{"type":"t","idempotency_key":"k"}})",
                                kLimits)),
            (Strings{"/defaults/idempotency_key"}));
}

TEST(DecodeBatch, FaultsOfTheEnvelopeRefuseTheWhole) {
  EXPECT_EQ(places(decode_batch("{}", kLimits)), (Strings{"/jobs"}));
  EXPECT_EQ(faults(decode_batch(R"({"jobs":[]})", kLimits)),
            (Strings{"/jobs: must have 1 to 1000 items"}));
  EXPECT_EQ(places(decode_batch(R"({"jobs":{}})", kLimits)), (Strings{"/jobs"}));
  EXPECT_EQ(places(decode_batch(R"({"jobs":[{"type":"a"}],"atomic":1})", kLimits)),
            (Strings{"/atomic"}));
  EXPECT_EQ(places(decode_batch(R"({"jobs":[{"type":"a"}],"default":{}})", kLimits)),
            (Strings{"/default"}));
  EXPECT_EQ(
      places(decode_batch(
          R"({"jobs":[{}],"defaults":{"type":"","id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff"}})",
          kLimits)),
      (Strings{"/defaults/type", "/defaults/id"}));
  EXPECT_EQ(code_of(decode_batch(R"({"jobs":[{"type":"a"},{"type":"a","type":"b"}]})", kLimits)),
            ProblemCode::kInvalidJson);
}

TEST(DecodeBatch, TakesAThousandAndNoMore) {
  const auto body = [](std::size_t count) {
    std::string jobs;
    for (std::size_t i = 0; i < count; ++i) jobs += i == 0 ? R"({"type":"t"})" : R"(,{"type":"t"})";
    return R"({"jobs":[)" + jobs + "]}";
  };
  EXPECT_EQ(decode_batch(body(1000), kLimits)->jobs.size(), 1000U);
  EXPECT_EQ(faults(decode_batch(body(1001), kLimits)),
            (Strings{"/jobs: must have 1 to 1000 items"}));
}

RC_GTEST_PROP(DecodeBatchProperty, EveryPayloadComesBackAsSent, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 20);
  std::vector<std::string> payloads;
  std::string body = "{\"jobs\":[";
  for (std::size_t i = 0; i < count; ++i) {
    payloads.push_back(*rc::gen::element<std::string>(
        "1", "-1.50", "\"\\\"]}\"", "{\"a\":[1,{\"b\":\"}\"}]}", "[[],[ ]]", "\"\\\\\"",
        "{\"\\\"\":\"\\\\\\\"\"}", "null", "true"));
    body += (i > 0 ? "," : "") + (R"({"payload":)" + payloads.back() + R"(,"type":"t"})");
  }
  body += "]}";
  const auto batch = decode_batch(body, kLimits);
  RC_ASSERT(batch.has_value());
  for (std::size_t i = 0; i < count; ++i) RC_ASSERT(batch->jobs[i].value.payload == payloads[i]);
}

// --- Headers.

TEST(IdempotencyKey, IsOneTo255VisibleCharacters) {
  EXPECT_EQ(*decode_idempotency_key("a"), "a");
  EXPECT_TRUE(decode_idempotency_key(std::string(255, '~')).has_value());
  for (const std::string& bad : {std::string(), std::string(256, 'a'), std::string("a b"),
                                 std::string("\x7f"), std::string("\xC3\xA9")}) {
    const auto key = decode_idempotency_key(bad);
    ASSERT_FALSE(key.has_value());
    EXPECT_EQ(key.error().errors[0].place, FieldError::Place::kHeader);
    EXPECT_EQ(key.error().errors[0].where, "Idempotency-Key");
  }
}

TEST(Traceparent, IsHeldToItsSpecification) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_TRUE(is_traceparent(good));
  EXPECT_TRUE(is_traceparent("01" + good.substr(2) + "-more"));
  for (const std::string& bad :
       Strings{std::string(), good.substr(1), good + "-more", "ff" + good.substr(2),
               "01" + good.substr(2) + "more",
               "00-00000000000000000000000000000000-b7ad6b7169203331-01",
               "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
               "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "00_" + good.substr(3)}) {
    EXPECT_FALSE(is_traceparent(bad)) << bad;
  }
}

TEST(DecodeJob, ADebouncedJobMayHaveALatestStart) {
  const auto job = decode_job(
      R"({"type":"t","unique":{"key":"k","on_conflict":"debounce","max_wait_ms":9}})", kLimits);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->unique->on_conflict, OnConflict::kDebounce);
  EXPECT_EQ(job->unique->max_wait, Duration{9});
  EXPECT_EQ(places(decode_job(R"({"type":"t","unique":{"key":"k","max_wait_ms":9}})", kLimits)),
            Strings{"/unique/max_wait_ms"});
}

}  // namespace
}  // namespace millrace::api
