// What stands behind Worker: three kinds of threads around one mutex.
//
//   claimer   (the caller of run) waits for free slots, claims, carries finished outcomes along
//   with the claim handlers  one thread a slot: takes a job, runs the handler, leaves the outcome
//   in the outbox reporter  heartbeats and log lines when due, and outcomes while the claimer's
//   long poll is under way
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "backoff.h"
#include "millrace/worker.h"

namespace millrace::sdk {

using SteadyTime = std::chrono::steady_clock::time_point;

// What a handler has said and nobody has sent yet. Shared by the handler's thread and the reporter.
struct Context::Pending {
  std::mutex mutex;
  std::deque<WorkerLogLine> logs;
  std::size_t log_bytes = 0;
  std::optional<Progress> progress;
  std::string checkpoint;
  StopReason reason = StopReason::kNone;

  std::vector<WorkerLogLine> take_logs(std::size_t at_most);
};

// An outcome on its way. `is_substitute`: the handler's own was refused, this says so instead.
struct OutgoingAck {
  Ack ack;
  bool is_substitute = false;
};

class WorkerCore {
 public:
  WorkerCore(Client& client, WorkerOptions options, Handler handler);

  Result<void> run(const std::stop_token& stop);
  void abort();
  const std::string& id() const { return options_.id; }

 private:
  struct Attempt {
    std::string id;
    std::uint64_t token = 0;
    std::shared_ptr<Context::Pending> pending;
    std::stop_source stop;
    std::chrono::milliseconds beat_every{0};
    SteadyTime next_beat;
  };
  using AttemptKey = std::pair<std::string, std::uint64_t>;
  using Lock = std::unique_lock<std::mutex>;

  // The claimer.
  Result<void> claim_until(const std::stop_token& stop);
  Result<bool> claim_once(const std::stop_token& stop);  // false: `exit_when` is fulfilled
  PollRequest next_claim();
  void admit(std::vector<ClaimedJob> jobs);
  bool may_exit(bool claimed_nothing);
  void claim_failed(const Error& error, bool had_acks, const std::stop_token& stop);

  // The handlers.
  void handle_jobs();
  Ack handle(Context& context);

  // The reporter (worker_report.cc).
  void report();
  bool wait_for_report(Lock& held);
  PollRequest next_report(const Lock& held);
  void send_report(PollRequest request, std::vector<OutgoingAck> acks);
  void report_failed(const PollRequest& request, const Error& error);
  void settle_one_by_one(std::vector<OutgoingAck> acks);

  // Of both the claimer and the reporter (worker_report.cc).
  std::vector<OutgoingAck> take_acks(const Lock& held);
  void give_back(std::vector<OutgoingAck> acks);
  void settle_acks(std::vector<OutgoingAck> acks, const std::vector<PollItem>& answers);
  void refuse(OutgoingAck ack, const Error& error);
  void take_heartbeats(const std::vector<Heartbeat>& sent, const std::vector<PollItem>& answers);
  void take_commands(const std::vector<WorkerCommand>& commands);
  void end_attempt(const AttemptKey& key, StopReason reason);
  void connection_failed(const Error& error);
  void connection_worked();
  void notice(std::string_view message);

  Client& client_;
  WorkerOptions options_;
  Handler handler_;
  WorkerInfo info_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable_any changed_;
  std::map<AttemptKey, Attempt> attempts_;  // handed to a handler and not yet returned
  std::deque<std::unique_ptr<Context>> waiting_;
  std::deque<OutgoingAck> outbox_;
  int free_slots_ = 0;
  int acks_in_flight_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t admitted_ = 0;
  bool claimer_takes_acks_ =
      false;  // it waits for a slot, and will take along what is in the outbox by then
  bool is_closing_ = false;  // handlers and reporter end
  bool is_told_to_stop_ = false;
  bool is_aborted_ = false;
  bool is_unreachable_ = false;
  bool acks_are_suspect_ =
      false;  // a claim that carried some was refused: the reporter finds out which
  SteadyTime report_not_before_;
  SteadyTime next_log_flush_;
  Backoff claim_backoff_;
  Backoff report_backoff_;
  std::stop_source report_stop_;
};

}  // namespace millrace::sdk
