#include "api/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/job.h"
#include "api/text.h"
#include "base/json_check.h"
#include "base/utf8.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, 20> kFields = {
    "id",      "queue", "type",     "state",  "tag",      "worker",   "priority",
    "attempt", "error", "created",  "run_at", "finished", "schedule", "limit",
    "order",   "fair",  "workflow", "meta",   "payload",  "result"};
constexpr std::array<std::string_view, 7> kOperators = {":", "=", "~", ">", ">=", "<", "<="};

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool ends_field(char c) {
  return is_space(c) || std::string_view(":=~<>,\"!").contains(c);
}

enum class Kind { kText, kState, kId, kNumber, kTime, kPath };

constexpr Kind kind_of(QueryField field) {
  switch (field) {
    case QueryField::kId:
    case QueryField::kWorkflow:
      return Kind::kId;
    case QueryField::kState:
      return Kind::kState;
    case QueryField::kPriority:
    case QueryField::kAttempt:
      return Kind::kNumber;
    case QueryField::kCreated:
    case QueryField::kRunAt:
    case QueryField::kFinished:
      return Kind::kTime;
    case QueryField::kPayload:
    case QueryField::kResult:
      return Kind::kPath;
    default:
      return Kind::kText;
  }
}

constexpr bool is_comparison(QueryOperator op) { return op >= QueryOperator::kGreater; }

constexpr bool takes(QueryField field, QueryOperator op) {
  switch (kind_of(field)) {
    case Kind::kState:
    case Kind::kId:
      return op == QueryOperator::kMatches || op == QueryOperator::kEquals;
    case Kind::kText:
      return !is_comparison(op);
    case Kind::kNumber:
      return op != QueryOperator::kContains;
    case Kind::kTime:
      return is_comparison(op);
    case Kind::kPath:
      return true;
  }
  return false;
}

constexpr bool has_path(QueryField field) { return field >= QueryField::kMeta; }

// A final '*' is a wildcard only in fields that are names.
constexpr bool takes_wildcard(QueryField field) {
  return field == QueryField::kQueue || field == QueryField::kType || field == QueryField::kTag ||
         field == QueryField::kSchedule || field == QueryField::kLimit;
}

using Fault = std::unexpected<std::string>;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::expected<Query, std::string> run() {
    Query query;
    while (skip_space()) {
      if (query.terms.size() == kMaxQueryTerms)
        return Fault(fmt::format("must have at most {} terms", kMaxQueryTerms));
      auto term = parse_term();
      if (!term) return Fault(std::move(term.error()));
      if (term->field == QueryField::kWorkflow) {
        if (has_workflow_) return Fault("workflow may be named once");
        if (term->negated) return Fault("workflow can't be negated");
        if (term->any_of.size() > 1) return Fault("workflow takes one value, not a list");
        has_workflow_ = true;
      }
      query.terms.push_back(std::move(*term));
    }
    return query;
  }

 private:
  bool skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size();
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::expected<QueryTerm, std::string> parse_term() {
    QueryTerm term;
    if (peek() == '-') {
      term.negated = true;
      ++at_;
    }
    const std::size_t start = at_;
    while (at_ < text_.size() && !ends_field(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    const bool alone = at_ == text_.size() || is_space(text_[at_]);
    if (alone && !name.empty()) {
      return Fault(fmt::format("{} does not name a field; write FIELD:VALUE, such as type:{}",
                               single_quoted(name), single_quoted(name)));
    }
    if (auto fault = parse_field(name, term)) return Fault(std::move(*fault));
    if (auto fault = parse_operator(name, term)) return Fault(std::move(*fault));
    if (auto fault = parse_values(name, term)) return Fault(std::move(*fault));
    return term;
  }

  static std::optional<std::string> parse_field(std::string_view name, QueryTerm& term) {
    const std::size_t dot = name.find('.');
    const std::string_view head = name.substr(0, dot);
    const auto found = std::ranges::find(kFields, head);
    if (found == kFields.end()) {
      const std::string_view meant = nearest(head, kFields);
      if (meant.empty())
        return fmt::format("unknown field {}; fields are {}", single_quoted(head),
                           fmt::join(kFields, ", "));
      return fmt::format("unknown field {}; did you mean '{}'?", single_quoted(head), meant);
    }
    term.field = static_cast<QueryField>(found - kFields.begin());
    if (has_path(term.field)) {
      if (dot == std::string_view::npos || dot + 1 == name.size()) {
        return fmt::format("{} needs a path, such as {}.NAME:VALUE", head, head);
      }
      term.path = name.substr(dot + 1);
      const bool empty_part =
          term.path.starts_with('.') || term.path.ends_with('.') || term.path.contains("..");
      if (empty_part && term.field != QueryField::kMeta)
        return fmt::format("{} has an empty part; remove the extra dot", single_quoted(name));
    } else if (dot != std::string_view::npos) {
      return fmt::format("{} has no parts; write {}:VALUE", head, head);
    }
    return std::nullopt;
  }

  std::optional<std::string> parse_operator(std::string_view name, QueryTerm& term) {
    // Longer operators first.
    for (const QueryOperator op :
         {QueryOperator::kGreaterOrEqual, QueryOperator::kLessOrEqual, QueryOperator::kGreater,
          QueryOperator::kLess, QueryOperator::kMatches, QueryOperator::kEquals,
          QueryOperator::kContains}) {
      if (!text_.substr(at_).starts_with(text_of(op))) continue;
      if (!takes(term.field, op))
        return fmt::format("{} does not support the operator {}", name, text_of(op));
      at_ += text_of(op).size();
      term.op = op;
      return std::nullopt;
    }
    return fmt::format("unknown operator after {}; operators are {}", single_quoted(name),
                       fmt::join(kOperators, " "));
  }

  std::optional<std::string> parse_values(std::string_view name, QueryTerm& term) {
    for (;;) {
      if (term.any_of.size() == kMaxQueryValues)
        return fmt::format("{} must have at most {} values", name, kMaxQueryValues);
      bool in_quotes = false;
      std::string text;
      if (auto fault = parse_text(name, text, in_quotes)) return fault;
      QueryValue value;
      if (auto fault = make_value(name, term, std::move(text), in_quotes, value)) return fault;
      term.any_of.push_back(std::move(value));
      if (peek() != ',') break;
      if (is_comparison(term.op))
        return fmt::format("{}{} takes one value, not a list", name, text_of(term.op));
      ++at_;
    }
    if (at_ < text_.size() && !is_space(text_[at_]))
      return fmt::format("a space must follow the value of {}", name);
    return std::nullopt;
  }

  std::optional<std::string> parse_text(std::string_view name, std::string& text, bool& in_quotes) {
    in_quotes = peek() == '"';
    if (!in_quotes) {
      const std::size_t start = at_;
      while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != ',' && text_[at_] != '"')
        ++at_;
      text = text_.substr(start, at_ - start);
      if (text.empty()) return fmt::format("{} has no value", name);
      return std::nullopt;
    }
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      const bool escapes = text_[at_] == '\\' && at_ + 1 < text_.size();
      if (escapes && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\')) ++at_;
      text.push_back(text_[at_]);
    }
    if (at_ == text_.size()) return fmt::format("the value of {} needs a closing quote", name);
    ++at_;
    return std::nullopt;
  }

  static std::optional<std::string> make_value(std::string_view name, const QueryTerm& term,
                                               std::string text, bool in_quotes,
                                               QueryValue& value) {
    switch (kind_of(term.field)) {
      case Kind::kState: {
        const std::optional<JobState> state = terms::value_named<JobState>(text);
        if (!state) return unknown_state(text);
        value.state = static_cast<std::uint8_t>(*state);
        break;
      }
      case Kind::kId:
        value.id = parse_job_id(text);
        if (!value.id) {
          const bool of_workflow = term.field == QueryField::kWorkflow;
          return fmt::format("{} is not a {} id", single_quoted(text),
                             of_workflow ? "workflow" : "job");
        }
        break;
      case Kind::kNumber:
        value.number = parse_integer(text);
        if (!value.number)
          return fmt::format("{} takes an integer, not {}", name, single_quoted(text));
        break;
      case Kind::kTime:
        value.time = parse_time(text);
        if (!value.time)
          return fmt::format("{} takes a time such as 2026-03-01T09:30:00Z, not {}", name,
                             single_quoted(text));
        break;
      case Kind::kPath:
        value.number = parse_integer(text);
        value.real = parse_real(text);
        if (is_comparison(term.op) && !value.real) {
          return fmt::format("{}{} takes a number, not {}", name, text_of(term.op),
                             single_quoted(text));
        }
        break;
      case Kind::kText:
        if (in_quotes || term.op != QueryOperator::kMatches || !takes_wildcard(term.field)) break;
        if (auto fault = take_wildcard(name, text, value)) return fault;
        break;
    }
    value.text = std::move(text);
    return std::nullopt;
  }

  static std::optional<std::string> take_wildcard(std::string_view name, const std::string& text,
                                                  QueryValue& value) {
    const std::size_t star = text.find('*');
    if (star == std::string::npos) return std::nullopt;
    if (star + 1 != text.size()) return fmt::format("a '*' must be the last character of {}", name);
    value.wildcard = true;
    return std::nullopt;
  }

  static std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
    return value;
  }

  // A JSON number: no "inf", no "0x10", no spaces.
  static std::optional<double> parse_real(std::string_view text) {
    if (text.empty() || !(text[0] == '-' || (text[0] >= '0' && text[0] <= '9')))
      return std::nullopt;
    if (check_json(text, 0, LoneSurrogates::kRefused)) return std::nullopt;
    double value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
    return value;
  }

  // Parses a time, or a date as its first instant in UTC.
  static std::optional<Time> parse_time(std::string_view text) {
    constexpr std::size_t kDateSize = 10;
    if (text.size() == kDateSize) return parse_rfc3339(std::string(text) + "T00:00:00Z");
    return parse_rfc3339(text);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  bool has_workflow_ = false;
};

}  // namespace

std::string_view name_of(QueryField field) { return kFields.at(static_cast<std::size_t>(field)); }

std::string_view text_of(QueryOperator op) { return kOperators.at(static_cast<std::size_t>(op)); }

std::expected<Query, std::string> parse_query(std::string_view text) {
  if (text.size() > kMaxQueryBytes)
    return Fault(fmt::format("must have at most {} bytes", kMaxQueryBytes));
  if (!is_utf8(text)) return Fault("must be UTF-8");
  if (text.find('\0') != std::string_view::npos) return Fault("must not contain U+0000");
  return Parser(text).run();
}

}  // namespace millrace::api
