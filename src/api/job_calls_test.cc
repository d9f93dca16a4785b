#include "api/job_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using testing::code_of;
using testing::faults;
using testing::kId;
using testing::kLimits;
using testing::places;
using testing::Strings;

// --- Query strings.

TEST(IncludeQuery, TakesWordsApartAndRepeated) {
  EXPECT_EQ(*decode_include_query(""), Include{});
  EXPECT_EQ(*decode_include_query("include=payload%2Clogs&include=events"),
            (Include{true, false, false, true, true}));
  EXPECT_EQ(*decode_include_query("&include=result&&"),
            (Include{false, true, false, false, false}));
  EXPECT_EQ(faults(decode_include_query("include=payload,all")),
            (Strings{"include: must be one of payload, result, attempts, logs, events"}));
  EXPECT_EQ(faults(decode_include_query("includ=payload")),
            (Strings{"includ: unknown parameter; did you mean 'include'?"}));
}

TEST(JobQuery, WaitsForTheEndOnly) {
  EXPECT_EQ(decode_job_query("")->wait, Duration{0});
  EXPECT_EQ(decode_job_query("wait_ms=60000&until=final")->wait, Duration{60'000});
  EXPECT_TRUE(decode_job_query("until=final").has_value());
  EXPECT_EQ(decode_job_query("wait_ms=0")->wait, Duration{0});
  EXPECT_EQ(places(decode_job_query("wait_ms=5")), (Strings{"until"}));
  EXPECT_EQ(places(decode_job_query("wait_ms=60001&until=final")), (Strings{"wait_ms"}));
  EXPECT_EQ(places(decode_job_query("wait_ms=-1&until=start")), (Strings{"wait_ms", "until"}));
}

TEST(JobListQuery, TakesEveryFilter) {
  const auto list = decode_job_list_query(
      "state=dead,retrying&state=dead&queue=a%2Fb&type=t&tag=x&created_after=2026-03-01T10:30:00%"
      "2B01:00&"
      "created_before=2026-03-02T00:00:00Z&q=error~%22card+declined%22&limit=1000&cursor=AZaz09-_.~"
      "&fresh=true&"
      "include=payload,result");
  ASSERT_TRUE(list.has_value()) << faults(list)[0];
  EXPECT_EQ(list->filter.states, (std::vector<JobState>{JobState::kDead, JobState::kRetrying}));
  EXPECT_EQ(list->filter.queue, "a/b");
  EXPECT_EQ(list->filter.created_after, parse_rfc3339("2026-03-01T09:30:00Z"));
  EXPECT_EQ(list->filter.query.terms[0].any_of[0].text, "card declined");
  EXPECT_EQ(list->page.limit, 1000);
  EXPECT_EQ(list->page.cursor, "AZaz09-_.~");
  EXPECT_TRUE(list->page.fresh);
  EXPECT_TRUE(list->include.payload && list->include.result && !list->include.logs);
}

TEST(JobListQuery, TheDefaultsAreTheFirstFifty) {
  const auto list = decode_job_list_query("");
  EXPECT_EQ(list->page.limit, 50);
  EXPECT_TRUE(list->page.cursor.empty() && list->filter.query.empty() &&
              list->filter.states.empty());
  EXPECT_FALSE(list->page.fresh);
}

TEST(JobListQuery, EveryFaultNamesItsParameter) {
  const auto list = decode_job_list_query(
      "state=ded&queue=a+b&type=&tag=%2A&created_after=now&q=stat:x&limit=0&cursor=a%2Fb&fresh=yes&"
      "include=logs&nope=1&"
      "limit=1&bad=%f");
  EXPECT_EQ(places(list), (Strings{"bad", "state", "queue", "type", "tag", "created_after", "q",
                                   "limit", "cursor", "fresh", "include", "nope", "limit"}));
  for (const FieldError& error : list.error().errors)
    EXPECT_EQ(error.place, FieldError::Place::kParameter);
  EXPECT_EQ(places(decode_job_list_query("limit=1001")), (Strings{"limit"}));
  EXPECT_EQ(places(decode_job_list_query("limit=1x")), (Strings{"limit"}));
  EXPECT_EQ(places(decode_job_list_query("cursor=" + std::string(kMaxCursorBytes + 1, 'a'))),
            (Strings{"cursor"}));
  EXPECT_EQ(places(decode_job_list_query("queue=%00")), (Strings{"queue"}));
  EXPECT_EQ(places(decode_job_list_query("%ff=1")), (Strings{"?"}));
  std::string many;
  for (int i = 0; i < 30; ++i) many += "u" + std::to_string(i) + "=1&";
  EXPECT_EQ(places(decode_job_list_query(many)).size(), kMaxFieldErrors);
}

TEST(PageQuery, TakesNothingElse) {
  EXPECT_EQ(decode_page_query("limit=7&cursor=abc")->limit, 7);
  EXPECT_EQ(places(decode_page_query("state=dead")), (Strings{"state"}));
  EXPECT_TRUE(decode_no_query("").has_value());
  EXPECT_EQ(places(decode_no_query("a=1")), (Strings{"a"}));
  EXPECT_TRUE(*decode_verbose_query("verbose"));
  EXPECT_TRUE(*decode_verbose_query("verbose=1"));
  EXPECT_FALSE(*decode_verbose_query("verbose=false"));
  EXPECT_FALSE(*decode_verbose_query(""));
  EXPECT_EQ(places(decode_verbose_query("verbose=x")), (Strings{"verbose"}));
}

// --- Bodies.

TEST(DecodeCancel, MayBeEmpty) {
  EXPECT_EQ(decode_cancel("", kLimits)->reason, "");
  EXPECT_EQ(decode_cancel("{}", kLimits)->reason, "");
  EXPECT_EQ(decode_cancel(R"({"reason":"no\u0020more"})", kLimits)->reason, "no more");
  EXPECT_TRUE(
      decode_cancel(R"({"reason":")" + std::string(1024, 'r') + "\"}", kLimits).has_value());
  EXPECT_EQ(places(decode_cancel(R"({"reason":")" + std::string(1025, 'r') + "\"}", kLimits)),
            (Strings{"/reason"}));
  EXPECT_EQ(places(decode_cancel(R"({"why":"x"})", kLimits)), (Strings{"/why"}));
  EXPECT_EQ(code_of(decode_cancel("nonsense", kLimits)), ProblemCode::kInvalidJson);
}

TEST(DecodeRetry, ResetsAttemptsUnlessTold) {
  EXPECT_TRUE(decode_retry("", kLimits)->reset_attempts);
  EXPECT_FALSE(decode_retry(R"({"reset_attempts":false})", kLimits)->reset_attempts);
  EXPECT_EQ(decode_retry(R"({"run_at":"2026-01-01T00:00:00Z"})", kLimits)->run_at,
            parse_rfc3339("2026-01-01T00:00:00Z"));
  EXPECT_EQ(places(decode_retry(R"({"reset_attempts":1})", kLimits)), (Strings{"/reset_attempts"}));
}

TEST(DecodeNothing, TakesNoMembers) {
  EXPECT_TRUE(decode_nothing("", kLimits).has_value());
  EXPECT_TRUE(decode_nothing(" { } ", kLimits).has_value());
  EXPECT_EQ(places(decode_nothing(R"({"a":{"b":[]}})", kLimits)), (Strings{"/a"}));
  EXPECT_EQ(places(decode_nothing("[]", kLimits)), (Strings{""}));
}

TEST(DecodeJobPatch, TellsAbsentFromGiven) {
  const auto empty = decode_job_patch("{}", kLimits);
  ASSERT_TRUE(empty.has_value());
  EXPECT_FALSE(empty->priority || empty->run_at || empty->payload || empty->max_attempts ||
               empty->tags);
  const std::string body = R"({"priority":-1,"payload":null,"tags":[],"max_attempts":2,)"
                           R"("run_at":"2026-01-01T00:00:00Z"})";
  const auto patch = decode_job_patch(body, kLimits);
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ(patch->priority, -1);
  EXPECT_EQ(patch->payload, "null");
  EXPECT_TRUE(patch->tags->empty());
  EXPECT_EQ(places(decode_job_patch(
                R"({"priority":null,"tags":null,"run_at":null,"max_attempts":null})", kLimits)),
            (Strings{"/priority", "/tags", "/run_at", "/max_attempts"}));
  EXPECT_EQ(places(decode_job_patch(R"({"queue":"x","type":"y"})", kLimits)),
            (Strings{"/queue", "/type"}));
  EXPECT_EQ(code_of(decode_job_patch("", kLimits)), ProblemCode::kInvalidJson);
}

TEST(IfMatch, IsAVersionInQuotesOrNot) {
  EXPECT_EQ(*decode_if_match("\"12\""), 12U);
  EXPECT_EQ(*decode_if_match("12"), 12U);
  for (const std::string_view bad : {"", "\"", "\"\"", "*", "W/\"1\"", "-1", "\"1", "1\"",
                                     "\"1\", \"2\"", "99999999999999999999"}) {
    const auto version = decode_if_match(bad);
    ASSERT_FALSE(version.has_value()) << bad;
    EXPECT_EQ(version.error().errors[0].where, "If-Match");
    EXPECT_EQ(version.error().errors[0].place, FieldError::Place::kHeader);
  }
}

TEST(DecodeBulk, TakesIdsOrAFilter) {
  const std::string by_ids =
      fmt::format(R"({{"action":"cancel","ids":["{}"],"dry_run":true}})", kId);
  const auto ids = decode_bulk(by_ids, kLimits);
  ASSERT_TRUE(ids.has_value()) << faults(ids)[0];
  EXPECT_EQ(ids->action, BulkAction::kCancel);
  EXPECT_EQ(ids->ids.size(), 1U);
  EXPECT_TRUE(ids->dry_run && !ids->filter);
  const auto filter = decode_bulk(
      R"({"action":"reprioritize","priority":5,"filter":{"state":["dead","dead"],"queue":"q",
      "tag":"t","type":"x",
      "created_after":"2026-01-01T00:00:00Z","created_before":"2026-01-01T00:00:00Z",
      "q":"attempt>1"}})",
      kLimits);
  ASSERT_TRUE(filter.has_value()) << faults(filter)[0];
  EXPECT_EQ(filter->priority, 5);
  EXPECT_EQ(filter->filter->states.size(), 1U);
  EXPECT_EQ(filter->filter->query.terms.size(), 1U);
  EXPECT_EQ(decode_bulk(R"({"action":"retry","filter":{"state":"dead"}})", kLimits)
                ->filter->states.size(),
            1U);
}

TEST(DecodeBulk, RefusesWhatWouldHitTooMuchOrNothing) {
  EXPECT_EQ(places(decode_bulk("{}", kLimits)), (Strings{"/action", "/ids"}));
  EXPECT_EQ(places(decode_bulk(R"({"action":"delete","filter":{}})", kLimits)),
            (Strings{"/filter"}));
  EXPECT_EQ(places(decode_bulk(R"({"action":"delete","filter":{"queue":null}})", kLimits)),
            (Strings{"/filter"}));
  EXPECT_EQ(places(decode_bulk(R"({"action":"delete","filter":{"q":" "}})", kLimits)),
            (Strings{"/filter"}));
  EXPECT_EQ(places(decode_bulk(R"({"action":"delete","ids":[]})", kLimits)), (Strings{"/ids"}));
  EXPECT_EQ(
      places(decode_bulk(R"({"action":"delete","ids":["x"],"filter":{"queue":"q"}})", kLimits)),
      (Strings{"/ids/0", "/filter"}));
  EXPECT_EQ(
      places(decode_bulk(R"({"action":"retry","priority":1,"filter":{"queue":"q"}})", kLimits)),
      (Strings{"/priority"}));
  EXPECT_EQ(places(decode_bulk(R"({"action":"reprioritize","filter":{"queue":"q"}})", kLimits)),
            (Strings{"/priority"}));
  EXPECT_EQ(places(decode_bulk(
                R"({"action":"purge","filter":{"state":["x"],"limit":1,"q":"stat:x"}})", kLimits)),
            (Strings{"/action", "/filter/state/0", "/filter/limit", "/filter/q"}));
}

TEST(DecodeBulk, AnOperationIsByFilter) {
  const auto bulk = decode_bulk(
      R"({"action":"retry","filter":{"q":"state:dead"},"rate_per_s":50,"operation":true})",
      kLimits);
  ASSERT_TRUE(bulk.has_value()) << faults(bulk)[0];
  EXPECT_EQ(bulk->rate_per_s, 50);
  EXPECT_TRUE(bulk->operation);
  EXPECT_EQ(bulk->filter->query_text, "state:dead");
  EXPECT_EQ(
      places(decode_bulk(R"({"action":"retry","filter":{"queue":"q"},"rate_per_s":0})", kLimits)),
      (Strings{"/rate_per_s"}));
  EXPECT_EQ(places(decode_bulk(R"({"action":"retry","filter":{"queue":"q"},"rate_per_s":100001})",
                               kLimits)),
            (Strings{"/rate_per_s"}));
  EXPECT_EQ(
      places(decode_bulk(fmt::format(R"({{"action":"retry","ids":["{}"],"operation":true}})", kId),
                         kLimits)),
      (Strings{"/operation"}));
  EXPECT_EQ(
      places(decode_bulk(
          R"({"action":"retry","filter":{"queue":"q"},"operation":true,"dry_run":true})", kLimits)),
      (Strings{"/operation"}));
}

TEST(BulkOutcome, ShowsResultsWithIdsOnly) {
  BulkOutcome outcome{3, 2, 1, true, std::nullopt};
  std::string out;
  JsonWriter counts(out);
  encode(counts, outcome, "r");
  EXPECT_EQ(out, R"({"matched":3,"changed":2,"failed":1,"more":true})");
  out.clear();
  outcome.results.emplace();
  outcome.results->push_back({*parse_job_id(kId), "cancelled", std::nullopt});
  outcome.results->push_back(
      {*parse_job_id(kId), "", make_problem(ProblemCode::kNotFound, "no such job")});
  JsonWriter results(out);
  encode(results, outcome, "r");
  EXPECT_EQ(out,
            fmt::format(
                R"({{"matched":3,"changed":2,"failed":1,"more":true,"results":[{{"status":200,)"
                R"("id":"{0}",)"
                R"("state":"cancelled"}},{{"status":404,"id":"{0}","error":{{"type":"about:blank",)"
                R"("title":"Not found","status":404,"detail":"no such job","code":"not_found",)"
                R"("request_id":"r"}}}}]}})",
                kId));
}

}  // namespace
}  // namespace millrace::api
