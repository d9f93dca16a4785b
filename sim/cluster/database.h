// The database shared by several nodes: a journal and tables for each shard, the registry, and its
// own clock. Every write has a beginning and an end, between which anything may happen. The writer
// may or may not learn the result, and the write may take effect long after that.
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

#include "engine/shard/shard.h"
#include "sim/model/finishes.h"
#include "sim/model/submissions.h"
#include "sim/world/marks.h"
#include "sim/world/transactions.h"
#include "store/memory/memory_journal.h"
#include "store/memory/memory_registry.h"
#include "store/memory/memory_tables.h"
#include "store/tables.h"

namespace millrace::sim {

using store::NodeId;

// A node's reaction to the result of a call.
using Heard = std::function<void()>;

// A node's call whose result it has not learned yet.
struct Call {
  enum class Kind : std::uint8_t { kAppend, kFlush, kTrim, kRegistry, kRenewal, kInbox, kFences };
  Kind kind{};
  NodeId from{};
  std::uint32_t shard = 0;
  std::function<Heard()> carry_out;  // runs at the database; returns the reaction
  Heard unknown;                     // the reaction to an unknown outcome
  Heard failed = nullptr;            // nothing was done; null: the caller can't know that
};

class Database {
 public:
  struct Shard {
    store::MemoryJournal journal;
    store::MemoryTables tables;
  };
  // `hear` delivers a result to a node, if the node still lives.
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
    kHeard,    // carried out, and the node learns it
    kUnheard,  // carried out, but the answer is lost
    kLost,     // not carried out, and the node learns nothing
    kLate,     // the node gives up; it may be carried out at any later time
    kFails,    // not carried out, and the node learns that
  };
  const std::vector<Call>& calls() const { return calls_; }
  void settle(std::size_t which, Fate fate);
  std::size_t late() const { return late_.size(); }
  void land(std::size_t which);
  // A call that its node has already given up.
  void begin_late(Call call) { late_.push_back(std::move(call)); }
  // The node is gone or unreachable; its calls are still on their way.
  void cut(NodeId node);

  // Renews the node's lease. Records the node's view, whatever the node does with it.
  void renew(const store::NodeFacts& facts,
             std::function<void(const Result<store::ClusterView>&)> heard);
  void leave(NodeId node);
  // A node has learned that it took the shard.
  void show_taken(NodeId node, std::uint32_t shard, Epoch term);
  // Whether the last renewal whose result the node has learned succeeded, and that renewal, or a
  // later takeover of the shard, showed the node as the shard's leader in that term (N4).
  bool shown_to_lead(NodeId node, std::uint32_t shard, Epoch term) const;

  // --- The effects of calls.
  store::AppendResult append(std::uint32_t shard, const store::JournalRow& row, Epoch term);
  Status flush(std::uint32_t shard, const engine::Flush& flush, Epoch term);
  void trim(std::uint32_t shard, Seq below, Epoch term);
  Result<std::vector<JobId>> raise(std::uint32_t shard, std::span<const JobId> jobs,
                                   LeaseToken token, Epoch term);
  // The row just appended, as read back: N8, X6, X7.
  void stored(const core::EventBatch& batch);

 private:
  // The database's knowledge about a node.
  struct Known {
    std::string name;
    std::uint32_t reads = 0;  // the newest format it can read
    Time until{};             // the end of its lease
    std::uint32_t told = 0;   // the store's format, as told with its last renewal
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
  std::vector<store::InboxRow> taken_;  // with the row just appended
  std::map<NodeId, Known> known_;
  std::vector<Call> calls_;
  std::vector<Call> late_;
  std::map<NodeId, std::optional<store::ClusterView>> shown_;  // none: the node can't know
};

}  // namespace millrace::sim
