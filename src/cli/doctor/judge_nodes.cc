#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/doctor/look.h"

namespace millrace::cli {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;
// Free disk space: below the first line a warning, below the second an error.
constexpr double kLittleShare = 0.10, kLittleBytes = 1 * kGiB;
constexpr double kNoneShare = 0.03, kNoneBytes = 200 * kMiB;
constexpr double kSlowSyncMs = 100, kVerySlowSyncMs = 1'000;
constexpr std::int64_t kFewSyncs = 10;  // fewer say little
constexpr Duration kClockOff{2'000}, kClockFarOff{60'000};
constexpr Duration kTablesBehind{5'000}, kTablesFarBehind{60'000};
constexpr int kVeryLong = 10;  // times the usual patience
constexpr Duration kDay{86'400'000};
constexpr Duration kCertificateSoon = 14 * kDay, kTokenSoon = 7 * kDay;

std::string size_text(double bytes) {
  return bytes >= kGiB ? fmt::format("{:.1f} GiB", bytes / kGiB)
                       : fmt::format("{:.0f} MiB", bytes / kMiB);
}

// "the server's", "node a's".
std::string of(const NodeSeen& node) { return node.name + "'s"; }

std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

std::string apart(Duration ahead) {
  return fmt::format("{} {}", format_duration_for_people(Duration{std::abs(ahead.count())}),
                     ahead.count() > 0 ? "ahead of" : "behind");
}

void judge_disk(const NodeSeen& node, sdk::JsonView facts, Findings& found) {
  const sdk::JsonView disk = facts["disk"];
  if (!disk.is_object()) return;
  const auto free = static_cast<double>(number_of(disk, "free_bytes"));
  const auto total = std::max(1.0, static_cast<double>(number_of(disk, "total_bytes")));
  if (free >= kLittleBytes && free / total >= kLittleShare) return;
  if (free >= kLittleBytes * 20) return;  // a small share of a large disk is still much
  const bool none = free < kNoneBytes || free / total < kNoneShare;
  found.push_back(
      {"disk_full", none ? Severity::kBad : Severity::kWarn,
       fmt::format("{} disk is nearly full", sentence(of(node))),
       fmt::format("{} of {} are free at {}. Without room nothing can be acknowledged.",
                   size_text(free), size_text(total), text_of(disk, "path")),
       "make room, or keep ended jobs for a shorter time: millrace queue set NAME --retention"});
}

void judge_syncs(const NodeSeen& node, sdk::JsonView facts, Findings& found) {
  const sdk::JsonView syncs = facts["syncs"];
  const double p99 = syncs["p99_ms"].number().value_or(0);
  if (number_of(syncs, "count") < kFewSyncs || p99 < kSlowSyncMs) return;
  found.push_back(
      {"slow_syncs", p99 < kVerySlowSyncMs ? Severity::kWarn : Severity::kBad,
       fmt::format("{} syncs are slow", sentence(of(node))),
       fmt::format(
           "1 in 100 appends to the journal took {:.0f} ms or more in the last five minutes "
           "(half of them {:.1f} ms); every answer waits for one.",
           p99, syncs["p50_ms"].number().value_or(0)),
       "look at what else uses the disk, or move the store to a faster one"});
}

void judge_clock(const NodeSeen& node, sdk::JsonView facts, Findings& found) {
  if (node.clock_ahead) {
    const auto [least, most] = *node.clock_ahead;
    const Duration off = least > Duration{0} ? least : std::min(most, Duration{0});
    if (Duration{std::abs(off.count())} >= kClockOff) {
      const bool far = Duration{std::abs(off.count())} >= kClockFarOff;
      found.push_back({"clock_apart", far ? Severity::kBad : Severity::kWarn,
                       fmt::format("{} clock is {} this machine's", sentence(of(node)), apart(off)),
                       "run_at, expires_at and schedules mean other instants than you think.",
                       "let both machines follow a time server (chrony, systemd-timesyncd)"});
    }
  }
  const Duration ahead{number_of(facts, "wall_ahead_ms")};
  if (Duration{std::abs(ahead.count())} >= kClockFarOff) {
    found.push_back(
        {"clock_changed", Severity::kWarn,
         fmt::format("Somebody changed the clock of {}, which is {} its shards' time", node.name,
                     apart(ahead)),
         "A shard's time never jumps; it takes the clock's when the server starts again.",
         "if the clock is right now, restart the server when that suits you"});
  }
  const Duration database{number_of(facts["database"], "clock_ahead_ms")};
  if (Duration{std::abs(database.count())} >= kClockOff) {
    found.push_back(
        {"database_clock", Severity::kWarn,
         fmt::format("The database's clock is {} that of {}", apart(database), node.name),
         "Leases of nodes go by the database's clock, jobs by the nodes'.",
         "let both machines follow a time server (chrony, systemd-timesyncd)"});
  }
}

void judge_database(const NodeSeen& node, sdk::JsonView facts, const Patience& patience,
                    Findings& found) {
  if (const std::string error = text_of(facts, "database_error"); !error.empty()) {
    found.push_back({"database_silent", Severity::kBad,
                     fmt::format("The database did not answer {}", node.name), error + ".",
                     "look whether PostgreSQL runs and has connections left"});
  }
  const sdk::JsonView database = facts["database"];
  const sdk::JsonView oldest = database["oldest_transaction"];
  const Duration age{number_of(oldest, "age_ms")};
  if (oldest.is_object() && age >= patience.late) {
    const std::string application = text_of(oldest, "application");
    found.push_back(
        {"transaction_open", age < patience.late * kVeryLong ? Severity::kWarn : Severity::kBad,
         fmt::format("A session of the database holds a transaction open for {}",
                     format_duration_for_people(age)),
         fmt::format(
             "Process {} of user {}{}, {}: until it ends, the database removes no dead row, "
             "and tables and indexes grow.",
             number_of(oldest, "pid"), text_of(oldest, "user"),
             application.empty() ? "" : fmt::format(" ({})", application),
             text_of(oldest, "state")),
         fmt::format("end it: SELECT pg_terminate_backend({})", number_of(oldest, "pid"))});
  }
  if (const auto prepared = number_of(database, "prepared_transactions"); prepared > 0) {
    found.push_back({"transaction_prepared", Severity::kWarn,
                     fmt::format("The database has {} prepared and not ended",
                                 count_of(prepared, "transaction", "transactions")),
                     "Until then the database removes no dead row.",
                     "COMMIT PREPARED or ROLLBACK PREPARED; see SELECT * FROM pg_prepared_xacts"});
  }
  const auto most = number_of(database, "max_connections");
  const auto used = number_of(database, "connections");
  if (most > 0 && used * 10 >= most * 9) {
    found.push_back({"database_connections", Severity::kWarn,
                     fmt::format("The database has {} of {} connections in use", used, most),
                     "A node that finds none left can't serve its shards.",
                     "raise max_connections, or put a pooler before the applications"});
  }
}

void judge_certificate(const NodeSeen& node, sdk::JsonView facts, Time now, Findings& found) {
  const auto ends = time_of(facts, "certificate_expires_at");
  if (!ends || *ends - now >= kCertificateSoon) return;
  const bool over = *ends <= now;
  found.push_back(
      {"certificate_expires", over ? Severity::kBad : Severity::kWarn,
       over ? fmt::format("{} certificate expired at {}", sentence(of(node)), format_rfc3339(*ends))
            : fmt::format("{} certificate expires in {}", sentence(of(node)),
                          format_duration_for_people(*ends - now)),
       over ? "Clients refuse to connect." : "From then on clients refuse to connect.",
       "renew it; the server reads the file again by itself"});
}

void judge_diagnosis(const NodeSeen& node, Time now, const Patience& patience, Findings& found) {
  const sdk::JsonView facts(node.diagnosis);
  judge_disk(node, facts, found);
  judge_syncs(node, facts, found);
  judge_clock(node, facts, found);
  for (const sdk::JsonView what : facts["failing"].elements()) {
    found.push_back(
        {"cannot_write", Severity::kBad,
         fmt::format("{} can't write its {}", sentence(node.name), what.string().value_or("")),
         "What it can't write, it can't keep.", "look into its log, and at its disk"});
  }
  const Duration lag{number_of(facts, "projection_lag_ms")};
  if (lag >= kTablesBehind) {
    found.push_back({"tables_behind", lag < kTablesFarBehind ? Severity::kWarn : Severity::kBad,
                     fmt::format("{} tables are behind by {}", sentence(of(node)),
                                 format_duration_for_people(lag)),
                     "Lists and searches show the past; at a bound new jobs are refused.",
                     "look at its disk, and for a transaction that locks its tables"});
  }
  const std::string room = text_of(facts["memory"], "room");
  if (room == "tight" || room == "none") {
    const auto budget = static_cast<double>(number_of(facts["memory"], "budget_bytes"));
    found.push_back(
        {"memory_short", room == "none" ? Severity::kBad : Severity::kWarn,
         fmt::format("{} is short of memory", sentence(node.name)),
         room == "none" ? "It refuses new jobs." : "It drops payloads from memory early.",
         fmt::format("let workers catch up, or raise --memory above {}", size_text(budget))});
  }
  judge_certificate(node, facts, now, found);
  judge_database(node, facts, patience, found);
}

}  // namespace

void judge_nodes(const DoctorFacts& facts, const Patience& patience, Findings& found) {
  std::set<std::string> versions;
  for (const NodeSeen& node : facts.nodes) {
    if (!node.version.empty()) versions.insert(node.version);
    if (!node.diagnosis.empty()) judge_diagnosis(node, facts.overview.now, patience, found);
    if (node.problem.empty()) continue;
    found.push_back({"node_not_seen", Severity::kNote,
                     fmt::format("{} could not be looked at closely", sentence(node.name)),
                     node.problem + ".",
                     "use a token with the scope admin, from where nodes are reached"});
  }
  if (versions.size() > 1) {
    std::string list;
    for (const std::string& version : versions) list += (list.empty() ? "" : ", ") + version;
    found.push_back({"versions_differ", Severity::kWarn, "Nodes run different versions",
                     fmt::format("They are {}. What only the newer one knows is refused until all "
                                 "are of one version.",
                                 list),
                     "finish the upgrade: replace the older nodes"});
  }
  if (!facts.leaderless.empty()) {
    found.push_back({"shard_without_leader", Severity::kBad,
                     fmt::format("{} without a leader",
                                 count_of(static_cast<std::int64_t>(facts.leaderless.size()),
                                          "shard is", "shards are")),
                     "Their queues stand still.",
                     "wait 10 seconds; then look into the nodes' logs: millrace admin nodes"});
  }
  for (const std::string& name : facts.gone) {
    found.push_back({"node_gone", Severity::kNote, fmt::format("{} is gone", sentence(name)),
                     "It ended without a farewell; others lead what it led.",
                     "start it again, or nothing: it is forgotten after an hour"});
  }
}

void judge_tokens(const DoctorFacts& facts, Findings& found) {
  for (const std::string& item : facts.tokens) {
    const sdk::JsonView token(item);
    const auto ends = time_of(token, "expires_at");
    if (!ends || *ends - facts.overview.now >= kTokenSoon) continue;
    const bool over = *ends <= facts.overview.now;
    const std::string name = text_of(token, "name");
    found.push_back({"token_expires", over ? Severity::kNote : Severity::kWarn,
                     over ? fmt::format("Token {} has expired", name)
                          : fmt::format("Token {} expires in {}", name,
                                        format_duration_for_people(*ends - facts.overview.now)),
                     over ? "Who has it is refused." : "From then on whoever has it is refused.",
                     over ? fmt::format("revoke it: millrace token revoke {}", text_of(token, "id"))
                          : "make another and hand it out: millrace token create"});
  }
}

}  // namespace millrace::cli
