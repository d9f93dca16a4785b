#include "sim/crash_points/disk.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace millrace::crash_points {
namespace {

constexpr std::size_t kSector = 512;

bool one_in(Random& random, std::uint64_t count) { return random.next() % count == 0; }

}  // namespace

std::string_view to_string(CallKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "open",   "create", "read", "write", "truncate", "sync", "sync of directory",
      "delete", "rename"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Death death) {
  constexpr std::array<std::string_view, 4> kNames = {"killed", "dropped", "part", "torn"};
  return kNames[static_cast<std::size_t>(death)];
}

std::string_view directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : path.substr(0, slash);
}

// --- Calls

Disk::FilePtr Disk::find(std::string_view path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

Disk::Opened Disk::open(const std::string& path, IfMissing if_missing) {
  FilePtr file = find(path);
  if (file == nullptr && if_missing == IfMissing::kFail) return {};
  const CallKind kind = file == nullptr ? CallKind::kCreate : CallKind::kOpen;
  if (const Verdict verdict = ask({.kind = kind, .path = path}); verdict != Verdict::kProceed) {
    return {nullptr, verdict};
  }
  if (file == nullptr) {
    file = std::make_shared<File>();
    change_names({{path, file}});
  }
  return {std::move(file), Verdict::kProceed};
}

Verdict Disk::read(const std::string& path, const File& file, std::uint64_t offset,
                   std::size_t size, std::string& out) {
  const Verdict verdict =
      ask({.kind = CallKind::kRead, .path = path, .offset = offset, .size = size});
  out.clear();
  if (verdict == Verdict::kShortRead) size = (size + 1) / 2;
  const bool reads = verdict == Verdict::kProceed || verdict == Verdict::kShortRead;
  if (reads && offset < file.content.size()) out.assign(file.content, offset, size);
  return verdict;
}

Verdict Disk::write(const std::string& path, File& file, std::uint64_t offset,
                    std::string_view data) {
  const Verdict verdict =
      ask({.kind = CallKind::kWrite, .path = path, .offset = offset, .data = data});
  if (verdict == Verdict::kNoSpace && offset + data.size() > file.content.size()) {
    // A full disk stores the part that still fits: here the first half.
    data = data.substr(0, data.size() / 2);
  } else if (verdict != Verdict::kProceed) {
    return verdict;
  }
  file.unsynced.push_back({offset, std::string(data), {}});
  apply(file.unsynced.back(), file.content);
  return verdict;
}

Verdict Disk::truncate(const std::string& path, File& file, std::uint64_t size) {
  const Verdict verdict = ask({.kind = CallKind::kTruncate, .path = path, .offset = size});
  if (verdict != Verdict::kProceed) return verdict;
  file.unsynced.push_back({0, {}, size});
  apply(file.unsynced.back(), file.content);
  return verdict;
}

Verdict Disk::sync(const std::string& path, File& file) {
  const Verdict verdict = ask({.kind = CallKind::kSync, .path = path});
  if (verdict != Verdict::kProceed) {
    lose_unsynced(file);
    return verdict;
  }
  for (const Change& change : file.unsynced) apply(change, file.durable);
  file.unsynced.clear();
  return verdict;
}

Verdict Disk::sync_directory(const std::string& path) {
  const Verdict verdict = ask({.kind = CallKind::kSyncDirectory, .path = path});
  if (verdict != Verdict::kProceed) return verdict;
  std::erase_if(unsynced_names_, [&](const NameChange& change) {
    const bool inside = directory_of(change.front().first) == path;
    if (inside) apply(change, durable_names_);
    return inside;
  });
  return verdict;
}

Verdict Disk::remove(const std::string& path) {
  const Verdict verdict = ask({.kind = CallKind::kDelete, .path = path});
  if (verdict == Verdict::kProceed) change_names({{path, nullptr}});
  return verdict;
}

Verdict Disk::rename(const std::string& from, const std::string& to) {
  const Verdict verdict = ask({.kind = CallKind::kRename, .path = from, .target = to});
  if (verdict == Verdict::kProceed) change_names({{to, find(from)}, {from, nullptr}});
  return verdict;
}

void Disk::change_names(NameChange change) {
  apply(change, names_);
  unsynced_names_.push_back(std::move(change));
}

void Disk::apply(const NameChange& change, Names& names) {
  for (const auto& [name, file] : change) {
    if (file == nullptr) {
      names.erase(name);
    } else {
      names[name] = file;
    }
  }
}

void Disk::apply(const Change& change, std::string& content) {
  if (change.truncated_to) {
    content.resize(*change.truncated_to);
    return;
  }
  if (content.size() < change.offset + change.data.size()) {
    content.resize(change.offset + change.data.size());
  }
  std::ranges::copy(change.data, content.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

void Disk::lose_unsynced(File& file) {
  // A part may have been written.
  for (const Change& change : file.unsynced) {
    if (one_in(random_, 4)) apply(change, file.durable);
  }
  file.unsynced.clear();
  // The pages count as clean. They are visible until the system needs their memory, perhaps now.
  if (one_in(random_, 2)) file.content = file.durable;
}

// --- Death

void Disk::die(Death death, const Call& under_way, Random random) {
  hook_ = nullptr;
  add_under_way(death, under_way, random);
  if (death == Death::kKilled) {
    for (const auto& [name, file] : names_) file->locked = false;
    return;
  }
  // File systems keep the order of changes to names, so the surviving ones are the first.
  std::size_t kept = death == Death::kTorn ? unsynced_names_.size() : 0;
  if (death == Death::kPart) kept = random.next() % (unsynced_names_.size() + 1);
  for (std::size_t i = 0; i < kept; ++i) apply(unsynced_names_[i], durable_names_);
  unsynced_names_.clear();
  names_ = durable_names_;
  for (const auto& [name, file] : names_) settle(*file, death, random);
}

// The call interrupted by the death may have taken effect, partly or completely.
void Disk::add_under_way(Death death, const Call& call, Random& random) {
  if (death == Death::kDropped) return;
  const bool partly = death == Death::kTorn;
  if (!partly && one_in(random, 2)) return;
  const FilePtr file = find(call.path);
  switch (call.kind) {
    case CallKind::kWrite: {
      if (file == nullptr) return;
      std::size_t size = call.data.size();
      if (partly) size = random.next() % (size + 1);
      if (partly && one_in(random, 2)) size -= size % kSector;
      file->unsynced.push_back({call.offset, std::string(call.data.substr(0, size)), {}});
      apply(file->unsynced.back(), file->content);
      return;
    }
    case CallKind::kTruncate:
      if (file == nullptr) return;
      file->unsynced.push_back({0, {}, call.offset});
      apply(file->unsynced.back(), file->content);
      return;
    case CallKind::kCreate:
      return change_names({{std::string(call.path), std::make_shared<File>()}});
    case CallKind::kDelete:
      return change_names({{std::string(call.path), nullptr}});
    case CallKind::kRename:
      return change_names({{std::string(call.target), file}, {std::string(call.path), nullptr}});
    case CallKind::kOpen:
    case CallKind::kRead:
    case CallKind::kSync:
    case CallKind::kSyncDirectory:
      return;
  }
}

void Disk::settle(File& file, Death death, Random& random) {
  file.locked = false;
  if (death == Death::kTorn) file.durable = file.content;
  if (death == Death::kPart) {
    // Leaving out any of the changes, in order, yields every mixture that another order of writing
    // could produce: each sector holds one of its versions.
    const std::uint64_t kept_of_8 = 1 + random.next() % 7;
    for (const Change& change : file.unsynced) {
      if (change.truncated_to) {
        if (one_in(random, 2)) apply(change, file.durable);
        continue;
      }
      const bool by_sector = one_in(random, 4);
      const std::size_t piece = by_sector ? kSector : change.data.size();
      for (std::size_t at = 0; at < change.data.size(); at += piece) {
        if (random.next() % 8 >= kept_of_8) continue;
        apply({change.offset + at, change.data.substr(at, piece), {}}, file.durable);
      }
    }
  }
  file.unsynced.clear();
  file.content = file.durable;
}

void Disk::flip_bit(const std::string& path, std::uint64_t offset, unsigned bit) {
  const FilePtr file = find(path);
  MILLRACE_CHECK(file != nullptr && offset < file->content.size());
  file->content[offset] = static_cast<char>(file->content[offset] ^ (1U << bit));
  if (offset < file->durable.size()) {
    file->durable[offset] = static_cast<char>(file->durable[offset] ^ (1U << bit));
  }
}

}  // namespace millrace::crash_points
