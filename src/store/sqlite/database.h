// SQLite's C interface with owners and types: a connection, its prepared statements, and what went
// wrong by what must be done about it. A connection and its statements belong to one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/sqlite/checked_pages.h"

struct sqlite3;
struct sqlite3_stmt;

namespace millrace::store {

// By the caller's next move.
enum class Fault : std::uint8_t {
  kFull,     // nothing was written: no room, no memory, locked; may work later
  kSync,     // a sync failed: what the file holds on disk can't be known
  kIo,       // a read or write failed: whether a commit took place can't be known
  kDamaged,  // not a database, one that contradicts itself, or a page that was altered
  kOther,    // a fault of ours
};

enum class Access : std::uint8_t {
  kReadOnly,  // never writes, never checkpoints
  kReadWrite,
};

class Database {
 public:
  // The file must be there, if only as an empty one.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Access access,
                                                Writes writes = Writes::kAtOnce);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Statements without parameters, one or several.
  Status execute(const char* sql);

  // Of the last call that failed; kSync for ever once any sync has failed.
  Fault fault() const;
  bool sync_failed() const { return sync_failed_; }
  std::string message() const;
  // "can't <what> <file>: <why>", or what altered_page() says.
  std::unexpected<Error> failure(std::string_view what) const;
  // The last failure is a page whose checksum does not fit. Which was the last such page, and what
  // that means; of any failure so far.
  bool page_altered() const;
  std::string altered_page() const;

  std::int64_t changed_rows() const;

  // Frames in the write-ahead log after the last commit of this connection, and how many of them
  // came after the last checkpoint.
  int wal_frames() const { return wal_frames_; }
  int wal_frames_since_checkpoint() const {
    return wal_frames_ < checkpointed_frames_ ? wal_frames_ : wal_frames_ - checkpointed_frames_;
  }
  // Moves what readers allow from the write-ahead log to the file. `kRestart` waits a little for
  // readers, so that the log can begin anew.
  enum class Checkpoint : std::uint8_t { kPassive, kRestart, kTruncate };
  Status checkpoint(Checkpoint mode);
  // Syncs the write-ahead log: every commit so far is then safe.
  Status sync_wal();

  // Closing does not move the write-ahead log into the file: that may be suspect.
  Status keep_wal_on_close();

  // Every statement lets go of its rows, also those that an error left standing.
  void reset_statements();

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

 private:
  friend class Statement;

  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  Status configure(Access access);
  // Takes note of a call's result.
  bool succeeded(int code);

  sqlite3* handle_;
  const std::string path_;
  bool sync_failed_ = false;
  int wal_frames_ = 0;
  int checkpointed_frames_ = 0;  // above wal_frames_ once the log began anew
};

struct Blob {
  std::string_view content;
};

// Prepared at its first use, once; then used again and again. What is bound must stay until the
// statement is reset or run again. After an error row() is false and ok() too, until reset().
class Statement {
 public:
  // `sql` must outlive it.
  Statement(Database& database, const char* sql) : database_(database), sql_(sql) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds ?1, ?2, ... and begins anew.
  template <typename... Values>
  Statement& begin(const Values&... values) {
    reset();
    if (prepare()) {
      int index = 0;
      (bind(++index, values), ...);
    }
    return *this;
  }
  // On to the next row.
  bool row();
  bool ok() const { return ok_; }
  // Lets go of the rows, and of the read lock that they hold.
  void reset();

  // A statement that gives no rows.
  template <typename... Values>
  bool run(const Values&... values) {
    begin(values...).row();
    const bool done = ok_;
    reset();
    return done;
  }

  // Of the current row, columns from 0. Views hold until the next row.
  std::int64_t number(int column) const;
  bool is_null(int column) const;
  std::string_view bytes(int column) const;  // of a text or blob
  std::optional<std::int64_t> maybe_number(int column) const {
    return is_null(column) ? std::nullopt : std::optional(number(column));
  }

 private:
  bool prepare();
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, int value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::uint32_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::string_view text);
  void bind(int index, const Blob& blob);
  void bind(int index, std::nullptr_t);
  template <typename Value>
  void bind(int index, const std::optional<Value>& value) {
    if (value) {
      bind(index, *value);
    } else {
      bind(index, nullptr);
    }
  }

  Database& database_;
  const char* const sql_;
  sqlite3_stmt* handle_ = nullptr;
  bool ok_ = true;
};

// A transaction that is rolled back unless it is committed. A read transaction is one snapshot; its
// end is the end of every read under way.
class Transaction {
 public:
  enum class Kind : std::uint8_t { kRead, kWrite };
  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  bool ok() const { return open_; }
  Status commit();

 private:
  void roll_back();

  Database& database_;
  bool open_ = false;
};

}  // namespace millrace::store
