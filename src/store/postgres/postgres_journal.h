// A shard's journal on PostgreSQL: a ring of tables, each for a fixed number of consecutive rows,
// so that a row's seq determines its table. A table is emptied as a whole, by TRUNCATE, so there
// are never dead rows, even if some transaction stays open for a long time.
// An append is one INSERT in READ COMMITTED, so that it takes its locks before its snapshot: a
// TRUNCATE either waits for the append or is seen by it. The append requires that its predecessor
// is the newest row of its table. Tables are emptied in the order of their newest rows. So a leader
// that slept while the rows after its predecessor were trimmed finds that its predecessor is gone,
// or no longer the newest.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "store/journal.h"
#include "store/journal_check.h"
#include "store/postgres/postgres_shard.h"

namespace millrace::store {

class PostgresJournal final : public Journal {
 public:
  explicit PostgresJournal(std::shared_ptr<PostgresShard> shard);

  AppendResult append(const JournalRow& row) override;
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) override;
  Result<Extent> extent() override;
  Result<std::uint64_t> trim(Seq below) override;
  std::uint64_t most_rows() const override;

 private:
  // Rows [block * rows_a_table, (block + 1) * rows_a_table), which lie in one table.
  using Block = std::uint64_t;
  // The rows of a block up to `until` that have been counted.
  struct Weighed {
    std::uint64_t bytes = 0;
    std::uint64_t from = 0;
    std::uint64_t until = 0;
  };

  Block block_of(std::uint64_t seq) const { return seq / shard_->rows_a_table; }
  std::string table_of(std::uint64_t seq) const;
  std::string insert_sql(std::uint64_t seq) const;
  // Why an append has inserted nothing.
  AppendResult settle(const JournalRow& row);
  // The outcome of an append that was answered without error; `setting` is the synchronous_commit
  // in effect.
  AppendResult committed(const SqlReplies& replies, std::string_view setting) const;
  AppendResult failed(const SqlFailure& failed) const;

  // The newest row of each table; 0: the table is empty.
  Result<std::vector<std::uint64_t>> newest_rows();
  Result<std::uint64_t> oldest_row(std::uint64_t newest);
  Result<std::uint64_t> bytes_between(std::uint64_t oldest, std::uint64_t newest);
  // Reads rows of one table, beginning with the one that `chain` expects.
  Status read_some(ChainCheck& chain, bool first, std::uint64_t limit,
                   std::vector<JournalRow>& rows);

  const std::shared_ptr<PostgresShard> shard_;
  Mutex mutex_;
  std::map<Block, Weighed> weighed_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::store
