#include "store/sqlite/schema.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "base/mutant.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/sql.h"

namespace millrace::store {
namespace {

// --- Migrations. Numbered from 1, forward only, each in one transaction. The file's user_version
// is the number of the last one applied. A released migration is never edited.

const std::array kJournalMigrations = {sqlite_sql::kJournal};
const std::array kTablesMigrations = {sqlite_sql::kTables, sqlite_sql::kWorkflows,
#ifdef MILLRACE_TOMORROW
                                      "CREATE TABLE tomorrow(one INTEGER PRIMARY KEY) STRICT;"
#endif
};

// --- Settings for a file's lifetime, or for a connection's.

// Names the kind of file: "MRJL", "MRTB". Programs before 0.1.0 wrote other names, so their files
// are refused as those of another program.
constexpr std::int64_t kJournalApplication = 0x4d524a4c;
constexpr std::int64_t kTablesApplication = 0x4d525442;

struct Shape {
  std::string_view kind;
  std::int64_t application;
  std::span<const char* const> migrations;
  int page_size;
  const char* set_up_file;        // before the first table
  const char* set_up_connection;  // always
};

// The page sizes were measured: docs/internals/decisions.md, D18. The write-ahead log is truncated
// to its limit whenever it restarts.
const Shape kJournalShape = {
    "journal",
    kJournalApplication,
    kJournalMigrations,
    8192,
    "PRAGMA page_size = 8192; PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA cache_size = -8192;"
    "PRAGMA journal_size_limit = 67108864; PRAGMA mmap_size = 0"};
const Shape kTablesShape = {
    "jobs",
    kTablesApplication,
    kTablesMigrations,
    16384,
    "PRAGMA page_size = 16384; PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = OFF; PRAGMA cache_size = -8192;"
    "PRAGMA journal_size_limit = 134217728; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY"};

const Shape& shape_of(Part part) { return part == Part::kJournal ? kJournalShape : kTablesShape; }

Result<std::int64_t> pragma(Database& database, const char* sql) {
  Statement statement(database, sql);
  if (!statement.begin().row()) return database.failure("read");
  return statement.number(0);
}

struct Identity {
  std::int64_t application = 0;
  std::int64_t version = 0;
  std::int64_t tables = 0;
  bool blank() const { return application == 0 && version == 0 && tables == 0; }
};

Result<Identity> identity_of(Database& database) {
  // The first read of the file: a file that is not a database fails here.
  const auto application = pragma(database, "PRAGMA application_id");
  const auto version = pragma(database, "PRAGMA user_version");
  const auto tables = pragma(database, "SELECT count(*) FROM sqlite_schema");
  if (!application || !version || !tables) {
    if (database.fault() == Fault::kDamaged && !database.page_altered()) {
      return failure(
          fmt::format("{} is damaged, or not a database: {}", database.path(), database.message()));
    }
    return database.failure("read");
  }
  return Identity{*application, *version, *tables};
}

Status check_identity(const Database& database, const Shape& shape, const Identity& identity) {
  if (identity.application != shape.application) {
    return failure(fmt::format("{} is not a Millrace {} database", database.path(), shape.kind));
  }
  const auto newest = static_cast<std::int64_t>(shape.migrations.size());
  if (identity.version < 1) {
    return failure(fmt::format("{} is damaged: it has format {}, and formats count from 1",
                               database.path(), identity.version));
  }
  if (identity.version > newest) {
    return failure(
        fmt::format("{} has format {}, written by a newer version; this version reads up to {}, so "
                    "start the newer version",
                    database.path(), identity.version, newest));
  }
  return {};
}

Status create(Database& database, const Shape& shape, const std::string& store_id) {
  const Transaction::Kind kind = Transaction::Kind::kWrite;
  if (Status done = database.execute(shape.set_up_file); !done) return done;
  Transaction transaction(database, kind);
  if (!transaction.ok()) return database.failure("write");
  const std::string identity =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = 1", shape.application);
  if (Status done = database.execute(shape.migrations[0]); !done) return done;
  if (Status done = database.execute(identity.c_str()); !done) return done;
  Statement insert(database, "INSERT INTO meta VALUES (?1, ?2)");
  if (!insert.run("store", std::string_view(store_id))) return database.failure("write");
  return transaction.commit();
}

Status migrate(Database& database, const Shape& shape, std::int64_t version) {
  for (auto next = static_cast<std::size_t>(version); next < shape.migrations.size(); ++next) {
    Transaction transaction(database, Transaction::Kind::kWrite);
    if (!transaction.ok()) return database.failure("write");
    if (Status done = database.execute(shape.migrations[next]); !done) return done;
    const std::string number = fmt::format("PRAGMA user_version = {}", next + 1);
    if (Status done = database.execute(number.c_str()); !done) return done;
    if (Status done = transaction.commit(); !done) return done;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Database>> open_part(const std::string& path, Part part,
                                            const std::optional<std::string>& create_as) {
  const Shape& shape = shape_of(part);
  if (create_as) {
    if (Status made = make_private_file(path); !made) return std::unexpected(made.error());
  }
  auto opened = Database::open(path, Access::kReadWrite,
                               part == Part::kTables ? Writes::kPaced : Writes::kAtOnce);
  if (!opened) return opened;
  Database& database = **opened;
  auto identity = identity_of(database);
  if (!identity) return std::unexpected(identity.error());
  Status ready;
  if (identity->blank() && create_as) {
    ready = database.execute(shape.set_up_connection);
    if (ready) ready = create(database, shape, *create_as);
    if (ready) ready = migrate(database, shape, 1);
  } else {
    ready = check_identity(database, shape, *identity);
    if (ready) ready = database.execute(shape.set_up_connection);
    if (ready) ready = migrate(database, shape, identity->version);
  }
  if (ready && mutated(Mutant::kSkipSync)) ready = database.execute("PRAGMA synchronous = NORMAL");
  if (!ready) return std::unexpected(ready.error());
  return opened;
}

Result<std::unique_ptr<Database>> open_part_for_reading(const std::string& path, Part part) {
  auto opened = Database::open(path, Access::kReadOnly);
  if (!opened) return opened;
  const auto identity = identity_of(**opened);
  if (!identity) return std::unexpected(identity.error());
  if (Status checked = check_identity(**opened, shape_of(part), *identity); !checked) {
    return std::unexpected(checked.error());
  }
  return opened;
}

Result<bool> is_blank(const std::string& path) {
  const auto opened = Database::open(path, Access::kReadWrite);
  if (!opened) return std::unexpected(opened.error());
  const auto identity = identity_of(**opened);
  if (!identity) return std::unexpected(identity.error());
  return identity->blank();
}

int page_size_of(Part part) { return shape_of(part).page_size; }

Result<std::string> store_id_of(Database& database) {
  Statement select(database, "SELECT value FROM meta WHERE name = 'store'");
  if (!select.begin().row()) return database.failure("find the store's id in");
  return std::string(select.bytes(0));
}

}  // namespace millrace::store
