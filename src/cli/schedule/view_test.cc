#include "cli/schedule/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/job/view.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;

const sdk::Timestamp kNow = *parse_rfc3339("2026-03-01T00:00:00Z");

sdk::Schedule nightly() {
  return {.name = "nightly",
          .managed_by = "deploy",
          .version = 4,
          .state = "active",
          .created_at = kNow,
          .updated_at = kNow,
          .last_scheduled_at = kNow - std::chrono::hours{1},
          .last_job_id = "j",
          .next = {kNow + std::chrono::hours{2}},
          .description = "At 03:00, Europe/Zurich",
          .warnings = {"It is \x1b early."},
          .cron = "0 3 * * *",
          .timezone = "Europe/Zurich",
          .jitter = sdk::Milliseconds{5'000},
          .missed_after = sdk::Milliseconds{60'000},
          .missed = "all",
          .missed_limit = 7,
          .overlap = "skip",
          .dst_gap = "run",
          .dst_overlap = "once",
          .queue = "reports",
          .type = "report",
          .payload = R"({"a":1})"};
}

TEST(ScheduleTable, TellsWhenEachIsDue) {
  sdk::Schedule paused{.name = "p",
                       .state = "paused",
                       .next = {kNow},
                       .every = sdk::Milliseconds{600'000},
                       .timezone = "UTC",
                       .type = "t"};
  EXPECT_EQ(schedule_table({nightly(), paused}, kNow, kNoLimit),
            "NAME     STATE   NEXT   LAST    QUEUE    TYPE    RULE\n"
            "nightly  active  in 2h  1h ago  reports  report  0 3 * * * Europe/Zurich\n"
            "p        paused  -      -       default  t       every 10m\n");
  const std::string narrow = schedule_table({nightly(), paused}, kNow, 50);
  EXPECT_THAT(narrow, testing::Not(HasSubstr("RULE")));
}

TEST(ScheduleDetails, HasWhatIsKnown) {
  const std::string text = schedule_details(nightly(), kNow, kNoLimit);
  for (const char* line :
       {"name:           nightly\n", "state:          active\n",
        "when:           At 03:00, Europe/Zurich\n", "rule:           0 3 * * * Europe/Zurich\n",
        "payload:        {\"a\":1}\n", "jitter:         5s\n",
        "missed:         all, at most 7 (missed after 1m)\n", "overlap:        skip\n",
        "clock changes:  gap run, overlap once\n", "managed by:     deploy\n",
        "last job:       j\n", "warning: It is \\x1b early.\n", "in 2h"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, testing::Not(HasSubstr("changed:")));
}

TEST(ScheduleDetails, SaysWhyItDoesNotFire) {
  sdk::Schedule broken = nightly();
  broken.state = "broken";
  broken.error = "there is no time zone";
  EXPECT_THAT(schedule_details(broken, kNow, kNoLimit), HasSubstr("broken: there is no time zone"));
  sdk::Schedule paused = nightly();
  paused.state = "paused";
  paused.reason = "holidays";
  EXPECT_THAT(schedule_details(paused, kNow, kNoLimit), HasSubstr("paused: holidays"));
}

TEST(ScheduleDetails, AnIntervalKnowsNoClockChanges) {
  sdk::Schedule interval = nightly();
  interval.every = sdk::Milliseconds{60'000};
  EXPECT_THAT(schedule_details(interval, kNow, kNoLimit), testing::Not(HasSubstr("clock")));
}

TEST(JobDetails, NameTheSchedule) {
  sdk::Job job{.id = "j", .state = "ready"};
  EXPECT_THAT(job_details(job, kNow), testing::Not(HasSubstr("schedule")));
  job.schedule = sdk::JobSchedule{"nightly", kNow};
  EXPECT_THAT(job_details(job, kNow),
              HasSubstr("schedule:    nightly, for 2026-03-01T00:00:00.000Z\n"));
}

TEST(RunsTable, TellsWhatBecameOfEach) {
  EXPECT_EQ(
      runs_table({{.scheduled_at = kNow,
                   .at = kNow + sdk::Milliseconds{250},
                   .job_id = "j",
                   .outcome = "submitted"},
                  {.scheduled_at = kNow, .outcome = "skipped_missed", .count = 12},
                  {.scheduled_at = kNow, .outcome = "refused", .error = "queue_full"}},
                 kNoLimit),
      "SCHEDULED AT              DELAY  OUTCOME         COUNT  JOB OR WORKFLOW  ERROR\n"
      "2026-03-01T00:00:00.000Z  250ms  submitted           1  j\n"
      "2026-03-01T00:00:00.000Z      -  skipped_missed     12  -\n"
      "2026-03-01T00:00:00.000Z      -  refused             1  -                queue_full\n");
}

TEST(ChangesText, NamesWhatChanged) {
  EXPECT_EQ(changes_text({.created = {"a", "b"}, .updated = {"c"}, .unchanged = {"d"}}),
            "created  a\ncreated  b\nupdated  c\n"
            "2 created, 1 updated, 1 unchanged, 0 deleted\n");
}

TEST(FailOnFile, GivesTheServersFaultsTheirLines) {
  Lines lines;
  lines.add("/schedules/a", 7);
  sdk::Error error{.kind = sdk::ErrorKind::kRefused,
                   .status = 422,
                   .message = "the request has 1 fault",
                   .errors = {{"/schedules/a/cron", "hour: no"}}};
  Session session;
  testing::internal::CaptureStderr();
  fail_on_file(error, "x.toml", lines, session);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "millrace: x.toml:7: /schedules/a/cron: hour: no\n"
            "millrace: the request has 1 fault; nothing was changed\n");
  EXPECT_EQ(session.exit_code, kUsage);
}

TEST(FailOnSchedule, SaysHowToFindTheKnownOnes) {
  Session session;
  testing::internal::CaptureStderr();
  fail_on_schedule({.kind = sdk::ErrorKind::kRefused, .status = 404, .code = "not_found"}, "n",
                   session);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("millrace schedule list"));
  EXPECT_EQ(session.exit_code, kNotFound);
}

}  // namespace
}  // namespace millrace::cli
