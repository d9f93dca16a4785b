// Transactions of the users' own in the simulated database, which submit jobs, finish them or fence
// them off, and the rows that they leave in the shards' inboxes: what millrace.enqueue,
// millrace.finish and millrace.fence are to do, in words of their own.
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
#include "sim/finishes.h"
#include "sim/marks.h"
#include "sim/submissions.h"
#include "store/fences.h"
#include "store/inbox.h"

namespace millrace::sim {

// Of the store, from which on every node polls its shards' inboxes.
inline constexpr std::uint32_t kFormatOfInbox = 2;
// And from which on they know of fences.
inline constexpr std::uint32_t kFormatOfFences = 3;

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

  // --- Of users. What is not kDone has failed, and the transaction can only be rolled back.
  enum class Said : std::uint8_t {
    kDone,
    kOldFormat,  // a node that does not know of it is still there
    kFinished,   // already
    kOutOfDate,  // the token: a later one has passed
    kLocked,     // another transaction is about to, and it was not waited for
  };
  Xid begin();
  // One job.
  Said enqueue(Xid xid, core::Enqueue command, std::uint32_t store_format);
  Said finish(Xid xid, const JobId& job, LeaseToken token, std::uint32_t store_format);
  Said fence(Xid xid, const JobId& job, LeaseToken token, std::uint32_t store_format);
  void commit(Xid xid);
  void roll_back(Xid xid);
  std::vector<Xid> open() const;

  // --- Of leaders: store/fences.h, store/inbox.h.
  Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token);
  store::InboxPage read(const store::InboxReader& reader) const;
  std::vector<store::InboxRow> finishes(std::uint32_t shard) const;
  store::FetchedRows fetch(std::uint32_t shard, std::span<const store::InboxKey> keys) const;
  void drop(std::uint32_t shard, std::span<const store::InboxKey> keys);
  void reject(std::uint32_t shard, std::span<const store::RejectedRow> rows);
  void move(std::uint32_t shard, const store::InboxKey& key, std::uint32_t to);
  // With an append. None: it is gone.
  std::optional<store::InboxRow> take(std::uint32_t shard, const store::InboxKey& key);

  // The faults are over, and every inbox is empty: no job is fenced off by what was never its
  // lease. `exists`: the job is there.
  void check_fences(const std::function<bool(const JobId&)>& exists) const;
  // Committed, and in an inbox still.
  std::size_t rows() const;
  std::string describe_rows() const;

 private:
  struct Fence {
    LeaseToken token{};
    bool finished = false;
    bool told = false;  // to the shard, by a row
  };
  struct Written {
    std::uint32_t shard = 0;
    store::InboxRow row;
  };
  struct Open {
    std::uint64_t began = 0;        // a moment
    std::map<JobId, Fence> fences;  // that it holds until it ends
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
