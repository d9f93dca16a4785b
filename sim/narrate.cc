#include "sim/narrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/kinds.h"

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

// What a command says beyond its name and the names in it.
std::string detail(const core::Enqueue& command) {
  std::string text = command.atomicity == core::Atomicity::kAll ? " as one" : "";
  for (const core::JobSpec& each : command.jobs) text += "; " + spec(each);
  if (command.key) text += fmt::format("; with key {:02x}", command.key->key.bytes[0]);
  return text;
}
std::string detail(const core::Claim& command) { return ": " + claim(command); }
std::string detail(const core::Ack& command) { return acks(command); }
std::string detail(const core::Heartbeat& command) { return beats(command); }
std::string detail(const core::AppendLogs& logs) { return fmt::format(" {}", logs.items.size()); }
std::string detail(const core::SetSchedule& set) {
  return fmt::format(": {}{}", schedule(set.spec),
                     set.paused ? *set.paused ? ", paused" : ", not paused" : "");
}
std::string detail(const core::NoteScheduleRun& note) { return ": " + job(note.job); }
std::string detail(const core::SetLimit& set) {
  return (set.kind == core::LimitKind::kType ? " (of a type)" : "") + bounds(set.settings);
}
std::string detail(const core::ReportShares& report) {
  return fmt::format(": {} from shard {}", report.items.size(), report.from);
}
std::string detail(const core::GiveShares& give) {
  return fmt::format(": {} for shard {}", give.items.size(), give.shard);
}
std::string detail(const core::CopyLimit& copy) {
  return fmt::format(" {}{}", copy.limit.name.view(), copy.gone ? ", which is gone" : "");
}
std::string detail(const core::GetCatalog& get) { return fmt::format(" since {}", get.since); }
std::string detail(const core::SetOperation& set) {
  return fmt::format(": {}", static_cast<int>(set.order));
}
std::string detail(const core::StepOperation& step) {
  return fmt::format(" below {} to {} with {} jobs{}", step.below, step.next, step.items.size(),
                     step.ends ? ", the last" : "");
}
template <typename Command>
std::string detail(const Command& command) {
  if constexpr (requires { command.states; }) return of(command.states);
  return {};
}

std::string narrate_command(const core::Command& command) {
  return std::visit(
      []<typename C>(const C& given) {
        std::string text(core::Kind<C>::kName);
        if constexpr (requires { given.queue; }) text += fmt::format(" {}", given.queue.view());
        if constexpr (requires { given.name; }) text += fmt::format(" {}", given.name.view());
        if constexpr (requires { given.key.view(); }) text += fmt::format(" {}", given.key.view());
        if constexpr (requires { given.id; }) text += " " + job(given.id);
        if constexpr (requires { given.ids; }) text += jobs(given.ids);
        return text + detail(given);
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
          [](const core::WorkflowReply& reply) {
            if (reply.refusal) {
              return fmt::format(" refused ({})", static_cast<int>(reply.refusal.why));
            }
            if (reply.workflow == nullptr) return std::string(" done");
            return fmt::format(" {} is {}", job(reply.id), name_of(reply.workflow->state));
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
          []<typename T>(const T&) { return std::string(core::Kind<T>::kName); },
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
