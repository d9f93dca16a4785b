#include "cli/session.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/file.h"
#include "base/version.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

std::string next_step(const sdk::Error& error) {
  if (error.kind == sdk::ErrorKind::kUnreachable) {
    return "start `millrace serve`, or name another server with --url or MILLRACE_URL";
  }
  if (error.kind == sdk::ErrorKind::kBadAnswer) {
    return "is this Millrace? Check --url or MILLRACE_URL; a server with TLS needs https://";
  }
  if (error.status == 401) return "check MILLRACE_TOKEN or --token-file";
  if (error.status == 403) return "use a token whose scopes allow the command";
  if (error.status == 429 || error.status == 503) {
    return error.retry_after ? fmt::format("try again in {} s", error.retry_after->count() / 1000)
                             : "try again later";
  }
  return {};
}

// What people call a thing of the group of commands `kind`.
std::string_view noun_of(std::string_view kind) {
  if (kind == "error") return "group of errors";
  if (kind == "push-target") return "push target";
  if (kind == "type") return "gate of the type";
  return kind;
}

// "every_ms: must be 1000 or more": the member as a path without its first slash.
std::string faults_of(const sdk::Error& error) {
  std::string text;
  for (const sdk::FieldError& fault : error.errors) {
    std::string_view where = fault.where;
    if (where.starts_with('/')) where.remove_prefix(1);
    if (!text.empty()) text += "; ";
    text += where.empty() ? fault.detail : fmt::format("{}: {}", where, fault.detail);
  }
  return text;
}

}  // namespace

std::string explain(const sdk::Error& error) {
  std::string text = error.errors.empty() ? error.message : faults_of(error);
  const std::string step = next_step(error);
  if (!step.empty()) text += "; " + step;
  if (error.status >= 500 && !error.request_id.empty()) {
    text += fmt::format(" [request {}]", error.request_id);
  }
  return text;
}

std::string explain_on(const sdk::Error& error, std::string_view kind, std::string_view name) {
  if (error.code != "not_found") return explain(error);
  return fmt::format("there is no {} {}; `millrace {} list` shows those that exist", noun_of(kind),
                     name, kind);
}

Result<sdk::Client> Session::connect() const {
  std::string secret = token;
  if (!token_file.empty()) {
    const auto content = read_file(token_file);
    if (!content) return std::unexpected(content.error());
    secret = content->substr(0, content->find('\n'));
    if (secret.empty()) {
      return failure(
          fmt::format("can't read a token from {}: its first line is empty", token_file));
    }
  }
  for (const std::string& file : {ca_file, cert_file, key_file}) {
    if (file.empty()) continue;
    if (const Status checked = check_file(file); !checked) return std::unexpected(checked.error());
  }
  try {
    return sdk::Client({.url = url,
                        .token = std::move(secret),
                        .user_agent = fmt::format("millrace-cli/{}", version()),
                        .try_again = false,
                        .ca_file = ca_file,
                        .certificate_file = cert_file,
                        .key_file = key_file,
                        .stop = stop});
  } catch (const std::invalid_argument& bad_token) {
    return failure(bad_token.what());
  }
}

void Session::fail(const sdk::Error& error) { fail(exit_code_of(error), explain(error)); }

void Session::fail_on(const sdk::Error& error, std::string_view kind, std::string_view name) {
  fail(exit_code_of(error), explain_on(error, kind, name));
}

void Session::fail(int code, std::string_view message) {
  note(message);
  exit_code = code;
}

void Session::fail_to_connect(const millrace::Error& error) {
  fail(kBadConfiguration, error.message);
}

void Session::print_list(std::string_view list) const {
  if (!by_line()) return print_line(list);
  for (const sdk::JsonView item : sdk::JsonView(list)["items"].elements()) print_line(item.text());
}

bool Session::refuse_dashes() {
  if (!has_dashes) return false;
  fail(kUsage, "the command takes nothing after \"--\"; only `work` takes a command there");
  return true;
}

}  // namespace millrace::cli
