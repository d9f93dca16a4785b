// The database that several nodes share: a journal and tables for each shard, the registry, and its
// own clock. What is written to it has a beginning and an end, between which anything may happen;
// whoever began it may be told what came of it, or nothing, and it may be carried out long after
// that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/shard.h"
#include "sim/finishes.h"
#include "sim/marks.h"
#include "sim/submissions.h"
#include "sim/transactions.h"
#include "store/memory/memory_journal.h"
#include "store/memory/memory_registry.h"
#include "store/memory/memory_tables.h"
#include "store/tables.h"

namespace millrace::sim {

using store::NodeId;

// What a node does when it hears of what it asked for.
using Heard = std::function<void()>;

// Something that a node has asked the database for, and not heard of.
struct Call {
  enum class Kind : std::uint8_t { kAppend, kFlush, kTrim, kRegistry, kRenewal, kInbox, kFences };
  Kind kind{};
  NodeId from{};
  std::uint32_t shard = 0;
  std::function<Heard()> carry_out;  // at the database; gives what its node will hear
  Heard unknown;                     // nobody can tell
  Heard failed = nullptr;            // nothing was done; null: that can't be told of it
};

class Database {
 public:
  struct Shard {
    store::MemoryJournal journal;
    store::MemoryTables tables;
  };
  // `hear` brings what was heard to a node, if it still lives.
  Database(std::uint32_t shards, std::function<Time()> now, Marks& marks,
           std::function<void(NodeId, Heard)> hear);

  std::uint32_t shards() const { return static_cast<std::uint32_t>(shards_.size()); }
  Shard& shard(std::uint32_t number) { return *shards_.at(number); }
  store::MemoryRegistry& registry() { return registry_; }
  Time now() const { return now_(); }
  Finishes& finishes() { return finishes_; }
  Submissions& submissions() { return submissions_; }
  Transactions& transactions() { return transactions_; }

  // --- Calls.
  void begin(Call call) { calls_.push_back(std::move(call)); }
  enum class Fate : std::uint8_t {
    kHeard,    // carried out, and its node hears
    kUnheard,  // carried out, and the answer is lost
    kLost,     // not carried out, and nobody can tell
    kLate,     // its node gives up; it may be carried out at any later time
    kFails,    // not carried out, and its node is told so
  };
  const std::vector<Call>& calls() const { return calls_; }
  void settle(std::size_t which, Fate fate);
  std::size_t late() const { return late_.size(); }
  void land(std::size_t which);
  // Its node has given it up already.
  void begin_late(Call call) { late_.push_back(std::move(call)); }
  // The node is gone, or can't be reached any more: its calls are on their way all the same.
  void cut(NodeId node);

  // Renews the node's lease, and keeps what the node hears of that, apart from what it makes of it.
  void renew(const store::NodeFacts& facts,
             std::function<void(const Result<store::ClusterView>&)> heard);
  void leave(NodeId node);
  // A node has heard that it took the shard.
  void show_taken(NodeId node, std::uint32_t shard, Epoch term);
  // The last renewal whose end the node has heard of went well, and that, or the taking of the
  // shard after it, showed it the shard as its own in that term (N4).
  bool shown_to_lead(NodeId node, std::uint32_t shard, Epoch term) const;

  // --- What calls are made of.
  store::AppendResult append(std::uint32_t shard, const store::JournalRow& row, Epoch term);
  Status flush(std::uint32_t shard, const engine::Flush& flush, Epoch term);
  void trim(std::uint32_t shard, Seq below, Epoch term);
  Result<std::vector<JobId>> raise(std::uint32_t shard, std::span<const JobId> jobs,
                                   LeaseToken token, Epoch term);
  // The row that was just appended, as it is read: N8, X6, X7.
  void stored(const core::EventBatch& batch);

 private:
  // What the database knows of a node.
  struct Known {
    std::string name;
    std::uint32_t reads = 0;  // the newest format
    Time until{};             // of its lease
    std::uint32_t told = 0;   // the store's format, by its last renewal
  };

  void show(NodeId node, const store::ClusterView& view);
  bool superseded(std::uint32_t shard, Epoch term);
  void check_raised(NodeId by, std::uint32_t format);

  const std::function<Time()> now_;
  Marks& marks_;
  const std::function<void(NodeId, Heard)> hear_;
  std::vector<std::unique_ptr<Shard>> shards_;
  store::MemoryRegistry registry_;
  Finishes finishes_;
  Submissions submissions_;
  Transactions transactions_;
  std::vector<store::InboxRow> taken_;  // by the row that was just appended
  std::map<NodeId, Known> known_;
  std::vector<Call> calls_;
  std::vector<Call> late_;
  std::map<NodeId, std::optional<store::ClusterView>> shown_;  // none: it can't know
};

}  // namespace millrace::sim
