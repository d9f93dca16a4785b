#include "cli/workflow/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "cli/job/view.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const sdk::Timestamp kNow = *parse_rfc3339("2026-03-01T00:00:00Z");

constexpr std::string_view kRunning =
    R"({"id":"w","name":null,"queue":"q","state":"running","reason":null,"generation":1,)"
    R"("version":3,"open":true,"created_at":"2026-02-28T23:00:00.000Z",)"
    R"("timeout_at":"2026-03-01T02:00:00.000Z","ended_at":null,"members":12345,)"
    R"("counts":{"blocked":2,"active":1,"succeeded":12340,"failed":1,"skipped":1},)"
    R"("callbacks":{},"tags":["x","y"],"meta":{"k":"v"},"on_member_failed":"continue",)"
    R"("max_active":1000,"timeout_ms":1,"result_from":null,"keep_members":true,"unique":null})";
constexpr std::string_view kFailed =
    R"({"id":"v","name":"nightly\u001b","queue":"q","state":"failed","reason":"member_failed",)"
    R"("generation":2,"open":false,"created_at":"2026-02-28T22:00:00.000Z",)"
    R"("ended_at":"2026-02-28T23:59:00.000Z","members":1,)"
    R"("counts":{"blocked":0,"active":0,"succeeded":0,"failed":1,"skipped":0},)"
    R"("callbacks":{"on_failure":"j"},"redacted":true})";

TEST(WorkflowLine, SaysHowFarItIs) {
  EXPECT_EQ(workflow_line(sdk::JsonView(kRunning)),
            "w  running, open, 12,342 of 12,345 done, 1 failed");
  EXPECT_EQ(workflow_line(sdk::JsonView(kFailed)),
            "v  failed: member_failed, 1 of 1 done, 1 failed");
  const sdk::JsonView cancelled(R"({"id":"u","state":"cancelled","reason":"cancelled"})");
  EXPECT_EQ(workflow_line(cancelled), "u  cancelled, 0 of 0 done");
  EXPECT_FALSE(workflow_has_ended(sdk::JsonView(kRunning)));
  EXPECT_TRUE(workflow_has_ended(sdk::JsonView(kFailed)));
}

TEST(WorkflowTable, HasOneLineEach) {
  EXPECT_EQ(workflow_table({sdk::JsonView(kRunning), sdk::JsonView(kFailed)}, kNow, kNoLimit),
            "ID  STATE                DONE  FAILED  BEGAN   QUEUE  NAME\n"
            "w   running  12,342 of 12,345       1  1h ago  q      -\n"
            "v   failed             1 of 1       1  2h ago  q      nightly\\x1b\n");
}

TEST(WorkflowDetails, HaveWhatIsKnown) {
  const std::string running = workflow_details(sdk::JsonView(kRunning), kNow);
  for (const char* part : {"12,345: 12,340 succeeded, 1 failed, 1 skipped, 1 active, 2 blocked\n",
                           "x, y\n", "k=v\n", "millrace workflow close", "1,000\n", "in 2h"}) {
    EXPECT_THAT(running, HasSubstr(part));
  }
  EXPECT_THAT(running, Not(HasSubstr("generation")));
  const std::string failed = workflow_details(sdk::JsonView(kFailed), kNow);
  for (const char* part : {"failed: member_failed\n", "nightly\\x1b\n", "j\n", "redacted",
                           "2026-02-28T23:59:00.000Z"}) {
    EXPECT_THAT(failed, HasSubstr(part));
  }
}

TEST(MemberTable, ShowsThoseWithoutRefOrJob) {
  const sdk::JsonView first(R"({"number":0,"ref":"a","state":"failed","reason":"dead",)"
                            R"("queue":"q","job_id":"j"})");
  const sdk::JsonView second(R"({"number":12,"ref":null,"state":"blocked","reason":null,)"
                             R"("queue":"q","job_id":null})");
  EXPECT_EQ(member_table({first, second}, kNoLimit),
            "NO  REF  STATE    REASON  QUEUE  JOB\n"
            " 0  a    failed   dead    q      j\n"
            "12  -    blocked  -       q      -\n");
}

TEST(MemberDetails, HaveNeedsErrorAndResult) {
  const std::string text = member_details(sdk::JsonView(
      R"({"number":3,"ref":"c","state":"failed","reason":"dead","generation":2,"queue":"q",)"
      R"("job_id":"j","job":{"last_error":{"message":"no column"}},"result":{"a":1},)"
      R"("needs":[{"ref":"a","on":"succeeded"},{"ref":"@1","on":"ended"}],"needs_any":true,)"
      R"("definition":{"type":"t"},"waits_for":[]})"));
  for (const char* part : {"failed: dead\n", "needs any of: ", "a, @1 (ended)\n", "no column\n",
                           "{\"a\":1}\n", " t\n", " 2\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("waits for")));
}

TEST(FailuresText, NamesWhatFailed) {
  EXPECT_EQ(failures_text({sdk::JsonView(R"({"number":4,"ref":null,"state":"failed",)"
                                         R"("reason":"dead","job_id":"j",)"
                                         R"("job":{"last_error":{"message":"no column"}}})")},
                          kNoLimit),
            "FAILED  REASON  JOB  ERROR\n"
            "@4      dead    j    no column\n");
}

TEST(DrawnMembers, FindNeedsByRefOrNumber) {
  const auto members = drawn_members(
      {sdk::JsonView(R"({"number":0,"ref":null,"state":"active","needs":[]})"),
       sdk::JsonView(R"({"number":1,"ref":"b","state":"blocked","needs":)"
                     R"([{"ref":"@0","on":"ended"},{"ref":"of a later page","on":"ended"}]})")});
  ASSERT_EQ(members.size(), 2);
  EXPECT_EQ(members[0].name, "@0");
  ASSERT_EQ(members[1].needs.size(), 1);
  EXPECT_EQ(members[1].needs[0].of, 0);
  EXPECT_EQ(members[1].needs[0].on, "ended");
}

TEST(JobDetails, NameTheWorkflow) {
  sdk::Job job{.id = "j", .state = "ready"};
  EXPECT_THAT(job_details(job, kNow), Not(HasSubstr("workflow")));
  job.json = R"({"workflow":{"id":"w","name":"nightly","ref":"load","number":0,"role":"member"}})";
  EXPECT_THAT(job_details(job, kNow), HasSubstr("member load of workflow w nightly\n"));
  job.json = R"({"workflow":{"id":"w","name":null,"ref":null,"number":7,"role":"member"}})";
  EXPECT_THAT(job_details(job, kNow), HasSubstr("member @7 of workflow w\n"));
  job.json = R"({"workflow":{"id":"w","name":"n","ref":null,"number":null,"role":"callback"}})";
  EXPECT_THAT(job_details(job, kNow), HasSubstr("callback of workflow w n\n"));
}

TEST(WorkflowWhy, HasTheJobsThatItWaitsFor) {
  EXPECT_EQ(workflow_why(sdk::JsonView(R"({"summary":"1 job is active.","blocking":)"
                                       R"([{"code":"active","count":1,"jobs":["j"]}]})")),
            "1 job is active.\n  j\n");
}

}  // namespace
}  // namespace millrace::cli
