#include "api/queue.h"

#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "api/event.h"
#include "api/meta.h"
#include "api/stats.h"
#include "base/json_check.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using testing::faults;
using testing::kLimits;
using testing::places;
using testing::Strings;

template <typename T>
std::string encoded(const T& value) {
  std::string out;
  JsonWriter json(out);
  encode(json, value);
  EXPECT_FALSE(check_json(out, 64, LoneSurrogates::kRefused)) << out;
  return out;
}

TEST(DecodeQueueSettings, TellsAbsentNullAndValueApart) {
  const auto change = decode_queue_settings(
      R"({"max_attempts":1000,"max_crashes":null,"max_ready":null,"lease_ms":1000,
      "retention":{"succeeded_ms":0,"dead_ms":null,"expired_ms":315360000000}})",
      kLimits);
  ASSERT_TRUE(change.has_value()) << faults(change)[0];
  EXPECT_TRUE(change->max_attempts.present);
  EXPECT_EQ(change->max_attempts.value, 1000);
  EXPECT_TRUE(change->max_crashes.present && !change->max_crashes.value);
  EXPECT_TRUE(change->max_ready.present && !change->max_ready.value);
  EXPECT_FALSE(change->retry.present);
  EXPECT_EQ(change->lease.value, Duration{1000});
  const RetentionChange& retention = *change->retention.value;
  EXPECT_EQ(retention.succeeded.value, Duration{0});
  EXPECT_TRUE(retention.dead.present && !retention.dead.value);
  EXPECT_FALSE(retention.cancelled.present);
  EXPECT_EQ(retention.expired.value, Duration{315'360'000'000});
  EXPECT_FALSE(decode_queue_settings("", kLimits)->max_attempts.present);
  EXPECT_TRUE(decode_queue_settings(R"({"retention":null})", kLimits)->retention.present);
}

TEST(DecodeQueueSettings, IsHeldToItsBounds) {
  EXPECT_EQ(places(decode_queue_settings(
                R"({"max_attempts":0,"max_crashes":1001,"max_ready":-1,"lease_ms":999,
      "retry":{"strategy":"x"},
      "retention":{"dead_ms":-1,"succeeded_ms":315360000001,"blocked_ms":1}})",
                kLimits)),
            (Strings{"/max_attempts", "/max_crashes", "/max_ready", "/lease_ms", "/retry/strategy",
                     "/retention/dead_ms", "/retention/succeeded_ms", "/retention/blocked_ms"}));
  EXPECT_TRUE(decode_queue_settings(R"({"max_crashes":1000,"max_ready":0})", kLimits).has_value());
}

TEST(DecodeQueueSettings, TakesAGateAndLimits) {
  const auto settings = decode_queue_settings(
      R"({"concurrency":3,"rate":{"limit":1,"per_ms":2,"burst":4},"limits":[{"name":"a"}]})",
      kLimits);
  EXPECT_EQ(settings->concurrency.value, 3);
  EXPECT_EQ(settings->rate.value, (Rate{1, Duration{2}, 4}));
  EXPECT_EQ(settings->limits.value, (std::vector<JobLimit>{{SharedBytes("a"), {}}}));
  const auto none = decode_queue_settings(R"({"concurrency":null,"rate":null})", kLimits);
  EXPECT_TRUE(none->concurrency.present && !none->concurrency.value);
  EXPECT_TRUE(none->rate.present && !none->rate.value);
  EXPECT_FALSE(none->limits.present);
}

TEST(DecodeQueueSettings, TakesSharesAndAgeing) {
  const auto settings = decode_queue_settings(
      R"({"fair":{"weights":{"acme":3,"":2},"default_weight":7,"by":"starts"},"ageing_ms":1000,
      "limits":[{"name":"a","key_from":"fair_key"}]})",
      kLimits);
  EXPECT_EQ(settings->fair.value->weights,
            (std::vector<std::pair<std::string, std::int64_t>>{{"acme", 3}, {"", 2}}));
  EXPECT_EQ(settings->fair.value->default_weight, 7);
  EXPECT_EQ(settings->fair.value->by, FairBy::kStarts);
  EXPECT_EQ(settings->ageing.value, Duration{1'000});
  EXPECT_TRUE(settings->limits.value->front().key_from_fair);
  EXPECT_EQ(decode_queue_settings(R"({"fair":{}})", kLimits)->fair.value->by, FairBy::kTime);
  const auto none = decode_queue_settings(R"({"fair":null,"ageing_ms":null})", kLimits);
  EXPECT_TRUE(none->fair.present && !none->fair.value);
  EXPECT_TRUE(none->ageing.present && !none->ageing.value);
  EXPECT_EQ(places(decode_queue_settings(
                R"({"fair":{"weights":{"a":0,"b":1001},"default_weight":0,"by":"age","x":1},
                "ageing_ms":999,"limits":[{"name":"a","key":"k","key_from":"fair_key"},
                {"name":"b","key_from":"id"}]})",
                kLimits)),
            (Strings{"/fair/weights/a", "/fair/weights/b", "/fair/default_weight", "/fair/by",
                     "/fair/x", "/ageing_ms", "/limits/0", "/limits/1/key_from"}));
}

TEST(EncodeQueue, SaysHowItShares) {
  Queue queue;
  queue.settings.fair = FairSettings{{{"acme", 3}}, 2, FairBy::kStarts};
  queue.settings.ageing = Duration{5'000};
  queue.settings.limits = {{SharedBytes("tenants"), {}, 1, 0, true}};
  const std::string text = encoded(queue);
  EXPECT_NE(text.find(R"("limits":[{"name":"tenants","key_from":"fair_key"}],)"
                      R"("fair":{"weights":{"acme":3},"default_weight":2,"by":"starts"},)"
                      R"("ageing_ms":5000,)"),
            std::string::npos)
      << text;
  EXPECT_EQ(encoded(Share{"acme", 3, 1, 2, 0.25}),
            R"({"key":"acme","weight":3,"running":1,"waiting":2,"share":0.25})");
}

TEST(DecodePause, TakesAReason) {
  EXPECT_EQ(decode_pause("", kLimits)->reason, "");
  EXPECT_EQ(decode_pause(R"({"reason":"deploy"})", kLimits)->reason, "deploy");
  EXPECT_EQ(places(decode_pause(R"({"reason":7})", kLimits)), (Strings{"/reason"}));
}

TEST(DecodePurge, TakesWaitingStatesUnlessNamedAndNeverRunning) {
  EXPECT_EQ(decode_purge("", kLimits)->states,
            (std::vector<JobState>{JobState::kScheduled, JobState::kReady, JobState::kRetrying,
                                   JobState::kBlocked}));
  EXPECT_EQ(decode_purge(R"({"states":["dead","dead"]})", kLimits)->states,
            (std::vector<JobState>{JobState::kDead}));
  EXPECT_EQ(places(decode_purge(R"({"states":["dead","running","x"]})", kLimits)),
            (Strings{"/states/1", "/states/2"}));
  EXPECT_EQ(places(decode_purge(R"({"states":[]})", kLimits)), (Strings{"/states"}));
}

TEST(EncodeQueue, HasEveryMember) {
  Queue queue;
  queue.name = "mail";
  queue.counts[static_cast<std::size_t>(JobState::kReady)] = 7;
  queue.rates.started_per_s = 1.5;
  queue.version = 3;
  EXPECT_EQ(
      encoded(queue),
      R"({"name":"mail","paused":false,"pause_reason":null,"counts":{"scheduled":0,"ready":7,)"
      R"("running":0,)"
      R"("retrying":0,"blocked":0,"succeeded":0,"dead":0,"cancelled":0,"expired":0},)"
      R"("oldest_ready_age_ms":null,)"
      R"("rates":{"submitted_per_s":0,"started_per_s":1.5,"succeeded_per_s":0,"failed_per_s":0},)"
      R"("settings":{"max_attempts":5,"max_crashes":null,"retry":{"strategy":"exponential",)"
      R"("base_ms":5000,)"
      R"("max_ms":300000,"jitter":0.2},"lease_ms":30000,"max_ready":null,)"
      R"("concurrency":null,"rate":null,"breaker":null,"limits":[],"fair":null,"ageing_ms":null,)"
      R"("max_ready_per_key":null,)"
      R"("retention":{"succeeded_ms":86400000,)"
      R"("dead_ms":2592000000,"cancelled_ms":86400000,"expired_ms":86400000}},"version":3})");
}

TEST(EncodeQueue, SettingsReadBackAsAChange) {
  QueueSettings settings;
  settings.retry = {RetryStrategy::kList, {}, {}, 0, {Duration{1}, Duration{2}}};
  settings.max_ready = 10;
  settings.retention.dead.reset();
  const std::string text = encoded(settings);
  const auto change = decode_queue_settings(text, kLimits);
  ASSERT_TRUE(change.has_value()) << faults(change)[0];
  EXPECT_EQ(change->retry.value->delays, settings.retry.delays);
  EXPECT_EQ(change->max_ready.value, 10);
  EXPECT_TRUE(change->retention.value->dead.present && !change->retention.value->dead.value);
}

// --- Events.

TEST(EventsQuery, TakesTypesAndQueues) {
  const auto query = decode_events_query(
      "types=job.dead,job.submitted&types=job.dead&queues=a,b%2Fc&wait_ms=60000&limit=1");
  ASSERT_TRUE(query.has_value()) << faults(query)[0];
  EXPECT_EQ(query->types, (std::vector<EventType>{EventType::kJobDead, EventType::kJobSubmitted}));
  EXPECT_EQ(query->queues, (Strings{"a", "b/c"}));
  EXPECT_EQ(decode_events_query("")->limit, 50);
  EXPECT_EQ(faults(decode_events_query("types=job.ded")),
            (Strings{"types: unknown event type 'job.ded'; did you mean 'job.dead'?"}));
  EXPECT_EQ(places(decode_events_query("queues=,&wait_ms=60001&limit=1001&cursor=%2F")),
            (Strings{"queues", "queues", "wait_ms", "limit", "cursor"}));
  std::string queues = "queues=q";
  for (int i = 1; i < 100; ++i) queues += ",q";
  EXPECT_EQ(decode_events_query(queues)->queues.size(), 100U);
  EXPECT_EQ(places(decode_events_query(queues + ",q")), (Strings{"queues"}));
}

TEST(EncodeEvents, NullWhereNothing) {
  JobEvent event;
  event.id = "p1";
  event.at = time_from_ms(0);
  event.type = EventType::kQueuePaused;
  event.queue = "q";
  std::string out;
  JsonWriter json(out);
  encode_event_page(json, {event}, "p2");
  EXPECT_EQ(
      out,
      R"({"items":[{"id":"p1","at":"1970-01-01T00:00:00.000Z","type":"queue.paused","queue":"q",)"
      R"("job_id":null,)"
      R"("job_type":null,"attempt":null,"worker":null,"data":{}}],"next_cursor":"p2"})");
}

// --- Statistics.

TEST(StatsQuery, ChoosesAStepThatSuitsTheWindow) {
  EXPECT_EQ(decode_stats_query("")->window, Duration{3'600'000});
  EXPECT_EQ(decode_stats_query("")->step, Duration{60'000});
  EXPECT_EQ(decode_stats_query("window_ms=1000")->step, Duration{1000});
  EXPECT_EQ(decode_stats_query("window_ms=86400000")->step, Duration{300'000});
  EXPECT_EQ(decode_stats_query("window_ms=1000000&step_ms=1000")->step, Duration{1000});
  EXPECT_EQ(places(decode_stats_query("window_ms=1000001&step_ms=1000")), (Strings{"step_ms"}));
  EXPECT_EQ(places(decode_stats_query("window_ms=1000&step_ms=1001")), (Strings{"step_ms"}));
  EXPECT_EQ(places(decode_stats_query("window_ms=999&step_ms=999")),
            (Strings{"window_ms", "step_ms"}));
  EXPECT_EQ(decode_stats_query("window_ms=7776000000")->step, Duration{10'800'000});
  EXPECT_EQ(places(decode_stats_query("window_ms=7776000001&by=worker")),
            (Strings{"window_ms", "by"}));
  EXPECT_EQ(places(decode_stats_query("by=queue&by=type")), (Strings{"by"}));
  EXPECT_EQ(places(decode_stats_query("name=q")), (Strings{"name"}));
  const auto keys = decode_stats_query("by=fair_key&name=acme");
  EXPECT_EQ(keys->by, StatsBy::kFairKey);
  EXPECT_EQ(keys->name, "acme");
}

TEST(EncodeStats, WritesColumns) {
  Stats stats;
  stats.from = time_from_ms(0);
  stats.step = Duration{1000};
  StatsGroup group;
  stats.by = StatsBy::kQueue;
  group.name = "q";
  group.submitted = {1, 0};
  group.wait_ms.p50 = {5, std::nullopt};
  stats.groups.push_back(group);
  stats.deploys.push_back({time_from_ms(1), "", "1.2", "go"});
  stats.gaps.push_back({time_from_ms(0), time_from_ms(1)});
  stats.as_of = time_from_ms(2);
  EXPECT_EQ(encoded(stats),
            R"({"from":"1970-01-01T00:00:00.000Z","step_ms":1000,"groups":[{"queue":"q",)"
            R"("submitted":[1,0],"started":[],)"
            R"("succeeded":[],"failed":[],"dead":[],"wait_ms":{"p50":[5,null],"p95":[],"p99":[]},)"
            R"("run_ms":{"p50":[],"p95":[],"p99":[]}}],)"
            R"("deploys":[{"at":"1970-01-01T00:00:00.001Z","type":null,"version":"1.2",)"
            R"("worker_sdk":"go"}],"gaps":[{"from":"1970-01-01T00:00:00.000Z",)"
            R"("to":"1970-01-01T00:00:00.001Z"}],"as_of":"1970-01-01T00:00:00.002Z"})");
}

// --- The server about itself.

TEST(EncodeMeta, ListsTheLimits) {
  Meta meta;
  meta.version = "0.1.0";
  meta.store = "sqlite";
  meta.node = "n\"1";
  meta.limits = {{"payload_bytes", 1'048'576}};
  EXPECT_EQ(encoded(meta),
            R"({"version":"0.1.0","commit":null,"store":"sqlite","node":"n\"1","shards":1,)"
            R"("started_at":"1970-01-01T00:00:00.000Z","server_time":"1970-01-01T00:00:00.000Z",)"
            R"("limits":{"payload_bytes":1048576}})");
}

TEST(DecodeBackup, WantsAnAbsolutePath) {
  EXPECT_EQ(decode_backup(R"({"path":"/var/backup"})", kLimits)->path, "/var/backup");
  EXPECT_EQ(places(decode_backup(R"({"path":"backup"})", kLimits)), (Strings{"/path"}));
  EXPECT_EQ(places(decode_backup("{}", kLimits)), (Strings{"/path"}));
  EXPECT_EQ(places(decode_backup(R"({"path":"/)" + std::string(4096, 'x') + "\"}", kLimits)),
            (Strings{"/path"}));
}

}  // namespace
}  // namespace millrace::api
