// The kinds of all requests: those of the commands (core/kind.h), and of the requests that the
// engine serves itself. A kind without a description does not compile, and no other code decides by
// kind. ARCHITECTURE.md walks through it.
#pragma once

#include <cstdint>
#include <type_traits>
#include <variant>

#include "core/kinds.h"
#include "engine/request.h"
#include "engine/wire/peer_level.h"
#include "store/event_codec.h"

namespace millrace::core {

using Done = std::monostate;

template <>
struct KindOf<engine::WaitingClaim>
    : Row<ClaimReply, Route::kByQueues, Effect::kWrites, Again::kNever> {
  static constexpr std::string_view kName = "claim and wait";
  static constexpr Scopes kScopes = kWorkScope;
  static void name(const engine::WaitingClaim& asked, Named& named) {
    named.all_queues(asked.claim.queues);
  }
};

template <>
struct KindOf<engine::Poll> : Row<engine::PollReply, Route::kPoll, Effect::kEnds, Again::kNever> {
  static constexpr std::string_view kName = "poll";
  static constexpr Scopes kScopes = kWorkScope;
  static void name(const engine::Poll& asked, Named& named) {
    Kind<Ack>::name(asked.acks, named);
    named.ids_of(asked.heartbeats.items);
    named.ids_of(asked.logs.items);
    if (asked.claim) named.all_queues(asked.claim->queues);
  }
};

// The answer is checked instead of the job. The holder of a lease needs another scope.
template <>
struct KindOf<engine::WatchJob> : Row<JobReply, Route::kToOne, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "watch job";
  static constexpr Scopes kScopes = kReadScope;
};

template <>
struct KindOf<engine::FindJob>
    : Row<JobReply, Route::kToAll, Effect::kReads, Again::kAlways, KindOf<GetJob>> {
  static constexpr std::string_view kName = "find job";
};

template <>
struct KindOf<engine::AwaitProjection>
    : Row<Done, Route::kToAll, Effect::kReads, Again::kAlways, Reading> {
  static constexpr std::string_view kName = "wait for the tables";
};

template <>
struct KindOf<engine::AwaitEvents> : Row<Done, Route::kToFirst, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "wait for events";
  static constexpr Scopes kScopes = kReadScope;
};

// A hint could be requested again, but not for the remaining time only.
template <>
struct KindOf<engine::AwaitWork> : Row<Done, Route::kToFirst, Effect::kReads, Again::kNever> {
  static constexpr std::string_view kName = "wait for work";
  static constexpr Scopes kScopes = kWorkScope;
  static void name(const engine::AwaitWork& asked, Named& named) { named.all_queues(asked.queues); }
};

template <>
struct KindOf<engine::ListWorkers>
    : Row<engine::WorkersReply, Route::kToAll, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "list workers";
  static constexpr Scopes kScopes = kReadScope;
};

template <>
struct KindOf<engine::SetWorkerState>
    : Row<engine::WorkersReply, Route::kToAll, Effect::kReads, Again::kAlways> {
  static constexpr std::string_view kName = "command a worker";
  static constexpr Scopes kScopes = kOperateScope;
  static void name(const engine::SetWorkerState&, Named& named) { named.workers = true; }
};

// Never sent to another node.
template <>
struct KindOf<engine::AwaitJobQuestions>
    : Row<engine::JobQuestions, Route::kToOne, Effect::kReads, Again::kNever> {
  static constexpr std::string_view kName = "wait for questions";
};
template <>
struct KindOf<engine::TellOfJob> : Row<Done, Route::kToOne, Effect::kReads, Again::kNever> {
  static constexpr std::string_view kName = "tell of a job";
};
template <>
struct KindOf<engine::AwaitOperationWork>
    : Row<engine::OperationWork, Route::kToOne, Effect::kReads, Again::kNever> {
  static constexpr std::string_view kName = "wait for a step of an operation";
};

}  // namespace millrace::core

namespace millrace::engine {

using core::Again;
using core::Effect;
using core::Kind;
using core::Route;

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

// The properties of a kind that do not depend on its type.
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
  return {K::kRoute, K::kEffect, K::kAgain, PeerLevel{K::kPeerLevel},
          store::EventFormat{K::kEventFormat}};
}
inline KindFacts facts_of(const core::Command& command) {
  return std::visit([]<typename T>(const T&) { return facts_of_kind<T>(); }, command);
}
inline KindFacts facts_of(const Request& request) {
  return visit_kind([]<typename T>(const T&) { return facts_of_kind<T>(); }, request);
}

}  // namespace millrace::engine
