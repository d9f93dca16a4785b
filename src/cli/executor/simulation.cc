#include "cli/executor/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/schedule/json_members.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kKinds = "sleep, log, compute, http_call or fail";

// The members of one step, removed as they are read; those left at the end are unknown.
class Members {
 public:
  explicit Members(JsonMembers members) : members_(std::move(members)) {}

  void text(std::string_view name, std::string& out) {
    const auto value = take(name);
    if (!value) return;
    if (!value->starts_with('"')) return fail(name, "must be a string");
    out = text_at(JsonCursor(*value));
  }
  void number(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t& out) {
    const auto value = take(name);
    if (!value) return;
    std::int64_t read = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), read);
    if (error != std::errc() || end != value->data() + value->size() || read < least ||
        read > most) {
      return fail(name, fmt::format("must be a whole number from {} to {}", least, most));
    }
    out = read;
  }
  void truth(std::string_view name, bool& out) {
    const auto value = take(name);
    if (!value) return;
    if (*value != "true" && *value != "false") return fail(name, "must be true or false");
    out = *value == "true";
  }
  void require(std::string_view name) {
    if (!find_member(members_, name)) fail(name, "is missing");
  }
  void fail(std::string_view name, std::string_view what) {
    if (fault_.empty()) fault_ = fmt::format("{} {}", name, what);
  }
  std::string end() {
    if (!members_.empty()) fail(members_.front().first, "is unknown");
    return fault_;
  }

 private:
  std::optional<std::string> take(std::string_view name) {
    auto value = find_member(members_, name);
    if (value) erase_member(members_, name);
    return value;
  }

  JsonMembers members_;
  std::string fault_;
};

Step read_step(Members& members, std::string_view kind) {
  if (kind == "sleep" || kind == "compute") {
    std::int64_t ms = 0;
    members.require("ms");
    members.number("ms", 0, kMaxStepMs, ms);
    if (kind == "sleep") return SleepStep{ms};
    return ComputeStep{ms};
  }
  if (kind == "log") {
    LogStep step;
    members.require("message");
    members.text("message", step.message);
    members.text("level", step.level);
    constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warn", "error"};
    if (std::ranges::find(kLevels, step.level) == kLevels.end()) {
      members.fail("level", "must be debug, info, warn or error");
    }
    return step;
  }
  if (kind == "http_call") {
    HttpCallStep step;
    members.require("url");
    members.text("url", step.url);
    members.text("method", step.method);
    members.number("status", 100, 599, step.status);
    if (!step.url.empty() && !step.url.starts_with("http://") &&
        !step.url.starts_with("https://")) {
      members.fail("url", "must begin with http:// or https://");
    }
    constexpr std::array<std::string_view, 4> kMethods = {"GET", "POST", "PUT", "DELETE"};
    if (std::ranges::find(kMethods, step.method) == kMethods.end()) {
      members.fail("method", "must be GET, POST, PUT or DELETE");
    }
    return step;
  }
  FailStep step;
  if (kind != "fail") {
    members.fail("do", fmt::format("must be {}", kKinds));
    return step;
  }
  members.text("message", step.message);
  members.truth("retryable", step.retryable);
  members.number("until_attempt", 1, 1'000, step.until_attempt);
  return step;
}

}  // namespace

Result<std::vector<Step>> parse_steps(std::string_view payload) {
  if (!sdk::is_json(payload) || JsonCursor(payload).type() != JsonType::kObject) {
    return failure("the payload must be an object with the member steps");
  }
  const JsonMembers whole = members_of(payload);
  const auto list = find_member(whole, "steps");
  if (!list || JsonCursor(*list).type() != JsonType::kArray) {
    return failure("the payload must have the member steps, an array");
  }
  if (whole.size() > 1) return failure("the payload must have no member but steps");
  std::vector<Step> steps;
  JsonCursor cursor(*list);
  for (cursor.enter(); cursor.next_element();) {
    const std::size_t number = steps.size() + 1;
    if (number > kMaxSteps) return failure(fmt::format("more than {} steps", kMaxSteps));
    const bool is_object = cursor.type() == JsonType::kObject;
    const std::string_view text = cursor.skip();
    if (!is_object) return failure(fmt::format("step {} is no object", number));
    Members members(members_of(text));
    std::string kind;
    members.text("do", kind);
    steps.push_back(read_step(members, kind));
    const std::string fault = members.end();
    if (!fault.empty()) return failure(fmt::format("step {}: {}", number, fault));
  }
  return steps;
}

}  // namespace millrace::cli
