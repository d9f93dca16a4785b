// Users' own transactions in the simulated database, which submit, finish or fence jobs, and the
// rows that they leave in the shards' inboxes. An independent implementation of millrace.enqueue,
// millrace.finish and millrace.fence.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/model/finishes.h"
#include "sim/model/submissions.h"
#include "sim/world/marks.h"
#include "store/fences.h"
#include "store/inbox.h"

namespace millrace::sim {

class Transactions {
 public:
  enum class Xid : std::uint64_t {};

  Transactions(std::uint32_t shards, std::function<Time()> now, Finishes& finishes,
               Submissions& submissions, Marks& marks)
      : now_(std::move(now)),
        finishes_(finishes),
        submissions_(submissions),
        marks_(marks),
        rows_(shards) {}

  // --- Users' calls. After any result but kDone the transaction has failed and can only be rolled
  // back.
  enum class Said : std::uint8_t {
    kDone,
    kFinished,   // already finished
    kOutOfDate,  // a later token was used
    kLocked,     // another transaction is about to, and the call does not wait
  };
  Xid begin();
  // Submits one job.
  void enqueue(Xid xid, core::Enqueue command);
  Said finish(Xid xid, const JobId& job, LeaseToken token);
  Said fence(Xid xid, const JobId& job, LeaseToken token);
  void commit(Xid xid);
  void roll_back(Xid xid);
  std::vector<Xid> open() const;

  // --- Calls of leaders: store/fences.h, store/inbox.h.
  Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token);
  store::InboxPage read(const store::InboxReader& reader) const;
  std::vector<store::InboxRow> finishes(std::uint32_t shard) const;
  store::FetchedRows fetch(std::uint32_t shard, std::span<const store::InboxKey> keys) const;
  void drop(std::uint32_t shard, std::span<const store::InboxKey> keys);
  void reject(std::uint32_t shard, std::span<const store::RejectedRow> rows);
  void move(std::uint32_t shard, const store::InboxKey& key, std::uint32_t to);
  // Takes a row with an append; none if it is gone.
  std::optional<store::InboxRow> take(std::uint32_t shard, const store::InboxKey& key);

  // Called when the faults are over and every inbox is empty: no job may be fenced off by a token
  // that was never its lease. `exists`: whether the job exists.
  void check_fences(const std::function<bool(const JobId&)>& exists) const;
  // Committed rows that are still in an inbox.
  std::size_t rows() const;
  std::string describe_rows() const;

 private:
  struct Fence {
    LeaseToken token{};
    bool finished = false;
    bool told = false;  // an inbox row reports it to the shard
  };
  struct Written {
    std::uint32_t shard = 0;
    store::InboxRow row;
  };
  struct Open {
    std::uint64_t began = 0;        // its time
    std::map<JobId, Fence> fences;  // held until the transaction ends
    std::vector<Written> rows;
  };

  bool is_locked(const JobId& job, std::optional<Xid> but_by) const;
  Said raise_fence(Xid xid, const JobId& job, Fence to);
  void write_of_lease(Xid xid, store::InboxKind kind, const JobId& job, LeaseToken token);
  bool lies_in_an_inbox(const JobId& job) const;
  store::InboxKey next_key(Xid xid);

  const std::function<Time()> now_;
  Finishes& finishes_;
  Submissions& submissions_;
  Marks& marks_;
  std::uint64_t moments_ = 0;
  std::uint64_t xids_ = 100;
  std::uint64_t row_ids_ = 0;
  std::map<JobId, Fence> fences_;
  std::map<Xid, Open> open_;
  std::vector<std::map<store::InboxKey, store::InboxRow>> rows_;  // by shard
};

}  // namespace millrace::sim
