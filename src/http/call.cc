#include "http/call.h"

#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

constexpr Duration kRetryAfterTrouble{1'000};
constexpr std::string_view kSendAToken =
    "the request needs a valid token; send 'Authorization: Bearer mlr_...'";

}  // namespace

void Response::clear() {
  status = 200;
  media_type = MediaType::kJson;
  body.clear();
  version.reset();
  replayed = false;
  retry_after.reset();
  allow.clear();
  problem = {};
  content_type = {};
  more_fields.clear();
  must_close = false;
  holds_secrets = false;
  upgrades.reset();
}

void Call::clear() {
  response.clear();
  head = nullptr;
  body = {};
  by_cookie = false;
  caller.begin_anew();
  caller.note.clear();
}

void Call::introduce() {
  const Field* const field = head->find("authorization");
  caller.credentials = field == nullptr ? std::string_view() : field->value;
  if (field == nullptr && by_cookie) {
    caller.credentials = certified_credentials;
  } else if (field == nullptr && caller.access != nullptr && !certified_name.empty()) {
    certified_credentials.assign(engine::kCertified).append(certified_name);
    caller.credentials = certified_credentials;
  }
  caller.scope = route.route->scope;
  caller.address = peer;
  caller.request_id = request_id;
  caller.via = by_cookie ? core::AuditVia::kDashboard : core::AuditVia::kHttp;
  if (goes_to(metrics)) {
    // An occasional scrape does not wait for its turn behind other clients at the same address.
    caller.reader = "metrics";
  } else {
    caller.reader =
        caller.access != nullptr ? std::string_view(caller.access->settings().name) : peer;
  }
}

void Call::refuse(const api::Problem& problem) {
  const api::ProblemKind& kind = api::kind_of(problem.code);
  response.clear();
  response.status = kind.status;
  response.media_type = MediaType::kProblem;
  response.problem = kind.name;
  response.retry_after = problem.retry_after;
  // Clients get a Retry-After even if the time can't be known.
  if (!response.retry_after && (kind.status == 429 || kind.status == 503)) {
    response.retry_after = kRetryAfterTrouble;
  }
  JsonWriter json(response.body);
  if (problem.code == ProblemCode::kUnauthenticated && problem.detail.empty()) {
    api::Problem told = problem;
    told.detail = kSendAToken;
    return api::encode(json, told, request_id);
  }
  api::encode(json, problem, request_id);
}

}  // namespace millrace::http
