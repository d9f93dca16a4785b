// Finishes committed by transactions, and their effects (X6). For each generation of a job at most
// one finish is committed, and none once a later generation has begun. Each finish is carried out
// once. Commits are known from the database, effects from the journals' rows; the machine is not
// asked.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/jobs/job.h"
#include "sim/world/marks.h"
#include "store/inbox.h"
#include "store/registry.h"

namespace millrace::sim {

class Finishes {
 public:
  explicit Finishes(Marks& marks) : marks_(marks) {}

  // --- According to durable rows.
  // A lease was granted on the job as it is then.
  void granted(const core::Job& job, LeaseToken token);
  // A generation begins.
  void retried(const core::Job& job);
  // The job has succeeded; its lease has ended, or none was needed.
  void succeeded(const JobId& job, LeaseToken token);
  // A row was added to a journal and took these rows from the inbox.
  void stored(const core::EventBatch& batch, std::span<const store::InboxRow> taken);

  // A node submits the finish to a shard.
  void brought(const JobId& job, LeaseToken token, store::NodeId by);

  // --- According to the database.
  void committed(const JobId& job, LeaseToken token);
  void dropped(const JobId& job, LeaseToken token);
  void rejected(const JobId& job, LeaseToken token, store::FenceOfRejected fence);
  void fence_rejected(const JobId& job, LeaseToken token);
  // The fence must stand, its job must exist, and the job's shard must have seen the finish's row.
  void check_fence(const JobId& job, LeaseToken token, bool finished) const;

  // Called when the faults are over and every inbox is empty. `stands`: whether the job exists,
  // with that ord.
  template <typename Stands>
  void check_all_there(const Stands& stands) const {
    for (const auto& [lease, became] : became_) {
      check_settled(lease, became);
      const auto granted = granted_.find(lease);
      if (became != Became::kRejected || granted == granted_.end()) continue;
      check_gone(lease.first, stands(lease.first, granted->second.ord));
    }
  }

 private:
  using Lease = std::pair<JobId, std::uint64_t>;  // the job and its token
  struct Generation {
    std::uint64_t ord = 0;  // of the job
    std::uint32_t number = 0;
    friend auto operator<=>(const Generation&, const Generation&) = default;
  };
  // kUndone: rejected, and the fence is open again.
  enum class Became : std::uint8_t { kWaits, kDone, kUseless, kRejected, kUndone };

  void settle(const JobId& job, LeaseToken token, Became became);
  void check_done(const core::EventBatch& batch, const store::InboxRow& row) const;
  static void check_settled(const Lease& lease, Became became);
  static void check_gone(const JobId& job, bool stands);

  Marks& marks_;
  std::map<Lease, Generation> granted_;
  std::map<JobId, Generation> newest_;
  std::set<std::pair<JobId, Generation>> finished_;   // by a committed transaction
  std::set<std::pair<JobId, Generation>> succeeded_;  // according to a journal
  std::map<Lease, Became> became_;
  std::map<Lease, store::NodeId> brought_by_;  // last
};

}  // namespace millrace::sim
