// Problems, described in plain words. `millrace doctor` and `millrace top` show them; the dashboard
// (web/src/lib/attention.ts) uses the same words. docs/reference/findings.md lists the titles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {

// A note is worth knowing but is not a fault.
enum class Severity : std::uint8_t { kBad, kWarn, kNote };
std::string_view name_of(Severity severity);  // "bad", "warn", "note"

struct Finding {
  std::string id;  // its kind: "queue_without_workers"
  Severity severity = Severity::kWarn;
  std::string what;  // a title without a full stop: "Queue mail is paused"
  std::string why;   // the consequence
  std::string next;  // the next step; a command if there is one
};
using Findings = std::vector<Finding>;

// Limit per kind; the others are counted in one more finding.
inline constexpr std::size_t kMostOfAKind = 10;
// Worst first, at most kMostOfAKind of each kind.
void put_in_order(Findings& findings);

bool has_faults(const Findings& findings);
std::string findings_json(const Findings& findings);  // an array
// For a screen: each finding with its reason and its next step.
std::string findings_text(const Findings& findings, std::size_t width);
// One line each, "bad   No worker takes jobs from mail: start a worker: ...", or two if the width
// is small.
std::string findings_lines(const Findings& findings, std::size_t width, std::size_t most);

}  // namespace millrace::cli
