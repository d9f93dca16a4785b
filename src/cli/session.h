// The context of every command: the global options, the connection to the server, and error
// reporting.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "millrace/client.h"

namespace millrace::cli {

struct Session {
  std::string url;
  std::string token;
  std::string ca_file;  // for TLS, like the next two; empty: none
  std::string cert_file;
  std::string key_file;
  std::string token_file;
  std::string output = "table";
  // The words after the first "--", removed before anything else is parsed.
  std::vector<std::string> after_dashes;
  bool has_dashes = false;
  int exit_code = 0;
  std::stop_token stop;  // cancels every later call of the client

  // A command that prints one item does the same with both; a list follows by_line().
  bool by_line() const { return output == "jsonl"; }
  bool json() const { return output == "json" || output == "jsonl"; }

  // Calls are tried once, without retries: a script decides by the exit code.
  Result<sdk::Client> connect() const;

  // Prints the error and the next step on standard error, and sets the exit code.
  void fail(const sdk::Error& error);
  void fail(int code, std::string_view message);
  // As fail(). If the server has no such thing, names it: "there is no limit mail; `millrace limit
  // list` shows those that exist".
  void fail_on(const sdk::Error& error, std::string_view kind, std::string_view name);

  // Prints a list as the API answers it, with its items in `items`; for jsonl one item a line.
  void print_list(std::string_view list) const;

  // Runs a command that needs the server.
  template <typename Command>
  void with_client(Command&& command) {
    auto client = connect();
    if (!client) return fail_to_connect(client.error());
    command(*client);
  }

  // For commands that do not accept "--".
  bool refuse_dashes();

 private:
  void fail_to_connect(const millrace::Error& error);
};

// One line: the error, and the next step if there is one.
std::string explain(const sdk::Error& error);
// As fail_on() says it. `kind` is one of: error, job, limit, push-target, token, type.
std::string explain_on(const sdk::Error& error, std::string_view kind, std::string_view name);

}  // namespace millrace::cli
