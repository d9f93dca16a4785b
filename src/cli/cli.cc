#include "cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/misspelt.h"
#include "cli/operation/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/workflow/workflow.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kHelpColumn = 34;
constexpr std::size_t kHelpWidth = 80;
constexpr int kUnknownState = 3;  // of `check`

// Breaks text between words, into lines of at most `columns`.
std::string wrapped(const std::string& text, std::size_t columns) {
  std::string out;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t word = end - at;
    if (line > 0) {
      const bool fits = line + 1 + word <= columns;
      out += fits ? ' ' : '\n';
      line = fits ? line + 1 : 0;
    }
    out += text.substr(at, word);
    line += word;
    at = end + 1;
  }
  return out;
}

// Reflows a footer's prose paragraph by paragraph. Indented lines, such as examples, stay as they
// are.
std::string wrapped_footer(const std::string& footer) {
  std::string out;
  std::string prose;
  const auto end_prose = [&] {
    if (!prose.empty()) out += wrapped(prose, kHelpWidth) + '\n';
    prose.clear();
  };
  for (std::size_t at = 0; at < footer.size();) {
    const std::size_t end = std::min(footer.find('\n', at), footer.size());
    const std::string line = footer.substr(at, end - at);
    const bool is_prose = !line.empty() && line.front() != ' ';
    if (is_prose) {
      if (line.starts_with("Example")) end_prose();
      prose += (prose.empty() ? "" : " ") + line;
      if (line.back() == ':') end_prose();
    } else {
      end_prose();
      out += line + '\n';
    }
    at = end + 1;
  }
  end_prose();
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}
bool has_commands(const CLI::App& app) { return !commands_of(app).empty(); }

std::string words_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? "millrace" : words_of(*parent) + ' ' + app.get_name();
}

// For a group of commands: each one's first example of itself.
std::string examples_of(const CLI::App& group) {
  std::string text = "Examples:\n";
  for (const CLI::App* const command : commands_of(group)) {
    const std::string footer = command->get_footer();
    const std::size_t at = footer.find("\n  " + words_of(*command));
    if (at == std::string::npos) continue;
    const std::string line = footer.substr(at + 1, footer.find('\n', at + 1) - at - 1);
    if (!line.ends_with('\\')) text += line + '\n';
  }
  return text;
}

// Limits descriptions to the width of a usual terminal. Adds to every command's help that the
// global options also apply, and where `work` takes its command.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (app->get_name() == "work") {
      usage.insert(usage.find_last_not_of('\n') + 1, " -- COMMAND [ARGUMENT...]");
    }
    return usage;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), kHelpWidth - kHelpColumn);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true),
                             wrapped(command->get_description(), kHelpWidth - kHelpColumn),
                             kHelpColumn);
    return out.str();
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string footer = app->get_parent() != nullptr && has_commands(*app)
                             ? examples_of(*app)
                             : wrapped_footer(CLI::Formatter::make_footer(app));
    if (app->get_parent() != nullptr) {
      footer +=
          "\n"
          "All commands take --url, --token, -o and those of TLS; see `millrace --help`.\n";
    }
    return footer;
  }
};

void add_global_options(CLI::App& app, Session& session) {
  // The client reads the environment itself: a bench must know which options were given on the
  // command line.
  app.add_option(
         "--url", session.url,
         "Address of the server, or unix: and the path of its socket; MILLRACE_URL sets it too")
      ->type_name("URL")
      ->default_str(std::string(sdk::kDefaultUrl));
  app.add_option("--token", session.token,
                 "Token for the server; other users of the machine can see it, so prefer "
                 "--token-file or the environment")
      ->envname("MILLRACE_TOKEN")
      ->type_name("TOKEN");
  app.add_option("--token-file", session.token_file, "File with the token in its first line")
      ->type_name("FILE");
  app.add_option("--ca-file", session.ca_file,
                 "Certificates to trust with https, in PEM; by default the system's")
      ->envname("MILLRACE_CA_FILE")
      ->type_name("FILE");
  app.add_option("--cert-file", session.cert_file,
                 "Certificate to show, in PEM; the server may take it for a token")
      ->envname("MILLRACE_CERT_FILE")
      ->type_name("FILE");
  app.add_option("--key-file", session.key_file, "Key of that certificate")
      ->envname("MILLRACE_KEY_FILE")
      ->type_name("FILE");
  app.add_option("-o,--output", session.output,
                 "table; json: the answer of the API; or jsonl: a list with one item a line")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->type_name("FORMAT");
  app.set_version_flag(
      "--version", [] { return fmt::format("millrace {}", version()); }, "Print the version");
}

// The sub-command `name`, which may exist already: the server adds to `admin` too.
CLI::App& group(CLI::App& app, const std::string& name, const std::string& description) {
  for (CLI::App* existing : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (existing->get_name() == name) return *existing;
  }
  return *app.add_subcommand(name, description)->require_subcommand(1);
}

void add_schedule_commands(CLI::App& app, Session& session) {
  CLI::App& schedule =
      group(app, "schedule", "Manage schedules, which submit jobs at the times of a calendar");
  add_schedule_list(schedule, session);
  add_schedule_get(schedule, session);
  add_schedule_set(schedule, session);
  add_schedule_delete(schedule, session);
  add_schedule_pause(schedule, session);
  add_schedule_resume(schedule, session);
  add_schedule_trigger(schedule, session);
  add_schedule_backfill(schedule, session);
  add_schedule_runs(schedule, session);
  add_schedule_preview(schedule, session);
  add_schedule_apply(schedule, session);
  add_schedule_import(schedule, session);
}

void add_limit_commands(CLI::App& app, Session& session) {
  CLI::App& limit = group(app, "limit", "Manage limits: how many jobs run, or start, at a time");
  add_limit_list(limit, session);
  add_limit_get(limit, session);
  add_limit_set(limit, session);
  add_limit_delete(limit, session);
  add_limit_pause(limit, session);
  add_limit_resume(limit, session);
  add_limit_keys(limit, session);
  add_limit_holders(limit, session);
  CLI::App& type = group(app, "type", "Manage the gates of job types: bounds and pauses");
  add_type_list(type, session);
  add_type_get(type, session);
  add_type_set(type, session);
  add_type_delete(type, session);
}

void add_client_commands(CLI::App& app, Session& session) {
  add_enqueue(app, session);
  add_work(app, session);
  CLI::App& job = group(app, "job", "List, show, await, retry, cancel and delete jobs");
  add_job_list(job, session);
  add_job_get(job, session);
  add_job_wait(job, session);
  add_job_retry(job, session);
  add_job_cancel(job, session);
  add_job_delete(job, session);
  add_job_logs(job, session);
  add_job_why(job, session);
  CLI::App& queue = group(app, "queue", "List, change, pause, resume, purge and delete queues");
  add_queue_list(queue, session);
  add_queue_get(queue, session);
  add_queue_set(queue, session);
  add_queue_pause(queue, session);
  add_queue_resume(queue, session);
  add_queue_shares(queue, session);
  add_queue_purge(queue, session);
  add_queue_scale(queue, session);
  add_queue_delete(queue, session);
  add_operation(group(app, "operation", "Watch, pause and cancel changes of many jobs"), session);
  add_workflow(group(app, "workflow", "Run jobs that need each other, as one"), session);
  add_limit_commands(app, session);
  add_schedule_commands(app, session);
  add_push_target(group(app, "push-target", "Manage receivers that the server calls for each job"),
                  session);
  CLI::App& worker = group(app, "worker", "List workers, and tell them to claim no more or to end");
  add_worker_list(worker, session);
  add_worker_quiet(worker, session);
  add_worker_stop(worker, session);
  add_events(app, session);
  add_stats(app, session);
  add_top(app, session);
  add_doctor(app, session);
  add_check(app, session);
  add_health(app, session);
  add_bench(app, session);
  CLI::App& token = group(app, "token", "Create, list, rotate and revoke tokens");
  add_token_create(token, session);
  add_token_list(token, session);
  add_token_rotate(token, session);
  add_token_revoke(token, session);
  add_error(group(app, "error", "See what fails, in groups, and retry or delete their jobs"),
            session);
  CLI::App& admin = group(app, "admin", "Manage nodes; back up and verify a store");
  add_admin_audit(admin, session);
  add_admin_backup(admin, session);
  add_admin_nodes(admin, session);
  add_admin_reproject(admin, session);
  add_completion(app, session);
  add_version(app, session);
}

// Everything after the first "--" belongs to the command that wants it, whatever it looks like.
std::vector<std::string> split_at_dashes(int argc, char** argv, Session& session) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    if (session.has_dashes) {
      session.after_dashes.emplace_back(argv[i]);
    } else if (std::string_view(argv[i]) == "--") {
      session.has_dashes = true;
    } else {
      arguments.emplace_back(argv[i]);
    }
  }
  return arguments;
}

int parse_and_run(CLI::App& app, std::vector<std::string> arguments, const Session& session) {
  if (arguments.empty()) {
    print(app.help());
    return kUsage;
  }
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  // For `check`, a monitoring system reads 2 as "critical".
  const int usage = arguments.front() == "check" ? kUnknownState : kUsage;
  if (const auto complaint = unknown_command(app, arguments)) {
    note(*complaint);
    return usage;
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 expects a vector in this order
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError&) {
    note(unexpected_words(app, app.remaining(true)));
    return usage;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help or --version
    std::string text = plain(error.what());
    if (named_command(app).ends_with("push-target set") && text.contains("--target-url")) {
      text += "; --url is the address of the server";
    }
    note(fmt::format("{}; see `{} --help`", text, named_command(app)));
    return usage;
  }
  return session.exit_code;
}

}  // namespace

int run(int argc, char** argv, const AddCommands& add_server_commands) {
  CLI::App app("Millrace: a durable job queue. Jobs in, work done, nothing lost.", "millrace");
  app.fallthrough();
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(kHelpColumn);
  app.formatter(formatter);
  app.footer(
      "First steps:\n"
      "  millrace serve --data ./data\n"
      "  millrace enqueue greet '{\"name\": \"Ada\"}'\n"
      "  millrace work -- cat\n"
      "  millrace job list\n\n"
      "`millrace COMMAND --help` explains a command and gives examples.");
  Session session;
  add_global_options(app, session);
  if (add_server_commands) add_server_commands(app, session.exit_code);
  add_client_commands(app, session);
  return parse_and_run(app, split_at_dashes(argc, argv, session), session);
}

}  // namespace millrace::cli
