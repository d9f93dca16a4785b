#include "store/sqlite/sqlite_tables.h"

#include "base/check.h"
#include "store/sqlite/repair.h"
#include "store/sqlite/schema.h"

namespace millrace::store {
namespace {

// For lists, searches and other reads that may take seconds.
constexpr std::size_t kReaders = 4;
// For fetch(), which a shard's thread waits for. One more than the number of threads that fetch for
// clients (service/reader_pool.h: two for each lane of short reads, and those that search), so that
// none of them can delay the shard.
constexpr std::size_t kFetchers = 9;
// When the write-ahead log has this many new frames, 32 MiB, a flush moves them into the file.
constexpr int kCheckpointFrames = 2048;
// When the log has this many frames, 512 MiB, overlapping readers may not keep it growing: they are
// paused once until the log has restarted.
constexpr int kMostFrames = 32768;

}  // namespace

Result<std::unique_ptr<SqliteTables>> SqliteTables::open(std::shared_ptr<const Directory> directory,
                                                         std::unique_ptr<Database> database,
                                                         Clock clock, Logger log) {
  std::unique_ptr<SqliteTables> tables(new SqliteTables(std::move(directory), std::move(database),
                                                        std::move(clock), std::move(log)));
  {
    const MutexLock lock(tables->mutex_);
    if (Status loaded = tables->writer_.load(); !loaded) return std::unexpected(loaded.error());
  }
  if (Status opened = tables->open_readers(); !opened) return std::unexpected(opened.error());
  const auto progress = tables->progress();
  if (!progress) return std::unexpected(progress.error());
  const MutexLock lock(tables->mutex_);
  tables->flushed_ = progress->seq;
  return tables;
}

SqliteTables::SqliteTables(std::shared_ptr<const Directory> directory,
                           std::unique_ptr<Database> database, Clock clock, Logger log)
    : directory_(std::move(directory)),
      log_(std::move(log)),
      clock_(std::move(clock)),
      database_(std::move(database)),
      writer_(*database_, queues_) {}

SqliteTables::~SqliteTables() {
  const MutexLock lock(mutex_);
  if (broken_) static_cast<void>(database_->keep_wal_on_close());
}

Result<std::unique_ptr<Pool<TablesReader>>> SqliteTables::open_pool(std::size_t size) {
  std::vector<std::unique_ptr<TablesReader>> readers;
  while (readers.size() < size) {
    auto reader = open_part_for_reading(database_->path(), Part::kTables);
    if (!reader) return std::unexpected(reader.error());
    readers.push_back(std::make_unique<TablesReader>(std::move(*reader), queues_, clock_));
  }
  return std::make_unique<Pool<TablesReader>>(std::move(readers));
}

Status SqliteTables::open_readers() {
  auto readers = open_pool(kReaders);
  if (!readers) return std::unexpected(readers.error());
  auto fetchers = open_pool(kFetchers);
  if (!fetchers) return std::unexpected(fetchers.error());
  readers_ = std::move(*readers);
  fetchers_ = std::move(*fetchers);
  return {};
}

Status SqliteTables::noted(Status written) {
  if (!written && database_->sync_failed()) {
    mark_suspect(database_->path(), log_);
    broken_ = written.error().message;
  }
  return written;
}

Status SqliteTables::flush(const core::Changes& changes, FlushBase since, const Progress& to) {
  MILLRACE_CHECK(!since.overlaps());
  {
    const MutexLock lock(mutex_);
    if (broken_) return failure(*broken_);
    if (Status written = noted(writer_.flush(changes, since.from, to)); !written) return written;
    flushed_ = to.seq;
  }
  // The flush stands, whatever happens here; a failure shows at the next write.
  if (const Status moved = checkpoint_if_due(); !moved) {
    log_.error("the server can't move the write-ahead log into the database",
               {{"file", database_->path()}, {"why", moved.error().message}});
  }
  return {};
}

Status SqliteTables::checkpoint_if_due() {
  {
    const MutexLock lock(mutex_);
    if (database_->wal_frames_since_checkpoint() < kCheckpointFrames) return {};
    if (Status moved = noted(database_->checkpoint(Database::Checkpoint::kPassive)); !moved) {
      return moved;
    }
    if (database_->wal_frames() < kMostFrames) return {};
  }
  // Pauses slow readers first: the fetches that shards wait for are paused only while quick reads
  // end.
  const Pool<TablesReader>::Pause no_searches(*readers_);
  {
    // Moves the frames that searches held back. This takes time, and shards can still fetch
    // meanwhile.
    const MutexLock lock(mutex_);
    if (Status moved = noted(database_->checkpoint(Database::Checkpoint::kPassive)); !moved) {
      return moved;
    }
  }
  const Pool<TablesReader>::Pause no_fetches(*fetchers_);
  const MutexLock lock(mutex_);
  return noted(database_->checkpoint(Database::Checkpoint::kRestart));
}

Result<Seq> SqliteTables::sync() {
  const MutexLock lock(mutex_);
  if (broken_) return failure(*broken_);
  if (Status synced = noted(database_->sync_wal()); !synced) {
    return std::unexpected(synced.error());
  }
  return flushed_;
}

Result<bool> SqliteTables::put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard) {
  const MutexLock lock(mutex_);
  if (broken_) return failure(*broken_);
  bool stands = true;
  if (Status put = noted(writer_.put_blobs(blobs, guard, stands)); !put) {
    return std::unexpected(put.error());
  }
  return stands;
}

Status SqliteTables::load(StateVisitor& visitor) { return readers_->borrow()->load(visitor); }

Result<Progress> SqliteTables::progress() { return readers_->borrow()->progress(); }

Result<std::vector<core::Job>> SqliteTables::fetch(const std::vector<JobId>& ids) {
  auto jobs = fetchers_->borrow()->fetch(ids);
  // Decisions depend on this read, and their callers only learn that the storage is unavailable.
  if (!jobs) {
    log_.error("the server can't read jobs",
               {{"file", database_->path()}, {"why", jobs.error().message}});
  }
  return jobs;
}

Result<JobHistory> SqliteTables::history(const JobId& id, const HistoryParts& parts) {
  return readers_->borrow()->history(id, parts);
}

Result<JobPage> SqliteTables::list(const JobQuery& query) {
  return readers_->borrow()->search().list(query);
}

Result<Tables::IdPage> SqliteTables::select_ids(const core::JobFilter& filter,
                                                std::optional<std::uint64_t> after_ord,
                                                std::uint32_t limit, ReadBudget budget) {
  return readers_->borrow()->search().select_ids(filter, after_ord, limit, budget);
}

Result<std::uint64_t> SqliteTables::count(const core::JobFilter& filter, std::uint64_t limit,
                                          ReadBudget budget) {
  return readers_->borrow()->search().count(filter, limit, budget);
}

Result<std::vector<JobId>> SqliteTables::finished_until(const SharedBytes& queue, core::State state,
                                                        Time until, std::uint32_t limit) {
  const auto id = queues_.find(queue.view());
  if (!id) return std::vector<JobId>();
  return fetchers_->borrow()->finished_until(*id, state, until, limit);
}

Result<std::optional<Time>> SqliteTables::oldest_finished(const SharedBytes& queue,
                                                          core::State state) {
  const auto id = queues_.find(queue.view());
  if (!id) return std::nullopt;
  return fetchers_->borrow()->oldest_finished(*id, state);
}

Result<std::optional<core::WorkflowImage>> SqliteTables::workflow(const JobId& id,
                                                                  std::uint32_t first,
                                                                  std::uint32_t count) {
  return fetchers_->borrow()->workflows().image(id, first, count);
}

Result<WorkflowPage> SqliteTables::list_workflows(const WorkflowQuery& query) {
  return readers_->borrow()->workflows().list(query);
}

Result<std::vector<JobId>> SqliteTables::finished_workflows_until(const SharedBytes& queue,
                                                                  core::State retained_as,
                                                                  Time until, std::uint32_t limit) {
  return fetchers_->borrow()->workflows().finished_until(queue, retained_as, until, limit);
}

Result<std::optional<Time>> SqliteTables::oldest_finished_workflow(const SharedBytes& queue,
                                                                   core::State retained_as) {
  return fetchers_->borrow()->workflows().oldest_finished(queue, retained_as);
}

Result<std::vector<core::ScheduleRunRow>> SqliteTables::schedule_runs(const SharedBytes& schedule) {
  return readers_->borrow()->schedule_runs(schedule);
}

Result<std::vector<core::AuditRow>> SqliteTables::audit(const AuditQuery& query) {
  return readers_->borrow()->audit(query);
}

Result<std::vector<NamedBlob>> SqliteTables::get_blobs(const std::string& first,
                                                       const std::string& end) {
  return readers_->borrow()->get_blobs(first, end);
}

}  // namespace millrace::store
