// Limits, and the gates of types.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "service/findings/judge.h"
#include "service/findings/words.h"

namespace millrace::service {
namespace {

using api::Finding;
using enum api::FindingCode;
using enum api::Severity;

bool is_of_type(const core::LimitView& gate) { return gate.limit.kind == core::LimitKind::kType; }

// The words by which findings call a gate.
struct Called {
  explicit Called(const core::LimitView& gate)
      : kind(is_of_type(gate) ? "Type" : "Limit"),
        name(gate.limit.name.view()),
        word(shell_word(name)),
        about(is_of_type(gate) ? api::FindingAbout{.type = name}
                               : api::FindingAbout{.limit = name}) {}
  std::string_view kind;
  std::string name;
  std::string word;
  api::FindingAbout about;
};

Finding paused(const core::LimitView& gate) {
  const Called called(gate);
  const bool type = is_of_type(gate);
  const std::int64_t waiting = as_signed(gate.use.waiting);
  return {.about = called.about,
          .what = fmt::format("{} {} is paused", called.kind, called.name),
          .why = quoted_reason(gate.use.pause->reason.view()) +
                 count_of(waiting, "ready job must pass it.", "ready jobs must pass it."),
          .next = type ? "set its gate without --pause" : "resume it",
          .command = (type ? "millrace type set " : "millrace limit resume ") + called.word,
          .figures = {{"waiting", static_cast<double>(waiting), "jobs", {}}}};
}

Finding full(const core::LimitView& gate) {
  const Called called(gate);
  const bool type = is_of_type(gate);
  const std::int64_t waiting = as_signed(gate.use.waiting);
  const std::uint32_t slots = *gate.limit.settings.bounds.concurrency;
  return {.about = called.about,
          .what = fmt::format("{} {} is full", called.kind, called.name),
          .why = fmt::format("{} of {} in use, and {} for it.", gate.use.in_use, slots,
                             count_of(waiting, "job waits", "jobs wait")),
          .next = type ? "raise its bound" : "see who holds it",
          .command = (type ? "millrace type set " : "millrace limit holders ") + called.word,
          .figures = {
              {"in_use", static_cast<double>(gate.use.in_use), "slots", static_cast<double>(slots)},
              {"waiting", static_cast<double>(waiting), "jobs", {}}}};
}

}  // namespace

bool is_full(const core::LimitView& gate) {
  const auto& slots = gate.limit.settings.bounds.concurrency;
  return !gate.use.pause && gate.use.waiting > 0 && slots && gate.use.in_use >= *slots;
}

void judge_gate(Judge& judge, const core::LimitView& gate) {
  if (gate.use.pause) {
    judge.found.add(kGatePaused, kWarn, [&] { return paused(gate); });
  } else if (is_full(gate) && !gate.limit.settings.per_key) {
    judge.found.add(kGateFull, kWarn, [&] { return full(gate); });
  }
}

void judge_holders(Judge& judge, const core::LimitView& gate,
                   const std::vector<core::LimitHolder>& holders) {
  if (holders.empty()) return;
  const Time newest = std::ranges::max(holders, {}, &core::LimitHolder::since).since;
  const Duration stands = judge.now - newest;
  if (stands < judge.thresholds.stuck) return;
  judge.found.add(kLimitStuck, kBad, [&] {
    const Called called(gate);
    const core::LimitHolder& one = holders.front();
    const auto slots = static_cast<std::int64_t>(holders.size());
    const std::int64_t waiting = as_signed(gate.use.waiting);
    const std::string job = to_string(one.job);
    return Finding{
        .about = {.job = job, .worker = std::string(one.worker.view()), .limit = called.name},
        .what = fmt::format("Nothing passes the limit {}", called.name),
        .why = fmt::format("All {} were taken {} ago or earlier and none came free since; {} for "
                           "one. One holder is job {} on worker {}.",
                           count_of(slots, "slot", "slots"), format_duration_for_people(stands),
                           count_of(waiting, "job waits", "jobs wait"), job, one.worker.view()),
        .next = "look at the holders, and cancel who hangs",
        .command = "millrace limit holders " + called.word,
        .figures = {{"newest_slot_age", in_ms(stands), "ms", in_ms(judge.thresholds.stuck)},
                    {"in_use", static_cast<double>(slots), "slots", {}},
                    {"waiting", static_cast<double>(waiting), "jobs", {}}}};
  });
}

// A job whose cost is above the burst never starts.
void judge_costs(Judge& judge, const core::LimitView& gate, const std::vector<core::Job>& waiting) {
  const auto& rate = gate.limit.settings.bounds.rate;
  if (!rate) return;
  const std::uint32_t burst = rate->most_at_once();
  std::int64_t stuck = 0;
  std::uint32_t cost = 0;
  std::optional<JobId> one;
  for (const core::Job& job : waiting) {
    if (job.extras == nullptr) continue;
    for (const core::JobLimit& named : job.extras->limits) {
      if (named.name.view() != gate.limit.name.view() || named.cost <= burst) continue;
      ++stuck;
      cost = std::max(cost, named.cost);
      if (!one) one = job.id;
    }
  }
  if (!one) return;
  judge.found.add(kLimitCost, kBad, [&] {
    const Called called(gate);
    const std::string job = to_string(*one);
    return Finding{
        .about = {.job = job, .limit = called.name},
        .what = fmt::format("The limit {} never lets {} pass", called.name,
                            count_of(stuck, "job", "jobs")),
        .why = fmt::format("A start costs up to {}, and the burst is {}: job {} waits for ever.",
                           cost, burst, job),
        .next = "raise the burst",
        .command = fmt::format("millrace limit set {} --burst {}", called.word, cost),
        .figures = {{"cost", static_cast<double>(cost), "tokens", static_cast<double>(burst)},
                    {"waiting", static_cast<double>(stuck), "jobs", {}}}};
  });
}

}  // namespace millrace::service
