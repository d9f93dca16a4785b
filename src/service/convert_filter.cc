// Converts filters and the words of `q` into conditions for the tables.
#include <expected>
#include <utility>

#include "service/convert.h"

namespace millrace::service {
namespace {

using engine::Comparison;
using engine::Condition;
using engine::JobField;

JobField field_of(api::QueryField field) {
  switch (field) {
    case api::QueryField::kId:
      return JobField::kId;
    case api::QueryField::kQueue:
      return JobField::kQueue;
    case api::QueryField::kType:
      return JobField::kType;
    case api::QueryField::kState:
      return JobField::kState;
    case api::QueryField::kTag:
      return JobField::kTag;
    case api::QueryField::kSchedule:
      return JobField::kSchedule;
    case api::QueryField::kLimit:
      return JobField::kLimit;
    case api::QueryField::kOrder:
      return JobField::kOrder;
    case api::QueryField::kFair:
      return JobField::kFair;
    case api::QueryField::kWorker:
      return JobField::kWorker;
    case api::QueryField::kPriority:
      return JobField::kPriority;
    case api::QueryField::kAttempt:
      return JobField::kAttempt;
    case api::QueryField::kError:
      return JobField::kError;
    case api::QueryField::kCreated:
      return JobField::kCreatedAt;
    case api::QueryField::kRunAt:
      return JobField::kRunAt;
    case api::QueryField::kFinished:
      return JobField::kFinishedAt;
    case api::QueryField::kWorkflow:
      break;  // no condition: see to_engine()
    case api::QueryField::kMeta:
      return JobField::kMeta;
    case api::QueryField::kPayload:
      return JobField::kPayload;
    case api::QueryField::kResult:
      return JobField::kResult;
  }
  return JobField::kId;
}

Comparison comparison_of(api::QueryOperator op) {
  switch (op) {
    case api::QueryOperator::kMatches:
    case api::QueryOperator::kEquals:
      return Comparison::kEqual;
    case api::QueryOperator::kContains:
      return Comparison::kContains;
    case api::QueryOperator::kGreater:
      return Comparison::kGreater;
    case api::QueryOperator::kGreaterOrEqual:
      return Comparison::kGreaterEqual;
    case api::QueryOperator::kLess:
      return Comparison::kLess;
    case api::QueryOperator::kLessOrEqual:
      return Comparison::kLessEqual;
  }
  return Comparison::kEqual;
}

// Whether the field is compared as a number; the tables accept only one.
bool is_number(api::QueryField field) {
  using enum api::QueryField;
  return field == kPriority || field == kAttempt || field == kCreated || field == kRunAt ||
         field == kFinished;
}

// The text with which the tables compare. They treat a trailing '*' of a name as a pattern. No name
// contains a literal '*', so such a text becomes the empty one, which matches no name either.
std::string text_of(const api::QueryTerm& term, const api::QueryValue& value) {
  using enum api::QueryField;
  if (value.id) return to_string(*value.id);
  if (value.time) return std::to_string(to_ms(*value.time));
  const bool name = term.field == kQueue || term.field == kType || term.field == kTag ||
                    term.field == kSchedule || term.field == kLimit;
  const bool equality =
      term.op == api::QueryOperator::kMatches || term.op == api::QueryOperator::kEquals;
  if (name && equality && value.text.ends_with('*') && !value.wildcard) return {};
  return value.text;
}

Condition condition_of(const api::QueryTerm& term) {
  Condition condition;
  condition.field = field_of(term.field);
  condition.comparison = comparison_of(term.op);
  condition.negated = term.negated;
  condition.path = term.path;
  for (const api::QueryValue& value : term.any_of) {
    condition.values.push_back(text_of(term, value));
  }
  const api::QueryValue& first = term.any_of.front();
  if (first.time) {
    condition.number = to_ms(*first.time);
  } else if (first.number) {
    condition.number = *first.number;
  }
  condition.real = first.real.value_or(static_cast<double>(condition.number));
  return condition;
}

Condition any_of(JobField field, std::vector<std::string> values) {
  Condition condition;
  condition.field = field;
  condition.values = std::move(values);
  return condition;
}

Condition created(Comparison comparison, Time time) {
  Condition condition;
  condition.field = JobField::kCreatedAt;
  condition.comparison = comparison;
  condition.number = to_ms(time);
  return condition;
}

std::vector<std::string> names_of(const std::vector<api::JobState>& states) {
  std::vector<std::string> names;
  names.reserve(states.size());
  for (const api::JobState state : states) names.emplace_back(api::name_of(state));
  return names;
}

}  // namespace

namespace {

// The result of such a search reveals the content.
bool looks_into_payloads(const api::QueryTerm& term) {
  return term.field == api::QueryField::kPayload || term.field == api::QueryField::kResult ||
         (term.field == api::QueryField::kError && term.op == api::QueryOperator::kContains);
}

}  // namespace

api::Decoded<engine::JobFilter> to_engine(const api::JobFilter& filter, const Access* access) {
  engine::JobFilter made;
  std::vector<Condition>& conditions = made.conditions;
  if (!filter.states.empty()) {
    conditions.push_back(any_of(JobField::kState, names_of(filter.states)));
  }
  if (!filter.queue.empty()) conditions.push_back(any_of(JobField::kQueue, {filter.queue}));
  if (!filter.type.empty()) conditions.push_back(any_of(JobField::kType, {filter.type}));
  if (!filter.tag.empty()) conditions.push_back(any_of(JobField::kTag, {filter.tag}));
  if (filter.created_after) {
    conditions.push_back(created(Comparison::kGreaterEqual, *filter.created_after));
  }
  if (filter.created_before) {
    conditions.push_back(created(Comparison::kLess, *filter.created_before));
  }
  for (const api::QueryTerm& term : filter.query.terms) {
    if (term.any_of.size() > 1 && is_number(term.field)) {
      return std::unexpected(
          api::make_fault(api::FieldError::Place::kParameter, "q",
                          std::string(api::name_of(term.field)) + " takes one value"));
    }
    if (looks_into_payloads(term) && access != nullptr && !access->allows(api::Scope::kPayload)) {
      return std::unexpected(api::make_problem(
          api::ProblemCode::kForbidden,
          "the token lacks the scope payload, which a search in payloads, results or the texts of "
          "errors needs"));
    }
    if (term.field == api::QueryField::kWorkflow) {
      made.workflow = term.any_of.front().id;
      continue;
    }
    conditions.push_back(condition_of(term));
  }
  if (access != nullptr && access->limited()) {
    conditions.push_back(any_of(JobField::kQueue, access->settings().queues));
  }
  return made;
}

core::StateSet states_of(const engine::JobFilter& filter) {
  core::StateSet states;
  for (const Condition& condition : filter.conditions) {
    if (condition.field != JobField::kState) continue;
    if (condition.comparison != Comparison::kEqual) continue;  // does not narrow it further
    core::StateSet named = core::StateSet::of({});
    for (const std::string& value : condition.values) {
      if (const auto state = terms::value_named<core::State>(value)) named.add(*state);
    }
    for (std::size_t i = 0; i < core::kStateCount; ++i) {
      const auto state = static_cast<core::State>(i);
      if (named.contains(state) == condition.negated) states.remove(state);
    }
  }
  return states;
}

engine::JobFilter jobs_of_queue(std::string_view queue, const std::vector<api::JobState>& states) {
  engine::JobFilter made;
  made.conditions.push_back(any_of(JobField::kQueue, {std::string(queue)}));
  made.conditions.push_back(any_of(JobField::kState, names_of(states)));
  return made;
}

}  // namespace millrace::service
