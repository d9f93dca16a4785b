// A call: one request on its way to its answer. Handlers see this and nothing of sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "core/queue.h"
#include "engine/event_feed.h"
#include "engine/reads.h"
#include "engine/store_statistics.h"
#include "http/answer_port.h"
#include "http/auth.h"
#include "http/byte_budget.h"
#include "http/operations.h"
#include "http/peer_access.h"
#include "http/reader_pool.h"
#include "http/request_guard.h"
#include "http/task.h"

namespace millrace::http {

// What calls are made of and answered from. One for the server; outlives every call.
struct Services {
  const engine::Reads& reads;
  const engine::EventFeed& feed;
  engine::StoreStatistics& statistics;
  const TokenBook& tokens;
  Operations& operations;
  const Clock& clock;
  ReaderPool& readers;

  api::DecodeLimits limits;
  HeadLimits head_limits;
  Duration idempotency_window = core::kDefaultIdempotencyWindow;
  core::Retention default_retention;  // of queues that do not say
  std::atomic<bool> draining = false;
  ByteBudget bodies{std::size_t{1} << 30};        // of requests
  ByteBudget answers{std::size_t{1} << 30};       // their bodies, from the handler to the socket
  std::size_t page_bytes = store::kMaxPageBytes;  // of one answer with many items
  PeerAccess* peers = nullptr;                    // null: this node knows no others
  std::atomic<bool> closing = false;              // other nodes, too, find nobody here any more

  engine::ShardNumber shards() const { return reads.shards(); }
};

enum class MediaType : std::uint8_t { kJson, kProblem, kText };

struct Response {
  int status = 200;
  MediaType media_type = MediaType::kJson;
  std::string body;                      // empty with 204
  std::optional<std::uint64_t> version;  // ETag
  bool replayed = false;                 // Idempotent-Replayed
  std::optional<Duration> retry_after;
  std::string allow;         // with 405
  std::string_view problem;  // its code
  bool must_close = false;   // nothing more is read from this connection
  // 101: from here on the connection is one between nodes, at that level.
  std::optional<engine::PeerLevel> upgrades;

  void clear();
};

// Makes ids for jobs without one. One per I/O thread.
class IdMaker {
 public:
  explicit IdMaker(std::uint64_t seed) : random_(seed) {}
  JobId make(Time now, std::string_view queue);
  std::uint64_t random() { return random_.next(); }

 private:
  Random random_;
  std::string last_queue_;  // producers mostly stay with one
  std::uint16_t last_bits_ = 0;
};

class Call {
 public:
  Call(Services& all_services, AnswerPort& answer_port, IdMaker& id_maker)
      : services(all_services), port(answer_port), ids(id_maker) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // --- The request. Views of the connection's buffer, whole and in place until the answer is made.
  const RequestHead* head = nullptr;
  std::string_view body;
  api::RouteMatch route;
  const Access* access = nullptr;  // null: no tokens are configured, or the route is open
  std::string request_id;
  std::string_view peer;  // the client's address
  std::string note;       // for the log alone: what the client is not told

  Response response;

  Services& services;
  AnswerPort& port;
  IdMaker& ids;

  api::RouteId route_id() const { return route.route->id; }
  std::string_view query() const { return head->query(); }
  const std::string& parameter() const { return route.parameter; }  // of the path
  Time now() const { return services.clock.now(); }

  // --- Who may see what.
  bool limited() const { return access != nullptr && access->limited(); }
  bool allows_queue(std::string_view queue) const {
    return access == nullptr || access->allows_queue(queue);
  }

  // What the client sent as Authorization, for the node that leads the shard to look at anew;
  // empty: nothing.
  std::string_view credentials() const;

  // --- Asking. A wait is given up when the client goes away; other requests run to their end.
  enum class Patience : std::uint8_t { kCommit, kWait };
  // Takes a reference and makes the request in here: see the note on GCC 12 in task.h.
  template <typename T>
  Ask ask(T&& request, Patience patience = Patience::kCommit) {
    return Ask(port, engine::Request(std::forward<T>(request)), {credentials(), nullptr},
               patience == Patience::kWait ? &wait_ : nullptr);
  }
  AskAll ask_all(std::vector<engine::Request>&& requests) {
    return AskAll(port, std::move(requests), {credentials(), nullptr});
  }
  // co_await call.read(lane, function), the function named before: what it returns. None: the call
  // is answered, for the client has too many reads under way; or, with kWait, it has gone.
  template <typename Function>
  auto read(Lane lane, Function& function, Patience patience = Patience::kCommit)
      -> Task<std::optional<typename Blocking<Function>::Value>> {
    const Reader reader{client(), patience == Patience::kWait ? &wait_ : nullptr};
    Blocking<Function> blocking(services.readers, lane, reader, port, function);
    auto value = co_await blocking;
    if (!value) refuse_read(blocking.refused());
    co_return value;
  }
  // Whose turns its reads take: the token's, or the address's.
  std::string_view client() const;
  // The client has gone: a wait is given up, also one that begins later, and what is answered goes
  // nowhere.
  void abandon();
  bool abandoned() const { return wait_.given_up; }
  bool client_gone() const { return wait_.over; }

  // --- Answering.
  void refuse(const api::Problem& problem);
  void refuse(api::ProblemCode code, std::string detail) {
    refuse(api::make_problem(code, std::move(detail)));
  }
  // Makes the problem that stands for an answer that is none of those expected.
  void refuse(const engine::Answer& answer);
  void refuse(engine::Denied why);
  void no_content() { response.status = 204; }

  // The answer is about to take so many bytes. False: there is no room for them now, and the call
  // is answered.
  bool hold_answer(std::size_t bytes);
  // Of the budget for answers; whoever sends the answer gives it back.
  std::size_t held = 0;

 private:
  void refuse_read(bool too_many);

  Wait wait_;
};

api::Problem problem_of(engine::Unavailable why);

// The reply of kind `T` in an answer, or null.
template <typename T>
T* reply_in(engine::Answer& answer) {
  if (auto* reply = std::get_if<core::Reply>(&answer)) return std::get_if<T>(reply);
  return nullptr;
}

}  // namespace millrace::http
