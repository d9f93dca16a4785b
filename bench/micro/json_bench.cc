// The JSON layer: the strict check of all input, the decoding of a submission of 100 jobs (which
// begins with that check), and the encoding of a claim's answer.
#include <string>
#include <vector>

#include "api/submission.h"
#include "api/worker_reply.h"
#include "base/check.h"
#include "base/json_check.h"
#include "base/json_writer.h"
#include "documents.h"
#include "micro.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kJobs = 100;
constexpr std::size_t kPayload = 200;

void show_rate(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void check(benchmark::State& state) {
  const std::string text = json_document(static_cast<std::size_t>(state.range(0)));
  const std::size_t depth = api::DecodeLimits{}.json_depth;
  for (auto _ : state) {
    const auto fault = check_json(text, depth, LoneSurrogates::kRefused);
    MILLRACE_CHECK(!fault);
  }
  show_rate(state, text);
}
BENCHMARK(check)->Name("json/check")->ArgName("bytes")->Arg(200)->Arg(10'000)->Arg(1'000'000);

void decode_batch(benchmark::State& state) {
  const std::string body = batch_body(kJobs, kPayload);
  for (auto _ : state) {
    const auto batch = api::decode_batch(body, {});
    MILLRACE_CHECK(batch && batch->jobs.size() == kJobs && !batch->jobs.back().fault);
  }
  show_rate(state, body);
  show_time_per(state, "job", kJobs);
}
BENCHMARK(decode_batch)->Name("json/decode_batch/jobs:100")->Unit(benchmark::kMicrosecond);

void encode_claim(benchmark::State& state) {
  const std::string payload = json_document(kPayload);
  api::ClaimedJob job;
  job.id = *parse_job_id("01890a5d-ac96-774b-bcce-b302099a8057");
  job.queue = "mail";
  job.type = "email.send";
  job.payload = payload;
  job.attempt = 1;
  job.max_attempts = 5;
  job.token = LeaseToken{123'456};
  job.created_at = time_from_ms(1'700'000'000'000);
  job.lease_expires_at = time_from_ms(1'700'000'030'000);
  const std::vector<api::ClaimedJob> jobs(kJobs, job);
  std::string text;
  for (auto _ : state) {
    text.clear();
    JsonWriter json(text);
    json.begin_array();
    for (const api::ClaimedJob& one : jobs) api::encode(json, one);
    json.end_array();
    benchmark::DoNotOptimize(text.data());
  }
  show_rate(state, text);
  show_time_per(state, "job", kJobs);
}
BENCHMARK(encode_claim)->Name("json/encode_claim/jobs:100")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::bench
