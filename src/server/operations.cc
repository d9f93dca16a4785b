#include "server/operations.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

// A scrape does not wait longer for the shard; what it would have said is missing then.
constexpr Duration kQueuesPatience{2'000};

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

std::optional<engine::Answer> ShardQuestions::ask(engine::Request request, Duration patience) {
  engine::Ticket ticket{};
  {
    const MutexLock lock(mutex_);
    ticket = engine::Ticket{++last_ticket_};
    open_.emplace(ticket, std::nullopt);
  }
  gateway_.submit(std::move(request), *this, ticket);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mutex_);
  while (!open_.at(ticket) && answered_.wait_until(mutex_, deadline)) {
  }
  return std::move(open_.extract(ticket).mapped());
}

void ShardQuestions::deliver(std::span<engine::Delivery> deliveries) {
  {
    const MutexLock lock(mutex_);
    for (engine::Delivery& delivery : deliveries) {
      const auto at = open_.find(delivery.ticket);
      if (at != open_.end()) at->second = std::move(delivery.answer);
    }
  }
  answered_.notify_all();
}

ServerOperations::ServerOperations(http::About about, Parts parts)
    : about_(std::move(about)), parts_(std::move(parts)), questions_(parts_.driver) {}

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
  std::vector<core::Queue> queues;
  if (auto answer = questions_.ask(core::Command(core::GetQueues{}), kQueuesPatience)) {
    auto* const reply = std::get_if<core::Reply>(&*answer);
    auto* const found = reply == nullptr ? nullptr : std::get_if<core::QueueReply>(reply);
    if (found != nullptr) queues = std::move(found->queues);
  }
  return parts_.metrics.text({.version = about_.version,
                              .commit = about_.commit,
                              .statistics = parts_.statistics,
                              .status = parts_.driver.status(),
                              .queues = std::move(queues),
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
    return std::unexpected(api::make_problem(
        api::ProblemCode::kInvalidState,
        "back up the database with its own tools: the server copies only a data directory"));
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
