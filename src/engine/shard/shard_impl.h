// The inside of Shard. shard.cc has its outer interface, shard_step.cc the decisions of a step,
// shard_others.cc requests that are not commands, shard_retention.cc the deletions.
#pragma once

#include <concepts>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/shard/answers.h"
#include "engine/shard/pipeline.h"
#include "engine/shard/prefetch.h"
#include "engine/shard/projector.h"
#include "engine/shard/recovery.h"
#include "engine/shard/retention.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_operations.h"
#include "engine/shard/shard_patience.h"
#include "engine/shard/shard_schedules.h"
#include "engine/shard/task.h"
#include "engine/shard/waiters.h"
#include "engine/shard/watchers.h"
#include "engine/shard/workers.h"

namespace millrace::engine {

class Shard::Impl {
 public:
  Impl(ShardOptions options, store::Tables& tables, Recovered recovered, Epoch epoch, Time now,
       DurableObserver& observer);

  // The term's first batch.
  void begin_term(Duration grace);

  void offer(Task task);
  void cancel(const ReplyAddress& reply_to);
  bool step(Time now);
  const store::JournalRow* next_append() { return ended_ ? nullptr : pipeline_.next(now_); }
  void append_done(const store::AppendResult& result, Time now);
  bool flush_due(Time now);
  std::optional<Flush> next_flush(Time now);
  void flush_done(const Status& status, Time now);
  std::vector<Outgoing> take_answers() { return answers_.take(); }
  std::optional<Time> next_wakeup(bool may_flush) const;
  void drain();
  bool idle() const;
  void resign();
  bool quiet() const;
  void depose(std::string why);
  void refuse_all(Unavailable why);
  void refuse_waits(Unavailable why);
  void request_flush() { projector_.force(); }
  void set_memory_room(MemoryRoom room);
  void stood_still() { stalled_since(now_); }
  const std::optional<std::string>& ended() const { return ended_; }
  bool broken() const { return ended_ && told_since_end_ == Unavailable::kStorage; }
  Figures figures() const;
  const core::Machine& machine() const { return *machine_; }

 private:
  // A running deletion: waits until the tables show row `target`, then reads and deletes until
  // nothing is left.
  struct Sweep {
    RetentionCut cut;
    Seq target{};
    Time not_before{};
  };
  struct Intake {
    std::vector<Task> tasks;
    Prefetch prefetched;
  };

  // shard.cc
  // `decided`: the answer to requests whose own answers were not durable yet.
  void end(std::string why, Unavailable decided, Unavailable waiting);
  void end_all_waits();
  bool is_too_new(const Task& task) const;
  void refuse_waiting_tasks(Unavailable why);
  void refuse_expired_waits(Time at, Unavailable why);
  bool may_wait() const { return !draining_ && !resigning_; }
  // The answer to a wait for a hint that cannot continue (not may_wait()). With a hint instead, the
  // caller would look, find nothing and ask again, endlessly.
  Unavailable no_hints_here() const {
    return draining_ ? Unavailable::kDraining : Unavailable::kNoLeader;
  }
  void move_clock(Time now);
  bool may_decide() const;
  bool refuses_all() const;  // the journal does not accept rows
  std::optional<Time> refuses_all_at() const;
  std::optional<Time> gives_up_at() const;    // for answers that depend on the row in flight
  std::optional<Time> next_deadline() const;  // of all waits
  bool hard_overloaded() const { return machine_->unprojected() > options_.hard_max_unprojected; }
  void release_durable();
  void stalled_since(Time since);
  std::optional<Time> owed_since() const;

  // shard_step.cc
  void decide_step();
  void give_grace();
  void tick();
  Intake take_tasks();
  std::optional<Unavailable> refusal_of(const Task& task) const;
  void fetch_needed(Intake& intake, const std::vector<Prefetch::Wanted>& wanted_until);
  void raise_fences(Intake& intake);
  void put_back(std::vector<Task> tasks);
  void decide_tasks(Intake intake);
  bool make_fit(Task& task, const core::Prefetched& prefetched, std::vector<Task>& rests);
  void decide_task(Task task, const core::Prefetched& prefetched);
  core::Reply decide(const core::Command& command, const core::Prefetched& prefetched);
  core::Admission admission() const;
  void fire_schedules(std::size_t row_bytes);  // until the row has so many
  void advance_workflows();
  bool report_members();
  void hand_out_questions();
  void hand_out_operations();
  std::vector<JobId> retried_by(const core::Command& command) const;
  std::size_t retried_bytes(const Task& task, const core::Prefetched& prefetched) const;
  bool is_put_off(const Task& task);
  void put_off(const Task& task);
  void conclude_claim(Task task, core::ClaimReply reply);
  void conclude_poll(Task task, std::vector<core::Reply> replies);
  void note_worker(const Task& task);
  void serve_waiters();
  bool serve_queue(const SharedBytes& queue);
  void look_again_at_hinted();
  void tell_workers();
  void tell_holders(const JobId& job);
  void answer_endings();
  core::JobReply ended_job(const core::Ending& ending);
  void end_waits();
  void measure();
  bool row_is_full() const;
  void seal();

  // shard_others.cc
  void answer(const ReplyAddress& reply_to, Answer answer, bool patient = false) {
    made_.push_back({reply_to, std::move(answer), patient});
  }
  void refuse(Task& task, Unavailable why) {
    put_off(task);
    if (refuse_once(task)) answer(task.reply_to, told_of(task, why));
  }
  void dispatch();  // sends the answers of answer(), which depend on the newest row
  void end_wait(Waiters::Entry entry, core::ClaimReply reply);
  void take_commands(std::string_view worker, PollReply& into);
  void decide_other(const Task& task);
  // make_task() turns these into commands.
  template <typename T>
    requires(std::same_as<T, core::Command> || std::same_as<T, WaitingClaim> ||
             std::same_as<T, Poll> || std::same_as<T, FindJob>)
  void decide_other(const ReplyAddress&, const T&) {
    MILLRACE_CHECK(false);
  }
  void decide_other(const ReplyAddress& reply_to, const WatchJob& watch);
  void decide_other(const ReplyAddress& reply_to, const AwaitProjection&);
  void decide_other(const ReplyAddress& reply_to, const AwaitEvents& wait);
  void decide_other(const ReplyAddress& reply_to, const AwaitWork& wait);
  void decide_other(const ReplyAddress& reply_to, const ListWorkers&);
  void decide_other(const ReplyAddress& reply_to, const AwaitJobQuestions& wait);
  void decide_other(const ReplyAddress& reply_to, const TellOfJob& told);
  void decide_other(const ReplyAddress& reply_to, const AwaitOperationWork& wait);
  void decide_other(const ReplyAddress& reply_to, const SetWorkerState& command);
  core::JobReply job_reply(const JobId& id) const;
  void tell_worker(std::string_view worker);
  void wake_event_waits();
  void wake_projection_waits();

  // shard_retention.cc
  void sweep();
  bool sweep_once(Sweep& sweep);  // true: the sweep is done
  bool delete_due(std::vector<JobId> ids);
  bool delete_due_workflows(const std::vector<JobId>& ids);
  std::optional<Time> next_sweep() const;

  const ShardOptions options_;
  store::Tables& tables_;
  DurableObserver& observer_;
  const Epoch epoch_;

  std::unique_ptr<core::Machine> machine_;
  Pipeline pipeline_;
  Projector projector_;
  Answers answers_;
  Waiters waiters_;
  Watchers watchers_;
  Watchers holders_;  // callers that watch a lease of the job: see WatchJob::lease
  Workers workers_;
  WaitList<Seq> projection_waits_;  // the row that the tables must show
  WaitList<Seq> event_waits_;       // a durable row after this one is awaited
  WaitList<Seq> question_waits_;    // the row is not used
  WaitList<Seq> operation_waits_;   // likewise
  RetentionPlanner retention_;
  ShardSchedules schedules_;
  ShardOperations operations_;
  std::vector<Sweep> sweeps_;

  Time now_;
  std::deque<Task> waiting_tasks_;  // tasks that wait to be decided
  InboxOrder inbox_order_;
  bool draining_ = false;
  bool resigning_ = false;
  std::optional<std::string> ended_;
  Unavailable told_since_end_{};
  bool gave_up_ = false;               // on the answers held for the row in flight
  std::optional<Time> stalled_since_;  // until the next step: leases are owed the time since
  // The last row that extends leases, until it is durable; and the start of the time that it
  // covers.
  struct Grace {
    Seq row{};
    Time since{};
  };
  std::optional<Grace> grace_;
  bool tick_behind_ = true;             // the last tick left something due
  std::optional<Time> refusing_since_;  // completions too: hard overload
  std::deque<SharedBytes> woken_;       // queues whose waiters are still to be served
  // A hint was given for a job of this queue, and its receiver may not come: look again then.
  struct Hinted {
    Time again_at{};
    SharedBytes queue;
  };
  std::deque<Hinted> hinted_;
  Time workers_swept_at_;
  bool workflows_behind_ = false;  // the last step had no room for all that workflows decide
  Time workflows_advanced_at_{};
  MemoryRoom memory_room_ = MemoryRoom::kWide;
  bool letting_go_ = false;  // drops payloads, a few each step

  // State of the current step.
  std::vector<core::Event> events_;
  std::vector<store::InboxKey> taken_;  // by these events
  std::size_t measured_ = 0;            // how many of them `row_bytes_` includes
  std::size_t row_bytes_ = 0;
  struct Made {
    ReplyAddress reply_to;
    Answer answer;
    bool patient = false;
  };
  std::vector<Made> made_;
};

}  // namespace millrace::engine
