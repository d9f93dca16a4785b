#include "node/relay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <variant>

#include "base/mutant.h"
#include "engine/shard/outbox.h"
#include "engine/whole_claim.h"

namespace millrace::node {
namespace {

using std::chrono_literals::operator""s;

constexpr std::uint32_t kMostAtOnce = 100;
// Longer than the router waits for a leader.
constexpr Duration kLease = 15s;
constexpr Duration kWait = 60s;
constexpr Duration kTryAgainAfter = 1s;
// A job that is too new for this program waits for a program that can read it.
constexpr Duration kTooNewAgainAfter = 10s;
// A limit created just before the ack is known to all shards well within this time.
constexpr Duration kUnknownLimitFor = 60s;

core::AckItem dead(std::string_view type, std::string_view message) {
  core::JobError error;
  error.type = SharedBytes(type);
  error.message = SharedBytes(message);
  core::AckItem item;
  item.outcome = core::AckOutcome::kDead;
  item.error = std::make_shared<core::JobError>(std::move(error));
  return item;
}

core::AckItem snoozed(Duration delay) {
  core::AckItem item;
  item.outcome = core::AckOutcome::kSnoozed;
  item.delay = delay;
  return item;
}

// Of a submission, or of a message.
template <typename Unreadable>
core::AckItem unread(const Unreadable& why) {
  return why.too_new ? snoozed(kTooNewAgainAfter) : dead("damaged_submission", why.message);
}

// The command that a message becomes.
core::Command command_of(core::MemberMessage message) {
  if (message.settle) return std::move(*message.settle);
  if (message.retry) return std::move(*message.retry);
  if (message.wish) return std::move(*message.wish);
  return core::Delete{std::move(message.remove), core::DeleteCause::kWorkflow};
}

// What is gone already is removed. What still runs, or meets a full shard, is tried again.
bool is_done(const core::ItemReply& item) {
  return !item.refusal || item.refusal.why == core::Rejection::kNotFound;
}

core::AckItem outcome_of_message(const engine::Answer& answer) {
  core::AckItem done;
  done.outcome = core::AckOutcome::kSucceeded;
  const auto* reply = std::get_if<core::Reply>(&answer);
  if (reply == nullptr) return snoozed(kTryAgainAfter);
  if (const auto* workflow = std::get_if<core::WorkflowReply>(reply)) {
    const bool later = workflow->refusal.why == core::Rejection::kOverloaded;
    return later ? snoozed(kTryAgainAfter) : done;
  }
  const auto* items = std::get_if<core::ItemsReply>(reply);
  const bool all = items != nullptr && std::ranges::all_of(items->items, is_done);
  return all ? done : snoozed(kTryAgainAfter);
}

// Of a workflow that a shard has refused.
core::AckItem outcome_of_refusal(const core::Refusal& refusal, Duration waited) {
  using core::RefusalDetail;
  using core::Rejection;
  if (refusal.why == Rejection::kIdMismatch) {
    return dead("id_mismatch", "a workflow with this id has other content");
  }
  if (refusal.why == Rejection::kDuplicateWorkflow) {
    return dead("duplicate_workflow", "another workflow has this workflow's unique key");
  }
  const bool may_pass = refusal.detail == RefusalDetail::kNoSuchLimit && waited < kUnknownLimitFor;
  if (refusal.why == Rejection::kUnfitMembers && !may_pass) {
    return dead("unfit_members",
                "its members name a limit that does not exist or does not fit, or go beyond a "
                "bound; make the limit, and retry");
  }
  return snoozed(kTryAgainAfter);
}

core::AckItem outcome_of_workflow(const engine::Answer& answer, Duration waited) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* made = reply == nullptr ? nullptr : std::get_if<core::WorkflowReply>(reply);
  if (made == nullptr) return snoozed(kTryAgainAfter);
  if (made->refusal) return outcome_of_refusal(made->refusal, waited);
  core::AckItem done;
  done.outcome = core::AckOutcome::kSucceeded;
  return done;
}

// None: the job is no member of a workflow. A callback counts as one that has failed.
std::optional<core::MemberReport> refused_member(const core::JobSpec& spec) {
  if (spec.extras == nullptr || spec.extras->member == nullptr) return std::nullopt;
  const core::Membership& member = *spec.extras->member;
  return core::MemberReport{member.workflow,
                            member.role,
                            member.number,
                            member.round,
                            core::MemberState::kFailed,
                            core::MemberReason::kRefused};
}

// Succeeded: the job is at its destination. Dead: it can never be. Otherwise it is retried.
core::AckItem outcome_of(const engine::Answer& answer, Duration waited) {
  core::AckItem done;
  done.outcome = core::AckOutcome::kSucceeded;
  if (mutated(Mutant::kOutboxAckedUnheard)) return done;
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* enqueued = reply == nullptr ? nullptr : std::get_if<core::EnqueueReply>(reply);
  if (enqueued == nullptr || enqueued->items.empty()) return snoozed(kTryAgainAfter);
  const core::EnqueueReply::Item& item = enqueued->items.front();
  if (item.fate != core::Fate::kRefused) return done;
  if (item.refusal.why == core::Rejection::kDuplicateJob) {
    return dead("duplicate_job", "another job has this job's id or unique key");
  }
  if (item.refusal.why == core::Rejection::kIdMismatch) {
    return dead("id_mismatch", "a job with this id has other content");
  }
  if (item.refusal.why == core::Rejection::kUnfitLimit) {
    return dead("unfit_limit", "the job does not fit the limits that it names");
  }
  if (item.refusal.why == core::Rejection::kUnknownLimit && waited >= kUnknownLimitFor) {
    return dead("unknown_limit", "the job names a limit that does not exist; make it, and retry");
  }
  return snoozed(kTryAgainAfter);
}

}  // namespace

void Relay::begin() {
  end();
  leads_ = true;
  ++term_;
  settings_told_ = false;
  ask();
  ask_questions();
}

void Relay::end() {
  leads_ = false;
  claim_.reset();
  under_way_.clear();
  workflows_.clear();
  messages_.clear();
  given_up_.clear();
  asking_.reset();
  questioned_.clear();
  asks_.clear();
  incomplete_.clear();
}

void Relay::ask() {
  const std::size_t sent = under_way_.size() + workflows_.size() + messages_.size();
  if (!leads_ || claim_ || sent >= kMostAtOnce) return;
  claim_ = next_ticket();
  engine::WaitingClaim claim;
  claim.claim.queues = {SharedBytes(engine::kOutboxQueue)};
  claim.claim.limit = kMostAtOnce;
  claim.claim.lease = kLease;
  claim.claim.worker = claim.worker.id = SharedBytes(engine::kOutboxQueue);
  claim.wait = kWait;
  asks_.push_back({Asking::Whom::kShard, std::move(claim), *claim_});
}

// After a failed claim nothing is sent from here: tick() does that. The next jobs are claimed when
// the dropped payloads of the last ones have been read.
void Relay::answered(engine::Ticket ticket, engine::Answer answer) {
  if (const auto job = under_way_.extract(ticket); !job.empty()) {
    return passed(job.mapped(), outcome_of(answer, job.mapped().waited));
  }
  if (const auto job = workflows_.extract(ticket); !job.empty()) {
    return passed(job.mapped(), outcome_of_workflow(answer, job.mapped().waited));
  }
  if (const auto job = messages_.extract(ticket); !job.empty()) {
    return settle(job.mapped(), outcome_of_message(answer));
  }
  if (auto dead = given_up_.extract(ticket); !dead.empty()) {
    return member_given_up(dead.mapped().first, std::move(dead.mapped().second), answer);
  }
  if (const auto question = questioned_.extract(ticket); !question.empty()) {
    return tell(question.mapped(), answer);
  }
  if (asking_ == ticket) {
    asking_.reset();
    // After a refusal tick() asks again.
    if (const auto* questions = std::get_if<engine::JobQuestions>(&answer)) {
      carry(*questions);
      ask_questions();
    }
    return;
  }
  if (claim_ != ticket) return;
  claim_.reset();
  auto* const reply = std::get_if<core::Reply>(&answer);
  auto* const claim = reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
  if (claim == nullptr) return;
  if (!engine::is_whole(*claim)) return incomplete_.push_back({term_, std::move(*claim)});
  pass_on(*claim);
  ask();
}

void Relay::completed(Incomplete claim, const Status& read) {
  if (!leads_ || claim.term != term_) return;
  if (read) {
    pass_on(claim.claim);
  } else {
    log_.warn("this node can't read what lies in an outbox; it tries again",
              {{"reason", read.error().message}});
    for (const core::ClaimReply::Item& item : claim.claim.jobs) {
      settle({item.job.id, item.job.token, {}}, snoozed(kTryAgainAfter));
    }
  }
  ask();
}

void Relay::pass_on(const core::ClaimReply& claim) {
  if (!claim.jobs.empty() && !std::exchange(settings_told_, true)) tell_settings();
  for (const core::ClaimReply::Item& item : claim.jobs) {
    InFlight job{item.job.id, item.job.token, item.job.latest.started_at - item.job.created_at};
    if (engine::carries_message(item.job)) {
      pass_on_message(job, item.job);
      continue;
    }
    if (engine::carries_workflow(item.job)) {
      pass_on_workflow(job, item.job);
      continue;
    }
    auto submission = engine::from_outbox(item.job);
    if (!submission) {
      log_.warn("this node can't decode a job that an ack submitted",
                {{"outbox_job", to_string(job.id)}, {"reason", submission.error().message}});
      settle(job, unread(submission.error()));
      continue;
    }
    if (mutated(Mutant::kOutboxUnkeyed)) submission->key.reset();
    job.member = refused_member(submission->jobs.front());
    const engine::Ticket ticket = next_ticket();
    under_way_.emplace(ticket, job);
    asks_.push_back({Asking::Whom::kOwner, core::Command(std::move(*submission)), ticket, job.id});
  }
}

void Relay::pass_on_message(const InFlight& job, const core::Job& box) {
  auto message = engine::message_from_outbox(box);
  if (!message) {
    log_.warn("this node can't decode a message about members of a workflow",
              {{"outbox_job", to_string(job.id)}, {"reason", message.error().message}});
    return settle(job, unread(message.error()));
  }
  const engine::Ticket ticket = next_ticket();
  messages_.emplace(ticket, job);
  asks_.push_back({Asking::Whom::kOwner, command_of(std::move(*message)), ticket, job.id});
}

void Relay::pass_on_workflow(const InFlight& job, const core::Job& box) {
  auto workflow = engine::workflow_from_outbox(box);
  if (!workflow) {
    log_.warn("this node can't decode a workflow that a schedule or an ack submitted",
              {{"outbox_job", to_string(job.id)}, {"reason", workflow.error().message}});
    return settle(job, unread(workflow.error()));
  }
  const engine::Ticket ticket = next_ticket();
  workflows_.emplace(ticket, job);
  asks_.push_back({Asking::Whom::kOwner, core::Command(std::move(*workflow)), ticket, job.id});
}

void Relay::ask_questions() {
  if (!leads_ || asking_) return;
  asking_ = next_ticket();
  asks_.push_back({Asking::Whom::kShard, engine::AwaitJobQuestions{kWait}, *asking_});
}

void Relay::carry(const engine::JobQuestions& questions) {
  for (const core::ShareMessage& message : questions.shares) {
    asks_.push_back({Asking::Whom::kOwner, core::Command(message.command), {}});
  }
  for (const engine::JobQuestion& question : questions.items) {
    if (question.cancel && question.workflow) {
      core::CancelWorkflow cancel;
      cancel.id = question.job;
      cancel.reason = SharedBytes(core::kReplacedByNextRun);
      asks_.push_back({Asking::Whom::kOwner, core::Command(std::move(cancel)), {}});
    } else if (question.cancel) {
      core::Cancel cancel;
      cancel.ids.push_back(question.job);
      cancel.reason = SharedBytes(core::kReplacedByNextRun);
      asks_.push_back({Asking::Whom::kOwner, core::Command(std::move(cancel)), {}});
    }
    const engine::Ticket ticket = next_ticket();
    questioned_.emplace(ticket, question);
    engine::WatchJob watch;
    watch.id = question.job;
    watch.wait = question.wait;
    asks_.push_back({Asking::Whom::kOwner, std::move(watch), ticket});
  }
}

// What memory does not know has ended, or never existed. If the owner could not be reached, the
// shard asks again.
void Relay::tell(const engine::JobQuestion& question, const engine::Answer& answer) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  if (reply != nullptr && std::holds_alternative<core::JobReply>(*reply) && question.workflow) {
    // Whoever watches a workflow learns that it may have ended, and not its state.
    const engine::Ticket ticket = next_ticket();
    questioned_.emplace(ticket, question);
    core::GetWorkflow get;
    get.id = question.job;
    asks_.push_back({Asking::Whom::kOwner, core::Command(std::move(get)), ticket});
    return;
  }
  const auto* workflow = reply == nullptr ? nullptr : std::get_if<core::WorkflowReply>(reply);
  if (workflow != nullptr) {
    const bool ended = workflow->workflow == nullptr || terms::has_ended(workflow->workflow->state);
    return told(question, ended);
  }
  const auto* job = reply == nullptr ? nullptr : std::get_if<core::JobReply>(reply);
  if (job == nullptr) return;
  told(question, job->job == nullptr || core::is_terminal(job->job->job.state));
}

void Relay::told(const engine::JobQuestion& question, bool ended) {
  asks_.push_back(
      {Asking::Whom::kShard, engine::TellOfJob{question.schedule, question.job, ended}, {}});
}

// Jobs passed on are not kept here, since they now exist at their destination.
void Relay::tell_settings() {
  core::SetQueue settings;
  settings.queue = SharedBytes(engine::kOutboxQueue);
  settings.patch.succeeded = std::optional<Duration>(Duration{0});
  asks_.push_back({Asking::Whom::kShard, core::Command(std::move(settings)), {}});
}

void Relay::passed(const InFlight& job, core::AckItem ack) {
  if (ack.outcome == core::AckOutcome::kDead) {
    log_.warn("a shard refused a job or workflow that an ack or a schedule submitted",
              {{"outbox_job", to_string(job.id)}, {"reason", ack.error->message.view()}});
    if (job.member) return give_up_member(job, std::move(ack));
  }
  settle(job, std::move(ack));
}

// The workflow lies on the shard of the box. Until it knows, the box stays.
void Relay::give_up_member(InFlight job, core::AckItem ack) {
  core::SettleMembers report;
  report.shard = queue_bits(job.member->workflow);
  report.reports.push_back(*job.member);
  const engine::Ticket ticket = next_ticket();
  given_up_.emplace(ticket, std::pair(std::move(job), std::move(ack)));
  asks_.push_back({Asking::Whom::kShard, core::Command(std::move(report)), ticket});
}

void Relay::member_given_up(const InFlight& job, core::AckItem ack, const engine::Answer& answer) {
  const bool told = outcome_of_message(answer).outcome == core::AckOutcome::kSucceeded;
  settle(job, told ? std::move(ack) : snoozed(kTryAgainAfter));
}

void Relay::settle(const InFlight& job, core::AckItem item) {
  item.id = job.id;
  item.token = job.token;
  core::Ack ack;
  ack.items.push_back(std::move(item));
  asks_.push_back({Asking::Whom::kShard, core::Command(std::move(ack)), {}});
}

}  // namespace millrace::node
