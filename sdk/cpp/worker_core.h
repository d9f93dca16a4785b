// The implementation of Worker: threads around one mutex.
//
//   claimer   (the caller of run) claims for all free slots as soon as there is one, and lets the
//             claim wait at the server; takes along the outcomes then in the outbox
//   handlers  one thread per slot: takes a job, runs the handler, puts the outcome in the outbox
//   reporter  sends the outcomes that come while the claimer's poll is pending, and claims for the
//             slots that they free, without waiting; sends heartbeats and log lines when due.
//             A job's outcome never overtakes its log lines on the other connection, which would
//             make these late
//   watcher   keeps the clock: tells handlers to end if their lease is no longer certain, their
//             time is over or their worker stops; at a stop, ends the claimer's poll and gives back
//             the jobs that still run
//
// A lease is certain for its length from the sending of the request that brought or extended it, on
// the monotonic clock. If a claim took long to be answered, a heartbeat must succeed before the
// job's handler starts.
//
// So at most two requests are pending, on two connections, whatever the concurrency. Only a stop
// cancels a waiting claim, and only if the claim is not young: its answer may be on the way, with
// jobs that nobody would run before their leases end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "backoff.h"
#include "millrace/worker.h"
#include "outbox.h"
#include "pending.h"

namespace millrace::sdk {

constexpr Milliseconds kLogDelay{1'000};  // the longest that a line or progress waits for others
constexpr std::size_t kMaxLogLines = 1'000;

// Whether the server may have refused the whole request because of the content of an outcome,
// heartbeat or line, rather than because of the worker or something between it and the server.
bool is_about_content(const Error& error);
// Whether the same request may succeed later. Even a certificate that is not trusted may be
// replaced.
bool may_pass(const Error& error);
// Whether no claim will ever succeed, for example because of a wrong token; for a claim without
// outcomes. Of a proxy's own answers, only those that forbid access count.
bool ends_work(const Error& error);

// Shared with the handlers' threads, which may continue after run() has returned.
class WorkerCore : public std::enable_shared_from_this<WorkerCore> {
 public:
  WorkerCore(const Client& client, WorkerOptions options);

  Result<void> run(const std::stop_token& stop, Handlers handlers);
  void abort();
  std::size_t left_behind();
  const std::string& id() const { return options_.id; }

 private:
  struct Attempt {
    std::string id;
    std::uint64_t token = 0;
    std::shared_ptr<Context::Pending> pending;
    std::stop_source stop;
    std::chrono::milliseconds lease{0};
    std::chrono::milliseconds beat_every{0};
    SteadyTime next_beat;
    SteadyTime certain_until;
    SteadyTime times_out = SteadyTime::max();
    // Set while the job waits for its first heartbeat. Afterwards the handler owns it.
    std::unique_ptr<Context> unconfirmed;
    bool next_is_plain = false;  // the last beat failed, perhaps because of its progress
  };
  using AttemptKey = std::pair<std::string, std::uint64_t>;
  using Lock = std::unique_lock<std::mutex>;

  // An outcome that must not overtake the last progress of its attempt.
  struct Parting {
    Heartbeat beat;
    OutgoingAck outcome;
    SteadyTime until;  // after that the outcome is sent alone
  };

  // The claimer's state, as far as the reporter needs it.
  enum class Claimer : std::uint8_t {
    kReady,    // takes the outbox's content as soon as a slot is free
    kPolling,  // has claimed for the slots that were free when it began
    kAway,     // is pausing, or has ended
  };
  enum class By : std::uint8_t { kClaimer, kReporter };

  struct Exchanged {
    bool brought_jobs = false;
    bool brought_commands = false;
  };

  // --- The claimer.
  Result<void> claim_until_stopped();
  Result<bool> claim_once();  // false: the condition of `exit_when` is met
  void claim_failed(const Error& error, bool acks_are_suspect);
  void pause_claims(std::chrono::milliseconds at_least);
  void leave_acks_to_reporter(const Lock& held);
  bool may_exit(bool claimed_nothing);
  bool is_stopping() const { return stop_began_ != SteadyTime::max() || is_draining_; }
  bool drain();
  void close(std::vector<std::thread> handlers);
  void say_goodbye();

  // --- The handlers.
  void handle_jobs();
  void wake_a_handler(const Lock& held);
  Ack carry_out(Context& context);
  Ack handle(Context& context);
  void notice_failure(const Context& context, const Outcome& outcome);
  void finish(const Lock& held, Context& context, Ack ack);

  // --- The watcher (worker_watch.cc).
  void watch();
  SteadyTime next_change(const Lock& held) const;
  void wake_watcher(const Lock& held, SteadyTime due);
  void tell_what_is_due(Lock& held);
  std::optional<std::stop_source> mark(const Lock& held, Attempt& attempt, StopReason reason);
  void give_up(const Lock& held, AttemptKey key);
  void release_unconfirmed(const Lock& held);
  bool begin_stop();
  SteadyTime grace_ends(const Lock& held) const;
  SteadyTime claim_breaks(const Lock& held) const;
  SteadyTime report_breaks(const Lock& held) const;
  void release_what_runs(const Lock& held);

  // --- The reporter (worker_report.cc).
  void report();
  bool wait_for_report(Lock& held);
  SteadyTime acks_due(const Lock& held) const;
  SteadyTime report_due(const Lock& held) const;
  void wake_reporter(const Lock& held, SteadyTime due);
  PollRequest next_report(const Lock& held);
  void ask_for_times(Lock& held);
  void news_told(const Result<Exchanged>& answer);
  void send_report(PollRequest request, std::vector<OutgoingAck> acks);
  void report_failed(const PollRequest& request, const Error& error);
  SteadyTime pause_reports(const Error& error);
  enum class NextBeat : std::uint8_t { kWithNews, kPlain };
  void beat_again(const std::vector<Heartbeat>& unanswered, SteadyTime when,
                  NextBeat next = NextBeat::kWithNews);
  void beat_refused(Heartbeat beat, const Error& error);
  Milliseconds shortest_beat(const Lock& held) const;
  void settle_one_by_one(std::vector<OutgoingAck> acks);
  std::optional<Error> settle_alone(std::vector<OutgoingAck> one);
  void put_aside(OutgoingAck ack, const Error& error);

  // --- Shared by the claimer and the reporter (worker_exchange.cc).
  int open_slots(const Lock&) const { return free_slots_ - asked_; }
  void add_claim(const Lock& held, PollRequest& request, Milliseconds wait);
  std::vector<OutgoingAck> take_acks(const Lock& held);
  std::vector<OutgoingAck> take_alone(const Lock& held);
  Result<Exchanged> exchange(By by, PollRequest& request, std::vector<OutgoingAck>& acks);
  void admit(By by, std::vector<ClaimedJob> jobs, int asked, SteadyTime sent);
  void start(const Lock& held, ClaimedJob job, SteadyTime sent);
  void tell(const Lock& held, OutgoingAck outcome);
  void give_back(std::vector<OutgoingAck> acks);
  void settle_acks(std::vector<OutgoingAck> acks, const std::vector<PollItem>& answers);
  void was_reported(const Ack& ack);
  void refuse(OutgoingAck ack, const Error& error);
  Result<PollAnswer> poll_as_reporter(const PollRequest& request, Milliseconds for_acks);
  void take_heartbeats(const std::vector<Heartbeat>& sent, const std::vector<PollItem>& answers,
                       SteadyTime sent_at);
  void lease_extended(const AttemptKey& key, SteadyTime sent_at);
  void take_commands(const std::vector<WorkerCommand>& commands);
  void take_stop();
  void take_quiet();
  void end_attempt(const AttemptKey& key, StopReason reason);
  void connection_failed(const Error& error);
  void connection_worked();
  void notice(std::string_view message) { notice("warn", message); }
  void notice(std::string_view level, std::string_view message);

  Client client_;
  WorkerOptions options_;
  Handlers handlers_;
  WorkerInfo info_;
  std::shared_ptr<std::atomic<bool>> worker_stops_ = std::make_shared<std::atomic<bool>>(false);

  std::mutex mutex_;  // guards everything below
  std::condition_variable claimer_wakes_;
  std::condition_variable handler_wakes_;
  std::condition_variable reporter_wakes_;
  std::condition_variable watcher_wakes_;
  std::condition_variable handler_ended_;
  std::map<AttemptKey, Attempt> attempts_;  // held by handlers that have not returned
  std::deque<std::unique_ptr<Context>> waiting_;
  Outbox outbox_;
  int free_slots_ = 0;            // slots without a claimed job
  int asked_ = 0;                 // of these, requested by pending claims
  int acks_in_flight_ = 0;        // including those in behind_news_
  std::set<AttemptKey> telling_;  // their lines or progress are being sent
  std::vector<OutgoingAck> behind_news_;
  // Attempts whose time limit was not in the claim's answer, and when that was received.
  std::vector<std::pair<AttemptKey, SteadyTime>> ask_for_time_;
  std::vector<Parting> partings_;
  std::vector<Parting> parting_now_;  // those that the reporter is sending
  int idle_handlers_ = 0;
  bool is_handler_waking_ = false;
  std::uint64_t finished_ = 0;
  Claimer claimer_ = Claimer::kAway;
  SteadyTime claim_began_;                      // when the claimer's last claim began
  bool is_draining_ = false;                    // claims nothing more
  bool is_closing_ = false;                     // handlers and the reporter end
  bool is_quiet_ = false;                       // told by the server: no further claims
  SteadyTime next_listen_ = SteadyTime::max();  // for commands, while no claim runs
  SteadyTime stop_began_ = SteadyTime::max();
  SteadyTime aborted_ = SteadyTime::max();
  bool is_aborted_ = false;
  bool has_released_ = false;    // gave up the running jobs after the grace time
  int living_handlers_ = 0;      // threads
  std::size_t left_behind_ = 0;  // threads whose job was released
  SteadyTime watcher_sleeps_until_ = SteadyTime::min();  // min(): it is awake
  bool is_unreachable_ = false;
  bool acks_are_suspect_ =
      false;  // a claim that carried some was refused: the reporter finds out which
  SteadyTime reporter_sleeps_until_ = SteadyTime::min();  // min(): it is awake
  SteadyTime report_not_before_;
  SteadyTime next_log_flush_;
  Backoff claim_backoff_;
  Backoff report_backoff_;
  std::stop_source claim_stop_;
  std::stop_source report_stop_;  // for the pending request
  bool is_reporting_ = false;
  SteadyTime report_began_;
  Milliseconds report_patience_{0};
};

}  // namespace millrace::sdk
