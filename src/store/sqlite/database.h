// SQLite's C interface with owners and types: a connection, its prepared statements, and errors
// classified by what must be done about them. A connection and its statements belong to one thread
// at a time.
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

// Classified by what the caller should do.
enum class Fault : std::uint8_t {
  kFull,     // nothing was written: no room, no memory, or locked; may succeed later
  kSync,     // a sync failed: the file's content on disk is unknown
  kIo,       // a read or write failed: whether a commit took place is unknown
  kDamaged,  // not a database, an inconsistent one, or an altered page
  kOther,    // a bug in this program
};

enum class Access : std::uint8_t {
  kReadOnly,  // never writes, never checkpoints
  kReadWrite,
};

class Database {
 public:
  // The file must exist; it may be empty.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Access access,
                                                Writes writes = Writes::kAtOnce);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one or several statements without parameters.
  Status execute(const char* sql);

  // The fault of the last failed call. Once any sync has failed, always kSync.
  Fault fault() const;
  bool sync_failed() const { return sync_failed_; }
  std::string message() const;
  // "can't <what> <file>: <why>", or the text of altered_page().
  std::unexpected<Error> failure(std::string_view what) const;
  // page_altered(): the last failure is a page whose checksum does not fit. altered_page():
  // describes the last such page, of any failure so far.
  bool page_altered() const;
  std::string altered_page() const;

  std::int64_t changed_rows() const;

  // The frames in the write-ahead log after this connection's last commit, and how many of them
  // came after the last checkpoint.
  int wal_frames() const { return wal_frames_; }
  int wal_frames_since_checkpoint() const {
    return wal_frames_ < checkpointed_frames_ ? wal_frames_ : wal_frames_ - checkpointed_frames_;
  }
  // Moves the part of the write-ahead log that readers allow to the file. `kRestart` waits briefly
  // for readers, so that the log can restart.
  enum class Checkpoint : std::uint8_t { kPassive, kRestart, kTruncate };
  Status checkpoint(Checkpoint mode);
  // Syncs the write-ahead log; all commits so far are then durable.
  Status sync_wal();

  // Makes closing leave the write-ahead log as it is, since the file may be suspect.
  Status keep_wal_on_close();

  // Resets every statement, including those that an error left open.
  void reset_statements();

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

 private:
  friend class Statement;

  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  Status configure(Access access);
  // Records the result of a call.
  bool succeeded(int code);

  sqlite3* handle_;
  const std::string path_;
  bool sync_failed_ = false;
  int wal_frames_ = 0;
  int checkpointed_frames_ = 0;  // greater than wal_frames_ after the log restarted
};

struct Blob {
  std::string_view content;
};

// Prepared once, at its first use. Bound values must stay valid until the statement is reset or run
// again. After an error row() and ok() return false until reset().
class Statement {
 public:
  // `sql` must outlive the statement.
  Statement(Database& database, const char* sql) : database_(database), sql_(sql) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds ?1, ?2, ... and starts the statement.
  template <typename... Values>
  Statement& begin(const Values&... values) {
    reset();
    if (prepare()) {
      int index = 0;
      (bind(++index, values), ...);
    }
    return *this;
  }
  // Steps to the next row.
  bool row();
  bool ok() const { return ok_; }
  // Releases the rows, and the read lock that they hold.
  void reset();

  // Runs a statement that gives no rows.
  template <typename... Values>
  bool run(const Values&... values) {
    begin(values...).row();
    const bool done = ok_;
    reset();
    return done;
  }

  // Values of the current row; columns count from 0. Views are valid until the next row.
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

// A transaction that is rolled back unless it is committed. A read transaction sees one snapshot;
// ending it ends every read under way.
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
