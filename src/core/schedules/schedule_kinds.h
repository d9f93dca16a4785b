// The kinds of commands about schedules: see kind.h.
#pragma once

#include "core/kind.h"
#include "core/reply.h"
#include "core/row_bytes.h"
#include "core/schedules/schedule_commands.h"

namespace millrace::core {

template <>
struct KindOf<SetSchedule>
    : Row<ScheduleReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnSchedule> {
  static constexpr std::string_view kName = "set schedule";
  static constexpr std::string_view kDone = "set";
  static void name(const SetSchedule& command, Named& named) {
    named.queue(command.spec.queue);
    named.all_queues(command.spec.queues);
    OnSchedule::name(command, named);
  }
  static std::size_t row_bytes(const SetSchedule& command) {
    return kRefBytes + bytes_of(command.spec);
  }
};

// The event holds the whole schedule, which the machine knows.
template <>
struct KindOf<PauseSchedule>
    : Row<ScheduleReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnSchedule> {
  static constexpr std::string_view kName = "pause schedule";
  static constexpr std::string_view kDone = "paused";
  static std::size_t row_bytes(const PauseSchedule& command) {
    return kMaxScheduleBytes + command.reason.size();
  }
};
template <>
struct KindOf<ResumeSchedule>
    : Row<ScheduleReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnSchedule> {
  static constexpr std::string_view kName = "resume schedule";
  static constexpr std::string_view kDone = "resumed";
  static std::size_t row_bytes(const ResumeSchedule&) { return kMaxScheduleBytes; }
};

template <>
struct KindOf<DeleteSchedule>
    : Row<ScheduleReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnSchedule> {
  static constexpr std::string_view kName = "delete schedule";
  static constexpr std::string_view kDone = "deleted";
  static std::size_t row_bytes(const DeleteSchedule&) { return kRefBytes; }
};

template <>
struct KindOf<NoteScheduleRun>
    : Row<ScheduleReply, Route::kByQueue, Effect::kWrites, Again::kNever, OnSchedule> {
  static constexpr std::string_view kName = "note a run of schedule";
  static std::size_t row_bytes(const NoteScheduleRun&) { return kRefBytes + 3 * kItemBytes; }
};

// The answer is checked instead of the names.
template <>
struct KindOf<GetSchedules>
    : Row<ScheduleReply, Route::kByQueue, Effect::kReads, Again::kAlways, Reading> {
  static constexpr std::string_view kName = "get schedules";
  static std::string_view routed_by(const GetSchedules& command) { return command.name.view(); }
};

}  // namespace millrace::core
