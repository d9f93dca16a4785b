// millrace token create, list, rotate and revoke: manages tokens of a running server. `token new`
// makes one for a configuration file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::seconds kPatience{30};

struct Wanted {
  std::string name;
  std::string description;
  std::vector<std::string> scopes;
  std::vector<std::string> queues;
  std::string expires;
};

void write_words(sdk::JsonWriter& json, std::string_view name,
                 const std::vector<std::string>& words) {
  json.key(name).begin_array();
  for (const std::string& word : words) json.string(word);
  json.end_array();
}

std::string body_of(const Wanted& wanted) {
  sdk::JsonWriter json;
  json.begin_object().key("name").string(wanted.name);
  if (!wanted.description.empty()) json.key("description").string(wanted.description);
  write_words(json, "scopes", wanted.scopes);
  if (!wanted.queues.empty()) write_words(json, "queues", wanted.queues);
  if (const auto life = parse_duration(wanted.expires)) {
    json.key("expires_in_ms").integer(life->count());
  } else if (!wanted.expires.empty()) {
    json.key("expires_at").string(wanted.expires);
  }
  json.end_object();
  return json.take();
}

std::string text_of(const sdk::JsonView& value, std::string_view otherwise = "-") {
  return printable(value.string().value_or(std::string(otherwise)));
}

std::string words_of(const sdk::JsonView& value) {
  std::vector<std::string> words;
  for (const sdk::JsonView& word : value.elements()) {
    words.push_back(printable(word.string().value_or("")));
  }
  return words.empty() ? "all" : fmt::format("{}", fmt::join(words, ","));
}

std::optional<sdk::Timestamp> time_of(const sdk::JsonView& value) {
  const auto text = value.string();
  return text ? parse_rfc3339(*text) : std::nullopt;
}

// A token is often looked for by its name, which is not unique.
void fail_on_token(const sdk::Error& error, const std::string& id, Session& session) {
  if (error.code != "not_found") return session.fail(error);
  session.fail(kNotFound,
               fmt::format("no token has the id {}; `millrace token list` shows the ids, "
                           "which stand before the names",
                           id));
}

// Prints only the secret on standard output, so that a script can take it; the rest is for people.
void show_made(const sdk::Response& made, Session& session) {
  if (session.json()) return print_line(made.body);
  const sdk::JsonView token(made.body);
  print_line(token["token"].string().value_or(""));
  note(fmt::format("token {} ({}); the server does not keep it, so save it now for the clients",
                   text_of(token["id"]), text_of(token["name"])));
  if (const auto until = time_of(token["former_secret_until"])) {
    note(fmt::format("the former secret is good until {}", time_for_people(until, now())));
  }
}

void create(const Wanted& wanted, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto made = client.call(
        {.method = "POST", .path = "/v1/tokens", .body = body_of(wanted), .timeout = kPatience});
    if (!made) return session.fail(made.error());
    show_made(*made, session);
  });
}

void rotate(const std::string& id, const std::string& grace, Session& session) {
  if (session.refuse_dashes()) return;
  std::string body;
  if (!grace.empty()) {
    const auto duration = parse_duration(grace);
    if (!duration) return session.fail(kUsage, "--grace must be a duration, such as 1h");
    body = fmt::format(R"({{"grace_ms":{}}})", duration->count());
  }
  session.with_client([&](sdk::Client& client) {
    const auto made = client.call({.method = "POST",
                                   .path = fmt::format("/v1/tokens/{}/rotate", sdk::url_encode(id)),
                                   .body = body,
                                   .timeout = kPatience});
    if (!made) return fail_on_token(made.error(), id, session);
    show_made(*made, session);
  });
}

void revoke(const std::vector<std::string>& ids, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    for (const std::string& id : ids) {
      const auto revoked = client.call(
          {.method = "DELETE", .path = "/v1/tokens/" + sdk::url_encode(id), .timeout = kPatience});
      if (!revoked) return fail_on_token(revoked.error(), id, session);
      if (!session.json()) note(fmt::format("{} is revoked", printable(id)));
    }
  });
}

void list(Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    Table table({{"ID"}, {"NAME"}, {"SCOPES"}, {"QUEUES"}, {"FROM"}, {"EXPIRES"}, {"USED"}});
    std::string items;
    std::string cursor;
    do {
      std::string path = "/v1/tokens?limit=1000";
      if (!cursor.empty()) path += "&cursor=" + sdk::url_encode(cursor);
      const auto page = client.call({.path = path, .timeout = kPatience});
      if (!page) return session.fail(page.error());
      const sdk::JsonView answer(page->body);
      for (const sdk::JsonView& token : answer["items"].elements()) {
        items += (items.empty() ? "" : ",") + std::string(token.text());
        table.add({text_of(token["id"]), text_of(token["name"]), words_of(token["scopes"]),
                   words_of(token["queues"]), text_of(token["source"]),
                   relative_time(time_of(token["expires_at"]), now()),
                   relative_time(time_of(token["last_used_at"]), now())});
      }
      cursor = answer["next_cursor"].string().value_or("");
    } while (!cursor.empty());
    if (session.json()) {
      return session.print_list(fmt::format(R"({{"items":[{}],"next_cursor":null}})", items));
    }
    if (table.empty())
      return note("there are no tokens; `millrace token new --help` makes the first");
    print(table.text(output_width()));
  });
}

}  // namespace

void add_token_create(CLI::App& token, Session& session) {
  CLI::App& command = *token.add_subcommand("create", "Create a token on a running server");
  const auto wanted = std::make_shared<Wanted>();
  command.add_option("--name", wanted->name, "Name of the token, which the log shows")
      ->required()
      ->type_name("NAME");
  command
      .add_option("--scope", wanted->scopes,
                  "submit, work, read, operate, admin or payload; repeatable")
      ->required()
      ->check(CLI::IsMember({"submit", "work", "read", "operate", "admin", "payload"}))
      ->allow_extra_args(false)
      ->type_name("SCOPE");
  command
      .add_option("--queue", wanted->queues,
                  "Limit the token to these queues (mail, mail.*); repeatable")
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command
      .add_option("--expires", wanted->expires,
                  "End of the token's life: 90d from now, or a time such as 2027-01-31T00:00:00Z")
      ->type_name("WHEN");
  command.add_option("--description", wanted->description, "What it is for")->type_name("TEXT");
  command.footer(
      "All nodes know the token when the command ends. It may do nothing that the token of the\n"
      "request may not. Without the scope payload it sees no payloads, results, texts of errors "
      "and\n"
      "log lines; a worker sees the payloads of the jobs that it claims.\n"
      "Examples:\n"
      "  millrace token create --name deploy --scope submit --queue 'mail.*' --expires 90d\n"
      "  millrace token create --name support --scope read --scope payload");
  command.callback([wanted, &session] { create(*wanted, session); });
}

void add_token_list(CLI::App& token, Session& session) {
  CLI::App& command = *token.add_subcommand("list", "List tokens, without their secrets");
  command.footer(
      "FROM is `config` for a token of the configuration file, and `api` for one that was created "
      "on a\n"
      "running server. USED is what the node that answers has seen since it started.\n"
      "Examples:\n"
      "  millrace token list\n"
      "  millrace token list -o json");
  command.callback([&session] { list(session); });
}

void add_token_rotate(CLI::App& token, Session& session) {
  CLI::App& command = *token.add_subcommand("rotate", "Give a token a new secret");
  const auto id = std::make_shared<std::string>();
  const auto grace = std::make_shared<std::string>();
  command.add_option("ID", *id, "Id of the token, as `millrace token list` shows it")->required();
  command
      .add_option("--grace", *grace,
                  "Time for which the former secret is still good; 0s: none [1h]")
      ->type_name("TIME");
  command.footer(
      "Examples:\n"
      "  millrace token rotate 0123456789ab\n"
      "  millrace token rotate 0123456789ab --grace 1d");
  command.callback([id, grace, &session] { rotate(*id, *grace, session); });
}

void add_token_revoke(CLI::App& token, Session& session) {
  CLI::App& command = *token.add_subcommand("revoke", "End tokens at once, on all nodes");
  const auto ids = std::make_shared<std::vector<std::string>>();
  command.add_option("ID", *ids, "Id of the token, as `millrace token list` shows it")->required();
  command.footer(
      "No node takes the token any more when the command ends. Take a token of a configuration "
      "file "
      "out\n"
      "of the file instead, then send the server SIGHUP.\n"
      "Examples:\n"
      "  millrace token revoke 0123456789ab");
  command.callback([ids, &session] { revoke(*ids, session); });
}

}  // namespace millrace::cli
