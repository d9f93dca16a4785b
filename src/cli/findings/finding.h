// What is wrong with a server, as it says itself (GET /v1/findings), and what only this machine can
// tell. `millrace doctor` and `millrace top` show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/finding.h"
#include "millrace/client.h"

namespace millrace::cli {

using api::Severity;

struct Finding {
  std::string code;
  Severity severity = Severity::kWarn;
  std::string what;    // a title without a full stop: "Queue mail is paused"
  std::string why;     // the consequence
  std::string next;    // the next step; a command if there is one
  std::string json{};  // as the server sent it; empty: it is this machine's
};

struct Findings {
  std::vector<Finding> items{};
  struct More {  // not among the items
    std::string code;
    Severity severity = Severity::kWarn;
    std::int64_t count = 0;
  };
  std::vector<More> more{};
  std::vector<std::string> not_looked_at{};                       // "tokens: the token lacks ..."
  std::vector<std::pair<std::string, std::int64_t>> looked_at{};  // "queues", 3
};

// `query`: parameters of the call, "closely=true&limit=5".
sdk::Result<Findings> read_findings(sdk::Client& client, std::string_view query);
// Adds the items of `others` that are not there yet: nodes of one store say the same of it.
void merge(Findings& all, Findings others);

bool has_faults(const Findings& findings);
// Members of an object: `findings`, `more`.
void write_findings(sdk::JsonWriter& json, const Findings& findings);
// For a screen: each finding with its reason and its next step, the worst first.
std::string findings_text(const Findings& findings, std::size_t width);
// One line each, "bad   No worker takes jobs from mail: start a worker: ...", or two if the width
// is small.
std::string findings_lines(const Findings& findings, std::size_t width, std::size_t most);
// "3 queues, 1 worker": what was looked at.
std::string looked_at_text(const Findings& findings);

}  // namespace millrace::cli
