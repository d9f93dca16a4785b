#include "cli/limit/calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace millrace::cli {

std::string limit_path(bool of_type, std::string_view name, std::string_view rest) {
  return fmt::format("/v1/{}/{}{}", of_type ? "types" : "limits", sdk::url_encode(name), rest);
}

sdk::Result<std::vector<std::string>> all_pages(sdk::Client& client, const std::string& path) {
  std::vector<std::string> items;
  std::string cursor;
  do {
    const char joint = path.find('?') == std::string::npos ? '?' : '&';
    std::string page = fmt::format("{}{}limit=1000", path, joint);
    if (!cursor.empty()) page += "&cursor=" + sdk::url_encode(cursor);
    auto answer = client.call({.path = page});
    if (!answer) return std::unexpected(answer.error());
    const sdk::JsonView list(answer->body);
    for (const sdk::JsonView item : list["items"].elements()) items.emplace_back(item.text());
    cursor = list["next_cursor"].string().value_or("");
  } while (!cursor.empty());
  return items;
}

std::string on_one_page(const std::vector<std::string>& items) {
  return fmt::format("{{\"items\":[{}],\"next_cursor\":null}}", fmt::join(items, ","));
}

std::vector<sdk::JsonView> views(const std::vector<std::string>& items) {
  std::vector<sdk::JsonView> made;
  for (const std::string& item : items) made.emplace_back(item);
  return made;
}

std::string explain_on_limits(const sdk::Error& error, const std::vector<std::string>& names) {
  if (error.code != "unknown_limit" || names.empty()) return explain(error);
  return fmt::format(
      "there is no limit {}{}; `millrace limit list` shows those that exist, and `millrace limit "
      "set` makes one",
      names.size() > 1 ? "with one of the names " : "", fmt::join(names, ", "));
}

sdk::Result<std::string> send(sdk::Client& client, std::string_view method, const std::string& path,
                              std::string body) {
  auto answer = client.call({.method = std::string(method), .path = path, .body = std::move(body)});
  if (!answer) return std::unexpected(answer.error());
  return std::move(answer->body);
}

}  // namespace millrace::cli
