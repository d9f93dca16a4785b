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

// Receives what a person should know: `level` is "info" or "warn", `message` a sentence.
using Notice = std::function<void(std::string_view level, std::string_view message)>;

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};  // in order of preference
  // For a worker with a handler for every type: only these; empty: any.
  std::vector<std::string> types{};
  int concurrency = 10;                 // handlers at a time; it never holds more jobs than that
  std::optional<Milliseconds> lease{};  // empty: the job's, or else the queue's
  Milliseconds poll_wait{10'000};       // how long one claim waits at the server, at most 60 s
  // How long running handlers have after a stop; then they are told, and a second later their jobs
  // are given back. Empty: as long as they need.
  std::optional<Milliseconds> grace = Milliseconds{25'000};
  // How long, after that, the worker tries to report the last outcomes.
  Milliseconds flush_timeout{30'000};
  // How long an outcome waits for others while a poll is under way, if fewer than 64 wait. Without
  // a poll under way it is sent at once.
  Milliseconds ack_delay{5};
  std::string id{};  // empty: made of host, process and a random number
  ExitWhen exit_when = ExitWhen::kStopped;
  Notice notice{};  // called on any thread; empty: a line on standard error
  // Called for each outcome that the server has accepted. On any thread.
  std::function<void(const Ack& ack)> reported{};
};

class WorkerCore;

class Worker {
 public:
  // Claims jobs of the types that on() is called for.
  Worker(const Client& client, WorkerOptions options);
  Worker(const Client& client, WorkerOptions options, Handlers handlers);
  // One handler for every type, or for those that the options name.
  Worker(const Client& client, WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // See Handlers. To be called before run().
  template <typename Payload, typename Handle>
  Worker& on(std::string type, Handle handle) {
    handlers_.on<Payload>(std::move(type), std::move(handle));
    return *this;
  }
  template <typename Handle>
  Worker& on(std::string type, Handle handle) {
    handlers_.on(std::move(type), std::move(handle));
    return *this;
  }
  Worker& use(Middleware middleware);

  // Works until `stop` is triggered (or `exit_when` says so, or the server tells it to stop). Then
  // it claims nothing more, gives back jobs that a claim still brings, waits for the running
  // handlers (WorkerOptions::grace) and reports their outcomes. An error is a refusal that time
  // does not cure, such as a wrong token; or kUnreachable: the server could not be told the last
  // outcomes within `flush_timeout`. To be called once.
  Result<void> run(const std::stop_token& stop);
  // The same until SIGTERM or SIGINT; a second one ends the grace time. For a program that does
  // nothing else: it handles both signals while it runs.
  Result<void> run_until_signal();

  // Ends the grace time at once. Thread-safe; call it after `stop`.
  void abort();

  // After run(): handlers that did not end in time. Their threads go on, so what they use must live
  // as long as the process; it is best to end that with std::quick_exit().
  std::size_t left_behind() const;

  const std::string& id() const;

 private:
  Handlers handlers_;
  std::shared_ptr<WorkerCore> core_;
};

}  // namespace millrace::sdk
