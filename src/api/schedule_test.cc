#include "api/schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "api/list.h"
#include "base/json_check.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using testing::code_of;
using testing::faults;
using ::testing::HasSubstr;
using testing::kId;
using testing::kLimits;
using testing::places;
using testing::Strings;

constexpr std::string_view kSmallest = R"({"cron":"0 9 * * *","job":{"type":"t"}})";

// A schedule with these members, besides a job and (unless it says when) a cron expression.
Decoded<ScheduleSpec> with(const std::string& members) {
  static std::string body;  // views into it outlive the call
  const bool timed = members.contains("\"cron\"") || members.contains("\"every_ms\"");
  body =
      fmt::format(R"({{{}"job":{{"type":"t"}},{}}})", timed ? "" : R"("cron":"@daily",)", members);
  return decode_schedule(body, kLimits);
}
ScheduleSpec good(const std::string& members) {
  auto spec = with(members);
  EXPECT_TRUE(spec.has_value()) << members << ": " << (spec ? "" : faults(spec)[0]);
  return spec.value_or(ScheduleSpec{});
}

TEST(DecodeSchedule, TheSmallestHasTheDefaults) {
  const auto spec = decode_schedule(kSmallest, kLimits);
  ASSERT_TRUE(spec.has_value()) << faults(spec)[0];
  EXPECT_EQ(spec->timing.cron, "0 9 * * *");
  EXPECT_FALSE(spec->timing.every);
  EXPECT_EQ(spec->timing.timezone, "UTC");
  EXPECT_FALSE(spec->timing.skip_dst_gap || spec->timing.twice_in_dst_overlap);
  EXPECT_EQ(spec->job.type, "t");
  EXPECT_EQ(spec->job.queue, "default");
  EXPECT_FALSE(spec->start_at || spec->end_at || spec->paused);
  EXPECT_EQ(spec->jitter, Duration{0});
  EXPECT_EQ(spec->missed_after, Duration{60'000});
  EXPECT_EQ(spec->missed, MissedPolicy::kOne);
  EXPECT_EQ(spec->missed_limit, 100);
  EXPECT_EQ(spec->overlap, OverlapPolicy::kAllow);
  EXPECT_EQ(spec->managed_by, "");
}

TEST(DecodeSchedule, TakesEveryMember) {
  const auto spec = decode_schedule(
      R"({"every_ms":90000,"timezone":"Europe/Zurich","start_at":"2026-03-01T00:00:00Z",
      "end_at":"2026-03-02T00:00:00Z","jitter_ms":5,"missed_after_ms":1000,"missed":"all",
      "missed_limit":7,"overlap":"replace","dst_gap":"skip","dst_overlap":"twice","paused":false,
      "managed_by":"crontab","job":{"type":"a","queue":"q","payload":{"x": 1.0},"priority":3,
      "expires_in_ms":5,"max_attempts":7,"retry":{"strategy":"fixed","base_ms":9},"lease_ms":1000,
      "timeout_ms":1,"unique":{"key":"k"},"tags":["a"],"meta":{"k":"v"}}})",
      kLimits);
  ASSERT_TRUE(spec.has_value()) << faults(spec)[0];
  EXPECT_EQ(spec->timing.cron, "");
  EXPECT_EQ(spec->timing.every, Duration{90'000});
  EXPECT_EQ(spec->timing.timezone, "Europe/Zurich");
  EXPECT_TRUE(spec->timing.skip_dst_gap);
  EXPECT_TRUE(spec->timing.twice_in_dst_overlap);
  EXPECT_EQ(spec->start_at, parse_rfc3339("2026-03-01T00:00:00Z"));
  EXPECT_EQ(spec->end_at, parse_rfc3339("2026-03-02T00:00:00Z"));
  EXPECT_EQ(spec->jitter, Duration{5});
  EXPECT_EQ(spec->missed_after, Duration{1'000});
  EXPECT_EQ(spec->missed, MissedPolicy::kAll);
  EXPECT_EQ(spec->missed_limit, 7);
  EXPECT_EQ(spec->overlap, OverlapPolicy::kReplace);
  EXPECT_EQ(spec->paused, false);
  EXPECT_EQ(spec->managed_by, "crontab");
  EXPECT_EQ(spec->job.queue, "q");
  EXPECT_EQ(spec->job.payload, R"({"x": 1.0})");
  EXPECT_EQ(spec->job.expires_in, Duration{5});
  EXPECT_EQ(spec->job.unique->key, "k");
  EXPECT_EQ(spec->job.meta, (StringMap{{"k", "v"}}));
}

TEST(DecodeSchedule, HoldsEveryBoundAndPassesNoneByOne) {
  const auto text = [](std::size_t bytes) { return '"' + std::string(bytes, 'x') + '"'; };
  const struct {
    std::string member;
    std::string within;
    std::string beyond;
  } cases[] = {
      {"cron", text(1), R"("")"},
      {"cron", text(512), text(513)},
      {"cron", R"("@daily")", "5"},
      {"every_ms", "1000", "999"},
      {"every_ms", "315360000000", "315360000001"},
      {"every_ms", "1000", "1000.5"},
      {"timezone", text(1), R"("")"},
      {"timezone", text(64), text(65)},
      {"jitter_ms", "0", "-1"},
      {"jitter_ms", "86400000", "86400001"},
      {"missed_after_ms", "1000", "999"},
      {"missed_after_ms", "86400000", "86400001"},
      {"missed", R"("skip")", R"("two")"},
      {"missed_limit", "1", "0"},
      {"missed_limit", "1000", "1001"},
      {"overlap", R"("queue")", R"("wait")"},
      {"dst_gap", R"("run")", R"("once")"},
      {"dst_overlap", R"("once")", R"("run")"},
      {"paused", "true", "1"},
      {"start_at", R"("2026-03-01T00:00:00Z")", R"("2026-03-01")"},
      {"end_at", R"("2026-03-01T00:00:00Z")", "0"},
      {"managed_by", text(128), text(129)},
      {"managed_by", R"("a-b.c:d/e_F1")", R"("a b")"},
      {"managed_by", text(1), R"("")"},
  };
  for (const auto& one : cases) {
    const std::string at_bound = fmt::format(R"("{}":{})", one.member, one.within);
    const std::string past_it = fmt::format(R"("{}":{})", one.member, one.beyond);
    EXPECT_EQ(faults(with(at_bound)), Strings{}) << at_bound;
    EXPECT_EQ(places(with(past_it)), Strings{"/" + one.member}) << past_it;
  }
}

TEST(DecodeSchedule, EveryWordMeansWhatItSays) {
  EXPECT_EQ(good(R"("missed":"skip")").missed, MissedPolicy::kSkip);
  EXPECT_EQ(good(R"("missed":"one")").missed, MissedPolicy::kOne);
  EXPECT_EQ(good(R"("missed":"all")").missed, MissedPolicy::kAll);
  EXPECT_EQ(good(R"("overlap":"allow")").overlap, OverlapPolicy::kAllow);
  EXPECT_EQ(good(R"("overlap":"skip")").overlap, OverlapPolicy::kSkip);
  EXPECT_EQ(good(R"("overlap":"queue")").overlap, OverlapPolicy::kQueue);
  EXPECT_EQ(good(R"("overlap":"replace")").overlap, OverlapPolicy::kReplace);
  EXPECT_FALSE(good(R"("dst_gap":"run")").timing.skip_dst_gap);
  EXPECT_TRUE(good(R"("dst_gap":"skip")").timing.skip_dst_gap);
  EXPECT_FALSE(good(R"("dst_overlap":"once")").timing.twice_in_dst_overlap);
  EXPECT_TRUE(good(R"("dst_overlap":"twice")").timing.twice_in_dst_overlap);
  for (const auto policy : {MissedPolicy::kSkip, MissedPolicy::kOne, MissedPolicy::kAll}) {
    EXPECT_EQ(good(fmt::format(R"("missed":"{}")", name_of(policy))).missed, policy);
  }
  EXPECT_EQ(name_of(OverlapPolicy::kReplace), "replace");
  EXPECT_EQ(faults(with(R"("overlap":"wait")")),
            Strings{"/overlap: must be one of allow, skip, queue, replace"});
}

TEST(DecodeSchedule, NeedsAJobAndOneOfCronAndEvery) {
  EXPECT_EQ(faults(decode_schedule("{}", kLimits)),
            (Strings{"/job: is required, unless workflow is given",
                     "/cron: is required, unless every_ms is given"}));
  EXPECT_EQ(faults(with(R"("cron":"@daily","every_ms":1000)")),
            Strings{"/every_ms: must not be given together with cron"});
  // An invalid member still counts as present.
  EXPECT_EQ(places(with(R"("every_ms":1)")), Strings{"/every_ms"});
  EXPECT_EQ(places(with(R"("crn":"@daily")")), Strings{"/crn"});
  EXPECT_EQ(code_of(decode_schedule("", kLimits)), code_of(decode_job("", kLimits)));
  EXPECT_EQ(code_of(decode_schedule("[]", kLimits)), code_of(decode_job("[]", kLimits)));
}

TEST(DecodeSchedule, MayHaveAWorkflowInPlaceOfAJob) {
  const auto spec = decode_schedule(
      R"({"cron":"@daily","overlap":"skip","workflow":{"queue":"w",
      "defaults":{"queue":"q","type":"t"},
      "members":[{"ref":"a","job":{}},{"needs":["a"],"job":{"queue":"r"}}],
      "on_end":{}},"jitter_ms":5})",
      kLimits);
  ASSERT_TRUE(spec.has_value()) << faults(spec)[0];
  ASSERT_TRUE(spec->workflow);
  EXPECT_EQ(spec->workflow->queue, "w");
  ASSERT_EQ(spec->workflow->members.size(), 2U);
  EXPECT_EQ(spec->workflow->members[0].job.queue, "q");
  EXPECT_EQ(spec->workflow->members[1].job.queue, "r");
  EXPECT_EQ(spec->workflow->callbacks.size(), 1U);
  EXPECT_EQ(spec->jitter, Duration{5});  // what comes after it is read, too
}

TEST(DecodeSchedule, ItsWorkflowHasNothingThatCannotBeTheSameEachTime) {
  const auto of = [](const std::string& workflow) {
    static std::string body;
    body = fmt::format(R"({{"cron":"@daily","workflow":{}}})", workflow);
    return decode_schedule(body, kLimits);
  };
  EXPECT_EQ(places(of(R"({"id":"0190a0a0-0000-7000-8000-000000000000","open":true,
                      "unique":{"key":"k"},"on_end":{"type":"t","run_at":"2026-01-01T00:00:00Z"},
                      "members":[{"job":{"type":"t","run_at":"2026-01-01T00:00:00Z"}}]})")),
            (Strings{"/workflow/id", "/workflow/unique", "/workflow/open",
                     "/workflow/members/0/job/run_at", "/workflow/on_end/run_at"}));
  EXPECT_EQ(places(of(R"({"members":[{"job":{}}]})")), Strings{"/workflow/members/0/job/type"});
  EXPECT_EQ(places(of(fmt::format(R"({{"name":"{}"}})", std::string(65'536, 'x')))),
            Strings{"/workflow"});
  const auto both =
      decode_schedule(R"({"cron":"@daily","job":{"type":"t"},"workflow":{}})", kLimits);
  EXPECT_EQ(places(both), Strings{"/workflow"});
  const auto neither = decode_schedule(R"({"cron":"@daily","workflow":null})", kLimits);
  EXPECT_EQ(places(neither), Strings{"/job"});
}

TEST(DecodeSchedule, EndsAfterItStarts) {
  const std::string start = R"("start_at":"2026-03-01T00:00:00Z",)";
  EXPECT_EQ(places(with(start + R"("end_at":"2026-02-28T23:59:59.999Z")")), Strings{"/end_at"});
  good(start + R"("end_at":"2026-03-01T00:00:00Z")");
}

TEST(DecodeSchedule, ItsJobHasNoTimeAndNoIdOfItsOwn) {
  const auto job = [](const std::string& members) {
    static std::string body;
    body = fmt::format(R"({{"cron":"@daily","job":{{"type":"t",{}}}}})", members);
    return decode_schedule(body, kLimits);
  };
  EXPECT_EQ(
      faults(job(fmt::format(R"("id":"{}")", kId))),
      Strings{"/job/id: must be absent; the server chooses an id for each job of a schedule"});
  EXPECT_EQ(faults(job(R"("run_at":"2026-03-01T00:00:00Z")")),
            Strings{"/job/run_at: must be absent; the schedule decides when a job is due"});
  EXPECT_EQ(faults(job(R"("delay_ms":1)")),
            Strings{"/job/delay_ms: must be absent; the schedule decides when a job is due"});
  EXPECT_EQ(places(job(R"("queue":"a b","priority":32768)")),
            (Strings{"/job/queue", "/job/priority"}));
  const auto payload = [](std::size_t bytes) {
    return R"("payload":")" + std::string(bytes - 2, 'x') + '"';
  };
  EXPECT_EQ(faults(job(payload(64 * 1'024))), Strings{});
  EXPECT_EQ(faults(job(payload(64 * 1'024 + 1))),
            Strings{"/job/payload: must have at most 65536 bytes in a schedule"});
}

// --- Sets.

std::string set_of(const std::string& schedules, const std::string& more = "") {
  return fmt::format(R"({{"managed_by":"crontab","schedules":{{{}}}{}}})", schedules, more);
}

TEST(DecodeScheduleSet, TakesEveryMember) {
  const std::string body =
      set_of(fmt::format(R"("b":{},"a/b.c":{{"every_ms":1000,"job":{{"type":"u"}},)"
                         R"("managed_by":"crontab"}})",
                         kSmallest),
             R"(,"prune":true,"dry_run":true,"force":true)");
  const auto set = decode_schedule_set(body, kLimits);
  ASSERT_TRUE(set.has_value()) << faults(set)[0];
  EXPECT_EQ(set->managed_by, "crontab");
  EXPECT_TRUE(set->prune && set->dry_run && set->force);
  ASSERT_EQ(set->schedules.size(), 2U);
  EXPECT_EQ(set->schedules[0].first, "b");
  EXPECT_EQ(set->schedules[0].second.timing.cron, "0 9 * * *");
  EXPECT_EQ(set->schedules[0].second.managed_by, "crontab");  // all belong to the owner
  EXPECT_EQ(set->schedules[1].first, "a/b.c");
  EXPECT_EQ(set->schedules[1].second.timing.every, Duration{1'000});
  const auto empty = decode_schedule_set(R"({"managed_by":"x","schedules":{}})", kLimits);
  ASSERT_TRUE(empty.has_value());
  EXPECT_FALSE(empty->prune || empty->dry_run || empty->force);
}

TEST(DecodeScheduleSet, PointsAtEachFault) {
  EXPECT_EQ(faults(decode_schedule_set("{}", kLimits)),
            (Strings{"/managed_by: is required", "/schedules: is required"}));
  EXPECT_EQ(places(decode_schedule_set(R"({"managed_by":"a b","schedules":[]})", kLimits)),
            (Strings{"/managed_by", "/schedules"}));
  EXPECT_EQ(
      places(decode_schedule_set(
          set_of(R"("a/b":{"every_ms":1,"job":{"type":""}},"c~d":{},"e":{"job":{"type":"t"}},)"
                 R"("f":7)"),
          kLimits)),
      (Strings{"/schedules/a~1b/every_ms", "/schedules/a~1b/job/type", "/schedules/c~0d",
               "/schedules/e/cron", "/schedules/f"}));
  EXPECT_EQ(
      faults(decode_schedule_set(
          set_of(R"("a":{"cron":"@daily","job":{"type":"t"},"managed_by":"other"})"), kLimits)),
      Strings{"/schedules/a/managed_by: must equal the managed_by of the set, or be absent"});
}

TEST(DecodeScheduleSet, EachNameOnce) {
  const std::string one = fmt::format(R"("a":{})", kSmallest);
  EXPECT_FALSE(decode_schedule_set(set_of(one + "," + one), kLimits));
  for (const char* name : {"", "a b", "\xC3\xA9"}) {
    const auto set =
        decode_schedule_set(set_of(fmt::format(R"("{}":{})", name, kSmallest)), kLimits);
    EXPECT_THAT(faults(set).at(0), HasSubstr("is not a name: it must be 1 to 128 characters"));
  }
  const auto named = [](std::size_t bytes) {
    return set_of(fmt::format(R"("{}":{})", std::string(bytes, 'n'), kSmallest));
  };
  EXPECT_TRUE(decode_schedule_set(named(128), kLimits).has_value());
  EXPECT_FALSE(decode_schedule_set(named(129), kLimits).has_value());
}

TEST(DecodeScheduleSet, TenThousandAndNoMore) {
  std::string schedules = fmt::format(R"("n0":{})", kSmallest);
  for (std::size_t i = 1; i < kMaxSchedulesInSet; ++i) {
    schedules += fmt::format(R"(,"n{}":{})", i, kSmallest);
  }
  const std::string most = set_of(schedules);
  const auto set = decode_schedule_set(most, kLimits);
  ASSERT_TRUE(set.has_value()) << faults(set)[0];
  EXPECT_EQ(set->schedules.size(), kMaxSchedulesInSet);
  const std::string more = set_of(schedules + fmt::format(R"(,"more":{})", kSmallest));
  EXPECT_EQ(faults(decode_schedule_set(more, kLimits)),
            Strings{"/schedules: must have at most 10000 members"});
}

// --- Calls on one.

TEST(DecodePreview, TakesATimingAndARange) {
  const auto preview = decode_preview(
      R"({"cron":"0 9 * * 1","timezone":"Asia/Tokyo","dst_gap":"skip","dst_overlap":"twice",
      "from":"2026-03-01T00:00:00Z","count":1000})",
      kLimits);
  ASSERT_TRUE(preview.has_value()) << faults(preview)[0];
  EXPECT_EQ(preview->timing.cron, "0 9 * * 1");
  EXPECT_EQ(preview->timing.timezone, "Asia/Tokyo");
  EXPECT_TRUE(preview->timing.skip_dst_gap && preview->timing.twice_in_dst_overlap);
  EXPECT_EQ(preview->from, parse_rfc3339("2026-03-01T00:00:00Z"));
  EXPECT_EQ(preview->count, 1'000);
  const auto least = decode_preview(R"({"every_ms":1000})", kLimits);
  ASSERT_TRUE(least.has_value());
  EXPECT_EQ(least->count, 5);
  EXPECT_FALSE(least->from);
  EXPECT_EQ(places(decode_preview(R"({"count":0})", kLimits)), (Strings{"/count", "/cron"}));
  EXPECT_EQ(
      places(decode_preview(R"({"cron":"x","every_ms":1000,"count":1001,"job":{}})", kLimits)),
      (Strings{"/count", "/job", "/every_ms"}));
}

TEST(DecodeTrigger, TakesAnInstant) {
  EXPECT_FALSE(decode_trigger("", kLimits)->scheduled_at);
  EXPECT_FALSE(decode_trigger("{}", kLimits)->scheduled_at);
  EXPECT_EQ(decode_trigger(R"({"scheduled_at":"2026-03-01T00:00:00Z"})", kLimits)->scheduled_at,
            parse_rfc3339("2026-03-01T00:00:00Z"));
  EXPECT_EQ(places(decode_trigger(R"({"scheduled_at":"today","at":1})", kLimits)),
            (Strings{"/scheduled_at", "/at"}));
}

TEST(DecodeBackfill, TakesARange) {
  const std::string range = R"("from":"2026-03-01T00:00:00Z","to":"2026-03-01T00:00:00.001Z")";
  const auto least = decode_backfill("{" + range + "}", kLimits);
  ASSERT_TRUE(least.has_value()) << faults(least)[0];
  EXPECT_EQ(least->to - least->from, Duration{1});
  EXPECT_EQ(least->limit, 1'000);
  EXPECT_FALSE(least->dry_run || least->rerun);
  const auto all =
      decode_backfill("{" + range + R"(,"limit":1,"dry_run":true,"rerun":true})", kLimits);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->limit, 1);
  EXPECT_TRUE(all->dry_run && all->rerun);
  EXPECT_EQ(places(decode_backfill("{" + range + R"(,"limit":0})", kLimits)), Strings{"/limit"});
  EXPECT_EQ(places(decode_backfill("{" + range + R"(,"limit":1001})", kLimits)), Strings{"/limit"});
  EXPECT_EQ(faults(decode_backfill("{}", kLimits)),
            (Strings{"/from: is required", "/to: is required"}));
  EXPECT_EQ(faults(decode_backfill(R"({"from":"2026-03-01T00:00:00Z","to":"2026-03-01T00:00:00Z"})",
                                   kLimits)),
            Strings{"/from: must be before to"});
  EXPECT_FALSE(decode_backfill("", kLimits));
}

TEST(DecodeScheduleListQuery, TakesOwnerAndQueue) {
  const auto query = decode_schedule_list_query("limit=1000&managed_by=crontab&queue=a%2Fb");
  ASSERT_TRUE(query.has_value()) << faults(query)[0];
  EXPECT_EQ(query->limit, 1'000);
  EXPECT_EQ(query->managed_by, "crontab");
  EXPECT_EQ(query->queue, "a/b");
  EXPECT_EQ(decode_schedule_list_query("")->limit, 50);
  EXPECT_EQ(decode_schedule_list_query("")->managed_by, std::nullopt);
  EXPECT_EQ(decode_schedule_list_query("managed_by=")->managed_by, "");  // without an owner
  EXPECT_EQ(places(decode_schedule_list_query("limit=0&managed_by=a%20b&queue=&cursor=%2F&x=1")),
            (Strings{"limit", "managed_by", "queue", "cursor", "x"}));
  EXPECT_EQ(places(decode_schedule_list_query("limit=1001")), Strings{"limit"});
}

// --- Answers.

template <typename T>
std::string encoded(const T& value) {
  std::string out;
  JsonWriter json(out);
  encode(json, value);
  EXPECT_FALSE(check_json(out, 64, LoneSurrogates::kRefused)) << out;
  return out;
}

TEST(EncodeSchedule, HasEveryMemberAndNullWhereNothing) {
  Schedule schedule;
  schedule.name = "nightly";
  schedule.cron = "0 9 * * *";
  schedule.timezone = "UTC";
  schedule.job.type = "t";
  schedule.job.queue = "q";
  schedule.job.payload = "null";
  schedule.missed_after = Duration{60'000};
  schedule.missed = MissedPolicy::kOne;
  schedule.missed_limit = 100;
  schedule.version = 1;
  schedule.state = "active";
  schedule.created_at = schedule.updated_at = time_from_ms(0);
  schedule.description = "At 09:00";
  EXPECT_EQ(encoded(schedule),
            R"({"name":"nightly","cron":"0 9 * * *","every_ms":null,"timezone":"UTC",)"
            R"("job":{"type":"t","queue":"q","payload":null},"start_at":null,"end_at":null,)"
            R"("jitter_ms":0,"missed_after_ms":60000,"missed":"one","missed_limit":100,)"
            R"("overlap":"allow","dst_gap":"run","dst_overlap":"once","paused":false,)"
            R"("managed_by":null,"version":1,"state":"active","reason":null,"error":null,)"
            R"("created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:00.000Z",)"
            R"("last_scheduled_at":null,"last_job_id":null,"next":[],"description":"At 09:00"})");
}

TEST(EncodeSchedule, SaysAllThatWasGiven) {
  Schedule schedule;
  schedule.name = "n";
  schedule.every = Duration{1'000};
  schedule.timezone = "Asia/Tokyo";
  schedule.skip_dst_gap = schedule.twice_in_dst_overlap = true;
  ScheduleJob& job = schedule.job;
  job.type = "t";
  job.queue = "q";
  job.payload = R"({"x": 1.0})";
  job.priority = -1;
  job.expires_in = Duration{5};
  job.max_attempts = 7;
  job.retry = RetryPolicy{RetryStrategy::kList, {}, {}, 0, {Duration{1}}};
  job.lease = Duration{1'000};
  job.timeout = Duration{2};
  job.unique = UniqueKey{"k", Duration{9}, OnConflict::kReject};
  job.tags = {"a", "b"};
  job.meta = {{"k", "v"}};
  job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  job.tracestate = "a=b";
  schedule.start_at = time_from_ms(1);
  schedule.end_at = time_from_ms(2);
  schedule.jitter = Duration{3};
  schedule.missed = MissedPolicy::kAll;
  schedule.missed_limit = 7;
  schedule.overlap = OverlapPolicy::kQueue;
  schedule.paused = true;
  schedule.managed_by = "crontab";
  schedule.state = "paused";
  schedule.reason = "by hand";
  schedule.error = "no such zone";
  schedule.last_scheduled_at = time_from_ms(4);
  schedule.last_job_id = *parse_job_id(kId);
  schedule.next = {time_from_ms(5), time_from_ms(6)};
  schedule.warnings = {"careful"};
  const std::string text = encoded(schedule);
  for (const char* part :
       {R"("cron":null,"every_ms":1000,"timezone":"Asia/Tokyo")",
        R"("job":{"type":"t","queue":"q","payload":{"x": 1.0},"priority":-1,"expires_in_ms":5,)"
        R"("max_attempts":7,"retry":{"strategy":"list","delays_ms":[1])",
        R"("lease_ms":1000,"timeout_ms":2,)"
        R"("unique":{"key":"k","for_ms":9,"on_conflict":"reject"},"tags":["a","b"],)"
        R"("meta":{"k":"v"},)"
        R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",)"
        R"("tracestate":"a=b"},"start_at":"1970-01-01T00:00:00.001Z",)"
        R"("end_at":"1970-01-01T00:00:00.002Z","jitter_ms":3)",
        R"("missed":"all","missed_limit":7,"overlap":"queue","dst_gap":"skip",)"
        R"("dst_overlap":"twice","paused":true,"managed_by":"crontab")",
        R"("state":"paused","reason":"by hand","error":"no such zone")",
        R"("last_scheduled_at":"1970-01-01T00:00:00.004Z",)"
        R"("last_job_id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff",)"
        R"("next":["1970-01-01T00:00:00.005Z","1970-01-01T00:00:00.006Z"])",
        R"("warnings":["careful"]})"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  // The job reads back as a submission.
  const std::size_t begin = text.find(R"({"type")");
  const std::string job_text = text.substr(begin, text.find(R"(,"start_at")") - begin);
  const auto read = decode_job(job_text, kLimits);
  ASSERT_TRUE(read.has_value()) << faults(read)[0];
  EXPECT_EQ(read->unique, job.unique);
  EXPECT_EQ(read->payload, job.payload);
}

TEST(EncodeSchedule, OutcomesAndRuns) {
  EXPECT_EQ(encoded(SetOutcome{{"a", "b"}, {"c"}, {}, {"d"}}),
            R"({"created":["a","b"],"updated":["c"],"unchanged":[],"deleted":["d"]})");
  EXPECT_EQ(encoded(BackfillOutcome{3, 2, true}), R"({"submitted":3,"existing":2,"more":true})");
  EXPECT_EQ(encoded(PreviewAnswer{"Every day", {time_from_ms(0)}, {}}),
            R"({"description":"Every day","next":["1970-01-01T00:00:00.000Z"]})");
  std::string out;
  JsonWriter json(out);
  encode_runs(json, {{time_from_ms(0), time_from_ms(1), *parse_job_id(kId), {}, "submitted", 1, ""},
                     {time_from_ms(0), time_from_ms(1), {}, {}, "skipped_missed", 2, ""},
                     {time_from_ms(0), time_from_ms(1), {}, {}, "refused", 1, "full"}});
  EXPECT_EQ(out,
            R"({"items":[{"scheduled_at":"1970-01-01T00:00:00.000Z",)"
            R"("at":"1970-01-01T00:00:00.001Z","job_id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff",)"
            R"("outcome":"submitted"},{"scheduled_at":"1970-01-01T00:00:00.000Z",)"
            R"("at":"1970-01-01T00:00:00.001Z","job_id":null,"outcome":"skipped_missed",)"
            R"("count":2},{"scheduled_at":"1970-01-01T00:00:00.000Z",)"
            R"("at":"1970-01-01T00:00:00.001Z","job_id":null,"outcome":"refused",)"
            R"("error":"full"}]})");
}

}  // namespace
}  // namespace millrace::api
