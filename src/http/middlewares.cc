#include "http/middlewares.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <boost/asio/ip/address.hpp>

#include "api/text.h"
#include "base/ascii.h"
#include "http/browser_session.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using api::ProblemCode;
using Refusal = std::optional<api::Problem>;

constexpr std::size_t kMaxRequestIdBytes = 128;

Refusal refused(ProblemCode code, std::string detail) {
  return api::make_problem(code, std::move(detail));
}

Refusal take_request_id(Call& call) {
  const Field* field = call.head->find("x-request-id");
  if (field != nullptr && field->value.size() <= kMaxRequestIdBytes &&
      api::is_visible(field->value) && !field->value.empty()) {
    call.request_id = field->value;
    return std::nullopt;
  }
  call.request_id = make_request_id(call.caller.ids);
  return std::nullopt;
}

// The name in "name:port"; an IPv6 address is in brackets.
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
  return has_port ? host.substr(0, colon) : host;
}

bool names_loopback(std::string_view host) {
  std::string name(without_port(host));
  if (name.ends_with('.')) name.pop_back();
  if (equals_ignoring_case(name, "localhost")) return true;
  const bool v6 = name.starts_with('[') && name.ends_with(']');
  if (v6) name = name.substr(1, name.size() - 2);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(name, error);
  if (error || address.is_v6() != v6) return false;
  if (v6 && address.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6())
        .is_loopback();
  }
  return address.is_loopback();
}

// A server without tokens listens on loopback, which pages in this machine's browsers can reach
// too. A page whose host name resolves to this machine would count as same-site. Its Host header
// gives it away.
Refusal demand_local_name(Call& call) {
  if (!call.services.tokens.empty()) return std::nullopt;
  // Other nodes use the name that this one advertises, and authenticate themselves.
  if (call.goes_to(connect_peer)) {
    return std::nullopt;
  }
  const Field* host = call.head->find("host");
  if (host == nullptr || names_loopback(host->value)) return std::nullopt;
  return refused(ProblemCode::kForbidden,
                 "a server without tokens accepts only localhost or a loopback address as Host; "
                 "configure tokens, or have the proxy send Host: localhost");
}

// Browsers send simple requests from any page, and state the page's origin.
Refusal refuse_other_sites(Call& call) {
  const api::Method method = call.head->method;
  if (method == api::Method::kGet || method == api::Method::kHead) return std::nullopt;
  if (const Field* site = call.head->find("sec-fetch-site")) {
    if (site->value == "same-origin" || site->value == "none") return std::nullopt;
  } else {
    const Field* origin = call.head->find("origin");
    if (origin == nullptr) return std::nullopt;
    const std::size_t slashes = origin->value.find("://");
    const Field* host = call.head->find("host");
    if (slashes != std::string_view::npos && host != nullptr &&
        equals_ignoring_case(origin->value.substr(slashes + 3), host->value)) {
      return std::nullopt;
    }
  }
  return refused(ProblemCode::kForbidden,
                 "the server refuses changes by a page of another site (Sec-Fetch-Site, Origin); "
                 "send the request from a program");
}

Refusal find_route(Call& call) {
  call.route = match_route(call.head->method, call.head->path());
  return std::nullopt;
}

bool is_open(const Call& call) {
  return call.services.tokens.empty() ||
         (call.route.route != nullptr && call.route.route->scope == api::Scope::kNone);
}

// Other schemes are meant for a proxy and ignored here.
bool names_bearer(std::string_view credentials) {
  constexpr std::string_view kScheme = "bearer";
  const std::string_view scheme = credentials.substr(0, credentials.find(' '));
  return equals_ignoring_case(scheme, kScheme);
}

// The client has reached the wrong server, or the server has lost its configuration. The request
// must not look as if its token were valid.
Refusal refuse_unknown_tokens(const Call& call, const Field* field) {
  const bool is_open = call.route.route != nullptr && call.route.route->scope == api::Scope::kNone;
  if (field == nullptr || is_open || !names_bearer(field->value)) return std::nullopt;
  return refused(ProblemCode::kUnauthenticated,
                 "the request has a token, but no tokens are configured on this server; check the "
                 "server's address and configuration, or send no token");
}

Refusal slowed(Duration wait) {
  Refusal refusal = refused(ProblemCode::kRateLimited,
                            "too many failed logins from this address; wait as Retry-After says, "
                            "then send a valid token");
  refusal->retry_after = wait;
  return refusal;
}

// Authenticates a browser by the token in its cookie.
Refusal authenticate_session(Call& call, std::string_view token) {
  call.certified_credentials.assign("Bearer ").append(token);
  Refusal refusal = log_in(call, call.certified_credentials);
  if (!refusal) call.by_cookie = true;
  if (refusal && refusal->code == ProblemCode::kUnauthenticated) {
    refusal->detail = "the session's token was revoked, or has expired; sign in again";
  }
  return is_open(call) ? std::nullopt : refusal;
}

Refusal authenticate(Call& call) {
  const Field* field = call.head->find("authorization");
  if (call.services.tokens.empty()) return refuse_unknown_tokens(call, field);
  if (field != nullptr) {
    Refusal refusal = log_in(call, field->value);
    return is_open(call) ? std::nullopt : refusal;
  }
  if (const auto token = token_in_cookie(*call.head, call.now())) {
    return authenticate_session(call, *token);
  }
  if (!call.certified_name.empty()) {
    call.caller.access =
        call.services.tokens.authenticate_certified(call.certified_name, call.now());
  }
  if (call.caller.access != nullptr || is_open(call)) return std::nullopt;
  return refused(ProblemCode::kUnauthenticated, {});  // the answer says how to log in
}

// A browser may send its cookie with any page's request. So a change must also come from the
// dashboard's page and prove knowledge of its guard.
Refusal demand_guard(Call& call) {
  const api::Method method = call.head->method;
  if (!call.by_cookie || method == api::Method::kGet || method == api::Method::kHead) {
    return std::nullopt;
  }
  // Signing in again requires the token itself.
  if (call.goes_to(sign_in)) {
    return std::nullopt;
  }
  const Field* const site = call.head->find("sec-fetch-site");
  const bool own_page =
      site != nullptr ? site->value == "same-origin" : call.head->find("origin") != nullptr;
  const Field* const guard = call.head->find(kGuardField);
  if (own_page && guard != nullptr && is_guard_of(guard->value, call.certified_credentials)) {
    return std::nullopt;
  }
  return refused(ProblemCode::kForbidden,
                 "a change under a session needs the header X-Millrace-Guard as GET /v1/session "
                 "says, and to come from the dashboard's page; programs send a token instead");
}

Refusal demand_route(Call& call) {
  using Result = RouteMatch::Result;
  if (call.route.result == Result::kNotFound) {
    return refused(ProblemCode::kNotFound, "there is no such path");
  }
  if (call.route.result == Result::kMethodNotAllowed) {
    return refused(ProblemCode::kMethodNotAllowed, "this path allows " + call.route.allow);
  }
  return std::nullopt;
}

Refusal demand_scope(Call& call) {
  const api::Scope scope = call.route.route->scope;
  if (is_open(call) || call.caller.access->allows(scope)) return std::nullopt;
  return service::lacks_scope(scope);
}

bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return equals_ignoring_case(type, "application/json");
}

Refusal demand_json(Call& call) {
  const api::Method method = call.route.route->method;
  if (method == api::Method::kGet || method == api::Method::kDelete) return std::nullopt;
  const Field* coding = call.head->find("content-encoding");
  if (coding != nullptr && !equals_ignoring_case(coding->value, "identity")) {
    return refused(ProblemCode::kUnsupportedMediaType,
                   "the server does not decode bodies; send the body without Content-Encoding");
  }
  const Field* field = call.head->find("content-type");
  if (field == nullptr || is_json(field->value)) return std::nullopt;
  return refused(ProblemCode::kUnsupportedMediaType, "Content-Type must be application/json");
}

Refusal bound_body(Call& call) {
  const std::size_t limit = call.services.limits.body_bytes;
  if (call.head->content_length.value_or(0) <= limit) return std::nullopt;
  return refused(ProblemCode::kPayloadTooLarge,
                 "the body must have at most " + std::to_string(limit) + " bytes");
}

using Middleware = Refusal (*)(Call&);

constexpr std::array<Middleware, 10> kMiddlewares = {
    take_request_id,     // first: every answer and every log line carries it
    find_route,          // refuses nothing yet; determines whether the route is open
    demand_local_name,   // a client misled about the server's identity learns nothing more
    refuse_other_sites,  // the same for a page of another site
    authenticate,        // before any check that would reveal what exists
    demand_guard,        // like refuse_other_sites, for sessions
    demand_route,        // 404 and 405; only a route has a scope
    demand_scope,        // before any check of the request's content
    demand_json,         // cheap: only reads the head
    bound_body,          // last: the checks above need no size
};
// The shard itself refuses new work while it drains, since acks, heartbeats and reads continue. The
// session renders errors and logs, since it also answers requests that never became calls.

}  // namespace

Refusal log_in(Call& call, std::string_view credentials) {
  service::LoginThrottle& logins = *call.services.logins;
  const Steady now = call.services.clock.steady();
  const std::string_view id = service::token_id_in(credentials).value_or(std::string_view());
  if (const auto wait = logins.refuses(call.peer, id, credentials, now)) return slowed(*wait);
  service::Tokens::Found found = call.services.tokens.authenticate(credentials, call.now());
  if (found.access != nullptr) {
    logins.succeeded(call.peer, credentials);
    call.caller.access = std::move(found.access);
    return std::nullopt;
  }
  if (found.unsure) {
    return refused(ProblemCode::kStorageUnavailable,
                   "the server can't look up the token now, because it hears nothing of the node "
                   "that keeps the tokens; try again later");
  }
  const auto wait = logins.failed(call.peer, found.known ? id : std::string_view(), now);
  return wait ? slowed(*wait) : refused(ProblemCode::kUnauthenticated, {});  // says how to log in
}

std::string make_request_id(service::IdMaker& ids) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
  std::string id = "r-";
  std::uint64_t random = ids.random();
  for (int i = 0; i < 12; ++i, random >>= 5) id += kDigits[random & 31];
  return id;
}

bool admit(Call& call) {
  for (const Middleware middleware : kMiddlewares) {
    if (const Refusal refusal = middleware(call)) {
      call.refuse(*refusal);
      if (refusal->code == ProblemCode::kMethodNotAllowed) call.response.allow = call.route.allow;
      return false;
    }
  }
  return true;
}

}  // namespace millrace::http
