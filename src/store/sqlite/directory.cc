#include "store/sqlite/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace millrace::store {
namespace {

std::unexpected<Error> system_failure(std::string_view what, const std::string& path) {
  return failure(fmt::format("can't {} {}: {}", what, path, std::strerror(errno)));
}
std::unexpected<Error> cannot(std::string_view what, const std::string& path,
                              const OpenFault& fault) {
  return failure(fmt::format("can't {} {}: {}", what, path, fault.reason));
}

std::string parent_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

Status make_directory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return {};
  std::filesystem::create_directories(parent_of(path), error);
  if (error) return failure(fmt::format("can't create {}: {}", parent_of(path), error.message()));
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_failure("create", path);
  if (!std::filesystem::is_directory(path, error)) {
    return failure(fmt::format("{} is not a directory", path));
  }
  return sync_directory_of(path);
}

// Writes all of `content` at the start of the file.
bool write_whole(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string holder_of(const std::string& lock_path) {
  const auto content = read_small_file(lock_path);
  if (!content || !*content || (*content)->empty()) return "another process";
  return fmt::format("process {}", (*content)->substr(0, (*content)->find('\n')));
}

struct FileSystem {
  std::uint64_t magic;
  std::string_view name;
};
// Values from linux/magic.h.
constexpr std::array<FileSystem, 8> kDoubtful = {{
    {0x6969, "NFS"},
    {0x517b, "SMB"},
    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},
    {0x01021997, "9p"},
    {0x00c36400, "Ceph"},
    {0x01021994, "tmpfs, which the machine loses when it stops"},
    {0x858458f6, "ramfs, which the machine loses when it stops"},
}};

}  // namespace

std::string marker_of(std::string_view store_id) {
  return fmt::format("A Millrace store. The databases beside this file belong together.\nid {}\n",
                     store_id);
}

Result<std::unique_ptr<Directory>> Directory::lock(const std::string& path) {
  if (Status made = make_directory(path); !made) return std::unexpected(made.error());
  const std::string lock_path = path + "/" + std::string(kLockFile);
  auto lock = open_file(lock_path, O_RDWR | O_CREAT, 0600);
  if (!lock) return cannot("write in the data directory: open", lock_path, lock.error());
  if (flock(lock->number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_failure("lock", lock_path);
    return failure(
        fmt::format("the data directory {} is in use by {}; stop it, or choose another directory",
                    path, holder_of(lock_path)));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(lock->number(), 0) != 0 || !write_whole(lock->number(), pid)) {
    return system_failure("write", lock_path);
  }
  return std::unique_ptr<Directory>(new Directory(path, std::move(*lock)));
}

std::optional<std::string> Directory::doubtful_file_system() const {
  struct statfs info{};
  if (statfs(path_.c_str(), &info) != 0) return std::nullopt;
  for (const FileSystem& system : kDoubtful) {
    if (static_cast<std::uint32_t>(info.f_type) == system.magic) return std::string(system.name);
  }
  return std::nullopt;
}

std::optional<std::string> user_of_directory(const std::string& path) {
  const std::string lock_path = path + "/" + std::string(kLockFile);
  const auto file = open_file(lock_path, O_RDONLY);
  if (!file) return std::nullopt;
  // A shared lock, released with the descriptor: it excludes others only for this moment.
  if (flock(file->number(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return holder_of(lock_path);
}

bool file_exists(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0;
}

bool file_has_content(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

Status make_private_file(const std::string& path) {
  if (const auto file = open_file(path, O_RDWR | O_CREAT, 0600); !file) {
    return cannot("create", path, file.error());
  }
  return {};
}

Result<std::optional<std::string>> read_small_file(const std::string& path) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) {
    if (file.error().code == ENOENT) return std::nullopt;
    return cannot("read", path, file.error());
  }
  std::array<char, 4096> buffer;
  const ssize_t size = read(file->number(), buffer.data(), buffer.size());
  if (size < 0) return system_failure("read", path);
  return std::string(buffer.data(), static_cast<std::size_t>(size));
}

Status write_small_file(const std::string& path, std::string_view content) {
  const std::string draft = path + ".tmp";
  {
    const auto file = open_file(draft, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!file) return cannot("write", draft, file.error());
    if (!write_whole(file->number(), content) || fsync(file->number()) != 0) {
      return system_failure("write", draft);
    }
  }
  return rename_file(draft, path);
}

Status sync_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok() || fsync(file.number()) != 0) return system_failure("sync", path);
  return {};
}

Status sync_directory_of(const std::string& path) { return sync_file(parent_of(path)); }

Status rename_file(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return system_failure("put in place", to);
  return sync_directory_of(to);
}

Status remove_file(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return system_failure("remove", path);
  return {};
}

}  // namespace millrace::store
