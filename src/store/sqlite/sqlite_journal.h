// The journal of the SQLite store: journal.db.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "base/mutex.h"
#include "store/journal.h"
#include "store/sqlite/database.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/journal_rows.h"
#include "store/sqlite/pool.h"

namespace millrace::store {

class SqliteJournal final : public Journal {
 public:
  // `writer`: the one connection that writes and checkpoints, just opened; its log has been moved
  // into the file.
  static Result<std::unique_ptr<SqliteJournal>> open(std::shared_ptr<const Directory> directory,
                                                     std::unique_ptr<Database> writer, Logger log);
  ~SqliteJournal() override;

  AppendResult append(const JournalRow& row) override;
  void tidy() override;
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) override;
  Result<Extent> extent() override;
  Result<std::uint64_t> trim(Seq below) override;
  // Appends rows of an archive in one commit: all or none of them.
  Status append_archived(std::span<const JournalRow> rows);

 private:
  SqliteJournal(std::shared_ptr<const Directory> directory, std::unique_ptr<Database> writer,
                std::vector<std::unique_ptr<JournalRows>> readers, const Extent& extent,
                Logger log);

  // What prevents an insert of `row`, if anything; kDurable: the row is there already.
  std::optional<AppendResult> obstacle(const JournalRow& row) MILLRACE_REQUIRES(mutex_);
  AppendResult insert(const JournalRow& row) MILLRACE_REQUIRES(mutex_);
  // Classifies the writer's last failure; marks the file as suspect if a sync failed.
  AppendResult failed(Fault fault, std::string message) MILLRACE_REQUIRES(mutex_);
  Status checkpoint_if_due() MILLRACE_REQUIRES(mutex_);

  const std::shared_ptr<const Directory> directory_;  // keeps the lock until all else is closed
  const Logger log_;
  Mutex mutex_;
  const std::unique_ptr<Database> writer_;
  Statement select_row_ MILLRACE_GUARDED_BY(mutex_);
  Statement select_newest_ MILLRACE_GUARDED_BY(mutex_);
  Statement insert_ MILLRACE_GUARDED_BY(mutex_);
  Statement select_old_ MILLRACE_GUARDED_BY(mutex_);
  Statement delete_ MILLRACE_GUARDED_BY(mutex_);
  Extent extent_ MILLRACE_GUARDED_BY(mutex_);
  // Why nothing can be appended any more.
  std::optional<std::string> broken_ MILLRACE_GUARDED_BY(mutex_);
  Pool<JournalRows> readers_;
};

}  // namespace millrace::store
