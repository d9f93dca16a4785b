// Schedules, push targets and tokens.
#include <fmt/format.h>

#include <algorithm>

#include "api/refusal.h"
#include "service/findings/judge.h"
#include "service/findings/words.h"

namespace millrace::service {
namespace {

using api::Finding;
using enum api::FindingCode;
using enum api::Severity;

constexpr std::size_t kManyRuns = 3;  // the newest, all without a job

Finding about_schedule(std::string_view name, std::string what, std::string why, std::string next,
                       std::string_view command) {
  return {.about = {.schedule = std::string(name)},
          .what = std::move(what),
          .why = std::move(why),
          .next = std::move(next),
          .command = fmt::format("millrace schedule {} {}", command, shell_word(name))};
}

// `next`: an instant that is past.
void judge_late(Judge& judge, std::string_view name, Time next) {
  const Duration late = judge.now - next;
  if (late <= judge.thresholds.late) return;
  judge.found.add(kScheduleLate, kBad, [&] {
    return Finding{
        .about = {.schedule = std::string(name)},
        .what = fmt::format("Schedule {} is late by {}", name, format_duration_for_people(late)),
        .why = "The server did not make the job of an instant that is past.",
        .next = "look whether the server keeps up",
        .command = "millrace check server",
        .figures = {{"lateness", in_ms(late), "ms", in_ms(judge.thresholds.late)}}};
  });
}

}  // namespace

void judge_schedule(Judge& judge, const core::Schedule& schedule) {
  const std::string_view name = schedule.name.view();
  const core::ScheduleProgress& progress = schedule.progress;
  switch (core::state_of(schedule)) {
    case core::ScheduleState::kBroken:
      return judge.found.add(kScheduleBroken, kBad, [&] {
        return about_schedule(name, fmt::format("Schedule {} is broken", name),
                              std::string(progress.broken.view()) + ".", "set it anew", "set");
      });
    case core::ScheduleState::kPaused:
      return judge.found.add(kSchedulePaused, kWarn, [&] {
        return about_schedule(
            name, fmt::format("Schedule {} is paused", name),
            quoted_reason(schedule.pause_reason.view()) + "It makes no jobs until it is resumed.",
            "resume it", "resume");
      });
    case core::ScheduleState::kEnded:
      return judge.found.add(kScheduleEnded, kNote, [&] {
        return about_schedule(name, fmt::format("Schedule {} never fires again", name),
                              "Its time is over, or its rule has no instant left.",
                              "delete it, or give it another rule", "set");
      });
    case core::ScheduleState::kActive:
      if (progress.planned && progress.due) judge_late(judge, name, *progress.due);
  }
}

void judge_runs(Judge& judge, std::string_view schedule,
                const std::vector<core::ScheduleRun>& runs) {
  const std::size_t seen = std::min(runs.size(), kManyRuns);
  std::size_t refused = 0;
  std::size_t skipped = 0;
  std::string_view error;
  for (const core::ScheduleRun& run : std::span(runs).first(seen)) {
    refused += run.outcome == core::RunOutcome::kRefused ? 1 : 0;
    skipped += run.outcome == core::RunOutcome::kSkippedOverlap ||
                       run.outcome == core::RunOutcome::kSkippedMissed
                   ? 1
                   : 0;
    if (error.empty()) error = api::sentence_of(run.error);
  }
  const auto figures = [&](std::size_t count) {
    return std::vector<api::Figure>{
        {"runs_without_job", static_cast<double>(count), "runs", static_cast<double>(seen)}};
  };
  if (seen > 0 && refused == seen) {
    judge.found.add(kScheduleRefused, kBad, [&] {
      Finding made = about_schedule(
          schedule, fmt::format("The jobs of schedule {} are refused", schedule),
          error.empty() ? "Its newest instants made no job." : std::string(error) + ".",
          "see its instants", "runs");
      made.figures = figures(refused);
      return made;
    });
  } else if (skipped == kManyRuns) {
    judge.found.add(kScheduleSkips, kWarn, [&] {
      Finding made = about_schedule(
          schedule, fmt::format("Schedule {} skips its instants", schedule),
          "The job before still runs or waits, or the instants were missed.", "see why", "runs");
      made.figures = figures(skipped);
      return made;
    });
  }
}

void judge_target(Judge& judge, const PushTargetAnswer& target) {
  const std::string name(target.entry.name.view());
  if (target.target.paused) {
    judge.found.add(kPushPaused, kWarn, [&] {
      return Finding{.about = {.push_target = name},
                     .what = fmt::format("Push target {} is paused", name),
                     .why = quoted_reason(target.target.pause_reason) + "No calls are made.",
                     .next = "resume it",
                     .command = "millrace push-target resume " + shell_word(name)};
    });
  } else if (target.health && target.health->breaker == "open") {
    judge.found.add(kPushFailing, kBad, [&] {
      const int failures = target.health->failures_in_a_row;
      return Finding{
          .about = {.push_target = name},
          .what = fmt::format("The receiver of push target {} fails", name),
          .why = fmt::format("{} in a row; it is called again from time to time.",
                             count_of(failures, "failure", "failures")),
          .next = "see its answers",
          .command = "millrace push-target get " + shell_word(name),
          .figures = {{"failures_in_a_row", static_cast<double>(failures), "failures", {}}}};
    });
  }
}

void judge_token(Judge& judge, const api::TokenInfo& token) {
  if (!token.expires_at) return;
  const Duration left = *token.expires_at - judge.now;
  if (left >= judge.thresholds.token) return;
  const std::vector<api::Figure> figures = {
      {"left", in_ms(left), "ms", in_ms(judge.thresholds.token)}};
  if (left <= Duration{0}) {
    return judge.found.add(kTokenExpires, kNote, [&] {
      return Finding{.about = {.token = token.id},
                     .what = fmt::format("Token {} has expired", token.name),
                     .why = "Who has it is refused.",
                     .next = "revoke it",
                     .command = "millrace token revoke " + shell_word(token.id),
                     .figures = figures};
    });
  }
  judge.found.add(kTokenExpires, kWarn, [&] {
    return Finding{
        .about = {.token = token.id},
        .what = fmt::format("Token {} expires in {}", token.name, format_duration_for_people(left)),
        .why = "From then on whoever has it is refused.",
        .next = "make another and hand it out",
        .command = "millrace token create",
        .figures = figures};
  });
}

}  // namespace millrace::service
