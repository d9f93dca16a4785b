// What a handler sees and returns.
#include <algorithm>

#include "base/time.h"
#include "worker_core.h"

namespace millrace::sdk {
namespace {

constexpr std::size_t kMaxLineBytes = 8 << 10;  // the server's bound on one line
constexpr std::size_t kMaxPendingLines = 1'000;
constexpr std::size_t kMaxPendingLogBytes = 256 << 10;  // and on all of an attempt's

// Cut where a character ends, so that the text stays UTF-8.
std::string_view cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

Outcome Outcome::succeeded(std::string result_json) {
  return {.outcome = "succeeded", .result = std::move(result_json)};
}

Outcome Outcome::failed(JobError error, std::optional<Milliseconds> delay) {
  return {.outcome = "failed", .error = std::move(error), .delay = delay};
}

Outcome Outcome::failed_for_good(JobError error) {
  return {.outcome = "failed", .error = std::move(error), .retryable = false};
}

Outcome Outcome::snoozed(Milliseconds delay) { return {.outcome = "snoozed", .delay = delay}; }
Outcome Outcome::released() { return {.outcome = "released"}; }
Outcome Outcome::cancelled() { return {.outcome = "cancelled"}; }

Context::Context(ClaimedJob job, std::shared_ptr<Pending> pending)
    : job_(std::move(job)), pending_(std::move(pending)) {}

StopReason Context::stop_reason() const {
  const std::lock_guard lock(pending_->mutex);
  return pending_->reason;
}

void Context::progress(Progress progress, std::string checkpoint) {
  const std::lock_guard lock(pending_->mutex);
  pending_->progress = std::move(progress);
  if (!checkpoint.empty()) pending_->checkpoint = std::move(checkpoint);
}

void Context::log(std::string_view level, std::string_view message) {
  const Time now = std::chrono::floor<Milliseconds>(std::chrono::system_clock::now());
  WorkerLogLine line{now, std::string(level), std::string(cut(message, kMaxLineBytes))};
  const std::lock_guard lock(pending_->mutex);
  pending_->log_bytes += line.message.size();
  pending_->logs.push_back(std::move(line));
  while (pending_->log_bytes > kMaxPendingLogBytes || pending_->logs.size() > kMaxPendingLines) {
    pending_->log_bytes -= pending_->logs.front().message.size();
    pending_->logs.pop_front();
  }
}

std::vector<WorkerLogLine> Context::Pending::take_logs(std::size_t at_most) {
  const std::lock_guard lock(mutex);
  std::vector<WorkerLogLine> taken;
  while (!logs.empty() && taken.size() < at_most) {
    log_bytes -= logs.front().message.size();
    taken.push_back(std::move(logs.front()));
    logs.pop_front();
  }
  return taken;
}

}  // namespace millrace::sdk
