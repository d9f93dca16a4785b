#include "cli/bench_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kStampDigits = 16;  // microseconds of the steady clock
constexpr int kClaimWaitMs = 1'000;
constexpr milliseconds kPauseAfterRefusal{50};
constexpr milliseconds kProgressEvery{250};
constexpr std::chrono::seconds kPatience{30};  // without any completion

std::uint64_t stamp_now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch())
          .count());
}

// memmem: several times as fast as std::string_view::find on JSON, where the first character is
// everywhere.
std::size_t find(std::string_view text, std::string_view wanted, std::size_t from = 0) {
  const void* at = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (at == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

std::size_t count(std::string_view text, std::string_view wanted) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = find(text, wanted, at)) != std::string_view::npos; ++found) {
    at += wanted.size();
  }
  return found;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = find(text, mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* begin = text.data() + at + mark.size();
  const auto [end, fault] = std::from_chars(begin, text.data() + text.size(), number);
  return fault == std::errc{} ? std::optional(number) : std::nullopt;
}

bool is_refusal_for_now(int status) { return status == 429 || status == 503; }

Error unexpected_answer(std::string_view to, const BenchConnection::Answer& answer) {
  return {
      fmt::format("{} was answered with {}: {}", to, answer.status, answer.body.substr(0, 300))};
}

// What all threads of a run share.
struct Shared {
  explicit Shared(const LoadPlan& load_plan) : plan(load_plan), to_submit(load_plan.jobs) {}

  const LoadPlan& plan;
  std::atomic<std::uint64_t> to_submit;  // not yet taken by a producer
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> claimed{0};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::int64_t> first_sent_ns{0};
  std::atomic<std::int64_t> last_answer_ns{0};
  std::atomic<bool> is_over{false};

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Error> error;  // the first

  void fail(Error reason) {
    const std::lock_guard lock(mutex);
    if (!error && !is_over) error = std::move(reason);
    is_over = true;
    changed.notify_all();
  }
  void answered(steady_clock::time_point now) {
    const std::int64_t ns = now.time_since_epoch().count();
    auto last = last_answer_ns.load();
    while (last < ns && !last_answer_ns.compare_exchange_weak(last, ns)) {
    }
  }
  void finish_if_done() {
    if (completed < plan.jobs) return;
    const std::lock_guard lock(mutex);
    is_over = true;
    changed.notify_all();
  }
};

// A batch of jobs as one body, made once; only the times in the payloads change.
class BatchBody {
 public:
  BatchBody(const std::string& queue, int jobs, std::size_t payload_bytes) {
    MILLRACE_CHECK(payload_bytes >= kLeastPayload);
    const std::string padding(payload_bytes - kLeastPayload, 'x');
    body_ = R"({"jobs":[)";
    for (int i = 0; i < jobs; ++i) {
      body_ +=
          fmt::format(R"({}{{"type":"bench","queue":"{}","payload":")", i == 0 ? "" : ",", queue);
      stamps_.push_back(body_.size());
      body_ += std::string(kStampDigits, '0') + padding + "\"}";
    }
    body_ += "]}";
  }

  const std::string& stamped(std::uint64_t time) {
    const std::string digits = fmt::format("{:0{}}", time, kStampDigits);
    for (const std::size_t at : stamps_)
      std::memcpy(body_.data() + at, digits.data(), kStampDigits);
    return body_;
  }

 private:
  std::string body_;
  std::vector<std::size_t> stamps_;
};

class Producer {
 public:
  Producer(Shared& shared, int index)
      : shared_(shared), next_queue_(static_cast<std::size_t>(index)) {}

  Status open() { return connection_.open(shared_.plan.address); }
  void abort() { connection_.abort(); }
  const Histogram& latencies() const { return latencies_; }

  void run() {
    const LoadPlan& plan = shared_.plan;
    const std::string head = request_head(plan.address, plan.token, "/v1/jobs/batch");
    std::vector<BatchBody> bodies;
    bodies.reserve(plan.queues.size());
    for (const std::string& queue : plan.queues) {
      bodies.emplace_back(queue, plan.batch, plan.payload_bytes);
    }
    while (const int jobs = take()) {
      const std::size_t queue = next_queue_++ % plan.queues.size();
      // The last batch may be a smaller one.
      std::optional<BatchBody> last;
      if (jobs < plan.batch) last.emplace(plan.queues[queue], jobs, plan.payload_bytes);
      if (!submit(head, last ? *last : bodies[queue], jobs)) return;
    }
  }

 private:
  // How many jobs to submit next; 0 when all are taken.
  int take() {
    auto left = shared_.to_submit.load();
    for (;;) {
      const auto jobs = std::min(left, static_cast<std::uint64_t>(shared_.plan.batch));
      if (shared_.to_submit.compare_exchange_weak(left, left - jobs)) return static_cast<int>(jobs);
    }
  }

  bool submit(const std::string& head, BatchBody& body, int jobs) {
    while (!shared_.is_over) {
      const auto began = steady_clock::now();
      std::int64_t none = 0;
      shared_.first_sent_ns.compare_exchange_strong(none, began.time_since_epoch().count());
      const auto answer = connection_.exchange(head, body.stamped(stamp_now()));
      if (!answer) return fail(answer.error());
      if (is_refusal_for_now(answer->status)) {
        ++shared_.refused;
        std::this_thread::sleep_for(kPauseAfterRefusal);
        continue;
      }
      const bool all_taken = answer->status == 200 && count(answer->body, R"("status":201)") ==
                                                          static_cast<std::size_t>(jobs);
      if (!all_taken) return fail(unexpected_answer("a submission", *answer));
      latencies_.add(steady_clock::now() - began);
      shared_.submitted += static_cast<std::uint64_t>(jobs);
      return true;
    }
    return false;
  }

  bool fail(Error error) {
    shared_.fail(std::move(error));
    return false;
  }

  Shared& shared_;
  std::size_t next_queue_;
  BenchConnection connection_;
  Histogram latencies_;
};

class BenchWorker {
 public:
  BenchWorker(Shared& shared, int index) : shared_(shared), id_(fmt::format("bench-{}", index)) {
    // Each prefers another queue, so that all are drained alike.
    std::vector<std::string> queues = shared.plan.queues;
    std::rotate(queues.begin(), queues.begin() + index % static_cast<int>(queues.size()),
                queues.end());
    claim_ = fmt::format(R"("claim":{{"queues":["{}"],"limit":{},"wait_ms":{},)"
                         R"("worker":{{"id":"{}","sdk":"bench"}}}})",
                         fmt::join(queues, R"(",")"), shared.plan.batch, kClaimWaitMs, id_);
  }

  Status open() { return connection_.open(shared_.plan.address); }
  void abort() { connection_.abort(); }
  const Histogram& claim_to_ack() const { return claim_to_ack_; }
  const Histogram& end_to_end() const { return end_to_end_; }

  void run() {
    const LoadPlan& plan = shared_.plan;
    const std::string head = request_head(plan.address, plan.token, "/v1/workers/" + id_ + "/poll");
    std::string body;
    while (!shared_.is_over) {
      // Near the end a claim may wait for jobs that never come, and the answer to the acks with it:
      // they go alone.
      const auto unclaimed = plan.jobs - std::min(plan.jobs, shared_.claimed.load());
      const bool is_near_end = unclaimed <= static_cast<std::uint64_t>(plan.batch) *
                                                static_cast<std::uint64_t>(plan.workers);
      if (submitted_us_.empty() && unclaimed == 0) return;
      body = "{";
      if (!submitted_us_.empty()) body += R"("acks":[)" + acks_ + (is_near_end ? "]" : "],");
      if (submitted_us_.empty() || !is_near_end) body += claim_;
      body += "}";
      if (!exchange(head, body)) return;
    }
  }

 private:
  bool exchange(const std::string& head, const std::string& body) {
    const auto answer = connection_.exchange(head, body);
    if (!answer) return fail(answer.error());
    if (is_refusal_for_now(answer->status)) {
      std::this_thread::sleep_for(kPauseAfterRefusal);
      return true;
    }
    if (answer->status != 200) return fail(unexpected_answer("a poll", *answer));
    // Acks are answered with statuses; the jobs claimed have none.
    if (count(answer->body, R"("status":200)") != submitted_us_.size()) {
      return fail(unexpected_answer("a completion", *answer));
    }
    settle();
    const std::size_t jobs = find(answer->body, R"("jobs":[)");
    return jobs == std::string_view::npos || take(answer->body.substr(jobs));
  }

  void settle() {
    if (submitted_us_.empty()) return;
    const auto now = steady_clock::now();
    const std::uint64_t now_us = stamp_now();
    claim_to_ack_.add(now - claimed_at_, submitted_us_.size());
    for (const std::uint64_t submitted : submitted_us_) {
      end_to_end_.add(std::chrono::microseconds{now_us - submitted});
    }
    shared_.answered(now);
    shared_.completed += submitted_us_.size();
    submitted_us_.clear();
    acks_.clear();
    shared_.finish_if_done();
  }

  // The jobs of a claim: each begins with its id; its token and its payload follow, in whatever
  // order.
  bool take(std::string_view jobs) {
    constexpr std::string_view kId = R"("id":")";
    constexpr std::size_t kIdSize = 36;
    claimed_at_ = steady_clock::now();
    std::size_t at = find(jobs, kId);
    while (at != std::string_view::npos) {
      const std::size_t next = find(jobs, kId, at + kId.size());
      const std::string_view job =
          jobs.substr(at, next == std::string_view::npos ? next : next - at);
      at = next;
      const auto token = number_after(job, R"("token":)");
      const auto stamp = number_after(job, R"("payload":")");
      if (!token || !stamp) continue;
      if (!acks_.empty()) acks_ += ',';
      acks_ += R"({"id":")";
      acks_ += job.substr(kId.size(), kIdSize);
      fmt::format_to(std::back_inserter(acks_), R"(","token":{},"outcome":"succeeded"}})", *token);
      submitted_us_.push_back(*stamp);
    }
    shared_.claimed += submitted_us_.size();
    return true;
  }

  bool fail(Error error) {
    shared_.fail(std::move(error));
    return false;
  }

  Shared& shared_;
  std::string id_;
  std::string claim_;
  std::string acks_;
  std::vector<std::uint64_t> submitted_us_;  // of the jobs held, which acks_ acknowledges
  steady_clock::time_point claimed_at_;
  BenchConnection connection_;
  Histogram claim_to_ack_;
  Histogram end_to_end_;
};

// Until all is done, something failed, or nothing has moved for too long.
void watch(Shared& shared, const OnProgress& on_progress) {
  std::uint64_t last = 0;
  auto last_move = steady_clock::now();
  std::unique_lock lock(shared.mutex);
  while (!shared.is_over) {
    shared.changed.wait_for(lock, kProgressEvery, [&] { return shared.is_over.load(); });
    const std::uint64_t completed = shared.completed;
    lock.unlock();
    on_progress(shared.submitted, completed);
    if (std::exchange(last, completed) != completed) last_move = steady_clock::now();
    if (steady_clock::now() - last_move > kPatience) {
      shared.fail({fmt::format("no job was completed for {} s: {} of {} are done",
                               kPatience.count(), completed, shared.plan.jobs)});
    }
    lock.lock();
  }
}

// So many producers or workers, each on a connection of its own.
template <typename Client>
Result<std::vector<std::unique_ptr<Client>>> open_clients(Shared& shared, int count) {
  std::vector<std::unique_ptr<Client>> clients;
  clients.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(shared, i));
    if (auto opened = clients.back()->open(); !opened) return std::unexpected(opened.error());
  }
  return clients;
}

}  // namespace

Result<LoadResult> run_load(const LoadPlan& plan, const OnProgress& on_progress) {
  Shared shared(plan);
  const auto producers = open_clients<Producer>(shared, plan.producers);
  if (!producers) return std::unexpected(producers.error());
  const auto workers = open_clients<BenchWorker>(shared, plan.workers);
  if (!workers) return std::unexpected(workers.error());
  {
    std::vector<std::jthread> threads;
    threads.reserve(workers->size() + producers->size());
    for (const auto& worker : *workers) threads.emplace_back([&worker] { worker->run(); });
    for (const auto& producer : *producers) threads.emplace_back([&producer] { producer->run(); });
    watch(shared, on_progress);
    // Polls that wait for more jobs have nothing to wait for.
    for (const auto& producer : *producers) producer->abort();
    for (const auto& worker : *workers) worker->abort();
  }
  if (shared.error) return std::unexpected(*shared.error);
  LoadResult result;
  result.took = nanoseconds{shared.last_answer_ns - shared.first_sent_ns};
  result.submissions_refused = shared.refused;
  for (const auto& producer : *producers) result.submit.merge(producer->latencies());
  for (const auto& worker : *workers) {
    result.claim_to_ack.merge(worker->claim_to_ack());
    result.end_to_end.merge(worker->end_to_end());
  }
  return result;
}

}  // namespace millrace::cli
