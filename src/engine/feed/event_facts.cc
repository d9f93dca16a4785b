// Core events as facts for external readers: one per job, in the terms of the contract.
#include <memory>
#include <utility>
#include <variant>

#include "engine/feed/event_feed.h"

namespace millrace::engine {
namespace {

using terms::EventFacts;
using terms::EventType;

std::optional<terms::AttemptError> error_of(const std::shared_ptr<const core::JobError>& error) {
  if (error == nullptr) return std::nullopt;
  return terms::AttemptError{error->type, error->message};
}

// The fate of the job after its attempt failed or timed out.
EventType verdict(core::State state) {
  switch (state) {
    case core::State::kDead:
      return EventType::kJobDead;
    case core::State::kCancelled:
      return EventType::kJobCancelled;
    default:
      return EventType::kJobRetrying;
  }
}

// A job that is kept needs no mention. One that is not is deleted by its event.
bool is_kept(core::Keep keep) { return keep != core::Keep::kForgotten; }

class Flattener {
 public:
  Flattener(const core::EventBatch& batch, ShardNumber shard, TypeOfChange type_of_change)
      : batch_(batch), shard_(shard), type_of_change_(type_of_change) {}

  std::vector<FeedEvent> run() {
    for (const core::Event& event : batch_.events) std::visit(*this, event);
    return std::move(facts_);
  }

  void operator()(const core::QueueChanged& e) {
    terms::QueueFacts facts;
    switch (e.change) {
      case core::QueueChange::kCreated:
        facts.created = true;
        return of_queue(EventType::kQueueUpdated, e.queue, facts);
      case core::QueueChange::kUpdated:
        return of_queue(EventType::kQueueUpdated, e.queue, facts);
      case core::QueueChange::kPaused:
        facts.reason = e.pause_reason;
        return of_queue(EventType::kQueuePaused, e.queue, facts);
      case core::QueueChange::kResumed:
        return of_queue(EventType::kQueueResumed, e.queue, facts);
    }
  }
  void operator()(const core::QueueDeleted& e) { of_queue(EventType::kQueueDeleted, e.queue, {}); }
  void operator()(const core::QueuePurged& e) {
    of_queue(EventType::kQueuePurged, e.queue, terms::QueueFacts{.deleted = e.deleted});
  }

  void operator()(const core::ScheduleSet& e) {
    terms::ScheduleFacts facts{.schedule = e.schedule.name, .version = e.schedule.version};
    const SharedBytes& queue = e.schedule.spec.queue;
    switch (e.change) {
      case core::ScheduleChange::kCreated:
        facts.created = true;
        return of_queue(EventType::kScheduleUpdated, queue, facts);
      case core::ScheduleChange::kUpdated:
        return of_queue(EventType::kScheduleUpdated, queue, facts);
      case core::ScheduleChange::kPaused:
        facts.reason = e.schedule.pause_reason;
        return of_queue(EventType::kSchedulePaused, queue, facts);
      case core::ScheduleChange::kResumed:
        return of_queue(EventType::kScheduleResumed, queue, facts);
    }
  }
  // A run that made a job is reported as that job's event.
  void operator()(const core::ScheduleAdvanced& e) {
    for (const core::ScheduleRun& run : e.runs) {
      if (run.job != core::kNoJob) continue;
      of_queue(EventType::kScheduleSkipped, e.queue,
               terms::SkippedFacts{e.name, run.outcome, run.scheduled_at, run.count});
    }
    if (!e.progress.broken.empty() && e.progress.tries == 1) {
      of_queue(EventType::kScheduleBroken, e.queue, terms::BrokenFacts{e.name, e.progress.broken});
    }
  }
  // A limit's home reports it, for all shards.
  void operator()(const core::ShareTaken&) {}
  void operator()(const core::SharesSet&) {}
  // The audit is only for administrators: GET /v1/admin/audit.
  void operator()(const core::Audited&) {}
  // Readers of events may not see tokens and push targets.
  void operator()(const core::CatalogPut& e) {
    if (e.kind != core::CatalogKind::kErrorGroup || type_of_change_ == nullptr) return;
    const std::optional<EventType> type = type_of_change_(e.body.view());
    if (type) of_queue(*type, {}, terms::ErrorGroupFacts{e.name});
  }
  void operator()(const core::CatalogDeleted&) {}
  void operator()(const core::ScheduleDeleted& e) {
    of_queue(EventType::kScheduleDeleted, e.queue, terms::ScheduleFacts{.schedule = e.name});
  }

  // The first shard's part ends last. A step is reported as the events of its jobs.
  void operator()(const core::OperationSet& e) {
    if (shard_ != 0) return;
    const core::OperationPart& part = e.part;
    terms::OperationFacts facts{.operation = part.id,
                                .kind = part.spec.kind,
                                .action = part.spec.action,
                                .rate_per_s = part.rate_per_s};
    switch (e.change) {
      case core::OperationChange::kStarted:
        return of_queue(EventType::kOperationStarted, part.spec.queue, facts);
      case core::OperationChange::kPaused:
        return of_queue(EventType::kOperationPaused, part.spec.queue, facts);
      case core::OperationChange::kResumed:
        return of_queue(EventType::kOperationResumed, part.spec.queue, facts);
      case core::OperationChange::kRateChanged:
        return of_queue(EventType::kOperationRateChanged, part.spec.queue, facts);
      case core::OperationChange::kCancelled:
        facts.state = core::OperationState::kCancelled;
        return of_queue(EventType::kOperationEnded, part.spec.queue, facts);
    }
  }
  void operator()(const core::OperationAdvanced& e) {
    if (!e.ended || shard_ != 0) return;
    of_queue(EventType::kOperationEnded, {},
             terms::OperationFacts{.operation = e.id, .state = e.ended, .reason = e.reason});
  }
  void operator()(const core::OperationsForgotten&) {}

  // Limits and gates of types belong to no queue.
  void operator()(const core::LimitSet& e) {
    const bool is_type = e.limit.kind == core::LimitKind::kType;
    terms::LimitFacts facts = of_limit(e.limit.kind, e.limit.name);
    facts.version = e.limit.version;
    const EventType updated = is_type ? EventType::kTypeUpdated : EventType::kLimitUpdated;
    switch (e.change) {
      case core::LimitChange::kCreated:
        facts.created = true;
        return of_queue(updated, {}, facts);
      case core::LimitChange::kUpdated:
        return of_queue(updated, {}, facts);
      case core::LimitChange::kPaused: {
        const core::LimitPause& latest = e.limit.pauses.back();
        facts.key = latest.key;
        facts.reason = latest.reason;
        facts.until = latest.until;
        return of_queue(is_type ? EventType::kTypePaused : EventType::kLimitPaused, {}, facts);
      }
      case core::LimitChange::kResumed:
        return of_queue(is_type ? EventType::kTypeResumed : EventType::kLimitResumed, {}, facts);
      case core::LimitChange::kCopied:
        return;  // the home reports it
    }
  }
  void operator()(const core::SlowedDown& e) {
    const bool begins = e.until.has_value();
    of_gate(begins ? EventType::kLimitSlowedDown : EventType::kLimitSlowDownEnded, e, e.until);
  }
  void operator()(const core::BreakerTurned& e) {
    const bool opens = e.open_until.has_value();
    of_gate(opens ? EventType::kBreakerOpened : EventType::kBreakerClosed, e, e.open_until);
  }
  void operator()(const core::LimitDeleted& e) {
    if (e.copied) return;
    const bool is_type = e.kind == core::LimitKind::kType;
    of_queue(is_type ? EventType::kTypeDeleted : EventType::kLimitDeleted, {},
             of_limit(e.kind, e.name));
  }

  void operator()(const core::Submitted& e) {
    terms::SubmittedFacts facts{
        .state = e.job.state, .priority = e.job.priority, .run_at = e.job.run_at};
    if (e.job.extras != nullptr && !e.job.extras->schedule.empty()) {
      facts.schedule = e.job.extras->schedule;
      facts.scheduled_at = e.job.extras->scheduled_at;
    }
    of_job(EventType::kJobSubmitted, ref(e.job), facts);
  }
  void operator()(const core::Claimed& e) {
    for (const core::Claimed::Item& item : e.items) {
      of_job(EventType::kJobStarted, item.job, terms::StartedFacts{item.waited, item.expires_at})
          .worker = e.worker;
    }
  }
  void operator()(const core::AttemptEnded& e) {
    const terms::AttemptFacts facts{.state = e.state,
                                    .ran = e.ran,
                                    .run_at = e.run_at,
                                    .error = error_of(e.error),
                                    .kept = is_kept(e.keep)};
    for (const EventType type : types_of(e)) of_job(type, e.job, facts).worker = e.worker;
  }
  void operator()(const core::Expired& e) {
    of_job(EventType::kJobExpired, e.job, terms::EndFacts{.kept = is_kept(e.keep)});
  }
  void operator()(const core::CancelRequested& e) {
    of_job(EventType::kJobCancelRequested, e.job, terms::EndFacts{.reason = e.reason}).worker =
        e.worker;
  }
  void operator()(const core::Cancelled& e) {
    of_job(EventType::kJobCancelled, e.job, terms::EndFacts{e.reason, is_kept(e.keep)});
  }
  void operator()(const core::Retried& e) {
    of_job(EventType::kJobRetried, ref(e.job),
           terms::DueFacts{e.job.state, e.job.run_at, e.job.generation});
  }
  void operator()(const core::Finished& e) {
    if (e.from == core::State::kRunning) {  // the job ran elsewhere, and that run is over
      const core::Attempt& latest = e.job.latest;
      of_job(
          EventType::kJobCancelled, ref(e.job),
          terms::AttemptFacts{.state = e.job.state, .ran = *latest.finished_at - latest.started_at})
          .worker = latest.worker;
    }
    of_job(EventType::kJobSucceeded, ref(e.job),
           terms::FinishedFacts{e.job.state, e.from, SharedBytes(core::kFinishedByTransaction),
                                is_kept(e.keep)});
  }
  void operator()(const core::Debounced& e) {
    of_job(EventType::kJobDebounced, e.job, terms::DueFacts{e.state, e.run_at, {}});
  }
  void operator()(const core::Edited& e) {
    of_job(EventType::kJobEdited, e.job,
           terms::EditedFacts{e.priority, e.run_at, e.state, e.max_attempts, !e.payload.empty(),
                              e.tags.has_value()});
  }
  void operator()(const core::Deleted& e) {
    for (const core::Deleted::Item& item : e.items) {
      of_job(EventType::kJobDeleted, item.job, terms::DeletedFacts{e.cause, item.state});
    }
  }

  void operator()(const core::WorkflowSet& e) {
    const std::optional<EventType> type = type_of(e);
    if (!type) return;
    const core::Workflow& workflow = e.workflow;
    of_queue(*type, workflow.spec.queue,
             terms::WorkflowFacts{.workflow = workflow.id,
                                  .name = workflow.spec.name,
                                  .state = workflow.state,
                                  .reason = workflow.reason,
                                  .generation = workflow.generation,
                                  .counts = workflow.counts});
  }
  // What the graph skips is the counts' matter.
  void operator()(const core::MembersSettled& e) {
    if (e.cause != core::MembersSettled::Cause::kCall) return;
    for (const core::MembersSettled::Item& item : e.items) {
      of_queue(EventType::kWorkflowSkipped, e.queue,
               terms::WorkflowFacts{.workflow = e.workflow, .number = item.number});
    }
  }
  void operator()(const core::MembersAdded& e) {
    if (!e.by) return;  // WorkflowSet tells of those
    of_queue(EventType::kWorkflowGrown, e.queue,
             terms::WorkflowFacts{.workflow = e.workflow, .number = *e.by});
  }
  void operator()(const core::WorkflowForgotten& e) {
    of_queue(EventType::kWorkflowDeleted, e.queue,
             terms::WorkflowFacts{.workflow = e.workflow, .state = e.state});
  }

  // Internal bookkeeping that external readers do not need.
  void operator()(const core::MembersReleased&) {}
  void operator()(const core::MembersRevived&) {}
  void operator()(const core::Extended&) {}
  void operator()(const core::Logged&) {}
  void operator()(const core::BecameDue&) {}
  void operator()(const core::KeysExpired&) {}
  void operator()(const core::UniquesReleased&) {}
  void operator()(const core::EpochStarted&) {}
  void operator()(const core::LeasesExtended&) {}

 private:
  static core::JobRef ref(const core::Job& job) {
    return {job.id, job.queue, job.type, job.attempt};
  }

  static terms::LimitFacts of_limit(core::LimitKind kind, const SharedBytes& name) {
    terms::LimitFacts facts;
    (kind == core::LimitKind::kType ? facts.type : facts.limit) = name;
    return facts;
  }
  // For a limit, a type or a queue, and for a key of it.
  template <typename OfGate>
  void of_gate(EventType type, const OfGate& e, std::optional<Time> until) {
    const bool is_queue = e.kind == core::LimitKind::kQueue;
    terms::LimitFacts facts = is_queue ? terms::LimitFacts() : of_limit(e.kind, e.name);
    facts.key = e.key;
    facts.until = until;
    of_queue(type, is_queue ? e.name : SharedBytes(), facts);
  }

  // None: readers are not told.
  static std::optional<EventType> type_of(const core::WorkflowSet& e) {
    switch (e.change) {
      case core::WorkflowChange::kCreated:
        return EventType::kWorkflowCreated;
      case core::WorkflowChange::kGrown:
        return EventType::kWorkflowGrown;
      case core::WorkflowChange::kClosed:
        return EventType::kWorkflowClosed;
      case core::WorkflowChange::kStopping:
        return EventType::kWorkflowStopping;
      case core::WorkflowChange::kEnded:
        return type_of_end(e.workflow.state);
      case core::WorkflowChange::kRetried:
        return EventType::kWorkflowRetried;
      case core::WorkflowChange::kCalledBack:
        return std::nullopt;  // the callback is a job
      case core::WorkflowChange::kLateSuccess:
        return EventType::kWorkflowLateSuccess;
    }
    return std::nullopt;
  }
  static EventType type_of_end(core::WorkflowState state) {
    if (state == core::WorkflowState::kSucceeded) return EventType::kWorkflowSucceeded;
    return state == core::WorkflowState::kCancelled ? EventType::kWorkflowCancelled
                                                    : EventType::kWorkflowFailed;
  }

  static std::vector<EventType> types_of(const core::AttemptEnded& e) {
    switch (e.outcome) {
      case core::AttemptOutcome::kSucceeded:
        return {EventType::kJobSucceeded};
      case core::AttemptOutcome::kSnoozed:
        return given_back(EventType::kJobSnoozed, e.state);
      case core::AttemptOutcome::kReleased:
        return given_back(EventType::kJobReleased, e.state);
      case core::AttemptOutcome::kCancelled:
        return {EventType::kJobCancelled};
      case core::AttemptOutcome::kDead:
        return {EventType::kJobDead};
      case core::AttemptOutcome::kLeaseExpired:
        return {EventType::kJobLeaseExpired, verdict(e.state)};
      case core::AttemptOutcome::kTimedOut:
        return {EventType::kJobTimedOut, verdict(e.state)};
      case core::AttemptOutcome::kFailed:
      case core::AttemptOutcome::kRunning:
        break;
    }
    return {verdict(e.state)};
  }

  // A job for which a cancellation was requested is cancelled instead of waiting for another
  // attempt.
  static std::vector<EventType> given_back(EventType type, core::State state) {
    if (state != core::State::kCancelled) return {type};
    return {type, EventType::kJobCancelled};
  }

  void of_queue(EventType type, const SharedBytes& queue, EventFacts facts) {
    FeedEvent& event = facts_.emplace_back();
    event.at = batch_.at;
    event.type = type;
    event.queue = queue;
    event.facts = std::move(facts);
  }
  FeedEvent& of_job(EventType type, const core::JobRef& job, EventFacts facts) {
    of_queue(type, job.queue, std::move(facts));
    FeedEvent& event = facts_.back();
    event.job = job.id;
    event.job_type = job.type;
    event.attempt = job.attempt;
    return event;
  }

  const core::EventBatch& batch_;
  const ShardNumber shard_;
  const TypeOfChange type_of_change_;
  std::vector<FeedEvent> facts_;
};

// Visits the facts of one shape: counts the texts that have no bound of a name.
struct TextBytes {
  std::size_t operator()(const terms::BrokenFacts& facts) const { return facts.problem.size(); }
  std::size_t operator()(const terms::AttemptFacts& facts) const {
    return facts.error ? facts.error->type.size() + facts.error->message.size() : 0;
  }
  template <typename Facts>
  std::size_t operator()(const Facts& facts) const {
    if constexpr (requires { facts.reason.size(); }) return facts.reason.size();
    return 0;
  }
};

}  // namespace

std::size_t text_bytes(const FeedEvent& event) { return std::visit(TextBytes(), event.facts); }

std::vector<FeedEvent> flatten(const core::EventBatch& batch, ShardNumber shard,
                               TypeOfChange type_of_change) {
  return Flattener(batch, shard, type_of_change).run();
}

}  // namespace millrace::engine
