// Core events as facts for external readers: one per job, under the names of the contract.
#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/feed/event_feed.h"
#include "engine/wire/data_object.h"

namespace millrace::engine {
namespace {

DataObject error_data(const core::JobError& error) {
  DataObject data;
  data.text("type", error.type.view()).text("message", error.message.view());
  return data;
}

// The fate of the job after its attempt failed or timed out.
std::string_view verdict(core::State state) {
  switch (state) {
    case core::State::kDead:
      return "job.dead";
    case core::State::kCancelled:
      return "job.cancelled";
    default:
      return "job.retrying";
  }
}

class Flattener {
 public:
  Flattener(const core::EventBatch& batch, ShardNumber shard) : batch_(batch), shard_(shard) {}

  std::vector<FeedEvent> run() {
    for (const core::Event& event : batch_.events) std::visit(*this, event);
    return std::move(facts_);
  }

  void operator()(const core::QueueChanged& e) {
    switch (e.change) {
      case core::QueueChange::kCreated:
        return of_queue("queue.updated", e.queue, DataObject().boolean("created", true));
      case core::QueueChange::kUpdated:
        return of_queue("queue.updated", e.queue, {});
      case core::QueueChange::kPaused:
        return of_queue("queue.paused", e.queue, reason(e.pause_reason));
      case core::QueueChange::kResumed:
        return of_queue("queue.resumed", e.queue, {});
    }
  }
  void operator()(const core::QueueDeleted& e) { of_queue("queue.deleted", e.queue, {}); }
  void operator()(const core::QueuePurged& e) {
    of_queue("queue.purged", e.queue,
             DataObject().number("deleted", static_cast<std::int64_t>(e.deleted)));
  }

  void operator()(const core::ScheduleSet& e) {
    DataObject data = named(e.schedule.name);
    data.number("version", static_cast<std::int64_t>(e.schedule.version));
    switch (e.change) {
      case core::ScheduleChange::kCreated:
        return of_queue("schedule.updated", e.schedule.spec.queue, data.boolean("created", true));
      case core::ScheduleChange::kUpdated:
        return of_queue("schedule.updated", e.schedule.spec.queue, data);
      case core::ScheduleChange::kPaused:
        if (!e.schedule.pause_reason.empty()) data.text("reason", e.schedule.pause_reason.view());
        return of_queue("schedule.paused", e.schedule.spec.queue, data);
      case core::ScheduleChange::kResumed:
        return of_queue("schedule.resumed", e.schedule.spec.queue, data);
    }
  }
  // A run that made a job is reported as that job's event.
  void operator()(const core::ScheduleAdvanced& e) {
    for (const core::ScheduleRun& run : e.runs) {
      if (run.job != core::kNoJob) continue;
      of_queue("schedule.skipped", e.queue,
               named(e.name)
                   .text("outcome", name_of(run.outcome))
                   .time("scheduled_at", run.scheduled_at)
                   .number("count", static_cast<std::int64_t>(run.count)));
    }
    if (!e.progress.broken.empty() && e.progress.tries == 1) {
      of_queue("schedule.broken", e.queue, named(e.name).text("error", e.progress.broken.view()));
    }
  }
  // A limit's home reports it, for all shards.
  void operator()(const core::ShareTaken&) {}
  void operator()(const core::SharesSet&) {}
  // The audit is only for administrators: GET /v1/admin/audit.
  void operator()(const core::Audited&) {}
  // Readers of events may not see tokens and push targets.
  void operator()(const core::CatalogPut& e) {
    if (e.kind != core::CatalogKind::kErrorGroup) return;
    // The document begins with the latest change; see service/error_groups.h.
    constexpr std::string_view kBegin = R"({"change":")";
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTold = {
        {{"opened", "error_group.opened"},
         {"reopened", "error_group.reopened"},
         {"resolved", "error_group.resolved"},
         {"muted", "error_group.muted"}}};
    std::string_view body = e.body.view();
    if (!body.starts_with(kBegin)) return;
    body.remove_prefix(kBegin.size());
    const std::string_view change = body.substr(0, body.find('"'));
    for (const auto& [name, type] : kTold) {
      if (name != change) continue;
      DataObject data;
      data.text("error_group", e.name.view());
      of_queue(type, {}, data);
    }
  }
  void operator()(const core::CatalogDeleted&) {}
  void operator()(const core::ScheduleDeleted& e) {
    of_queue("schedule.deleted", e.queue, named(e.name));
  }

  // The first shard's part ends last. A step is reported as the events of its jobs.
  void operator()(const core::OperationSet& e) {
    if (shard_ != 0) return;
    const core::OperationPart& part = e.part;
    DataObject data = of_operation(part);
    switch (e.change) {
      case core::OperationChange::kStarted:
        return of_queue("operation.started", part.spec.queue, data);
      case core::OperationChange::kPaused:
        return of_queue("operation.paused", part.spec.queue, data);
      case core::OperationChange::kResumed:
        return of_queue("operation.resumed", part.spec.queue, data);
      case core::OperationChange::kRateChanged:
        return of_queue("operation.rate_changed", part.spec.queue, data);
      case core::OperationChange::kCancelled:
        return of_queue("operation.ended", part.spec.queue, data.text("state", "cancelled"));
    }
  }
  void operator()(const core::OperationAdvanced& e) {
    if (!e.ended || shard_ != 0) return;
    DataObject data;
    data.text("operation", to_string(e.id)).text("state", name_of(*e.ended));
    if (!e.reason.empty()) data.text("reason", e.reason.view());
    of_queue("operation.ended", {}, data);
  }
  void operator()(const core::OperationsForgotten&) {}

  // Limits and gates of types belong to no queue.
  void operator()(const core::LimitSet& e) {
    const bool is_type = e.limit.kind == core::LimitKind::kType;
    DataObject data = of_limit(e.limit.kind, e.limit.name);
    data.number("version", static_cast<std::int64_t>(e.limit.version));
    switch (e.change) {
      case core::LimitChange::kCreated:
        return of_queue(is_type ? "type.updated" : "limit.updated", {},
                        data.boolean("created", true));
      case core::LimitChange::kUpdated:
        return of_queue(is_type ? "type.updated" : "limit.updated", {}, data);
      case core::LimitChange::kPaused: {
        const core::LimitPause& latest = e.limit.pauses.back();
        if (!latest.key.empty()) data.text("key", latest.key.view());
        if (!latest.reason.empty()) data.text("reason", latest.reason.view());
        if (latest.until) data.time("until", *latest.until);
        return of_queue(is_type ? "type.paused" : "limit.paused", {}, data);
      }
      case core::LimitChange::kResumed:
        return of_queue(is_type ? "type.resumed" : "limit.resumed", {}, data);
      case core::LimitChange::kCopied:
        return;  // the home reports it
    }
  }
  void operator()(const core::SlowedDown& e) {
    DataObject data = of_gate(e);
    if (e.until) data.time("until", *e.until);
    of_queue(e.until ? "limit.slowed_down" : "limit.slow_down_ended", queue_of(e), data);
  }
  void operator()(const core::BreakerTurned& e) {
    DataObject data = of_gate(e);
    if (e.open_until) data.time("until", *e.open_until);
    of_queue(e.open_until ? "breaker.opened" : "breaker.closed", queue_of(e), data);
  }
  void operator()(const core::LimitDeleted& e) {
    if (e.copied) return;
    of_queue(e.kind == core::LimitKind::kType ? "type.deleted" : "limit.deleted", {},
             of_limit(e.kind, e.name));
  }

  void operator()(const core::Submitted& e) {
    DataObject data;
    data.text("state", name_of(e.job.state))
        .number("priority", e.job.priority)
        .time("run_at", e.job.run_at);
    if (e.job.extras != nullptr && !e.job.extras->schedule.empty()) {
      data.text("schedule", e.job.extras->schedule.view());
      if (e.job.extras->scheduled_at) data.time("scheduled_at", *e.job.extras->scheduled_at);
    }
    of_job("job.submitted", ref(e.job), data);
  }
  void operator()(const core::Claimed& e) {
    for (const core::Claimed::Item& item : e.items) {
      DataObject data;
      data.number("waited_ms", item.waited.count()).time("lease_expires_at", item.expires_at);
      of_job("job.started", item.job, data).worker = e.worker;
    }
  }
  void operator()(const core::AttemptEnded& e) {
    DataObject data;
    data.text("state", name_of(e.state)).number("ran_ms", e.ran.count());
    if (e.run_at) data.time("run_at", *e.run_at);
    if (e.error != nullptr) data.object("error", error_data(*e.error));
    note(data, e.keep);
    for (const std::string_view type : types_of(e)) of_job(type, e.job, data).worker = e.worker;
  }
  void operator()(const core::Expired& e) {
    DataObject data;
    note(data, e.keep);
    of_job("job.expired", e.job, data);
  }
  void operator()(const core::CancelRequested& e) {
    of_job("job.cancel_requested", e.job, reason(e.reason)).worker = e.worker;
  }
  void operator()(const core::Cancelled& e) {
    DataObject data = reason(e.reason);
    note(data, e.keep);
    of_job("job.cancelled", e.job, data);
  }
  void operator()(const core::Retried& e) {
    of_job("job.retried", ref(e.job),
           DataObject()
               .text("state", name_of(e.job.state))
               .time("run_at", e.job.run_at)
               .number("generation", e.job.generation));
  }
  void operator()(const core::Finished& e) {
    if (e.from == core::State::kRunning) {  // the job ran elsewhere, and that run is over
      DataObject data;
      const core::Attempt& latest = e.job.latest;
      data.text("state", name_of(e.job.state))
          .number("ran_ms", (*latest.finished_at - latest.started_at).count());
      of_job("job.cancelled", ref(e.job), data).worker = latest.worker;
    }
    DataObject data;
    data.text("state", name_of(e.job.state))
        .text("from", name_of(e.from))
        .text("reason", core::kFinishedByTransaction);
    note(data, e.keep);
    of_job("job.succeeded", ref(e.job), data);
  }
  void operator()(const core::Debounced& e) {
    of_job("job.debounced", e.job,
           DataObject().text("state", name_of(e.state)).time("run_at", e.run_at));
  }
  void operator()(const core::Edited& e) {
    DataObject data;
    if (e.priority) data.number("priority", *e.priority);
    if (e.run_at) data.time("run_at", *e.run_at);
    if (e.state) data.text("state", name_of(*e.state));
    if (e.max_attempts) data.number("max_attempts", *e.max_attempts);
    if (!e.payload.empty()) data.boolean("payload", true);
    if (e.tags) data.boolean("tags", true);
    of_job("job.edited", e.job, data);
  }
  void operator()(const core::Deleted& e) {
    for (const core::Deleted::Item& item : e.items) {
      of_job("job.deleted", item.job,
             DataObject().text("cause", name_of(e.cause)).text("state", name_of(item.state)));
    }
  }

  // Internal bookkeeping that external readers do not need.
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

  // A job that is kept needs no mention. One that is not is deleted by this event.
  static void note(DataObject& data, core::Keep keep) {
    if (keep == core::Keep::kForgotten) data.boolean("kept", false);
  }

  static DataObject named(const SharedBytes& schedule) {
    DataObject data;
    data.text("schedule", schedule.view());
    return data;
  }
  static DataObject of_operation(const core::OperationPart& part) {
    DataObject data;
    data.text("operation", to_string(part.id)).text("kind", name_of(part.spec.kind));
    if (part.spec.action != core::OperationAction::kNone) {
      data.text("action", name_of(part.spec.action));
    }
    if (part.rate_per_s) data.number("rate_per_s", *part.rate_per_s);
    return data;
  }
  static DataObject of_limit(core::LimitKind kind, const SharedBytes& name) {
    DataObject data;
    data.text(kind == core::LimitKind::kType ? "type" : "limit", name.view());
    return data;
  }
  // For a limit, a type or a queue, and for a key of it.
  template <typename OfGate>
  static DataObject of_gate(const OfGate& e) {
    DataObject data;
    if (e.kind != core::LimitKind::kQueue) data = of_limit(e.kind, e.name);
    if (!e.key.empty()) data.text("key", e.key.view());
    return data;
  }
  template <typename OfGate>
  static SharedBytes queue_of(const OfGate& e) {
    return e.kind == core::LimitKind::kQueue ? e.name : SharedBytes();
  }
  static DataObject reason(const SharedBytes& reason) {
    DataObject data;
    if (!reason.empty()) data.text("reason", reason.view());
    return data;
  }

  static std::vector<std::string_view> types_of(const core::AttemptEnded& e) {
    switch (e.outcome) {
      case core::AttemptOutcome::kSucceeded:
        return {"job.succeeded"};
      case core::AttemptOutcome::kSnoozed:
        return given_back("job.snoozed", e.state);
      case core::AttemptOutcome::kReleased:
        return given_back("job.released", e.state);
      case core::AttemptOutcome::kCancelled:
        return {"job.cancelled"};
      case core::AttemptOutcome::kDead:
        return {"job.dead"};
      case core::AttemptOutcome::kLeaseExpired:
        return {"job.lease_expired", verdict(e.state)};
      case core::AttemptOutcome::kTimedOut:
        return {"job.timed_out", verdict(e.state)};
      case core::AttemptOutcome::kFailed:
      case core::AttemptOutcome::kRunning:
        break;
    }
    return {verdict(e.state)};
  }

  // A job for which a cancellation was requested is cancelled instead of waiting for another
  // attempt.
  static std::vector<std::string_view> given_back(std::string_view type, core::State state) {
    if (state != core::State::kCancelled) return {type};
    return {type, "job.cancelled"};
  }

  void of_queue(std::string_view type, const SharedBytes& queue, const DataObject& data) {
    FeedEvent& fact = facts_.emplace_back();
    fact.at = batch_.at;
    fact.type = type;
    fact.queue = queue;
    fact.data = data.json();
  }
  FeedEvent& of_job(std::string_view type, const core::JobRef& job, const DataObject& data) {
    of_queue(type, job.queue, data);
    FeedEvent& fact = facts_.back();
    fact.job = job.id;
    fact.job_type = job.type;
    fact.attempt = job.attempt;
    return fact;
  }

  const core::EventBatch& batch_;
  const ShardNumber shard_;
  std::vector<FeedEvent> facts_;
};

}  // namespace

std::vector<FeedEvent> flatten(const core::EventBatch& batch, ShardNumber shard) {
  return Flattener(batch, shard).run();
}

}  // namespace millrace::engine
