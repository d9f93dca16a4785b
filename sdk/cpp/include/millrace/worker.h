// A worker: claims jobs, runs a handler for each, extends their leases, and reports the outcomes.
//
//   millrace::sdk::Worker worker(client, {.queues = {"email"}, .concurrency = 4},
//                                [](millrace::sdk::Context& context) {
//                                  deliver(context.job().payload, context.stop_token());
//                                  return millrace::sdk::Outcome::succeeded(R"({"sent":true})");
//                                });
//   worker.run(stop_source.get_token());
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/client.h"
#include "millrace/lease.h"

namespace millrace::sdk {

// What a handler returns.
struct Outcome {
  std::string outcome{};
  std::string result{};  // raw JSON
  std::optional<JobError> error{};
  bool retryable = true;
  std::optional<Milliseconds> delay{};
  std::vector<NewJob> enqueue{};  // submitted in the same commit as the outcome

  static Outcome succeeded(std::string result_json = {});
  // Retried while attempts are left, after the job's own delay or after `delay`.
  static Outcome failed(JobError error, std::optional<Milliseconds> delay = {});
  // Dead at once: a retry would not help.
  static Outcome failed_for_good(JobError error);
  // Run again later; this attempt does not count.
  static Outcome snoozed(Milliseconds delay);
  // Given back; this attempt does not count.
  static Outcome released();
  static Outcome cancelled();
};

enum class StopReason { kNone, kCancelled, kLeaseLost, kAborted };

// One attempt, as its handler sees it. Thread-safe; valid until the handler returns.
class Context {
 public:
  const ClaimedJob& job() const { return job_; }

  // Triggered when the attempt should end early: the job was cancelled, the lease was lost (what
  // the handler returns no longer counts), or the worker is being aborted.
  std::stop_token stop_token() const { return stop_.get_token(); }
  StopReason stop_reason() const;

  // Sent with the next heartbeat: a percentage from 0 to 100 and a message of up to 1,024 bytes,
  // both cut to their bounds. The next attempt gets `checkpoint`, which is raw JSON; it and the
  // message share 64 KiB, 66 bytes of which are their names. A checkpoint that is not JSON or too
  // large is left out, and a line in the job's log says so.
  void progress(Progress progress, std::string checkpoint = {});
  // Adds a line to the job's log; sent within a second or with the outcome. When more than 256 KiB
  // wait, the oldest lines are dropped. Levels are debug, info, warn and error; any other is
  // replaced by the nearest.
  void log(std::string_view level, std::string_view message);

 private:
  friend class WorkerCore;
  struct Pending;
  Context(ClaimedJob job, std::shared_ptr<Pending> pending);

  ClaimedJob job_;
  std::shared_ptr<Pending> pending_;
  std::stop_source stop_;
};

// Called for each claimed job, on one of the worker's threads. If it throws, the attempt fails.
using Handler = std::function<Outcome(Context&)>;

enum class ExitWhen { kStopped, kOneJobDone, kNothingToClaim };

// Receives what a person should know; `message` is a sentence.
using Notice = std::function<void(std::string_view message)>;

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};
  std::vector<std::string> types{};     // empty: any
  int concurrency = 1;                  // handlers at a time; it never claims more jobs than that
  std::optional<Milliseconds> lease{};  // empty: the job's, or else the queue's
  Milliseconds poll_wait{30'000};       // how long one claim waits at the server
  // How long, after a stop, the worker tries to report the last outcomes.
  Milliseconds flush_timeout{30'000};
  // How long an outcome waits for others while a poll is under way, if fewer than 64 wait. Without
  // a poll under way it is sent at once.
  Milliseconds ack_delay{5};
  std::string id{};  // empty: made of host, process and a random number
  ExitWhen exit_when = ExitWhen::kStopped;
  Notice notice{};  // called on any thread
  // Called for each outcome that the server has accepted. On any thread.
  std::function<void(const Ack& ack)> reported{};
};

class WorkerCore;

class Worker {
 public:
  Worker(Client& client, WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Works until `stop` is triggered (or `exit_when` says so). Then it claims nothing more, gives
  // back jobs that a claim still brings, waits for the running handlers and reports their outcomes.
  // An error is a refusal that time does not cure, such as a wrong token; or kUnreachable: the
  // server could not be told the last outcomes within `flush_timeout`. To be called once.
  Result<void> run(const std::stop_token& stop);

  // Asks every running handler to end (StopReason::kAborted). Thread-safe; call it after `stop`.
  void abort();

  const std::string& id() const;

 private:
  std::unique_ptr<WorkerCore> core_;
};

}  // namespace millrace::sdk
