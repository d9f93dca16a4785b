// Who is there and who leads what, as the database says. Nodes know each other through nothing
// else.
//
// Times are the database's own: whether a lease is over is decided there. A lease says who should
// lead; that two who both believe it do no harm is the journal's matter (Journal::append) and the
// tables' (the epoch under which they are flushed and trimmed).
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

// Of a process, made at its start from random bits: never a host's name, which comes again. 0:
// nobody.
enum class NodeId : std::uint64_t {};
constexpr NodeId kNobody{0};
constexpr std::uint64_t to_number(NodeId id) { return static_cast<std::uint64_t>(id); }
std::string to_string(NodeId id);  // 16 hexadecimal digits, in lower case
std::optional<NodeId> parse_node_id(std::string_view text);

// What a node says of itself.
struct NodeFacts {
  NodeId id{};
  std::string url;                  // where the others reach it: "http://10.0.0.7:7600"
  std::string name;                 // for people: the host's
  std::string version;              // of the program
  std::uint32_t newest_format = 0;  // of a journal row's body that it can read (EventFormat)
};

struct NodeView {
  NodeFacts facts;
  Time started_at{};      // by the database's clock
  bool draining = false;  // gives up what it leads and takes nothing
  Duration left{};        // of its lease; not above 0: over
};

struct ShardView {
  std::uint32_t shard = 0;
  NodeId leader = kNobody;
  Epoch epoch{};
  Seq projected{};  // how far the tables are
};

// A node whose lease has been over for so long is forgotten.
inline constexpr Duration kNodeForgottenAfter{3'600'000};

struct ClusterView {
  // The store's: no journal row is of a newer one, and who can't read it neither leads nor follows.
  std::uint32_t format = 0;
  std::vector<NodeView> nodes;    // by id; a shard's leader that is not among them is forgotten
  std::vector<ShardView> shards;  // by number, each there is
};

// A shard that was taken.
struct Term {
  Epoch epoch{};
  // For how long nobody may have been answered: since it was handed over or left, else since its
  // former leader last renewed its lease; or longer, if whoever took it then never flushed. None:
  // it was the taker's own all the while, or is new.
  std::optional<Duration> silent_for;
};

// Any thread; every call blocks for the database. An error means that the outcome is not known:
// whoever held a lease must take it for lost until renew() says otherwise, and whoever asked for a
// shard and finds itself its leader later takes it again.
class Registry {
 public:
  virtual ~Registry() = default;

  // Begins this node's lease, or makes it last `lease` from now, and tells how everything stands
  // right after that, in one transaction. A lease that was over but that nobody took anything from
  // goes on. Raises the store's format to the newest that all whose leases live can read; nothing
  // lowers it.
  virtual Result<ClusterView> renew(const NodeFacts& self, Duration lease) = 0;

  // Leads a shard from now on, under a new epoch of at least `at_least`, if leader and epoch are
  // still `seen`'s, and that leader is nobody, or `self`, or its lease is over, or it is forgotten.
  // None: they are not. Of a take and a renewal of the former leader's lease one comes first: if it
  // is the renewal, nothing is taken; if it is the take, the renewal's view shows it.
  // From its return on no flush or trim under an older epoch succeeds.
  virtual Result<std::optional<Term>> take(NodeId self, const ShardView& seen, Epoch at_least) = 0;

  // The leader `self` of that epoch names its successor (or nobody), which takes the shard, under a
  // later epoch. False: it leads it no more.
  virtual Result<bool> hand_over(NodeId self, std::uint32_t shard, Epoch epoch, NodeId to) = 0;

  // An operator's wish for a node; false: there is no such node.
  virtual Result<bool> set_draining(NodeId node, bool draining) = 0;

  // The clean end: the lease is over, and what it still leads is nobody's.
  virtual Status leave(NodeId self) = 0;

  // Known to all nodes of this database and to nobody else: by it they know each other.
  virtual Result<std::string> secret() = 0;
};

}  // namespace millrace::store
