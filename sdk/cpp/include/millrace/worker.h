// A worker: claims jobs, runs a handler for each, extends their leases, and reports the outcomes.
//
//   millrace::sdk::Worker worker(client, {.queues = {"mail"}});
//   worker.on<Mail>("mail.send", [](const Mail& mail) { deliver(mail); });
//   return worker.run_until_signal() ? 0 : 1;
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/client.h"
#include "millrace/handler.h"
#include "millrace/lease.h"

namespace millrace::sdk {

enum class ExitWhen { kStopped, kOneJobDone, kNothingToClaim };

// Receives messages for people: `level` is "info" or "warn", `message` a sentence.
using Notice = std::function<void(std::string_view level, std::string_view message)>;

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};  // in order of preference
  // For a worker with a handler for every type: claim only these types; empty: any.
  std::vector<std::string> types{};
  int concurrency = 10;                 // the most handlers, and jobs held, at a time
  std::optional<Milliseconds> lease{};  // empty: the job's lease, else the queue's
  Milliseconds poll_wait{10'000};       // how long a claim waits at the server, at most 60 s
  // How long running handlers may continue after a stop. Then they are told to end, and a second
  // later their jobs are given back. Empty: unlimited.
  std::optional<Milliseconds> grace = Milliseconds{25'000};
  // How long the worker then tries to report the last outcomes.
  Milliseconds flush_timeout{10'000};
  // How long an outcome waits for others while a poll is pending, if fewer than 64 are waiting. If
  // no poll is pending, it is sent at once.
  Milliseconds ack_delay{5};
  std::string id{};  // empty: made of host, process and a random number
  // The version of your program, which the server notes with each failed attempt and marks in
  // charts. Empty: MILLRACE_WORKER_VERSION, else none.
  std::string version{};
  ExitWhen exit_when = ExitWhen::kStopped;
  Notice notice{};  // called on any thread; empty: prints a line on standard error
  // Called on any thread for each outcome that the server has accepted.
  std::function<void(const Ack& ack)> reported{};
};

class WorkerCore;

class Worker {
 public:
  // Claims jobs of the types for which on() is called.
  Worker(const Client& client, WorkerOptions options);
  Worker(const Client& client, WorkerOptions options, Handlers handlers);
  // One handler for every type, or for the types in the options.
  Worker(const Client& client, WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // See Handlers. Must be called before run().
  template <typename Payload, typename Handle>
  Worker& on(std::string type, Handle handle) {
    handlers_.on<Payload>(std::move(type), std::move(handle));
    return *this;
  }
  template <typename Payload, typename Handle>
  Worker& on(const JobType<Payload>& type, Handle handle) {
    handlers_.on(type, std::move(handle));
    return *this;
  }
  template <typename Handle>
  Worker& on(std::string type, Handle handle) {
    handlers_.on(std::move(type), std::move(handle));
    return *this;
  }
  Worker& use(Middleware middleware);

  // Works until `stop` is triggered, `exit_when` applies, or the server tells it to stop. Then it
  // claims no more jobs, gives back jobs that a pending claim still brings, waits for the running
  // handlers (WorkerOptions::grace) and reports their outcomes. Fails on a permanent refusal, such
  // as a wrong token; or with kUnreachable, if it could not report the last outcomes within
  // `flush_timeout`. Call only once.
  [[nodiscard]] Result<void> run(const std::stop_token& stop);
  // The same until SIGTERM or SIGINT; a second signal ends the grace time. For programs that do
  // nothing else: it handles both signals while it runs.
  [[nodiscard]] Result<void> run_until_signal();

  // Ends the grace time at once. Thread-safe; call it after triggering `stop`.
  void abort();

  // After run(): the number of handlers that did not end in time. Their threads continue, so their
  // data must live as long as the process, which is best ended with std::quick_exit().
  std::size_t left_behind() const;

  const std::string& id() const;

 private:
  Handlers handlers_;
  std::shared_ptr<WorkerCore> core_;
};

}  // namespace millrace::sdk
