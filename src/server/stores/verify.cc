#include "server/stores/verify.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "store/postgres/postgres_dump.h"
#include "store/postgres/postgres_verify.h"
#include "store/sqlite/archive.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/maintenance.h"

namespace millrace::server {

namespace {

constexpr int kSound = 0;
constexpr int kDamaged = 1;
constexpr int kInUse = 5;

// A running server's files change during the check and lack its latest writes, so a result would
// mean nothing.
int refuse(const std::string& directory, const std::string& user) {
  fmt::print(stderr,
             "millrace: {0} is in use by {1}, so its files change during a check; stop the server, "
             "or verify a copy that `millrace admin backup DIRECTORY` makes\n",
             directory, user);
  return kInUse;
}

// An archive may be read while a server fills it, because its files never change.
int verify_archive(const std::string& directory) {
  const auto archive = store::ArchiveReader::open(directory);
  if (!archive) {
    fmt::print(stderr, "millrace: {}\n", archive.error().message);
    return kDamaged;
  }
  std::uint64_t rows = 0;
  if (!archive->empty()) {
    const Status read = archive->read(archive->first(), [&](const store::JournalRow&) {
      ++rows;
      return true;
    });
    if (!read) {
      fmt::print(stderr, "millrace: {}\n", read.error().message);
      return kDamaged;
    }
  }
  fmt::print("{}: sound\n", directory);
  if (archive->coverage()) {
    fmt::print("store    {}\n", archive->coverage()->store_id);
  }
  fmt::print("archive  {} rows", rows);
  if (!archive->empty()) {
    fmt::print(" ({} to {})", to_number(archive->first()), to_number(archive->last()));
  }
  if (archive->coverage()) fmt::print(", up to {}", format_rfc3339(archive->coverage()->until));
  fmt::print("\n");
  return kSound;
}

// PostgreSQL's tools alone read a dump, so this can only tell that it is as it was made.
int verify_dump(const std::string& directory) {
  if (const Status checked = store::check_dump(directory); !checked) {
    fmt::print(stderr, "millrace: {}\n", checked.error().message);
    return kDamaged;
  }
  fmt::print("{}: sound\n", directory);
  return kSound;
}

int print_problems(const std::vector<std::string>& problems, std::string_view what) {
  for (const std::string& problem : problems) fmt::print(stderr, "millrace: {}\n", problem);
  fmt::print(stderr, "millrace: {} is damaged; keep it as it is, and restore a backup\n", what);
  return kDamaged;
}

}  // namespace

int verify_directory(const std::string& directory) {
  if (store::file_exists(directory + "/" + std::string(store::kArchiveCoverage)) &&
      !store::file_exists(directory + "/" + std::string(store::kMarkerFile))) {
    return verify_archive(directory);
  }
  if (store::file_exists(directory + "/" + std::string(store::kDumpFile))) {
    return verify_dump(directory);
  }
  if (const auto user = store::user_of_directory(directory)) return refuse(directory, *user);
  const auto report = store::verify_store(directory);
  // A server was started during the check.
  if (const auto user = store::user_of_directory(directory)) return refuse(directory, *user);
  if (!report) {
    fmt::print(stderr, "millrace: {}\n", report.error().message);
    return kDamaged;
  }
  if (!report->problems.empty()) return print_problems(report->problems, directory);
  fmt::print(
      "{}: sound\nstore    {}\njournal  {} rows ({} to {}), {} events\ntables   {} jobs, up to row "
      "{}\n",
      directory, report->store_id, report->rows, to_number(report->oldest),
      to_number(report->newest), report->events, report->jobs, to_number(report->projected));
  return kSound;
}

int verify_database(const std::string& url) {
  const auto found = store::verify_postgres(url, [] { return std::chrono::steady_clock::now(); });
  if (!found) {
    fmt::print(stderr, "millrace: {}\n", found.error().message);
    return kDamaged;
  }
  // Does not print the URL, which may have a password.
  if (!found->problems.empty()) return print_problems(found->problems, "the database");
  fmt::print("the database: sound\nstore    {}\n", found->store_id);
  for (std::size_t shard = 0; shard < found->shards.size(); ++shard) {
    const store::ShardFindings& each = found->shards[shard];
    fmt::print(
        "shard {:<2} journal {} rows ({} to {}), {} events; tables {} jobs, up to row {}; "
        "audit {} entries\n",
        shard, each.rows, to_number(each.oldest), to_number(each.newest), each.events, each.jobs,
        to_number(each.projected), each.audit_entries);
  }
  return kSound;
}

}  // namespace millrace::server
