#include "server/stores/migrate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "store/postgres/postgres_store.h"
#include "store/postgres/schema.h"

namespace millrace::server {
namespace {

void print_state(const store::SchemaState& state) {
  fmt::print("schema {} in the database, {} in this program\n", state.applied,
             store::newest_schema());
  for (std::int64_t version = 1; version <= store::newest_schema(); ++version) {
    fmt::print("  {:>3}  {:<20}  {}\n", version, store::migration_name(version),
               version <= state.applied ? "applied" : "missing");
  }
}

int refused(const Error& error) {
  fmt::print(stderr, "millrace: {}\n", error.message);
  return 1;
}

}  // namespace

int migrate_database(const std::string& url, Migrate what) {
  auto node = store::PostgresNode::look(
      {.url = url, .clock = [] { return std::chrono::steady_clock::now(); }, .allow_unsafe = true});
  if (!node) return refused(node.error());
  store::ConnectionPool& pool = (*node)->pool();
  const auto state = what == Migrate::kUp ? migrate_schema(pool) : read_schema(pool);
  if (!state) return refused(state.error());
  print_state(*state);
  const Status usable = check_schema(*state);
  return usable ? 0 : refused(usable.error());
}

}  // namespace millrace::server
