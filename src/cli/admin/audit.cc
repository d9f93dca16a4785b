// millrace admin audit: shows who changed what.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/json_check.h"
#include "base/json_cursor.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr std::uint64_t kPageLimit = 1'000;
constexpr std::chrono::milliseconds kPause{1'000};  // between polls for new entries
constexpr std::size_t kMostDepth = 128;

struct Audit {
  std::string actor, action, object;
  std::optional<sdk::Milliseconds> since, until;  // before now
  std::uint64_t limit = 100;
  bool follow = false;
};

// A member of a JSON object from the server; empty if it is missing or null.
std::string_view value_of(std::string_view object, std::string_view name) {
  JsonCursor cursor(object);
  if (cursor.type() != JsonType::kObject) return {};
  cursor.enter();
  for (std::string_view member; cursor.next_member(member);) {
    const std::string_view value = cursor.skip();
    if (member == name) return value == "null" ? std::string_view() : value;
  }
  return {};
}

std::string text_of(std::string_view object, std::string_view name) {
  const std::string_view value = value_of(object, name);
  if (!value.starts_with('"')) return std::string(value);
  std::string text;
  unescape_json(value.substr(1, value.size() - 2), text);
  return text;
}

// "sent by" as one word: the token's name, else the request's source.
std::string who(std::string_view entry) {
  const std::string_view actor = value_of(entry, "actor");
  std::string name = text_of(actor, "name");
  if (name.empty()) name = text_of(actor, "token");
  return name.empty() ? text_of(actor, "via") : name;
}

std::vector<std::string> cells_of(std::string_view entry) {
  const std::string address = text_of(value_of(entry, "actor"), "address");
  const std::string_view object = value_of(entry, "object");
  const std::string reason = text_of(entry, "reason");
  const std::string name = text_of(object, "name");
  const auto or_dash = [](std::string text) { return text.empty() ? "-" : text; };
  return {printable(text_of(entry, "at")),
          printable(who(entry), 24),
          or_dash(printable(address)),
          printable(text_of(entry, "action")),
          printable(text_of(object, "kind") + (name.empty() ? "" : " " + name), 40),
          or_dash(printable(reason, 40))};
}

std::string query_of(const Audit& options, std::string_view cursor, std::uint64_t limit) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  std::string query = fmt::format("/v1/admin/audit?fresh=true&limit={}", limit);
  const auto add = [&query](std::string_view name, std::string_view value) {
    if (!value.empty()) query += fmt::format("&{}={}", name, sdk::url_encode(value));
  };
  add("actor", options.actor);
  add("action", options.action);
  add("object", options.object);
  if (options.since && cursor.empty()) {
    add("since", format_rfc3339(time_from_ms((now - *options.since).time_since_epoch().count())));
  }
  if (options.until) {
    add("until", format_rfc3339(time_from_ms((now - *options.until).time_since_epoch().count())));
  }
  add("cursor", cursor);
  return query;
}

// None: this program does not know the answer's format.
std::optional<std::vector<std::string_view>> entries_in(std::string_view body) {
  std::vector<std::string_view> entries;
  if (check_json(body, kMostDepth, LoneSurrogates::kKept)) return std::nullopt;
  JsonCursor items(body);
  if (items.type() != JsonType::kObject) return std::nullopt;
  const std::string_view list = value_of(body, "items");
  JsonCursor cursor(list);
  if (list.empty() || cursor.type() != JsonType::kArray) return std::nullopt;
  cursor.enter();
  while (cursor.next_element()) entries.push_back(cursor.skip());
  return entries;
}

constexpr std::string_view kStrange =
    "the server's answer is not a list of entries; is the address that of a Millrace server?";

void list(const Audit& options, Session& session) {
  session.with_client([&](sdk::Client& client) {
    Table table({{"AT"}, {"WHO"}, {"FROM"}, {"ACTION"}, {"OBJECT"}, {"REASON"}});
    std::string cursor;
    for (std::uint64_t left = options.limit; left > 0;) {
      const auto answer =
          client.call({.path = query_of(options, cursor, std::min(left, kPageLimit))});
      if (!answer) return session.fail(answer.error());
      const auto entries = entries_in(answer->body);
      if (!entries) return session.fail(1, kStrange);
      for (const std::string_view entry : *entries) {
        if (session.json()) {
          print_line(entry);
        } else {
          table.add(cells_of(entry));
        }
      }
      left -= std::min<std::uint64_t>(left, entries->size());
      cursor = text_of(answer->body, "next_cursor");
      if (cursor.empty()) break;
    }
    if (!session.json()) print(table.text());
  });
}

// Prints the lines of an answer, and returns the last cursor in it.
std::string show_lines(std::string_view body, const Session& session) {
  std::string cursor;
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(line.size() + 1, body.size()));
    if (check_json(line, kMostDepth, LoneSurrogates::kKept)) continue;
    if (const std::string next = text_of(line, "next_cursor"); !next.empty()) {
      cursor = next;
    } else if (session.json()) {
      print_line(line);
    } else {
      std::string text;
      for (const std::string& cell : cells_of(line)) text += (text.empty() ? "" : "  ") + cell;
      print_line(text);
    }
  }
  return cursor;
}

void follow(const Audit& options, Session& session) {
  session.with_client([&](sdk::Client& client) {
    Audit wanted = options;
    if (!wanted.since) wanted.since = sdk::Milliseconds{0};
    for (std::string cursor;; std::this_thread::sleep_for(kPause)) {
      const auto answer = client.call({.path = query_of(wanted, cursor, kPageLimit),
                                       .headers = {{"Accept", "application/jsonl"}}});
      if (!answer && (cursor.empty() || !answer.error().is_temporary())) {
        return session.fail(answer.error());
      }
      if (!answer) continue;
      if (std::string next = show_lines(answer->body, session); !next.empty()) {
        cursor = std::move(next);
      }
    }
  });
}

}  // namespace

void add_admin_audit(CLI::App& admin, Session& session) {
  CLI::App& command = *admin.add_subcommand("audit", "Show who changed what");
  const auto options = std::make_shared<Audit>();
  add_duration(command, "--since", options->since, "Only the last, for example, 1d");
  add_duration(command, "--until", options->until, "Only what is older than, for example, 1h");
  command.add_option("--actor", options->actor, "Only by this token: its id or its name")
      ->type_name("TOKEN");
  command
      .add_option("--action", options->action,
                  "Only this action, such as queue.paused; queue.* for all of queues")
      ->type_name("ACTION");
  command
      .add_option("--object", options->object,
                  "Only about this: a name, a kind, or both, such as queue:email")
      ->type_name("OBJECT");
  command.add_option("-n,--limit", options->limit, "Show at most this many; default 100")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command.add_flag("-f,--follow", options->follow,
                   "Show new entries until interrupted, with --since those before them");
  command.footer(
      "The command shows the newest entries first; with --follow, the oldest. The server keeps\n"
      "entries for its setting `retention.audit`. With -o json each entry is a line.\n"
      "\n"
      "Examples:\n"
      "  millrace admin audit --object queue:email --since 1d\n"
      "  millrace admin audit --action 'token.*'\n"
      "  millrace admin audit --actor deploy -o json | jq -r .summary");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    options->follow ? follow(*options, session) : list(*options, session);
  });
}

}  // namespace millrace::cli
