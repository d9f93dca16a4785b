#include "store/job_match.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/ascii.h"
#include "base/hex.h"
#include "store/json_member.h"

namespace millrace::store {
namespace {

using core::Comparison;
using core::Condition;
using core::Job;
using core::JobField;

bool contains(std::string_view text, std::string_view part) {
  return std::ranges::search(text, part, {}, to_lower, to_lower).begin() != text.end() ||
         part.empty();
}

template <typename Value>
bool ordered(Comparison comparison, Value value, Value bound) {
  switch (comparison) {
    case Comparison::kEqual:
      return value == bound;
    case Comparison::kGreater:
      return value > bound;
    case Comparison::kGreaterEqual:
      return value >= bound;
    case Comparison::kLess:
      return value < bound;
    case Comparison::kLessEqual:
      return value <= bound;
    case Comparison::kContains:
      break;
  }
  return false;
}

// Whether the text meets any of the condition's values.
bool any_value(const Condition& condition, std::string_view text) {
  return std::ranges::any_of(condition.values, [&](const std::string& value) {
    return condition.comparison == Comparison::kContains ? contains(text, value) : text == value;
  });
}

bool any_pattern(const Condition& condition, std::string_view text) {
  if (condition.comparison == Comparison::kContains) return any_value(condition, text);
  return std::ranges::any_of(
      condition.values, [&](const std::string& value) { return matches_pattern(value, text); });
}

bool instant(const Condition& condition, const std::optional<Time>& time) {
  return time && ordered(condition.comparison, to_ms(*time), condition.number);
}

bool error_matches(const Condition& condition, const Job& job) {
  return job.last_error != nullptr && (any_value(condition, job.last_error->type.view()) ||
                                       any_value(condition, job.last_error->message.view()) ||
                                       (condition.comparison == Comparison::kEqual &&
                                        any_value(condition, hex_of(job.last_error->fingerprint))));
}

bool tag_matches(const Condition& condition, const Job& job) {
  return job.extras != nullptr &&
         std::ranges::any_of(job.extras->tags, [&](const SharedBytes& tag) {
           return any_pattern(condition, tag.view());
         });
}

bool schedule_matches(const Condition& condition, const Job& job) {
  return job.extras != nullptr && !job.extras->schedule.empty() &&
         any_pattern(condition, job.extras->schedule.view());
}

bool limit_matches(const Condition& condition, const Job& job) {
  return job.extras != nullptr &&
         std::ranges::any_of(job.extras->limits, [&](const core::JobLimit& limit) {
           return any_pattern(condition, limit.name.view());
         });
}

bool order_matches(const Condition& condition, const Job& job) {
  return job.extras != nullptr && !job.extras->order_key.empty() &&
         any_value(condition, job.extras->order_key.view());
}

bool fair_matches(const Condition& condition, const Job& job) {
  return job.extras != nullptr && !job.extras->fair_key.empty() &&
         any_value(condition, job.extras->fair_key.view());
}

bool meta_matches(const Condition& condition, const Job& job) {
  return job.extras != nullptr && std::ranges::any_of(job.extras->meta, [&](const auto& entry) {
           return entry.first.view() == condition.path && any_value(condition, entry.second.view());
         });
}

// RFC 8259: no "inf", no "0x10", no "01".
bool is_json_number(std::string_view text) {
  const auto take = [&text](std::string_view one_of) {
    const bool there = !text.empty() && one_of.contains(text.front());
    if (there) text.remove_prefix(1);
    return there;
  };
  const auto take_digits = [&] {
    const std::size_t before = text.size();
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
    return text.size() < before;
  };
  take("-");
  if (!take("0") && !take_digits()) return false;
  if (take(".") && !take_digits()) return false;
  if (take("eE")) {
    take("+-");
    if (!take_digits()) return false;
  }
  return text.empty();
}

bool is_integer(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

// For integers in JSON's form, without leading zeros. Returns less than, equal to or greater than 0
// as `a` is less than, equal to or greater than `b`.
int compare_integers(std::string_view a, std::string_view b) {
  if (a == "-0") a = "0";
  if (b == "-0") b = "0";
  const bool a_negative = a.starts_with('-');
  if (a_negative != b.starts_with('-')) return a_negative ? -1 : 1;
  const int longer = a_negative ? -1 : 1;
  if (a.size() != b.size()) return a.size() > b.size() ? longer : -longer;
  return longer * a.compare(b);
}

bool member_matches(const Condition& condition, std::string_view json) {
  const auto text = json_member_text(json, condition.path);
  if (!text) return false;
  if (condition.comparison == Comparison::kEqual || condition.comparison == Comparison::kContains) {
    return any_value(condition, *text);
  }
  if (!is_json_number(*text)) return false;
  // Integers are compared exactly, whatever their size: a double is exact only up to 2^53.
  const std::string_view bound =
      condition.values.empty() ? std::string_view() : std::string_view(condition.values.front());
  if (is_integer(*text) && is_integer(bound)) {
    return ordered(condition.comparison, compare_integers(*text, bound), 0);
  }
  // A number beyond a double's range becomes infinity or zero.
  return ordered(condition.comparison, std::strtod(text->c_str(), nullptr), condition.real);
}

bool matches_plainly(const Condition& condition, const Job& job) {
  switch (condition.field) {
    case JobField::kId:
      return any_value(condition, to_string(job.id));
    case JobField::kQueue:
      return any_pattern(condition, job.queue.view());
    case JobField::kType:
      return any_pattern(condition, job.type.view());
    case JobField::kState:
      return any_value(condition, name_of(job.state));
    case JobField::kTag:
      return tag_matches(condition, job);
    case JobField::kSchedule:
      return schedule_matches(condition, job);
    case JobField::kLimit:
      return limit_matches(condition, job);
    case JobField::kOrder:
      return order_matches(condition, job);
    case JobField::kFair:
      return fair_matches(condition, job);
    case JobField::kWorker:
      return !job.latest.worker.empty() && any_value(condition, job.latest.worker.view());
    case JobField::kPriority:
      return ordered<std::int64_t>(condition.comparison, job.priority, condition.number);
    case JobField::kAttempt:
      return ordered<std::int64_t>(condition.comparison, job.attempt, condition.number);
    case JobField::kCreatedAt:
      return instant(condition, job.created_at);
    case JobField::kRunAt:
      return instant(condition, job.run_at);
    case JobField::kFinishedAt:
      return instant(condition, job.finished_at);
    case JobField::kError:
      return error_matches(condition, job);
    case JobField::kMeta:
      return meta_matches(condition, job);
    case JobField::kPayload:
      return member_matches(condition, job.payload.view());
    case JobField::kResult:
      return member_matches(condition, job.result.view());
  }
  return false;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  if (!pattern.ends_with('*')) return text == pattern;
  return text.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool matches(const Condition& condition, const Job& job) {
  return matches_plainly(condition, job) != condition.negated;
}

bool is_of_workflow(const Job& job, const JobId& workflow) {
  return job.extras != nullptr && job.extras->member != nullptr &&
         job.extras->member->workflow == workflow;
}

bool matches(const core::JobFilter& filter, const Job& job) {
  if (filter.workflow && !is_of_workflow(job, *filter.workflow)) return false;
  return std::ranges::all_of(filter.conditions,
                             [&](const Condition& condition) { return matches(condition, job); });
}

bool needs_payload(const Condition& condition) { return condition.field == JobField::kPayload; }
bool needs_result(const Condition& condition) { return condition.field == JobField::kResult; }

}  // namespace millrace::store
