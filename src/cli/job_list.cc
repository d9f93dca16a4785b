// millrace job list: jobs, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/job_view.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr int kTableLimit = 50;  // jobs that fit a person's eye
constexpr int kPageLimit = 1'000;

struct List {
  sdk::JobFilter filter;
  std::string expression;
  std::optional<int> limit;
  bool all = false;
  std::optional<sdk::Milliseconds> since;
};

// Prints pages as they come; with -o json all of them are one object.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {
    if (json_) print("{\"items\":[");
  }

  void add(const std::vector<sdk::Job>& jobs) {
    count_ += jobs.size();
    if (!json_) {
      jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
      return;
    }
    for (const sdk::Job& job : jobs) {
      print((is_first_ ? "" : ",") + job.json);
      is_first_ = false;
    }
  }

  void finish(const std::string& next_cursor) {
    if (json_) {
      const std::string cursor = next_cursor.empty() ? "null" : sdk::json_string(next_cursor);
      return print(fmt::format("],\"next_cursor\":{}}}\n", cursor));
    }
    if (jobs_.empty()) return note("no job matches");
    print(job_table(jobs_, now(), output_width()));
    if (!next_cursor.empty()) note(fmt::format("the newest {} are shown; --all shows all", count_));
  }

 private:
  bool json_;
  bool is_first_ = true;
  std::size_t count_ = 0;
  std::vector<sdk::Job> jobs_;
};

void run(List& options, Session& session) {
  if (session.refuse_dashes()) return;
  if (!options.expression.empty()) {
    options.filter.query += (options.filter.query.empty() ? "" : " ") + options.expression;
  }
  if (options.since) options.filter.created_after = now() - *options.since;
  if (session.json() && options.filter.include.empty()) {
    options.filter.include = {"payload", "result"};
  }
  const bool all = options.all || (session.json() && !options.limit);
  session.with_client([&](sdk::Client& client) {
    int left = options.limit.value_or(kTableLimit);
    std::optional<Printer> printer;  // begins with the first answer: a failure prints nothing
    do {
      options.filter.limit = all ? kPageLimit : std::min(left, kPageLimit);
      auto page = client.jobs(options.filter);
      if (!page) return session.fail(page.error());
      if (!printer) printer.emplace(session.json());
      printer->add(page->items);
      left -= static_cast<int>(page->items.size());
      options.filter.cursor = page->next_cursor;
    } while (!options.filter.cursor.empty() && (all || left > 0));
    printer->finish(options.filter.cursor);
  });
}

}  // namespace

void add_job_list(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("list", "List jobs, newest first");
  const auto options = std::make_shared<List>();
  // A user who has just submitted a job expects to see it.
  options->filter.fresh = true;
  command.add_option("EXPRESSION", options->expression,
                     "Search expression, as 'state:dead error~timeout'");
  command.add_option("-Q,--query", options->filter.query, "The same as an option")
      ->type_name("EXPRESSION");
  add_states(command, options->filter.states, "State; several with commas");
  command.add_option("-q,--queue", options->filter.queue, "Of this queue")->type_name("QUEUE");
  command.add_option("-t,--type", options->filter.type, "Of this type")->type_name("TYPE");
  command.add_option("--tag", options->filter.tag, "With this tag")->type_name("TAG");
  add_duration(command, "--since", options->since, "Submitted within this long");
  add_time(command, "--created-after", options->filter.created_after, "Submitted after");
  add_time(command, "--created-before", options->filter.created_before, "Submitted before");
  command
      .add_option("--include", options->filter.include,
                  "payload,result (with -o json both, unless this is given)")
      ->type_name("MEMBER")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_flag("--fresh,!--no-fresh", options->filter.fresh,
                   "Wait until the list holds everything acknowledged so far (default: yes)");
  CLI::Option* limit = command.add_option("-n,--limit", options->limit,
                                          "At most so many (default: 50; with -o json all)");
  limit->check(CLI::PositiveNumber);
  command.add_flag("--all", options->all, "All of them, however many")->excludes(limit);
  command.footer(
      "Examples:\n"
      "  millrace job list -q email --state dead,retrying\n"
      "  millrace job list 'type:email.* error~timeout attempt>=3'\n"
      "  millrace job list --since 1h -o json | jq -r '.items[].id'");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
