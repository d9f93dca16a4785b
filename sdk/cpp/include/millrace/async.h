// The client's calls for programs that must not block: with a callback, or with co_await.
//
//   millrace::sdk::AsyncClient client(millrace::sdk::Client({}));
//
//   client.start([](Client& calls) { return calls.submit("mail.send", mail); },
//                [](Result<Submitted> submitted) { ... });                // a callback
//
//   auto submitted = co_await client.submit("mail.send", mail);            // a coroutine
//   auto queues = co_await client.run([](Client& calls) { return calls.queues(); });
//
// The calls run on threads of their own. By default, a callback or the rest of a coroutine runs on
// the call's thread; AsyncOptions::resume hands it to the application's event loop instead.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "millrace/client.h"

namespace millrace::sdk {

struct AsyncOptions {
  // The most calls at a time, each on a thread; others wait for one. A call that waits at the
  // server, such as wait(), keeps its thread meanwhile.
  int threads = 8;
  // Runs a callback or resumes a coroutine, for example by asio::post. Empty: on the call's thread.
  std::function<void(std::function<void()>)> resume{};
};

// Thread-safe. Its destructor waits for the calls that run, and drops those that have not begun:
// their callbacks are not called, and their coroutines stay suspended. So it must outlive them.
class AsyncClient {
 public:
  template <typename Value>
  class Pending;

  explicit AsyncClient(Client client, AsyncOptions options = {});
  ~AsyncClient();
  AsyncClient(const AsyncClient&) = delete;
  AsyncClient& operator=(const AsyncClient&) = delete;

  // Calls `call(client)` on another thread, and `then` with what it returned. An exception of
  // either ends the program, as on any thread: the client's calls throw none.
  template <typename Call, typename Then>
  void start(Call call, Then then) {
    post([this, call = std::move(call), then = std::move(then)]() mutable {
      hand_over([value = std::make_shared<std::invoke_result_t<Call&, Client&>>(call(client_)),
                 then = std::move(then)]() mutable { then(std::move(*value)); });
    });
  }

  // To be awaited once; begins when it is awaited. Gives what `call(client)` returns.
  template <typename Call>
  auto run(Call call) -> Pending<std::invoke_result_t<Call&, Client&>> {
    return {*this, std::move(call)};
  }

  // The calls that most applications need; run() makes any other. Each copies its arguments.
  // GCC before 13 copies a braced NewJob, GetJob or RetryJob within a co_await expression byte by
  // byte, which breaks its strings: give it a name in a statement before. So these calls have
  // overloads instead of such default arguments.
  Pending<Result<Submitted>> submit(NewJob job);
  template <typename Payload>
    requires(!std::convertible_to<Payload, NewJob>)
  Pending<Result<Submitted>> submit(std::string_view type, const Payload& payload);
  template <typename Payload>
    requires(!std::convertible_to<Payload, NewJob>)
  Pending<Result<Submitted>> submit(std::string_view type, const Payload& payload, NewJob options);
  Pending<Result<Batch>> submit_batch(std::vector<NewJob> jobs, bool atomic = false);
  Pending<Result<Job>> get(std::string id);
  Pending<Result<Job>> get(std::string id, GetJob options);
  Pending<Result<Job>> wait(std::string id, Milliseconds timeout);
  Pending<Result<Job>> cancel(std::string id, std::string reason = {});
  Pending<Result<Job>> retry(std::string id);
  Pending<Result<Job>> retry(std::string id, RetryJob options);

  Client& client() { return client_; }

 private:
  class Threads;

  void post(std::function<void()> task);
  void hand_over(std::function<void()> continuation);

  Client client_;
  AsyncOptions options_;
  std::unique_ptr<Threads> threads_;
};

// A call to be awaited. Movable until then.
template <typename Value>
class [[nodiscard]] AsyncClient::Pending {
 public:
  Pending(AsyncClient& client, std::function<Value(Client&)> call)
      : client_(&client), call_(std::move(call)) {}

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    // This object is part of the coroutine, which stays as it is until it is resumed.
    client_->post([this, waiting] {
      value_.emplace(call_(client_->client_));
      client_->hand_over([waiting] { waiting.resume(); });
    });
  }
  Value await_resume() { return std::move(*value_); }

 private:
  AsyncClient* client_;
  std::function<Value(Client&)> call_;
  std::optional<Value> value_;
};

template <typename Payload>
  requires(!std::convertible_to<Payload, NewJob>)
AsyncClient::Pending<Result<Submitted>> AsyncClient::submit(std::string_view type,
                                                            const Payload& payload) {
  return submit(new_job(type, payload));
}

template <typename Payload>
  requires(!std::convertible_to<Payload, NewJob>)
AsyncClient::Pending<Result<Submitted>> AsyncClient::submit(std::string_view type,
                                                            const Payload& payload,
                                                            NewJob options) {
  return submit(new_job(type, payload, std::move(options)));
}

}  // namespace millrace::sdk
