// Backups of the store on PostgreSQL, by PostgreSQL's own pg_dump and pg_restore, which must be
// installed beside this program and be of the database's version or a newer one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "store/backup.h"

namespace millrace::store {

// The files of a backup's directory.
inline constexpr std::string_view kDumpFile = "millrace.dump";
// Its SHA-256, as `sha256sum` writes and checks it: a dump has no checksum of its own.
inline constexpr std::string_view kDumpSumFile = "millrace.dump.sha256";

// Dumps the schema `millrace` as it is at one instant, with the rights of other roles on it.
class PostgresBackup final : public Backup {
 public:
  explicit PostgresBackup(std::string url) : url_(std::move(url)) {}

  Status backup_to(const std::string& directory) override;

 private:
  const std::string url_;
};

// Whether the directory has a dump, unaltered since it was made.
Status check_dump(const std::string& directory);

struct RestoredDatabase {
  std::string store_id;
  std::int64_t shards = 0;
  std::int64_t jobs = 0;
};
using SteadyNow = std::function<std::chrono::steady_clock::time_point()>;
// Whether the database can take a backup: it must have no schema `millrace`.
Status check_database_is_free(const std::string& url, const SteadyNow& now);
// Restores a backup's directory into such a database, whole or not at all.
Result<RestoredDatabase> restore_dump(const std::string& directory, const std::string& url,
                                      const SteadyNow& now);

}  // namespace millrace::store
