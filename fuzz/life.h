// A shard's short life, made from a seed: the journal after every possible event has happened to a
// few jobs. The same seed gives the same batches. In lives with odd seeds no job is deleted, and no
// ended job is retried, so every job of the journal is known from the journal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/machine.h"
#include "digest/fingerprint.h"

namespace millrace::fuzz {

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed), revisits_(seed % 2 == 0) {
    step([&](auto& events) { machine_.start_epoch(Epoch{1}, now_, events); });
    for (int i = 0; i < kMoments; ++i) moment();
    step([&](auto& events) { machine_.start_epoch(Epoch{2}, now_, events); });
  }

  // One per journal row, in order.
  const std::vector<core::EventBatch>& batches() const { return batches_; }

 private:
  static constexpr int kMoments = 80;
  static constexpr std::uint64_t kJobs = 8;

  struct NoTables final : core::Prefetched {
    const core::Job* find(const JobId&) const override { return nullptr; }
  };

  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }

  template <typename Decide>
  void step(Decide decide) {
    core::EventBatch batch{now_, {}};
    while (machine_.next_timer() && *machine_.next_timer() <= now_) {
      machine_.tick(now_, batch.events);
    }
    decide(batch.events);
    machine_.end_step();
    if (!batch.events.empty()) batches_.push_back(std::move(batch));
  }

  void moment() {
    now_ += Duration{static_cast<std::int64_t>(below(below(4) == 0 ? 20'000 : 500))};
    const core::Command command = any_command();
    step([&](auto& events) {
      if (below(12) == 0) machine_.extend_leases(Duration{1'500}, now_, events);
      machine_.decide(command, now_, NoTables(), core::Admission::kOpen, events);
    });
  }

  core::Command any_command() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return enqueue();
      case 4:
      case 5:
      case 6:
        return claim();
      case 7:
      case 8:
        return core::Ack{{ack()}, core::Detail::kIds};
      case 9:
        return core::Heartbeat{{{any_job(), token(), {}, progress()}}, core::Detail::kIds};
      case 10:
        return core::AppendLogs{{{any_job(), token(), {now_, 1, SharedBytes("a line")}}}};
      case 11:
        return core::Cancel{{any_job(), any_job()}, SharedBytes("by hand")};
      case 12:
        if (!revisits_) return claim();
        return core::Retry{{any_job(), any_job()}, later(), below(2) == 0};
      case 13:
        return edit();
      case 14:
        if (!revisits_) return enqueue();
        return core::Delete{{any_job()}, core::DeleteCause::kOperator};
      default:
        return on_queue();
    }
  }

  core::JobSpec spec() {
    core::JobSpec spec;
    spec.id = any_job();
    spec.id_origin = core::IdOrigin::kClient;
    spec.queue = queue();
    spec.type = SharedBytes(below(2) == 0 ? "send" : "fax");
    spec.payload = SharedBytes("{\"n\":1}");
    spec.priority = static_cast<std::int16_t>(below(3));
    if (below(4) == 0) spec.delay = Duration{static_cast<std::int64_t>(below(5'000))};
    if (below(4) == 0) spec.expires_in = Duration{static_cast<std::int64_t>(1 + below(5'000))};
    if (below(4) == 0) spec.timeout = Duration{2'000};
    spec.max_attempts = 1 + static_cast<std::uint32_t>(below(3));
    spec.lease = Duration{1'000 + static_cast<std::int64_t>(below(3'000))};
    if (below(3) == 0) spec.extras = extras();
    return spec;
  }

  std::shared_ptr<const core::JobExtras> extras() {
    auto extras = std::make_shared<core::JobExtras>();
    extras->unique = core::UniqueRule{SharedBytes("u"), Duration{3'000},
                                      static_cast<core::OnConflict>(below(3))};
    extras->tags.emplace_back("vip");
    extras->meta.emplace_back(SharedBytes("k"), SharedBytes("v"));
    return extras;
  }

  core::Command enqueue() {
    core::Enqueue command;
    command.jobs.push_back(spec());
    if (below(3) == 0) {
      command.key = core::IdempotencyKey{fingerprint(std::to_string(below(3))), {}, {}};
      command.key_window = Duration{4'000};
    }
    return command;
  }

  core::Command claim() {
    core::Claim claim;
    claim.queues = {SharedBytes("mail"), SharedBytes("bulk")};
    claim.limit = 1 + static_cast<std::uint32_t>(below(3));
    claim.worker = SharedBytes(below(2) == 0 ? "anna" : "ben");
    return claim;
  }

  core::AckItem ack() {
    core::AckItem item;
    item.id = any_job();
    item.token = token();
    item.outcome = static_cast<core::AckOutcome>(below(6));
    item.result = SharedBytes("[1]");
    if (item.outcome == core::AckOutcome::kFailed || item.outcome == core::AckOutcome::kDead) {
      item.error = std::make_shared<core::JobError>();
      item.error->type = SharedBytes("Boom");
      item.error->message = SharedBytes("it broke");
    }
    if (item.outcome == core::AckOutcome::kSnoozed) item.delay = Duration{700};
    if (below(3) == 0) item.logs.push_back({now_, 2, SharedBytes("done")});
    if (below(4) == 0) item.enqueue.push_back(spec());
    return item;
  }

  core::Command edit() {
    core::Edit edit;
    edit.ids = {any_job()};
    edit.priority = static_cast<std::int16_t>(below(5));
    edit.run_at = later();
    if (below(2) == 0) edit.payload = SharedBytes("2");
    if (below(2) == 0) edit.tags = std::vector<SharedBytes>{SharedBytes("edited")};
    return edit;
  }

  core::Command on_queue() {
    switch (below(6)) {
      case 0:
        return core::PauseQueue{queue(), SharedBytes("why"), true};
      case 1:
        return core::ResumeQueue{queue()};
      case 2:
        return core::NotePurge{queue(), 3};
      case 3:
        return core::DeleteQueue{queue()};
      default: {
        core::QueuePatch patch;
        patch.succeeded = std::optional<Duration>(Duration{below(2) == 0 ? 0 : 60'000});
        patch.max_crashes = std::optional<std::uint32_t>(2);
        return core::SetQueue{queue(), true, patch, {}};
      }
    }
  }

  std::shared_ptr<const core::Progress> progress() {
    if (below(2) == 0) return nullptr;
    return std::make_shared<core::Progress>(
        core::Progress{12.5, SharedBytes("going"), SharedBytes("{\"at\":3}")});
  }
  std::optional<Time> later() {
    if (below(2) == 0) return std::nullopt;
    return now_ + Duration{static_cast<std::int64_t>(below(4'000))};
  }
  SharedBytes queue() { return SharedBytes(below(3) == 0 ? "bulk" : "mail"); }
  // An id that belongs to one queue, so that it is found again; token() refers to the same job.
  JobId any_job() {
    chosen_ = make_job_id(time_from_ms(1'700'000'000'000), 7, below(kJobs));
    return chosen_;
  }
  // Usually the live token of the job chosen last.
  LeaseToken token() {
    const auto view = machine_.view(chosen_);
    return view == nullptr || below(8) == 0 ? LeaseToken{5} : view->job.token;
  }

  Random random_;
  const bool revisits_;
  core::Machine machine_{core::MachineOptions{}};
  Time now_ = time_from_ms(1'700'000'000'000);
  JobId chosen_;
  std::vector<core::EventBatch> batches_;
};

}  // namespace millrace::fuzz
