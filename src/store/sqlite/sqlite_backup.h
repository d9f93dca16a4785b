// Copies of a SQLite store while it runs.
#pragma once

#include <string>

#include "store/backup.h"

namespace millrace::store {

class SqliteBackup final : public Backup {
 public:
  explicit SqliteBackup(std::string source_directory) : source_(std::move(source_directory)) {}

  Status backup_to(const std::string& directory) override;

 private:
  const std::string source_;
};

}  // namespace millrace::store
