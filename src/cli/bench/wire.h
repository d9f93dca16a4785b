// The load generators' messages. Bodies are built once; afterwards only the times in them change.
// Answers are searched for the few values that are needed, and never fully parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/bench/connection.h"

namespace millrace::cli {

// The smallest payload: quotes and a time.
constexpr std::size_t kLeastPayload = 18;

struct JobShape {
  std::string queue;
  std::string type = "bench";
  std::size_t payload_bytes = kLeastPayload;  // as JSON, quotes included
  int priority = 0;
  bool has_run_at = false;
  bool has_fair_key = false;
};

// The body of a submission: a single job for POST /v1/jobs, several for POST /v1/jobs/batch.
class JobsBody {
 public:
  JobsBody(const JobShape& shape, int jobs);

  // The path for batches of this size.
  static std::string_view path(int jobs) { return jobs == 1 ? "/v1/jobs" : "/v1/jobs/batch"; }

  // Sets the time in the payload of job `i`, in microseconds; below 10^16.
  void stamp(std::size_t i, std::uint64_t time_us);
  void stamp_all(std::uint64_t time_us);
  // The shape must have a run_at.
  void set_run_at(std::size_t i, Time time);
  // The shape must have a fair key, and `key` must be below 10^6.
  void set_fair_key(std::size_t i, std::uint64_t key);

  const std::string& text() const { return text_; }
  int jobs() const { return static_cast<int>(stamps_.size()); }

 private:
  std::string text_;
  std::vector<std::size_t> stamps_;   // the offset of each job's time in the text
  std::vector<std::size_t> run_ats_;  // the same for run_at
  std::vector<std::size_t> fair_keys_;
};

// Whether all `jobs` of a submission were accepted.
bool all_submitted(const BenchConnection::Answer& answer, int jobs);
// The positions in a submission of the jobs that were temporarily refused, if all others were
// accepted (memory may run short in the middle of a batch). None: any other answer.
std::optional<std::vector<std::size_t>> refused_for_now(const BenchConnection::Answer& answer,
                                                        int jobs);

// memmem is several times as fast as std::string_view::find on JSON, where the first character of
// most patterns is frequent.
std::size_t find(std::string_view text, std::string_view wanted, std::size_t from = 0);
std::size_t count(std::string_view text, std::string_view wanted);
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view mark);

// The parts of a claimed job that a load generator reads.
struct HandedOut {
  std::string_view id;
  std::uint64_t token = 0;
  std::uint64_t stamp_us = 0;
};

// Calls `take` for each job under "jobs" of a poll's answer. Each begins with its id; its token and
// payload follow in any order.
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

// Appends one completion to the content of an array of acks.
void add_ack(std::string& acks, const HandedOut& job);

inline bool is_refusal_for_now(int status) { return status == 429 || status == 503; }
Error unexpected_answer(std::string_view to, const BenchConnection::Answer& answer);

// The value of a metric without labels in Prometheus' text format.
std::optional<double> metric_value(std::string_view metrics, std::string_view name);

}  // namespace millrace::cli
