#include "server/stores/restore.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "engine/shard/recovery.h"
#include "store/event_codec.h"
#include "store/postgres/postgres_dump.h"
#include "store/sqlite/archive.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/maintenance.h"
#include "store/sqlite/restore.h"
#include "store/sqlite/sqlite_store.h"

namespace millrace::server {
namespace {

constexpr int kDone = 0;
constexpr int kNotPossible = 1;
constexpr int kTargetUnusable = 2;
constexpr int kInUse = 5;

// The rows appended in one commit and then written to the tables.
constexpr std::size_t kBiteRows = 4096;
constexpr std::size_t kBiteBytes = 32 * 1024 * 1024;

std::chrono::steady_clock::time_point steady_now() { return std::chrono::steady_clock::now(); }

struct Done {
  store::VerifyReport backup;
  std::uint64_t rows = 0;    // in the archive
  std::optional<Time> last;  // of the newest one
  store::VerifyReport made;
};

// Replays an archive's rows into the journal and, with the machine, into the tables.
class Replay {
 public:
  static Result<std::unique_ptr<Replay>> begin(const std::string& directory) {
    auto opened = store::open_sqlite_store({.directory = directory, .clock = steady_now});
    if (!opened) return std::unexpected(std::move(opened.error()));
    auto replay = std::unique_ptr<Replay>(new Replay(std::move(*opened)));
    auto follower = engine::Follower::load(0, core::MachineOptions{}, replay->store_,
                                           engine::Writers::kAnother);
    if (!follower) return std::unexpected(std::move(follower.error()));
    replay->follower_ = std::move(*follower);
    return replay;
  }

  Status add(const store::JournalRow& row) {
    rows_.push_back(row);
    bytes_ += row.body.size();
    return rows_.size() < kBiteRows && bytes_ < kBiteBytes ? Status() : write();
  }

  Status finish() {
    if (Status written = write(); !written) return written;
    const auto synced = store_.tables->sync();
    return synced ? Status() : std::unexpected(synced.error());
  }

 private:
  explicit Replay(store::Store store) : store_(std::move(store)) {}

  Status write() {
    if (rows_.empty()) return {};
    if (Status added = store::append_archived(store_, rows_); !added) return added;
    rows_.clear();
    bytes_ = 0;
    if (const auto applied = follower_->follow(); !applied) return std::unexpected(applied.error());
    const std::optional<engine::Flush> flush = follower_->outstanding();
    if (!flush) return {};
    const Status flushed =
        store_.tables->flush(*flush->changes, {flush->base, flush->from}, flush->to);
    if (!flushed) return flushed;
    follower_->stored(flush->to.seq);
    return {};
  }

  store::Store store_;
  std::unique_ptr<engine::Follower> follower_;
  std::vector<store::JournalRow> rows_;
  std::size_t bytes_ = 0;
};

// The time of the backup's newest row.
Result<Time> newest_time(const std::string& directory) {
  const auto opened = store::open_sqlite_store({.directory = directory, .clock = steady_now});
  if (!opened) return std::unexpected(opened.error());
  const auto extent = opened->journal->extent();
  if (!extent) return std::unexpected(extent.error());
  Result<Time> at = Time{};
  if (extent->newest == Seq{}) return at;
  const Status read = opened->journal->read(extent->newest, [&](const store::JournalRow& row) {
    const auto batch = store::decode_events(row.body);
    at = batch ? Result<Time>(batch->at) : std::unexpected(batch.error());
    return false;
  });
  return read ? at : std::unexpected(read.error());
}

// Whether the archive can reproduce the store's state at that time.
Status check_until(const RestoreOptions& options, const store::ArchiveReader& archive,
                   Time backup_at) {
  if (!options.until) return {};
  if (*options.until < backup_at) {
    return failure(fmt::format(
        "the backup {} has what happened up to {}, which is after {}; take an older backup, or a "
        "later --until",
        options.backup, format_rfc3339(backup_at), format_rfc3339(*options.until)));
  }
  const auto& coverage = archive.coverage();
  if (coverage && *options.until > coverage->until) {
    return failure(fmt::format(
        "the archive {} has what happened up to {}, which is before {}; take an earlier --until, "
        "or "
        "leave it out to restore all there is",
        options.archive, format_rfc3339(coverage->until), format_rfc3339(*options.until)));
  }
  return {};
}

Status replay(const RestoreOptions& options, const std::string& directory, Done& done) {
  const auto archive = store::ArchiveReader::open(options.archive);
  if (!archive) return std::unexpected(archive.error());
  const std::string id = archive->coverage() ? archive->coverage()->store_id
                         : archive->empty()  ? done.backup.store_id
                                             : archive->store_id();
  if (id != done.backup.store_id || (!archive->empty() && archive->store_id() != id)) {
    return failure(fmt::format("the archive {} is of store {}, and the backup {} of store {}",
                               options.archive, id, options.backup, done.backup.store_id));
  }
  const auto backup_at = newest_time(directory);
  if (!backup_at) return std::unexpected(backup_at.error());
  if (Status checked = check_until(options, *archive, *backup_at); !checked) return checked;
  auto target = Replay::begin(directory);
  if (!target) return std::unexpected(target.error());
  Status added;
  const Status read = archive->read(next(done.backup.newest), [&](const store::JournalRow& row) {
    const auto batch = store::decode_events(row.body);
    if (!batch) {
      added = std::unexpected(batch.error());
    } else if (options.until && batch->at > *options.until) {
      return false;
    } else if ((added = (*target)->add(row))) {
      ++done.rows;
      done.last = batch->at;
    }
    return added.has_value();
  });
  if (!added) return added;
  if (!read) return read;
  return (*target)->finish();
}

Status make(const RestoreOptions& options, store::RestoredDirectory& target, Done& done) {
  auto backup = store::verify_store(options.backup);
  if (!backup) return std::unexpected(backup.error());
  if (!backup->problems.empty()) {
    return failure(fmt::format("the backup {} is damaged: {}; take another one", options.backup,
                               backup->problems.front()));
  }
  done.backup = std::move(*backup);
  const std::string& copy = target.work();
  if (Status copied = store::copy_store_of_nobody(options.backup, copy); !copied) return copied;
  if (!options.archive.empty()) {
    if (Status replayed = replay(options, copy, done); !replayed) return replayed;
  }
  auto made = store::verify_store(copy);
  if (!made) return std::unexpected(made.error());
  if (!made->problems.empty())
    return failure("the restored store is damaged: " + made->problems.front());
  done.made = std::move(*made);
  return target.finish();
}

void print(const RestoreOptions& options, const Done& done) {
  if (options.json) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.member("directory", options.to);
    json.member("store", done.made.store_id);
    json.member("backup_row", to_number(done.backup.newest));
    json.member("archived_rows", done.rows);
    json.member("row", to_number(done.made.newest));
    if (done.last) json.member("last_at", format_rfc3339(*done.last));
    json.member("jobs", done.made.jobs);
    json.end_object();
    fmt::print("{}\n", text);
    return;
  }
  fmt::print("{}: restored\nstore    {}\nbackup   up to row {}\n", options.to, done.made.store_id,
             to_number(done.backup.newest));
  if (!options.archive.empty()) {
    fmt::print("archive  {} rows{}\n", done.rows,
               done.last ? ", the last of " + format_rfc3339(*done.last) : "");
  }
  fmt::print("tables   {} jobs, up to row {}\n", done.made.jobs, to_number(done.made.projected));
}

int refuse(int code, const std::string& why) {
  fmt::print(stderr, "millrace: {}\n", why);
  return code;
}

int restore_database(const RestoreOptions& options) {
  if (const Status free = store::check_database_is_free(options.postgres, steady_now); !free) {
    return refuse(kTargetUnusable, free.error().message);
  }
  const auto done = store::restore_dump(options.backup, options.postgres, steady_now);
  if (!done) return refuse(kNotPossible, done.error().message);
  if (options.json) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.member("store", done->store_id);
    json.member("shards", done->shards);
    json.member("jobs", done->jobs);
    json.end_object();
    fmt::print("{}\n", text);
  } else {
    fmt::print("restored into the database\nstore    {}\nshards   {}\ntables   {} jobs\n",
               done->store_id, done->shards, done->jobs);
  }
  return kDone;
}

}  // namespace

int restore_backup(const RestoreOptions& options) {
  if (!options.postgres.empty()) return restore_database(options);
  if (const auto user = store::user_of_directory(options.backup)) {
    return refuse(kInUse, fmt::format("{} is in use by {}; stop it, or restore a backup that "
                                      "`millrace admin backup DIRECTORY` makes",
                                      options.backup, *user));
  }
  auto target = store::RestoredDirectory::begin(options.to);
  if (!target) return refuse(kTargetUnusable, target.error().message);
  Done done;
  if (const Status made = make(options, **target, done); !made) {
    return refuse(kNotPossible, made.error().message);
  }
  print(options, done);
  return kDone;
}

}  // namespace millrace::server
