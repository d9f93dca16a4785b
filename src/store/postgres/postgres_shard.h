// The objects that the parts of one shard's store on PostgreSQL share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "store/postgres/connection_pool.h"

namespace millrace::store {

// The epochs under which this process flushes and trims a database's shards. The registry sets
// them; the stores of the shards use them. 0: this process has not taken that shard.
class PostgresTerms {
 public:
  explicit PostgresTerms(std::uint32_t shards) : epochs_(shards) {}

  std::uint32_t shards() const { return static_cast<std::uint32_t>(epochs_.size()); }
  std::uint64_t epoch(std::uint32_t shard) const { return epochs_.at(shard).load(); }
  void begin(std::uint32_t shard, std::uint64_t epoch) { epochs_.at(shard).store(epoch); }

 private:
  std::vector<std::atomic<std::uint64_t>> epochs_;
};

struct PostgresShard {
  std::shared_ptr<ConnectionPool> pool;
  std::shared_ptr<PostgresTerms> terms;
  std::uint32_t shard = 0;
  std::uint64_t rows_a_table = 0;  // of the journal
  // The least time that rows stay in the journal, for nodes that follow it.
  std::chrono::milliseconds trim_age{};
  // The weakest setting of synchronous_commit that commits may have, as PostgreSQL spells it: "on".
  std::string synchronous_commit;

  std::uint64_t epoch() const { return terms->epoch(shard); }
  // The name of a shard's own table: "millrace.job_rows_3".
  std::string table(std::string_view name) const;
};

// Weaker settings of synchronous_commit rank lower; negative: no such setting.
int rank_of_synchronous_commit(std::string_view setting);

// A message that ends the sessions which block it, once it has waited for a second.
SqlMessage impatient(ConnectionPool& pool, SqlLimits limits);

}  // namespace millrace::store
