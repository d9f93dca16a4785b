// The properties of each kind of request: one row a kind. A kind without a row does not compile,
// and no other code decides by kind. ARCHITECTURE.md walks through it.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "engine/request.h"
#include "engine/wire/peer_level.h"
#include "store/event_codec.h"

namespace millrace::engine {

// Which shards a request goes to, and how their answers are combined.
enum class Route : std::uint8_t {
  kByJob,     // each new job to the shard of its queue; answered job by job
  kByItem,    // each item to the shard of its id; answered item by item. Items unknown there then
              // go to all other shards: an id that a client chose may lie on any
  kByQueue,   // to the shard of the queue, or schedule, that it names; without a name, to all,
              // merged
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

template <typename AnswerKind, Route kTheRoute, Effect kTheEffect, Again kTheAgain,
          PeerLevel kTheLevel = PeerLevel::kFirst,
          store::EventFormat kTheFormat = store::EventFormat::kFirst>
struct Row {
  using Answer = AnswerKind;  // an alternative of core::Reply or of Answer
  static constexpr Route kRoute = kTheRoute;
  static constexpr Effect kEffect = kTheEffect;
  static constexpr Again kAgain = kTheAgain;
  static constexpr PeerLevel kLevel = kTheLevel;             // the oldest peer level that knows it
  static constexpr store::EventFormat kFormat = kTheFormat;  // of the events that it may cause
};

namespace rows {

using enum Route;
using enum Effect;
using enum Again;
using core::CopyLimit, core::GiveShares, core::NoteAudit, core::ReportShares;
using core::DeleteQueue, core::NotePurge, core::GetJob, core::GetQueues;
using core::Enqueue, core::Claim, core::Heartbeat, core::Ack, core::AppendLogs, core::Cancel;
using core::EnqueueReply, core::ItemsReply, core::ClaimReply, core::JobReply, core::QueueReply;
using core::ForgetOperations, core::OperationReply;
using core::GetShares, core::GetWhy, core::LimitReply, core::WhyReply;
using core::NoteScheduleRun, core::GetSchedules, core::ScheduleReply;
using core::PutCatalogEntry, core::DeleteCatalogEntry, core::GetCatalog, core::CatalogReply;
using core::Retry, core::Edit, core::Delete, core::SetQueue, core::PauseQueue, core::ResumeQueue;
using core::SetLimit, core::PauseLimit, core::ResumeLimit, core::DeleteLimit, core::GetLimits;
using core::SetSchedule, core::PauseSchedule, core::ResumeSchedule, core::DeleteSchedule;
using core::StartOperation, core::SetOperation, core::StepOperation, core::GetOperations;
using Done = std::monostate;

// The row of T. A kind that is newer than the first levels names its own after `again`. If a member
// of a request needs a later level or format than its kind, level_of() and format_of() handle that.
template <typename T>
struct Of;

// clang-format off
//                                      answer        route      effect   again
template <> struct Of<Enqueue>         : Row<EnqueueReply, kByJob,    kWrites, kIfKeyed> {};
template <> struct Of<Claim>           : Row<ClaimReply,   kByQueues, kWrites, kNever> {};
template <> struct Of<Heartbeat>       : Row<ItemsReply,   kByItem,   kEnds,   kAlways> {};
template <> struct Of<Ack>             : Row<ItemsReply,   kByItem,   kEnds,   kAlways> {};
template <> struct Of<AppendLogs>      : Row<ItemsReply,   kByItem,   kEnds,   kNever> {};
template <> struct Of<Cancel>          : Row<ItemsReply,   kByItem,   kWrites, kNever> {};
template <> struct Of<Retry>           : Row<ItemsReply,   kByItem,   kWrites, kNever> {};
template <> struct Of<Edit>            : Row<ItemsReply,   kByItem,   kWrites, kNever> {};
template <> struct Of<Delete>          : Row<ItemsReply,   kByItem,   kWrites, kNever> {};
template <> struct Of<SetQueue>        : Row<QueueReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<PauseQueue>      : Row<QueueReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<ResumeQueue>     : Row<QueueReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<DeleteQueue>     : Row<QueueReply,   kByQueue,  kWrites, kNever> {};
// The jobs are already deleted: refusing the purge's closing note would deny that.
template <> struct Of<NotePurge>       : Row<QueueReply,   kByQueue,  kEnds,   kNever> {};
template <> struct Of<GetJob>          : Row<JobReply,     kToOne,    kReads,  kAlways> {};
template <> struct Of<GetQueues>       : Row<QueueReply,   kByQueue,  kReads,  kAlways> {};
template <> struct Of<SetSchedule>     : Row<ScheduleReply, kByQueue, kWrites, kNever> {};
template <> struct Of<PauseSchedule>   : Row<ScheduleReply, kByQueue, kWrites, kNever> {};
template <> struct Of<ResumeSchedule>  : Row<ScheduleReply, kByQueue, kWrites, kNever> {};
template <> struct Of<DeleteSchedule>  : Row<ScheduleReply, kByQueue, kWrites, kNever> {};
template <> struct Of<NoteScheduleRun> : Row<ScheduleReply, kByQueue, kWrites, kNever> {};
template <> struct Of<GetSchedules>    : Row<ScheduleReply, kByQueue, kReads,  kAlways> {};
template <> struct Of<PutCatalogEntry> : Row<CatalogReply, kToOne, kWrites, kNever> {};
template <> struct Of<DeleteCatalogEntry> : Row<CatalogReply, kToOne, kWrites, kNever> {};
template <> struct Of<GetCatalog>      : Row<CatalogReply, kToOne, kReads, kAlways> {};
template <> struct Of<NoteAudit>       : Row<CatalogReply, kToOne, kEnds,  kNever> {};
// A limit's home is the shard of its name; each other shard has a copy and its share.
template <> struct Of<SetLimit>        : Row<LimitReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<PauseLimit>      : Row<LimitReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<ResumeLimit>     : Row<LimitReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<DeleteLimit>     : Row<LimitReply,   kByQueue,  kWrites, kNever> {};
template <> struct Of<GetLimits>       : Row<LimitReply,   kToAll,    kReads,  kAlways> {};
template <> struct Of<GetShares>       : Row<LimitReply,   kByQueue,  kReads,  kAlways> {};
template <> struct Of<CopyLimit>       : Row<LimitReply,   kToAll,    kWrites, kAlways> {};
template <> struct Of<ReportShares>    : Row<LimitReply,   kToOne,    kEnds,   kAlways> {};
template <> struct Of<GiveShares>      : Row<LimitReply,   kToOne,    kEnds,   kAlways> {};
template <> struct Of<GetWhy>          : Row<WhyReply,     kToOne,    kReads,  kAlways> {};
// Every shard has a part of an operation.
template <> struct Of<StartOperation>  : Row<OperationReply, kToAll,  kWrites, kAlways> {};
template <> struct Of<SetOperation>    : Row<OperationReply, kToAll,  kWrites, kAlways> {};
template <> struct Of<StepOperation>   : Row<OperationReply, kToOne,  kWrites, kNever> {};
template <> struct Of<GetOperations>   : Row<OperationReply, kToAll,  kReads,  kAlways> {};
template <> struct Of<ForgetOperations> : Row<OperationReply, kToAll, kWrites, kAlways> {};
template <> struct Of<WaitingClaim>    : Row<ClaimReply,   kByQueues, kWrites, kNever> {};
template <> struct Of<Poll>            : Row<PollReply,    kPoll,     kEnds,   kNever> {};
template <> struct Of<WatchJob>        : Row<JobReply,     kToOne,    kReads,  kAlways> {};
template <> struct Of<FindJob>         : Row<JobReply,     kToAll,    kReads,  kAlways> {};
template <> struct Of<AwaitProjection> : Row<Done,         kToAll,    kReads,  kAlways> {};
template <> struct Of<AwaitEvents>     : Row<Done,         kToFirst,  kReads,  kAlways> {};
// A hint could be requested again, but not for the remaining time only.
template <> struct Of<AwaitWork>       : Row<Done,         kToFirst,  kReads,  kNever> {};
template <> struct Of<ListWorkers>     : Row<WorkersReply, kToAll,    kReads,  kAlways> {};
template <> struct Of<SetWorkerState>  : Row<WorkersReply, kToAll,    kReads,  kAlways> {};
template <> struct Of<AwaitJobQuestions> : Row<JobQuestions, kToOne,  kReads,  kNever> {};
template <> struct Of<TellOfJob>       : Row<Done,         kToOne,    kReads,  kNever> {};
template <> struct Of<AwaitOperationWork> : Row<OperationWork, kToOne, kReads, kNever> {};
// clang-format on

}  // namespace rows

template <typename T>
using Kind = rows::Of<std::remove_cvref_t<T>>;

template <typename T>
concept HasItems = Kind<T>::kRoute == Route::kByJob || Kind<T>::kRoute == Route::kByItem;

// The items that are answered one by one.
template <HasItems T>
auto& items_of(T& asked) {
  if constexpr (requires { asked.jobs; }) {
    return asked.jobs;
  } else if constexpr (requires { asked.items; }) {
    return asked.items;
  } else {
    return asked.ids;
  }
}

// Calls `visit` with the request itself: for a command, not with the variant that holds it.
template <typename Visit>
decltype(auto) visit_kind(Visit&& visit, const Request& request) {
  return std::visit(
      [&]<typename T>(const T& asked) -> decltype(auto) {
        if constexpr (std::is_same_v<T, core::Command>) {
          return std::visit(visit, asked);
        } else {
          return visit(asked);
        }
      },
      request);
}

// The members of a kind's row that do not depend on the kind's type.
struct KindFacts {
  Route route{};
  Effect effect{};
  Again again{};
  PeerLevel level{};
  store::EventFormat format{};
};
template <typename T>
constexpr KindFacts facts_of_kind() {
  using K = Kind<T>;
  return {K::kRoute, K::kEffect, K::kAgain, K::kLevel, K::kFormat};
}
inline KindFacts facts_of(const core::Command& command) {
  return std::visit([]<typename T>(const T&) { return facts_of_kind<T>(); }, command);
}
inline KindFacts facts_of(const Request& request) {
  return visit_kind([]<typename T>(const T&) { return facts_of_kind<T>(); }, request);
}

}  // namespace millrace::engine
