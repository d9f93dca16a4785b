#include "cli/bench/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "api/bounds.h"

namespace millrace::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int kClaimWaitMs = 1'000;
// If no worker can know which batch is the last, the last completions wait for a claim that finds
// nothing, so that wait must be short.
constexpr int kShortClaimWaitMs = 100;
// A worker that names its queues in turn does not wait for jobs of one group; it pauses when all
// were empty.
constexpr auto kPauseAfterEmptyRound = std::chrono::milliseconds(2);

}  // namespace

std::vector<std::vector<std::string>> claimed_queues(const LoadPlan& plan, int index) {
  const std::size_t all = plan.queues.size();
  const auto first = static_cast<std::size_t>(index);
  if (all <= api::kMaxClaimQueues) {
    std::vector<std::string> queues = plan.queues;
    std::ranges::rotate(queues, queues.begin() + static_cast<std::ptrdiff_t>(first % all));
    return {std::move(queues)};
  }
  std::vector<std::vector<std::string>> groups;
  const auto workers = static_cast<std::size_t>(plan.workers);
  for (std::size_t queue = first % all; queue < all; queue += workers) {
    if (groups.empty() || groups.back().size() == api::kMaxClaimQueues) groups.emplace_back();
    groups.back().push_back(plan.queues[queue]);
  }
  return groups;
}

BenchWorker::BenchWorker(LoadShared& shared, int index)
    : shared_(shared), id_(fmt::format("bench-{}", index)) {
  const LoadPlan& plan = shared.plan;
  const auto groups = claimed_queues(plan, index);
  const int patience = plan.submit_for ? kShortClaimWaitMs : kClaimWaitMs;
  for (const std::vector<std::string>& queues : groups) {
    claims_.push_back(
        fmt::format(R"("claim":{{"queues":["{}"],{}"limit":{},"wait_ms":{},)"
                    R"("worker":{{"id":"{}","sdk":"bench"}}}})",
                    fmt::join(queues, R"(",")"),
                    plan.claims_by_type ? fmt::format(R"("types":["{}"],)", plan.type) : "",
                    plan.batch, groups.size() == 1 ? patience : 0, id_));
  }
}

void BenchWorker::run() {
  const LoadPlan& plan = shared_.plan;
  const std::string head = request_head(plan.address, plan.token, "/v1/workers/" + id_ + "/poll");
  std::string body;
  while (!shared_.is_over) {
    // Near the end a claim may wait for jobs that never come, and would delay the answer to the
    // acks. So the acks are sent alone.
    const std::uint64_t to_do = shared_.to_do;
    const auto unclaimed = to_do - std::min(to_do, shared_.claimed.load());
    const bool is_near_end = unclaimed <= static_cast<std::uint64_t>(plan.batch) *
                                              static_cast<std::uint64_t>(plan.workers);
    if (stamps_us_.empty() && unclaimed == 0) return;
    body = "{";
    if (!stamps_us_.empty()) body += R"("acks":[)" + acks_ + (is_near_end ? "]" : "],");
    const bool claims = stamps_us_.empty() || !is_near_end;
    if (claims) body += claims_[next_claim_];
    body += "}";
    if (!exchange(head, body)) return;
    // A full batch suggests that these queues have more jobs.
    if (claims && stamps_us_.size() < static_cast<std::size_t>(plan.batch)) next_group();
  }
}

void BenchWorker::next_group() {
  next_claim_ = (next_claim_ + 1) % claims_.size();
  empty_claims_ = stamps_us_.empty() ? empty_claims_ + 1 : 0;
  if (claims_.size() == 1 || empty_claims_ < claims_.size()) return;
  empty_claims_ = 0;
  std::this_thread::sleep_for(kPauseAfterEmptyRound);
}

bool BenchWorker::exchange(const std::string& head, const std::string& body) {
  const auto answer = connection_.exchange(head, body);
  if (!answer) return fail(answer.error());
  if (is_refusal_for_now(answer->status)) {
    std::this_thread::sleep_for(kPauseAfterRefusal);
    return true;
  }
  if (answer->status != 200) return fail(unexpected_answer("a poll", *answer));
  // Each ack's answer has a status; claimed jobs have none.
  if (count(answer->body, R"("status":200)") != stamps_us_.size()) {
    return fail(unexpected_answer("a completion", *answer));
  }
  settle();
  take(answer->body);
  return true;
}

void BenchWorker::settle() {
  if (stamps_us_.empty()) return;
  const auto now = steady_clock::now();
  const std::uint64_t now_us = shared_.now_us();
  claim_to_ack_.add(now - claimed_at_, stamps_us_.size());
  for (const std::uint64_t stamp : stamps_us_) {
    end_to_end_.add(microseconds{static_cast<std::int64_t>(now_us - stamp)});
  }
  const auto jobs = stamps_us_.size();
  stamps_us_.clear();
  acks_.clear();
  shared_.completion_answered(now, jobs);
}

void BenchWorker::take(std::string_view answer) {
  claimed_at_ = steady_clock::now();
  const std::uint64_t now_us = shared_.now_us();
  each_handed_out(answer, [&](const HandedOut& job) {
    add_ack(acks_, job);
    stamps_us_.push_back(job.stamp_us);
    if (job.stamp_us > now_us) ++early_;
    hand_out_.add(microseconds{static_cast<std::int64_t>(now_us - job.stamp_us)});
  });
  shared_.claimed += stamps_us_.size();
}

void BenchWorker::report(LoadResult& result) const {
  result.hand_out.merge(hand_out_);
  result.claim_to_ack.merge(claim_to_ack_);
  result.end_to_end.merge(end_to_end_);
  result.early += early_;
}

bool BenchWorker::fail(Error error) {
  shared_.fail(std::move(error));
  return false;
}

}  // namespace millrace::cli
