#include "store/sqlite/maintenance.h"

#include <fmt/format.h>

#include "store/sqlite/directory.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_backup.h"
#include "store/sqlite/verify.h"

namespace millrace::store {
namespace {

Status check_is_store(const std::string& directory) {
  for (const std::string_view name : {kMarkerFile, kJournalFile, kTablesFile}) {
    if (!file_exists(directory + "/" + std::string(name))) {
      return failure(fmt::format("{} does not hold a store: {} is missing", directory, name));
    }
  }
  return {};
}

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  for (std::string& problem : from) to.push_back(std::move(problem));
}

}  // namespace

Result<VerifyReport> verify_store(const std::string& directory) {
  if (Status checked = check_is_store(directory); !checked) return std::unexpected(checked.error());
  const std::string path = directory + "/";
  VerifyReport report;
  for (const auto& [name, part] :
       {std::pair(kTablesFile, Part::kTables), std::pair(kJournalFile, Part::kJournal)}) {
    auto altered = examine_pages(path + std::string(name), part);
    if (!altered) return std::unexpected(altered.error());
    append(report.problems, std::move(*altered));
  }
  // Everything else would only report consequences of these.
  if (!report.problems.empty()) return report;
  auto tables = open_part_for_reading(path + std::string(kTablesFile), Part::kTables);
  if (!tables) return std::unexpected(tables.error());
  auto journal = open_part_for_reading(path + std::string(kJournalFile), Part::kJournal);
  if (!journal) return std::unexpected(journal.error());
  const auto id = store_id_of(**journal);
  const auto tables_id = store_id_of(**tables);
  if (!id) return std::unexpected(id.error());
  if (!tables_id) return std::unexpected(tables_id.error());

  report.store_id = *id;
  if (*id != *tables_id)
    report.problems.emplace_back("the two databases belong to different stores");
  const std::string marker_path = path + std::string(kMarkerFile);
  const auto marker = read_small_file(marker_path);
  if (!marker) return std::unexpected(marker.error());
  if (*marker != marker_of(*id)) {
    report.problems.push_back(
        fmt::format("{} is damaged; it should have the line \"id {}\" and no other below its first",
                    marker_path, *id));
  }
  // First, since a running server trims the journal behind the tables.
  auto gaps = examine_continuity(**journal, **tables);
  if (!gaps) return std::unexpected(gaps.error());
  append(report.problems, std::move(*gaps));
  auto jobs = examine_tables(**tables);
  if (!jobs) return std::unexpected(jobs.error());
  auto rows = examine_journal(**journal, Bodies::kDecoded);
  if (!rows) return std::unexpected(rows.error());
  report.rows = rows->rows;
  report.events = rows->events;
  report.jobs = jobs->jobs;
  report.oldest = rows->oldest;
  report.newest = rows->newest;
  report.projected = jobs->projected;
  append(report.problems, std::move(rows->problems));
  append(report.problems, std::move(jobs->problems));
  return report;
}

Status backup_store(const std::string& directory, const std::string& to) {
  if (Status checked = check_is_store(directory); !checked) return checked;
  const auto lock = Directory::lock(directory);
  if (!lock) return std::unexpected(lock.error());
  return SqliteBackup(directory).backup_to(to);
}

}  // namespace millrace::store
