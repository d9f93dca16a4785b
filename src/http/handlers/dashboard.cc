// The dashboard's files.
#include <algorithm>

#include "api/list.h"
#include "http/assets.h"
#include "http/connection/accept_encoding.h"
#include "http/handlers/common.h"
#include "http/handlers/handlers.h"

namespace millrace::http {
namespace {

// No inline code, no eval, nothing from another origin. Text never becomes markup, since no
// trusted-types policy can be created.
constexpr std::string_view kGuards =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Vary: Accept-Encoding\r\n";

struct Form {
  std::string_view bytes;
  std::string_view coding;  // empty: none
};
Form form_for(const Call& call, const Asset& asset) {
  if (takes_coding(*call.head, "br")) return {asset.brotli, "br"};
  if (takes_coding(*call.head, "gzip")) return {asset.gzip, "gzip"};
  return {asset.plain, {}};
}

}  // namespace

Task<void> get_asset(Call& call) {
  const std::span<const Asset> all = assets();
  const auto found = std::ranges::find(all, call.head->path(), &Asset::path);
  if (found == all.end()) {
    call.refuse(api::ProblemCode::kNotFound,
                "the dashboard of this version has no such file; load the page again");
    co_return;
  }
  const Form form = form_for(call, *found);
  Response& response = call.response;
  const std::string tag = '"' + std::string(found->tag) + std::string(form.coding) + '"';
  response.more_fields.append(kGuards).append("ETag: ").append(tag).append("\r\n");
  response.more_fields += found->path == "/"
                              ? "Cache-Control: no-cache\r\n"
                              : "Cache-Control: public, max-age=31536000, immutable\r\n";
  const Field* const known = call.head->find("if-none-match");
  if (known != nullptr && known->value.find(tag) != std::string_view::npos) {
    response.status = 304;
    co_return;
  }
  response.content_type = found->content_type;
  if (!form.coding.empty()) {
    response.more_fields.append("Content-Encoding: ").append(form.coding).append("\r\n");
  }
  response.body = form.bytes;
}

}  // namespace millrace::http
