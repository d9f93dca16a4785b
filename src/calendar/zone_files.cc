#include "calendar/zone_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "base/ascii.h"
#include "base/file.h"
#include "calendar/tzif.h"

namespace millrace::calendar {
namespace {

constexpr std::size_t kMaxListBytes = 1'048'576;  // tzdata.zi has 110 KB
constexpr std::size_t kMaxNameBytes = 64;         // the longest has 32

std::string why(int error) { return std::generic_category().message(error); }

FileStamp stamp_of(const struct stat& status) {
  constexpr std::int64_t kNs = 1'000'000'000;
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNs + status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec * kNs + status.st_ctim.tv_nsec};
}

struct Content {
  std::string bytes;
  FileStamp stamp;
};

// A regular file of at most `max_bytes`; no symbolic link.
Result<Content> read_file(const std::string& path, std::size_t max_bytes) {
  const auto file = open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!file) return failure(file.error().reason);
  struct stat status{};
  if (::fstat(file->number(), &status) != 0) return failure(why(errno));
  if (static_cast<std::uint64_t>(status.st_size) > max_bytes) {
    return failure(fmt::format("it has more than {} bytes", max_bytes));
  }
  Content content{std::string(static_cast<std::size_t>(status.st_size), '\0'), stamp_of(status)};
  std::size_t read = 0;
  while (read < content.bytes.size()) {
    const ssize_t got =
        ::read(file->number(), content.bytes.data() + read, content.bytes.size() - read);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(why(errno));
    if (got == 0) return failure("its size changed while the server read it; try again");
    read += static_cast<std::size_t>(got);
  }
  return content;
}

// Words of a line, separated by blanks or tabs; "#" begins a comment.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

template <typename Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Letters, digits, "_+-" in parts separated by "/": so no "..", no empty part, no absolute path.
bool is_zone_name(std::string_view name) {
  const auto may = [](char c) { return is_alphanumeric(c) || c == '_' || c == '+' || c == '-'; };
  bool in_part = false;
  for (const char c : name) {
    if (!may(c) && (c != '/' || !in_part)) return false;
    in_part = c != '/';
  }
  return in_part && name.size() <= kMaxNameBytes;
}

// Appends the names in a list: "Z Europe/Zurich ..." and "L Europe/Zurich Old/Name" of tzdata.zi,
// the same with the word "Link" of `backward`, and the third column of zone*.tab.
void add_names(std::string_view list, std::string_view text, std::vector<std::string>& names) {
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 2) return;
    std::string_view name;
    if (list.ends_with(".tab")) {
      if (words.size() > 2) name = words[2];
    } else if (words[0] == "Z") {
      name = words[1];
    } else if ((words[0] == "L" || words[0] == "Link") && words.size() > 2) {
      name = words[2];
    }
    if (is_zone_name(name)) names.emplace_back(name);
  });
}

// The number of characters to change, add or remove (Levenshtein), ignoring case.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (to_lower(a[i]) == to_lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// Formatted for a message.
std::string shown(std::string_view name) {
  std::string out(name.substr(0, kMaxNameBytes));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

constexpr std::string_view kUtc = "UTC";

}  // namespace

Result<ZoneFiles> ZoneFiles::open(std::string directory) {
  std::error_code error;
  const auto canonical = std::filesystem::canonical(directory, error);
  if (error) return failure(fmt::format("zones in {}: {}", directory, error.message()));
  ZoneFiles files;
  files.directory_ = canonical.string();
  for (const char* const list : {"tzdata.zi", "zone1970.tab", "zone.tab"}) {
    const std::string path = files.directory_ + "/" + list;
    const auto content = read_file(path, kMaxListBytes);
    if (!content) continue;
    add_names(list, content->bytes, files.names_);
    files.list_ = path;
    files.list_stamp_ = content->stamp;
    constexpr std::string_view kVersion = "# version ";
    if (content->bytes.starts_with(kVersion)) {
      const std::size_t end = std::min(content->bytes.find('\n'), content->bytes.size());
      files.version_ =
          shown(std::string_view(content->bytes).substr(0, end).substr(kVersion.size()));
    }
    break;
  }
  if (files.list_.empty()) {
    return failure(fmt::format(
        "{} has no list of zones (tzdata.zi, zone1970.tab or zone.tab); install the package tzdata",
        directory));
  }
  if (const auto more = read_file(files.directory_ + "/backward", kMaxListBytes)) {
    add_names("backward", more->bytes, files.names_);
  }
  files.names_.emplace_back(kUtc);
  std::sort(files.names_.begin(), files.names_.end());
  files.names_.erase(std::unique(files.names_.begin(), files.names_.end()), files.names_.end());
  return files;
}

// The nearest name: one that differs only in case, then the same city, then few other characters.
std::string ZoneFiles::nearest(std::string_view name) const {
  if (name.empty() || name.size() > kMaxNameBytes) return "";
  constexpr std::size_t kFar = 1000;
  std::size_t best = 1 + name.size() / 4;  // with more changes it is a different name
  std::string found;
  for (const std::string& known : names_) {
    std::size_t far = distance(name, known);
    if (far > 0 && equals_ignoring_case(last_part(name), last_part(known)))
      far = std::min(far, 1UL);
    if (name.find('/') == std::string_view::npos) {
      // A city alone, perhaps misspelt.
      const std::size_t city = distance(name, last_part(known));
      far = std::min(far, city <= name.size() / 4 ? city + 1 : kFar);
    }
    if (far < best || (far == best && found.empty())) {
      best = far;
      found = known;
    }
  }
  return found;
}

Result<std::string> ZoneFiles::path_of(std::string_view name) const {
  if (!std::binary_search(names_.begin(), names_.end(), name)) {
    const std::string meant = nearest(name);
    return failure(fmt::format("there is no time zone \"{}\"{}", shown(name),
                               meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
  }
  std::error_code error;
  const auto path = std::filesystem::canonical(directory_ + "/" + std::string(name), error);
  if (error == std::errc::no_such_file_or_directory) {
    return failure(
        fmt::format("time zone {} is in the list, but {} has no file for it; on Debian 13, install "
                    "the package tzdata-legacy for old names",
                    name, directory_));
  }
  if (error) return failure(fmt::format("time zone {}: {}", name, error.message()));
  if (!path.string().starts_with(directory_ + "/")) {
    return failure(
        fmt::format("time zone {}: its file is a link to a place outside {}", name, directory_));
  }
  return path.string();
}

Result<Zone> ZoneFiles::load(std::string_view name) const {
  if (name == kUtc) return Zone();
  const auto path = path_of(name);
  if (!path) return std::unexpected(path.error());
  const auto content = read_file(*path, kMaxTzifBytes);
  if (!content) return failure(fmt::format("time zone {}: {}", name, content.error().message));
  auto zone = read_tzif(content->bytes);
  if (!zone) return failure(fmt::format("time zone {}: {}: {}", name, *path, zone.error().message));
  return zone;
}

Result<FileStamp> ZoneFiles::stamp(std::string_view name) const {
  if (name == kUtc) return FileStamp{};
  const auto path = path_of(name);
  if (!path) return std::unexpected(path.error());
  struct stat status{};
  if (::stat(path->c_str(), &status) != 0) {
    return failure(fmt::format("time zone {}: {}", name, why(errno)));
  }
  return stamp_of(status);
}

bool ZoneFiles::list_changed() const {
  struct stat status{};
  return ::stat(list_.c_str(), &status) != 0 || stamp_of(status) != list_stamp_;
}

}  // namespace millrace::calendar
