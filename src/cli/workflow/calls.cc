#include "cli/workflow/calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/json_check.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/schedule/document.h"
#include "cli/workflow/view.h"

namespace millrace::cli {

std::string workflow_path(std::string_view id, std::string_view rest) {
  return fmt::format("/v1/workflows/{}{}", sdk::url_encode(id), rest);
}

std::string member_path(std::string_view id, std::string_view ref, std::string_view rest) {
  return workflow_path(id, fmt::format("/members/{}{}", sdk::url_encode(ref), rest));
}

void add_workflow_id(CLI::App& command, std::string& id) {
  command.add_option("ID", id, "Id of the workflow")->required();
}

std::size_t most_of(const ListLength& length) { return length.all ? kAllItems : length.limit; }

void add_list_length(CLI::App& command, ListLength& length, std::string_view nouns) {
  CLI::Option* const limit =
      command.add_option("-n,--limit", length.limit, fmt::format("Most {} to list", nouns))
          ->check(CLI::PositiveNumber)
          ->capture_default_str();
  command.add_flag("--all", length.all, "List all of them")->excludes(limit);
}

sdk::Result<ListedItems> read_items(sdk::Client& client, const std::string& path, std::size_t most,
                                    std::size_t page) {
  ListedItems listed;
  do {
    std::string query;
    if (page > 0) query = fmt::format("limit={}", std::min(page, most - listed.items.size()));
    if (!listed.next_cursor.empty()) {
      query +=
          fmt::format("{}cursor={}", query.empty() ? "" : "&", sdk::url_encode(listed.next_cursor));
    }
    std::string whole = path;
    if (!query.empty()) whole += (path.find('?') == std::string::npos ? "?" : "&") + query;
    const auto answer = client.call({.path = whole});
    if (!answer) return std::unexpected(answer.error());
    const sdk::JsonView list(answer->body);
    for (const sdk::JsonView item : list["items"].elements()) {
      listed.items.emplace_back(item.text());
    }
    listed.next_cursor = list["next_cursor"].string().value_or("");
  } while (!listed.next_cursor.empty() && listed.items.size() < most);
  return listed;
}

std::string list_json(const ListedItems& listed) {
  return fmt::format(R"({{"items":[{}],"next_cursor":{}}})", fmt::join(listed.items, ","),
                     listed.next_cursor.empty() ? "null" : sdk::json_string(listed.next_cursor));
}

void note_cut(const ListedItems& listed) {
  if (listed.next_cursor.empty()) return;
  note(fmt::format("the first {} are shown; --all lists all", listed.items.size()));
}

std::optional<std::string> read_json_file(const std::string& file, Session& session) {
  auto content = read_whole_file(file);
  if (!content) {
    session.fail(kUsage, content.error().message);
    return std::nullopt;
  }
  if (const auto fault = check_json(*content, kMaxJsonDepth, LoneSurrogates::kRefused)) {
    session.fail(kUsage, fmt::format("{} is not JSON: {}, at byte {}", file, fault->reason,
                                     fault->position));
    return std::nullopt;
  }
  return std::move(*content);
}

void fail_on_member(const sdk::Error& error, std::string_view id, std::string_view ref,
                    Session& session) {
  if (error.code != "not_found") return session.fail(error);
  session.fail(kNotFound, fmt::format("there is no workflow {0} with a member {1}; `millrace "
                                      "workflow members {0}` shows those that exist",
                                      id, ref));
}

void fail_on_workflow_file(const sdk::Error& error, std::string_view file, Session& session) {
  if (error.errors.empty()) return session.fail(error);
  constexpr std::size_t kMostFaults = 20;
  for (std::size_t i = 0; i < std::min(error.errors.size(), kMostFaults); ++i) {
    const sdk::FieldError& fault = error.errors[i];
    note(fmt::format("{}: {}: {}", file, fault.where, fault.detail));
  }
  session.fail(exit_code_of(error), error.message + "; nothing was changed");
}

void print_workflow(std::string_view json, Session& session) {
  print_line(session.json() ? std::string(json) : workflow_line(sdk::JsonView(json)));
}

}  // namespace millrace::cli
