// The API calls of these commands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "cli/session.h"
#include "millrace/json.h"

namespace millrace::cli {

inline constexpr const char* kExampleWorkflow = "019cb0b7-3f5c-737a-8def-0123456789ab";

std::string workflow_path(std::string_view id, std::string_view rest = {});
std::string member_path(std::string_view id, std::string_view ref, std::string_view rest = {});

// The argument ID of a command.
void add_workflow_id(CLI::App& command, std::string& id);

// The options -n, --limit and --all of a list.
struct ListLength {
  std::size_t limit = 50;
  bool all = false;
};
constexpr std::size_t kAllItems = static_cast<std::size_t>(-1);
std::size_t most_of(const ListLength& length);  // items
void add_list_length(CLI::App& command, ListLength& length, std::string_view nouns);

// The first items of a list, each as the server sent it.
struct ListedItems {
  std::vector<std::string> items;
  std::string next_cursor;  // empty: these are all
};
// `path` without a cursor, and without a limit; the pages hold `page` items at most (0: as the
// server likes).
sdk::Result<ListedItems> read_items(sdk::Client& client, const std::string& path, std::size_t most,
                                    std::size_t page);
// The items as the API lists them.
std::string list_json(const ListedItems& listed);
// Says that the list was cut, if it was.
void note_cut(const ListedItems& listed);

// The content of a file with JSON; "-" is standard input. None: an error was printed.
std::optional<std::string> read_json_file(const std::string& file, Session& session);

// As Session::fail_on(). The answer does not tell which of the two does not exist.
void fail_on_member(const sdk::Error& error, std::string_view id, std::string_view ref,
                    Session& session);
// As Session::fail(), for a call with a file: a fault names its place there.
void fail_on_workflow_file(const sdk::Error& error, std::string_view file, Session& session);

// Prints the workflow that a call answered: as JSON, or its id and state and how far it is.
void print_workflow(std::string_view json, Session& session);

}  // namespace millrace::cli
