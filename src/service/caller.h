// The caller of an operation, and the services that the operation uses. An operation does not see
// the door through which the caller came.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "api/problem.h"
#include "api/scope.h"
#include "base/clock.h"
#include "base/result.h"
#include "core/bounds.h"
#include "core/queues/queue.h"
#include "engine/feed/event_feed.h"
#include "engine/kinds.h"
#include "engine/models/read_models.h"
#include "engine/reads.h"
#include "engine/schedules/zones.h"
#include "service/answer_port.h"
#include "service/answered.h"
#include "service/byte_budget.h"
#include "service/catalog.h"
#include "service/id_maker.h"
#include "service/operations.h"
#include "service/reader_pool.h"
#include "service/task.h"
#include "service/tokens.h"

namespace millrace::service {

class PushDesk;

// The objects that operations use. One instance for the server; outlives every call.
struct Services {
  const engine::Reads& reads;
  const engine::EventFeed& feed;
  engine::ReadModels& models;
  const Tokens& tokens;
  Catalog& catalog;
  Operations& operations;
  const Clock& clock;
  ReaderPool& readers;

  Duration idempotency_window = core::kDefaultIdempotencyWindow;
  core::Retention default_retention;  // for queues without a setting of their own
  engine::Zones* zones = &engine::utc_alone();
  std::atomic<bool> draining = false;
  ByteBudget answers{std::size_t{1} << 30};       // for large answers, until they are read
  std::size_t page_bytes = store::kMaxPageBytes;  // the most for an answer with many items
  PushDesk* push = nullptr;                       // null: this server pushes no jobs
  std::optional<Duration> audit_retention{};      // of entries shown by the audit; none: for ever

  engine::ShardNumber shards() const { return reads.shards(); }
};

template <typename Reply>
class AskFor;

class Caller {
 public:
  Caller(Services& all_services, AnswerPort& answer_port, IdMaker& id_maker)
      : services(all_services), port(answer_port), ids(id_maker) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  Services& services;
  AnswerPort& port;
  IdMaker& ids;

  // --- Set by the door before an operation begins; the viewed text must stay valid until it ends.
  SharedAccess access;  // null: no tokens are configured, or the operation is open
  // The client's credentials, which the leader of the shard checks again; empty: none.
  std::string_view credentials;
  std::string_view reader;               // the client name by which its reads take turns
  api::Scope scope = api::Scope::kNone;  // the scope that the operation requires

  // --- For the audit. The first three are set likewise.
  std::string_view address;
  std::string_view request_id;
  core::AuditVia via = core::AuditVia::kHttp;
  // Set by an operation whose commands do not imply its description.
  core::Origin about;
  // The origin for a command with this description.
  core::SharedOrigin origin_of(core::Origin about) const;

  std::string note;  // for the log; not shown to the client

  Time now() const { return services.clock.now(); }

  // --- Visibility.
  bool limited() const { return access != nullptr && access->limited(); }
  bool allows_queue(std::string_view queue) const {
    return access == nullptr || access->allows_queue(queue);
  }
  // Payloads, results, checkpoints, texts of errors and log lines.
  bool sees_payloads() const { return access == nullptr || access->allows(api::Scope::kPayload); }

  // --- Requests. A wait is given up when the client goes away; other requests run to their end.
  enum class Patience : std::uint8_t { kCommit, kWait };
  // co_await caller.ask(request): the reply of the request's kind, or the problem for any other
  // answer. It takes a reference and makes the Request itself: see the note on GCC 12 in task.h.
  template <typename T>
  AskFor<typename engine::Kind<T>::Answer> ask(T&& request, Patience patience = Patience::kCommit);
  // The same for a request of unknown kind, if all the possible kinds have this reply.
  template <typename Reply>
  AskFor<Reply> ask_for(engine::Request&& request);
  // The wait to give up, if `patience` allows it.
  Wait* wait_for(Patience patience) { return patience == Patience::kWait ? &wait_ : nullptr; }
  // Returns any answer as it is.
  template <typename T>
  Ask answer_to(T&& request, Patience patience = Patience::kCommit) {
    return Ask(port, attributed(std::forward<T>(request)), {credentials, nullptr},
               wait_for(patience));
  }
  AskAll answers_to(std::vector<engine::Request>&& requests) {
    for (engine::Request& request : requests) attribute(request);
    return AskAll(port, std::move(requests), {credentials, nullptr});
  }
  // co_await caller.read(lane, function): the function's result. `function` must be a named local.
  // Refused if the tables cannot be read, if the client has too many pending reads or, with kWait,
  // if the client has gone.
  template <typename Function>
  auto read(Lane lane, Function& function, Patience patience = Patience::kCommit)
      -> Task<Answered<typename internal::ReadValue<typename Blocking<Function>::Value>::Type>> {
    using Value = typename Blocking<Function>::Value;
    using Type = typename internal::ReadValue<Value>::Type;
    Blocking<Function> blocking(services.readers, lane, Reader{reader, wait_for(patience)}, port,
                                function);
    std::optional<Value> value = co_await blocking;
    if (!value) co_return std::unexpected(problem_of_no_read(blocking.refused()));
    if constexpr (std::is_same_v<Value, Type>) {
      co_return std::move(*value);
    } else {
      if (!*value) co_return std::unexpected(problem_of_read(value->error()));
      if constexpr (std::is_void_v<Type>) {
        co_return Answered<>();
      } else {
        co_return std::move(**value);
      }
    }
  }

  // The client has gone: gives up the current wait and any later one; the answer is dropped.
  void abandon();
  // Resets the caller for the next request.
  void begin_anew() {
    access = nullptr;
    about = {};
    if (revoked_) wait_ = {};  // a wait after the client has gone stays over
    revoked_ = false;
  }
  // The token is no longer valid: gives up the current wait, as if the client had gone; the answer
  // gives the reason.
  void revoke();
  bool revoked() const { return revoked_; }
  bool abandoned() const { return wait_.given_up; }
  bool client_gone() const { return wait_.over; }

  // --- The problem for an answer of an unexpected kind, or for a read without a result.
  api::Problem problem_of(const engine::Answer& answer);
  // Writes the reason to the log.
  api::Problem problem_of_read(const Error& error);

  // Reserves this many bytes for the answer. False: there is no room now.
  bool hold_answer(std::size_t bytes);
  // The bytes taken from the budget for answers. The code that sends the answer returns them.
  std::size_t held = 0;

 private:
  template <typename Reply>
  friend class AskFor;
  // Records the caller in an operator's command. The only place that does so.
  void attribute(engine::Request& request) const;
  template <typename T>
  engine::Request attributed(T&& asked) const {
    engine::Request request(std::forward<T>(asked));
    attribute(request);
    return request;
  }
  api::Problem problem_of(engine::Denied why);
  static api::Problem problem_of_no_read(bool too_many);

  Wait wait_;
  bool revoked_ = false;
};

template <typename Reply>
class [[nodiscard]] AskFor {
 public:
  AskFor(Caller& caller, engine::Request request, Wait* wait)
      : caller_(caller),
        ask_(caller.port, caller.attributed(std::move(request)), {caller.credentials, nullptr},
             wait) {}

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) { return ask_.await_suspend(handle); }
  Answered<Reply> await_resume() {
    engine::Answer answer = ask_.await_resume();
    if (Reply* const reply = reply_in<Reply>(answer)) return std::move(*reply);
    return std::unexpected(caller_.problem_of(answer));
  }

 private:
  Caller& caller_;
  Ask ask_;
};

template <typename T>
AskFor<typename engine::Kind<T>::Answer> Caller::ask(T&& request, Patience patience) {
  return {*this, engine::Request(std::forward<T>(request)), wait_for(patience)};
}
template <typename Reply>
AskFor<Reply> Caller::ask_for(engine::Request&& request) {
  return {*this, std::move(request), nullptr};
}

}  // namespace millrace::service
