#include "store/sqlite/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <mutex>

#include "base/check.h"

namespace millrace::store {
namespace {

// The library's own memory statistics take a global mutex at every allocation.
void initialise_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    MILLRACE_CHECK(sqlite3_initialize() == SQLITE_OK);
  });
}

// Only this process opens the files, so only its own backups and pauses can block.
constexpr int kBusyTimeoutMs = 5'000;
constexpr int kRestartTimeoutMs = 50;

struct Setting {
  int option;
  int value;
};
// A damaged or hostile file must do no harm beyond its own damage.
constexpr std::array<Setting, 7> kSettings = {{
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
}};

int remember_frames(void* frames, sqlite3*, const char*, int count) {
  *static_cast<int*>(frames) = count;
  return SQLITE_OK;
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Access access,
                                                 Writes writes) {
  initialise_library();
  // A FIFO would block. The file is not opened to find out: closing it would release the locks that
  // SQLite has on it for this process.
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return millrace::failure(fmt::format("can't open {}: it is not a regular file", path));
  }
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= access == Access::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, checked_pages(writes));
  std::unique_ptr<Database> database(new Database(handle, path));
  if (code != SQLITE_OK) return database->failure("open");
  if (Status configured = database->configure(access); !configured) {
    return std::unexpected(std::move(configured.error()));
  }
  return database;
}

Status Database::configure(Access access) {
  for (const Setting& setting : kSettings) {
    if (sqlite3_db_config(handle_, setting.option, setting.value, nullptr) != SQLITE_OK) {
      return failure("set up");
    }
  }
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  // This also disables SQLite's automatic checkpoints, which ignore errors.
  sqlite3_wal_hook(handle_, &remember_frames, &wal_frames_);
  // Takes effect for an empty file. Other files have the reserved bytes already, or are refused.
  int reserved = kPageChecksumBytes;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved) != SQLITE_OK) {
    return failure("set up");
  }
  if (access == Access::kReadOnly) {
    if (Status kept = keep_wal_on_close(); !kept) return kept;
    return execute("PRAGMA query_only = ON");
  }
  return {};
}

Database::~Database() {
  // Closing moves the log into the file. After a failed sync the log may hold anything: it stays.
  if (sync_failed_) static_cast<void>(keep_wal_on_close());
  // Statements are destroyed first: every class declares them after the database.
  MILLRACE_CHECK(sqlite3_close(handle_) == SQLITE_OK);
}

Status Database::execute(const char* sql) {
  if (!succeeded(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr))) return failure("write");
  return {};
}

bool Database::succeeded(int code) {
  if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) sync_failed_ = true;
  return code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE;
}

void Database::reset_statements() {
  for (sqlite3_stmt* each = sqlite3_next_stmt(handle_, nullptr); each != nullptr;
       each = sqlite3_next_stmt(handle_, each)) {
    sqlite3_reset(each);
  }
}

Fault Database::fault() const {
  if (sync_failed_) return Fault::kSync;
  const int code = sqlite3_extended_errcode(handle_);
  if (code == SQLITE_IOERR_NOMEM) return Fault::kFull;
  if (code == SQLITE_IOERR_DATA) return Fault::kDamaged;
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return Fault::kFull;
    case SQLITE_IOERR:
      return Fault::kIo;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Fault::kDamaged;
    default:
      return Fault::kOther;
  }
}

std::string Database::message() const {
  if (page_altered()) return altered_page();
  const int code = sqlite3_extended_errcode(handle_);
  return fmt::format("{} (SQLite {})", sqlite3_errmsg(handle_), code);
}

bool Database::page_altered() const {
  return sqlite3_extended_errcode(handle_) == SQLITE_IOERR_DATA;
}

std::string Database::altered_page() const { return describe(last_altered_page(handle_), path_); }

std::unexpected<Error> Database::failure(std::string_view what) const {
  if (page_altered()) return millrace::failure(altered_page());
  return millrace::failure(fmt::format("can't {} {}: {}", what, path_, message()));
}

std::int64_t Database::changed_rows() const { return sqlite3_changes64(handle_); }

Status Database::checkpoint(Checkpoint mode) {
  constexpr std::array<int, 3> kModes = {SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_RESTART,
                                         SQLITE_CHECKPOINT_TRUNCATE};
  if (mode == Checkpoint::kRestart) sqlite3_busy_timeout(handle_, kRestartTimeoutMs);
  int frames = 0;
  const int code = sqlite3_wal_checkpoint_v2(
      handle_, "main", kModes[static_cast<std::size_t>(mode)], &frames, nullptr);
  sqlite3_busy_timeout(handle_, kBusyTimeoutMs);
  // Busy: a reader still needs the log, which keeps growing for now.
  if (!succeeded(code) && (code & 0xff) != SQLITE_BUSY) return failure("checkpoint");
  checkpointed_frames_ = wal_frames_;
  return {};
}

Status Database::sync_wal() {
  sqlite3_file* wal = nullptr;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&wal));
  if (wal == nullptr || wal->pMethods == nullptr) return {};  // nothing was ever written
  if (!succeeded(wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL))) {
    return millrace::failure(fmt::format("can't sync {}-wal", path_));
  }
  return {};
}

Status Database::keep_wal_on_close() {
  if (sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr) != SQLITE_OK) {
    return failure("set up");
  }
  return {};
}

Statement::~Statement() { sqlite3_finalize(handle_); }

bool Statement::prepare() {
  if (handle_ != nullptr) return true;
  const int code = sqlite3_prepare_v3(database_.handle(), sql_, -1, SQLITE_PREPARE_PERSISTENT,
                                      &handle_, nullptr);
  ok_ = code == SQLITE_OK;
  return ok_;
}

bool Statement::row() {
  if (!ok_) return false;
  const int code = sqlite3_step(handle_);
  ok_ = database_.succeeded(code);
  return code == SQLITE_ROW;
}

void Statement::reset() {
  if (handle_ != nullptr) sqlite3_reset(handle_);
  ok_ = true;
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(handle_, column); }

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::string_view Statement::bytes(int column) const {
  // For text as well: it is UTF-8 already, and this call does not copy it to add a NUL.
  const void* const content = sqlite3_column_blob(handle_, column);
  if (content == nullptr) return {};
  return {static_cast<const char*>(content),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

void Statement::bind(int index, std::int64_t value) {
  ok_ = ok_ && sqlite3_bind_int64(handle_, index, value) == SQLITE_OK;
}

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL.
  const char* const content = text.data() == nullptr ? "" : text.data();
  ok_ = ok_ && sqlite3_bind_text64(handle_, index, content, text.size(), SQLITE_STATIC,
                                   SQLITE_UTF8) == SQLITE_OK;
}

void Statement::bind(int index, const Blob& blob) {
  const char* const content = blob.content.data() == nullptr ? "" : blob.content.data();
  ok_ = ok_ && sqlite3_bind_blob64(handle_, index, content, blob.content.size(), SQLITE_STATIC) ==
                   SQLITE_OK;
}

void Statement::bind(int index, std::nullptr_t) {
  ok_ = ok_ && sqlite3_bind_null(handle_, index) == SQLITE_OK;
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  roll_back();  // an earlier one that could not be ended for lack of memory
  open_ = database_.execute(kind == Kind::kRead ? "BEGIN" : "BEGIN IMMEDIATE").has_value();
}

Transaction::~Transaction() {
  // Reset even if it could not begin: an open statement would keep its snapshot and show it to the
  // next reader.
  database_.reset_statements();
  roll_back();
}

void Transaction::roll_back() {
  // Most failures have rolled back already.
  if (sqlite3_get_autocommit(database_.handle()) != 0) return;
  static_cast<void>(database_.execute("ROLLBACK"));
}

Status Transaction::commit() {
  MILLRACE_CHECK(open_);
  if (Status committed = database_.execute("COMMIT"); !committed) return committed;
  open_ = false;
  return {};
}

}  // namespace millrace::store
