// Any bytes as a query string of each call, as `q`, and as a path; the first byte says which.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/event.h"
#include "api/job_calls.h"
#include "api/json_value.h"
#include "api/list.h"
#include "api/query.h"
#include "api/routes.h"
#include "api/stats.h"
#include "base/check.h"

namespace {

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<char> memory(data + 1, data + size);
  const std::string_view text(memory.data(), memory.size());
  switch (data[0] % 6) {
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
    default:
      const RouteMatch match = match_route(Method::kPost, text);
      MILLRACE_CHECK((match.result == RouteMatch::Result::kFound) == (match.route != nullptr));
      MILLRACE_CHECK(is_utf8(match.parameter));
      break;
  }
  return 0;
}
