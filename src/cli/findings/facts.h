// What the API tells, as the server sent it, from which findings are made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/findings/finding.h"
#include "millrace/client.h"
#include "millrace/json.h"

namespace millrace::cli {

// Lists as JSON texts, an item each.
struct Facts {
  using Items = std::vector<std::string>;
  Items queues{};
  Items workers{};
  Items limits{};
  Items types{};
  Items schedules{};
  Items targets{};
  std::string readiness{};  // GET /readyz?verbose; empty: not known
  std::string by_type{};    // GET /v1/stats by type, of kFailureWindow
  Time now{};               // the server's
  // What could not be read, and why: "the tokens: ...". Findings about it are missing.
  std::vector<std::string> unknown{};
};

inline constexpr Duration kFailureWindow{900'000};

// How long something may stand still before it is told.
struct Patience {
  Duration late{60'000};    // a ready job, a schedule
  Duration alone{5'000};    // a ready job that nobody takes
  Duration silent{45'000};  // a worker
  Duration stuck{600'000};  // a holder of a slot that others wait for
};

// Reads what an overview needs; the queues only if `queues` is null, else it has them as the server
// sent them. An error: the server does not answer at all.
sdk::Result<Facts> look(sdk::Client& client, const Facts::Items* queues = nullptr);

// Adds the items of all pages of a list to `items`, or to `unknown` why that failed.
void read_list(sdk::Client& client, const std::string& path, std::string_view what,
               Facts::Items& items, Facts& facts);

// Queues and workers; limits and types; schedules; push targets; failures; checks. Pure.
void judge_queues(const Facts& facts, const Patience& patience, Findings& found);
void judge_workers(const Facts& facts, const Patience& patience, Findings& found);
void judge_gates(const Facts& facts, Findings& found);
void judge_schedules(const Facts& facts, const Patience& patience, Findings& found);
void judge_targets(const Facts& facts, Findings& found);
void judge_failures(const Facts& facts, Findings& found);
void judge_readiness(const Facts& facts, Findings& found);

// All of the above.
Findings judge(const Facts& facts, const Patience& patience);

// --- Of the API's items.
std::string text_of(sdk::JsonView item, std::string_view name);
std::int64_t number_of(sdk::JsonView item, std::string_view name);
bool truth_of(sdk::JsonView item, std::string_view name);
std::optional<Time> time_of(sdk::JsonView item, std::string_view name);
// "1 ready job waits", "12 ready jobs wait".
std::string count_of(std::int64_t count, std::string_view one, std::string_view many);
// For a command line: quoted where a shell would take it apart.
std::string shell_word(std::string_view text);

}  // namespace millrace::cli
