// Writes the tables. A flush is one transaction and one message. Rows are sent as arrays, one
// statement for all rows of a kind.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/changes.h"
#include "store/postgres/postgres_shard.h"
#include "store/tables.h"

namespace millrace::store {

// One thread at a time.
class PostgresWriter {
 public:
  explicit PostgresWriter(std::shared_ptr<PostgresShard> shard);

  Status flush(const core::Changes& changes, FlushBase since, const Progress& to);
  // True: the last flush is as durable as required. False: its commit came with a warning.
  bool clean() const { return clean_; }

 private:
  struct LeasesOfFlush {
    std::uint64_t flush;
    std::uint64_t count;
  };

  void move_progress(SqlMessage& message, const core::Changes& changes, Seq from,
                     const Progress& to) const;
  void delete_jobs(SqlMessage& message, const std::vector<JobId>& ids) const;
  void write_jobs(SqlMessage& message, const std::vector<core::Job>& jobs) const;
  // Delete the rows that were written by flushes after `since.base` and that this flush repeats, if
  // the copies would be indistinguishable.
  void take_back_marks(SqlMessage& message, const std::vector<core::Changes::MarkRow>& marks,
                       Seq base) const;
  Status take_back_ended_leases(SqlMessage& message, const std::vector<core::EndedLease>& leases,
                                Seq base);
  void write_history(SqlMessage& message, const core::Changes& changes, FlushBase since,
                     Seq to) const;
  void delete_queues(SqlMessage& message, const std::vector<SharedBytes>& names) const;
  void write_queues(SqlMessage& message, const std::vector<core::Queue>& queues) const;
  void write_keys(SqlMessage& message, const core::Changes& changes, FlushBase since) const;
  void write_schedules(SqlMessage& message, const core::Changes& changes) const;
  void write_catalog(SqlMessage& message, const core::Changes& changes) const;
  void write_operations(SqlMessage& message, const core::Changes& changes) const;
  void write_limits(SqlMessage& message, const core::Changes& changes) const;
  void write_workflows(SqlMessage& message, const core::Changes& changes) const;
  void write_audit(SqlMessage& message, const core::Changes& changes) const;
  void write_uniques(SqlMessage& message, const core::Changes& changes) const;
  void insert_ended_leases(SqlMessage& message, const std::vector<core::EndedLease>& leases,
                           Seq flush) const;
  // Returns how many of the oldest rows are deleted.
  std::size_t write_ended_leases(SqlMessage& message, const std::vector<core::EndedLease>& leases,
                                 Seq to) const;
  Status load_leases_kept();
  // Whether the tables are already at `to`: an earlier attempt committed, but its answer was lost.
  Result<bool> stands_at(const Progress& to);

  const std::shared_ptr<PostgresShard> shard_;
  std::string table(std::string_view name) const { return shard_->table(name); }

  bool clean_ = true;
  // How many leases each row of the table holds, oldest first; none: unknown.
  std::optional<std::deque<LeasesOfFlush>> leases_kept_;
  std::uint64_t leases_epoch_ = 0;  // the epoch under which `leases_kept_` was read
};

}  // namespace millrace::store
