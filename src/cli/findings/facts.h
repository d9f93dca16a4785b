// The API's data from which findings are made, as the server sent it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/findings/finding.h"
#include "millrace/client.h"
#include "millrace/json.h"

namespace millrace::cli {

// Each list holds its items as JSON texts.
struct Facts {
  using Items = std::vector<std::string>;
  Items queues{};
  Items workers{};
  Items limits{};
  Items types{};
  Items schedules{};
  Items targets{};
  // Ready jobs whose types no worker of their queue takes.
  struct Untaken {
    std::string queue;
    std::string job;   // one of them, as the server sent it
    bool all = false;  // the queue has no other ready jobs
  };
  std::vector<Untaken> untaken{};
  std::string readiness{};  // GET /readyz?verbose; empty if unknown
  std::string by_type{};    // GET /v1/stats by type, over kFailureWindow
  Time now{};               // the server's
  // The data that could not be read, and the reason: "the tokens: ...". Findings about it are
  // missing.
  std::vector<std::string> unknown{};
};

inline constexpr Duration kFailureWindow{900'000};

// How long something may make no progress before it is reported.
struct Patience {
  Duration late{60'000};    // a ready job, a schedule
  Duration alone{5'000};    // a ready job that no worker takes
  Duration silent{45'000};  // a worker
  Duration stuck{600'000};  // a holder of a slot that others wait for
};

// Reads the data for an overview. `queues`: the queues as the server sent them; null: they are read
// too. An error means that the server does not answer at all.
sdk::Result<Facts> look(sdk::Client& client, const Facts::Items* queues = nullptr);

// Reads `untaken`, with one call for each of at most `most` queues that have ready jobs and whose
// workers all name their types.
void look_for_untaken(sdk::Client& client, std::size_t most, Facts& facts);

// The first page of a list; on failure, adds the reason to `unknown`.
Facts::Items first_page(sdk::Client& client, const std::string& path, std::string_view what,
                        Facts& facts);
// The path of a search for jobs.
std::string search(std::string_view query, int limit);
std::string in_quotes(std::string_view text);

// Adds the items of all pages of a list to `items`; on failure, adds the reason to `unknown`.
void read_list(sdk::Client& client, const std::string& path, std::string_view what,
               Facts::Items& items, Facts& facts);

// --- Pure functions, one for each kind of item.
void judge_queues(const Facts& facts, const Patience& patience, Findings& found);
void judge_untaken(const Facts& facts, Findings& found);
void judge_workers(const Facts& facts, const Patience& patience, Findings& found);
void judge_gates(const Facts& facts, Findings& found);
void judge_schedules(const Facts& facts, const Patience& patience, Findings& found);
void judge_targets(const Facts& facts, Findings& found);
void judge_failures(const Facts& facts, Findings& found);
void judge_readiness(const Facts& facts, Findings& found);

// All of the above.
Findings judge(const Facts& facts, const Patience& patience);

// --- Members of the API's items.
std::string text_of(sdk::JsonView item, std::string_view name);
std::int64_t number_of(sdk::JsonView item, std::string_view name);
bool truth_of(sdk::JsonView item, std::string_view name);
std::optional<Time> time_of(sdk::JsonView item, std::string_view name);
// "1 ready job waits", "12 ready jobs wait".
std::string count_of(std::int64_t count, std::string_view one, std::string_view many);
// Quotes `text` for a command line if a shell would split or expand it.
std::string shell_word(std::string_view text);

}  // namespace millrace::cli
