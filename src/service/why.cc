// Why a job is not running: the shard's answer, plus facts that the shard cannot know.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "service/convert.h"
#include "service/limits.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

using core::BlockCode;

// Without a claim for the queue and type in this time, there is no worker.
constexpr Duration kNoWorkerAfter{60'000};

constexpr std::array<std::string_view, 17> kCodes = {
    "running",      "ended",        "scheduled",    "backoff", "parents",    "expired",
    "queue_paused", "type_paused",  "limit_paused", "order",   "limit_full", "rate",
    "retry_rate",   "breaker_open", "slow_down",    "share",   "behind"};
static_assert(kCodes.size() == static_cast<std::size_t>(BlockCode::kBehind) + 1);

struct LastAsked {
  std::optional<Time> both;   // for this queue and type; none: no known worker has
  std::optional<Time> queue;  // for this queue, whatever the type
};

Task<Answered<LastAsked>> last_worker(Caller& caller, std::string_view queue,
                                      std::string_view type) {
  auto workers = co_await caller.ask(engine::ListWorkers{});
  if (!workers) co_return refused(workers);
  const auto has = [](const std::vector<SharedBytes>& names, std::string_view name) {
    return std::ranges::any_of(names, [&](const SharedBytes& n) { return n.view() == name; });
  };
  LastAsked last;
  for (const engine::WorkerView& worker : workers->workers) {
    if (!has(worker.queues, queue)) continue;
    const Time seen = worker.last_seen_at;
    last.queue = std::max(last.queue.value_or(seen), seen);
    const bool asks = worker.types.empty() || has(worker.types, type);
    if (asks) last.both = std::max(last.both.value_or(seen), seen);
  }
  co_return last;
}

// "the limit stripe for key acme", "the gate of the type charge", "the queue's own gate".
std::string gate_name(const core::Blocker& blocker) {
  switch (blocker.kind) {
    case core::LimitKind::kType:
      return fmt::format("the gate of the type {}", blocker.limit.view());
    case core::LimitKind::kFair:  // no limit
    case core::LimitKind::kQueue:
      return "the queue's own gate";
    case core::LimitKind::kNamed:
      break;
  }
  if (blocker.key.empty()) return fmt::format("the limit {}", blocker.limit.view());
  return fmt::format("the limit {} for key {}", blocker.limit.view(), blocker.key.view());
}

std::string paused(std::string_view what, const core::Blocker& blocker) {
  std::string text = fmt::format("Somebody paused {}", what);
  if (!blocker.text.empty()) text += fmt::format(": {}", blocker.text.view());
  if (blocker.until) text += fmt::format(" (until {})", format_rfc3339(*blocker.until));
  return text + ".";
}

std::string sentence(const core::Blocker& blocker) {
  const auto until = [&] { return blocker.until ? format_rfc3339(*blocker.until) : "later"; };
  switch (blocker.code) {
    case BlockCode::kRunning:
      return fmt::format("The worker {} is running the job.", blocker.text.view());
    case BlockCode::kEnded:
      return "The job has ended.";
    case BlockCode::kScheduled:
      return fmt::format("The job is scheduled for {}.", until());
    case BlockCode::kBackoff:
      return fmt::format("The job failed, and is tried again at {}.", until());
    case BlockCode::kParents:
      return "The job waits for other jobs to end.";
    case BlockCode::kExpired:
      return "The job has passed its expires_at, and will not start.";
    case BlockCode::kQueuePaused:
      return paused("the queue", blocker);
    case BlockCode::kTypePaused:
      return paused(fmt::format("the type {}", blocker.limit.view()), blocker);
    case BlockCode::kLimitPaused:
      return paused(gate_name(blocker), blocker);
    case BlockCode::kOrder:
      return "An earlier job of the same order key has not ended.";
    case BlockCode::kLimitFull:
      return fmt::format("All slots of {} are taken: {} of {}.", gate_name(blocker), blocker.in_use,
                         blocker.bound);
    case BlockCode::kRate:
      return fmt::format("The rate of {} allows the next start at {}.", gate_name(blocker),
                         until());
    case BlockCode::kRetryRate:
      return fmt::format("The retry budget of {} allows the next attempt at {}.",
                         gate_name(blocker), until());
    case BlockCode::kBreakerOpen:
      return blocker.until
                 ? fmt::format("Too many attempts failed, so the breaker of {} is open until {}.",
                               gate_name(blocker), until())
                 : fmt::format("The breaker of {} waits for the end of its probes.",
                               gate_name(blocker));
    case BlockCode::kSlowDown:
      return fmt::format("A worker asked that nothing more passes {} until {}.", gate_name(blocker),
                         until());
    case BlockCode::kShare:
      return fmt::format(
          "Other shards of the store have the rest of {}; this one has {} of it, "
          "and has asked for more.",
          gate_name(blocker), blocker.bound);
    case BlockCode::kBehind:
      return blocker.more ? fmt::format("More than {} jobs come before it.", blocker.ahead)
                          : fmt::format("{} {} before it.", blocker.ahead,
                                        blocker.ahead == 1 ? "job comes" : "jobs come");
  }
  return {};
}

std::string about_workers(const WhyAnswer& answer) {
  if (answer.other_types) {
    return "Workers ask for the job's queue, but for other types: none takes this one.";
  }
  return answer.worker_last_seen
             ? fmt::format("No worker has asked for this queue and type since {}.",
                           format_rfc3339(*answer.worker_last_seen))
             : "No worker asks for this queue and type.";
}

}  // namespace

Task<Answered<WhyAnswer>> why(Caller& caller, JobId id) {
  // The tables have ended jobs; a caller that may not see the job is told that there is none.
  auto view = co_await find_job(caller, id, api::Include{});
  if (!view) co_return refused(view);
  const core::Job& job = (*view)->job;
  WhyAnswer answer{id, {}, false, std::nullopt};
  auto reply = co_await caller.ask(core::GetWhy{id});
  if (!reply) co_return refused(reply);
  answer.why = std::move(*reply);
  if (!answer.why.known) {
    answer.why.state = job.state;
    answer.why.at = caller.now();
    answer.why.blocking.emplace_back().code = BlockCode::kEnded;
  }
  if (caller.limited()) {
    // Jobs of other queues may hold the resource that this one waits for.
    for (core::Blocker& blocker : answer.why.blocking) blocker.jobs.clear();
  }
  if (answer.why.state == core::State::kReady) {
    auto last = co_await last_worker(caller, job.queue.view(), job.type.view());
    if (!last) co_return refused(last);
    const auto is_recent = [&](const std::optional<Time>& seen) {
      return seen && caller.now() - *seen <= kNoWorkerAfter;
    };
    answer.worker_last_seen = last->both;
    answer.no_worker = !is_recent(last->both);
    answer.other_types = answer.no_worker && is_recent(last->queue);
  }
  co_return answer;
}

api::Reason to_api(const core::Blocker& blocker) {
  api::Reason shown;
  shown.code = kCodes.at(static_cast<std::size_t>(blocker.code));
  const bool of_rate = blocker.code == BlockCode::kRate || blocker.code == BlockCode::kRetryRate;
  const bool of_gate = of_rate || blocker.code == BlockCode::kTypePaused ||
                       blocker.code == BlockCode::kLimitPaused ||
                       blocker.code == BlockCode::kLimitFull ||
                       blocker.code == BlockCode::kBreakerOpen ||
                       blocker.code == BlockCode::kSlowDown || blocker.code == BlockCode::kShare;
  if (of_gate) {
    constexpr std::array<std::string_view, 3> kKinds = {"limit", "type", "queue"};
    shown.limit = blocker.limit.view();
    shown.limit_kind = kKinds.at(static_cast<std::size_t>(blocker.kind));
    shown.key = blocker.key.view();
  }
  (blocker.code == BlockCode::kRunning ? shown.worker : shown.reason) = blocker.text.view();
  (blocker.code == BlockCode::kShare ? shown.wanted_since : shown.since) = blocker.since;
  if (blocker.code == BlockCode::kShare) shown.have = blocker.bound;
  (of_rate ? shown.available_at : shown.until) = blocker.until;
  if (blocker.code == BlockCode::kLimitFull) {
    shown.in_use = blocker.in_use;
    shown.concurrency = blocker.bound;
    shown.holders = blocker.jobs;
  }
  if (blocker.code == BlockCode::kOrder && !blocker.jobs.empty()) {
    shown.waits_for = blocker.jobs.front();
  }
  if (blocker.waiting > 0) {
    shown.waiting = blocker.waiting;
    shown.more = blocker.more;
  }
  if (blocker.code == BlockCode::kBehind) {
    shown.ahead = blocker.ahead;
    shown.more = blocker.more;
  }
  return shown;
}

api::Why to_api(const WhyAnswer& answer) {
  api::Why shown;
  shown.id = answer.id;
  shown.state = name_of(answer.why.state);
  shown.at = answer.why.at;
  for (const core::Blocker& blocker : answer.why.blocking) {
    shown.blocking.push_back(to_api(blocker));
    if (!shown.summary.empty()) shown.summary += ' ';
    shown.summary += sentence(blocker);
  }
  if (answer.no_worker) {
    api::Reason& note = shown.notes.emplace_back();
    note.code = "no_worker";
    note.last_seen = answer.worker_last_seen;
  }
  if (shown.blocking.empty() && !answer.no_worker) {
    shown.summary = "Nothing holds the job back: the next claim of its queue and type gets it.";
  }
  if (answer.no_worker) {
    if (!shown.summary.empty()) shown.summary += ' ';
    shown.summary += about_workers(answer);
    if (shown.blocking.empty()) shown.summary += " Nothing else holds the job back.";
  }
  return shown;
}

}  // namespace millrace::service
