// job retry, cancel and delete by --filter: on all jobs that an expression finds.
#pragma once

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
};

// What one of the three is to jobs.
struct BulkKind {
  std::string_view action;            // as the API has it
  std::string_view verb;              // "Delete"
  std::string_view done;              // "deleted"
  std::string_view ending;            // of the question: " for good"
  std::vector<std::string> states;    // those of which a job can be
  std::vector<std::string> defaults;  // where the expression names no state
};

// The options --filter, --dry-run and --yes. Returns the first, which takes the place of `ids`.
CLI::Option* add_bulk_options(CLI::App& command, CLI::Option* ids, JobBulk& bulk);

// Shows what it would be done to, asks unless told not to, and does it, call by call, until nothing
// is left.
void run_bulk(const JobBulk& bulk, const BulkKind& kind, Session& session);

// Whether the call names jobs in neither way: then it has been told so.
bool refuse_no_jobs(const std::vector<std::string>& ids, const JobBulk& bulk, Session& session);

}  // namespace millrace::cli
