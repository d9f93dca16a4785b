#include "http/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/finding.h"
#include "http/handlers/handlers.h"
#include "http/openapi.h"

namespace millrace::http {
namespace {

using api::Method;
using api::Scope;
using Result = RouteMatch::Result;

std::string fill(std::string_view pattern, std::string_view value) {
  std::string path(pattern);
  for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{')) {
    path.replace(open, path.find('}') - open + 1, value);
  }
  return path;
}

TEST(Routes, EachIsFoundByItsOwnPath) {
  std::set<std::pair<std::string_view, Method>> seen;
  for (const Route& route : all_routes()) {
    const RouteMatch match = match_route(route.method, fill(route.pattern, "x"));
    ASSERT_EQ(match.result, Result::kFound) << route.pattern;
    EXPECT_EQ(match.route, &route) << route.pattern;
    EXPECT_EQ(match.parameter, route.pattern.find('{') == std::string_view::npos ? "" : "x");
    EXPECT_EQ(match.second.empty(), std::ranges::count(route.pattern, '{') < 2) << route.pattern;
    EXPECT_EQ(&all_routes()[row_of(route)], &route);
    EXPECT_TRUE(seen.emplace(route.pattern, route.method).second) << "twice: " << route.pattern;
  }
}

TEST(Routes, TheContractListsTheFindings) {
  const std::string_view contract = openapi_json();
  const std::size_t begin = contract.find("\"enum\":[", contract.find(R"("FindingCode":)"));
  ASSERT_NE(begin, std::string_view::npos);
  std::string codes;
  for (std::size_t code = 0; code < api::kFindingCodes; ++code) {
    codes += codes.empty() ? "\"enum\":[\"" : ",\"";
    codes.append(api::name_of(static_cast<api::FindingCode>(code))) += '"';
  }
  EXPECT_TRUE(contract.substr(begin).starts_with(codes + "]"))
      << contract.substr(begin, codes.size() + 9) << "\n"
      << codes;
}

// Also open: the nodes' own route, where an unauthenticated client only gets a challenge; the
// dashboard's files, the same for all callers; and the sign-in.
TEST(Routes, NothingIsOpenButTheProbesAndTheDoor) {
  const std::set<std::string_view> open = {"/livez",      "/readyz", "/internal/v1/peer",
                                           "/v1/session", "/",       "/assets/{name}"};
  for (const Route& route : all_routes()) {
    EXPECT_EQ(route.scope == Scope::kNone, open.contains(route.pattern)) << route.pattern;
  }
}

TEST(Routes, ReadingNeverNeedsMoreThanReadAndWritingNeverLess) {
  for (const Route& route : all_routes()) {
    if (route.scope == Scope::kNone) continue;
    // Only administrators may see other tokens.
    if (route.handler == list_tokens || route.handler == get_token) continue;
    if (route.pattern.starts_with("/v1/admin/")) {
      EXPECT_EQ(route.scope, Scope::kAdmin) << route.pattern;
      continue;
    }
    // A read-only call with a body.
    if (route.handler == preview_schedule) continue;
    EXPECT_EQ(route.method == Method::kGet, route.scope == Scope::kRead) << route.pattern;
  }
}

TEST(Routes, UnknownPathsAreNotFound) {
  for (const std::string_view path : {"",
                                      "/assets",
                                      "/assets/",
                                      "/assets/x/y",
                                      "/v1",
                                      "/v1/",
                                      "/v1/jobs/",
                                      "/v1/jobs//cancel",
                                      "/v1/job",
                                      "/v2/jobs",
                                      "/v1/jobs/x/y",
                                      "/v1/jobs/x/",
                                      "/v1/jobs/x/cancel/",
                                      "/v1/schedules/x/fire",
                                      "/v1/workflows/x/members/y/z",
                                      "/V1/jobs",
                                      "/v1/queues/a/b/pause",
                                      "v1/jobs",
                                      "//v1/jobs",
                                      "/v1/workers/x",
                                      "/v1/tokens/x/y",
                                      "/livez/"}) {
    EXPECT_EQ(match_route(Method::kGet, path).result, Result::kNotFound) << path;
    EXPECT_EQ(match_route(Method::kPost, path).result, Result::kNotFound) << path;
  }
}

TEST(Routes, AWrongMethodNamesTheRightOnes) {
  const struct {
    Method method;
    std::string_view path;
    std::string_view allow;
  } cases[] = {
      {Method::kDelete, "/v1/jobs", "POST, GET, HEAD"},
      {Method::kPost, "/v1/jobs/x", "GET, HEAD, PATCH, DELETE"},
      {Method::kGet, "/v1/jobs/batch", "POST"},
      {Method::kDelete, "/v1/jobs/bulk", "POST"},
      {Method::kGet, "/v1/jobs/x/cancel", "POST"},
      {Method::kHead, "/v1/claim", "POST"},
      {Method::kPut, "/v1/tokens", "GET, HEAD, POST"},
      {Method::kPost, "/v1/tokens/x", "GET, HEAD, DELETE"},
      {Method::kGet, "/v1/tokens/x/rotate", "POST"},
      {Method::kPost, "/v1/queues/x", "GET, HEAD, PUT, PATCH, DELETE"},
      {Method::kOther, "/livez", "GET, HEAD"},
  };
  for (const auto& each : cases) {
    const RouteMatch match = match_route(each.method, each.path);
    EXPECT_EQ(match.result, Result::kMethodNotAllowed) << each.path;
    EXPECT_EQ(match.allow, each.allow) << each.path;
    EXPECT_EQ(match.route, nullptr);
  }
}

TEST(Routes, HeadIsGet) {
  EXPECT_EQ(match_route(Method::kHead, "/v1/queues/x").route->handler, get_queue);
}

TEST(Routes, DecodesTheParameter) {
  EXPECT_EQ(match_route(Method::kGet, "/v1/queues/a%2Fb%3Ac").parameter, "a/b:c");
  EXPECT_EQ(match_route(Method::kPost, "/v1/queues/a%2fb/pause").parameter, "a/b");
  const RouteMatch both = match_route(Method::kPost, "/v1/workflows/a%2Fb/members/c%20d/skip");
  EXPECT_EQ(both.parameter, "a/b");
  EXPECT_EQ(both.second, "c d");
  EXPECT_EQ(match_route(Method::kGet, "/v1/queues/a+b").parameter, "a+b")
      << "a plus is a plus in a path";
  EXPECT_EQ(match_route(Method::kGet, "/v1/queues/{name}").parameter, "{name}");
  for (const std::string_view path :
       {"/v1/queues/%", "/v1/queues/%2", "/v1/queues/%zz", "/v1/queues/%ff"}) {
    EXPECT_EQ(match_route(Method::kGet, path).result, Result::kNotFound) << path;
  }
}

TEST(Routes, ScopesAndMethodsHaveTheirNames) {
  EXPECT_EQ(name_of(Method::kPatch), "PATCH");
  EXPECT_EQ(name_of(Scope::kSubmit), "submit");
  EXPECT_EQ(name_of(Scope::kAdmin), "admin");
  EXPECT_EQ(name_of(Scope::kPayload), "payload");
}

}  // namespace
}  // namespace millrace::http
