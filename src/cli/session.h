// What every command works with: the options before all sub-commands, the way to the server, how to
// say what happened.
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
  std::string token_file;
  std::string output = "table";
  // What stood after the first "--", taken out before anything else is read.
  std::vector<std::string> after_dashes;
  bool has_dashes = false;
  int exit_code = 0;
  std::stop_token stop;  // breaks off every call of the client that is made from now on

  bool json() const { return output == "json"; }

  // Tries each call once: a script decides by the exit code.
  Result<sdk::Client> connect() const;

  // Says on standard error what went wrong and what to do next, and sets the exit code.
  void fail(const sdk::Error& error);
  void fail(int code, std::string_view message);

  // Runs a command that needs the server.
  template <typename Command>
  void with_client(Command&& command) {
    auto client = connect();
    if (!client) return fail_to_connect(client.error());
    command(*client);
  }

  // For commands that take no "--".
  bool refuse_dashes();

 private:
  void fail_to_connect(const millrace::Error& error);
};

// One line: what went wrong, and the next step where there is one.
std::string explain(const sdk::Error& error);

}  // namespace millrace::cli
