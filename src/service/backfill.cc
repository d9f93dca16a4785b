// Jobs or workflows for past instants of a schedule.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/bounds.h"
#include "digest/fingerprint.h"
#include "engine/schedules/planner.h"
#include "engine/schedules/timing.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/schedules.h"
#include "service/workflow_draft.h"
#include "service/workflow_reads.h"

namespace millrace::service {
namespace {

// The most instants examined per call.
constexpr std::size_t kMostInstants = 10'000;
// The approximate number of bytes of jobs submitted together.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;

std::unexpected<api::Problem> fault(std::string_view member, std::string detail) {
  return refused(api::make_fault(api::FieldError::Place::kPointer, "/" + std::string(member),
                                 std::move(detail)));
}

// The least time for which the queue keeps a job that has ended; none: for ever.
std::optional<Duration> shortest_retention(const core::Retention& retention) {
  std::optional<Duration> shortest;
  for (const auto& time :
       {retention.succeeded, retention.dead, retention.cancelled, retention.expired}) {
    if (time) shortest = std::min(shortest.value_or(*time), *time);
  }
  return shortest;
}

// An instant and its job.
struct Item {
  Time at{};
  JobId id;
  bool existing = false;  // the job was there before
  bool created = false;   // by this call
};

class Backfill {
 public:
  Backfill(Caller& caller, const core::Schedule& schedule, const engine::ScheduleTiming& timing,
           const BackfillRequest& request)
      : caller_(caller), schedule_(schedule), timing_(timing), request_(request) {
    const core::ScheduleProgress& progress = schedule.progress;
    // Instants that the schedule itself still owes are not past.
    until_ = request.backfill.to;
    if (!schedule.paused && progress.next) until_ = std::min(until_, *progress.next);
    if (!schedule.paused && !progress.planned) {
      until_ = std::min(until_, progress.done_until + Duration{1});
    }
    if (progress.waiting) until_ = std::min(until_, *progress.waiting);
    next_ = timing.next(request.backfill.from - Duration{1});
  }

  Task<Answered<BackfillAnswer>> run() {
    api::BackfillOutcome& outcome = answer_.outcome;
    std::size_t seen = 0;
    while (is_left() && outcome.submitted < request_.backfill.limit && seen < kMostInstants) {
      std::vector<Item> items = take_items();
      seen += items.size();
      auto done = co_await handle(items);
      if (!done) {
        co_await note_runs();  // for the earlier part
        co_return refused(done);
      }
      for (const Item& item : items) {
        ++(item.existing ? outcome.existing : outcome.submitted);
        if (item.created && !makes_workflows()) created_.push_back(item);
      }
    }
    outcome.more = is_left();
    co_await note_runs();
    co_return answer_;
  }

 private:
  bool is_left() const { return next_ && *next_ < until_; }

  std::size_t template_bytes() const {
    return schedule_.spec.job.size() + schedule_.spec.workflow.size();
  }

  std::vector<Item> take_items() {
    const auto wanted =
        static_cast<std::size_t>(request_.backfill.limit - answer_.outcome.submitted);
    const std::size_t fitting = std::max<std::size_t>(kBytesAtOnce / template_bytes(), 1);
    std::vector<Item> items;
    for (; is_left() && items.size() < std::min(wanted, fitting); next_ = timing_.next(*next_)) {
      items.push_back({*next_, engine::job_id_of(schedule_, *next_)});
    }
    return items;
  }

  bool makes_workflows() const { return !schedule_.spec.workflow.empty(); }

  Task<Answered<>> handle(std::vector<Item>& items) {
    const bool looks = request_.backfill.dry_run;
    if (makes_workflows() && looks) co_return co_await look_for_workflows(items);
    if (makes_workflows()) co_return co_await create(items);
    if (looks) co_return co_await look(items);
    co_return co_await submit(items);
  }

  Task<Answered<>> look_for_workflows(std::vector<Item>& items) {
    for (Item& item : items) {
      core::GetWorkflow get;
      get.id = item.id;
      auto found = co_await look_up_workflow(caller_, get);
      item.existing = found.has_value();
      const bool unknown = !found && found.error().code == api::ProblemCode::kNotFound;
      if (!found && !unknown) co_return refused(found);
    }
    co_return Answered<>();
  }

  // One by one: what was created stays if a later one is refused. A workflow of other content was
  // created before the schedule was edited.
  Task<Answered<>> create(std::vector<Item>& items) {
    std::vector<engine::Request> requests;
    for (const Item& item : items) {
      auto create = engine::workflow_of(schedule_, item.at);
      if (!create) co_return refused(api::ProblemCode::kInternal, create.error().message);
      create->id = item.id;
      create->id_of_client = true;
      if (request_.key) create->key = key_of(item.id);
      requests.emplace_back(core::Command(std::move(*create)));
    }
    auto all = caller_.answers_to(std::move(requests));
    const std::vector<engine::Answer> answers = co_await all;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* const reply = reply_in<core::WorkflowReply>(answers[i]);
      if (reply == nullptr) co_return refused(caller_.problem_of(answers[i]));
      const bool edited = reply->refusal.why == core::Rejection::kIdMismatch;
      if (reply->refusal && !edited) co_return refused(problem_of(*reply, "/workflow"));
      items[i].existing = edited || (!reply->created && !reply->by_key);
      items[i].created = reply->created;
      if (reply->created) created_.push_back(items[i]);
      if (reply->by_key) answer_.replayed = true;
    }
    co_return Answered<>();
  }

  // Determines which of the jobs exist.
  Task<Answered<>> look(std::vector<Item>& items) {
    std::vector<engine::Request> questions;
    std::vector<JobId> ids;
    for (const Item& item : items) {
      questions.emplace_back(core::GetJob{item.id});
      ids.push_back(item.id);
    }
    auto all = caller_.answers_to(std::move(questions));
    std::vector<engine::Answer> answers = co_await all;
    auto read = [&](const std::stop_token&) { return caller_.services.reads.fetch(ids); };
    auto stored = co_await caller_.read(Lane::kLookups, read);
    if (!stored) co_return refused(stored);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* const reply = reply_in<core::JobReply>(answers[i]);
      if (reply == nullptr) co_return refused(caller_.problem_of(answers[i]));
      const auto is_it = [&](const core::Job& job) { return job.id == items[i].id; };
      items[i].existing =
          reply->job != nullptr || (!reply->deleted && std::ranges::any_of(*stored, is_it));
    }
    co_return Answered<>();
  }

  // All or nothing: a key that was used with another body must not submit only a part. A job that
  // was edited since still exists; the others are then tried again.
  Task<Answered<>> submit(std::vector<Item>& items) {
    for (bool done = false; !done;) {
      std::vector<Item*> asked;
      auto enqueue = submission_of(items, asked);
      if (!enqueue) co_return refused(enqueue);
      if (asked.empty()) co_return Answered<>();
      auto reply = co_await caller_.ask(std::move(*enqueue));
      if (!reply) co_return refused(reply);
      if (reply->items.size() != asked.size()) co_return refused(other_number_of_jobs());
      done = !reply->refused_as_one;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const core::EnqueueReply::Item& answered = reply->items[i];
        const bool edited = answered.refusal.why == core::Rejection::kIdMismatch;
        if (answered.refusal && !edited) co_return refused(to_problem(answered.refusal));
        if (edited) asked[i]->existing = true;
        if (done) settle(*asked[i], answered);
      }
    }
    co_return Answered<>();
  }

  Answered<core::Enqueue> submission_of(std::vector<Item>& items, std::vector<Item*>& asked) {
    core::Enqueue enqueue;
    enqueue.atomicity = core::Atomicity::kAll;
    for (Item& item : items) {
      if (item.existing) continue;
      auto spec = engine::job_of(schedule_, item.at);
      if (!spec) return refused(api::ProblemCode::kInternal, spec.error().message);
      spec->id = item.id;
      spec->id_origin = core::IdOrigin::kClient;
      if (request_.key) spec->key = key_of(item.id);
      enqueue.jobs.push_back(std::move(*spec));
      asked.push_back(&item);
    }
    return enqueue;
  }

  // A job found by its key was made by an earlier call that this one repeats.
  void settle(Item& item, const core::EnqueueReply::Item& answered) {
    item.existing = answered.fate == core::Fate::kExisting && !answered.by_key;
    item.created = answered.fate == core::Fate::kCreated;
    if (answered.by_key) answer_.replayed = true;
  }

  std::shared_ptr<const core::SubmissionKey> key_of(const JobId& id) const {
    auto made = std::make_shared<core::SubmissionKey>();
    made->key = fingerprint("backfill " + to_string(id), *request_.key);
    made->body = fingerprint("backfill", request_.as_sent);
    made->window = caller_.services.idempotency_window;
    return made;
  }

  // Adds the latest jobs to the list of runs. A failure does not affect the jobs.
  Task<void> note_runs() {
    const std::size_t shown = std::min<std::size_t>(created_.size(), core::kRunsKept);
    std::vector<engine::Request> notes;
    for (auto item = created_.end() - static_cast<std::ptrdiff_t>(shown); item != created_.end();
         ++item) {
      notes.emplace_back(core::NoteScheduleRun{schedule_.name, schedule_.incarnation, item->at,
                                               item->id, core::kNoJob, makes_workflows()});
    }
    auto all = caller_.answers_to(std::move(notes));
    (void)co_await all;
  }

  Caller& caller_;
  const core::Schedule& schedule_;
  const engine::ScheduleTiming& timing_;
  const BackfillRequest& request_;
  Time until_{};
  std::optional<Time> next_;
  BackfillAnswer answer_;
  std::vector<Item> created_;
};

}  // namespace

Task<Answered<BackfillAnswer>> backfill_schedule(Caller& caller, std::string_view name,
                                                 const BackfillRequest& request) {
  auto found = co_await get_schedule(caller, name);
  if (!found) co_return refused(found);
  const core::Schedule& schedule = found->schedule;
  if (request.backfill.to > caller.now()) co_return fault("to", "must not be later than now");
  auto timing = engine::timing_of(schedule.spec, *caller.services.zones);
  if (!timing) co_return refused(api::ProblemCode::kInvalidState, timing.error().message);

  core::Retention retention = caller.services.default_retention;
  auto queue = co_await caller.ask(core::GetQueues{schedule.spec.queue});
  if (!queue) co_return refused(queue);
  if (!queue->queues.empty()) retention = queue->queues.front().settings.retention;
  const auto kept = shortest_retention(retention);
  if (!request.backfill.rerun && kept && request.backfill.from < caller.now() - *kept) {
    co_return fault("from",
                    "is older than the queue keeps ended jobs, so that nobody knows what has run: "
                    "\"rerun\": true runs all of it again");
  }
  caller.about = about("schedule.backfilled", "schedule", name);
  Backfill backfill(caller, schedule, *timing, request);
  auto answer = co_await backfill.run();
  co_return answer;
}

}  // namespace millrace::service
