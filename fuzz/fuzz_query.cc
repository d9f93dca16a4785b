// Any bytes as a query string of each call, as `q`, as the headers with their own grammar, and as a
// path; the first byte selects which.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/event.h"
#include "api/job_calls.h"
#include "api/list.h"
#include "api/query.h"
#include "api/stats.h"
#include "api/submission.h"
#include "base/check.h"
#include "base/json_check.h"
#include "base/utf8.h"
#include "http/routes.h"

namespace {

using namespace millrace;
using namespace millrace::api;

template <typename T>
void check(const Decoded<T>& decoded) {
  if (decoded) return;
  MILLRACE_CHECK(decoded.error().code == ProblemCode::kValidationFailed);
  MILLRACE_CHECK(!decoded.error().errors.empty() &&
                 decoded.error().errors.size() <= kMaxFieldErrors);
  for (const FieldError& error : decoded.error().errors) {
    MILLRACE_CHECK(is_utf8(error.where) && is_utf8(error.detail));
  }
}

void check_query(std::string_view text) {
  const auto query = parse_query(text);
  if (!query) {
    MILLRACE_CHECK(!query.error().empty() && is_utf8(query.error()));
    return;
  }
  MILLRACE_CHECK(query->terms.size() <= kMaxQueryTerms);
  for (const QueryTerm& term : query->terms) {
    MILLRACE_CHECK(!term.any_of.empty() && term.any_of.size() <= kMaxQueryValues);
    MILLRACE_CHECK((term.field >= QueryField::kMeta) == !term.path.empty());
    for (const QueryValue& value : term.any_of)
      MILLRACE_CHECK(!value.wildcard || value.text.ends_with('*'));
  }
}

void check_route(Method method, std::string_view path) {
  const http::RouteMatch match = http::match_route(method, path);
  const bool found = match.result == http::RouteMatch::Result::kFound;
  MILLRACE_CHECK(found == (match.route != nullptr));
  MILLRACE_CHECK(is_utf8(match.parameter));
  if (found) {
    MILLRACE_CHECK(match.parameter.empty() ==
                   (match.route->pattern.find('{') == std::string_view::npos));
  }
  const bool other = match.result == http::RouteMatch::Result::kMethodNotAllowed;
  MILLRACE_CHECK(other == !match.allow.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<char> memory(data + 1, data + size);
  const std::string_view text(memory.data(), memory.size());
  switch (data[0] % 12) {
    case 0:
      check_query(text);
      break;
    case 1:
      check(decode_job_list_query(text));
      break;
    case 2:
      check(decode_job_query(text));
      break;
    case 3:
      check(decode_events_query(text));
      break;
    case 4:
      check(decode_stats_query(text));
      break;
    case 5:
      for (const Method method : {Method::kGet, Method::kHead, Method::kPost, Method::kPut,
                                  Method::kPatch, Method::kDelete, Method::kOther}) {
        check_route(method, text);
      }
      break;
    case 6:
      check(decode_include_query(text));
      break;
    case 7:
      check(decode_page_query(text));
      break;
    case 8:
      check(decode_no_query(text));
      break;
    case 9:
      check(decode_verbose_query(text));
      break;
    case 10:
      check(decode_if_match(text));
      break;
    default:
      check(decode_idempotency_key(text));
      break;
  }
  return 0;
}
