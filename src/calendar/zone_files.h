// The zones of a directory, as Debian's tzdata fills /usr/share/zoneinfo. Only names that the
// data's own list has are opened: no path, nothing outside the directory.
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

// Says whether a file is still the one that was read: a package's update replaces it.
struct FileStamp {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

class ZoneFiles {
 public:
  // Reads the list of names: tzdata.zi, or where that is missing zone1970.tab or zone.tab, and
  // `backward`. UTC is in every list. An error if the directory has none of them.
  static Result<ZoneFiles> open(std::string directory);

  // As tzdata.zi says, "2025b"; empty if it does not.
  const std::string& version() const { return version_; }
  const std::vector<std::string>& names() const { return names_; }  // sorted

  // UTC needs no file. The error names the zone, says why not, and suggests the nearest name.
  Result<Zone> load(std::string_view name) const;

  // Of a zone's file as it is now. Another stamp means that the zone should be loaded again; the
  // digests say whether its data differ. Of UTC always the same.
  Result<FileStamp> stamp(std::string_view name) const;

  // Has the list changed since open()? Then it is time to open the directory anew.
  bool list_changed() const;

 private:
  ZoneFiles() = default;
  Result<std::string> path_of(std::string_view name) const;
  std::string nearest(std::string_view name) const;

  std::string directory_;  // without symbolic links
  std::string list_;       // the path of the file that the names came from
  FileStamp list_stamp_;
  std::string version_;
  std::vector<std::string> names_;
};

}  // namespace millrace::calendar
