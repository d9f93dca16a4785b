// What the load generators say and hear: bodies made once, of which only the times change, and
// answers looked through for the few things they need, never parsed whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/bench_connection.h"

namespace millrace::cli {

// The least that a payload must have room for: its quotes and a time.
constexpr std::size_t kLeastPayload = 18;

struct JobShape {
  std::string queue;
  std::string type = "bench";
  std::size_t payload_bytes = kLeastPayload;  // as JSON, quotes included
  int priority = 0;
  bool has_run_at = false;
};

// The body of a submission: one job alone for POST /v1/jobs, several for POST /v1/jobs/batch.
class JobsBody {
 public:
  JobsBody(const JobShape& shape, int jobs);

  // Where each batch of this size is sent.
  static std::string_view path(int jobs) { return jobs == 1 ? "/v1/jobs" : "/v1/jobs/batch"; }

  // The time that the payload of job `i` carries, in microseconds; below 10^16.
  void stamp(std::size_t i, std::uint64_t time_us);
  void stamp_all(std::uint64_t time_us);
  // Precondition: the shape has a run_at.
  void set_run_at(std::size_t i, Time time);

  const std::string& text() const { return text_; }
  int jobs() const { return static_cast<int>(stamps_.size()); }

 private:
  std::string text_;
  std::vector<std::size_t> stamps_;   // where in the text each job's is
  std::vector<std::size_t> run_ats_;  // likewise
};

// Whether a submission of that many was taken whole.
bool all_submitted(const BenchConnection::Answer& answer, int jobs);
// Which of so many jobs were refused and may be sent again later, by their place in the submission,
// where all others were taken: memory may run short in the midst of a batch. None: it was answered
// with something else.
std::optional<std::vector<std::size_t>> refused_for_now(const BenchConnection::Answer& answer,
                                                        int jobs);

// memmem: several times as fast as std::string_view::find on JSON, where the first character is
// everywhere.
std::size_t find(std::string_view text, std::string_view wanted, std::size_t from = 0);
std::size_t count(std::string_view text, std::string_view wanted);
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view mark);

// A job as a claim hands it out, as far as a load generator looks.
struct HandedOut {
  std::string_view id;
  std::uint64_t token = 0;
  std::uint64_t stamp_us = 0;
};

// Calls `take` for each job under "jobs" of a poll's answer. Each begins with its id; its token and
// its payload follow, in whatever order.
template <typename Take>
void each_handed_out(std::string_view answer, Take take) {
  constexpr std::string_view kId = R"("id":")";
  constexpr std::size_t kIdSize = 36;
  const std::size_t begin = find(answer, R"("jobs":[)");
  if (begin == std::string_view::npos) return;
  const std::string_view jobs = answer.substr(begin);
  for (std::size_t at = find(jobs, kId); at != std::string_view::npos;) {
    const std::size_t next = find(jobs, kId, at + kId.size());
    const std::string_view job = jobs.substr(at, next == std::string_view::npos ? next : next - at);
    at = next;
    const auto token = number_after(job, R"("token":)");
    const auto stamp = number_after(job, R"("payload":")");
    if (token && stamp) take(HandedOut{job.substr(kId.size(), kIdSize), *token, *stamp});
  }
}

// Adds one completion to the inside of an array of acks.
void add_ack(std::string& acks, const HandedOut& job);

inline bool is_refusal_for_now(int status) { return status == 429 || status == 503; }
Error unexpected_answer(std::string_view to, const BenchConnection::Answer& answer);

// The value of a metric without labels in Prometheus' text format.
std::optional<double> metric_value(std::string_view metrics, std::string_view name);

}  // namespace millrace::cli
