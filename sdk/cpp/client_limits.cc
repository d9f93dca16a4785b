// The client's calls on limits.
#include <fmt/format.h>

#include "client_calls.h"
#include "json_reader.h"
#include "millrace/client.h"
#include "millrace/json.h"
#include "shapes_json.h"

namespace millrace::sdk {
namespace {

std::string limit_path(std::string_view name, std::string_view rest = {}) {
  return fmt::format("/v1/limits/{}{}", url_encode(name), rest);
}

}  // namespace

Result<Page<Limit>> Client::limits(std::string_view cursor) {
  QueryString query;
  query.add("limit", "1000");
  query.add("cursor", cursor);
  return then(call({.path = "/v1/limits" + query.text(), .timeout = options_.timeout}),
              read_limits);
}

AllItems<Limit> Client::all_limits() {
  return AllItems<Limit>([this](const std::string& cursor) { return limits(cursor); });
}

Result<Limit> Client::limit(std::string_view name) {
  return then(call({.path = limit_path(name), .timeout = options_.timeout}), read_limit);
}

Result<Limit> Client::put_limit(std::string_view name, const LimitSettings& settings,
                                std::optional<std::int64_t> if_version) {
  JsonWriter json;
  json.begin_object();
  write_members(json, settings);
  return put_limit(name, json.end_object().text(), if_version);
}

Result<Limit> Client::put_limit(std::string_view name, std::string_view settings,
                                std::optional<std::int64_t> if_version) {
  return then(call({.method = "PUT",
                    .path = limit_path(name),
                    .body = std::string(settings),
                    .headers = if_match(if_version),
                    .timeout = options_.timeout}),
              read_limit);
}

Result<Limit> Client::patch_limit(std::string_view name, std::string_view settings,
                                  std::optional<std::int64_t> if_version) {
  return then(call({.method = "PATCH",
                    .path = limit_path(name),
                    .body = std::string(settings),
                    .headers = if_match(if_version),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kIfUnbegun}),
              read_limit);
}

Result<Limit> Client::pause_limit(std::string_view name, std::string_view reason) {
  std::string body;
  if (!reason.empty()) body = fmt::format(R"({{"reason":{}}})", json_string(reason));
  return then(call({.method = "POST",
                    .path = limit_path(name, "/pause"),
                    .body = std::move(body),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_limit);
}

Result<Limit> Client::resume_limit(std::string_view name) {
  return then(call({.method = "POST",
                    .path = limit_path(name, "/resume"),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_limit);
}

Result<void> Client::delete_limit(std::string_view name, bool force) {
  auto response = call({.method = "DELETE",
                        .path = limit_path(name, force ? "?force=true" : ""),
                        .timeout = options_.timeout});
  if (!response) return std::unexpected(std::move(response.error()));
  return {};
}

}  // namespace millrace::sdk
