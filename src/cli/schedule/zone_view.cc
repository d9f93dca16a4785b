#include "cli/schedule/zone_view.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/time.h"
#include "calendar/zone_files.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kZoneFolder = "/zoneinfo/";
constexpr std::array<std::string_view, 7> kWeekdays{"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};

std::int64_t second_of(sdk::Timestamp time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// "/usr/share/zoneinfo/Europe/Zurich" is Europe/Zurich.
std::string name_in_path(std::string_view path) {
  const std::size_t at = path.rfind(kZoneFolder);
  if (at == std::string_view::npos) return {};
  return std::string(path.substr(at + kZoneFolder.size()));
}

std::string clock_change(std::int32_t before, std::int32_t after) {
  if (before == after) return {};
  const sdk::Milliseconds by{std::int64_t{std::abs(after - before)} * 1'000};
  return fmt::format("* clock {} {}", after > before ? "forward" : "back", format_duration(by));
}

}  // namespace

std::optional<calendar::Zone> zone_here(std::string_view name) {
  const auto files = calendar::ZoneFiles::open(std::string(calendar::kDefaultZoneDirectory));
  if (!files) return std::nullopt;
  auto zone = files->load(name);
  if (!zone) return std::nullopt;
  return std::move(*zone);
}

Result<std::string> zone_of_machine(const std::optional<std::string>& tz, bool has_localtime,
                                    std::string_view localtime, std::string_view timezone_file) {
  if (tz && !tz->empty()) {
    std::string_view name = *tz;
    if (name.starts_with(':')) name.remove_prefix(1);
    if (!name.starts_with('/')) return std::string(name);
    if (std::string inner = name_in_path(name); !inner.empty()) return inner;
  } else if (!has_localtime) {
    return std::string("UTC");  // like the C library
  } else if (std::string name = name_in_path(localtime); !name.empty()) {
    return name;
  } else if (!timezone_file.empty()) {
    return std::string(timezone_file);
  }
  return failure("this machine does not name its time zone; use --timezone to name one");
}

Result<std::string> zone_of_machine() {
  constexpr const char* kLocaltime = "/etc/localtime";
  const char* const tz = std::getenv("TZ");
  std::error_code error;
  const auto status = std::filesystem::symlink_status(kLocaltime, error);
  const auto target = std::filesystem::read_symlink(kLocaltime, error);
  std::string named;
  std::ifstream("/etc/timezone") >> named;
  return zone_of_machine(tz == nullptr ? std::nullopt : std::optional<std::string>(tz),
                         std::filesystem::exists(status), error ? "" : target.string(), named);
}

std::string civil_time(sdk::Timestamp time, std::int32_t offset_s) {
  const sdk::Timestamp shifted = time + std::chrono::seconds{offset_s};
  const std::chrono::weekday day{std::chrono::floor<std::chrono::days>(shifted)};
  std::string text = format_rfc3339(shifted).substr(0, 19);
  text[10] = ' ';
  return fmt::format("{} {}", kWeekdays.at(day.c_encoding()), text);
}

std::string offset_text(std::int32_t offset_s) {
  const std::int32_t size = std::abs(offset_s);
  std::string text =
      fmt::format("{}{:02}:{:02}", offset_s < 0 ? '-' : '+', size / 3'600, size / 60 % 60);
  if (size % 60 != 0) text += fmt::format(":{:02}", size % 60);
  return text;
}

std::string instants_table(const std::vector<sdk::Timestamp>& instants, std::string_view zone_name,
                           const std::optional<calendar::Zone>& zone, sdk::Timestamp now,
                           std::size_t width) {
  const bool only_utc = !zone || zone_name == "UTC";
  std::vector<Column> columns;
  if (!only_utc) columns = {{printable(zone_name)}, {"OFFSET"}};
  columns.push_back({"UTC"});
  columns.push_back({"WHEN"});
  if (!only_utc) columns.push_back({.title = "", .least = 0});
  Table table(std::move(columns));
  std::optional<std::int32_t> before;
  for (const sdk::Timestamp time : instants) {
    std::vector<std::string> cells;
    std::string note;
    if (!only_utc) {
      const std::int32_t offset = zone->span_at(second_of(time)).offset;
      cells = {civil_time(time, offset), offset_text(offset)};
      note = clock_change(before.value_or(offset), offset);
      before = offset;
    }
    cells.push_back(civil_time(time, 0));
    cells.push_back(relative_time(time, now));
    if (!only_utc) cells.push_back(std::move(note));
    table.add(std::move(cells));
  }
  return table.text(width);
}

}  // namespace millrace::cli
