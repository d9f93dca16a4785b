#include "store/postgres/postgres_facts.h"

#include <utility>

#include "store/postgres/connection_pool.h"
#include "store/postgres/postgres_store.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;

constexpr SqlLimits kLimits{.lock = 1'000ms, .statement = 2'000ms, .silence = 3'000ms};

constexpr const char* kSelectFacts =
    "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, "
    "(SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()), "
    "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), "
    "current_setting('max_connections')::bigint";
// Times of other users' sessions are null, unless this user may see them.
constexpr const char* kSelectOldest =
    "SELECT pid::bigint, coalesce(usename::text, ''), coalesce(application_name, ''), "
    "coalesce(state, ''), floor(extract(epoch FROM clock_timestamp() - xact_start) * 1000)::bigint "
    "FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' "
    "AND xact_start IS NOT NULL AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1";

}  // namespace

Result<DatabaseFacts> look_at_database(PostgresNode& node) {
  SqlMessage message(kLimits);
  message.add(kSelectFacts);
  message.add(kSelectOldest);
  const auto replies = node.pool().run(ConnectionPool::Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  const SqlRow row = replies->results[0].row(0);
  DatabaseFacts facts{.now = time_from_ms(row.number(0)),
                      .oldest = std::nullopt,
                      .prepared = row.number(1),
                      .connections = row.number(2),
                      .max_connections = row.number(3)};
  const SqlResult& oldest = replies->results[1];
  if (oldest.rows() == 1) {
    const SqlRow found = oldest.row(0);
    facts.oldest = {found.number(0), std::string(found.bytes(1)), std::string(found.bytes(2)),
                    std::string(found.bytes(3)), Duration{found.number(4)}};
  }
  return facts;
}

}  // namespace millrace::store
