#include "cli/bench/shared.h"

#include <algorithm>
#include <utility>

namespace millrace::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

std::int64_t ns_of(LoadShared::Instant instant) {
  return duration_cast<nanoseconds>(instant.time_since_epoch()).count();
}

void raise(std::atomic<std::int64_t>& latest, std::int64_t value) {
  auto last = latest.load();
  while (last < value && !latest.compare_exchange_weak(last, value)) {
  }
}

}  // namespace

LoadShared::Taken LoadShared::take() {
  auto left = untaken_.load();
  for (;;) {
    const auto jobs = std::min(left, static_cast<std::uint64_t>(plan.batch));
    if (untaken_.compare_exchange_weak(left, left - jobs)) {
      return {plan.jobs - left, static_cast<int>(jobs)};
    }
  }
}

void LoadShared::stop_taking() {
  to_do -= untaken_.exchange(0);
  finish_if_done();
}

std::uint64_t LoadShared::now_us() const {
  const auto now = plan.delays ? std::chrono::system_clock::now().time_since_epoch()
                               : std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(duration_cast<microseconds>(now).count());
}

bool LoadShared::sleep_until(Instant instant) {
  if (std::chrono::steady_clock::now() < instant) wait_until(instant);
  return !is_over;
}

void LoadShared::wait_until(Instant instant) {
  std::unique_lock lock(mutex_);
  over_.wait_until(lock, instant, [this] { return is_over.load(); });
}

void LoadShared::sent(Instant now) {
  std::int64_t none = 0;
  first_sent_ns_.compare_exchange_strong(none, ns_of(now));
}

void LoadShared::submission_answered(Instant now, std::uint64_t jobs) {
  raise(last_submission_ns_, ns_of(now));
  submitted += jobs;
  finish_if_done();
}

void LoadShared::completion_answered(Instant now, std::uint64_t jobs) {
  raise(last_completion_ns_, ns_of(now));
  completed += jobs;
  finish_if_done();
}

nanoseconds LoadShared::submit_took() const {
  return nanoseconds{std::max<std::int64_t>(0, last_submission_ns_ - first_sent_ns_)};
}

nanoseconds LoadShared::took() const {
  return nanoseconds{std::max<std::int64_t>(0, last_completion_ns_ - first_sent_ns_)};
}

void LoadShared::fail(Error reason) {
  const std::lock_guard lock(mutex_);
  if (!error_ && !is_over) error_ = std::move(reason);
  is_over = true;
  over_.notify_all();
}

void LoadShared::finish_if_done() {
  if ((plan.workers > 0 ? completed : submitted) < to_do) return;
  const std::lock_guard lock(mutex_);
  is_over = true;
  over_.notify_all();
}

std::optional<Error> LoadShared::error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace millrace::cli
