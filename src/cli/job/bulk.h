// job retry, cancel and delete with --filter: act on all jobs that match an expression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "cli/session.h"

namespace millrace::cli {

struct JobBulk {
  std::string filter;
  bool dry_run = false;
  bool yes = false;
  std::optional<std::int64_t> rate;  // jobs a second: an operation
  bool watch = false;
};

// The properties of one of the three actions.
struct BulkKind {
  std::string_view action;            // its name in the API
  std::string_view verb;              // "Delete"
  std::string_view done;              // "deleted"
  std::string_view ending;            // the end of the question: " for good"
  std::vector<std::string> states;    // the states in which it is possible
  std::vector<std::string> defaults;  // used if the expression names no state
};

// Adds the options --filter (or --query), --rate, --watch, --dry-run and --yes. Returns --filter,
// which excludes `ids`.
CLI::Option* add_bulk_options(CLI::App& command, CLI::Option* ids, JobBulk& bulk);

// Shows the affected jobs, asks unless told not to, and acts. If there are too many jobs for one
// call, the server starts an operation, which the command follows to its end unless the user has
// set a rate.
void run_bulk(const JobBulk& bulk, const BulkKind& kind, Session& session);

// True: the call names jobs in neither way, and an error was printed.
bool refuse_no_jobs(const std::vector<std::string>& ids, const JobBulk& bulk, Session& session);

}  // namespace millrace::cli
