// For tests: a scenario with schedules. A test counts time in seconds from the scenario's start. It
// acts as the engine: it names the due instants and the job of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scenario.h"

namespace millrace::core {

class ScheduleScenario : public Scenario {
 public:
  using Scenario::Scenario;

  static Time at(std::int64_t second) { return time_from_ms(1'700'000'000'000 + second * 1'000); }

  // --- Actions of owners.
  static ScheduleSpec every_minute(OverlapPolicy overlap = OverlapPolicy::kAllow) {
    ScheduleSpec spec;
    spec.cron = SharedBytes("* * * * *");
    spec.timezone = SharedBytes("UTC");
    spec.job = SharedBytes("a submission");
    spec.queue = SharedBytes("mail");
    spec.overlap = overlap;
    return spec;
  }
  SetSchedule set_of(const std::string& name, ScheduleSpec spec = every_minute()) const {
    SetSchedule set;
    set.name = SharedBytes(name);
    set.spec = std::move(spec);
    set.incarnation = 7;
    set.wall = now();
    return set;
  }
  ScheduleReply schedules(Command command) {
    return std::get<ScheduleReply>(decide(std::move(command)));
  }
  ScheduleReply set(const std::string& name, ScheduleSpec spec = every_minute()) {
    return schedules(set_of(name, std::move(spec)));
  }
  ScheduleReply set(const std::string& name, OverlapPolicy overlap) {
    return set(name, every_minute(overlap));
  }
  ScheduleReply pause(const std::string& name, const std::string& reason = "") {
    return schedules(PauseSchedule{SharedBytes(name), SharedBytes(reason)});
  }
  ScheduleReply resume(const std::string& name) {
    return schedules(ResumeSchedule{SharedBytes(name), now()});
  }
  ScheduleReply remove_schedule(const std::string& name) {
    return schedules(DeleteSchedule{SharedBytes(name), {}});
  }
  ScheduleReply get(const std::string& name) {
    GetSchedules get;
    get.name = SharedBytes(name);
    return schedules(std::move(get));
  }
  const Schedule& schedule(const std::string& name = "nightly") {
    const Schedule* const found = machine().schedule(name);
    if (found != nullptr) return *found;
    static const Schedule kNone;
    ADD_FAILURE() << "there is no schedule " << name;
    return kNone;
  }
  const ScheduleProgress& progress(const std::string& name = "nightly") {
    return schedule(name).progress;
  }

  // --- The engine's role.
  static Firing::Instant instant(const std::string& job, std::int64_t second,
                                 const std::string& queue = "mail") {
    Firing::Instant instant;
    instant.at = at(second);
    instant.job = id(job);
    instant.spec = spec(job, queue);
    instant.spec.lease = Duration{3'600'000};
    return instant;
  }
  // An instant whose job lies on another shard: this shard has it in the outbox as "<job>-box".
  static Firing::Instant boxed(const std::string& job, std::int64_t second) {
    Firing::Instant boxed = instant(job, second);
    boxed.spec.id = id(job + "-box");
    boxed.spec.queue = SharedBytes("outbox");
    return boxed;
  }
  // An instant whose workflow enters the outbox as "<workflow>-box".
  static Firing::Instant workflow(const std::string& workflow, std::int64_t second) {
    Firing::Instant instant = boxed(workflow, second);
    instant.workflow = true;
    return instant;
  }
  Firing firing(const std::string& name, std::vector<Firing::Instant> instants,
                std::optional<std::int64_t> next) {
    Firing firing;
    firing.name = SharedBytes(name);
    firing.version = schedule(name).version;
    firing.wall = now();
    firing.instants = std::move(instants);
    if (next) firing.next = firing.due = at(*next);
    return firing;
  }
  // Waits until `second` and handles that instant of "nightly"; the next one is a minute later.
  void fire_at(std::int64_t second, const std::string& job) {
    wait_until(second);
    fire(firing("nightly", {instant(job, second)}, second + 60));
  }
  // Fires the waiting instant of `second`; the next instant is a minute after the last.
  void fire_waiting(const std::string& job, std::int64_t second) {
    Firing waited = firing("nightly", {}, {});
    waited.waited = instant(job, second);
    waited.next = progress().next;
    waited.due = waited.next;
    fire(waited);
  }
  void wait_until(std::int64_t second) { wait_ms((at(second) - now()).count()); }

  bool is_due(const std::string& name = "nightly") {
    for (const SharedBytes& due : machine().due_schedules(now(), 10)) {
      if (due.view() == name) return true;
    }
    return false;
  }

  // The outcomes of instants, oldest first, as lines: "60 submitted a".
  std::vector<std::string> runs(const std::string& name = "nightly") {
    std::vector<std::string> lines;
    for (const ScheduleRunRow& row : get(name).runs) {
      const ScheduleRun& run = row.run;
      std::string line = std::to_string((run.scheduled_at - at(0)).count() / 1'000);
      line += " " + std::string(name_of(run.outcome));
      if (run.job != kNoJob) line += " " + Scenario::name(run.job);
      if (run.count != 1) line += " x" + std::to_string(run.count);
      lines.push_back(std::move(line));
    }
    return lines;
  }
  // Whether the last step caused an event.
  bool did_nothing() const { return journal().back().events.empty(); }
};

}  // namespace millrace::core
