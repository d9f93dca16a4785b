// Events in the journal's encoding. A step's decisions are encoded before they are written, and
// decoded on a restart and for readers of the events.
#include <string>

#include "base/check.h"
#include "machine_driver.h"
#include "micro.h"
#include "store/event_codec.h"

namespace millrace::bench {
namespace {

// The machine's events for `jobs` jobs and one kind of command.
using Make = core::EventBatch (*)(std::size_t jobs);

core::EventBatch enqueues(std::size_t jobs) {
  MachineDriver driver;
  driver.step(driver.new_jobs(jobs));  // also makes the queue, which must not count
  driver.step(driver.new_jobs(jobs));
  return driver.batch();
}

core::EventBatch claims(std::size_t jobs) {
  MachineDriver driver;
  driver.step(driver.new_jobs(jobs));
  driver.step(driver.claim(jobs));
  return driver.batch();
}

core::EventBatch acks(std::size_t jobs) {
  MachineDriver driver;
  driver.step(driver.new_jobs(jobs));
  const auto reply = driver.step(driver.claim(jobs));
  driver.step(MachineDriver::succeeded(std::get<core::ClaimReply>(reply)));
  return driver.batch();
}

// A claim is one event for many jobs; other commands make one event per job.
void show_sizes(benchmark::State& state, const core::EventBatch& batch, const std::string& body) {
  const auto bytes = static_cast<double>(body.size());
  show_time_per(state, "job", state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
  state.counters["bytes_per_job"] = bytes / static_cast<double>(state.range(0));
  state.counters["bytes_per_event"] = bytes / static_cast<double>(batch.events.size());
}

void encode(benchmark::State& state, Make make) {
  const core::EventBatch batch = make(static_cast<std::size_t>(state.range(0)));
  std::string body;
  for (auto _ : state) {
    store::encode_events(batch, body);
    benchmark::DoNotOptimize(body.data());
  }
  show_sizes(state, batch, body);
}

void decode(benchmark::State& state, Make make) {
  const core::EventBatch batch = make(static_cast<std::size_t>(state.range(0)));
  std::string body;
  store::encode_events(batch, body);
  for (auto _ : state) {
    const auto decoded = store::decode_events(body);
    MILLRACE_CHECK(decoded.has_value() && decoded->events.size() == batch.events.size());
  }
  show_sizes(state, batch, body);
}

void batches(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("jobs")->Arg(100)->Arg(1'000)->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(encode, enqueues, enqueues)->Name("codec/encode/enqueues")->Apply(batches);
BENCHMARK_CAPTURE(encode, claims, claims)->Name("codec/encode/claims")->Apply(batches);
BENCHMARK_CAPTURE(encode, acks, acks)->Name("codec/encode/acks")->Apply(batches);
BENCHMARK_CAPTURE(decode, enqueues, enqueues)->Name("codec/decode/enqueues")->Apply(batches);
BENCHMARK_CAPTURE(decode, claims, claims)->Name("codec/decode/claims")->Apply(batches);
BENCHMARK_CAPTURE(decode, acks, acks)->Name("codec/decode/acks")->Apply(batches);

}  // namespace
}  // namespace millrace::bench
