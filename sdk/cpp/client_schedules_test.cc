#include <gtest/gtest.h>

#include "base/time.h"
#include "fake_transport.h"
#include "json_reader.h"
#include "millrace/client.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

const std::string kSchedule =
    R"({"name":"nightly","cron":"0 3 * * *","every_ms":null,"timezone":"Europe/Zurich",)"
    R"("job":{"type":"report","queue":"reports","payload":{ "n" : 1.0 },"max_attempts":3},)"
    R"("start_at":"2026-01-01T00:00:00.000Z","end_at":null,"jitter_ms":5000,)"
    R"("missed_after_ms":60000,"missed":"all","missed_limit":7,"overlap":"queue",)"
    R"("dst_gap":"skip","dst_overlap":"twice","paused":true,"reason":"a move",)"
    R"("managed_by":"deploy","version":4,"state":"paused","error":null,)"
    R"("created_at":"2026-02-01T00:00:00.000Z","updated_at":"2026-02-02T00:00:00.000Z",)"
    R"("last_scheduled_at":"2026-02-03T02:00:00.000Z","last_job_id":"j",)"
    R"("next":["2026-02-04T02:00:00.000Z","2026-02-05T02:00:00.000Z"],)"
    R"("description":"At 03:00, Europe/Zurich","warnings":["It is early."],"more":{"x":[1]}})";

class ClientSchedulesTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
  Client client_{{.url = "http://server"}, transport_};

  const Request& request(std::size_t i = 0) { return transport_->requests.at(i); }
};

TEST_F(ClientSchedulesTest, PutsOnlyWhatIsSet) {
  transport_->answer(200, kSchedule);
  ASSERT_TRUE(client_.put_schedule("a/b", {.cron = "@daily", .job = {.type = "t"}}));
  EXPECT_EQ(request().method, "PUT");
  EXPECT_EQ(request().path, "/v1/schedules/a%2Fb");
  EXPECT_EQ(request().body, R"({"cron":"@daily","job":{"type":"t","payload":null}})");
}

TEST_F(ClientSchedulesTest, PutsEveryMember) {
  const NewSchedule schedule{.every = Milliseconds{60'000},
                             .timezone = "Asia/Tokyo",
                             .job = {.type = "t", .payload = "[1]", .queue = "q"},
                             .start_at = time_from_ms(0),
                             .end_at = time_from_ms(1'000),
                             .jitter = Milliseconds{5},
                             .missed_after = Milliseconds{6},
                             .missed = "all",
                             .missed_limit = 7,
                             .overlap = "replace",
                             .dst_gap = "skip",
                             .dst_overlap = "twice",
                             .paused = false,
                             .managed_by = "me"};
  EXPECT_EQ(to_json(schedule),
            R"({"every_ms":60000,"timezone":"Asia/Tokyo",)"
            R"("job":{"type":"t","queue":"q","payload":[1]},)"
            R"("start_at":"1970-01-01T00:00:00.000Z","end_at":"1970-01-01T00:00:01.000Z",)"
            R"("jitter_ms":5,"missed_after_ms":6,"missed":"all","missed_limit":7,)"
            R"("overlap":"replace","dst_gap":"skip","dst_overlap":"twice","paused":false,)"
            R"("managed_by":"me"})");
}

TEST_F(ClientSchedulesTest, PutsASpecificationByteForByte) {
  transport_->answer(201, kSchedule);
  ASSERT_TRUE(client_.put_schedule("n", std::string_view(R"({ "cron" : "@hourly" })")));
  EXPECT_EQ(request().body, R"({ "cron" : "@hourly" })");
}

TEST_F(ClientSchedulesTest, ReadsASchedule) {
  transport_->answer(200, kSchedule);
  const auto schedule = client_.schedule("nightly");
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_EQ(request().path, "/v1/schedules/nightly");
  EXPECT_EQ(schedule->name, "nightly");
  EXPECT_EQ(schedule->cron, "0 3 * * *");
  EXPECT_FALSE(schedule->every);
  EXPECT_EQ(schedule->timezone, "Europe/Zurich");
  EXPECT_EQ(schedule->job,
            R"({"type":"report","queue":"reports","payload":{ "n" : 1.0 },"max_attempts":3})");
  EXPECT_EQ(schedule->queue, "reports");
  EXPECT_EQ(schedule->type, "report");
  EXPECT_EQ(schedule->payload, R"({ "n" : 1.0 })");
  EXPECT_EQ(schedule->start_at, parse_rfc3339("2026-01-01T00:00:00Z"));
  EXPECT_FALSE(schedule->end_at);
  EXPECT_EQ(schedule->jitter, Milliseconds{5'000});
  EXPECT_EQ(schedule->missed_after, Milliseconds{60'000});
  EXPECT_EQ(schedule->missed, "all");
  EXPECT_EQ(schedule->missed_limit, 7);
  EXPECT_EQ(schedule->overlap, "queue");
  EXPECT_EQ(schedule->dst_gap, "skip");
  EXPECT_EQ(schedule->dst_overlap, "twice");
  EXPECT_TRUE(schedule->paused);
  EXPECT_EQ(schedule->reason, "a move");
  EXPECT_EQ(schedule->managed_by, "deploy");
  EXPECT_EQ(schedule->version, 4);
  EXPECT_EQ(schedule->state, "paused");
  EXPECT_EQ(schedule->error, "");
  EXPECT_EQ(schedule->created_at, parse_rfc3339("2026-02-01T00:00:00Z"));
  EXPECT_EQ(schedule->updated_at, parse_rfc3339("2026-02-02T00:00:00Z"));
  EXPECT_EQ(schedule->last_scheduled_at, parse_rfc3339("2026-02-03T02:00:00Z"));
  EXPECT_EQ(schedule->last_job_id, "j");
  EXPECT_EQ(schedule->next, (std::vector{*parse_rfc3339("2026-02-04T02:00:00Z"),
                                         *parse_rfc3339("2026-02-05T02:00:00Z")}));
  EXPECT_EQ(schedule->description, "At 03:00, Europe/Zurich");
  EXPECT_EQ(schedule->warnings, std::vector<std::string>{"It is early."});
  EXPECT_EQ(schedule->json, kSchedule);
}

TEST_F(ClientSchedulesTest, ListsPageByPage) {
  transport_->answer(200, R"({"items":[)" + kSchedule + R"(],"next_cursor":"abc"})");
  const auto page =
      client_.schedules({.managed_by = "a b", .queue = "q", .limit = 1'000, .cursor = "c"});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(request().path, "/v1/schedules?managed_by=a%20b&queue=q&limit=1000&cursor=c");
  EXPECT_EQ(page->items.at(0).json, kSchedule);
  EXPECT_EQ(page->next_cursor, "abc");
  ASSERT_TRUE(client_.schedules());
  EXPECT_EQ(request(1).path, "/v1/schedules?limit=50");
}

TEST_F(ClientSchedulesTest, PausesResumesDeletes) {
  transport_->answer(200, kSchedule);
  ASSERT_TRUE(client_.pause_schedule("nightly", "\"why\""));
  ASSERT_TRUE(client_.pause_schedule("nightly"));
  ASSERT_TRUE(client_.resume_schedule("nightly"));
  ASSERT_TRUE(client_.delete_schedule("nightly"));
  EXPECT_EQ(request(0).path, "/v1/schedules/nightly/pause");
  EXPECT_EQ(request(0).body, R"({"reason":"\"why\""})");
  EXPECT_EQ(request(1).body, "");
  EXPECT_EQ(request(2).path, "/v1/schedules/nightly/resume");
  EXPECT_EQ(request(2).method, "POST");
  EXPECT_EQ(request(3).path, "/v1/schedules/nightly");
  EXPECT_EQ(request(3).method, "DELETE");
}

TEST_F(ClientSchedulesTest, AnUnknownScheduleIsARefusal) {
  transport_->answer(404, R"({"status":404,"code":"not_found","detail":"no such schedule"})");
  const auto schedule = client_.schedule("nightly");
  ASSERT_FALSE(schedule);
  EXPECT_EQ(schedule.error().kind, ErrorKind::kRefused);
  EXPECT_EQ(schedule.error().code, "not_found");
  EXPECT_FALSE(client_.delete_schedule("nightly"));
  EXPECT_FALSE(client_.trigger_schedule("nightly"));
}

TEST_F(ClientSchedulesTest, TriggersOnceByAKeyOfItsOwn) {
  transport_->lose_answer();
  transport_->answer(201, R"({"id":"j"})");
  EXPECT_TRUE(client_.trigger_schedule("nightly"));
  EXPECT_TRUE(client_.trigger_schedule("nightly"));
  ASSERT_EQ(transport_->requests.size(), 3u);
  EXPECT_EQ(request().path, "/v1/schedules/nightly/trigger");
  EXPECT_EQ(request().body, "{}");
  EXPECT_EQ(request(0).headers, request(1).headers);
  EXPECT_NE(request(1).headers, request(2).headers);
}

TEST_F(ClientSchedulesTest, TriggersAgainWithAKey) {
  transport_->lose_answer();
  transport_->answer(200, R"({"id":"j","schedule":{"name":"nightly",)"
                          R"("scheduled_at":"2026-02-03T02:00:00.000Z"}})");
  const auto job = client_.trigger_schedule(
      "nightly",
      {.scheduled_at = parse_rfc3339("2026-02-03T02:00:00Z"), .idempotency_key = "once"});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_FALSE(job->is_new);
  ASSERT_TRUE(job->job.schedule);
  EXPECT_EQ(job->job.schedule->name, "nightly");
  EXPECT_EQ(job->job.schedule->scheduled_at, parse_rfc3339("2026-02-03T02:00:00Z"));
  ASSERT_EQ(transport_->requests.size(), 2u);
  EXPECT_EQ(request(1).body, R"({"scheduled_at":"2026-02-03T02:00:00.000Z"})");
  EXPECT_EQ(request(1).headers, (Headers{{"Idempotency-Key", "once"}}));
}

TEST_F(ClientSchedulesTest, Backfills) {
  transport_->answer(200, R"({"submitted":3,"existing":2,"more":true})");
  const auto done = client_.backfill_schedule("nightly", {.from = time_from_ms(0),
                                                          .to = time_from_ms(1'000),
                                                          .limit = 3,
                                                          .dry_run = true,
                                                          .rerun = true});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->submitted, 3);
  EXPECT_EQ(done->existing, 2);
  EXPECT_TRUE(done->more);
  EXPECT_EQ(request().path, "/v1/schedules/nightly/backfill");
  EXPECT_EQ(request().body, R"({"from":"1970-01-01T00:00:00.000Z","to":"1970-01-01T00:00:01.000Z",)"
                            R"("limit":3,"dry_run":true,"rerun":true})");
  EXPECT_EQ(request().repeat, Repeat::kAlways);
  EXPECT_EQ(request().headers.at(0).first, "Idempotency-Key");
  EXPECT_EQ(request().headers.at(0).second.size(), 36u);
  ASSERT_TRUE(client_.backfill_schedule("nightly", {.idempotency_key = "once"}));
  EXPECT_EQ(request(1).headers, (Headers{{"Idempotency-Key", "once"}}));
}

TEST_F(ClientSchedulesTest, ReadsRuns) {
  const std::string runs =
      R"({"items":[{"scheduled_at":"2026-02-03T02:00:00.000Z","at":"2026-02-03T02:00:00.250Z",)"
      R"("job_id":"j","outcome":"submitted"},{"scheduled_at":"2026-02-02T02:00:00.000Z",)"
      R"("at":"2026-02-03T00:00:00.000Z","job_id":null,"outcome":"skipped_missed","count":12},)"
      R"({"outcome":"refused","error":"the queue is full"}]})";
  transport_->answer(200, runs);
  const auto read = client_.schedule_runs("nightly");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(request().path, "/v1/schedules/nightly/runs");
  ASSERT_EQ(read->items.size(), 3u);
  EXPECT_EQ(read->items[0].scheduled_at, parse_rfc3339("2026-02-03T02:00:00Z"));
  EXPECT_EQ(read->items[0].at, parse_rfc3339("2026-02-03T02:00:00.250Z"));
  EXPECT_EQ(read->items[0].job_id, "j");
  EXPECT_EQ(read->items[0].outcome, "submitted");
  EXPECT_FALSE(read->items[0].count);
  EXPECT_EQ(read->items[1].count, 12);
  EXPECT_EQ(read->items[1].job_id, "");
  EXPECT_EQ(read->items[2].error, "the queue is full");
  EXPECT_EQ(read->json, runs);
}

TEST_F(ClientSchedulesTest, Previews) {
  transport_->answer(200, R"({"description":"Each hour","next":["2026-02-03T02:00:00.000Z"],)"
                          R"("warnings":["w"]})");
  const auto preview = client_.preview_schedule({.cron = "@hourly",
                                                 .timezone = "UTC",
                                                 .from = time_from_ms(0),
                                                 .count = 1,
                                                 .dst_gap = "run",
                                                 .dst_overlap = "once"});
  ASSERT_TRUE(preview) << preview.error().message;
  EXPECT_EQ(request().path, "/v1/schedules/preview");
  EXPECT_EQ(request().body, R"({"cron":"@hourly","timezone":"UTC",)"
                            R"("from":"1970-01-01T00:00:00.000Z","count":1,"dst_gap":"run",)"
                            R"("dst_overlap":"once"})");
  EXPECT_EQ(preview->description, "Each hour");
  EXPECT_EQ(preview->next, std::vector{*parse_rfc3339("2026-02-03T02:00:00Z")});
  EXPECT_EQ(preview->warnings, std::vector<std::string>{"w"});
  ASSERT_TRUE(client_.preview_schedule({.every = Milliseconds{1'000}}));
  EXPECT_EQ(request(1).body, R"({"every_ms":1000})");
}

TEST_F(ClientSchedulesTest, AppliesASet) {
  transport_->answer(200,
                     R"({"created":["a"],"updated":["b","c"],"unchanged":[],"deleted":["d"]})");
  ScheduleSet set{.managed_by = "deploy", .prune = true, .dry_run = true, .force = true};
  set.schedules.emplace_back("a\"b", to_json({.cron = "@daily", .job = {.type = "t"}}));
  set.schedules.emplace_back("c", R"({ "raw" : 1 })");
  const auto changes = client_.apply_schedules(set);
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_EQ(request().method, "PUT");
  EXPECT_EQ(request().path, "/v1/schedules");
  EXPECT_EQ(request().body, R"({"managed_by":"deploy","schedules":{"a\"b":{"cron":"@daily",)"
                            R"("job":{"type":"t","payload":null}},"c":{ "raw" : 1 }},)"
                            R"("prune":true,"dry_run":true,"force":true})");
  EXPECT_EQ(changes->created, std::vector<std::string>{"a"});
  EXPECT_EQ(changes->updated, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(changes->unchanged.empty());
  EXPECT_EQ(changes->deleted, std::vector<std::string>{"d"});
  ASSERT_TRUE(client_.apply_schedules({.managed_by = "deploy"}));
  EXPECT_EQ(request(1).body, R"({"managed_by":"deploy","schedules":{}})");
}

TEST_F(ClientSchedulesTest, EachAnswerMustBeOne) {
  transport_->answer(200, R"({"else":1})");
  EXPECT_EQ(client_.schedule("n").error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(client_.schedules().error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(client_.trigger_schedule("n").error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(client_.backfill_schedule("n", {}).error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(client_.schedule_runs("n").error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(client_.preview_schedule({}).error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(client_.apply_schedules({}).error().kind, ErrorKind::kBadAnswer);
}

TEST_F(ClientSchedulesTest, AClaimTellsWhichScheduleMadeItsJob) {
  const auto answer = read_poll_answer(
      R"({"jobs":[{"id":"a","schedule":{"name":"n","scheduled_at":"2026-02-03T02:00:00.000Z"}},)"
      R"({"id":"b","schedule":null}]})");
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->jobs.at(0).schedule);
  EXPECT_EQ(answer->jobs[0].schedule->name, "n");
  EXPECT_EQ(answer->jobs[0].schedule->scheduled_at, parse_rfc3339("2026-02-03T02:00:00Z"));
  EXPECT_FALSE(answer->jobs[1].schedule);
}

}  // namespace
}  // namespace millrace::sdk
