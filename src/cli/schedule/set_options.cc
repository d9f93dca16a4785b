#include "cli/schedule/set_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace::cli {
namespace {

constexpr int kMaxMissed = 1'000;

constexpr std::array<std::string_view, 15> kSpecification{
    "cron",     "every_ms", "timezone",    "job",        "workflow",
    "start_at", "end_at",   "jitter_ms",   "missed",     "missed_limit",
    "overlap",  "dst_gap",  "dst_overlap", "managed_by", "missed_after_ms"};

}  // namespace

Result<Missed> parse_missed(std::string_view text) {
  if (text == "skip" || text == "one" || text == "all") return Missed{std::string(text), {}};
  constexpr std::string_view kAll = "all:";
  if (text.starts_with(kAll)) {
    const std::string_view digits = text.substr(kAll.size());
    int limit = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), limit);
    const bool is_number = fault == std::errc{} && end == digits.data() + digits.size();
    if (is_number && limit >= 1 && limit <= kMaxMissed) return Missed{"all", limit};
  }
  return failure(fmt::format("\"{}\" is not one of skip, one, all, and all:N with N from 1 to {}",
                             text, kMaxMissed));
}

CLI::Option* add_missed(CLI::App& command, std::optional<Missed>& out) {
  return command
      .add_option_function<std::string>(
          "--missed",
          [&out](const std::string& text) {
            auto missed = parse_missed(text);
            if (!missed) throw CLI::ValidationError("--missed", missed.error().message);
            out = std::move(*missed);
          },
          "For missed instants: skip, one (the latest), all, or all:N")
      ->type_name("POLICY");
}

CLI::Option* add_overlap(CLI::App& command, std::string& out) {
  return command
      .add_option("--overlap", out,
                  "If the last job has not ended: allow, skip, queue (one waits), or replace "
                  "(cancels that job)")
      ->check(CLI::IsMember({"allow", "skip", "queue", "replace"}));
}

JsonMembers specification_of(std::string_view there) {
  if (there.empty()) return {};
  JsonMembers members = members_of(there);
  std::erase_if(members, [](const auto& member) {
    return member.second == "null" ||
           std::ranges::find(kSpecification, member.first) == kSpecification.end();
  });
  return members;
}

JsonMembers merged(JsonMembers there, const JsonMembers& named, const JsonMembers& job) {
  if (find_member(named, "cron")) erase_member(there, "every_ms");
  if (find_member(named, "every_ms")) erase_member(there, "cron");
  // This limit belongs to the policy "all".
  if (find_member(named, "missed")) erase_member(there, "missed_limit");
  if (find_member(named, "workflow")) erase_member(there, "job");
  for (const auto& [name, value] : named) set_member(there, name, value);
  if (job.empty()) return there;
  erase_member(there, "workflow");
  JsonMembers whole;
  if (const auto before = find_member(there, "job")) whole = members_of(*before);
  for (const auto& [name, value] : job) set_member(whole, name, value);
  set_member(there, "job", object_of(whole));
  return there;
}

}  // namespace millrace::cli
