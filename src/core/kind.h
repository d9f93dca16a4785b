// What the rest of the program must know of each kind of command, in one description beside its
// struct, in a file *_kinds.h: where it goes and what answers it, who may send it, what it names,
// which jobs it needs from the tables, what it costs in a journal row, its line in the audit and in
// a narration. A description states only what differs from Unremarkable. A command without one does
// not compile. The engine describes its own requests in the same way (engine/kinds.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace millrace::core {

// Which shards a request goes to, and how their answers are combined.
enum class Route : std::uint8_t {
  kByJob,     // each new job to the shard of its queue; answered job by job
  kByItem,    // each item to the shard of its id; answered item by item. Items unknown there then
              // go to all other shards: an id that a client chose may lie on any
  kByQueue,   // to the shard of routed_by(): a queue, or a schedule; without a name, to all, merged
  kByQueues,  // claims: to the shards of its queues in turn, until one has jobs
  kPoll,      // its items as kByItem, its claim as kByQueues
  kToOne,     // to one shard, which the request determines
  kToFirst,   // to each shard concerned; the first one that knows answers for all
  kToAll,     // to all, merged
};

enum class Effect : std::uint8_t {
  kReads,  // changes nothing durable, whatever the state
  kEnds,   // ends or extends what runs: allowed while the shard drains
  kWrites,
};

// Whether a request with unknown outcome may be repeated: it takes effect only once, and the second
// answer replaces the first.
enum class Again : std::uint8_t { kNever, kAlways, kIfKeyed };

// The scopes of the API calls that lead to such a request, one bit each; a token with any of them
// may send it from another node.
using Scopes = std::uint32_t;
inline constexpr Scopes kNodesOnly = 0;  // a node sends it in its own name
inline constexpr Scopes kSubmitScope = 1;
inline constexpr Scopes kWorkScope = 2;
inline constexpr Scopes kReadScope = 4;
inline constexpr Scopes kOperateScope = 8;

// The names in a request, by which the token of another node's client is judged again. They point
// into the request.
struct Named {
  std::vector<std::string_view> queues;
  std::vector<std::string_view> schedules;
  std::vector<JobId> ids;
  std::vector<JobId> workflows;
  bool workers = false;  // orders to a worker touch all its queues

  void queue(const SharedBytes& name) { queues.push_back(name.view()); }
  void all_queues(const std::vector<SharedBytes>& names) {
    for (const SharedBytes& name : names) queue(name);
  }
  template <typename Spec>
  void queues_of(const std::vector<Spec>& specs) {
    for (const Spec& spec : specs) queue(spec.queue);
  }
  // Of a workflow that is to be created.
  template <typename Workflow>
    requires requires(const Workflow& w) { w.spec.callbacks; }
  void queues_of(const Workflow& workflow) {
    queue(workflow.spec.queue);
    queues_of(workflow.members);
    queues_of(workflow.spec.callbacks);
  }
  template <typename Item>
  void ids_of(const std::vector<Item>& items) {
    for (const Item& item : items) ids.push_back(item.id);
  }
};

// The object of a command, as the audit names it.
struct AuditObject {
  std::string_view kind;  // queue, schedule, limit, type, job, jobs, workflow, document or
                          // operation
  SharedBytes name;
  JobId job{};               // the one job whose image the entry shows
  bool counts_jobs = false;  // the entry has the number of jobs, and no image
};

// The description of most kinds in most respects.
struct Unremarkable {
  // The first level of the protocol between nodes, and of the format of events, that has the kind:
  // engine::PeerLevel and store::EventFormat. If one of its members needs a later level,
  // engine::level_of() and engine::format_of() say so.
  static constexpr std::uint32_t kPeerLevel = 1;
  static constexpr std::uint32_t kEventFormat = 1;

  static constexpr Scopes kScopes = kNodesOnly;
  template <typename Asked>
  static void name(const Asked&, Named&) {}

  // The jobs that memory alone may not know. Running jobs, queues, schedules and limits are always
  // in memory. `needed` is a NeededIds (machine.cc).
  template <typename Command, typename Needed>
  static void need(const Command&, Needed&) {}

  // The most bytes that its events add to a journal row.
  template <typename Command>
  static std::size_t row_bytes(const Command&) {
    return 0;
  }

  // What an operator has done to object(), such as "paused"; empty: no operator gives the command,
  // or its origin holds the whole entry.
  static constexpr std::string_view kDone = {};
  template <typename Command>
  static AuditObject object(const Command&) {
    return {};
  }
};

template <typename AnswerKind, Route kTheRoute, Effect kTheEffect, Again kTheAgain,
          typename Base = Unremarkable>
struct Row : Base {
  using Answer = AnswerKind;  // an alternative of core::Reply or of engine::Answer
  static constexpr Route kRoute = kTheRoute;
  static constexpr Effect kEffect = kTheEffect;
  static constexpr Again kAgain = kTheAgain;
};

// --- Families.

// A user reads something.
struct Reading : Unremarkable {
  static constexpr Scopes kScopes = kReadScope | kOperateScope;
};

// A worker reports on jobs by id.
struct OnRunningJobs : Unremarkable {
  static constexpr Scopes kScopes = kWorkScope;
  template <typename Command>
  static void name(const Command& command, Named& named) {
    named.ids_of(command.items);
  }
};

// An operator changes jobs by id.
struct OnJobs : Unremarkable {
  static constexpr Scopes kScopes = kOperateScope;
  template <typename Command>
  static void name(const Command& command, Named& named) {
    named.ids = command.ids;
  }
  template <typename Command, typename Needed>
  static void need(const Command& command, Needed& needed) {
    needed.add(command.ids);
  }
  template <typename Command>
  static AuditObject object(const Command& command) {
    if (command.ids.size() != 1) return {"jobs", {}, {}, true};
    const JobId& id = command.ids.front();
    return {"job", SharedBytes(to_string(id)), id};
  }
};

// An operator changes a queue.
struct OnQueue : Unremarkable {
  static constexpr Scopes kScopes = kOperateScope;
  template <typename Command>
  static std::string_view routed_by(const Command& command) {
    return command.queue.view();
  }
  template <typename Command>
  static void name(const Command& command, Named& named) {
    named.queue(command.queue);
  }
  template <typename Command>
  static AuditObject object(const Command& command) {
    return {"queue", command.queue};
  }
};

// An operator changes a schedule.
struct OnSchedule : Unremarkable {
  static constexpr Scopes kScopes = kOperateScope;
  template <typename Command>
  static std::string_view routed_by(const Command& command) {
    return command.name.view();
  }
  template <typename Command>
  static void name(const Command& command, Named& named) {
    named.schedules.push_back(command.name.view());
  }
  template <typename Command>
  static AuditObject object(const Command& command) {
    return {"schedule", command.name};
  }
};

// The description of a kind: a specialization beside its struct.
template <typename Command>
struct KindOf;
template <typename Command>
using Kind = KindOf<std::remove_cvref_t<Command>>;

}  // namespace millrace::core
