// What transactions have finished, and what becomes of it (X6): of each generation of a job at most
// one finish is committed, none once a later one has begun, and each is carried out once. The
// database says what was committed, the journals' rows what was done; nothing is asked of the
// machine.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/job.h"
#include "sim/marks.h"
#include "store/inbox.h"
#include "store/registry.h"

namespace millrace::sim {

class Finishes {
 public:
  explicit Finishes(Marks& marks) : marks_(marks) {}

  // --- Durable rows say so.
  // A lease of the job, as it stands then.
  void granted(const core::Job& job, LeaseToken token);
  // A generation begins.
  void retried(const core::Job& job);
  // A lease has ended, or was not needed: its job has succeeded.
  void succeeded(const JobId& job, LeaseToken token);
  // A row was added to a journal, and took these of the inbox with it.
  void stored(const core::EventBatch& batch, std::span<const store::InboxRow> taken);

  // A node brings it to a shard.
  void brought(const JobId& job, LeaseToken token, store::NodeId by);

  // --- Of the database.
  void committed(const JobId& job, LeaseToken token);
  void dropped(const JobId& job, LeaseToken token);
  void rejected(const JobId& job, LeaseToken token, store::FenceOfRejected fence);
  void fence_rejected(const JobId& job, LeaseToken token);
  // It stands, its job is there, and its shard has seen the row that told of it.
  void check_fence(const JobId& job, LeaseToken token, bool finished) const;

  // The faults are over, and every inbox is empty. `stands`: the job is there, as the one of that
  // number.
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
  using Lease = std::pair<JobId, std::uint64_t>;  // and its token
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
  std::set<std::pair<JobId, Generation>> finished_;   // by a transaction that has committed
  std::set<std::pair<JobId, Generation>> succeeded_;  // as a journal has it
  std::map<Lease, Became> became_;
  std::map<Lease, store::NodeId> brought_by_;  // last
};

}  // namespace millrace::sim
