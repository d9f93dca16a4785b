// A node's own health, and the nodes together.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/ascii.h"
#include "service/findings/judge.h"
#include "service/findings/words.h"

namespace millrace::service {
namespace {

using api::Finding;
using enum api::FindingCode;
using enum api::Severity;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;
// Less free space than this is an error.
constexpr double kNonePercent = 3;
constexpr double kNoneBytes = 200 * kMiB;
// A small share of a large disk is still much: this many times the bytes of the threshold.
constexpr double kMuch = 20;
constexpr std::uint64_t kFewSyncs = 10;  // fewer say little
constexpr std::size_t kMostDetailBytes = 500;
// Above this many times its threshold, a warning is an error.
constexpr int kVeryLong = 10;
constexpr int kVeryFarBehind = 12;
constexpr double kWholePercent = 100;

std::string size_text(double bytes) {
  return bytes >= kGiB ? fmt::format("{:.1f} GiB", bytes / kGiB)
                       : fmt::format("{:.0f} MiB", bytes / kMiB);
}

std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

// "The server's", "Node a's".
std::string its(const NodeName& node) { return sentence(node.name) + "'s"; }

std::string apart(Duration ahead) {
  return fmt::format("{} {}", format_duration_for_people(std::chrono::abs(ahead)),
                     ahead.count() > 0 ? "ahead of" : "behind");
}

std::string shortened(std::string text) {
  if (text.size() > kMostDetailBytes) text = text.substr(0, kMostDetailBytes) + "...";
  return text;
}

api::FindingAbout about(const NodeName& node) { return {.node = node.id}; }

void judge_disk(Judge& judge, const NodeName& node, const api::DiskRoom& disk) {
  const auto free = static_cast<double>(disk.free_bytes);
  const auto total = std::max(1.0, static_cast<double>(disk.total_bytes));
  const double percent = kWholePercent * free / total;
  const auto least_bytes = static_cast<double>(judge.thresholds.free_bytes);
  const auto least_percent = static_cast<double>(judge.thresholds.free_percent);
  if (free >= least_bytes && percent >= least_percent) return;
  if (free >= least_bytes && free >= kGiB * kMuch) return;
  const bool none =
      free < std::min(kNoneBytes, least_bytes) || percent < std::min(kNonePercent, least_percent);
  judge.found.add(kDiskFull, none ? kBad : kWarn, [&] {
    return Finding{
        .about = about(node),
        .what = fmt::format("{} disk is nearly full", its(node)),
        .why = fmt::format("{} of {} are free at {}. Without room nothing can be acknowledged.",
                           size_text(free), size_text(total), disk.path),
        .next = "make room, or keep ended jobs for a shorter time",
        .command = "millrace queue set NAME --retention TIME",
        .figures = {{"free", free, "bytes", least_bytes},
                    {"free_share", percent, "percent", least_percent},
                    {"total", total, "bytes", {}}}};
  });
}

void judge_syncs(Judge& judge, const NodeName& node, const api::SyncTimes& syncs) {
  const double slow = in_ms(judge.thresholds.slow_sync);
  if (syncs.count < kFewSyncs || syncs.p99_ms < slow) return;
  judge.found.add(kSlowSyncs, syncs.p99_ms < kVeryLong * slow ? kWarn : kBad, [&] {
    return Finding{
        .about = about(node),
        .what = fmt::format("{} syncs are slow", its(node)),
        .why = fmt::format("1 in 100 appends to the journal took {:.0f} ms or more in the last "
                           "five minutes (half of them {:.1f} ms); every answer waits for one.",
                           syncs.p99_ms, syncs.p50_ms),
        .next = "look at what else uses the disk, or move the store to a faster one",
        .figures = {
            {"sync_p99", syncs.p99_ms, "ms", slow},
            {"sync_p50", syncs.p50_ms, "ms", {}},
            {"syncs", static_cast<double>(syncs.count), "syncs", static_cast<double>(kFewSyncs)}}};
  });
}

void judge_clocks(Judge& judge, const NodeName& node, const api::Diagnosis& facts) {
  const Duration ahead{facts.wall_ahead_ms};
  const Duration changed = judge.thresholds.clock_changed;
  if (std::chrono::abs(ahead) >= std::max(changed, Duration{1})) {
    judge.found.add(kClockChanged, kWarn, [&] {
      return Finding{
          .about = about(node),
          .what = fmt::format("Somebody changed the clock of {}, which is {} its shards' time",
                              node.name, apart(ahead)),
          .why = "A shard's time never jumps; it takes the clock's when the server starts again.",
          .next = "if the clock is right now, restart the server when that suits you",
          .figures = {{"clock_ahead", in_ms(ahead), "ms", in_ms(changed)}}};
    });
  }
  if (!facts.database) return;
  const Duration database{facts.database->clock_ahead_ms};
  const Duration off = judge.thresholds.database_clock;
  if (std::chrono::abs(database) < std::max(off, Duration{1})) return;
  judge.found.add(kDatabaseClock, kWarn, [&] {
    return Finding{
        .about = about(node),
        .what = fmt::format("The database's clock is {} that of {}", apart(database), node.name),
        .why = "Leases of nodes go by the database's clock, jobs by the nodes'.",
        .next = "let both machines follow a time server (chrony, systemd-timesyncd)",
        .figures = {{"clock_ahead", in_ms(database), "ms", in_ms(off)}}};
  });
}

void judge_transactions(Judge& judge, const NodeName& node, const api::DatabaseFacts& database) {
  if (database.oldest && Duration{database.oldest->age_ms} >= judge.thresholds.transaction) {
    const api::OpenTransaction& oldest = *database.oldest;
    const Duration age{oldest.age_ms};
    const bool very_long = age >= judge.thresholds.transaction * kVeryLong;
    judge.found.add(kTransactionOpen, very_long ? kBad : kWarn, [&] {
      return Finding{
          .about = about(node),
          .what = fmt::format("A session of the database holds a transaction open for {}",
                              format_duration_for_people(age)),
          .why = fmt::format(
              "Process {} of user {}{}, {}: until it ends, the database removes no "
              "dead row, and tables and indexes grow.",
              oldest.pid, oldest.user,
              oldest.application.empty() ? "" : fmt::format(" ({})", shortened(oldest.application)),
              oldest.state),
          .next = "end it",
          .command = fmt::format("SELECT pg_terminate_backend({})", oldest.pid),
          .figures = {{"transaction_age", in_ms(age), "ms", in_ms(judge.thresholds.transaction)}}};
    });
  }
  if (database.prepared == 0) return;
  judge.found.add(kTransactionPrepared, kWarn, [&] {
    return Finding{
        .about = about(node),
        .what = fmt::format("The database has {} prepared and not ended",
                            count_of(database.prepared, "transaction", "transactions")),
        .why = "Until then the database removes no dead row.",
        .next = "COMMIT PREPARED or ROLLBACK PREPARED those that this lists",
        .command = "SELECT * FROM pg_prepared_xacts",
        .figures = {{"prepared", static_cast<double>(database.prepared), "transactions", 1}}};
  });
}

void judge_connections(Judge& judge, const NodeName& node, const api::DatabaseFacts& database) {
  constexpr std::int64_t kMostPercent = 90;
  const std::int64_t most = database.max_connections;
  if (most == 0 || database.connections * 100 < most * kMostPercent) return;
  judge.found.add(kDatabaseConnections, kWarn, [&] {
    return Finding{
        .about = about(node),
        .what =
            fmt::format("The database has {} of {} connections in use", database.connections, most),
        .why = "A node that finds none left can't serve its shards.",
        .next = "raise max_connections, or put a pooler before the applications",
        .figures = {{"connections", static_cast<double>(database.connections), "connections",
                     static_cast<double>(most * kMostPercent) / kWholePercent},
                    {"max_connections", static_cast<double>(most), "connections", {}}}};
  });
}

void judge_memory(Judge& judge, const NodeName& node, const api::Diagnosis& facts) {
  const bool none = facts.memory_room == "none";
  if (!none && facts.memory_room != "tight") return;
  judge.found.add(kMemoryShort, none ? kBad : kWarn, [&] {
    const auto budget = static_cast<double>(facts.memory_budget_bytes);
    return Finding{
        .about = about(node),
        .what = fmt::format("{} is short of memory", sentence(node.name)),
        .why = none ? "It refuses new jobs." : "It drops payloads from memory early.",
        .next = fmt::format("let workers catch up, or raise --memory above {}", size_text(budget)),
        .figures = {{"budget", budget, "bytes", {}},
                    {"resident", static_cast<double>(facts.resident_bytes), "bytes", {}}}};
  });
}

void judge_certificate(Judge& judge, const NodeName& node, Time ends) {
  const Duration left = ends - judge.now;
  if (left >= judge.thresholds.certificate) return;
  const bool over = left <= Duration{0};
  judge.found.add(kCertificateExpires, over ? kBad : kWarn, [&] {
    return Finding{
        .about = about(node),
        .what = over ? fmt::format("{} certificate expired at {}", its(node), format_rfc3339(ends))
                     : fmt::format("{} certificate expires in {}", its(node),
                                   format_duration_for_people(left)),
        .why = over ? "Clients refuse to connect." : "From then on clients refuse to connect.",
        .next = "renew it; the server reads the file again by itself",
        .figures = {{"left", in_ms(left), "ms", in_ms(judge.thresholds.certificate)}}};
  });
}

}  // namespace

void judge_check(Judge& judge, const NodeName& node, const ReadinessCheck& check) {
  if (check.ok) return;
  judge.found.add(kCheckFails, kBad, [&] {
    return Finding{
        .about = {.node = node.id, .check = check.name},
        .what = fmt::format("{} check \"{}\" fails", its(node), check.name),
        .why = check.detail.empty() ? "The server gives no detail." : shortened(check.detail) + ".",
        .next = "look into the server's log"};
  });
}

void judge_diagnosis(Judge& judge, const NodeName& node, const api::Diagnosis& facts) {
  if (facts.disk) judge_disk(judge, node, *facts.disk);
  if (facts.syncs) judge_syncs(judge, node, *facts.syncs);
  judge_clocks(judge, node, facts);
  for (const std::string& what : facts.failing) {
    judge.found.add(kCannotWrite, kBad, [&] {
      return Finding{.about = about(node),
                     .what = fmt::format("{} can't write its {}", sentence(node.name), what),
                     .why = "What it can't write, it can't keep.",
                     .next = "look into its log, and at its disk"};
    });
  }
  const Duration lag{facts.projection_lag_ms.value_or(0)};
  const Duration behind = std::max(judge.thresholds.tables_behind, Duration{1});
  if (lag >= behind) {
    judge.found.add(kTablesBehind, lag < behind * kVeryFarBehind ? kWarn : kBad, [&] {
      return Finding{.about = about(node),
                     .what = fmt::format("{} tables are behind by {}", its(node),
                                         format_duration_for_people(lag)),
                     .why = "Lists and searches show the past; at a bound new jobs are refused.",
                     .next = "look at its disk, and for a transaction that locks its tables",
                     .figures = {{"lag", in_ms(lag), "ms", in_ms(behind)}}};
    });
  }
  judge_memory(judge, node, facts);
  if (facts.certificate_expires_at) judge_certificate(judge, node, *facts.certificate_expires_at);
  if (!facts.database_error.empty()) {
    judge.found.add(kDatabaseSilent, kBad, [&] {
      return Finding{.about = about(node),
                     .what = fmt::format("The database did not answer {}", node.name),
                     .why = shortened(facts.database_error) + ".",
                     .next = "look whether PostgreSQL runs and has connections left"};
    });
  }
  if (!facts.database) return;
  judge_transactions(judge, node, *facts.database);
  judge_connections(judge, node, *facts.database);
}

void judge_cluster(Judge& judge, const api::Cluster& cluster) {
  std::set<std::string> versions;
  for (const api::NodeInfo& node : cluster.nodes) {
    if (node.live && !node.version.empty()) versions.insert(node.version);
  }
  if (versions.size() > 1) {
    judge.found.add(kVersionsDiffer, kWarn, [&] {
      return Finding{
          .what = "Nodes run different versions",
          .why = fmt::format("They are {}. What only the newer one knows is refused "
                             "until all are of one version.",
                             fmt::join(versions, ", ")),
          .next = "finish the upgrade: replace the older nodes",
          .figures = {{"versions", static_cast<double>(versions.size()), "versions", 1}}};
    });
  }
  const auto leaderless = std::ranges::count_if(
      cluster.shards, [](const api::ShardInfo& shard) { return shard.leader.empty(); });
  if (leaderless > 0) {
    judge.found.add(kShardWithoutLeader, kBad, [&] {
      return Finding{.what = fmt::format("{} without a leader",
                                         count_of(leaderless, "shard is", "shards are")),
                     .why = "Their queues stand still.",
                     .next = "wait 10 seconds; then look into the nodes' logs",
                     .command = "millrace admin nodes",
                     .figures = {{"leaderless", static_cast<double>(leaderless), "shards", {}}}};
    });
  }
  for (const api::NodeInfo& node : cluster.nodes) {
    if (node.live || node.self) continue;
    judge.found.add(kNodeGone, kNote, [&] {
      return Finding{.about = {.node = node.id},
                     .what = fmt::format("Node {} at {} is gone",
                                         node.name.empty() ? node.id : node.name, node.url),
                     .why = "It ended without a farewell; others lead what it led.",
                     .next = "start it again, or nothing: it is forgotten after an hour"};
    });
  }
}

}  // namespace millrace::service
