// A worker: claims jobs, runs a handler for each, keeps their leases alive, reports how they ended.
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
  // Tried again while attempts are left, after the job's delay or after `delay`.
  static Outcome failed(JobError error, std::optional<Milliseconds> delay = {});
  // Dead at once: trying again would not help.
  static Outcome failed_for_good(JobError error);
  // Later, without counting this attempt.
  static Outcome snoozed(Milliseconds delay);
  // Given back, without counting this attempt.
  static Outcome released();
  static Outcome cancelled();
};

enum class StopReason { kNone, kCancelled, kLeaseLost, kAborted };

// One attempt, as its handler sees it. Usable from any thread of the handler's until the handler
// returns.
class Context {
 public:
  const ClaimedJob& job() const { return job_; }

  // Triggered when the attempt should end early: the job was cancelled, the lease was lost (nothing
  // that the handler returns will count), or the worker is being killed.
  std::stop_token stop_token() const { return stop_.get_token(); }
  StopReason stop_reason() const;

  // Sent with the next heartbeat: a percentage from 0 to 100, a message of up to 1,024 bytes; what
  // is beyond is cut. `checkpoint` (raw JSON; 64 KiB are for it and the message together, of which
  // 66 bytes are the names around them) is handed to the next attempt; one that is not JSON or too
  // large is left out, which a line in the job's log says.
  void progress(Progress progress, std::string checkpoint = {});
  // A line for the job's log; sent within a second or with the outcome. Past 256 KiB waiting, the
  // oldest go. Levels are debug, info, warn and error; of any other the nearest is taken.
  void log(std::string_view level, std::string_view message);

 private:
  friend class WorkerCore;
  struct Pending;
  Context(ClaimedJob job, std::shared_ptr<Pending> pending);

  ClaimedJob job_;
  std::shared_ptr<Pending> pending_;
  std::stop_source stop_;
};

// Called for each claimed job, on one of the worker's threads. An exception that leaves it fails
// the attempt.
using Handler = std::function<Outcome(Context&)>;

enum class ExitWhen { kStopped, kOneJobDone, kNothingToClaim };

// What is worth telling a person; `message` is a sentence.
using Notice = std::function<void(std::string_view message)>;

struct WorkerOptions {
  std::vector<std::string> queues = {"default"};
  std::vector<std::string> types{};  // empty: any
  int concurrency = 1;  // handlers at a time; so many jobs are claimed ahead, and no more
  std::optional<Milliseconds> lease{};  // empty: the job's, else the queue's
  Milliseconds poll_wait{30'000};       // how long one claim waits at the server
  // How long the last outcomes are tried to be told after a stop.
  Milliseconds flush_timeout{30'000};
  // How long an outcome waits for others while a poll is under way, if they are less than 64; with
  // none under way it goes at once.
  Milliseconds ack_delay{5};
  std::string id{};  // empty: made of host, process and a random number
  ExitWhen exit_when = ExitWhen::kStopped;
  Notice notice{};  // from any thread
  // Called for each outcome that the server has taken. From any thread.
  std::function<void(const Ack& ack)> reported{};
};

class WorkerCore;

class Worker {
 public:
  Worker(Client& client, WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Works until `stop` is triggered (or `exit_when` says so), then claims nothing more, gives back
  // what a claim still brings, waits for the running handlers and reports their outcomes. An error
  // is a refusal that waiting does not cure, as a wrong token; or, of the kind kUnreachable, that
  // the server could not be told the last outcomes within `flush_timeout`. Once.
  Result<void> run(const std::stop_token& stop);

  // Asks every running handler to end (StopReason::kAborted). From any thread, after `stop`.
  void abort();

  const std::string& id() const;

 private:
  std::unique_ptr<WorkerCore> core_;
};

}  // namespace millrace::sdk
