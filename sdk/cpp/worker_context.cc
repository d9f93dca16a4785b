// A handler's input and results.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <stdexcept>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/time.h"
#include "base/utf8.h"
#include "millrace/client.h"
#include "millrace/json.h"
#include "pending.h"
#include "workflow_jobs.h"

namespace millrace::sdk {
namespace {

constexpr std::size_t kMaxLineBytes = 8 << 10;  // the server's limit on one line
constexpr std::size_t kMaxPendingLines = 1'000;
constexpr std::size_t kMaxPendingLogBytes = 256 << 10;  // and on an attempt's whole log
// The server's limits on progress.
constexpr std::size_t kMaxProgressMessageBytes = 1'024;
constexpr std::size_t kMaxProgressBytes = 64 << 10;  // as JSON, including the checkpoint
constexpr std::size_t kMaxProgressFrameBytes = 64;   // names, braces, the percentage

std::size_t room_for_checkpoint(const Progress& beside) {
  return kMaxProgressBytes - kMaxProgressFrameBytes - json_string(beside.message).size();
}

// An unknown level would make the server refuse the outcome with that line.
std::string_view known_level(std::string_view level) {
  constexpr std::array<std::string_view, 4> kKnown = {"debug", "info", "warn", "error"};
  const std::string lower = lowered(level);
  if (const auto* found = std::ranges::find(kKnown, lower); found != kKnown.end()) return *found;
  if (lower == "trace") return "debug";
  if (lower == "warning") return "warn";
  if (lower == "fatal" || lower == "critical") return "error";
  return "info";
}

// Only a member can grow its workflow: when a callback runs, the workflow has ended.
void require_member(const ClaimedJob& job) {
  if (job.workflow && job.workflow->role == "member") return;
  throw std::logic_error(fmt::format(
      "job {} is no member of a workflow, so it can't add or skip members; submit jobs by "
      "enqueue()",
      job.id));
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
Outcome Outcome::cancelled(std::string reason) {
  return {.outcome = "cancelled", .reason = std::move(reason)};
}

Context::Context(ClaimedJob job, std::shared_ptr<Pending> pending)
    : job_(std::move(job)), pending_(std::move(pending)) {}

StopReason Context::stop_reason() const {
  const std::lock_guard lock(pending_->mutex);
  return pending_->reason;
}

bool Context::stopping() const { return pending_->worker_stops && pending_->worker_stops->load(); }

void Context::throw_if_stopped() const {
  if (stop_.stop_requested()) throw Stopped();
}

void Context::sleep_for(Milliseconds time) const {
  std::mutex mutex;
  std::condition_variable_any told;
  std::unique_lock lock(mutex);
  told.wait_for(lock, stop_token(), time, [] { return false; });
  throw_if_stopped();
}

void Context::slow_down(SlowDown wish) {
  if (wish.length < Milliseconds{100} || wish.length > Milliseconds{3'600'000}) {
    throw std::invalid_argument("a limit is slowed down for 100 ms to an hour");
  }
  const std::lock_guard lock(pending_->mutex);
  std::erase_if(pending_->wishes,
                [&](const SlowDown& earlier) { return earlier.limit == wish.limit; });
  pending_->wishes.push_back(std::move(wish));
}

void Context::enqueue(NewJob job) {
  job = with_trace(std::move(job));
  if (job.id.empty()) job.id = make_id(job.queue);
  const std::lock_guard lock(pending_->mutex);
  pending_->enqueued.push_back(std::move(job));
}

const Parent& Context::parent(std::string_view ref) const {
  const auto found = std::ranges::find(
      job_.parents, ref, [](const auto& each) -> std::string_view { return each.first; });
  if (found != job_.parents.end()) return found->second;
  std::string known;
  for (const auto& [name, parent] : job_.parents) known += known.empty() ? name : ", " + name;
  throw std::out_of_range(fmt::format("the job has no parent {}; {}", ref,
                                      known.empty() ? "it has none" : "it has " + known));
}

std::string_view Context::result_of(std::string_view ref) const {
  const Parent& found = parent(ref);
  if (found.state != "succeeded") {
    throw NoResult(fmt::format("the parent {} has no result: it is {}{}{}; its job is {}", ref,
                               found.state, found.reason.empty() ? "" : ", ", found.reason,
                               found.id.empty() ? "none" : found.id));
  }
  if (!found.omitted.empty()) {
    throw NoResult(fmt::format("the result of the parent {} was left out: {}; its job is {}", ref,
                               found.omitted, found.id));
  }
  return found.result.empty() ? "null" : std::string_view(found.result);
}

Need Context::add(std::string ref, NewJob job, std::vector<Need> needs, Needed needed) {
  require_member(job_);
  if (ref.empty()) throw std::invalid_argument("a member that a handler adds needs a ref");
  Need need(ref);
  const std::lock_guard lock(pending_->mutex);
  auto& members = pending_->grown.members;
  if (std::ranges::find(members, ref, &NewMember::ref) != members.end()) {
    throw std::invalid_argument(fmt::format("the handler has added a member {} already", ref));
  }
  members.push_back(
      new_member(std::move(ref), with_trace(std::move(job)), std::move(needs), needed));
  return need;
}

void Context::skip(std::string ref) {
  require_member(job_);
  if (ref.empty()) throw std::invalid_argument("name the member to skip by its ref");
  const std::lock_guard lock(pending_->mutex);
  pending_->grown.skip.push_back(std::move(ref));
}

void Context::progress(Progress progress, std::string checkpoint) {
  // If the server refused the progress, the heartbeat would fail too, and the lease be lost.
  if (progress.percent) {
    const double percent = *progress.percent;
    progress.percent.reset();
    if (!std::isnan(percent)) progress.percent = std::clamp(percent, 0.0, 100.0);
  }
  std::ranges::replace(progress.message, '\0', ' ');
  progress.message = cut_utf8(progress.message, kMaxProgressMessageBytes);
  if (const std::size_t room = room_for_checkpoint(progress); checkpoint.size() > room) {
    log("warn",
        fmt::format(
            "the worker dropped a checkpoint of {} bytes; a checkpoint must have at most {} bytes",
            checkpoint.size(), room));
    checkpoint.clear();
  } else if (!checkpoint.empty() && !is_json(checkpoint)) {
    log("warn", "the worker dropped a checkpoint that is not JSON");
    checkpoint.clear();
  }
  const std::lock_guard lock(pending_->mutex);
  pending_->progress = std::move(progress);
  if (!checkpoint.empty()) pending_->checkpoint = std::move(checkpoint);
}

void Context::log(std::string_view level, std::string_view message) {
  WorkerLogLine line{SystemClock().now(), std::string(known_level(level)),
                     std::string(cut_utf8(message, kMaxLineBytes))};
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

bool Context::Pending::has_progress() {
  const std::lock_guard lock(mutex);
  return progress.has_value() || !checkpoint.empty();
}

void Context::Pending::take_progress(Heartbeat& beat) {
  const std::lock_guard lock(mutex);
  beat.checkpoint = std::exchange(checkpoint, {});
  // A newer message may leave no room for an older checkpoint. Then the message waits for the next
  // heartbeat.
  if (progress && beat.checkpoint.size() > room_for_checkpoint(*progress)) return;
  beat.progress = std::exchange(progress, std::nullopt);
}

}  // namespace millrace::sdk
