#include "cli/bench/sdk_worker.h"

#include <fmt/format.h>

#include "cli/bench/worker.h"

namespace millrace::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// The last completions are answered only after the claim sent with them has waited, so that wait
// must be short.
constexpr sdk::Milliseconds kClaimWait{50};
constexpr sdk::Milliseconds kFlushTimeout{2'000};  // when the user ends the bench

}  // namespace

void BenchSdkWorker::run() {
  const LoadPlan& plan = shared_.plan;
  sdk::WorkerOptions options{.queues = claimed_queues(plan, index_).front(),
                             .concurrency = plan.batch,
                             .poll_wait = kClaimWait,
                             .flush_timeout = kFlushTimeout,
                             .id = fmt::format("bench-sdk-{}", index_),
                             .reported = [this](const sdk::Ack& ack) { settle(ack); }};
  if (plan.claims_by_type) options.types = {plan.type};
  sdk::Worker worker(*plan.sdk_client, std::move(options),
                     [this](sdk::Context& context) { return take(context.job()); });
  const auto done = worker.run(stop_.get_token());
  if (!done) shared_.fail({sdk::describe(done.error())});
}

sdk::Outcome BenchSdkWorker::take(const sdk::ClaimedJob& job) {
  const std::uint64_t now_us = shared_.now_us();
  const std::uint64_t stamp_us = number_after(job.payload, "\"").value_or(now_us);
  {
    const std::lock_guard lock(mutex_);
    held_[job.id] = {stamp_us, steady_clock::now()};
    if (stamp_us > now_us) ++early_;
    hand_out_.add(microseconds{static_cast<std::int64_t>(now_us - stamp_us)});
  }
  ++shared_.claimed;
  return sdk::Outcome::succeeded();
}

void BenchSdkWorker::settle(const sdk::Ack& ack) {
  const auto now = steady_clock::now();
  const std::uint64_t now_us = shared_.now_us();
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(ack.id);
    if (found == held_.end()) return;  // given back
    claim_to_ack_.add(now - found->second.claimed_at);
    end_to_end_.add(microseconds{static_cast<std::int64_t>(now_us - found->second.stamp_us)});
    held_.erase(found);
  }
  shared_.completion_answered(now, 1);
}

void BenchSdkWorker::report(LoadResult& result) const {
  result.hand_out.merge(hand_out_);
  result.claim_to_ack.merge(claim_to_ack_);
  result.end_to_end.merge(end_to_end_);
  result.early += early_;
}

}  // namespace millrace::cli
