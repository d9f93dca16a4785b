// Failures: by type, and by group of errors.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "service/findings/judge.h"
#include "service/findings/words.h"

namespace millrace::service {
namespace {

using api::Finding;
using enum api::FindingCode;
using enum api::Severity;

constexpr std::string_view kLostLease = "lease_expired";  // the error type of such attempts
constexpr std::int64_t kPercent = 100;

// The error type, and the message if the client may see it.
std::string error_text(const ErrorGroupAnswer& group) {
  constexpr std::size_t kMostBytes = 120;
  std::string text = group.group.error_type;
  if (!group.redacted && !group.group.message.empty()) text += ": " + group.group.message;
  if (text.size() <= kMostBytes) return text;
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // UTF-8
  return text.substr(0, end) + "...";
}

// "type mail", "types mail, sms and 3 others"
template <typename Types>
std::string types_text(const Types& types) {
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

std::int64_t sum(const engine::StatsGroup& group, engine::CountedEvent what) {
  const auto& column = group.columns[static_cast<std::size_t>(what)];
  return as_signed(std::accumulate(column.begin(), column.end(), std::uint64_t{0}));
}

// By type: the job that has lost the most workers.
void judge_crashes(Judge& judge, const ErrorGroupAnswer& group,
                   const std::vector<core::Job>& jobs) {
  std::map<std::string_view, const core::Job*> worst_of;
  for (const core::Job& job : jobs) {
    const core::Job*& worst = worst_of[job.type.view()];
    if (worst == nullptr || job.crashes > worst->crashes) worst = &job;
  }
  for (const auto& each : worst_of) {
    const core::Job* const worst = each.second;
    if (worst->crashes < judge.thresholds.poison_crashes) continue;
    judge.found.add(kPoisonCrashes, kBad, [&] {
      const std::string_view type = worst->type.view();
      const std::string id = to_string(worst->id);
      return Finding{
          .about = {.queue = std::string(worst->queue.view()),
                    .type = std::string(type),
                    .job = id,
                    .error_group = group.id},
          .what = fmt::format("Jobs of type {} lose their workers again and again", type),
          .why = fmt::format("Job {} took {} leases with it. It may kill its worker, or take "
                             "longer than its lease without a heartbeat.",
                             id, worst->crashes),
          .next = "bound it by max_crashes of its queue, and look at it",
          .command = "millrace job get " + id,
          .figures = {{"crashes", static_cast<double>(worst->crashes), "leases",
                       static_cast<double>(judge.thresholds.poison_crashes)}}};
    });
  }
}

}  // namespace

void judge_types(Judge& judge, const engine::StatsReply& by_type) {
  for (const engine::StatsGroup& group : by_type.groups) {
    if (group.name == engine::kOtherSeries) continue;
    const std::int64_t dead = sum(group, engine::CountedEvent::kDead);
    const std::int64_t failed = sum(group, engine::CountedEvent::kFailed);
    const std::int64_t ended = sum(group, engine::CountedEvent::kSucceeded) + failed;
    const api::FindingsQuery& at = judge.thresholds;
    const bool fails =
        ended >= at.failing_attempts && failed * kPercent >= ended * at.failing_percent;
    if (dead == 0 && !fails) continue;
    const std::int64_t percent = kPercent * failed / std::max<std::int64_t>(1, ended);
    const auto words = [&] {
      return Finding{.about = {.type = group.name},
                     .what = dead > 0 ? fmt::format("{} of type {} died",
                                                    count_of(dead, "job", "jobs"), group.name)
                                      : fmt::format("Jobs of type {} fail", group.name),
                     .why = fmt::format("{} % of their attempts failed in the last {}.", percent,
                                        format_duration_for_people(at.window)),
                     .next = "see their errors",
                     .command = "millrace error list -t " + shell_word(group.name),
                     .figures = {{"dead", static_cast<double>(dead), "jobs", 1},
                                 {"failed", static_cast<double>(percent), "percent",
                                  static_cast<double>(at.failing_percent)},
                                 {"ended", static_cast<double>(ended), "attempts",
                                  static_cast<double>(at.failing_attempts)},
                                 {"window", in_ms(at.window), "ms", {}}}};
    };
    if (dead > 0) {
      judge.found.add(kTypeDies, kBad, words);
    } else {
      judge.found.add(kTypeFails, kWarn, words);
    }
  }
}

void judge_dead(Judge& judge, const ErrorGroupAnswer& group) {
  const std::int64_t dead = as_signed(group.group.dead);
  if (dead < judge.thresholds.poison_dead) return;
  judge.found.add(kPoisonDead, kWarn, [&] {
    return Finding{.about = {.error_group = group.id},
                   .what = fmt::format("{} of {} died of one error", count_of(dead, "job", "jobs"),
                                       types_text(group.group.types)),
                   .why = error_text(group) + ".",
                   .next = "mend the cause, then retry one as a canary",
                   .command = "millrace error retry " + group.id,
                   .figures = {{"dead", static_cast<double>(dead), "jobs",
                                static_cast<double>(judge.thresholds.poison_dead)}}};
  });
}

bool is_of_lost_leases(const ErrorGroupAnswer& group) {
  return group.group.error_type == kLostLease;
}

void judge_tried(Judge& judge, const ErrorGroupAnswer& group, const std::vector<core::Job>& jobs) {
  if (is_of_lost_leases(group)) return judge_crashes(judge, group, jobs);
  if (jobs.empty()) return;
  judge.found.add(kPoisonRetries, kWarn, [&] {
    std::set<std::string> types;
    for (const core::Job& job : jobs) types.emplace(job.type.view());
    const core::Job& worst = std::ranges::max(jobs, {}, &core::Job::attempt);
    const auto tried = static_cast<std::int64_t>(jobs.size());
    const std::string id = to_string(worst.id);
    return Finding{
        .about = {.job = id, .error_group = group.id},
        .what =
            fmt::format("{} of {} {} of one error again and again", count_of(tried, "job", "jobs"),
                        types_text(types), tried == 1 ? "fails" : "fail"),
        .why = fmt::format("{}. Job {} is at attempt {}.", error_text(group), id, worst.attempt),
        .next = "mend the cause; since when, and in which version",
        .command = "millrace error get " + group.id,
        .figures = {{"attempt", static_cast<double>(worst.attempt), "attempts",
                     static_cast<double>(judge.thresholds.poison_attempts)},
                    {"retried", static_cast<double>(tried), "jobs", {}}}};
  });
}

}  // namespace millrace::service
