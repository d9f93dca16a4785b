#include "sim/crash_points/vfs.h"

#include <sqlite3.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/check.h"

namespace millrace::crash_points {
namespace {

// The state shared by all connections that have a file open.
struct Node {
  Disk::FilePtr file;
  // SQLite's lock levels.
  int shared = 0;
  bool reserved = false;
  bool pending = false;
  bool exclusive = false;
  std::vector<std::unique_ptr<char[]>> memory;
  int memory_users = 0;
  std::array<int, SQLITE_SHM_NLOCK> memory_locks{};  // the number of sharers; -1: exclusive
};

class Files {
 public:
  void set_disk(Disk& disk) { disk_ = &disk; }
  Disk& disk() const { return *disk_; }
  std::shared_ptr<Node> node_of(const Disk::FilePtr& file) {
    std::weak_ptr<Node>& known = nodes_[file.get()];
    std::shared_ptr<Node> node = known.lock();
    if (node == nullptr) {
      node = std::make_shared<Node>();
      node->file = file;
      known = node;
    }
    return node;
  }
  void forget() { nodes_.clear(); }
  Random& random() { return random_; }

 private:
  Disk* disk_ = nullptr;
  std::map<const Disk::File*, std::weak_ptr<Node>> nodes_;
  Random random_{1};
};

// SQLite's interface consists of functions without an object, hence the global.
Files& files() {
  static Files files;
  return files;
}

struct OpenFile {
  sqlite3_file base;
  std::string path;
  std::shared_ptr<Node> node;
  int level = SQLITE_LOCK_NONE;
  bool sync_directory = false;  // at the first sync, because the name is new
  bool maps_memory = false;
  unsigned shares = 0;  // bits of the memory's locks
  unsigned owns = 0;
};

OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

// --- Content

int read(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  char* to = static_cast<char*>(out);
  auto left = static_cast<std::size_t>(size);
  auto at = static_cast<std::uint64_t>(offset);
  std::string content;
  while (left > 0) {
    const Verdict verdict =
        files().disk().read(of(file).path, *of(file).node->file, at, left, content);
    if (verdict == Verdict::kIoError) return SQLITE_IOERR_READ;
    if (content.empty()) break;
    std::memcpy(to, content.data(), content.size());
    to += content.size();
    at += content.size();
    left -= content.size();
    // A short read: SQLite asks for the rest until nothing comes.
    if (verdict == Verdict::kProceed) break;
  }
  if (left == 0) return SQLITE_OK;
  std::memset(to, 0, left);
  return SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const std::string_view content(static_cast<const char*>(data), static_cast<std::size_t>(size));
  switch (files().disk().write(of(file).path, *of(file).node->file,
                               static_cast<std::uint64_t>(offset), content)) {
    case Verdict::kProceed:
      return SQLITE_OK;
    case Verdict::kNoSpace:
      return SQLITE_FULL;
    default:
      return SQLITE_IOERR_WRITE;
  }
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  const Verdict verdict = files().disk().truncate(of(file).path, *of(file).node->file,
                                                  static_cast<std::uint64_t>(size));
  return verdict == Verdict::kProceed ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int sync(sqlite3_file* file, int) {
  if (files().disk().sync(of(file).path, *of(file).node->file) != Verdict::kProceed) {
    return SQLITE_IOERR_FSYNC;
  }
  if (of(file).sync_directory) {
    // SQLite ignores the result, and does this only once.
    static_cast<void>(files().disk().sync_directory(std::string(directory_of(of(file).path))));
    of(file).sync_directory = false;
  }
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(of(file).node->file->content.size());
  return SQLITE_OK;
}

// --- Locks of a database

void let_go(OpenFile& file, int level) {
  Node& node = *file.node;
  if (file.level >= SQLITE_LOCK_RESERVED) node.reserved = false;
  if (file.level >= SQLITE_LOCK_PENDING) node.pending = false;
  if (file.level == SQLITE_LOCK_EXCLUSIVE) node.exclusive = false;
  if (level == SQLITE_LOCK_NONE && file.level >= SQLITE_LOCK_SHARED) --node.shared;
  file.level = level;
}

int lock(sqlite3_file* base, int level) {
  OpenFile& file = of(base);
  Node& node = *file.node;
  if (file.level >= level) return SQLITE_OK;
  if (level == SQLITE_LOCK_SHARED) {
    if (node.pending || node.exclusive) return SQLITE_BUSY;
    ++node.shared;
    file.level = level;
    return SQLITE_OK;
  }
  if (level == SQLITE_LOCK_RESERVED) {
    if (node.reserved) return SQLITE_BUSY;
    node.reserved = true;
    file.level = level;
    return SQLITE_OK;
  }
  if (file.level < SQLITE_LOCK_RESERVED && node.reserved) return SQLITE_BUSY;
  if (file.level < SQLITE_LOCK_PENDING && node.pending) return SQLITE_BUSY;
  node.reserved = true;
  node.pending = true;
  file.level = SQLITE_LOCK_PENDING;
  if (node.shared > 1) return SQLITE_BUSY;
  node.exclusive = true;
  file.level = SQLITE_LOCK_EXCLUSIVE;
  return SQLITE_OK;
}

int unlock(sqlite3_file* file, int level) {
  if (of(file).level > level) let_go(of(file), level);
  return SQLITE_OK;
}

int check_reserved_lock(sqlite3_file* file, int* reserved) {
  *reserved = of(file).node->reserved ? 1 : 0;
  return SQLITE_OK;
}

// --- Shared memory

int map_memory(sqlite3_file* base, int index, int size, int extend, void volatile** out) {
  OpenFile& file = of(base);
  Node& node = *file.node;
  if (!file.maps_memory) {
    file.maps_memory = true;
    ++node.memory_users;
  }
  const auto wanted = static_cast<std::size_t>(index);
  *out = nullptr;
  if (node.memory.size() <= wanted && extend == 0) return SQLITE_OK;
  while (node.memory.size() <= wanted) {
    node.memory.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
  }
  *out = node.memory[wanted].get();
  return SQLITE_OK;
}

int lock_memory(sqlite3_file* base, int offset, int count, int flags) {
  OpenFile& file = of(base);
  auto& locks = file.node->memory_locks;
  const unsigned bits = ((1U << count) - 1) << offset;
  const auto each = [&](auto change) {
    for (int i = offset; i < offset + count; ++i)
      change(locks[static_cast<std::size_t>(i)], 1U << i);
  };
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    each([&](int& held, unsigned bit) {
      if ((file.owns & bit) != 0) held = 0;
      if ((file.shares & bit) != 0) --held;
    });
    file.owns &= ~bits;
    file.shares &= ~bits;
    return SQLITE_OK;
  }
  if ((flags & SQLITE_SHM_SHARED) != 0) {
    if ((file.shares & bits) != 0) return SQLITE_OK;
    bool busy = false;
    each([&](int& held, unsigned) { busy = busy || held < 0; });
    if (busy) return SQLITE_BUSY;
    each([](int& held, unsigned) { ++held; });
    file.shares |= bits;
    return SQLITE_OK;
  }
  bool busy = false;
  each([&](int& held, unsigned bit) { busy = busy || (held != 0 && (file.owns & bit) == 0); });
  if (busy) return SQLITE_BUSY;
  each([](int& held, unsigned) { held = -1; });
  file.owns |= bits;
  return SQLITE_OK;
}

void memory_barrier(sqlite3_file*) {}  // one thread

int unmap_memory(sqlite3_file* base, int) {
  OpenFile& file = of(base);
  if (!file.maps_memory) return SQLITE_OK;
  file.maps_memory = false;
  if (--file.node->memory_users == 0) file.node->memory.clear();
  return SQLITE_OK;
}

// --- The file as a whole

int close(sqlite3_file* base) {
  OpenFile& file = of(base);
  let_go(file, SQLITE_LOCK_NONE);
  unmap_memory(base, 0);
  file.~OpenFile();
  return SQLITE_OK;
}

int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
// As on Unix: a write never changes bytes next to its own, even if power is lost.
int sector_size(sqlite3_file*) { return 4096; }
int device_characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = &close,
    .xRead = &read,
    .xWrite = &write,
    .xTruncate = &truncate,
    .xSync = &sync,
    .xFileSize = &file_size,
    .xLock = &lock,
    .xUnlock = &unlock,
    .xCheckReservedLock = &check_reserved_lock,
    .xFileControl = &file_control,
    .xSectorSize = &sector_size,
    .xDeviceCharacteristics = &device_characteristics,
    .xShmMap = &map_memory,
    .xShmLock = &lock_memory,
    .xShmBarrier = &memory_barrier,
    .xShmUnmap = &unmap_memory,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open(sqlite3_vfs*, const char* name, sqlite3_file* base, int flags, int* out_flags) {
  base->pMethods = nullptr;
  Disk::Opened opened;
  if (name == nullptr) {  // a temporary file, whose content does not matter after a death
    opened.file = std::make_shared<Disk::File>();
  } else {
    const bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
    opened = files().disk().open(name, creates ? Disk::IfMissing::kCreate : Disk::IfMissing::kFail);
  }
  if (opened.file == nullptr) return SQLITE_CANTOPEN;
  auto* const file = new (base) OpenFile;
  file->path = name == nullptr ? "(temporary)" : name;
  file->node = files().node_of(opened.file);
  constexpr int kJournals = SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
  file->sync_directory = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & kJournals) != 0;
  file->base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int remove(sqlite3_vfs*, const char* name, int sync_directory) {
  Disk& disk = files().disk();
  if (disk.find(name) == nullptr) return SQLITE_IOERR_DELETE_NOENT;
  if (disk.remove(name) != Verdict::kProceed) return SQLITE_IOERR_DELETE;
  if ((sync_directory & 1) == 0) return SQLITE_OK;
  const Verdict verdict = disk.sync_directory(std::string(directory_of(name)));
  return verdict == Verdict::kProceed ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
}

int access(sqlite3_vfs*, const char* name, int flags, int* there) {
  const Disk::FilePtr file = files().disk().find(name);
  // Like SQLite's own layer, treats an empty file as missing when SQLite asks for existence.
  *there = file != nullptr && (flags != SQLITE_ACCESS_EXISTS || !file->content.empty()) ? 1 : 0;
  return SQLITE_OK;
}

int full_pathname(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int size, char* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<char>(files().random().next());
  return size;
}

int sleep(sqlite3_vfs*, int microseconds) { return microseconds; }
int current_time(sqlite3_vfs*, double* days) {
  *days = 2460000.5;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

void install_vfs(Disk& disk) {
  files().set_disk(disk);
  // The store's own start-up would set this, but too late here.
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static sqlite3_vfs vfs = {};
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.mxPathname = 512;
  vfs.zName = "crash-points";
  vfs.xOpen = &open;
  vfs.xDelete = &remove;
  vfs.xAccess = &access;
  vfs.xFullPathname = &full_pathname;
  vfs.xRandomness = &randomness;
  vfs.xSleep = &sleep;
  vfs.xCurrentTime = &current_time;
  vfs.xGetLastError = &last_error;
  MILLRACE_CHECK(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK);
}

void forget_open_databases() { files().forget(); }

}  // namespace millrace::crash_points
