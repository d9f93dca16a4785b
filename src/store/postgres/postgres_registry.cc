#include "store/postgres/postgres_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
using Use = ConnectionPool::Use;

// Uses the database's time, read after the row's lock was obtained.
constexpr const char* kRenew =
    "INSERT INTO millrace.nodes(node, url, name, version, newest_format, started_at, renewed_at, "
    "expires_at) VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp(), "
    "clock_timestamp() + $6 * interval '1 millisecond') "
    "ON CONFLICT (node) DO UPDATE SET url = excluded.url, name = excluded.name, "
    "version = excluded.version, newest_format = excluded.newest_format, "
    "renewed_at = clock_timestamp(), "
    "expires_at = clock_timestamp() + $6 * interval '1 millisecond'";
// Two nodes that wake up after an hour must not wait for each other.
constexpr const char* kForget =
    "DELETE FROM millrace.nodes WHERE node IN (SELECT node FROM millrace.nodes WHERE "
    "expires_at <= clock_timestamp() - $1 * interval '1 millisecond' FOR UPDATE SKIP LOCKED)";
// Usually it has nothing to do, and writes nothing.
constexpr const char* kRaiseFormat =
    "UPDATE millrace.meta SET value = readable.format::text FROM (SELECT min(newest_format) AS "
    "format FROM millrace.nodes WHERE expires_at > clock_timestamp()) AS readable "
    "WHERE name = 'format' AND value::bigint < readable.format";
// Used by a mutant.
constexpr const char* kRaiseFormatAlone =
    "UPDATE millrace.meta SET value = newest.format::text FROM (SELECT max(newest_format) AS "
    "format FROM millrace.nodes) AS newest WHERE name = 'format'";
constexpr const char* kSelectFormat =
    "SELECT value::bigint FROM millrace.meta WHERE name = 'format'";
constexpr const char* kSelectNodes =
    "SELECT node, url, name, version, newest_format, "
    "floor(extract(epoch FROM started_at) * 1000)::bigint, draining, "
    "floor(extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint FROM millrace.nodes "
    "WHERE expires_at > clock_timestamp() - $1 * interval '1 millisecond' ORDER BY node";
constexpr const char* kSelectShards =
    "SELECT shard::bigint, leader, epoch, seq FROM millrace.shards ORDER BY shard";

// If the row is gone, one is made whose lease has long been over, so that a node which returns at
// this moment waits for it.
constexpr const char* kLockFormer =
    "WITH locked AS (INSERT INTO millrace.nodes AS former(node, url, name, version, newest_format, "
    "started_at, expires_at) VALUES ($1, '', '', '', 0, clock_timestamp(), "
    "clock_timestamp() - $2 * interval '1 millisecond') "
    "ON CONFLICT (node) DO UPDATE SET draining = former.draining "
    "WHERE former.expires_at <= clock_timestamp() RETURNING 1) "
    "SELECT millrace.require(count(*) = 1, 'the lease of the shard''s leader is not over') "
    "FROM locked";
// A flush or trim requires the epoch of this row, and locks the row. A flush under an epoch later
// than `silent_epoch` ends the silence. If the start of the silence is unknown (the former leader
// is forgotten, or the database is older than the table of nodes), the tables' time is used.
constexpr const char* kTake =
    "UPDATE millrace.shards SET leader = $4, epoch = greatest(epoch + 1, $5), "
    "silent_since = CASE WHEN leader = $4 THEN silent_since ELSE coalesce(silent_since, "
    "(SELECT renewed_at FROM millrace.nodes WHERE node = $2), "
    "CASE WHEN seq > 0 THEN to_timestamp(at / 1000.0) END) END, "
    "silent_epoch = CASE WHEN silent_since IS NULL THEN epoch ELSE silent_epoch END "
    "WHERE shard = $1 AND leader IS NOT DISTINCT FROM nullif($2, '') AND epoch = $3 "
    "RETURNING epoch, floor(extract(epoch FROM clock_timestamp() - silent_since) * 1000)::bigint";
constexpr const char* kHandOver =
    "UPDATE millrace.shards SET leader = nullif($4, ''), "
    "silent_since = coalesce(silent_since, clock_timestamp()), silent_epoch = epoch "
    "WHERE shard = $1 AND leader = $2 AND epoch = $3 RETURNING 1";
constexpr const char* kSetDraining =
    "UPDATE millrace.nodes SET draining = ($2 <> 0) WHERE node = $1 RETURNING 1";
constexpr const char* kEndLease =
    "UPDATE millrace.nodes SET expires_at = least(expires_at, clock_timestamp()) WHERE node = $1";
// The node may have been in doubt for a while: count it as silent since its last renewal, as if it
// had died.
constexpr const char* kLeaveShards =
    "UPDATE millrace.shards SET leader = NULL, silent_since = coalesce(silent_since, "
    "(SELECT renewed_at FROM millrace.nodes WHERE node = $1), clock_timestamp()), "
    "silent_epoch = epoch WHERE leader = $1";
constexpr const char* kSelectSecret = "SELECT value FROM millrace.meta WHERE name = 'node_secret'";

// Longer than the second after which blocking sessions are ended.
constexpr SqlLimits kLimits{.lock = 2'500ms, .statement = 3'000ms, .silence = 4'000ms};

std::int64_t plain(std::uint64_t number) { return static_cast<std::int64_t>(number); }

// Empty: no leader.
std::string leader_text(NodeId leader) { return leader == kNobody ? "" : to_string(leader); }

Result<NodeId> read_node_id(std::string_view text, std::string_view table) {
  const auto id = parse_node_id(text);
  if (id) return *id;
  return failure(fmt::format("millrace.{} is damaged: \"{}\" is not a node id", table, text));
}

Status read_nodes(const SqlResult& rows, std::vector<NodeView>& nodes) {
  for (int number = 0; number < rows.rows(); ++number) {
    const SqlRow row = rows.row(number);
    const auto id = read_node_id(row.bytes(0), "nodes");
    if (!id) return std::unexpected(id.error());
    NodeView& node = nodes.emplace_back();
    node.facts = {*id, std::string(row.bytes(1)), std::string(row.bytes(2)),
                  std::string(row.bytes(3)), static_cast<std::uint32_t>(row.number(4))};
    node.started_at = time_from_ms(row.number(5));
    node.draining = row.truth(6);
    node.left = Duration{row.number(7)};
  }
  return {};
}

Status read_shards(const SqlResult& rows, std::vector<ShardView>& shards) {
  for (int number = 0; number < rows.rows(); ++number) {
    const SqlRow row = rows.row(number);
    ShardView& shard = shards.emplace_back();
    shard.shard = static_cast<std::uint32_t>(row.number(0));
    shard.epoch = Epoch{static_cast<std::uint64_t>(row.number(2))};
    shard.projected = Seq{static_cast<std::uint64_t>(row.number(3))};
    if (row.is_null(1)) continue;
    const auto leader = read_node_id(row.bytes(1), "shards");
    if (!leader) return std::unexpected(leader.error());
    shard.leader = *leader;
  }
  return {};
}

}  // namespace

PostgresRegistry::PostgresRegistry(std::shared_ptr<ConnectionPool> pool,
                                   std::shared_ptr<PostgresTerms> terms)
    : pool_(std::move(pool)), terms_(std::move(terms)) {}

Result<SqlReplies> PostgresRegistry::run(Use use, const SqlMessage& message) {
  auto replies = pool_->run(use, message);
  if (!replies) return to_error(replies.error());
  // The commit is on this server, and possibly nowhere else.
  if (!replies->warning.empty()) return failure(fmt::format("PostgreSQL: {}", replies->warning));
  return std::move(*replies);
}

Result<ClusterView> PostgresRegistry::renew(const NodeFacts& self, Duration lease) {
  MILLRACE_CHECK(self.id != kNobody);
  const std::int64_t forgotten_ms = kNodeForgottenAfter.count();
  SqlMessage message = impatient(*pool_, kLimits);
  message.add(kRenew, std::move(Parameters()
                                    .text(to_string(self.id))
                                    .text(self.url)
                                    .text(self.name)
                                    .text(self.version)
                                    .number(self.newest_format)
                                    .number(lease.count())));
  message.add(kForget, std::move(Parameters().number(forgotten_ms)));
  message.add(mutated(Mutant::kFormatRaisedAlone) ? kRaiseFormatAlone : kRaiseFormat);
  const std::size_t format = message.add(kSelectFormat);
  const std::size_t nodes = message.add(kSelectNodes, std::move(Parameters().number(forgotten_ms)));
  const std::size_t shards = message.add(kSelectShards);
  const auto replies = run(Use::kLease, message);
  if (!replies) return std::unexpected(replies.error());
  const SqlResult& found = replies->results[format];
  if (found.rows() != 1)
    return failure("millrace.meta is damaged: the store's format is missing or invalid");
  ClusterView view;
  view.format = static_cast<std::uint32_t>(found.row(0).number(0));
  Status read = read_nodes(replies->results[nodes], view.nodes);
  if (read) read = read_shards(replies->results[shards], view.shards);
  if (!read) return std::unexpected(read.error());
  return view;
}

Result<std::optional<Term>> PostgresRegistry::take(NodeId self, const ShardView& seen,
                                                   Epoch at_least) {
  MILLRACE_CHECK(self != kNobody);
  const bool anothers = seen.leader != kNobody && seen.leader != self;
  SqlMessage message = impatient(*pool_, kLimits);
  if (anothers && !mutated(Mutant::kTakeUncompared)) {
    message.add(
        kLockFormer,
        std::move(Parameters().text(to_string(seen.leader)).number(kNodeForgottenAfter.count())));
  }
  const std::size_t take = message.add(kTake, std::move(Parameters()
                                                            .number(seen.shard)
                                                            .text(leader_text(seen.leader))
                                                            .number(plain(to_number(seen.epoch)))
                                                            .text(to_string(self))
                                                            .number(plain(to_number(at_least)))));
  const auto replies = pool_->run(Use::kWriting, message);
  if (!replies) {
    if (replies.error().state == kRequirementState) return std::nullopt;
    return to_error(replies.error());
  }
  if (!replies->warning.empty()) return failure(fmt::format("PostgreSQL: {}", replies->warning));
  const SqlResult& taken = replies->results[take];
  if (taken.rows() == 0) return std::nullopt;
  const auto epoch = static_cast<std::uint64_t>(taken.row(0).number(0));
  terms_->begin(seen.shard, epoch);
  Term term{Epoch{epoch}, std::nullopt};
  if (const auto ms = taken.row(0).maybe_number(1)) {
    term.silent_for = std::max(Duration{*ms}, Duration{0});
  }
  return term;
}

Result<bool> PostgresRegistry::hand_over(NodeId self, std::uint32_t shard, Epoch epoch, NodeId to) {
  SqlMessage message = impatient(*pool_, kLimits);
  message.add(kHandOver, std::move(Parameters()
                                       .number(shard)
                                       .text(to_string(self))
                                       .number(plain(to_number(epoch)))
                                       .text(leader_text(to))));
  const auto replies = run(Use::kWriting, message);
  if (!replies) return std::unexpected(replies.error());
  return replies->results.front().rows() == 1;
}

Result<bool> PostgresRegistry::set_draining(NodeId node, bool draining) {
  SqlMessage message = impatient(*pool_, kLimits);
  message.add(kSetDraining,
              std::move(Parameters().text(to_string(node)).number(std::int64_t{draining})));
  const auto replies = run(Use::kWriting, message);
  if (!replies) return std::unexpected(replies.error());
  return replies->results.front().rows() == 1;
}

Status PostgresRegistry::leave(NodeId self) {
  SqlMessage message = impatient(*pool_, kLimits);
  message.add(kEndLease, std::move(Parameters().text(to_string(self))));
  message.add(kLeaveShards, std::move(Parameters().text(to_string(self))));
  const auto replies = run(Use::kWriting, message);
  if (!replies) return std::unexpected(replies.error());
  return {};
}

Result<std::string> PostgresRegistry::secret() {
  SqlMessage message(kLimits);
  message.add(kSelectSecret);
  const auto replies = run(Use::kReading, message);
  if (!replies) return std::unexpected(replies.error());
  const SqlResult& found = replies->results.front();
  if (found.rows() != 1)
    return failure("millrace.meta is damaged: the nodes' secret is missing or invalid");
  return std::string(found.row(0).bytes(0));
}

}  // namespace millrace::store
