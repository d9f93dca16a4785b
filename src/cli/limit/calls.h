// The API calls of these commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"
#include "millrace/json.h"

namespace millrace::cli {

// The path of a named limit, or of a type's gate: "/v1/limits", "/v1/types".
std::string limit_path(bool of_type, std::string_view name, std::string_view rest = {});

// The items of all pages of a list, each as the server sent it.
sdk::Result<std::vector<std::string>> all_pages(sdk::Client& client, const std::string& path);
// The items as the API lists them, on one page.
std::string on_one_page(const std::vector<std::string>& items);
std::vector<sdk::JsonView> views(const std::vector<std::string>& items);

// As explain(). If one of the named limits does not exist, which the answer does not tell, names
// them.
std::string explain_on_limits(const sdk::Error& error, const std::vector<std::string>& names);

sdk::Result<std::string> send(sdk::Client& client, std::string_view method, const std::string& path,
                              std::string body = {});

}  // namespace millrace::cli
