// Jobs submitted by transactions, and the required effect (X7). A job is made once, by the journal
// row that takes it out of the inbox, and only if its transaction has committed. The jobs of a
// queue are made in the order of the calls, if one transaction made both calls, or if one
// transaction had committed before the other began. Commits are known from the database, made jobs
// from the journals' rows; the machine is not asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "core/command.h"
#include "core/event.h"
#include "sim/world/marks.h"
#include "store/inbox.h"
#include "store/registry.h"

namespace millrace::sim {

class Submissions {
 public:
  explicit Submissions(Marks& marks) : marks_(marks) {}

  // --- From the database. A transaction that may still be rolled back submits a job with this row.
  void written(const store::InboxRow& row, core::Enqueue command);
  // `began`, `ended`: the times of its transaction, numbered in the order of all transactions.
  void committed(const store::InboxKey& key, std::uint64_t began, std::uint64_t ended);
  void dropped(const store::InboxKey& key);
  void rejected(const store::InboxKey& key);

  const core::Enqueue& command(const store::InboxKey& key) const { return of(key).command; }

  // A row was added to a journal and took these rows from the inbox, in this order.
  void stored(const core::EventBatch& batch, std::span<const store::InboxRow> taken);
  // A node submits the row to its shard.
  void brought(const store::InboxKey& key, store::NodeId by);

  // Committed rows whose outcome is still open.
  std::size_t waiting() const { return waiting_; }
  // The faults are over, and every inbox is empty.
  void check_all_there() const;

 private:
  enum class Became : std::uint8_t { kOpen, kWaits, kMade, kUseless, kRejected };
  struct Submission {
    core::Enqueue command;
    Became became = Became::kOpen;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    store::NodeId by{};  // the last node that brought it
  };

  const Submission& of(const store::InboxKey& key) const;
  void settle(const store::InboxKey& key, Became became);
  void check_order(const store::InboxKey& key, const Submission& made) const;

  Marks& marks_;
  std::map<store::InboxKey, Submission> submissions_;
  std::map<JobId, store::InboxKey> by_job_;
  std::size_t waiting_ = 0;
};

}  // namespace millrace::sim
