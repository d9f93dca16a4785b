// For tests: schedules, made-up zones, and clocks that the test sets.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "calendar/posix_rule.h"
#include "calendar/zone.h"
#include "core/schedules/schedule.h"
#include "engine/schedules/planner.h"
#include "engine/schedules/zones.h"
#include "engine/shard/shard_clock.h"

namespace millrace::engine {

class FakeZones final : public Zones {
 public:
  Result<std::shared_ptr<const calendar::Zone>> find(std::string_view name) override {
    const auto found = zones.find(name);
    if (found == zones.end()) return failure("no such zone: " + std::string(name));
    return std::make_shared<const calendar::Zone>(found->second);
  }
  std::string version() override { return release; }

  // Adds a zone whose clock never changes.
  void put(const std::string& name, std::chrono::seconds offset) {
    zones[name] = calendar::Zone(static_cast<std::int32_t>(offset.count()), {}, std::nullopt);
  }
  // Adds a zone by the footer of its file: "CET-1CEST,M3.5.0,M10.5.0/3".
  void put(const std::string& name, std::string_view rule) {
    const auto parsed = calendar::parse_posix_rule(rule);
    MILLRACE_CHECK(parsed.has_value());
    zones[name] = calendar::Zone(parsed->standard_s, {}, *parsed);
  }

  std::string release = "2026a";
  std::map<std::string, calendar::Zone, std::less<>> zones;
};

class FakeTime final : public TimeSource {
 public:
  Time wall() const override { return wall_; }
  std::chrono::nanoseconds since_boot() const override { return since_boot_; }
  void pass(Duration by) {
    wall_ += by;
    since_boot_ += by;
  }
  void leap(Duration by) { wall_ += by; }  // of the wall clock alone

 private:
  Time wall_ = time_from_ms(1'700'000'000'000);
  std::chrono::nanoseconds since_boot_ = std::chrono::hours(5);
};

inline Time at(std::string_view text) {
  const auto time = parse_rfc3339(text);
  MILLRACE_CHECK(time.has_value());
  return *time;
}

// A job in the form that schedules hold.
inline SharedBytes job_for(std::string_view queue, std::string_view payload = "1") {
  core::JobSpec spec;
  spec.queue = SharedBytes(queue);
  spec.type = SharedBytes("send");
  spec.payload = SharedBytes(payload);
  return template_of(std::move(spec));
}

inline core::ScheduleSpec cron_spec(std::string_view cron, std::string_view zone = "UTC") {
  core::ScheduleSpec spec;
  spec.cron = SharedBytes(cron);
  spec.timezone = SharedBytes(zone);
  spec.queue = SharedBytes("mail");
  spec.job = job_for("mail");
  return spec;
}
inline core::ScheduleSpec every_spec(Duration every) {
  core::ScheduleSpec spec = cron_spec("");
  spec.every = every;
  return spec;
}

// Every instant up to `done_until` has been handled.
inline core::Schedule schedule_of(core::ScheduleSpec spec, Time done_until,
                                  std::string_view name = "nightly") {
  core::Schedule schedule;
  schedule.name = SharedBytes(name);
  schedule.spec = std::move(spec);
  schedule.incarnation = 7;
  schedule.progress.done_until = done_until;
  return schedule;
}

// Applies a firing as the machine does if it refuses nothing.
inline void advance(core::Schedule& schedule, const core::Firing& firing) {
  core::ScheduleProgress& progress = schedule.progress;
  if (firing.missed > 0) {
    progress.done_until = firing.missed_until;
    progress.done_local = firing.missed_local;
  }
  for (const core::Firing::Instant& instant : firing.instants) {
    progress.done_until = instant.at;
    progress.done_local = instant.local;
  }
  progress.planned = firing.broken.empty();
  progress.next = firing.next;
  progress.due = firing.due;
  progress.zone_version = firing.zone_version;
  progress.broken = firing.broken;
}

}  // namespace millrace::engine
