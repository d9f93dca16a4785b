// millrace job list: lists jobs, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/job/view.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr int kTableLimit = 50;  // as many as a person can survey
constexpr int kPageLimit = 1'000;

struct List {
  sdk::JobFilter filter;
  std::string expression;
  std::optional<int> limit;
  bool all = false;
  std::optional<sdk::Milliseconds> since;
};

// Prints pages as they come; with -o json all of them are one object, with jsonl each job is a
// line.
class Printer {
 public:
  explicit Printer(const Session& session) : json_(session.json()), by_line_(session.by_line()) {
    if (json_ && !by_line_) print("{\"items\":[");
  }

  void add(const std::vector<sdk::Job>& jobs) {
    count_ += jobs.size();
    if (!json_) {
      jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
      return;
    }
    for (const sdk::Job& job : jobs) {
      if (by_line_) {
        print_line(job.json);
      } else {
        print((is_first_ ? "" : ",") + job.json);
      }
      is_first_ = false;
    }
  }

  void finish(const std::string& next_cursor) {
    if (by_line_) return;
    if (json_) {
      const std::string cursor = next_cursor.empty() ? "null" : sdk::json_string(next_cursor);
      return print(fmt::format("],\"next_cursor\":{}}}\n", cursor));
    }
    if (jobs_.empty()) return note("no job matches");
    print(job_table(jobs_, now(), output_width()));
    if (!next_cursor.empty())
      note(fmt::format("the list shows the newest {}; --all shows all", count_));
  }

 private:
  bool json_;
  bool by_line_;
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
    std::optional<Printer> printer;  // begins with the first answer, so a failure prints nothing
    do {
      options.filter.limit = all ? kPageLimit : std::min(left, kPageLimit);
      auto page = client.list(options.filter);
      if (!page) return session.fail(page.error());
      if (!printer) printer.emplace(session);
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
                     "Search expression, such as 'state:dead error~timeout'");
  command.add_option("-Q,--query", options->filter.query, "The search expression, as an option")
      ->type_name("EXPRESSION");
  add_states(command, options->filter.states,
             "Only jobs in this state; separate several with commas");
  command.add_option("-q,--queue", options->filter.queue, "Only jobs of this queue")
      ->type_name("QUEUE");
  command.add_option("-t,--type", options->filter.type, "Only jobs of this type")
      ->type_name("TYPE");
  command.add_option("--tag", options->filter.tag, "Only jobs with this tag")->type_name("TAG");
  add_duration(command, "--since", options->since, "Only jobs submitted within this time");
  add_time(command, "--created-after", options->filter.created_after,
           "Only jobs submitted after this time");
  add_time(command, "--created-before", options->filter.created_before,
           "Only jobs submitted before this time");
  command
      .add_option("--include", options->filter.include,
                  "Members from payload,result (default with -o json: both)")
      ->type_name("MEMBER")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_flag("--fresh,!--no-fresh", options->filter.fresh,
                   "Wait until the list has all that the server acknowledged (default: yes)");
  CLI::Option* limit = command.add_option("-n,--limit", options->limit,
                                          "Number of jobs to show (default: 50; with -o json all)");
  limit->check([](const std::string& text) -> std::string {
    return text == "0" || text.starts_with('-') ? "must be 1 or more" : "";
  });
  command.add_flag("--all", options->all, "Show all jobs")->excludes(limit);
  command.footer(
      "Examples:\n"
      "  millrace job list -q email --state dead,retrying\n"
      "  millrace job list 'type:email.* error~timeout attempt>=3'\n"
      "  millrace job list --since 1h -o json | jq -r '.items[].id'");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
