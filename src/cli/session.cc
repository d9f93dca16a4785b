#include "cli/session.h"

#include <fmt/format.h>

#include <fstream>

#include "base/version.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

std::string next_step(const sdk::Error& error) {
  if (error.kind == sdk::ErrorKind::kUnreachable) {
    return "start `millrace serve`, or name another server with --url or MILLRACE_URL";
  }
  if (error.kind == sdk::ErrorKind::kBadAnswer) {
    return "check --url or MILLRACE_URL; a server with TLS needs https://";
  }
  if (error.status == 401) return "check MILLRACE_TOKEN or --token-file";
  if (error.status == 403) return "use a token whose scopes allow the command";
  if (error.status == 429 || error.status == 503) {
    return error.retry_after ? fmt::format("try again in {} s", error.retry_after->count() / 1000)
                             : "try again later";
  }
  return {};
}

}  // namespace

std::string explain(const sdk::Error& error) {
  std::string text = sdk::describe(error);
  const std::string step = next_step(error);
  if (!step.empty()) text += "; " + step;
  if (error.status >= 500 && !error.request_id.empty()) {
    text += fmt::format(" [request {}]", error.request_id);
  }
  return text;
}

Result<sdk::Client> Session::connect() const {
  std::string secret = token;
  if (!token_file.empty()) {
    std::ifstream file(token_file);
    if (!std::getline(file, secret) || secret.empty()) {
      return failure(fmt::format("cannot read a token from {}", token_file));
    }
  }
  return sdk::Client({.url = url,
                      .token = std::move(secret),
                      .user_agent = fmt::format("millrace-cli/{}", version()),
                      .try_again = false,
                      .ca_file = ca_file,
                      .certificate_file = cert_file,
                      .key_file = key_file,
                      .stop = stop});
}

void Session::fail(const sdk::Error& error) { fail(exit_code_of(error), explain(error)); }

void Session::fail(int code, std::string_view message) {
  note(message);
  exit_code = code;
}

void Session::fail_to_connect(const millrace::Error& error) {
  fail(kBadConfiguration, error.message);
}

bool Session::refuse_dashes() {
  if (!has_dashes) return false;
  fail(kUsage, "the command takes nothing after \"--\"; only `work` takes a command there");
  return true;
}

}  // namespace millrace::cli
