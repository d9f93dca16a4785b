// What the parts of one shard's store on PostgreSQL share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"
#include "store/postgres/connection_pool.h"

namespace millrace::store {

struct PostgresShard {
  std::shared_ptr<ConnectionPool> pool;
  std::uint32_t shard = 0;
  std::uint64_t rows_a_table = 0;  // of the journal
  // How long rows stay in the journal at least, for those who follow it.
  std::chrono::milliseconds trim_age{};
  // What commits must at least be: "on", as PostgreSQL spells it.
  std::string synchronous_commit;
  // The term for which this process holds the shard; 0: it has not taken it.
  std::atomic<std::uint64_t> epoch{0};

  // A shard's own table: "millrace.job_rows_3".
  std::string table(std::string_view name) const;
};

// Weaker settings of synchronous_commit come first; negative: no such setting.
int rank_of_synchronous_commit(std::string_view setting);

// Run when a transaction has waited for a second: ends who is in its way.
SqlMessage impatient(ConnectionPool& pool, SqlLimits limits);

}  // namespace millrace::store
