#include "store/sqlite/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace millrace::store {
namespace {

constexpr std::uint64_t kFileBytes = 16 * 1024 * 1024;

struct Listed {
  std::string path;
  ArchiveHead head;
};

Result<std::vector<std::filesystem::path>> paths_in(const std::string& directory) {
  std::vector<std::filesystem::path> paths;
  std::error_code fault;
  std::filesystem::directory_iterator entry(directory, fault);
  for (; !fault && entry != std::filesystem::directory_iterator(); entry.increment(fault)) {
    if (entry->path().extension() == kArchiveSuffix) paths.push_back(entry->path());
  }
  if (fault) return failure(fmt::format("can't read {}: {}", directory, fault.message()));
  return paths;
}

// Fails if the head contradicts the name.
Result<Listed> look_at(const std::filesystem::path& path) {
  auto head = read_archive_head(path);
  if (!head) return std::unexpected(head.error());
  const std::string name = archive_file_name(head->first, head->last);
  if (path.filename() != name) {
    return failure(
        fmt::format("{} holds rows {} to {}, so its name should be {}; give it its name back",
                    path.string(), to_number(head->first), to_number(head->last), name));
  }
  return Listed{path, std::move(*head)};
}

// The file with the newest rows, by name only: after years there are very many.
Result<std::optional<Listed>> newest_file(const std::string& directory) {
  const auto paths = paths_in(directory);
  if (!paths) return std::unexpected(paths.error());
  if (paths->empty()) return std::nullopt;
  auto newest = look_at(*std::ranges::max_element(*paths));
  if (!newest) return std::unexpected(newest.error());
  return std::move(*newest);
}

// By their rows.
Result<std::vector<Listed>> list_files(const std::string& directory) {
  const auto paths = paths_in(directory);
  if (!paths) return std::unexpected(paths.error());
  std::vector<Listed> files;
  for (const std::filesystem::path& path : *paths) {
    auto file = look_at(path);
    if (!file) return std::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  std::ranges::sort(files, {}, [](const Listed& file) { return file.head.first; });
  for (std::size_t i = 1; i < files.size(); ++i) {
    const Listed& one = files[i - 1];
    const Listed& other = files[i];
    if (one.head.store_id != other.head.store_id) {
      return failure(
          fmt::format("{} is of store {}, and {} of store {}; an archive is of one store", one.path,
                      one.head.store_id, other.path, other.head.store_id));
    }
    if (other.head.first <= one.head.last) {
      return failure(fmt::format(
          "{} and {} hold the same rows; remove the one that is of a history that was given up",
          one.path, other.path));
    }
  }
  return files;
}

std::string coverage_path(const std::string& directory) {
  return directory + "/" + std::string(kArchiveCoverage);
}

// The last line is the XXH3-64 of all bytes before it.
std::string text_of(const ArchiveCoverage& coverage) {
  const std::string text =
      fmt::format("An archive of a Millrace store's journal.\nstore {}\nrow {}\nuntil {}\n",
                  coverage.store_id, to_number(coverage.last), format_rfc3339(coverage.until));
  return fmt::format("{}checksum {:016x}\n", text, XXH3_64bits(text.data(), text.size()));
}

// The rest of the line that begins with `word`.
std::string_view line_of(std::string_view text, std::string_view word) {
  const auto begin = text.find("\n" + std::string(word) + " ");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + 2 + word.size());
  return text.substr(0, text.find('\n'));
}

Result<std::optional<ArchiveCoverage>> read_coverage(const std::string& directory) {
  const auto text = read_small_file(coverage_path(directory));
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::nullopt;
  ArchiveCoverage coverage;
  coverage.store_id = line_of(**text, "store");
  const std::string_view row = line_of(**text, "row");
  std::uint64_t last = 0;
  const auto [end, fault] = std::from_chars(row.data(), row.data() + row.size(), last);
  const auto until = parse_rfc3339(line_of(**text, "until"));
  if (fault == std::errc() && until) {
    coverage.last = Seq{last};
    coverage.until = *until;
    // What is written is written in one way, so this compares every byte.
    if (**text == text_of(coverage)) return coverage;
  }
  return failure(fmt::format("{} is damaged; remove it: without it --until trusts the rows alone",
                             coverage_path(directory)));
}

}  // namespace

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::open(const std::string& directory,
                                                           const std::string& store_id,
                                                           Journal& journal) {
  auto locked = Directory::lock(directory);
  if (!locked) return std::unexpected(locked.error());
  std::unique_ptr<ArchiveWriter> writer(new ArchiveWriter(std::move(*locked), store_id, journal));
  if (Status placed = writer->find_place(); !placed) return std::unexpected(placed.error());
  return writer;
}

Status ArchiveWriter::find_place() {
  const std::string& path = directory_->path();
  if (Status removed = remove_file(directory_->file(kArchiveDraft)); !removed) return removed;
  const auto file = newest_file(path);
  if (!file) return std::unexpected(file.error());
  const auto coverage = read_coverage(path);
  if (!coverage) return std::unexpected(coverage.error());
  const auto extent = journal_.extent();
  if (!extent) return std::unexpected(extent.error());
  const std::uint64_t oldest = std::max<std::uint64_t>(to_number(extent->oldest), 1);
  archived_ = Seq{oldest - 1};
  for (const std::string& other : {*coverage ? (*coverage)->store_id : store_id_,
                                   *file ? (*file)->head.store_id : store_id_}) {
    if (other == store_id_) continue;
    return failure(
        fmt::format("the archive {} is of store {}, and this is store {}; name another directory",
                    path, other, store_id_));
  }
  if (!*file) return {};

  const ArchiveHead& newest = (*file)->head;
  // The checksum of row `newest.last`, as the journal has it: none, or of another history.
  std::optional<Checksum> mine;
  if (newest.last <= extent->newest) {
    const Seq from = std::max(newest.last, Seq{oldest});
    const Status read = journal_.read(from, [&](const JournalRow& row) {
      if (row.seq == newest.last) mine = row.checksum;
      if (row.seq == next(newest.last)) mine = row.predecessor;
      return false;
    });
    if (!read) return read;
  }
  const bool gap = next(newest.last) < Seq{oldest};
  if (!gap && mine != newest.checksum) {
    return failure(fmt::format(
        "the archive {} goes on with another history after what this store has (it was restored, "
        "or is a copy); keep that archive, and name a new directory for this store",
        path));
  }
  if (gap) {
    gap_ = {next(newest.last), Seq{oldest - 1}};
  } else {
    archived_ = newest.last;
  }
  return {};
}

Status ArchiveWriter::add_some(Seq to) {
  if (to <= archived_) return {};
  auto file = ArchiveFileWriter::create(directory_->path(), store_id_);
  if (!file) return std::unexpected(file.error());
  Status added;
  const Status read = journal_.read(next(archived_), [&](const JournalRow& row) {
    if (row.seq > to || (*file)->bytes() >= kFileBytes) return false;
    added = (*file)->add(row);
    return added.has_value();
  });
  if (!added) return added;
  if (!read) return read;
  if ((*file)->empty()) return {};
  const auto done = (*file)->finish();
  if (!done) return std::unexpected(done.error());
  archived_ = done->last;
  return {};
}

Status ArchiveWriter::cover(Time until) {
  return write_small_file(directory_->file(kArchiveCoverage),
                          text_of({store_id_, archived_, until}));
}

Result<ArchiveReader> ArchiveReader::open(const std::string& directory) {
  std::error_code fault;
  if (!std::filesystem::is_directory(directory, fault)) {
    return failure(fmt::format("there is no archive {}: it is not a directory", directory));
  }
  ArchiveReader reader;
  reader.directory_ = directory;
  // Read before the files, because a server may add to both.
  auto coverage = read_coverage(directory);
  if (!coverage) return std::unexpected(coverage.error());
  reader.coverage_ = std::move(*coverage);
  auto files = list_files(directory);
  if (!files) return std::unexpected(files.error());
  for (Listed& file : *files) reader.files_.push_back({std::move(file.path), std::move(file.head)});
  return reader;
}

Status ArchiveReader::read(Seq from, const std::function<bool(const JournalRow&)>& visit) const {
  Seq expected = from;
  const File* before = nullptr;
  bool more = true;
  for (const File& file : files_) {
    if (file.head.last < expected) {
      before = &file;
      continue;
    }
    if (file.head.first > expected) {
      return failure(fmt::format(
          "rows {} to {} are missing in the archive {}: {}; put the missing files back, or take a "
          "newer backup",
          to_number(expected), to_number(file.head.first) - 1, directory_,
          before == nullptr ? fmt::format("it begins with {}",
                                          std::filesystem::path(file.path).filename().string())
                            : fmt::format("none lies between {} and {}",
                                          std::filesystem::path(before->path).filename().string(),
                                          std::filesystem::path(file.path).filename().string())));
    }
    if (before != nullptr && next(before->head.last) == file.head.first &&
        before->head.checksum != file.head.predecessor) {
      return failure(fmt::format("{} does not continue {}: they are of different histories",
                                 file.path, before->path));
    }
    const Status read = read_archive_rows(file.path, file.head, [&](const JournalRow& row) {
      if (row.seq < expected) return true;
      expected = next(row.seq);
      more = visit(row);
      return more;
    });
    if (!read) return read;
    if (!more) return {};
    before = &file;
  }
  if (coverage_ && coverage_->last >= expected) {
    return failure(fmt::format(
        "rows {} to {} are missing at the end of the archive {}; put the missing files back, or "
        "restore up to a time before them",
        to_number(expected), to_number(coverage_->last), directory_));
  }
  return {};
}

}  // namespace millrace::store
