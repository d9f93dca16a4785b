#include "cli/bench/producer.h"

#include <numeric>
#include <thread>
#include <utility>

namespace millrace::cli {
namespace {

using std::chrono::steady_clock;

// More queues than this are divided among the producers, since the bodies would need gigabytes.
constexpr std::size_t kQueuesOfEach = 100;

// The queues of the producer with this index; each producer begins with a different one.
std::vector<std::size_t> queues_of(const LoadPlan& plan, int index) {
  const auto first = static_cast<std::size_t>(index);
  const auto producers = static_cast<std::size_t>(plan.producers);
  const std::size_t all = plan.queues.size();
  std::vector<std::size_t> queues;
  if (all > kQueuesOfEach && all >= producers) {
    for (std::size_t queue = first; queue < all; queue += producers) queues.push_back(queue);
  } else {
    for (std::size_t i = 0; i < all; ++i) queues.push_back((first + i) % all);
  }
  return queues;
}

JobShape shape_of(const LoadPlan& plan, std::size_t queue) {
  return {.queue = plan.queues[queue],
          .type = plan.type,
          .payload_bytes = plan.payload_bytes,
          .priority = plan.priority,
          .has_run_at = plan.delays.has_value(),
          .has_fair_key = plan.fair_keys > 0};
}

std::uint64_t us_of(LoadShared::Instant instant) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(instant.time_since_epoch()).count());
}

}  // namespace

BenchProducer::BenchProducer(LoadShared& shared, int index)
    : shared_(shared), queues_(queues_of(shared.plan, index)) {
  bodies_.reserve(queues_.size());
  for (const std::size_t queue : queues_) {
    bodies_.emplace_back(shape_of(shared.plan, queue), shared.plan.batch);
  }
}

void BenchProducer::run() {
  for (auto taken = shared_.take(); taken.jobs > 0; taken = shared_.take()) {
    if (!submit(taken)) return;
  }
}

JobsBody& BenchProducer::next_body(int jobs) {
  const std::size_t turn = next_++ % queues_.size();
  if (jobs == shared_.plan.batch) return bodies_[turn];
  return last_.emplace(shape_of(shared_.plan, queues_[turn]), jobs);
}

std::optional<LoadShared::Instant> BenchProducer::due(LoadShared::Taken taken) const {
  if (shared_.plan.rate == 0) return std::nullopt;
  // A batch is due when its last job is: a producer that collects jobs can't send it earlier.
  const double jobs = static_cast<double>(taken.first) + taken.jobs;
  return shared_.start + std::chrono::duration_cast<steady_clock::duration>(
                             std::chrono::duration<double>(jobs / shared_.plan.rate));
}

void BenchProducer::stamp(JobsBody& body, const Jobs& jobs,
                          std::optional<LoadShared::Instant> due) const {
  if (const std::uint64_t keys = shared_.plan.fair_keys; keys > 0) {
    for (std::size_t i = 0; i < jobs.size(); ++i) body.set_fair_key(i, jobs[i] % keys);
  }
  if (due) return body.stamp_all(us_of(*due));
  const auto& delays = shared_.plan.delays;
  if (!delays) return body.stamp_all(shared_.now_us());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Time time = delays->due(jobs[i]);
    body.set_run_at(i, time);
    body.stamp(i, static_cast<std::uint64_t>(to_ms(time)) * 1'000);
  }
}

bool BenchProducer::submit(LoadShared::Taken taken) {
  const auto due_at = due(taken);
  if (due_at && !shared_.sleep_until(*due_at)) return false;
  Jobs jobs(static_cast<std::size_t>(taken.jobs));
  std::iota(jobs.begin(), jobs.end(), taken.first);
  while (!shared_.is_over) {
    auto refused = send(jobs, due_at);
    if (!refused) return fail(refused.error());
    if (refused->empty()) return true;
    ++shared_.refused;
    std::this_thread::sleep_for(kPauseAfterRefusal);
    jobs = std::move(*refused);
  }
  return false;
}

Result<BenchProducer::Jobs> BenchProducer::send(const Jobs& jobs,
                                                std::optional<LoadShared::Instant> due) {
  const LoadPlan& plan = shared_.plan;
  const int count = static_cast<int>(jobs.size());
  JobsBody& body = next_body(count);
  stamp(body, jobs, due);
  const auto sent_at = steady_clock::now();
  shared_.sent(sent_at);
  const auto answer = connection_.exchange(
      request_head(plan.address, plan.token, JobsBody::path(count)), body.text());
  if (!answer) return std::unexpected(answer.error());
  const auto places = refused_for_now(*answer, count);
  if (!places) return std::unexpected(unexpected_answer("a submission", *answer));
  if (places->size() < jobs.size()) {
    count_answer(jobs.size() - places->size(), due.value_or(sent_at));
  }
  Jobs refused;
  for (const std::size_t place : *places) refused.push_back(jobs[place]);
  return refused;
}

void BenchProducer::count_answer(std::size_t jobs, LoadShared::Instant began) {
  const auto now = steady_clock::now();
  latencies_.add(now - began);
  const auto& delays = shared_.plan.delays;
  if (delays && shared_.now_us() > static_cast<std::uint64_t>(to_ms(delays->first)) * 1'000) {
    shared_.submitted_late += jobs;
  }
  shared_.submission_answered(now, jobs);
}

bool BenchProducer::fail(Error error) {
  shared_.fail(std::move(error));
  return false;
}

}  // namespace millrace::cli
