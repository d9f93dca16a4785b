// A whole session: requests are written to one end of a socket pair, and answers read from it.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "documents.h"
#include "micro.h"
#include "session_world.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kJobs = 100;
constexpr std::size_t kPayload = 200;

std::string post(std::string_view path, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

std::string live() { return "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"; }
std::string one_job() { return post("/v1/jobs", job_body(kPayload)); }
std::string poll() { return post("/v1/workers/w/poll", poll_body(kJobs)); }
std::string batch() { return post("/v1/jobs/batch", batch_body(kJobs, kPayload)); }

std::int64_t accepted(std::string_view answers) {
  std::int64_t count = 0;
  constexpr std::string_view kAccepted = "HTTP/1.1 20";
  for (std::size_t at = 0; (at = answers.find(kAccepted, at)) != std::string_view::npos; ++at) {
    ++count;
  }
  return count;
}

// This many requests are sent before the first answer is read. All answers to a request have the
// same size.
void pipelined(benchmark::State& state, std::string (*make)()) {
  const std::string request = make();
  std::string requests;
  for (std::int64_t i = 0; i < state.range(0); ++i) requests += request;

  SessionWorld world(json_document(kPayload));
  const std::string first = world.exchange(requests);
  if (accepted(first) != state.range(0)) return state.SkipWithError("not every request was taken");
  for (auto _ : state) world.exchange(requests, first.size());
  show_time_per(state, "request", state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(requests.size()));
}

void depths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("pipelined")->Arg(1)->Arg(32)->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(pipelined, livez, live)->Name("http/session/livez")->Apply(depths);
BENCHMARK_CAPTURE(pipelined, job, one_job)->Name("http/session/submit_1")->Apply(depths);
BENCHMARK_CAPTURE(pipelined, batch, batch)
    ->Name("http/session/submit_100")
    ->ArgName("pipelined")
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(pipelined, poll, poll)
    ->Name("http/session/poll_100")
    ->ArgName("pipelined")
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::bench
