#include "sim/model/submissions.h"

#include <algorithm>
#include <utility>

#include "sim/violation.h"

namespace millrace::sim {
namespace {

const core::JobSpec& only_job(const core::Enqueue& command) { return command.jobs.front(); }

// An existing job may be returned, or may block this one.
bool may_find_another(const core::Enqueue& command) {
  const auto& extras = only_job(command).extras;
  return command.key.has_value() || (extras != nullptr && extras->unique.has_value());
}

bool makes(const core::EventBatch& batch, const JobId& job) {
  return std::ranges::any_of(batch.events, [&](const core::Event& event) {
    const auto* submitted = std::get_if<core::Submitted>(&event);
    return submitted != nullptr && submitted->job.id == job;
  });
}

}  // namespace

const Submissions::Submission& Submissions::of(const store::InboxKey& key) const {
  return submissions_.at(key);
}

// --- From the database.

void Submissions::written(const store::InboxRow& row, core::Enqueue command) {
  by_job_.emplace(row.job, row.key);
  submissions_.emplace(row.key, Submission{.command = std::move(command)});
}

void Submissions::committed(const store::InboxKey& key, std::uint64_t began, std::uint64_t ended) {
  Submission& submission = submissions_.at(key);
  submission.became = Became::kWaits;
  submission.began = began;
  submission.ended = ended;
  ++waiting_;
  marks_.hit(Mark::kSubmissionCommitted);
}

void Submissions::settle(const store::InboxKey& key, Became became) {
  Submission& submission = submissions_.at(key);
  demand(submission.became == Became::kWaits, "X7",
         "the submission of {} is carried out twice, or was not committed",
         to_string(only_job(submission.command).id));
  submission.became = became;
  --waiting_;
}

void Submissions::dropped(const store::InboxKey& key) {
  settle(key, Became::kUseless);
  const core::Enqueue& command = of(key).command;
  demand(may_find_another(command), "X7", "the submission of {} was dropped, and there is no other",
         to_string(only_job(command).id));
  marks_.hit(Mark::kSubmissionUseless);
}

void Submissions::rejected(const store::InboxKey& key) {
  settle(key, Became::kRejected);
  const core::Enqueue& command = of(key).command;
  demand(may_find_another(command), "X7",
         "the submission of {} was rejected, and nothing stands in its way",
         to_string(only_job(command).id));
  marks_.hit(Mark::kSubmissionRejected);
}

// --- From the shards.

void Submissions::brought(const store::InboxKey& key, store::NodeId by) {
  Submission& submission = submissions_.at(key);
  marks_.hit_if(submission.by != store::NodeId{} && submission.by != by, Mark::kInboxTakenOver);
  submission.by = by;
}

void Submissions::stored(const core::EventBatch& batch, std::span<const store::InboxRow> taken) {
  for (const store::InboxRow& row : taken) {
    if (row.kind != store::InboxKind::kEnqueue) continue;
    settle(row.key, Became::kMade);
    demand(makes(batch, row.job), "X7", "the submission of {} is gone with a row that makes no job",
           to_string(row.job));
    check_order(row.key, of(row.key));
  }
  for (const core::Event& event : batch.events) {
    const auto* submitted = std::get_if<core::Submitted>(&event);
    if (submitted == nullptr) continue;
    const auto known = by_job_.find(submitted->job.id);
    if (known == by_job_.end()) continue;
    const bool wanted = std::ranges::any_of(
        taken, [&](const store::InboxRow& row) { return row.key == known->second; });
    demand(wanted, "X7", "{} was made, and its transaction's row did not go with it",
           to_string(submitted->job.id));
  }
}

// A row whose key or unique key belonged to another job was answered, and stayed until it was
// dropped. The next leader may have found it again, with the key free.
void Submissions::check_order(const store::InboxKey& key, const Submission& made) const {
  if (may_find_another(made.command)) return;
  for (const auto& [other, submission] : submissions_) {
    if (submission.became != Became::kMade) continue;
    if (only_job(submission.command).queue != only_job(made.command).queue) continue;
    const bool later = other.xid == key.xid ? other.id > key.id : submission.began > made.ended;
    demand(!later, "X7", "{} was submitted before {}, and is made after it",
           to_string(only_job(made.command).id), to_string(only_job(submission.command).id));
  }
}

void Submissions::check_all_there() const {
  for (const auto& [key, submission] : submissions_) {
    demand(submission.became != Became::kWaits, "X7", "{} was submitted, and never made",
           to_string(only_job(submission.command).id));
  }
}

}  // namespace millrace::sim
