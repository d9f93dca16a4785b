#include "push/line.h"

#include <algorithm>

#include "push/signature.h"

namespace millrace::push {

void Line::set_target(std::shared_ptr<const Target> target, const AddressPolicy& policy) {
  target_ = std::move(target);
  if (target_ == nullptr) return;
  name_ = target_->name;
  url_.reset();
  keys_.clear();
  fault_.clear();
  auto url = parse_url(target_->settings.url, policy);
  if (url) {
    url_ = std::move(*url);
  } else {
    fault_ = url.error().message;
  }
  for (const std::string& secret : target_->settings.secrets) {
    auto key = secret_key(secret);
    if (key) {
      keys_.push_back(std::move(*key));
    } else {
      fault_ = "the secret " + key.error().message;
    }
  }
}

bool Line::takes_jobs(Duration now) const {
  if (target_ == nullptr || target_->settings.paused || !fault_.empty()) return false;
  return disabled_version_ != target_->version && now >= rests_until_;
}

std::uint32_t Line::free(Duration now) const {
  if (!takes_jobs(now)) return 0;
  auto most = static_cast<std::uint64_t>(target_->settings.concurrency);
  const std::uint64_t held = running + reading + ahead.size() + held_elsewhere.size();
  if (breaker.state(now) != Breaker::State::kClosed) {
    return held > 0 ? 0 : breaker.admits(now, static_cast<std::uint32_t>(most), running);
  }
  if (answered_ >= kCallsToKnow && mean_us_ < kShortCallUs) most *= 2;
  return held >= most ? 0 : static_cast<std::uint32_t>(most - held);
}

bool Line::may_call(Duration now) const {
  if (!takes_jobs(now)) return false;
  const auto most = static_cast<std::uint64_t>(target_->settings.concurrency);
  return running + held_elsewhere.size() < most && breaker.admits(now, 1, running) > 0;
}

void Line::rest(Duration now, Duration delay) {
  rests_until_ = std::max(rests_until_, now + std::min(delay, kLongestRest));
}

void Line::note(Outcome outcome, Steady now) {
  std::uint64_t& total = outcome.name == "succeeded"  ? succeeded_
                         : outcome.name == "accepted" ? accepted_
                         : outcome.name == "dead"     ? dead_
                         : outcome.name == "snoozed"  ? snoozed_
                         : outcome.name == "failed"   ? failed_
                                                      : cancelled_;
  ++total;
  if (now - turned_ > kWindow) {
    older_latency_us_ = std::exchange(latency_us_, {});
    turned_ = now;
  }
  if (outcome.status != 0) {
    latency_us_.record(outcome.took.count());
    ++answered_;
    mean_us_ += (outcome.took.count() - mean_us_) / 8;
  }
  last_.push_front(std::move(outcome));
  if (last_.size() > kOutcomesKept) last_.pop_back();
}

api::PushHealth Line::health(Duration now) const {
  api::PushHealth health;
  switch (breaker.state(now)) {
    case Breaker::State::kClosed:
      health.breaker = "closed";
      break;
    case Breaker::State::kOpen:
      health.breaker = "open";
      health.calls_again_in = breaker.opens_until() - now;
      break;
    case Breaker::State::kHalfOpen:
      health.breaker = "half_open";
  }
  if (now < rests_until_) {
    const Duration rest = rests_until_ - now;
    health.calls_again_in = std::max(health.calls_again_in.value_or(rest), rest);
  }
  health.failures_in_a_row = breaker.failures();
  health.running = running;
  health.held_elsewhere = static_cast<std::int64_t>(held_elsewhere.size());
  health.succeeded = succeeded_;
  health.accepted = accepted_;
  health.dead = dead_;
  health.snoozed = snoozed_;
  health.failed = failed_;
  health.cancelled = cancelled_;
  auto all = latency_us_;
  all.merge(older_latency_us_);
  const auto quantile = [&](double share) -> std::optional<double> {
    const auto bucket = all.quantile(share);
    if (!bucket) return std::nullopt;
    return static_cast<double>(all.middle_of(*bucket)) / 1'000;
  };
  health.p50_ms = quantile(0.5);
  health.p95_ms = quantile(0.95);
  health.p99_ms = quantile(0.99);
  for (const Outcome& outcome : last_) {
    health.last.push_back({outcome.at, outcome.job, outcome.name, outcome.status,
                           std::chrono::floor<Duration>(outcome.took), outcome.error});
  }
  return health;
}

}  // namespace millrace::push
