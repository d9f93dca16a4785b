// Schedules: what is due by the wall clock is planned and handed to the machine.
#include <algorithm>
#include <utility>

#include "engine/schedules/planner.h"
#include "engine/shard/outbox.h"
#include "engine/shard/shard_impl.h"

namespace millrace::engine {
namespace {

Zones& zones_of(const ShardOptions& options) {
  return options.zones == nullptr ? utc_alone() : *options.zones;
}

}  // namespace

// A job must not be older than its instant: the shard's time may be a little behind.
Time Shard::Impl::wall() {
  if (options_.time == nullptr) return now_;
  return std::min(now_, believed_.at(options_.time->wall(), options_.time->since_boot()));
}

// Fills in what only this shard knows.
void Shard::Impl::stamp(core::Command& command) {
  if (auto* set = std::get_if<core::SetSchedule>(&command)) {
    set->wall = wall_;
  } else if (auto* resume = std::get_if<core::ResumeSchedule>(&command)) {
    resume->wall = wall_;
  } else if (auto* note = std::get_if<core::NoteScheduleRun>(&command)) {
    const core::Schedule* const schedule = machine_->schedule(note->name.view());
    note->box = core::kNoJob;
    if (schedule == nullptr) return;
    const std::string_view queue = schedule->spec.queue.view();
    if (shard_of(queue, options_.shards) == options_.shard) return;
    note->box = outbox_id_of(note->job, queue);
  }
}

void Shard::Impl::fire_schedules() {
  wall_ = wall();
  schedules_behind_ = false;
  if (machine_->schedules() == 0) return;
  std::erase_if(elsewhere_, [&](const auto& entry) {
    const core::Schedule* const schedule = machine_->schedule(entry.first);
    return schedule == nullptr || schedule->progress.last_job != entry.second.job ||
           now_ >
               std::max({entry.second.asked_at, entry.second.told_at, entry.second.awaited_until}) +
                   kAwaitsEnd;
  });
  replan();
  ask_of_waiting();
  // Those that can't be fired yet stay due.
  const auto names = machine_->due_schedules(wall_, kMaxFiringsPerStep + elsewhere_.size());
  schedules_behind_ = names.size() > kMaxFiringsPerStep;
  for (const SharedBytes& name : names) {
    if (row_is_full()) {
      schedules_behind_ = true;
      return;
    }
    fire(name);
  }
}

void Shard::Impl::fire(const SharedBytes& name) {
  const core::Schedule* const schedule = machine_->schedule(name.view());
  core::Firing firing =
      plan_firing(*schedule, zones_of(options_), wall_, options_.shard, options_.shards);
  if (!knows_newest(*schedule, firing)) return;
  const bool full = machine_->unprojected() > options_.max_unprojected ||
                    machine_->bytes_held() > options_.max_bytes_held ||
                    memory_room_ == MemoryRoom::kNone;
  machine_->fire(firing, now_, full ? core::Admission::kClosed : core::Admission::kOpen, events_);
  measure();
  const core::Schedule* const fired = machine_->schedule(name.view());
  const bool more = fired->progress.due && *fired->progress.due <= wall_;
  if (more) schedules_behind_ = true;
}

// An overlap policy needs to know whether the newest job has ended.
bool Shard::Impl::knows_newest(const core::Schedule& schedule, core::Firing& firing) {
  const core::ScheduleProgress& progress = schedule.progress;
  const bool matters = !firing.instants.empty() || firing.waited;
  if (!matters || progress.last_box == core::kNoJob || machine_->lives(progress.last_box))
    return true;
  if (schedule.spec.overlap == core::OverlapPolicy::kAllow) return true;
  JobElsewhere& known = elsewhere_[std::string(schedule.name.view())];
  if (known.job != progress.last_job) known = {.job = progress.last_job};
  if (known.ended) {
    firing.newest_ended = true;
    return true;
  }
  if (known.told_at != Time{} && now_ - known.told_at < kAskAgainAfter) return true;
  if (now_ - known.asked_at < kAskAgainAfter) return false;
  known.asked_at = now_;
  questions_.push_back({schedule.name, progress.last_job, Duration{0}, false});
  return false;
}

// Instants that wait for the end of a job on another shard.
void Shard::Impl::ask_of_waiting() {
  for (const SharedBytes& name : machine_->schedules_waiting_elsewhere()) {
    const core::Schedule& schedule = *machine_->schedule(name.view());
    const core::ScheduleProgress& progress = schedule.progress;
    if (machine_->lives(progress.last_box)) continue;  // not even there yet
    JobElsewhere& known = elsewhere_[std::string(name.view())];
    if (known.job != progress.last_job) known = {.job = progress.last_job};
    if (known.ended) {
      fire(name);
    } else if (now_ >= known.awaited_until) {
      known.awaited_until = now_ + kAwaitsEnd + kAskAgainAfter;
      questions_.push_back({name, progress.last_job, kAwaitsEnd, progress.replaces});
    }
  }
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const TellOfJob& told) {
  const auto known = elsewhere_.find(told.schedule.view());
  if (known != elsewhere_.end() && known->second.job == told.job) {
    known->second.ended = told.ended;
    known->second.told_at = now_;
    schedules_behind_ = true;
  }
  answer(reply_to, std::monostate{});
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const AwaitJobQuestions& wait) {
  if (!may_wait()) return answer(reply_to, no_hints_here());
  question_waits_.add(reply_to, add_saturating(now_, wait.wait), Seq{});
}

void Shard::Impl::hand_out_questions() {
  if (questions_.empty() || question_waits_.all().empty()) return;
  const auto number = question_waits_.all().front();
  answer(question_waits_.take(number).reply_to, JobQuestions{std::exchange(questions_, {})});
}

// Newer data of time zones may move what was planned.
void Shard::Impl::replan() {
  if (options_.zones == nullptr) return;
  if (!replanning_) {
    std::string version = options_.zones->version();
    if (version == zones_seen_) return;
    zones_seen_ = std::move(version);
    replanned_until_ = {};
    replanning_ = true;
  }
  std::vector<core::Event> none;
  core::GetSchedules page;
  page.after = replanned_until_;
  page.limit = kReplansPerStep;
  const core::Reply reply = machine_->decide(page, now_, Prefetch{}, core::Admission::kOpen, none);
  const auto& schedules = std::get<core::ScheduleReply>(reply);
  for (const core::Schedule& schedule : schedules.schedules) {
    const core::ScheduleProgress& progress = schedule.progress;
    if (schedule.paused || !progress.planned || progress.zone_version.empty() ||
        progress.zone_version.view() >= zones_seen_) {
      continue;
    }
    // What is due by the old data is fired by it.
    if (progress.due && *progress.due <= wall_) continue;
    core::Schedule unplanned = schedule;
    unplanned.progress.planned = false;
    const core::Firing firing =
        plan_firing(unplanned, *options_.zones, wall_, options_.shard, options_.shards);
    if (firing.broken.empty() && firing.next == progress.next) continue;
    machine_->fire(firing, now_, core::Admission::kOpen, events_);
    measure();
  }
  replanned_until_ = schedules.next;
  replanning_ = !schedules.next.empty();
}

void Shard::Impl::count_runs(const core::EventBatch& batch) {
  for (const core::Event& event : batch.events) {
    const auto* const advanced = std::get_if<core::ScheduleAdvanced>(&event);
    if (advanced == nullptr) continue;
    for (const core::ScheduleRun& run : advanced->runs) {
      schedule_runs_.at(static_cast<std::size_t>(run.outcome)) += run.count;
    }
  }
}

std::optional<Time> Shard::Impl::next_schedule() const {
  if (schedules_behind_ || replanning_) return now_;
  std::optional<Time> next;
  if (const auto due = machine_->next_schedule(wall_)) next = now_ + (*due - wall_);
  if (!elsewhere_.empty()) {
    const Time again = now_ + kAskAgainAfter;
    if (!next || again < *next) next = again;
  }
  return next;
}

}  // namespace millrace::engine
