// Finds jobs without progress: jobs held by a gate, taken by no worker, or failing again and again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/doctor/look.h"

namespace millrace::cli {
namespace {

constexpr std::int64_t kManyDead = 3;
constexpr std::size_t kManyRuns = 3;  // newest runs, all without a job

std::string error_text(sdk::JsonView group) {
  constexpr std::size_t kMostBytes = 120;
  const std::string message = text_of(group, "message");
  std::string text = text_of(group, "error_type");
  if (!message.empty()) text += ": " + message;
  if (text.size() > kMostBytes) text = text.substr(0, kMostBytes) + "...";
  return text;
}

// "type mail", "types mail, sms and 3 others"
std::string types_text(const std::set<std::string>& types) {
  constexpr std::size_t kMostNamed = 3;
  std::string text = types.size() == 1 ? "type" : "types";
  std::size_t named = 0;
  for (const std::string& type : types) {
    if (named == kMostNamed) break;
    text += fmt::format("{} {}", named++ == 0 ? "" : ",", type);
  }
  if (types.size() > named) text += fmt::format(" and {} others", types.size() - named);
  return text;
}
std::string types_text(sdk::JsonView group) {
  std::set<std::string> types;
  for (const sdk::JsonView type : group["types"].elements()) {
    types.insert(type.string().value_or(""));
  }
  return types_text(types);
}

// By type: the job that has lost the most workers.
void judge_crashes(const Facts::Items& jobs, Findings& found) {
  struct Worst {
    std::string job;
    std::int64_t crashes = 0;
  };
  std::map<std::string, Worst> by_type;
  for (const std::string& item : jobs) {
    const sdk::JsonView job(item);
    Worst& worst = by_type[text_of(job, "type")];
    const std::int64_t crashes = number_of(job, "crashes");
    if (crashes > worst.crashes) worst = {text_of(job, "id"), crashes};
  }
  for (const auto& [type, worst] : by_type) {
    if (worst.crashes < kManyCrashes) continue;
    found.push_back(
        {"poison_crashes", Severity::kBad,
         fmt::format("Jobs of type {} lose their workers again and again", type),
         fmt::format("Job {} took {} leases with it. It may kill its worker, or take longer than "
                     "its lease without a heartbeat.",
                     worst.job, worst.crashes),
         fmt::format("look at it, and bound it: millrace job get {}; max_crashes of the queue",
                     worst.job)});
  }
}

void judge_holders(const std::pair<std::string, Facts::Items>& gate, Time now,
                   const Patience& patience, Findings& found) {
  const sdk::JsonView limit(gate.first);
  std::optional<Time> newest;
  std::string holder;
  for (const std::string& item : gate.second) {
    const sdk::JsonView view(item);
    const auto since = time_of(view, "since");
    if (!since) continue;
    if (!newest || *since > *newest) newest = since;
    if (holder.empty()) {
      holder = fmt::format("job {} on worker {}", text_of(view, "id"), text_of(view, "worker"));
    }
  }
  if (!newest || now - *newest < patience.stuck) return;
  const std::string name = text_of(limit, "name");
  found.push_back(
      {"limit_stuck", Severity::kBad, fmt::format("Nothing passes the limit {}", name),
       fmt::format("All {} were taken {} ago or earlier and none came free since; {} for one. One "
                   "holder is {}.",
                   count_of(static_cast<std::int64_t>(gate.second.size()), "slot", "slots"),
                   format_duration_for_people(now - *newest),
                   count_of(number_of(limit, "waiting"), "job waits", "jobs wait"), holder),
       fmt::format("look at the holders, and cancel who hangs: millrace limit holders {}",
                   shell_word(name))});
}

// A job whose cost is above the burst never starts.
void judge_costs(const std::pair<std::string, Facts::Items>& gate, Findings& found) {
  const sdk::JsonView limit(gate.first);
  const std::string name = text_of(limit, "name");
  const sdk::JsonView rate = limit["rate"];
  const std::int64_t burst = rate["burst"].integer().value_or(number_of(rate, "limit"));
  std::int64_t stuck = 0, cost = 0;
  std::string id;
  for (const std::string& item : gate.second) {
    const sdk::JsonView job(item);
    for (const sdk::JsonView named : job["limits"].elements()) {
      if (text_of(named, "name") != name) continue;
      const std::int64_t its = named["cost"].integer().value_or(1);
      if (its <= burst) continue;
      ++stuck;
      cost = std::max(cost, its);
      if (id.empty()) id = text_of(job, "id");
    }
  }
  if (stuck == 0) return;
  found.push_back(
      {"limit_cost", Severity::kBad,
       fmt::format("The limit {} never lets {} pass", name, count_of(stuck, "job", "jobs")),
       fmt::format("A start costs up to {}, and the burst is {}: job {} waits for ever.", cost,
                   burst, id),
       fmt::format("raise the burst: millrace limit set {} --burst {}", shell_word(name), cost)});
}

}  // namespace

void judge_stuck(const DoctorFacts& facts, const Patience& patience, Findings& found) {
  for (const auto& gate : facts.holders) judge_holders(gate, facts.overview.now, patience, found);
  for (const auto& gate : facts.waiting) judge_costs(gate, found);
}

void judge_poison(const DoctorFacts& facts, Findings& found) {
  for (const auto& [item, jobs] : facts.tried) {
    const sdk::JsonView group(item);
    if (text_of(group, "error_type") == kLostLease) {
      judge_crashes(jobs, found);
      continue;
    }
    if (jobs.empty()) continue;
    const auto tried = static_cast<std::int64_t>(jobs.size());
    std::set<std::string> types;
    sdk::JsonView worst(jobs.front());
    for (const std::string& each : jobs) {
      const sdk::JsonView job(each);
      types.insert(text_of(job, "type"));
      if (number_of(job, "attempt") > number_of(worst, "attempt")) worst = job;
    }
    found.push_back(
        {"poison_retries", Severity::kWarn,
         fmt::format("{} of {} {} of one error again and again", count_of(tried, "job", "jobs"),
                     types_text(types), tried == 1 ? "fails" : "fail"),
         fmt::format("{}. Job {} is at attempt {}.", error_text(group), text_of(worst, "id"),
                     number_of(worst, "attempt")),
         fmt::format("mend the cause; since when, and in which version: millrace error get {}",
                     text_of(group, "id"))});
  }
  for (const std::string& item : facts.groups) {
    const sdk::JsonView group(item);
    const std::int64_t dead = number_of(group, "dead");
    if (dead < kManyDead) continue;
    found.push_back(
        {"poison_dead", Severity::kWarn,
         fmt::format("{} of {} died of one error", count_of(dead, "job", "jobs"),
                     types_text(group)),
         error_text(group) + ".",
         fmt::format("mend the cause, then retry one as a canary: millrace error retry {}",
                     text_of(group, "id"))});
  }
}

void judge_runs(const DoctorFacts& facts, Findings& found) {
  for (const auto& [name, answer] : facts.runs) {
    const sdk::JsonView runs(answer);
    std::size_t refused = 0, skipped = 0, seen = 0;
    std::string error;
    for (const sdk::JsonView run : runs["items"].elements()) {
      if (seen++ == kManyRuns) break;
      const std::string outcome = text_of(run, "outcome");
      refused += outcome == "refused" ? 1 : 0;
      skipped += outcome == "skipped_overlap" || outcome == "skipped_missed" ? 1 : 0;
      if (error.empty()) error = text_of(run, "error");
    }
    const std::string word = shell_word(name);
    if (refused > 0 && (refused == std::min(seen, kManyRuns) || refused == kManyRuns)) {
      found.push_back({"schedule_refused", Severity::kBad,
                       fmt::format("The jobs of schedule {} are refused", name),
                       error.empty() ? "Its newest instants made no job." : error + ".",
                       fmt::format("see its instants: millrace schedule runs {}", word)});
    } else if (skipped == kManyRuns) {
      found.push_back({"schedule_skips", Severity::kWarn,
                       fmt::format("Schedule {} skips its instants", name),
                       "The job before still runs or waits, or the instants were missed.",
                       fmt::format("see why: millrace schedule runs {}", word)});
    }
  }
}

}  // namespace millrace::cli
