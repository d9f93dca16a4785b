// The pusher's state of one target that it serves: how many calls run, how they ended, and whether
// more may begin.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/push_call.h"
#include "api/push_target.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "core/jobs/job.h"
#include "engine/routing/gateway.h"
#include "push/breaker.h"
#include "push/target.h"
#include "push/url.h"

namespace millrace::push {

// Monotonic time in the form that lines and breakers take.
inline Duration running_time(Steady now) {
  return std::chrono::duration_cast<Duration>(now.time_since_epoch());
}

class Line {
 public:
  static constexpr std::size_t kOutcomesKept = 20;
  static constexpr Duration kWindow{5 * 60 * 1'000};  // latencies cover one to two of it
  static constexpr std::uint64_t kCallsToKnow = 32;   // answered, before it takes jobs ahead
  static constexpr std::int64_t kShortCallUs = 100'000;
  static constexpr Duration kLongestRest{60'000};  // the longest Retry-After that is obeyed

  struct Outcome {
    Time at{};
    JobId job{};
    std::string_view name{};  // a constant
    int status = 0;
    std::chrono::microseconds took{};
    std::string error{};
  };

  // Null: the target was deleted, and the line only finishes the calls still running.
  void set_target(std::shared_ptr<const Target> target, const AddressPolicy& policy);
  const Target* target() const { return target_.get(); }
  const std::string& name() const { return name_; }
  const Url& url() const { return *url_; }
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& fault() const {
    return fault_;
  }  // why it can't be called at all; empty: it can

  // How many jobs it may take now: one for each call that can begin at once and, while calls are
  // short, as many again, so that claims and calls overlap.
  std::uint32_t free(Duration now) const;
  // Whether a call for a job that it has taken may begin now.
  bool may_call(Duration now) const;
  // Allows no more calls until the target is changed.
  void disable() { disabled_version_ = target_ == nullptr ? 0 : target_->version; }

  void note(Outcome outcome, Steady now);
  // Allows no calls for `delay`, at most kLongestRest.
  void rest(Duration now, Duration delay);

  api::PushHealth health(Duration now) const;

  Breaker breaker;
  // A leased job whose call has not begun.
  struct Leased {
    core::Job job;
    Steady at{};
  };
  std::deque<Leased> ahead;
  std::uint32_t reading = 0;            // leased jobs whose payloads are being read
  std::uint32_t running = 0;            // calls in flight
  std::set<JobId> held_elsewhere;       // jobs leased by a former node, whose calls may still run
  std::optional<engine::Ticket> claim;  // a pending claim that waits for jobs
  Steady claims_again{};                // set after a claim that could not be answered
  int refused_claims = 0;               // in a row

 private:
  std::string name_;
  std::shared_ptr<const Target> target_;
  std::optional<Url> url_;
  std::vector<std::string> keys_;
  std::string fault_;
  std::uint64_t disabled_version_ = 0;
  Duration rests_until_{};

  bool takes_jobs(Duration now) const;

  std::deque<Outcome> last_;
  std::uint64_t succeeded_ = 0, accepted_ = 0, dead_ = 0, snoozed_ = 0, failed_ = 0, cancelled_ = 0;
  Histogram<5, std::uint32_t> latency_us_, older_latency_us_;
  Steady turned_{};
  std::uint64_t answered_ = 0;
  std::int64_t mean_us_ = 0;  // a moving average over answered calls
};

}  // namespace millrace::push
