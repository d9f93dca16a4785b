// A shard's journal on PostgreSQL: a ring of tables, each for so many rows in a row, so that the
// table of a row follows from its seq. They are emptied whole, by TRUNCATE: there are never dead
// rows, whatever transaction is open somewhere.
//
// An append is one INSERT in READ COMMITTED, so that its locks precede its snapshot: a TRUNCATE
// either waits for it, or is seen by it. It requires that its predecessor is the newest row of its
// table. As tables are emptied in the order of their newest rows, a leader that slept while what
// followed its predecessor was trimmed finds that one gone, or no longer the newest.
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
  // What is known of the rows of a block, up to `until`.
  struct Weighed {
    std::uint64_t bytes = 0;
    std::uint64_t from = 0;
    std::uint64_t until = 0;
  };

  Block block_of(std::uint64_t seq) const { return seq / shard_->rows_a_table; }
  std::string table_of(std::uint64_t seq) const;
  std::string insert_sql(std::uint64_t seq) const;
  // After an append that inserted nothing: why.
  AppendResult settle(const JournalRow& row);
  // What a clean answer of an append means, `setting` being its synchronous_commit.
  AppendResult committed(const SqlReplies& replies, std::string_view setting) const;
  AppendResult failed(const SqlFailure& failed) const;

  // Per table its newest row; 0: it is empty.
  Result<std::vector<std::uint64_t>> newest_rows();
  Result<std::uint64_t> oldest_row(std::uint64_t newest);
  Result<std::uint64_t> bytes_between(std::uint64_t oldest, std::uint64_t newest);
  // Rows of one table from the one that `chain` expects.
  Status read_some(ChainCheck& chain, bool first, std::uint64_t limit,
                   std::vector<JournalRow>& rows);

  const std::shared_ptr<PostgresShard> shard_;
  Mutex mutex_;
  std::map<Block, Weighed> weighed_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::store
