#include "sim/model/finishes.h"

#include <algorithm>

#include "sim/violation.h"

namespace millrace::sim {

void Finishes::granted(const core::Job& job, LeaseToken token) {
  const Generation generation{job.ord, job.generation};
  granted_.emplace(Lease{job.id, to_number(token)}, generation);
  newest_[job.id] = generation;
}

void Finishes::retried(const core::Job& job) {
  const Generation generation{job.ord, job.generation};
  newest_[job.id] = generation;
  for (auto lease = became_.lower_bound({job.id, 0});
       lease != became_.end() && lease->first.first == job.id; ++lease) {
    const auto granted = granted_.find(lease->first);
    const bool of_it = granted != granted_.end() && granted->second.ord == job.ord;
    demand(lease->second != Became::kWaits || !of_it, "X6",
           "{} begins anew, and a transaction has finished it with token {}: that is still to come",
           to_string(job.id), lease->first.second);
  }
}

void Finishes::succeeded(const JobId& job, LeaseToken token) {
  const auto granted = granted_.find({job, to_number(token)});
  if (granted != granted_.end()) succeeded_.emplace(job, granted->second);
}

void Finishes::stored(const core::EventBatch& batch, std::span<const store::InboxRow> taken) {
  for (const store::InboxRow& row : taken) {
    if (row.kind != store::InboxKind::kFinish) continue;
    check_done(batch, row);
    settle(row.job, row.token, Became::kDone);
  }
  for (const core::Event& event : batch.events) {
    const auto* finished = std::get_if<core::Finished>(&event);
    if (finished == nullptr) continue;
    const bool wanted = std::ranges::any_of(taken, [&](const store::InboxRow& row) {
      return row.job == finished->job.id && row.token == finished->token;
    });
    demand(wanted, "X6", "{} was finished with token {}, and no transaction's row went with it",
           to_string(finished->job.id), to_number(finished->token));
  }
}

void Finishes::check_done(const core::EventBatch& batch, const store::InboxRow& row) const {
  const bool done = std::ranges::any_of(batch.events, [&](const core::Event& event) {
    if (const auto* finished = std::get_if<core::Finished>(&event)) {
      return finished->job.id == row.job && finished->token == row.token;
    }
    const auto* ended = std::get_if<core::AttemptEnded>(&event);
    return ended != nullptr && ended->job.id == row.job && ended->token == row.token &&
           ended->state == core::State::kSucceeded;
  });
  demand(done, "X6", "the finish of {} with token {} is gone with a row that does nothing of it",
         to_string(row.job), to_number(row.token));
}

void Finishes::brought(const JobId& job, LeaseToken token, store::NodeId by) {
  const auto [entry, first] = brought_by_.try_emplace({job, to_number(token)}, by);
  marks_.hit_if(!first && entry->second != by, Mark::kInboxTakenOver);
  entry->second = by;
}

// --- From the database.

void Finishes::committed(const JobId& job, LeaseToken token) {
  const Lease lease{job, to_number(token)};
  const auto [became, first] = became_.emplace(lease, Became::kWaits);
  demand(first || became->second == Became::kUndone, "X6",
         "two transactions have finished {} with token {}", to_string(job), lease.second);
  became->second = Became::kWaits;
  const auto granted = granted_.find(lease);
  if (granted == granted_.end()) return;  // there never was such a lease
  const Generation& newest = newest_.at(job);
  demand(newest.ord != granted->second.ord || newest.number == granted->second.number, "X6",
         "a transaction has finished {} with token {}, and a later generation has begun",
         to_string(job), lease.second);
  demand(finished_.emplace(job, granted->second).second, "X6",
         "two transactions have finished one generation of {}, the second with token {}",
         to_string(job), lease.second);
  marks_.hit(Mark::kFinishCommitted);
}

void Finishes::settle(const JobId& job, LeaseToken token, Became became) {
  const auto lease = became_.find({job, to_number(token)});
  demand(lease != became_.end() && lease->second == Became::kWaits, "X6",
         "the finish of {} with token {} is carried out twice, or was not committed",
         to_string(job), to_number(token));
  lease->second = became;
}

void Finishes::dropped(const JobId& job, LeaseToken token) {
  settle(job, token, Became::kUseless);
  marks_.hit(Mark::kFinishUseless);
  const auto granted = granted_.find({job, to_number(token)});
  if (granted == granted_.end() || newest_.at(job).ord != granted->second.ord) return;
  demand(succeeded_.contains({job, granted->second}), "X6",
         "the finish of {} with token {} was dropped, and it has not succeeded", to_string(job),
         to_number(token));
}

void Finishes::rejected(const JobId& job, LeaseToken token, store::FenceOfRejected fence) {
  const bool undone = fence == store::FenceOfRejected::kReopened;
  demand(!undone || !granted_.contains({job, to_number(token)}), "X6",
         "the fence of {} is opened, and it was given out with token {}", to_string(job),
         to_number(token));
  settle(job, token, undone ? Became::kUndone : Became::kRejected);
  marks_.hit(undone ? Mark::kFinishUndone : Mark::kFinishRejected);
}

void Finishes::fence_rejected(const JobId& job, LeaseToken token) {
  demand(!granted_.contains({job, to_number(token)}), "X6",
         "the fence of {} is not believed, and it was given out with token {}", to_string(job),
         to_number(token));
  marks_.hit(Mark::kFenceUndone);
}

void Finishes::check_fence(const JobId& job, LeaseToken token, bool finished) const {
  demand(granted_.contains({job, to_number(token)}), "X6",
         "{} is {} for good with token {}, which was never its own", to_string(job),
         finished ? "finished" : "fenced off", to_number(token));
}

void Finishes::check_settled(const Lease& lease, Became became) {
  demand(became != Became::kWaits, "X6", "the finish of {} with token {} was never carried out",
         to_string(lease.first), lease.second);
}

void Finishes::check_gone(const JobId& job, bool stands) {
  demand(!stands, "X6", "a finish of {} was rejected, and it is there", to_string(job));
}

}  // namespace millrace::sim
