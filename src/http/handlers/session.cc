// A browser's session: signing in and out, and its rights.
#include <algorithm>
#include <array>

#include "api/browser_session.h"
#include "api/list.h"
#include "http/browser_session.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "http/middlewares.h"
#include "service/audit.h"

namespace millrace::http {
namespace {

constexpr std::array<api::Scope, 6> kScopes = {api::Scope::kSubmit, api::Scope::kWork,
                                               api::Scope::kRead,   api::Scope::kOperate,
                                               api::Scope::kAdmin,  api::Scope::kPayload};

void answer_session(Call& call) {
  api::BrowserSession session;
  session.required = !call.services.tokens.empty();
  const service::Access* const access = call.caller.access.get();
  for (const api::Scope scope : kScopes) {
    const bool allowed = access != nullptr ? access->allows(scope) : !session.required;
    if (allowed) session.scopes.emplace_back(api::name_of(scope));
  }
  if (access != nullptr) {
    session.signed_in = true;
    session.name = access->settings().name;
    session.queues = access->settings().queues;
    session.expires_at = access->settings().expires_at;
    if (call.by_cookie) session.guard = guard_of(call.certified_credentials);
  }
  JsonWriter json(call.response.body);
  api::encode(json, session);
  call.response.more_fields.append("Cache-Control: no-store\r\n");
}

// Audits a change of the session itself, which no shard decides.
Task<void> note(Call& call, std::string_view action) {
  call.caller.via = core::AuditVia::kDashboard;
  const auto& access = call.caller.access;
  const std::string name = access == nullptr ? std::string() : access->settings().name;
  Task<void> noted = service::note_audit(call.caller, service::about(action, "session", name));
  co_await noted;
}

// Limits the writes that a client can cause by trying tokens.
bool may_note_failure(Call& call) {
  constexpr std::int64_t kMostAMinute = 60;
  const std::int64_t minute = to_ms(call.now()) / 60'000;
  std::atomic<std::int64_t>& noted = call.services.failed_sign_ins;  // minute * 100 + number
  std::int64_t before = noted.load();
  while (true) {
    const std::int64_t after = before / 100 == minute ? before + 1 : minute * 100 + 1;
    if (after % 100 > kMostAMinute) return false;
    if (noted.compare_exchange_weak(before, after)) return true;
  }
}

}  // namespace

Task<void> get_session(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  answer_session(call);
}

Task<void> sign_in(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto wanted = accepted(call, api::decode_sign_in(call.body, call.services.limits));
  if (!wanted) co_return;
  if (call.services.tokens.empty()) {
    co_return call.refuse(api::ProblemCode::kInvalidState,
                          "no tokens are configured on this server, so it needs no session");
  }
  call.caller.access = nullptr;
  call.certified_credentials.assign("Bearer ").append(wanted->token);
  if (const auto refusal = log_in(call, call.certified_credentials)) {
    api::Problem told = *refusal;
    if (told.detail.empty()) {
      told.detail =
          "the server knows no such token, or it has expired; check that all of it, from "
          "'mlr_' on, was pasted";
    }
    if (told.code == api::ProblemCode::kUnauthenticated && may_note_failure(call)) {
      Task<void> noted = note(call, "session.sign_in_failed");
      co_await noted;
    }
    co_return call.refuse(told);
  }
  call.by_cookie = true;
  Task<void> noted = note(call, "session.signed_in");
  co_await noted;
  answer_session(call);
  call.response.more_fields.append(
      cookie_field(wanted->token, call.now() + kSessionLife, comes_over_tls(*call.head)));
}

Task<void> sign_out(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  if (call.caller.access != nullptr) {
    Task<void> noted = note(call, "session.signed_out");
    co_await noted;
  }
  call.no_content();
  call.response.more_fields.append(no_cookie_fields());
}

}  // namespace millrace::http
