// The zones of a directory such as /usr/share/zoneinfo of Debian's tzdata. Only names in the data's
// own list are opened: no path, nothing outside the directory.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calendar/zone.h"

namespace millrace::calendar {

constexpr std::string_view kDefaultZoneDirectory = "/usr/share/zoneinfo";

// Identifies the version of a file that was read: a package update replaces the file.
struct FileStamp {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

class ZoneFiles {
 public:
  // Reads the list of names: tzdata.zi or, if it is missing, zone1970.tab or zone.tab, plus
  // `backward`. UTC is in every list. Fails if the directory has none of them.
  static Result<ZoneFiles> open(std::string directory);

  // As given in tzdata.zi, such as "2025b"; empty if missing.
  const std::string& version() const { return version_; }
  const std::vector<std::string>& names() const { return names_; }  // sorted

  // UTC needs no file. The error names the zone and the reason, and suggests the nearest name.
  Result<Zone> load(std::string_view name) const;

  // The stamp of a zone's current file. If it changes, the zone should be loaded again; the digests
  // tell whether its data differ. UTC's stamp never changes.
  Result<FileStamp> stamp(std::string_view name) const;

  // Whether the list has changed since open(). If so, the directory should be opened again.
  bool list_changed() const;

 private:
  ZoneFiles() = default;
  Result<std::string> path_of(std::string_view name) const;
  std::string nearest(std::string_view name) const;

  std::string directory_;  // without symbolic links
  std::string list_;       // the path of the file with the names
  FileStamp list_stamp_;
  std::string version_;
  std::vector<std::string> names_;
};

}  // namespace millrace::calendar
