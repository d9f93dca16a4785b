#include "sim/narrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::sim {
namespace {

template <typename... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};

// Simulated ids are numbers in their first four bytes.
std::string job(const JobId& id) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | id.bytes[i];
  return fmt::format("j{}", number);
}

std::string names(const std::vector<SharedBytes>& words) {
  std::string text;
  for (const SharedBytes& word : words)
    text += fmt::format("{}{}", text.empty() ? "" : ",", word.view());
  return text;
}

std::string jobs(const std::vector<JobId>& ids) {
  std::string text;
  for (const JobId& id : ids) text += " " + job(id);
  return text;
}

std::string of(const core::StateSet& states) {
  if (states.left_out == 0) return {};
  std::string text;
  for (std::size_t i = 0; i < core::kStateCount; ++i) {
    const auto state = static_cast<core::State>(i);
    if (states.contains(state)) text += fmt::format(" {}", name_of(state));
  }
  return ", if" + text;
}

// Limits, order keys and fair keys.
std::string bonds(const core::JobExtras& extras) {
  std::string text;
  for (const core::JobLimit& limit : extras.limits) {
    text += fmt::format(", limit {} {} cost {}", limit.name.view(), limit.key.view(), limit.cost);
  }
  if (!extras.order_key.empty()) {
    text += fmt::format(", order {}{}", extras.order_key.view(),
                        extras.order_passes ? " (passes)" : "");
  }
  if (!extras.fair_key.empty()) text += fmt::format(", fair {}", extras.fair_key.view());
  return text;
}

std::string rate(const std::optional<core::Rate>& rate) {
  if (!rate) return {};
  return fmt::format(", {} in {} ms, burst {}", rate->limit, rate->per.count(),
                     rate->most_at_once());
}

std::string bounds(const core::LimitSettings& settings) {
  std::string text;
  if (settings.bounds.concurrency)
    text += fmt::format(", {} at once", *settings.bounds.concurrency);
  text += rate(settings.bounds.rate);
  for (const core::KeyBounds& key : settings.keys) {
    text += fmt::format("; key {}", key.key.view());
    if (key.bounds.concurrency) text += fmt::format(", {} at once", *key.bounds.concurrency);
    text += rate(key.bounds.rate);
  }
  if (settings.breaker) text += ", breaker";
  if (settings.retry_rate) text += "; retries" + rate(settings.retry_rate);
  return text;
}

std::string spec(const core::JobSpec& spec) {
  std::string text = fmt::format("{} to {} as {}, priority {}", job(spec.id), spec.queue.view(),
                                 spec.type.view(), spec.priority);
  if (spec.delay > Duration{}) text += fmt::format(", in {} ms", spec.delay.count());
  if (spec.run_at) text += fmt::format(", at {}", to_ms(*spec.run_at));
  if (spec.expires_in) text += fmt::format(", expires in {} ms", spec.expires_in->count());
  if (spec.expires_at) text += fmt::format(", expires at {}", to_ms(*spec.expires_at));
  if (spec.max_attempts) text += fmt::format(", {} attempts", *spec.max_attempts);
  if (spec.timeout) text += fmt::format(", timeout {} ms", spec.timeout->count());
  if (spec.lease) text += fmt::format(", lease {} ms", spec.lease->count());
  if (spec.extras != nullptr && spec.extras->unique) {
    text += fmt::format(
        ", unique {}{}", spec.extras->unique->key.view(),
        spec.extras->unique->on_conflict == core::OnConflict::kDebounce ? " (debounce)" : "");
  }
  if (spec.extras != nullptr) text += bonds(*spec.extras);
  return text;
}

std::string claim(const core::Claim& claim) {
  return fmt::format("{} claims {} of {}{}", claim.worker.view(), claim.limit, names(claim.queues),
                     claim.types.empty() ? "" : ", types " + names(claim.types));
}

std::string acks(const core::Ack& command) {
  static constexpr std::string_view kOutcomes[] = {"succeeded", "failed",    "snoozed",
                                                   "released",  "cancelled", "dead"};
  std::string text;
  for (const core::AckItem& item : command.items) {
    text += fmt::format("; ack {} token {}: {}", job(item.id), to_number(item.token),
                        kOutcomes[static_cast<std::size_t>(item.outcome)]);
    for (const core::JobSpec& nested : item.enqueue) text += ", with " + spec(nested);
  }
  return text;
}

std::string beats(const core::Heartbeat& command) {
  std::string text;
  for (const core::HeartbeatItem& item : command.items) {
    text += fmt::format("; heartbeat {} token {}", job(item.id), to_number(item.token));
  }
  return text;
}

std::string schedule(const core::ScheduleSpec& spec) {
  static constexpr std::string_view kMissed[] = {"skip", "one", "all"};
  static constexpr std::string_view kOverlap[] = {"allow", "skip", "queue", "replace"};
  std::string text = spec.cron.empty()
                         ? fmt::format("every {} ms", spec.every.count())
                         : fmt::format("'{}' in {}", spec.cron.view(), spec.timezone.view());
  text += fmt::format(" to {}", spec.queue.view());
  if (spec.start_at) text += fmt::format(", from {}", to_ms(*spec.start_at));
  if (spec.end_at) text += fmt::format(", to {}", to_ms(*spec.end_at));
  if (spec.jitter > Duration{0}) text += fmt::format(", jitter {}", spec.jitter.count());
  text += fmt::format(", missed after {}: {}", spec.missed_after.count(),
                      kMissed[static_cast<std::size_t>(spec.missed)]);
  if (spec.missed == core::MissedPolicy::kAll) text += fmt::format(" {}", spec.missed_limit);
  return text + fmt::format(", overlap {}", kOverlap[static_cast<std::size_t>(spec.overlap)]);
}

std::string narrate_command(const core::Command& command) {
  return std::visit(
      Overload{
          [](const core::Enqueue& enqueue) {
            std::string text =
                enqueue.atomicity == core::Atomicity::kAll ? "submit as one" : "submit";
            for (const core::JobSpec& each : enqueue.jobs) text += "; " + spec(each);
            if (enqueue.key) text += fmt::format("; with key {:02x}", enqueue.key->key.bytes[0]);
            return text;
          },
          [](const core::Claim& each) { return claim(each); },
          [](const core::Ack& each) { return acks(each); },
          [](const core::Heartbeat& each) { return beats(each); },
          [](const core::AppendLogs& logs) {
            return fmt::format("{} log lines", logs.items.size());
          },
          [](const core::Cancel& cancel) {
            return "cancel" + jobs(cancel.ids) + of(cancel.states);
          },
          [](const core::Retry& retry) { return "retry" + jobs(retry.ids) + of(retry.states); },
          [](const core::Edit& edit) { return "edit" + jobs(edit.ids) + of(edit.states); },
          [](const core::Delete& deletion) {
            return "delete" + jobs(deletion.ids) + of(deletion.states);
          },
          [](const core::SetQueue& set) { return fmt::format("settings of {}", set.queue.view()); },
          [](const core::PauseQueue& pause) { return fmt::format("pause {}", pause.queue.view()); },
          [](const core::ResumeQueue& resume) {
            return fmt::format("resume {}", resume.queue.view());
          },
          [](const core::NotePurge& purge) { return fmt::format("purged {}", purge.queue.view()); },
          [](const core::DeleteQueue& gone) {
            return fmt::format("delete queue {}", gone.queue.view());
          },
          [](const core::SetSchedule& set) {
            return fmt::format("set schedule {}: {}", set.name.view(), schedule(set.spec)) +
                   (set.paused ? *set.paused ? ", paused" : ", not paused" : "");
          },
          [](const core::PauseSchedule& pause) {
            return fmt::format("pause schedule {}", pause.name.view());
          },
          [](const core::ResumeSchedule& resume) {
            return fmt::format("resume schedule {}", resume.name.view());
          },
          [](const core::DeleteSchedule& gone) {
            return fmt::format("delete schedule {}", gone.name.view());
          },
          [](const core::NoteScheduleRun& note) {
            return fmt::format("note {} as a run of {}", job(note.job), note.name.view());
          },
          [](const core::GetSchedules&) { return std::string("list schedules"); },
          [](const core::PutCatalogEntry& put) {
            return fmt::format("put {} into the catalog", put.name.view());
          },
          [](const core::DeleteCatalogEntry& gone) {
            return fmt::format("delete {} from the catalog", gone.name.view());
          },
          [](const core::SetLimit& set) {
            return fmt::format("set {} {}{}",
                               set.kind == core::LimitKind::kType ? "the gate of type" : "limit",
                               set.name.view(), bounds(set.settings));
          },
          [](const core::PauseLimit& pause) {
            return fmt::format("pause limit {} {}", pause.name.view(), pause.key.view());
          },
          [](const core::ResumeLimit& resume) {
            return fmt::format("resume limit {} {}", resume.name.view(), resume.key.view());
          },
          [](const core::DeleteLimit& gone) {
            return fmt::format("delete limit {}", gone.name.view());
          },
          [](const core::GetLimits&) { return std::string("list limits"); },
          [](const core::GetShares& get) { return fmt::format("shares of {}", get.queue.view()); },
          [](const core::GetWhy& why) { return "why " + job(why.id); },
          [](const core::ReportShares& report) {
            return fmt::format("{} reports of shares from shard {}", report.items.size(),
                               report.from);
          },
          [](const core::GiveShares& give) {
            return fmt::format("{} shares for shard {}", give.items.size(), give.shard);
          },
          [](const core::CopyLimit& copy) {
            return fmt::format("limit {} is {}", copy.limit.name.view(),
                               copy.gone ? "gone" : "as told");
          },
          [](const core::GetCatalog& get) {
            return fmt::format("get the catalog since {}", get.since);
          },
          [](const core::StartOperation& start) { return "start operation " + job(start.id); },
          [](const core::SetOperation& set) {
            return fmt::format("order {} to operation {}", static_cast<int>(set.order),
                               job(set.id));
          },
          [](const core::StepOperation& step) {
            return fmt::format("step operation {} below {} to {} with {} jobs{}", job(step.id),
                               step.below, step.next, step.items.size(),
                               step.ends ? ", the last" : "");
          },
          [](const core::GetOperations&) { return std::string("get operations"); },
          [](const core::ForgetOperations&) { return std::string("forget operations"); },
          [](const core::NoteAudit&) { return std::string("make an entry of the audit"); },
          [](const core::GetJob& get) { return "get " + job(get.id); },
          [](const core::GetQueues&) { return std::string("list queues"); },
      },
      command);
}

std::string items(const core::ItemsReply& reply) {
  std::string text;
  for (const core::ItemReply& item : reply.items) {
    text +=
        fmt::format(" {} {}", job(item.id),
                    item.refusal ? fmt::format("refused ({})", static_cast<int>(item.refusal.why))
                                 : std::string(item.state ? name_of(*item.state) : "done"));
  }
  return text.empty() ? " nothing" : text;
}

std::string claimed(const core::ClaimReply& reply) {
  std::string text;
  for (const auto& item : reply.jobs) {
    text += fmt::format(" {} with token {}", job(item.job.id), to_number(item.job.token));
  }
  return text.empty() ? " no job" : text;
}

std::string narrate_reply(const core::Reply& reply) {
  return std::visit(
      Overload{
          [](std::monostate) { return std::string(" done"); },
          [](const core::EnqueueReply& enqueued) {
            static constexpr std::string_view kFates[] = {"created", "stands already", "refused"};
            std::string text;
            for (const auto& item : enqueued.items) {
              text +=
                  fmt::format(" {} {}", job(item.id), kFates[static_cast<std::size_t>(item.fate)]);
              if (item.refusal) text += fmt::format(" ({})", static_cast<int>(item.refusal.why));
            }
            return text;
          },
          [](const core::ClaimReply& claim) { return claimed(claim); },
          [](const core::ItemsReply& all) { return items(all); },
          [](const core::JobReply& one) {
            if (one.job == nullptr) return std::string(" not in memory");
            return fmt::format(" {} is {}", job(one.job->job.id), name_of(one.job->job.state));
          },
          [](const core::ScheduleReply& reply) {
            return fmt::format("{} schedules", reply.schedules.size());
          },
          [](const core::LimitReply& reply) {
            return fmt::format("{} limits", reply.limits.size());
          },
          [](const core::OperationReply& reply) {
            return fmt::format(" {} parts of operations{}", reply.parts.size(),
                               reply.refusal ? ", refused" : "");
          },
          [](const core::WhyReply& reply) {
            return fmt::format("{} reasons", reply.blocking.size());
          },
          [](const core::CatalogReply& reply) {
            return fmt::format("{} of {} entries", reply.entries.size(), reply.total);
          },
          [](const core::QueueReply& queues) {
            return fmt::format(" {} queues", queues.queues.size());
          },
      },
      reply);
}

}  // namespace

std::string narrate(const core::ScheduleAdvanced& event) {
  const core::ScheduleProgress& progress = event.progress;
  const auto time = [](const std::optional<Time>& at) {
    return at ? std::to_string(to_ms(*at)) : std::string("never");
  };
  std::string text = fmt::format("schedule {}:", event.name.view());
  for (const core::ScheduleRun& run : event.runs) {
    text += fmt::format(" {} {}", to_ms(run.scheduled_at), name_of(run.outcome));
    if (run.count > 1) text += fmt::format(" with {} before it", run.count - 1);
    text += ",";
  }
  text += fmt::format(" done until {}, next at {}, due at {}", to_ms(progress.done_until),
                      time(progress.next), time(progress.due));
  if (progress.waiting) text += fmt::format(", waiting {}", to_ms(*progress.waiting));
  if (progress.tries > 0) text += fmt::format(", tries {}", progress.tries);
  if (!progress.broken.empty()) text += fmt::format(", broken: {}", progress.broken.view());
  return text;
}

std::string narrate(const engine::Request& request) {
  return std::visit(
      Overload{
          [](const core::Command& command) { return narrate_command(command); },
          [](const engine::WaitingClaim& waiting) {
            return fmt::format("{}, waits {} ms", claim(waiting.claim), waiting.wait.count());
          },
          [](const engine::Poll& poll) {
            return fmt::format("{} polls{}{}{}, waits {} ms", poll.worker.id.view(),
                               acks(poll.acks), beats(poll.heartbeats),
                               poll.claim ? "; " + claim(*poll.claim) : "", poll.wait.count());
          },
          [](const engine::WatchJob& watch) {
            return fmt::format("watch {} for {} ms", job(watch.id), watch.wait.count());
          },
          [](const engine::FindJob& find) { return fmt::format("find {}", job(find.id)); },
          [](const engine::AwaitProjection&) { return std::string("wait for the tables"); },
          [](const engine::AwaitEvents&) { return std::string("wait for events"); },
          [](const engine::AwaitWork&) { return std::string("wait for work"); },
          [](const engine::ListWorkers&) { return std::string("list workers"); },
          [](const engine::AwaitJobQuestions&) { return std::string("wait for questions"); },
          [](const engine::TellOfJob&) { return std::string("tell of a job"); },
          [](const engine::AwaitOperationWork&) {
            return std::string("wait for a step of an operation");
          },
          [](const engine::SetWorkerState&) { return std::string("command a worker"); },
      },
      request);
}

std::string narrate(const engine::Delivery& delivery) {
  const std::string text = std::visit(
      Overload{
          [](std::monostate) { return std::string(" done"); },
          [](const core::Reply& reply) { return narrate_reply(reply); },
          [](const engine::PollReply& poll) {
            return fmt::format("{}; acks:{}", claimed(poll.claim), items(poll.acks));
          },
          [](const engine::WorkersReply&) { return std::string(" workers"); },
          [](const engine::JobQuestions& questions) {
            return fmt::format(" {} questions", questions.items.size());
          },
          [](const engine::OperationWork& work) {
            return work.part ? " a step of " + job(work.part->id) : std::string(" no step");
          },
          [](const engine::Unavailable& why) {
            return fmt::format(" unavailable ({})", static_cast<int>(why));
          },
          [](const engine::Denied& why) {
            return fmt::format(" denied ({})", static_cast<int>(why));
          },
      },
      delivery.answer);
  return fmt::format("#{} is answered:{}", static_cast<std::uint64_t>(delivery.ticket), text);
}

std::string narrate(const store::AppendResult& result, AppendFate fate) {
  static constexpr std::string_view kOutcomes[] = {"durable", "fenced", "unknown", "failed",
                                                   "broken"};
  const bool late = fate == AppendFate::kUnknownLate;
  return fmt::format("{}{}", kOutcomes[static_cast<std::size_t>(result.outcome)],
                     late ? ", and still on its way" : "");
}

}  // namespace millrace::sim
