#include "cli/schedule/foreign_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "api/bounds.h"
#include "api/text.h"
#include "base/ascii.h"
#include "calendar/cron_parser.h"
#include "calendar/timing.h"
#include "cli/schedule/json_members.h"
#include "cli/schedule/set_file.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

enum class Meaning : std::uint8_t {
  kName,
  kRule,
  kZone,
  kType,
  kPayload,
  kArgs,
  kKwargs,
  kQueue,
  kPaused,
  kEnabled,
  kStatus,
  kOpts,
  kOptions,
  kPriority,
  kMaxAttempts,
  kTags,
  kMustBeFalse,
  kPassedOver,
};
using Known = std::pair<std::string_view, Meaning>;

constexpr std::array<Known, 41> kMembers{{{"name", Meaning::kName},
                                          {"cron", Meaning::kRule},
                                          {"expression", Meaning::kRule},
                                          {"schedule", Meaning::kRule},
                                          {"crontab", Meaning::kRule},
                                          {"interval", Meaning::kRule},
                                          {"timezone", Meaning::kZone},
                                          {"tz", Meaning::kZone},
                                          {"zone", Meaning::kZone},
                                          {"type", Meaning::kType},
                                          {"class", Meaning::kType},
                                          {"klass", Meaning::kType},
                                          {"task", Meaning::kType},
                                          {"worker", Meaning::kType},
                                          {"payload", Meaning::kPayload},
                                          {"args", Meaning::kArgs},
                                          {"kwargs", Meaning::kKwargs},
                                          {"queue", Meaning::kQueue},
                                          {"queue_name", Meaning::kQueue},
                                          {"paused", Meaning::kPaused},
                                          {"enabled", Meaning::kEnabled},
                                          {"status", Meaning::kStatus},
                                          {"opts", Meaning::kOpts},
                                          {"options", Meaning::kOptions},
                                          {"one_off", Meaning::kMustBeFalse},
                                          {"date_as_argument", Meaning::kMustBeFalse},
                                          {"description", Meaning::kPassedOver},
                                          {"message", Meaning::kPassedOver},
                                          {"active_job", Meaning::kPassedOver},
                                          {"source", Meaning::kPassedOver},
                                          {"id", Meaning::kPassedOver},
                                          {"insertions", Meaning::kPassedOver},
                                          {"inserted_at", Meaning::kPassedOver},
                                          {"updated_at", Meaning::kPassedOver},
                                          {"date_changed", Meaning::kPassedOver},
                                          {"last_run_at", Meaning::kPassedOver},
                                          {"last_enqueue_time", Meaning::kPassedOver},
                                          {"total_run_count", Meaning::kPassedOver},
                                          {"relative", Meaning::kPassedOver},
                                          {"lock_version", Meaning::kPassedOver},
                                          {"namespace", Meaning::kPassedOver}}};
constexpr std::string_view kMembersMay =
    "name, cron, expression, schedule, crontab, interval, timezone, type, class, task, worker, "
    "payload, args, kwargs, queue, paused, enabled, status, opts, options";

constexpr std::array<Known, 6> kOpts{{{"queue", Meaning::kQueue},
                                      {"args", Meaning::kArgs},
                                      {"priority", Meaning::kPriority},
                                      {"max_attempts", Meaning::kMaxAttempts},
                                      {"tags", Meaning::kTags},
                                      {"timezone", Meaning::kZone}}};
constexpr std::string_view kOptsMay = "queue, args, priority, max_attempts, tags, timezone";
constexpr std::array<Known, 1> kOptions{{{"queue", Meaning::kQueue}}};

// Celery's names of the five fields, in their order.
constexpr std::array<std::string_view, 5> kCelery{"minute", "hour", "day_of_month", "month_of_year",
                                                  "day_of_week"};

constexpr std::array<std::pair<std::string_view, double>, 5> kPeriods{
    {{"microseconds", 1e-6}, {"seconds", 1}, {"minutes", 60}, {"hours", 3'600}, {"days", 86'400}}};

template <std::size_t kCount>
std::optional<Meaning> meaning_of(std::string_view name, const std::array<Known, kCount>& known) {
  const auto found = std::ranges::find(known, name, &Known::first);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> number_of(JsonCursor value) {
  if (value.type() != JsonType::kNumber) return std::nullopt;
  const std::string_view text = value.number();
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string> text_of(JsonCursor value) {
  if (value.type() != JsonType::kString) return std::nullopt;
  return text_at(value);
}

// A zone's name begins with a letter, and has a letter after its slash: not MON/2.
bool is_zone(std::string_view word) {
  if (word == "UTC" || word == "GMT") return true;
  const std::size_t slash = word.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < word.size() &&
         is_letter(word.front()) && is_letter(word[slash + 1]);
}

bool is_star(std::string_view field) { return field.starts_with('*'); }

// Reads one entry; adds faults to a list, with the entry's line.
class EntryReader {
 public:
  EntryReader(std::size_t line, FileFaults& faults) : faults_(faults) { entry.line = line; }

  void read(JsonCursor object, std::string_view key) {
    entry.name = key;
    if (object.type() != JsonType::kObject) {
      return fail(fmt::format("an object with {} is expected", kMembersMay));
    }
    read_members(object, kMembers, kMembersMay);
    finish();
  }

  ForeignEntry entry;

 private:
  template <std::size_t kCount>
  void read_members(JsonCursor object, const std::array<Known, kCount>& known,
                    std::string_view may) {
    for_each_member(object, [&](const std::string& name, JsonCursor value) {
      if (value.type() == JsonType::kNull) return;
      const auto meaning = meaning_of(name, known);
      if (!meaning) {
        return fail(
            fmt::format("{} can't stand here; what may: {}", api::single_quoted(name), may));
      }
      read_member(*meaning, name, value);
    });
  }

  void read_member(Meaning meaning, const std::string& name, JsonCursor value) {
    sdk::NewSchedule& schedule = entry.schedule;
    switch (meaning) {
      case Meaning::kName:
        return read_text(name, value, entry.name);
      case Meaning::kRule:
        return read_rule(name, value);
      case Meaning::kZone:
        return read_text(name, value, schedule.timezone);
      case Meaning::kType:
        return read_text(name, value, schedule.job.type);
      case Meaning::kQueue:
        return read_text(name, value, schedule.job.queue);
      case Meaning::kPayload:
        payload_ = std::string(value.skip());
        return;
      case Meaning::kArgs:
        args_ = json_of(value);
        return;
      case Meaning::kKwargs:
        kwargs_ = json_of(value);
        return;
      case Meaning::kPaused:
      case Meaning::kEnabled:
        return read_paused(meaning, name, value);
      case Meaning::kStatus:
        return read_status(value);
      case Meaning::kOpts:
        return read_inner(name, value, kOpts, kOptsMay);
      case Meaning::kOptions:
        return read_inner(name, value, kOptions, "queue");
      case Meaning::kPriority:
        return read_integer(name, value, schedule.job.priority);
      case Meaning::kMaxAttempts:
        return read_integer(name, value, schedule.job.max_attempts);
      case Meaning::kTags:
        return read_tags(name, value);
      case Meaning::kMustBeFalse:
        if (value.type() != JsonType::kBoolean || value.boolean()) {
          fail(name + " can't be taken over: it must be false or left out");
        }
        return;
      case Meaning::kPassedOver:
        return;
    }
  }

  template <std::size_t kCount>
  void read_inner(const std::string& name, JsonCursor value, const std::array<Known, kCount>& known,
                  std::string_view may) {
    if (value.type() != JsonType::kObject) return fail(name + " must be an object");
    read_members(value, known, may);
  }

  void read_text(const std::string& name, JsonCursor value, std::string& out) {
    const auto text = text_of(value);
    if (!text || text->empty()) return fail(name + " must be a string that is not empty");
    out = *text;
  }

  void read_integer(const std::string& name, JsonCursor value, std::optional<int>& out) {
    const auto number = number_of(value);
    constexpr double kFar = 1'000'000;  // the server's bounds are smaller
    if (!number || *number != std::trunc(*number) || std::abs(*number) > kFar) {
      return fail(name + " must be a whole number");
    }
    out = static_cast<int>(*number);
  }

  void read_tags(const std::string& name, JsonCursor value) {
    if (value.type() != JsonType::kArray) return fail(name + " must be a list of strings");
    for (value.enter(); value.next_element(); value.skip()) {
      const auto tag = text_of(value);
      if (!tag) return fail(name + " must be a list of strings");
      entry.schedule.job.tags.push_back(*tag);
    }
  }

  void read_paused(Meaning meaning, const std::string& name, JsonCursor value) {
    if (value.type() != JsonType::kBoolean) return fail(name + " must be true or false");
    entry.schedule.paused = value.boolean() == (meaning == Meaning::kPaused);
  }

  void read_status(JsonCursor value) {
    const auto text = text_of(value);
    if (text != "enabled" && text != "disabled") {
      return fail("status must be \"enabled\" or \"disabled\"");
    }
    entry.schedule.paused = text == "disabled";
  }

  // A string that contains JSON counts as that JSON.
  static std::string json_of(JsonCursor value) {
    if (const auto text = text_of(value); text && sdk::is_json(*text)) return *text;
    return std::string(value.skip());
  }

  void read_rule(const std::string& name, JsonCursor value) {
    if (has_rule_) return fail("two members say when it is due; remove one");
    has_rule_ = true;
    if (const auto text = text_of(value)) return read_expression(*text);
    if (const auto seconds = number_of(value)) return read_interval(*seconds);
    if (value.type() != JsonType::kObject) {
      return fail(name +
                  " must be an expression, a number of seconds, or an object with minute, "
                  "hour, ... or with every and period");
    }
    read_rule_object(value);
  }

  void read_expression(std::string text) {
    const std::size_t blank = text.find_last_of(" \t");
    if (blank != std::string::npos && is_zone(std::string_view(text).substr(blank + 1))) {
      entry.schedule.timezone = text.substr(blank + 1);
      text.resize(blank);
    }
    const auto cron = calendar::parse_cron(text);
    if (!cron) return fail(cron.error().message);
    entry.schedule.cron = std::move(text);
  }

  void read_interval(double seconds) {
    const double ms = seconds * 1'000;
    const bool fits = ms >= static_cast<double>(calendar::kMinEvery.count()) &&
                      ms <= static_cast<double>(calendar::kMaxEvery.count());
    if (!fits) return fail("an interval is 1 second to ten years");
    entry.schedule.every = sdk::Milliseconds{std::llround(ms)};
  }

  // {"every", "period"}, or Celery's five fields.
  void read_rule_object(JsonCursor object) {
    std::optional<double> every;
    double period = 1;
    std::array<std::string, kCelery.size()> fields;
    bool has_field = false;
    for_each_member(object, [&](const std::string& name, JsonCursor value) {
      if (name == "__type__" || name == "relative" || value.type() == JsonType::kNull) return;
      if (name == "timezone") return read_text(name, value, entry.schedule.timezone);
      const auto field = std::ranges::find(kCelery, name);
      if (field != kCelery.end()) {
        has_field = true;
        fields.at(static_cast<std::size_t>(field - kCelery.begin())) = field_of(name, value);
      } else if (name == "every") {
        every = number_of(value);
        if (!every) fail("every must be a number");
      } else if (name == "period") {
        period = period_of(value);
      } else {
        fail(fmt::format("{} can't stand here; what may: every, period, timezone, {}",
                         api::single_quoted(name), fmt::join(kCelery, ", ")));
      }
    });
    if (every && has_field) return fail("every and the fields of a crontab can't stand together");
    if (every) return read_interval(*every * period);
    read_fields(fields);
  }

  double period_of(JsonCursor value) {
    const auto text = text_of(value);
    for (const auto& [name, seconds] : kPeriods) {
      if (text == name) return seconds;
    }
    fail("period must be one of microseconds, seconds, minutes, hours, days");
    return 1;
  }

  // "0", 0 or [0, 30]
  std::string field_of(const std::string& name, JsonCursor value) {
    if (const auto text = text_of(value)) return *text;
    if (value.type() == JsonType::kNumber) return std::string(value.number());
    std::string list;
    if (value.type() == JsonType::kArray) {
      for (value.enter(); value.next_element(); value.skip()) {
        list += (list.empty() ? "" : ",") + field_of(name, value);
      }
    }
    if (list.empty()) fail(name + " must be a string, a number, or a list of numbers");
    return list;
  }

  void read_fields(std::array<std::string, kCelery.size()>& fields) {
    std::string cron;
    for (std::string& field : fields) {
      std::erase(field, ' ');  // Celery allows them in a list
      if (field.empty()) field = "*";
      cron += (cron.empty() ? "" : " ") + field;
    }
    // Celery requires both days to match; a cron expression requires either.
    if (!is_star(fields[2]) && !is_star(fields[4])) {
      return fail(
          "day_of_month and day_of_week both restrict the day; Celery takes days that both name, "
          "and a cron expression takes days that either names; write two schedules, or let the job "
          "decide");
    }
    read_expression(std::move(cron));
  }

  void finish() {
    sdk::NewSchedule& schedule = entry.schedule;
    if (entry.name.empty()) entry.name = schedule.job.type;
    for (char& c : entry.name) {
      if (!api::is_name_character(c)) c = '-';
    }
    if (!entry.name.empty() && !api::is_name(entry.name)) {
      fail(fmt::format("the name has {} bytes, a schedule's at most {}", entry.name.size(),
                       api::kMaxNameBytes));
    }
    if (!has_rule_) fail("when is it due? what may say it: cron, expression, schedule, interval");
    if (schedule.job.type.empty()) {
      fail("what is to be done? what may say it: type, class, task, worker");
    } else if (!api::is_name(schedule.job.type)) {
      fail(fmt::format("the type {}; {} does not fit", api::kNameRule,
                       api::single_quoted(schedule.job.type)));
    }
    schedule.job.payload = payload();
  }

  std::string payload() {
    if (payload_ && (args_ || kwargs_)) fail("payload can't stand beside args or kwargs");
    if (payload_) return *payload_;
    const auto is_there = [](const std::optional<std::string>& json) {
      return json && *json != "{}" && *json != "[]";
    };
    if (is_there(args_) && is_there(kwargs_)) {
      return object_of({{"args", *args_}, {"kwargs", *kwargs_}});
    }
    if (is_there(kwargs_)) return *kwargs_;
    return args_.value_or("null");
  }

  void fail(std::string message) {
    const std::string who = entry.name.empty() ? "" : api::single_quoted(entry.name) + ": ";
    faults_.push_back({entry.line, who + message});
  }

  FileFaults& faults_;
  bool has_rule_ = false;
  std::optional<std::string> payload_;
  std::optional<std::string> args_;
  std::optional<std::string> kwargs_;
};

}  // namespace

std::expected<std::vector<ForeignEntry>, FileFaults> read_foreign_list(std::string_view json) {
  const auto document = read_document(json, FileFormat::kJson);
  if (!document) return std::unexpected(document.error());
  std::vector<ForeignEntry> entries;
  FileFaults faults;
  std::map<std::string, std::size_t, std::less<>> lines;
  const auto add = [&](JsonCursor value, const std::string& pointer, std::string_view key) {
    if (entries.size() > kMaxSetSchedules) return;
    EntryReader reader(document->lines.of(pointer), faults);
    reader.read(value, key);
    const auto [other, is_new] = lines.emplace(reader.entry.name, reader.entry.line);
    if (!is_new && !reader.entry.name.empty()) {
      faults.push_back({reader.entry.line, fmt::format("line {} has the name {} too", other->second,
                                                       reader.entry.name)});
    }
    entries.push_back(std::move(reader.entry));
  };
  JsonCursor root(document->json);
  if (root.type() == JsonType::kArray) {
    std::size_t index = 0;
    for (root.enter(); root.next_element(); root.skip()) {
      add(root, join_pointer("", fmt::to_string(index++)), "");
    }
  } else {
    for_each_member(root, [&](const std::string& name, JsonCursor value) {
      add(value, join_pointer("", name), name);
    });
  }
  if (entries.size() > kMaxSetSchedules) {
    faults.push_back({0, fmt::format("at most {} entries are taken", kMaxSetSchedules)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return entries;
}

}  // namespace millrace::cli
