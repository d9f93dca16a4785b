// Jobs and changes for tests of the tables.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/changes.h"
#include "core/jobs/job.h"
#include "store/tables.h"

namespace millrace::store {

inline JobId id_of(std::uint64_t ord) {
  return make_job_id(time_from_ms(1'000'000 + static_cast<std::int64_t>(ord)), 7, ord);
}

// A job of this ord, created a millisecond after the one before.
inline core::Job make_job(std::uint64_t ord, std::string_view queue = "mail",
                          core::State state = core::State::kReady) {
  core::Job job;
  job.id = id_of(ord);
  job.ord = ord;
  job.queue = SharedBytes(queue);
  job.type = SharedBytes("mail.send");
  job.payload = SharedBytes("{\"n\": " + std::to_string(ord) + "}");
  job.state = state;
  job.max_attempts = 5;
  job.created_at = job.run_at = time_from_ms(1'000'000 + static_cast<std::int64_t>(ord));
  job.lease = Duration{30'000};
  job.retry = core::default_retry_policy();
  if (core::is_terminal(state)) job.finished_at = job.created_at + Duration{500};
  return job;
}

inline core::Queue make_queue(std::string_view name) {
  core::Queue queue;
  queue.name = SharedBytes(name);
  return queue;
}

// Flushes to tables and keeps track of the progress.
class Flusher {
 public:
  Status flush(Tables& tables, const core::Changes& changes) {
    Progress to;
    to.seq = next(progress_.seq);
    to.checksum = {to_number(to.seq), 77};
    to.facts = {time_from_ms(static_cast<std::int64_t>(to_number(to.seq)) * 1'000), Epoch{3},
                100 + to_number(to.seq), 200 + to_number(to.seq)};
    Status done = tables.flush(changes, progress_.seq, to);
    if (done) progress_ = to;
    return done;
  }
  Status flush(Tables& tables, std::vector<core::Job> jobs) {
    core::Changes changes;
    changes.jobs = std::move(jobs);
    return flush(tables, changes);
  }
  const Progress& progress() const { return progress_; }

 private:
  Progress progress_;
};

// Records what load() reports.
struct LoadedState final : StateVisitor {
  void progress(const Progress& value) override { loaded_progress = value; }
  void queue(const core::Queue& value) override { queues.push_back(value); }
  void job(const core::Job& value) override { jobs.push_back(value); }
  void key(const core::KeyRow& value) override { keys.push_back(value); }
  void held_unique(const core::HeldUnique& value) override { uniques.push_back(value); }
  void ended_lease(const core::EndedLease& value) override { leases.push_back(value); }
  void schedule(const core::Schedule& value) override { schedules.push_back(value); }
  void limit(const core::Limit& value) override { limits.push_back(value); }
  void bucket(const core::BucketRow& value) override { buckets.push_back(value); }
  void catalog_entry(const core::CatalogEntry& value) override { catalog.push_back(value); }
  void operation(const core::OperationPart& value) override { operations.push_back(value); }
  void workflow(const core::WorkflowImage& value) override { workflows.push_back(value); }
  void audited(const core::AuditRow& value) override { newest_audited = value; }

  Progress loaded_progress;
  std::vector<core::Queue> queues;
  std::vector<core::Job> jobs;
  std::vector<core::KeyRow> keys;
  std::vector<core::HeldUnique> uniques;
  std::vector<core::EndedLease> leases;
  std::vector<core::Schedule> schedules;
  std::vector<core::CatalogEntry> catalog;
  std::vector<core::Limit> limits;
  std::vector<core::BucketRow> buckets;
  std::vector<core::OperationPart> operations;
  std::vector<core::WorkflowImage> workflows;
  std::optional<core::AuditRow> newest_audited;
};

}  // namespace millrace::store
