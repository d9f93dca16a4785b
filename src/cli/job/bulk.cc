#include "cli/job/bulk.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/confirm.h"
#include "cli/exit_code.h"
#include "cli/job/view.h"
#include "cli/operation/watch.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr int kExamples = 5;
constexpr std::chrono::minutes kCallWithin{10};  // a call changes up to 100,000 jobs

// Whether the expression itself names states.
bool names_states(std::string_view expression) {
  for (std::size_t at = expression.find("state"); at != std::string_view::npos;
       at = expression.find("state", at + 1)) {
    const bool begins_word = at == 0 || expression[at - 1] == ' ' || expression[at - 1] == '-';
    const std::string_view rest = expression.substr(at + std::string_view("state").size());
    if (begins_word && (rest.starts_with(':') || rest.starts_with('='))) return true;
  }
  return false;
}

std::string count_text(const sdk::BulkAnswer& counted) {
  return fmt::format("{}{} job{}", counted.more ? "more than " : "", counted.matched,
                     counted.matched == 1 && !counted.more ? "" : "s");
}

class Bulk {
 public:
  Bulk(const JobBulk& options, const BulkKind& kind, Session& session, sdk::Client& client)
      : options_(options), kind_(kind), session_(session), client_(client) {
    request_ = {.action = std::string(kind.action),
                .query = options.filter,
                .states = names_states(options.filter) ? kind.states : kind.defaults};
  }

  void run() {
    if ((!options_.yes || options_.dry_run) && !preview()) return;
    if (options_.dry_run) return;
    change_all();
  }

 private:
  // False: stop.
  bool preview() {
    sdk::BulkByFilter count = request_;
    count.dry_run = true;
    const auto counted = client_.bulk(count, kCallWithin);
    if (!counted) return failed(counted.error());
    if (options_.dry_run && session_.json()) {
      print_line(counted->json);
      return true;
    }
    if (counted->matched == 0) {
      note(fmt::format("no matching job can be {}", kind_.done));
      return false;
    }
    auto examples = client_.list(
        {.states = request_.states, .query = request_.query, .fresh = true, .limit = kExamples});
    if (!examples) return failed(examples.error());
    std::string text = job_table(examples->items, now(), output_width());
    const auto shown = static_cast<std::int64_t>(examples->items.size());
    if (counted->more || counted->matched > shown) text += "...\n";
    text += fmt::format("{} would be {}.\n", count_text(*counted), kind_.done);
    if (options_.dry_run) {
      print(text);
      return true;
    }
    std::fwrite(text.data(), 1, text.size(), stderr);
    return is_confirmed(session_, false,
                        fmt::format("{} {}{}?", kind_.verb, count_text(*counted), kind_.ending));
  }

  std::string body() const {
    sdk::JsonWriter json;
    json.begin_object().key("action").string(request_.action).key("filter").begin_object();
    json.key("q").string(request_.query);
    if (!request_.states.empty()) {
      json.key("state").begin_array();
      for (const std::string& state : request_.states) json.string(state);
      json.end_array();
    }
    json.end_object();
    if (options_.rate) json.key("rate_per_s").integer(*options_.rate);
    if (options_.watch && !options_.rate) json.key("operation").boolean(true);
    return json.end_object().take();
  }

  void change_all() {
    auto answer = client_.call({.method = "POST",
                                .path = "/v1/jobs/bulk",
                                .body = body(),
                                .timeout = kCallWithin,
                                .repeat = sdk::Repeat::kIfUnbegun});
    if (!answer) {
      failed(answer.error());
      return;
    }
    if (answer->status == 202) return follow(std::move(answer->body));
    const sdk::JsonView outcome(answer->body);
    sdk::BulkAnswer sum;
    sum.matched = outcome["matched"].integer().value_or(0);
    sum.changed = outcome["changed"].integer().value_or(0);
    sum.failed = outcome["failed"].integer().value_or(0);
    sum.json = std::move(answer->body);
    tell(sum);
  }

  // The operation runs on the server by itself.
  void follow(std::string operation) {
    if (!options_.rate || options_.watch) {
      return watch_operation(client_, session_, std::move(operation));
    }
    const std::string id = sdk::JsonView(operation)["id"].string().value_or("");
    print_line(session_.json() ? operation
                               : fmt::format("{}  has begun; `millrace operation watch {}` shows "
                                             "how it goes",
                                             id, id));
  }

  void tell(const sdk::BulkAnswer& sum) {
    if (session_.json()) {
      print_line(sum.json);
    } else if (sum.matched == 0) {
      note(fmt::format("no matching job can be {}", kind_.done));
    } else {
      print_line(fmt::format("{} job{} {}", sum.changed, sum.changed == 1 ? "" : "s", kind_.done));
    }
    if (sum.failed == 0) return;
    note(fmt::format("the server skipped {} jobs, because their state had changed", sum.failed));
    session_.exit_code = sum.changed > 0 ? kPartlyFailed : kConflict;
  }

  bool failed(const sdk::Error& error) {
    session_.fail(error);
    return false;
  }

  const JobBulk& options_;
  const BulkKind& kind_;
  Session& session_;
  sdk::Client& client_;
  sdk::BulkByFilter request_;
};

}  // namespace

CLI::Option* add_bulk_options(CLI::App& command, CLI::Option* ids, JobBulk& bulk) {
  CLI::Option* filter =
      command
          .add_option("--filter,--query", bulk.filter,
                      "All jobs that match, such as 'state:dead error~timeout', in place of ids")
          ->type_name("FILTER")
          ->excludes(ids);
  command
      .add_option("--rate", bulk.rate,
                  "With --filter: jobs a second, 1 to 100000; goes on after the command")
      ->check(CLI::Range(1, 100'000))
      ->excludes(ids);
  command.add_flag("--watch", bulk.watch, "With --filter: follow the operation until it ends")
      ->excludes(ids);
  command.add_flag("--dry-run", bulk.dry_run, "With --filter: only show the matching jobs");
  add_yes(command, bulk.yes);
  return filter;
}

void run_bulk(const JobBulk& bulk, const BulkKind& kind, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) { Bulk(bulk, kind, session, client).run(); });
}

bool refuse_no_jobs(const std::vector<std::string>& ids, const JobBulk& bulk, Session& session) {
  if (bulk.dry_run && bulk.filter.empty()) {
    session.fail(kUsage, "--dry-run needs a --filter; give one");
    return true;
  }
  if (!ids.empty() || !bulk.filter.empty()) return false;
  session.fail(kUsage, "name jobs by id, or by a --filter");
  return true;
}

}  // namespace millrace::cli
