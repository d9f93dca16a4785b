#include "api/token.h"

#include "api/list.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/token_admin.h"

namespace millrace::http {
namespace {

void answer_made(Call& call, const service::Answered<service::TokenMade>& made, int status) {
  if (!made) return call.refuse(made.error());
  JsonWriter json(call.response.body);
  api::encode(json, made->info, made->token);
  call.response.status = status;
}

}  // namespace

Task<void> list_tokens(Call& call) {
  const auto wanted = accepted(call, api::decode_page_query(call.query()));
  if (!wanted) co_return;
  const auto page = service::list_tokens(call.caller, *wanted);
  if (!page) co_return call.refuse(page.error());
  JsonWriter json(call.response.body);
  api::encode_list(json, page->tokens, page->next);
}

Task<void> get_token(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto token = service::get_token(call.caller, call.parameter());
  if (!token) co_return call.refuse(token.error());
  JsonWriter json(call.response.body);
  api::encode(json, *token);
}

Task<void> create_token(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto wanted = accepted(call, api::decode_new_token(call.body, call.services.limits));
  if (!wanted) co_return;
  const auto made = co_await service::create_token(call.caller, *wanted);
  answer_made(call, made, 201);
}

Task<void> rotate_token(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto rotation = accepted(call, api::decode_rotation(call.body, call.services.limits));
  if (!rotation) co_return;
  const auto made = co_await service::rotate_token(call.caller, call.parameter(), *rotation);
  answer_made(call, made, 200);
}

Task<void> delete_token(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto revoked = co_await service::revoke_token(call.caller, call.parameter());
  if (!revoked) co_return call.refuse(revoked.error());
  call.no_content();
}

}  // namespace millrace::http
