#include "api/query.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/job.h"

namespace millrace::api {
namespace {

QueryTerm only_term(std::string_view text) {
  const auto query = parse_query(text);
  EXPECT_TRUE(query.has_value()) << text << ": " << (query ? "" : query.error());
  if (!query || query->terms.size() != 1) return {};
  return query->terms[0];
}

std::string fault_of(std::string_view text) {
  const auto query = parse_query(text);
  EXPECT_FALSE(query.has_value()) << text;
  return query ? "" : query.error();
}

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST(Query, NothingIsEverything) {
  EXPECT_TRUE(parse_query("")->empty());
  EXPECT_TRUE(parse_query(" \t\n")->empty());
}

TEST(Query, ReadsTheExampleOfTheReference) {
  const auto query = parse_query(
      "queue:mail state:dead,retrying type:email.* error~timeout attempt>=3 tag:vip "
      "payload.user.id:42");
  ASSERT_TRUE(query.has_value()) << query.error();
  ASSERT_EQ(query->terms.size(), 7U);
  EXPECT_EQ(query->terms[0].field, QueryField::kQueue);
  EXPECT_EQ(query->terms[0].op, QueryOperator::kMatches);
  EXPECT_EQ(query->terms[0].any_of[0].text, "mail");
  EXPECT_FALSE(query->terms[0].any_of[0].wildcard);
  ASSERT_EQ(query->terms[1].any_of.size(), 2U);
  EXPECT_EQ(query->terms[1].any_of[0].state, static_cast<std::uint8_t>(JobState::kDead));
  EXPECT_EQ(query->terms[1].any_of[1].state, static_cast<std::uint8_t>(JobState::kRetrying));
  EXPECT_EQ(query->terms[2].any_of[0].text, "email.*");
  EXPECT_TRUE(query->terms[2].any_of[0].wildcard);
  EXPECT_EQ(query->terms[3].op, QueryOperator::kContains);
  EXPECT_EQ(query->terms[4].op, QueryOperator::kGreaterOrEqual);
  EXPECT_EQ(query->terms[4].any_of[0].number, 3);
  EXPECT_EQ(query->terms[6].field, QueryField::kPayload);
  EXPECT_EQ(query->terms[6].path, "user.id");
  EXPECT_EQ(query->terms[6].any_of[0].number, 42);
  EXPECT_EQ(query->terms[6].any_of[0].real, 42.0);
}

TEST(Query, NegatesAndQuotes) {
  EXPECT_TRUE(only_term("-tag:vip").negated);
  EXPECT_FALSE(only_term("tag:vip").negated);
  EXPECT_EQ(only_term(R"(error~"card declined, \"hard\" \\ \n")").any_of[0].text,
            R"(card declined, "hard" \ \n)");
  EXPECT_EQ(only_term(R"(error:"")").any_of[0].text, "");
  EXPECT_EQ(only_term(R"(error~"a","b",c)").any_of.size(), 3U);
  EXPECT_FALSE(only_term(R"(type:"a*")").any_of[0].wildcard);
  EXPECT_FALSE(only_term("type=a*").any_of[0].wildcard);
  EXPECT_FALSE(only_term("worker:a*").any_of[0].wildcard);
  EXPECT_EQ(only_term("priority:-5").any_of[0].number, -5);
  EXPECT_EQ(only_term("priority>-5").op, QueryOperator::kGreater);
}

TEST(Query, TakesPathsAndKeys) {
  EXPECT_EQ(only_term("meta.tenant.eu:acme").path, "tenant.eu");
  EXPECT_EQ(only_term("result.bytes>1000.5").any_of[0].real, 1000.5);
  EXPECT_EQ(only_term("payload.items.0.sku:x").path, "items.0.sku");
  EXPECT_EQ(only_term("payload.a:true").any_of[0].number, std::nullopt);
  EXPECT_EQ(only_term("payload.a:1e3").any_of[0].real, 1000.0);
  EXPECT_EQ(only_term("payload.a:0x10").any_of[0].real, std::nullopt);
  EXPECT_EQ(only_term("payload.a:inf").any_of[0].real, std::nullopt);
}

TEST(Query, TakesTimes) {
  EXPECT_EQ(only_term("created>2026-03-01T09:30:00Z").any_of[0].time,
            parse_rfc3339("2026-03-01T09:30:00Z"));
  EXPECT_EQ(only_term("finished<=2026-03-01").any_of[0].time,
            parse_rfc3339("2026-03-01T00:00:00Z"));
  EXPECT_EQ(only_term("run_at<2026-03-01T09:30:00.5+01:00").any_of[0].time,
            parse_rfc3339("2026-03-01T08:30:00.5Z"));
  EXPECT_TRUE(mentions(fault_of("created>yesterday"), "takes a time"));
  EXPECT_TRUE(mentions(fault_of("created:2026-03-01"), "created does not support the operator :"));
}

TEST(Query, FindsIdsInAnyCase) {
  EXPECT_EQ(only_term("id:0195A1B2-c3d4-7e5f-8899-aabbccddeeff").any_of[0].id,
            parse_job_id("0195a1b2-c3d4-7e5f-8899-aabbccddeeff"));
  EXPECT_TRUE(mentions(fault_of("id:0195A1B2"), "is not a job id"));
}

TEST(Query, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(fault_of("stat:dead"), "unknown field 'stat'; did you mean 'state'?");
  EXPECT_EQ(fault_of("prioritty>1"), "unknown field 'prioritty'; did you mean 'priority'?");
  EXPECT_TRUE(mentions(fault_of("colour:red"), "unknown field 'colour'; fields are id, queue"));
  EXPECT_TRUE(mentions(fault_of("timeout"), "'timeout' does not name a field"));
  EXPECT_TRUE(mentions(fault_of("queue!mail"), "unknown operator after 'queue'"));
  EXPECT_TRUE(mentions(fault_of("queue"), "does not name a field"));
  EXPECT_TRUE(mentions(fault_of("state:ded"), "unknown state 'ded'; the states are scheduled, "));
  EXPECT_TRUE(mentions(fault_of("state~dead"), "state does not support the operator ~"));
  EXPECT_TRUE(mentions(fault_of("queue>a"), "queue does not support the operator >"));
  EXPECT_TRUE(mentions(fault_of("attempt~1"), "attempt does not support the operator ~"));
  EXPECT_TRUE(mentions(fault_of("attempt:x"), "takes an integer"));
  EXPECT_TRUE(mentions(fault_of("attempt>1,2"), "takes one value"));
  EXPECT_TRUE(mentions(fault_of("attempt>99999999999999999999"), "takes an integer"));
  EXPECT_TRUE(mentions(fault_of("payload:1"), "needs a path"));
  EXPECT_TRUE(mentions(fault_of("payload.:1"), "needs a path"));
  EXPECT_TRUE(mentions(fault_of("payload.a..b:1"), "empty part"));
  EXPECT_TRUE(mentions(fault_of("payload.a>x"), "takes a number"));
  EXPECT_TRUE(mentions(fault_of("queue.x:1"), "has no parts"));
  EXPECT_TRUE(mentions(fault_of("queue:"), "has no value"));
  EXPECT_TRUE(mentions(fault_of("queue:a,"), "has no value"));
  EXPECT_TRUE(mentions(fault_of("queue:,a"), "has no value"));
  EXPECT_TRUE(mentions(fault_of("error~\"open"), "needs a closing quote"));
  EXPECT_TRUE(mentions(fault_of("error~\"a\"b"), "a space must follow"));
  EXPECT_TRUE(mentions(fault_of("type:a*b"), "must be the last character"));
  EXPECT_FALSE(fault_of("-").empty());
  EXPECT_FALSE(fault_of("--tag:x").empty());
  EXPECT_FALSE(fault_of(":x").empty());
  EXPECT_FALSE(fault_of("\xFF").empty());
}

TEST(Query, NamesAWorkflowOnceAndAlone) {
  constexpr std::string_view kWorkflow = "workflow:0195a1b2-c3d4-7e5f-8899-aabbccddeeff";
  const auto query = parse_query(std::string(kWorkflow) + " state:dead");
  ASSERT_TRUE(query.has_value()) << query.error();
  EXPECT_EQ(query->terms[0].field, QueryField::kWorkflow);
  EXPECT_EQ(to_string(*query->terms[0].any_of[0].id), kWorkflow.substr(9));
  EXPECT_TRUE(mentions(fault_of("workflow:x"), "'x' is not a workflow id"));
  EXPECT_TRUE(mentions(fault_of("-" + std::string(kWorkflow)), "can't be negated"));
  const std::string both = std::string(kWorkflow) + "," + std::string(kWorkflow.substr(9));
  EXPECT_TRUE(mentions(fault_of(both), "takes one value"));
  const std::string twice = std::string(kWorkflow) + " " + std::string(kWorkflow);
  EXPECT_TRUE(mentions(fault_of(twice), "may be named once"));
}

TEST(Query, IsBounded) {
  EXPECT_TRUE(parse_query("error~" + std::string(kMaxQueryBytes - 6, 'x')).has_value());
  EXPECT_TRUE(
      mentions(fault_of("error~" + std::string(kMaxQueryBytes - 5, 'x')), "at most 1024 bytes"));
  std::string terms;
  for (std::size_t i = 0; i < kMaxQueryTerms; ++i) terms += "tag:a ";
  EXPECT_EQ(parse_query(terms)->terms.size(), kMaxQueryTerms);
  EXPECT_TRUE(mentions(fault_of(terms + "tag:a"), "at most 20 terms"));
  std::string values = "tag:a";
  for (std::size_t i = 1; i < kMaxQueryValues; ++i) values += ",a";
  EXPECT_EQ(only_term(values).any_of.size(), kMaxQueryValues);
  EXPECT_TRUE(mentions(fault_of(values + ",a"), "at most 20 values"));
}

TEST(Query, EveryFieldAndOperatorHasItsName) {
  for (int i = 0; i <= static_cast<int>(QueryField::kResult); ++i) {
    const auto field = static_cast<QueryField>(i);
    const std::string head(name_of(field));
    const bool path = field >= QueryField::kMeta;
    const auto query = parse_query(head + (path ? ".x" : "") + "?");
    ASSERT_FALSE(query.has_value());
    EXPECT_FALSE(mentions(query.error(), "unknown field")) << head;
  }
  EXPECT_EQ(text_of(QueryOperator::kLessOrEqual), "<=");
}

RC_GTEST_PROP(QueryProperty, AnyQuotedTextComesBack, ()) {
  std::string text;
  std::string written;
  const int count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    const auto piece =
        *rc::gen::element<std::string>("a", " ", ",", "\"", "\\", ":", "*", "-", "\xC3\xA9");
    text += piece;
    written += piece == "\"" || piece == "\\" ? "\\" + piece : piece;
  }
  const auto query = parse_query("error~\"" + written + "\"");
  RC_ASSERT(query.has_value());
  RC_ASSERT(query->terms[0].any_of[0].text == text);
}

}  // namespace
}  // namespace millrace::api
