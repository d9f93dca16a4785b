#include "api/job.h"

#include <gtest/gtest.h>

#include "api/decode_testing.h"
#include "api/list.h"
#include "api/text.h"
#include "api/worker_reply.h"
#include "base/json_check.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

using testing::kId;

const JobId kJob = *parse_job_id(kId);
constexpr Time kTime = time_from_ms(1'772'357'400'000);

template <typename T>
std::string encoded(const T& value) {
  std::string out;
  JsonWriter json(out);
  encode(json, value);
  EXPECT_FALSE(check_json(out, 64, LoneSurrogates::kRefused)) << out;
  return out;
}

Job small_job() {
  Job job;
  job.id = kJob;
  job.queue = "q";
  job.type = "t";
  job.max_attempts = 5;
  job.version = 1;
  job.created_at = job.run_at = kTime;
  return job;
}

TEST(EncodeJob, WritesNullWhereThereIsNothing) {
  EXPECT_EQ(
      encoded(small_job()),
      R"({"id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff","queue":"q","type":"t","state":"ready",)"
      R"("priority":0,)"
      R"("attempt":0,"max_attempts":5,"crashes":0,"generation":0,"version":1,)"
      R"("created_at":"2026-03-01T09:30:00.000Z","run_at":"2026-03-01T09:30:00.000Z",)"
      R"("expires_at":null,)"
      R"("started_at":null,"finished_at":null,"lease_expires_at":null,"worker":null,)"
      R"("cancel_requested":false,)"
      R"("progress":null,"last_error":null,"retry":null,"lease_ms":null,"timeout_ms":null,)"
      R"("unique":null,)"
      R"("tags":[],"meta":{}})");
}

TEST(EncodeJob, WritesWhatIsThere) {
  Job job = small_job();
  job.state = JobState::kRunning;
  job.expires_at = job.started_at = job.lease_expires_at = kTime;
  job.worker = "w";
  job.progress = Progress{12.5, "half", R"({"at": 7})"};
  job.last_error = JobError{"T", "m\n", "", "f00d", 2, kTime};
  job.retry = RetryPolicy{};
  job.lease = Duration{1000};
  job.unique = UniqueKey{"k", std::nullopt, OnConflict::kReject};
  job.tags = {"a", "b"};
  job.meta = {{"k\"", "v"}};
  job.traceparent = "00-x";
  job.payload = R"({"b": 1.0,"b":2})";
  job.result = "";
  job.attempts.emplace(
      {Attempt{1, 1, "w", kTime, std::nullopt, AttemptOutcome::kRunning, std::nullopt}});
  job.logs.emplace({LogLine{1, 1, kTime, LogLevel::kWarn, "line"}});
  job.events.emplace();
  const std::string text = encoded(job);
  for (const std::string_view part :
       {R"("state":"running")", R"("worker":"w")",
        R"("progress":{"percent":12.5,"message":"half","checkpoint":{"at": 7}})",
        R"("last_error":{"type":"T","message":"m\n","stack":null,"fingerprint":"f00d",)"
        R"("attempt":2,"at":"2026)",
        R"("retry":{"strategy":"exponential","base_ms":5000,"max_ms":300000,"jitter":0.2},)"
        R"("lease_ms":1000)",
        R"("unique":{"key":"k","for_ms":null,"on_conflict":"reject"},"tags":["a","b"],)"
        R"("meta":{"k\"":"v"})",
        R"("traceparent":"00-x","payload":{"b": 1.0,"b":2},"result":null)",
        R"("attempts":[{"n":1,"attempt":1,"worker":"w","started_at":"2026-03-01T09:30:00.000Z",)"
        R"("finished_at":null,)"
        R"("outcome":"running","error":null}])",
        R"("logs":[{"seq":1,"attempt":1,"at":"2026-03-01T09:30:00.000Z","level":"warn",)"
        R"("message":"line"}],"events":[]})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin " << text;
  }
}

TEST(EncodeList, HasItemsAndACursor) {
  std::string out;
  JsonWriter json(out);
  encode_list(json, std::vector<LogLine>{}, "");
  EXPECT_EQ(out, R"({"items":[],"next_cursor":null})");
  out.clear();
  JsonWriter more(out);
  encode_list(more,
              std::vector<RetryPolicy>{RetryPolicy{RetryStrategy::kList, {}, {}, 0, {Duration{1}}}},
              "abc");
  EXPECT_EQ(out, R"({"items":[{"strategy":"list","delays_ms":[1]}],"next_cursor":"abc"})");
}

TEST(EncodeClaim, KeepsThePayload) {
  ClaimedJob job;
  job.id = kJob;
  job.queue = "q";
  job.type = "t";
  job.payload = "\"\\ud800\"";
  job.attempt = 1;
  job.max_attempts = 5;
  job.token = LeaseToken{77};
  job.lease_expires_at = job.created_at = kTime;
  job.lease = Duration{20'000};
  std::string out;
  JsonWriter json(out);
  encode(json, job);
  EXPECT_EQ(out, R"({"id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff","queue":"q","type":"t",)"
                 R"("payload":"\ud800",)"
                 R"("priority":0,"attempt":1,"max_attempts":5,"lease":{"token":77,)"
                 R"("expires_at":"2026-03-01T09:30:00.000Z","lease_ms":20000},)"
                 R"("created_at":"2026-03-01T09:30:00.000Z","tags":[],"meta":{}})");
  job.deadline = kTime;
  job.timeout = Duration{5'000};
  job.tracestate = "a=b";
  job.progress = Progress{std::nullopt, "", "3"};
  job.payload = "1";
  const std::string full = encoded(job);
  EXPECT_NE(full.find(R"("deadline":"2026)"), std::string::npos);
  EXPECT_NE(full.find(R"("timeout_ms":5000)"), std::string::npos);
  EXPECT_NE(full.find(R"("progress":{"percent":null,"message":null,"checkpoint":3})"),
            std::string::npos);
}

TEST(EncodeResults, AreOfOneShape) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  encode_job_result(json, 201, kJob, "ready");
  encode_heartbeat_result(json, kJob, kTime, true);
  encode_refused_result(json, std::nullopt, make_problem(ProblemCode::kLeaseLost, "d"), "r");
  encode_pruned_job(json, kJob);
  encode(json, WorkerCommand{WorkerCommand::Kind::kCancel, kJob, LeaseToken{5}});
  encode(json, WorkerCommand{});
  json.end_array();
  EXPECT_EQ(out, R"([{"status":201,"id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff","state":"ready"},)"
                 R"({"status":200,"id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff",)"
                 R"("expires_at":"2026-03-01T09:30:00.000Z",)"
                 R"("cancel_requested":true},{"status":409,"error":{"type":"about:blank",)"
                 R"("title":"The worker lost the lease",)"
                 R"("status":409,"detail":"d","code":"lease_lost","request_id":"r"}},)"
                 R"({"id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff","state":"pruned"},)"
                 R"({"type":"cancel","job_id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff","token":5},)"
                 R"({"type":"quiet"}])");
}

TEST(EncodeWorker, HasEveryMember) {
  Worker worker;
  worker.id = "w";
  worker.queues = {"q"};
  worker.running.push_back({kJob, "q", "t", 1, kTime, kTime});
  EXPECT_EQ(
      encoded(worker),
      R"({"id":"w","host":null,"pid":null,"sdk":null,"version":null,"labels":{},"queues":["q"],)"
      R"("types":null,)"
      R"("state":"active","first_seen_at":"1970-01-01T00:00:00.000Z",)"
      R"("last_seen_at":"1970-01-01T00:00:00.000Z",)"
      R"("running":[{"id":"0195a1b2-c3d4-7e5f-8899-aabbccddeeff","queue":"q","type":"t",)"
      R"("attempt":1,)"
      R"("started_at":"2026-03-01T09:30:00.000Z",)"
      R"("lease_expires_at":"2026-03-01T09:30:00.000Z"}]})");
}

// --- Problems.

TEST(Problems, HaveTheStatusOfTheContract) {
  const std::pair<std::string_view, int> expected[] = {{"invalid_request", 400},
                                                       {"invalid_json", 400},
                                                       {"unauthenticated", 401},
                                                       {"forbidden", 403},
                                                       {"not_found", 404},
                                                       {"method_not_allowed", 405},
                                                       {"request_timeout", 408},
                                                       {"duplicate_job", 409},
                                                       {"duplicate_workflow", 409},
                                                       {"lease_lost", 409},
                                                       {"invalid_state", 409},
                                                       {"id_mismatch", 409},
                                                       {"too_many_queues", 409},
                                                       {"too_many_schedules", 409},
                                                       {"too_many_entries", 409},
                                                       {"limit_in_use", 409},
                                                       {"gone", 410},
                                                       {"version_conflict", 412},
                                                       {"payload_too_large", 413},
                                                       {"uri_too_long", 414},
                                                       {"unsupported_media_type", 415},
                                                       {"validation_failed", 422},
                                                       {"idempotency_mismatch", 422},
                                                       {"across_shards", 422},
                                                       {"unknown_limit", 422},
                                                       {"rate_limited", 429},
                                                       {"queue_full", 429},
                                                       {"key_full", 429},
                                                       {"headers_too_large", 431},
                                                       {"internal", 500},
                                                       {"draining", 503},
                                                       {"storage_unavailable", 503},
                                                       {"overloaded", 503}};
  ASSERT_EQ(std::size(expected), kProblemCodes);
  for (std::size_t i = 0; i < kProblemCodes; ++i) {
    const ProblemKind& kind = kind_of(static_cast<ProblemCode>(i));
    EXPECT_EQ(kind.name, expected[i].first);
    EXPECT_EQ(kind.status, expected[i].second);
    EXPECT_FALSE(kind.title.empty());
  }
}

TEST(Problems, ListTheirFaults) {
  Problem problem = make_fault(FieldError::Place::kPointer, "/priority", "must be -32768 to 32767");
  problem.errors.push_back({FieldError::Place::kParameter, "q", "d"});
  problem.errors.push_back({FieldError::Place::kHeader, "If-Match", "d"});
  prefix_pointers(problem, "/jobs/3");
  std::string out;
  JsonWriter json(out);
  encode(json, problem, "req-1");
  EXPECT_EQ(
      out,
      R"({"type":"about:blank","title":"The request is not valid","status":422,"detail":"1 fault",)"
      R"("code":"validation_failed","request_id":"req-1","errors":[{"pointer":"/jobs/3/priority",)"
      R"("detail":"must be -32768 to 32767"},{"parameter":"q","detail":"d"},)"
      R"({"header":"If-Match","detail":"d"}]})");
}

// --- Text.

TEST(Text, QuotesHostileTextHarmlessly) {
  EXPECT_EQ(single_quoted("a\x1b[2Jb\n"), "'a?[2Jb?'");
  EXPECT_EQ(single_quoted(std::string(100, 'x')), "'" + std::string(64, 'x') + "...'");
}

}  // namespace
}  // namespace millrace::api
