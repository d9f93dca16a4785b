#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/findings/facts.h"

namespace millrace::cli {
namespace {

// The number of workers and push targets that take jobs of each queue.
std::map<std::string, std::size_t> servers_of(const Facts& facts) {
  std::map<std::string, std::size_t> servers;
  for (const std::string& item : facts.workers) {
    const sdk::JsonView worker(item);
    if (text_of(worker, "state") != "active") continue;
    for (const sdk::JsonView queue : worker["queues"].elements()) {
      ++servers[queue.string().value_or("")];
    }
  }
  for (const std::string& item : facts.targets) {
    const sdk::JsonView target(item);
    if (truth_of(target, "paused")) continue;
    for (const sdk::JsonView queue : target["queues"].elements()) {
      ++servers[queue.string().value_or("")];
    }
  }
  return servers;
}

std::string reason_of(sdk::JsonView item, const char* name = "pause_reason") {
  const std::string reason = text_of(item, name);
  return reason.empty() ? reason : fmt::format("\"{}\". ", reason);
}

// What a queue's workers take.
enum class Served : std::uint8_t { kNot, kNoneOfItsJobs, kYes };

void judge_queue(sdk::JsonView queue, Served served, const Patience& patience, Findings& found) {
  const std::string name = text_of(queue, "name");
  const std::string word = shell_word(name);
  const std::int64_t ready = number_of(queue["counts"], "ready");
  const Duration age{number_of(queue, "oldest_ready_age_ms")};
  const std::string ready_for =
      fmt::format("{}, the oldest for {}.", count_of(ready, "job is ready", "jobs are ready"),
                  format_duration_for_people(age));
  if (truth_of(queue, "paused")) {
    found.push_back({"queue_paused", Severity::kWarn, fmt::format("Queue {} is paused", name),
                     reason_of(queue) + count_of(ready, "ready job waits.", "ready jobs wait."),
                     fmt::format("resume it: millrace queue resume {}", word)});
  } else if (ready > 0 && served == Served::kNot && age > patience.alone) {
    found.push_back({"queue_without_workers", Severity::kBad,
                     fmt::format("No worker takes jobs from {}", name), ready_for,
                     fmt::format("start a worker: millrace work -q {} -- COMMAND", word)});
  } else if (ready > 0 && served == Served::kYes && age > patience.late) {
    found.push_back(
        {"queue_behind", Severity::kWarn,
         fmt::format("Queue {} is behind by {}", name, format_duration_for_people(age)), ready_for,
         fmt::format("see what holds them: millrace queue get {}; or add workers", word)});
  }
  const auto most = queue["settings"]["max_ready"].integer();
  if (most && ready >= *most) {
    found.push_back(
        {"queue_full", Severity::kBad, fmt::format("Queue {} is full", name),
         fmt::format("It refuses new jobs at {} ready ones (max_ready).", *most),
         "add workers, or raise the bound: millrace queue set " + word + " --max-ready N"});
  }
}

}  // namespace

void judge_queues(const Facts& facts, const Patience& patience, Findings& found) {
  const auto servers = servers_of(facts);
  std::size_t with_work = 0, paused = 0;
  for (const std::string& item : facts.queues) {
    const sdk::JsonView queue(item);
    if (number_of(queue["counts"], "ready") == 0) continue;
    ++with_work;
    if (truth_of(queue, "paused")) ++paused;
  }
  if (with_work > 0 && with_work == paused) {
    found.push_back({"all_paused", Severity::kBad, "Every queue with ready jobs is paused",
                     fmt::format("No job starts, in {}.",
                                 count_of(static_cast<std::int64_t>(paused), "queue", "queues")),
                     "resume them: millrace queue resume NAME"});
  }
  for (const std::string& item : facts.queues) {
    const sdk::JsonView queue(item);
    const std::string name = text_of(queue, "name");
    // The finding about its untaken jobs explains why it is behind.
    const bool is_explained = std::ranges::any_of(
        facts.untaken, [&](const auto& untaken) { return untaken.queue == name && untaken.all; });
    const Served served = !servers.contains(name) ? Served::kNot
                          : is_explained          ? Served::kNoneOfItsJobs
                                                  : Served::kYes;
    judge_queue(queue, served, patience, found);
  }
}

void judge_workers(const Facts& facts, const Patience& patience, Findings& found) {
  for (const std::string& item : facts.workers) {
    const sdk::JsonView worker(item);
    const std::size_t holds = worker["running"].elements().size();
    const auto seen = time_of(worker, "last_seen_at");
    if (holds == 0 || !seen || facts.now - *seen <= patience.silent) continue;
    const std::string id = text_of(worker, "id");
    found.push_back(
        {"worker_silent", Severity::kBad,
         fmt::format("Worker {} has not been heard of for {}", id,
                     format_duration_for_people(facts.now - *seen)),
         fmt::format("It holds {}, which come back when their leases run out.",
                     count_of(static_cast<std::int64_t>(holds), "job", "jobs")),
         fmt::format("look whether its process lives and reaches the server{}",
                     text_of(worker, "host").empty() ? "" : ", on " + text_of(worker, "host"))});
  }
}

void judge_gates(const Facts& facts, Findings& found) {
  const auto judge_gate = [&](sdk::JsonView gate, bool of_type) {
    const std::string kind = of_type ? "Type" : "Limit";
    const std::string name = text_of(gate, of_type ? "type" : "name");
    const std::string word = shell_word(name);
    const std::int64_t waiting = number_of(gate, "waiting");
    const std::int64_t in_use = number_of(gate, "in_use");
    const auto bound = gate["concurrency"].integer();
    if (truth_of(gate, "paused")) {
      found.push_back({"gate_paused", Severity::kWarn, fmt::format("{} {} is paused", kind, name),
                       reason_of(gate) +
                           count_of(waiting, "ready job must pass it.", "ready jobs must pass it."),
                       of_type
                           ? fmt::format("set its gate without --pause: millrace type set {}", word)
                           : fmt::format("resume it: millrace limit resume {}", word)});
    } else if (waiting > 0 && bound && !truth_of(gate, "per_key") && in_use >= *bound) {
      found.push_back({"gate_full", Severity::kWarn, fmt::format("{} {} is full", kind, name),
                       fmt::format("{} of {} in use, and {} for it.", in_use, *bound,
                                   count_of(waiting, "job waits", "jobs wait")),
                       of_type ? fmt::format("raise its bound: millrace type set {}", word)
                               : fmt::format("see who holds it: millrace limit holders {}", word)});
    }
  };
  for (const std::string& item : facts.limits) judge_gate(sdk::JsonView(item), false);
  for (const std::string& item : facts.types) judge_gate(sdk::JsonView(item), true);
}

void judge_schedules(const Facts& facts, const Patience& patience, Findings& found) {
  for (const std::string& item : facts.schedules) {
    const sdk::JsonView schedule(item);
    const std::string name = text_of(schedule, "name");
    const std::string word = shell_word(name);
    const std::string state = text_of(schedule, "state");
    const auto instants = schedule["next"].elements();
    const auto next =
        instants.empty() ? std::nullopt : parse_rfc3339(instants.front().string().value_or(""));
    if (state == "broken") {
      const std::string error = text_of(schedule, "error");
      found.push_back({"schedule_broken", Severity::kBad,
                       fmt::format("Schedule {} is broken", name),
                       error.empty() ? "It can't know its instants." : error + ".",
                       fmt::format("set it anew: millrace schedule set {}", word)});
    } else if (state == "paused") {
      const std::string reason = reason_of(schedule, "reason");
      found.push_back({"schedule_paused", Severity::kWarn,
                       fmt::format("Schedule {} is paused", name),
                       reason + "It makes no jobs until it is resumed.",
                       fmt::format("resume it: millrace schedule resume {}", word)});
    } else if (state == "ended" || (state == "active" && !next)) {
      found.push_back(
          {"schedule_ended", Severity::kNote, fmt::format("Schedule {} never fires again", name),
           "Its time is over, or its rule has no instant left.",
           fmt::format("delete it, or give it another rule: millrace schedule set {}", word)});
    } else if (state == "active" && facts.now - *next > patience.late) {
      found.push_back({"schedule_late", Severity::kBad,
                       fmt::format("Schedule {} is late by {}", name,
                                   format_duration_for_people(facts.now - *next)),
                       "The server did not make the job of an instant that is past.",
                       "look whether the server keeps up: millrace check server"});
    }
  }
}

void judge_targets(const Facts& facts, Findings& found) {
  for (const std::string& item : facts.targets) {
    const sdk::JsonView target(item);
    const std::string name = text_of(target, "name");
    const std::string word = shell_word(name);
    if (truth_of(target, "paused")) {
      found.push_back({"push_paused", Severity::kWarn,
                       fmt::format("Push target {} is paused", name),
                       reason_of(target) + "No calls are made.",
                       fmt::format("resume it: millrace push-target resume {}", word)});
    } else if (text_of(target["health"], "breaker") == "open") {
      found.push_back({"push_failing", Severity::kBad,
                       fmt::format("The receiver of push target {} fails", name),
                       fmt::format("{} failures in a row; it is called again from time to time.",
                                   number_of(target["health"], "failures_in_a_row")),
                       fmt::format("see its answers: millrace push-target get {}", word)});
    }
  }
}

void judge_failures(const Facts& facts, Findings& found) {
  constexpr std::int64_t kFew = 20;     // fewer attempts say little
  constexpr std::int64_t kOneInSo = 5;  // one in this many attempts fails
  const auto sum = [](sdk::JsonView column) {
    std::int64_t all = 0;
    for (const sdk::JsonView value : column.elements()) all += value.integer().value_or(0);
    return all;
  };
  for (const sdk::JsonView group : sdk::JsonView(facts.by_type)["groups"].elements()) {
    const std::string type = text_of(group, "type");
    if (type.empty()) continue;
    const std::int64_t dead = sum(group["dead"]);
    const std::int64_t failed = sum(group["failed"]);
    const std::int64_t ended = sum(group["succeeded"]) + failed;
    if (dead == 0 && (ended < kFew || failed * kOneInSo < ended)) continue;
    found.push_back(
        {dead > 0 ? "type_dies" : "type_fails", dead > 0 ? Severity::kBad : Severity::kWarn,
         dead > 0 ? fmt::format("{} of type {} died", count_of(dead, "job", "jobs"), type)
                  : fmt::format("Jobs of type {} fail", type),
         fmt::format("{} % of their attempts failed in the last {}.",
                     100 * failed / std::max<std::int64_t>(1, ended),
                     format_duration_for_people(kFailureWindow)),
         fmt::format("see their errors: millrace error list -t {}", shell_word(type))});
  }
}

void judge_readiness(const Facts& facts, Findings& found) {
  for (const sdk::JsonView check : sdk::JsonView(facts.readiness)["checks"].elements()) {
    if (truth_of(check, "ok")) continue;
    const std::string detail = text_of(check, "detail");
    found.push_back({"check_fails", Severity::kBad,
                     fmt::format("The server's check \"{}\" fails", text_of(check, "name")),
                     detail.empty() ? "The server gives no detail." : detail + ".",
                     "look into the server's log"});
  }
}

}  // namespace millrace::cli
