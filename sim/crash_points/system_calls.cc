#include "sim/crash_points/system_calls.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>

namespace millrace::crash_points {
namespace {

struct Descriptor {
  std::string path;
  Disk::FilePtr file;  // null: a directory
  std::uint64_t offset = 0;
  bool holds_lock = false;
};

// Far above any descriptor of the system.
constexpr int kFirstDescriptor = 1 << 20;

class Calls {
 public:
  void install(Disk& disk, std::vector<std::string> directories) {
    disk_ = &disk;
    directories_ = std::move(directories);
  }
  bool installed() const { return disk_ != nullptr; }
  bool is_directory(std::string_view path) const {
    return std::ranges::find(directories_, path) != directories_.end();
  }
  bool is_ours(std::string_view path) const {
    return is_directory(path) || is_directory(directory_of(path));
  }
  Descriptor* find(int number) {
    const auto found = descriptors_.find(number);
    return found == descriptors_.end() ? nullptr : &found->second;
  }
  int add(Descriptor descriptor) {
    descriptors_.emplace(next_, std::move(descriptor));
    return next_++;
  }
  void close(int number) {
    const Descriptor& descriptor = descriptors_.at(number);
    if (descriptor.holds_lock) descriptor.file->locked = false;
    descriptors_.erase(number);
  }
  void forget() { descriptors_.clear(); }
  Disk& disk() { return *disk_; }
  Random& random() { return random_; }

 private:
  Disk* disk_ = nullptr;
  std::vector<std::string> directories_;
  std::map<int, Descriptor> descriptors_;
  int next_ = kFirstDescriptor;
  Random random_{2};
};

// The C library's interface consists of functions without an object, hence the global.
Calls& calls() {
  static Calls calls;
  return calls;
}

int failed(int number) {
  errno = number;
  return -1;
}

// 0, or -1 with errno.
int outcome(Verdict verdict) {
  if (verdict == Verdict::kProceed) return 0;
  return failed(verdict == Verdict::kNoSpace ? ENOSPC : EIO);
}

int open_ours(const char* path, int flags) {
  if (calls().is_directory(path)) return calls().add({path, nullptr});
  const bool creates = (flags & O_CREAT) != 0;
  if (!creates && calls().disk().find(path) == nullptr) return failed(ENOENT);
  Disk::Opened opened =
      calls().disk().open(path, creates ? Disk::IfMissing::kCreate : Disk::IfMissing::kFail);
  if (opened.file == nullptr) return outcome(opened.verdict);
  if ((flags & O_TRUNC) != 0 && !opened.file->content.empty()) {
    if (outcome(calls().disk().truncate(path, *opened.file, 0)) != 0) return -1;
  }
  return calls().add({path, std::move(opened.file)});
}

int stat_ours(const char* path, struct stat* out) {
  const Disk::FilePtr file = calls().disk().find(path);
  if (file == nullptr) return failed(ENOENT);
  std::memset(out, 0, sizeof *out);
  out->st_mode = S_IFREG | 0600;
  out->st_size = static_cast<off_t>(file->content.size());
  return 0;
}

}  // namespace

void install_system_calls(Disk& disk, std::vector<std::string> directories) {
  calls().install(disk, std::move(directories));
}

void forget_descriptors() { calls().forget(); }

}  // namespace millrace::crash_points

using millrace::crash_points::calls;
using millrace::crash_points::failed;
using millrace::crash_points::open_ours;
using millrace::crash_points::outcome;
using millrace::crash_points::stat_ours;

// The names required by the linker's --wrap: a call of open() goes to __wrap_open(), and
// __real_open() is the library's function.
extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_close(int number);
ssize_t __real_read(int number, void* out, size_t size);
ssize_t __real_write(int number, const void* data, size_t size);
int __real_ftruncate(int number, off_t size);
int __real_fsync(int number);
int __real_flock(int number, int operation);
int __real_rename(const char* from, const char* to);
int __real_unlink(const char* path);
int __real_stat(const char* path, struct stat* out);
int __real_lstat(const char* path, struct stat* out);
int __real_fstat(int number, struct stat* out);
ssize_t __real_getrandom(void* out, size_t size, unsigned flags);

int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return calls().is_ours(path) ? open_ours(path, flags) : __real_open(path, flags, mode);
}

int __wrap_close(int number) {
  if (calls().find(number) == nullptr) return __real_close(number);
  calls().close(number);
  return 0;
}

ssize_t __wrap_read(int number, void* out, size_t size) {
  auto* const open = calls().find(number);
  if (open == nullptr) return __real_read(number, out, size);
  std::string content;
  const auto verdict = calls().disk().read(open->path, *open->file, open->offset, size, content);
  if (verdict != millrace::crash_points::Verdict::kShortRead && outcome(verdict) != 0) return -1;
  std::memcpy(out, content.data(), content.size());
  open->offset += content.size();
  return static_cast<ssize_t>(content.size());
}

ssize_t __wrap_write(int number, const void* data, size_t size) {
  auto* const open = calls().find(number);
  if (open == nullptr) return __real_write(number, data, size);
  const std::string_view content(static_cast<const char*>(data), size);
  if (outcome(calls().disk().write(open->path, *open->file, open->offset, content)) != 0) return -1;
  open->offset += size;
  return static_cast<ssize_t>(size);
}

int __wrap_ftruncate(int number, off_t size) {
  auto* const open = calls().find(number);
  if (open == nullptr) return __real_ftruncate(number, size);
  return outcome(
      calls().disk().truncate(open->path, *open->file, static_cast<std::uint64_t>(size)));
}

int __wrap_fsync(int number) {
  auto* const open = calls().find(number);
  if (open == nullptr) return __real_fsync(number);
  if (open->file == nullptr) return outcome(calls().disk().sync_directory(open->path));
  return outcome(calls().disk().sync(open->path, *open->file));
}

int __wrap_flock(int number, int operation) {
  auto* const open = calls().find(number);
  if (open == nullptr) return __real_flock(number, operation);
  if (open->file->locked && !open->holds_lock) return failed(EWOULDBLOCK);
  open->file->locked = open->holds_lock = (operation & LOCK_EX) != 0;
  return 0;
}

int __wrap_rename(const char* from, const char* to) {
  if (!calls().is_ours(from)) return __real_rename(from, to);
  if (calls().disk().find(from) == nullptr) return failed(ENOENT);
  return outcome(calls().disk().rename(from, to));
}

int __wrap_unlink(const char* path) {
  if (!calls().is_ours(path)) return __real_unlink(path);
  if (calls().disk().find(path) == nullptr) return failed(ENOENT);
  return outcome(calls().disk().remove(path));
}

int __wrap_stat(const char* path, struct stat* out) {
  return calls().is_ours(path) ? stat_ours(path, out) : __real_stat(path, out);
}

int __wrap_lstat(const char* path, struct stat* out) {
  return calls().is_ours(path) ? stat_ours(path, out) : __real_lstat(path, out);
}

int __wrap_fstat(int number, struct stat* out) {
  auto* const open = calls().find(number);
  if (open == nullptr) return __real_fstat(number, out);
  *out = {};
  out->st_mode = open->file == nullptr ? S_IFDIR : S_IFREG;
  if (open->file != nullptr) out->st_size = static_cast<off_t>(open->file->content.size());
  return 0;
}

// Repeatable while a disk is simulated: it provides the store's id.
ssize_t __wrap_getrandom(void* out, size_t size, unsigned flags) {
  if (!calls().installed()) return __real_getrandom(out, size, flags);
  for (size_t i = 0; i < size; ++i) {
    static_cast<char*>(out)[i] = static_cast<char>(calls().random().next());
  }
  return static_cast<ssize_t>(size);
}

}  // extern "C"
