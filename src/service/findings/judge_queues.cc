#include <fmt/format.h>

#include <algorithm>

#include "service/findings/judge.h"
#include "service/findings/words.h"

namespace millrace::service {
namespace {

using api::Finding;
using enum api::FindingCode;
using enum api::Severity;

std::int64_t ready_of(const core::Queue& queue) {
  return as_signed(queue.counts[static_cast<std::size_t>(core::State::kReady)]);
}

}  // namespace

void QueueJudge::judge(const core::Queue& queue, bool explained) {
  const std::int64_t ready = ready_of(queue);
  const std::string name(queue.name.view());
  const Duration age = queue.oldest_ready_at
                           ? std::max(Duration{0}, judge_.now - *queue.oldest_ready_at)
                           : Duration{0};
  const auto ready_for = [&] {
    return fmt::format("{}, the oldest for {}.", count_of(ready, "job is ready", "jobs are ready"),
                       format_duration_for_people(age));
  };
  const auto figures = [&](Duration threshold) {
    return std::vector<api::Figure>{
        {"ready", static_cast<double>(ready), "jobs", {}},
        {"oldest_ready_age", in_ms(age), "ms", in_ms(threshold)},
    };
  };
  if (ready > 0) ++with_work_;
  const api::FindingsQuery& at = judge_.thresholds;
  if (queue.paused) {
    if (ready > 0) ++paused_;
    judge_.found.add(kQueuePaused, kWarn, [&] {
      return Finding{.about = {.queue = name},
                     .what = fmt::format("Queue {} is paused", name),
                     .why = quoted_reason(queue.pause_reason.view()) +
                            count_of(ready, "ready job waits.", "ready jobs wait."),
                     .next = "resume it",
                     .command = "millrace queue resume " + shell_word(name),
                     .figures = {{"ready", static_cast<double>(ready), "jobs", {}}}};
    });
  } else if (ready > 0 && age > at.alone && !takers_.serve(name)) {
    judge_.found.add(kQueueWithoutWorkers, kBad, [&] {
      return Finding{.about = {.queue = name},
                     .what = fmt::format("No worker takes jobs from {}", name),
                     .why = ready_for(),
                     .next = "start a worker",
                     .command = fmt::format("millrace work -q {} -- COMMAND", shell_word(name)),
                     .figures = figures(at.alone)};
    });
  } else if (ready > 0 && age > at.late && !explained && takers_.serve(name)) {
    judge_.found.add(kQueueBehind, kWarn, [&] {
      return Finding{
          .about = {.queue = name},
          .what = fmt::format("Queue {} is behind by {}", name, format_duration_for_people(age)),
          .why = ready_for(),
          .next = "add workers, or see what holds them",
          .command = "millrace queue get " + shell_word(name),
          .figures = figures(at.late)};
    });
  }
  const auto& most = queue.settings.max_ready;
  if (!most || ready < as_signed(*most)) return;
  judge_.found.add(kQueueFull, kBad, [&] {
    return Finding{
        .about = {.queue = name},
        .what = fmt::format("Queue {} is full", name),
        .why = fmt::format("It refuses new jobs at {} ready ones (max_ready).", *most),
        .next = "add workers, or raise the bound",
        .command = fmt::format("millrace queue set {} --max-ready N", shell_word(name)),
        .figures = {{"ready", static_cast<double>(ready), "jobs", static_cast<double>(*most)}}};
  });
}

void QueueJudge::finish() {
  if (with_work_ == 0 || with_work_ != paused_) return;
  judge_.found.add(kAllPaused, kBad, [&] {
    return Finding{
        .what = "Every queue with ready jobs is paused",
        .why = fmt::format("No job starts, in {}.", count_of(paused_, "queue", "queues")),
        .next = "resume them",
        .command = "millrace queue resume NAME",
        .figures = {{"paused", static_cast<double>(paused_), "queues", {}}}};
  });
}

void judge_untaken(Judge& judge, const core::Job& job) {
  judge.found.add(kTypeUntaken, kBad, [&] {
    const std::string queue(job.queue.view());
    const std::string type(job.type.view());
    const std::string id = to_string(job.id);
    return Finding{
        .about = {.queue = queue, .type = type, .job = id},
        .what = fmt::format("No worker takes jobs of type {} from {}", type, queue),
        .why = fmt::format("The workers of the queue name other types; job {} waits.", id),
        .next = "start one that does",
        .command = fmt::format("millrace work -q {} -t {} -- COMMAND", shell_word(queue),
                               shell_word(type))};
  });
}

void judge_worker(Judge& judge, const engine::WorkerView& worker) {
  const Duration silent = judge.now - worker.last_seen_at;
  if (worker.running.empty() || silent <= judge.thresholds.silent) return;
  judge.found.add(kWorkerSilent, kBad, [&] {
    const std::string id(worker.info.id.view());
    const std::string& host = worker.info.host;
    const auto holds = static_cast<std::int64_t>(worker.running.size());
    return Finding{.about = {.worker = id},
                   .what = fmt::format("Worker {} has not been heard of for {}", id,
                                       format_duration_for_people(silent)),
                   .why = fmt::format("It holds {}, which come back when their leases run out.",
                                      count_of(holds, "job", "jobs")),
                   .next = fmt::format("look whether its process lives and reaches the server{}",
                                       host.empty() ? "" : ", on " + host),
                   .figures = {{"silence", in_ms(silent), "ms", in_ms(judge.thresholds.silent)},
                               {"running", static_cast<double>(holds), "jobs", {}}}};
  });
}

}  // namespace millrace::service
