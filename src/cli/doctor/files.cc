// Checks a store's files without opening the store.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/words.h"
#include "cli/doctor/parts.h"

namespace millrace::cli {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kLittleRoom = 1024 * kMiB;
constexpr std::uint64_t kNoRoom = 200 * kMiB;
constexpr std::uint64_t kLongLog = 1024 * kMiB;  // for SQLite's write-ahead log
constexpr mode_t kOfOthers = 077;

struct File {
  bool exists = false;
  std::uint64_t bytes = 0;
  mode_t mode = 0;
};

File look_at(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {true, static_cast<std::uint64_t>(facts.st_size), facts.st_mode};
}

void judge_room(const std::string& directory, std::vector<Finding>& found) {
  struct statvfs disk{};
  if (::statvfs(directory.c_str(), &disk) != 0) return;
  const std::uint64_t free = disk.f_bavail * disk.f_frsize;
  if (free >= kLittleRoom) return;
  found.push_back(
      {"disk_full", free < kNoRoom ? Severity::kBad : Severity::kWarn,
       fmt::format("The disk of {} is nearly full", directory),
       fmt::format("{} MiB are free. Without room nothing can be acknowledged.", free / kMiB),
       "make room"});
}

}  // namespace

bool judge_files(const std::string& directory, std::vector<Finding>& found) {
  const auto file = [&](const char* name) { return directory + "/" + name; };
  if (::access(directory.c_str(), R_OK | X_OK) != 0) {
    found.push_back({"store_unreadable", Severity::kBad, fmt::format("{} can't be read", directory),
                     fmt::format("{}.", std::strerror(errno)),
                     "name the server's directory, as the user that the server runs as"});
    return false;
  }
  const File journal = look_at(file("journal.db"));
  const File tables = look_at(file("jobs.db"));
  const bool marked = look_at(file("millrace.store")).exists;
  if (!journal.exists && !tables.exists && !marked) {
    found.push_back({"store_missing", Severity::kBad,
                     fmt::format("There is no store in {}", directory),
                     "It has neither journal.db nor jobs.db.",
                     "name the directory that `millrace serve --data` has"});
    return false;
  }
  for (const auto& [name, facts] : {std::pair{"journal.db", journal}, {"jobs.db", tables}}) {
    if (!facts.exists) {
      found.push_back({"file_missing", Severity::kBad,
                       fmt::format("{} is missing from the store", name),
                       "It was there once: somebody removed it.",
                       "put the file back, or restore a backup: millrace admin restore"});
    } else if ((facts.mode & kOfOthers) != 0) {
      found.push_back(
          {"file_open_to_others", Severity::kWarn, fmt::format("Other users may open {}", name),
           "It holds the payloads of all jobs.", "chmod 600 " + shell_word(file(name))});
    }
    const File log = look_at(file(name) + "-wal");
    if (log.bytes >= kLongLog) {
      found.push_back({"log_long", Severity::kWarn,
                       fmt::format("The write-ahead log of {} has {} MiB", name, log.bytes / kMiB),
                       "Something reads the file for a long time, so that it can't be shortened.",
                       "end other programs that have the file open"});
    }
    if (look_at(file(name) + ".suspect").exists) {
      found.push_back({"file_suspect", Severity::kBad, fmt::format("A sync of {} failed", name),
                       "The next start copies and checks the file before it is used.",
                       "check the disk (dmesg, smartctl), then start the server again"});
    }
  }
  if (look_at(file("restoring")).exists) {
    found.push_back({"restore_broken_off", Severity::kWarn, "A restore into this store broke off",
                     "What it had made is in the folder \"restoring\".",
                     "run the same millrace admin restore again"});
  }
  judge_room(directory, found);
  return true;
}

}  // namespace millrace::cli
