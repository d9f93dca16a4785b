#include "machine_driver.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace millrace::bench {
namespace {

constexpr std::string_view kQueue = "mail";
constexpr std::size_t kFillBatch = 1'000;
constexpr std::size_t kFlushJobs = 10'000;

// Ended jobs are not retained.
core::MachineOptions options() {
  constexpr Duration kNone{0};
  return {.default_retention = {kNone, kNone, kNone, kNone}};
}

SharedBytes empty_queue(std::size_t i) {
  return SharedBytes(std::string(kQueue) + '-' + std::to_string(i));
}

}  // namespace

MachineDriver::MachineDriver() : machine_(options()) {
  machine_.start_epoch(Epoch{1}, now_, batch_.events);
  machine_.end_step();
}

core::Enqueue MachineDriver::new_jobs(std::size_t count) {
  core::Enqueue command;
  command.jobs.reserve(count);
  const SharedBytes queue(kQueue);
  const SharedBytes type("email.send");
  const std::string payload = '"' + std::string(kPayloadBytes - 2, 'x') + '"';
  const std::uint16_t bits = queue_bits(kQueue);
  for (std::size_t i = 0; i < count; ++i) {
    core::JobSpec& job = command.jobs.emplace_back();
    job.id = make_job_id(now_, bits, random_.next());
    job.queue = queue;
    job.type = type;
    job.payload = SharedBytes(payload);
  }
  return command;
}

core::Claim MachineDriver::claim(std::size_t count) { return claim_naming(1, count); }

core::Claim MachineDriver::claim_naming(std::size_t queues, std::size_t count) {
  core::Claim command;
  for (std::size_t i = 1; i < queues; ++i) command.queues.push_back(empty_queue(i));
  command.queues.emplace_back(kQueue);
  command.limit = static_cast<std::uint32_t>(count);
  command.worker = SharedBytes("worker-1");
  return command;
}

core::Ack MachineDriver::succeeded(const core::ClaimReply& claimed) {
  core::Ack command;
  command.items.reserve(claimed.jobs.size());
  for (const core::ClaimReply::Item& item : claimed.jobs) {
    core::AckItem& ack = command.items.emplace_back();
    ack.id = item.job.id;
    ack.token = item.job.token;
    ack.outcome = core::AckOutcome::kSucceeded;
  }
  return command;
}

core::Reply MachineDriver::step(const core::Command& command) {
  now_ += Duration{1};
  batch_.at = now_;
  batch_.events.clear();
  while (machine_.next_timer() && *machine_.next_timer() <= now_) {
    machine_.tick(now_, batch_.events);
  }
  core::Reply reply =
      machine_.decide(command, now_, tables_, core::Admission::kOpen, batch_.events);
  machine_.take_woken_queues();
  machine_.take_endings();
  machine_.end_step();
  return reply;
}

void MachineDriver::project_if_due() {
  if (machine_.unprojected() < kFlushJobs) return;
  machine_.take_changes();
  machine_.changes_stored();
}

void MachineDriver::fill(std::int64_t jobs) {
  MILLRACE_CHECK(jobs % static_cast<std::int64_t>(kFillBatch) == 0);
  for (std::int64_t made = 0; made < jobs; made += kFillBatch) {
    step(new_jobs(kFillBatch));
    project_if_due();
  }
  machine_.take_changes();
  machine_.changes_stored();
}

void MachineDriver::add_empty_queues(std::size_t queues) {
  for (std::size_t i = 1; i < queues; ++i) {
    step(core::SetQueue{.queue = empty_queue(i), .replace = true, .patch = {}, .if_version = {}});
  }
}

}  // namespace millrace::bench
