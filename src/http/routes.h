// The table of all calls: method, path, the scope that each needs, and its handler. An unknown path
// is 404; a known path with another method is 405.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/method.h"
#include "api/scope.h"
#include "service/task.h"

namespace millrace::http {

class Call;

struct Route {
  using Handler = service::Task<void> (*)(Call&);
  // kPlain: the answer is never compressed, since it may hold a secret, or has its own forms,
  // already compressed.
  enum class Coding : std::uint8_t { kCompressible, kPlain };

  api::Method method;
  std::string_view pattern;  // a segment in braces matches any one segment; at most two
  api::Scope scope;
  Handler handler;
  Coding coding = Coding::kCompressible;
};

std::span<const Route> all_routes();
// The place of one of them.
std::size_t row_of(const Route& route);

struct RouteMatch {
  enum class Result : std::uint8_t { kFound, kNotFound, kMethodNotAllowed };
  Result result = Result::kNotFound;
  const Route* route = nullptr;  // kFound
  std::string parameter;  // kFound: the value of the first segment in braces, percent-decoded,
                          // valid UTF-8, not empty; or empty: the pattern has none
  std::string second;     // likewise
  std::string allow;      // kMethodNotAllowed: the header Allow, "GET, HEAD, POST"
};

// `path` is the target before any '?', as sent. HEAD uses GET's routes. A literal segment is
// preferred to one in braces: GET /v1/jobs/batch is 405, not a job named "batch".
RouteMatch match_route(api::Method method, std::string_view path);

}  // namespace millrace::http
