// The existing nodes and the leader of each shard, according to the database. Nodes learn of each
// other only from here.
//
// Times are the database's: it decides whether a lease is over. A lease says who should lead. Two
// nodes that both believe they lead do no harm: the journal prevents it (Journal::append), and so
// do the tables (the epoch under which they are flushed and trimmed).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace::store {

// Identifies a process. Made at its start from random bits, never from a host's name, which may be
// reused. 0: no node.
enum class NodeId : std::uint64_t {};
constexpr NodeId kNobody{0};
constexpr std::uint64_t to_number(NodeId id) { return static_cast<std::uint64_t>(id); }
std::string to_string(NodeId id);  // 16 hexadecimal digits, in lower case
std::optional<NodeId> parse_node_id(std::string_view text);

// A node's facts about itself.
struct NodeFacts {
  NodeId id{};
  std::string url;                  // where other nodes reach it: "http://10.0.0.7:7600"
  std::string name;                 // for people: the host's name
  std::string version;              // of the program
  std::uint32_t newest_format = 0;  // the newest EventFormat of a journal row that it can read
};

struct NodeView {
  NodeFacts facts;
  Time started_at{};      // by the database's clock
  bool draining = false;  // it hands over its shards and takes none
  Duration left{};        // of its lease; zero or less: the lease is over
};

struct ShardView {
  std::uint32_t shard = 0;
  NodeId leader = kNobody;
  Epoch epoch{};
  Seq projected{};  // the progress of its tables
};

// A node is forgotten when its lease has been over for this long.
inline constexpr Duration kNodeForgottenAfter{3'600'000};

struct ClusterView {
  // The store's format: no journal row has a newer one. A node that can't read it neither leads nor
  // follows.
  std::uint32_t format = 0;
  std::vector<NodeView> nodes;    // by id; a leader that is not among them is forgotten
  std::vector<ShardView> shards;  // by number, complete
};

// The leadership of a shard that take() began.
struct Term {
  Epoch epoch{};
  // The time during which possibly nobody answered for the shard. It starts when the former leader
  // handed the shard over or left, or otherwise when it last renewed its lease; earlier if that
  // leader itself never flushed. None: the taker led the shard all along, or the shard is new.
  std::optional<Duration> silent_for;
};

// Thread-safe; every call blocks for the database. An error means that the outcome is unknown. A
// node that held a lease must treat it as lost until renew() says otherwise. A node that tried to
// take a shard, and later finds itself its leader, must take it again.
class Registry {
 public:
  virtual ~Registry() = default;

  // Starts this node's lease, or extends it to `lease` from now, and returns the state right after
  // that, in one transaction. A lease that was over continues if no shard was taken from the node.
  // Raises the store's format to the newest that all nodes with a live lease can read; nothing
  // lowers it.
  virtual Result<ClusterView> renew(const NodeFacts& self, Duration lease) = 0;

  // Makes `self` the shard's leader, under a new epoch of at least `at_least`. Succeeds only if
  // leader and epoch are still those of `seen`, and that leader is none, is `self`, is forgotten,
  // or has a lease that is over. Otherwise returns none. A take and a renewal of the former
  // leader's lease are ordered: if the renewal comes first, the take fails; if the take comes
  // first, the renewal's view shows it. After a successful return no flush or trim under an older
  // epoch succeeds.
  virtual Result<std::optional<Term>> take(NodeId self, const ShardView& seen, Epoch at_least) = 0;

  // The leader `self` of `epoch` names its successor, or none; the successor takes the shard, under
  // a later epoch. False: `self` no longer leads the shard.
  virtual Result<bool> hand_over(NodeId self, std::uint32_t shard, Epoch epoch, NodeId to) = 0;

  // Records an operator's request to drain a node, or to stop draining it. False: no such node.
  virtual Result<bool> set_draining(NodeId node, bool draining) = 0;

  // Clean shutdown: ends the lease. Shards that the node still leads have no leader from then on.
  virtual Status leave(NodeId self) = 0;

  // A secret shared by exactly the nodes of this database; they authenticate by it.
  virtual Result<std::string> secret() = 0;
};

}  // namespace millrace::store
