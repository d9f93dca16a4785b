// The search language of `q`: words such as
//
//   queue:mail state:dead,retrying type:email.* error~timeout attempt>=3 -tag:vip
//   payload.user.id:42
//
// A word is FIELD OPERATOR VALUE. All words must hold; '-' in front negates one. VALUE is plain
// text, or "quoted" with \" and \\ inside. Several values, separated by commas, mean any of them
// (with ':', '=' and '~'). This room parses; the store compiles the result to parameterised SQL.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "base/ids.h"
#include "base/time.h"

namespace millrace::api {

enum class QueryField : std::uint8_t {
  kId,
  kQueue,
  kType,
  kState,
  kTag,
  kWorker,
  kPriority,
  kAttempt,
  kError,  // the last error: its type with ':' and '=', its type or message with '~'
  kCreated,
  kRunAt,
  kFinished,
  kSchedule,
  kLimit,
  kOrder,     // the order key
  kFair,      // the fair key
  kWorkflow,  // the workflow's id: alone, once, not negated
  kMeta,      // meta.KEY: everything after the first dot is the key
  kPayload,   // payload.PATH
  kResult,    // result.PATH
};
std::string_view name_of(QueryField field);

enum class QueryOperator : std::uint8_t {
  kMatches,   // ':' equal; a '*' at the end of an unquoted name matches any ending
  kEquals,    // '=' equal; '*' has no special meaning
  kContains,  // '~' contains the text, ignoring case
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
};
std::string_view text_of(QueryOperator op);

// A value as text, and in the form in which its field compares it.
struct QueryValue {
  std::string text;
  bool wildcard = false;  // kMatches of names: the trailing '*' matches any ending
  // kPriority, kAttempt: always; paths: if the text is an integer.
  std::optional<std::int64_t> number;
  std::optional<double> real;  // paths: if the text is any JSON number
  std::optional<Time> time;    // kCreated, kRunAt, kFinished: always
  std::optional<JobId> id;     // kId, kWorkflow: always
  std::uint8_t state = 0;      // kState: a JobState

  friend bool operator==(const QueryValue&, const QueryValue&) = default;
};

struct QueryTerm {
  bool negated = false;
  QueryField field = QueryField::kId;
  // kMeta: the key; kPayload, kResult: member names or array indexes, joined by dots.
  std::string path;
  QueryOperator op = QueryOperator::kMatches;
  std::vector<QueryValue> any_of;  // 1 to kMaxQueryValues; one for the comparisons

  friend bool operator==(const QueryTerm&, const QueryTerm&) = default;
};

struct Query {
  std::vector<QueryTerm> terms;  // at most kMaxQueryTerms; empty: everything

  bool empty() const { return terms.empty(); }
  friend bool operator==(const Query&, const Query&) = default;
};

// The error is a sentence for the client that names the faulty word.
std::expected<Query, std::string> parse_query(std::string_view text);

}  // namespace millrace::api
