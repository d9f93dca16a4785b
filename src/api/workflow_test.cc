#include "api/workflow.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "api/membership.h"
#include "api/worker_reply.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using testing::faults;
using ::testing::HasSubstr;
using testing::kId;
using testing::kLimits;
using testing::places;
using testing::Strings;

constexpr Time kTime = time_from_ms(1'772'357'400'000);  // 2026-03-01T09:30:00Z

NewWorkflow good(const std::string& body) {
  auto workflow = decode_workflow(body, kLimits);
  EXPECT_TRUE(workflow.has_value()) << body << ": " << (workflow ? "" : faults(workflow)[0]);
  return workflow.value_or(NewWorkflow{});
}
Strings places_of(const std::string& body) { return places(decode_workflow(body, kLimits)); }
// Of a workflow with these members.
Strings places_in(const std::string& members) {
  return places_of(fmt::format(R"({{"members":[{}]}})", members));
}

template <typename T>
std::string encoded(const T& value) {
  std::string out;
  JsonWriter json(out);
  encode(json, value);
  return out;
}

TEST(DecodeWorkflow, TheSmallestHasTheDefaults) {
  const NewWorkflow workflow = good("{}");
  EXPECT_EQ(workflow.queue, "default");
  EXPECT_FALSE(workflow.id || workflow.max_active || workflow.timeout || workflow.unique);
  EXPECT_TRUE(workflow.name.empty() && workflow.result_from.empty());
  EXPECT_TRUE(workflow.members.empty() && workflow.callbacks.empty());
  EXPECT_FALSE(workflow.open);
  EXPECT_TRUE(workflow.keep_members);
  EXPECT_EQ(workflow.on_member_failed, OnMemberFailed::kContinue);
}

TEST(DecodeWorkflow, TakesEveryMember) {
  const NewWorkflow workflow = good(fmt::format(
      R"({{"queue":"q","id":"{}","name":"n","tags":["a"],"meta":{{"k":"v"}},"open":true,
      "on_member_failed":"ignore","on_end":{{"type":"e"}},"on_success":{{"type":"s"}},
      "max_active":2,"timeout_ms":1000,"result_from":"r","keep_members":false,
      "unique":{{"key":"u","on_conflict":"reject"}},
      "members":[{{"ref":"r","job":{{"type":"t"}}}},
                 {{"needs":["r",{{"ref":"x","on":"ended"}}],"needs_any":true,
                   "job":{{"type":"t","queue":"own"}}}}]}})",
      kId));
  EXPECT_EQ(to_string(*workflow.id), kId);
  EXPECT_EQ(workflow.tags, Strings{"a"});
  EXPECT_EQ(workflow.meta, (StringMap{{"k", "v"}}));
  EXPECT_TRUE(workflow.open);
  EXPECT_FALSE(workflow.keep_members);
  EXPECT_EQ(workflow.on_member_failed, OnMemberFailed::kIgnore);
  EXPECT_EQ(*workflow.max_active, 2);
  EXPECT_EQ(*workflow.timeout, Duration{1'000});
  EXPECT_EQ(workflow.result_from, "r");
  EXPECT_EQ(workflow.unique->key, "u");
  EXPECT_TRUE(workflow.unique->reject);
  ASSERT_EQ(workflow.callbacks.size(), 2U);
  EXPECT_EQ(workflow.callbacks[0].role, MemberRole::kOnSuccess);
  EXPECT_EQ(workflow.callbacks[1].role, MemberRole::kOnEnd);
  EXPECT_EQ(workflow.callbacks[1].job.type, "e");
  ASSERT_EQ(workflow.members.size(), 2U);
  EXPECT_EQ(workflow.members[0].ref, "r");
  EXPECT_EQ(workflow.members[0].job.queue, "q");
  const NewMember& second = workflow.members[1];
  EXPECT_TRUE(second.ref.empty());
  EXPECT_TRUE(second.needs_any);
  EXPECT_EQ(second.job.queue, "own");
  ASSERT_EQ(second.needs.size(), 2U);
  EXPECT_EQ(second.needs[0].on, NeedOn::kSucceeded);
  EXPECT_EQ(second.needs[1].ref, "x");
  EXPECT_EQ(second.needs[1].on, NeedOn::kEnded);
}

TEST(DecodeWorkflow, DefaultsAreForAllJobsWhereverTheyStand) {
  const NewWorkflow workflow = good(
      R"({"members":[{"job":{"priority":1}},{"job":{"type":"own","queue":"b"}}],
      "on_failure":{},"defaults":{"type":"t","priority":5},"queue":"a"})");
  ASSERT_EQ(workflow.members.size(), 2U);
  EXPECT_EQ(workflow.members[0].job.type, "t");
  EXPECT_EQ(workflow.members[0].job.priority, 1);
  EXPECT_EQ(workflow.members[0].job.queue, "a");
  EXPECT_EQ(workflow.members[1].job.type, "own");
  EXPECT_EQ(workflow.members[1].job.priority, 5);
  EXPECT_EQ(workflow.members[1].job.queue, "b");
  ASSERT_EQ(workflow.callbacks.size(), 1U);
  EXPECT_EQ(workflow.callbacks[0].job.type, "t");
  EXPECT_EQ(workflow.callbacks[0].job.queue, "a");
  const NewWorkflow elsewhere =
      good(R"({"queue":"a","defaults":{"type":"t","queue":"b"},"members":[{"job":{}}]})");
  EXPECT_EQ(elsewhere.members[0].job.queue, "b");
}

TEST(DecodeWorkflow, FaultsHaveTheirPlaces) {
  EXPECT_EQ(places_of(R"({"max_active":0,"timeout_ms":999,"unique":{},"id":"x","name":"a b"})"),
            (Strings{"/max_active", "/timeout_ms", "/unique/key", "/id", "/name"}));
  EXPECT_EQ(places_of(R"({"max_active":1000001,"timeout_ms":315360000001})"),
            (Strings{"/max_active", "/timeout_ms"}));
  EXPECT_EQ(places_of(R"({"owner":{},"members":[{"job":{"type":"t"},"compensate":{}}]})"),
            (Strings{"/owner", "/members/0/compensate"}));
  EXPECT_EQ(places_in(R"({"ref":"a"},{"job":{}},{"job":1})"),
            (Strings{"/members/0/job", "/members/1/job/type", "/members/2/job"}));
  EXPECT_EQ(places_in(R"({"job":{"type":"t"},"needs":[1,{"on":"ended"},{"ref":"a","on":"x"}]})"),
            (Strings{"/members/0/needs/0", "/members/0/needs/1/ref", "/members/0/needs/2/on"}));
  EXPECT_EQ(places_in(R"({"job":{"type":"t"},"needs_any":true})"), Strings{"/members/0/needs_any"});
}

TEST(DecodeWorkflow, JobsLackWhatTheWorkflowDecides) {
  const std::string job = fmt::format(
      R"({{"type":"t","id":"{}","unique":{{"key":"k"}},"expires_at":"2999-01-01T00:00:00Z",
      "idempotency_key":"k"}})",
      kId);
  EXPECT_EQ(places_in("{\"job\":" + job + "}"),
            (Strings{"/members/0/job/id", "/members/0/job/unique", "/members/0/job/expires_at",
                     "/members/0/job/idempotency_key"}));
  EXPECT_EQ(places_of("{\"on_end\":" + job + "}").size(), 4U);
  // Once, not again for each member that would have it from there.
  EXPECT_EQ(
      places_of(
          R"({"defaults":{"type":"t","unique":{"key":"k"}},"members":[{"job":{}},{"job":{}}]})"),
      Strings{"/defaults/unique"});
}

TEST(DecodeWorkflow, OnePastTheNumbers) {
  std::string members = R"({"job":{"type":"t"}})";
  for (std::size_t i = 1; i < kMaxMembersPerCall; ++i) members += R"(,{"job":{"type":"t"}})";
  EXPECT_EQ(places_in(members), Strings{});
  EXPECT_EQ(places_in(members + R"(,{"job":{"type":"t"}})"), Strings{"/members"});
  std::string needs = "\"n0\"";
  for (std::size_t i = 1; i < kMaxNeedsOfMember; ++i) needs += fmt::format(",\"n{}\"", i);
  const auto with = [&](std::string_view more) {
    return fmt::format(R"({{"job":{{"type":"t"}},"needs":[{}{}]}})", needs, more);
  };
  EXPECT_EQ(places_in(with("")), Strings{});
  EXPECT_EQ(places_in(with(",\"more\"")), Strings{"/members/0/needs"});
}

TEST(DecodeWorkflow, TheOtherBodies) {
  const auto more =
      decode_more_members(R"({"members":[{"job":{"type":"t"}}],"by":"@12","close":true})", kLimits);
  ASSERT_TRUE(more.has_value()) << faults(more)[0];
  EXPECT_EQ(more->by, "@12");
  EXPECT_TRUE(more->close);
  EXPECT_TRUE(more->members[0].job.queue.empty());  // the workflow's
  EXPECT_EQ(places(decode_more_members("{}", kLimits)), Strings{"/members"});
  EXPECT_EQ(places(decode_more_members(R"({"members":[],"by":"@"})", kLimits)), Strings{"/by"});
  const auto retry =
      decode_workflow_retry(R"({"refs":["a","@0"],"reset_attempts":false})", kLimits);
  ASSERT_TRUE(retry.has_value()) << faults(retry)[0];
  EXPECT_EQ(retry->refs, (Strings{"a", "@0"}));
  EXPECT_FALSE(retry->reset_attempts || retry->drop_limits);
  EXPECT_TRUE(decode_workflow_retry("", kLimits)->reset_attempts);
  EXPECT_EQ(places(decode_workflow_retry(R"({"refs":[]})", kLimits)), Strings{"/refs"});
  EXPECT_EQ(places(decode_workflow_retry(R"({"refs":["a b","@x"]})", kLimits)),
            (Strings{"/refs/0", "/refs/1"}));
}

TEST(DecodeWorkflow, QueryStrings) {
  const auto list = decode_workflow_list_query("state=failed,running&name=n&limit=7&fresh=true");
  ASSERT_TRUE(list.has_value()) << faults(list)[0];
  EXPECT_EQ(list->states, (std::vector{WorkflowState::kFailed, WorkflowState::kRunning}));
  EXPECT_EQ(list->page.limit, 7);
  EXPECT_EQ(places(decode_workflow_list_query("state=dead&limit=1001")),
            (Strings{"state", "limit"}));
  EXPECT_EQ(places(decode_workflow_query("wait_ms=1")), Strings{"until"});
  EXPECT_EQ(places(decode_workflow_query("include=job")), Strings{"include"});
  EXPECT_TRUE(decode_workflow_query("include=result&wait_ms=1&until=final")->result);
  const auto members = decode_member_list_query("state=blocked&include=job,result&limit=1000");
  ASSERT_TRUE(members.has_value()) << faults(members)[0];
  EXPECT_EQ(members->state, MemberState::kBlocked);
  EXPECT_TRUE(members->include.job && members->include.result);
  EXPECT_EQ(places(decode_member_list_query("state=dead&include=x")),
            (Strings{"state", "include"}));
  EXPECT_EQ(places(decode_member_query("wait_ms=60001")), Strings{"wait_ms"});
}

TEST(EncodeWorkflow, HasEveryMember) {
  Workflow workflow;
  workflow.id = *parse_job_id(kId);
  workflow.queue = "q";
  workflow.created_at = kTime;
  workflow.members = 2;
  workflow.counts = {1, 1, 0, 0, 0};
  workflow.callbacks.push_back({MemberRole::kOnEnd, workflow.id});
  const std::string text = encoded(workflow);
  EXPECT_TRUE(text.starts_with(fmt::format(
      R"({{"id":"{}","name":null,"queue":"q","state":"running","reason":null,"generation":1,)"
      R"("version":1,"open":false,"created_at":"2026-03-01T09:30:00.000Z","timeout_at":null,)"
      R"("ended_at":null,"members":2,"counts":{{"blocked":1,"active":1,"succeeded":0,"failed":0,)"
      R"("skipped":0}},"callbacks":{{"on_end":"{}"}},)",
      kId, kId)))
      << text;
  EXPECT_TRUE(text.ends_with(
      R"("tags":[],"meta":{},"on_member_failed":"continue","max_active":null,"timeout_ms":null,)"
      R"("result_from":null,"keep_members":true,"unique":null})"))
      << text;
  workflow.result = "";
  workflow.redacted = true;
  workflow.unique_key = "k";
  workflow.reason = WorkflowReason::kTimeout;
  const std::string more = encoded(workflow);
  EXPECT_TRUE(more.ends_with(R"("unique":{"key":"k"},"result":null,"redacted":true})")) << more;
  EXPECT_THAT(more, HasSubstr(R"("reason":"timeout")"));
}

TEST(EncodeWorkflow, AMemberThatIsNotOpenShowsNoJob) {
  WorkflowMember member;
  member.number = 3;
  member.ref = "r";
  member.state = MemberState::kFailed;
  member.reason = MemberReason::kDead;
  member.generation = 1;
  member.queue = "q";
  member.job_id = *parse_job_id(kId);
  member.result = "[1]";
  EXPECT_EQ(encoded(member),
            fmt::format(R"({{"number":3,"ref":"r","state":"failed","reason":"dead","generation":1,)"
                        R"("queue":"q","job_id":"{}","result":[1]}})",
                        kId));
  member.closed = true;
  member.definition.emplace();
  EXPECT_EQ(encoded(member),
            R"({"number":3,"ref":"r","state":"failed","reason":"dead","generation":1,)"
            R"("redacted":true,"needs":[],"needs_any":false,"waits_for":[]})");
}

TEST(EncodeWorkflow, GraphAndWhy) {
  EXPECT_EQ(encoded(GraphLine{1, "", MemberState::kBlocked, {{"a", NeedOn::kFailed}}}),
            R"({"number":1,"ref":null,"kind":"job","state":"blocked",)"
            R"("needs":[{"ref":"a","on":"failed"}]})");
  WorkflowWhy why;
  why.id = *parse_job_id(kId);
  why.at = kTime;
  why.summary = "s";
  why.blocking.push_back({.code = "in_transit", .count = 2, .shard = 1});
  EXPECT_EQ(
      encoded(why),
      fmt::format(R"({{"id":"{}","state":"running","at":"2026-03-01T09:30:00.000Z",)"
                  R"("summary":"s","blocking":[{{"code":"in_transit","shard":1,"count":2}}]}})",
                  kId));
}

TEST(EncodeWorkflow, ClaimsSayWhatTheJobIsAndWhatItNeeds) {
  ClaimedJob job;
  job.workflow.emplace();
  job.workflow->workflow = *parse_job_id(kId);
  job.workflow->name = "n";
  job.workflow->ref = "b";
  job.workflow->number = 1;
  job.parents.push_back(
      {"a", job.workflow->workflow, MemberState::kSucceeded, MemberReason::kNone, "7", ""});
  job.parents.push_back({"c", {}, MemberState::kSkipped, MemberReason::kByCall, {}, ""});
  job.parents.push_back(
      {"d", job.workflow->workflow, MemberState::kSucceeded, MemberReason::kNone, {}, "size"});
  const std::string text = encoded(job);
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        R"("workflow":{{"id":"{}","name":"n","ref":"b","number":1,"generation":1,)"
                        R"("role":"member","state":"running"}})",
                        kId)));
  EXPECT_THAT(text,
              HasSubstr(fmt::format(
                  R"("parents":{{"a":{{"id":"{}","state":"succeeded","reason":null,"result":7}},)"
                  R"("c":{{"id":null,"state":"skipped","reason":"by_call"}},)"
                  R"("d":{{"id":"{}","state":"succeeded","reason":null,"omitted":"size"}}}})",
                  kId, kId)));
  job.workflow->role = MemberRole::kOnFailure;
  job.workflow->failed = {"x"};
  EXPECT_THAT(encoded(job), HasSubstr(R"("number":null,"generation":1,"role":"callback",)"
                                      R"("state":"running","counts":{"blocked":0,)"));
  EXPECT_THAT(encoded(job), HasSubstr(R"("failed":["x"]})"));
}

}  // namespace
}  // namespace millrace::api
