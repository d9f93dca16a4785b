// A disk under SQLite that fails on demand. Once installed, all databases that the process opens
// afterwards use it.
#pragma once

#include <sqlite3.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/check.h"

namespace millrace::store {

class FaultyDisk {
 public:
  static FaultyDisk& installed() {
    static FaultyDisk disk;
    return disk;
  }

  // The next `times` syncs (or writes) of a file whose path ends in `path_ending` give `code`.
  void fail_syncs(std::string path_ending, int times, int code = SQLITE_IOERR_FSYNC) {
    const std::lock_guard lock(mutex_);
    syncs_ = {std::move(path_ending), times, code};
  }
  void fail_writes(std::string path_ending, int times, int code) {
    const std::lock_guard lock(mutex_);
    writes_ = {std::move(path_ending), times, code};
  }
  // How many of the `times` are left. With SQLITE_OK as the code, none fails but all are counted.
  int syncs_left() {
    const std::lock_guard lock(mutex_);
    return syncs_.left;
  }
  void heal() {
    const std::lock_guard lock(mutex_);
    syncs_.left = writes_.left = 0;
  }

 private:
  struct Fault {
    std::string ending;
    int left = 0;
    int code = 0;
  };

  // The system's own file system with our open(), which replaces two methods of each file.
  FaultyDisk() {
    MILLRACE_CHECK(sqlite3_initialize() == SQLITE_OK);
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.zName = "faulty";
    vfs_.xOpen = &open;
    MILLRACE_CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    FaultyDisk& disk = installed();
    const int code = disk.real_->xOpen(disk.real_, name, file, flags, out_flags);
    if (code != SQLITE_OK) return code;
    const std::lock_guard lock(disk.mutex_);
    // Databases and logs have different methods.
    sqlite3_io_methods& methods = disk.methods_[file->pMethods];
    methods = *file->pMethods;
    methods.xSync = &sync;
    methods.xWrite = &write;
    disk.files_[file] = {file->pMethods, name == nullptr ? "" : name};
    file->pMethods = &methods;
    return code;
  }
  struct File {
    const sqlite3_io_methods* real = nullptr;
    std::string path;
  };
  // The fault's code if it strikes, else SQLITE_OK; and the file's original methods.
  std::pair<int, const sqlite3_io_methods*> strike(Fault& fault, sqlite3_file* file) {
    const std::lock_guard lock(mutex_);
    const File& known = files_[file];
    if (fault.left <= 0 || !known.path.ends_with(fault.ending)) return {SQLITE_OK, known.real};
    --fault.left;
    return {fault.code, known.real};
  }
  static int sync(sqlite3_file* file, int flags) {
    FaultyDisk& disk = installed();
    const auto [code, real] = disk.strike(disk.syncs_, file);
    return code != SQLITE_OK ? code : real->xSync(file, flags);
  }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    FaultyDisk& disk = installed();
    const auto [code, real] = disk.strike(disk.writes_, file);
    return code != SQLITE_OK ? code : real->xWrite(file, data, size, offset);
  }

  std::mutex mutex_;
  sqlite3_vfs* real_ = nullptr;
  sqlite3_vfs vfs_{};
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;
  std::map<sqlite3_file*, File> files_;
  Fault syncs_;
  Fault writes_;
};

}  // namespace millrace::store
