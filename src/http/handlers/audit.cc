// The audit, in one of two forms: a page, newest first; or all of it as lines, oldest first. Each
// page of lines ends with a cursor, from which a later call continues.
#include "service/audit.h"

#include "api/list.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

using service::AuditOrder;

constexpr std::int64_t kLinesAtOnce = 500;

// The media type of lines that the client requests; empty: it wants a page.
std::string_view type_of_lines(const Call& call) {
  const Field* const accept = call.head->find("accept");
  if (accept == nullptr || call.head->method != api::Method::kGet) return {};
  for (const std::string_view type : {"application/jsonl", "application/x-ndjson"}) {
    if (accept->value.find(type) != std::string_view::npos) return type;
  }
  return {};
}

Task<void> send_lines(Call& call, api::AuditFilter filter, std::string_view type) {
  filter.limit = kLinesAtOnce;
  std::string piece;
  for (bool first = true;; first = false) {
    auto page = co_await service::list_audit(call.caller, filter, AuditOrder::kOldestFirst);
    if (!page && first) co_return call.refuse(page.error());
    if (first) {
      call.response.content_type = type;
      call.response.more_fields = "Cache-Control: no-store\r\n";
    }
    // The lines end without a cursor: the client continues from the last one it has.
    if (!page) co_return;
    for (const api::AuditEntry& entry : page->entries) {
      JsonWriter json(piece);
      api::encode(json, entry);
      piece.push_back('\n');
    }
    JsonWriter json(piece);
    json.begin_object();
    json.member("next_cursor", page->next);
    json.end_object();
    piece.push_back('\n');
    const bool sent = co_await call.stream->send(piece);
    if (!sent || !page->more) co_return;
    piece.clear();
    filter.cursor = page->next;
    filter.fresh = false;
  }
}

}  // namespace

Task<void> list_audit(Call& call) {
  auto filter = accepted(call, api::decode_audit_query(call.query()));
  if (!filter) co_return;
  if (const std::string_view type = type_of_lines(call); !type.empty()) {
    Task<void> lines = send_lines(call, std::move(*filter), type);
    co_return co_await lines;
  }
  const auto page = co_await service::list_audit(call.caller, *filter, AuditOrder::kNewestFirst);
  if (!page) co_return call.refuse(page.error());
  JsonWriter json(call.response.body);
  api::encode_list(json, page->entries, page->next);
}

}  // namespace millrace::http
