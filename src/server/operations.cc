#include "server/operations.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

std::uint64_t size_of_directory(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::uint64_t size = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (!error) bytes += size;
  }
  return bytes;
}

api::Problem path_fault(std::string detail) {
  return api::make_fault(api::FieldError::Place::kPointer, "/path", std::move(detail));
}

}  // namespace

ServerOperations::ServerOperations(http::About about, Parts parts)
    : about_(std::move(about)), parts_(std::move(parts)) {}

http::Readiness ServerOperations::readiness() const {
  const DriverStatus status = parts_.driver.status();
  http::Readiness readiness;
  readiness.draining = status.draining;
  readiness.checks.push_back({"shard", !status.ended, status.ended.value_or("")});
  readiness.checks.push_back({"journal", !status.journal_failing && !status.ended,
                              status.journal_failing ? "can't be written" : ""});
  readiness.checks.push_back(
      {"tables", !status.tables_failing, status.tables_failing ? "can't be written" : ""});
  readiness.checks.push_back(
      {"clock", true, fmt::format("wall clock ahead by {} ms", status.wall_ahead.count())});
  return readiness;
}

std::string ServerOperations::metrics_text() {
  return parts_.metrics.text({.version = about_.version,
                              .commit = about_.commit,
                              .statistics = parts_.statistics,
                              .status = parts_.driver.status(),
                              .started_at = about_.started_at,
                              .now = parts_.driver.now()});
}

api::Decoded<http::BackupDone> ServerOperations::backup(const std::string& path) {
  if (!fs::path(path).is_absolute()) {
    return std::unexpected(path_fault("must be an absolute path on the server's machine"));
  }
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_empty(path, error)) {
    return std::unexpected(path_fault("must not exist yet, or be an empty directory"));
  }
  if (parts_.store.backup == nullptr) {
    return std::unexpected(
        api::make_problem(api::ProblemCode::kInvalidState, "this store can't be copied"));
  }
  const MutexLock lock(backup_mutex_);
  const auto hold = parts_.driver.hold_trimming();
  parts_.log.info("backup begins", {{"path", path}});
  if (const Status status = parts_.store.backup->backup_to(path); !status) {
    parts_.log.error("backup failed", {{"path", path}, {"reason", status.error().message}});
    return std::unexpected(
        api::make_problem(api::ProblemCode::kStorageUnavailable, status.error().message));
  }
  const http::BackupDone done{.bytes = size_of_directory(path)};
  parts_.log.info("backup done", {{"path", path}, {"bytes", done.bytes}});
  return done;
}

}  // namespace millrace::server
