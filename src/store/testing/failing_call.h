// A file system under SQLite in which one call fails, chosen by number; tests go through all calls
// in turn. While it exists, all databases that the process opens use it; they must be closed before
// it is destroyed. One thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>

#include "base/check.h"

namespace millrace::store {

class FailingCall {
 public:
  enum class Lasts : std::uint8_t { kOnce, kForGood };

  // The number of the call that fails, from 1; 0: none. `writes`: the code of a failing write.
  FailingCall(std::uint64_t number, Lasts lasts, int writes)
      : number_(number), lasts_(lasts), write_code_(writes) {
    MILLRACE_CHECK(sqlite3_initialize() == SQLITE_OK && current() == nullptr);
    current() = this;
    real_ = sqlite3_vfs_find(nullptr);
    vfs_ = *real_;
    vfs_.zName = "failing call";
    vfs_.xOpen = &open;
    vfs_.xDelete = &remove;
    vfs_.xAccess = &access;
    MILLRACE_CHECK(sqlite3_vfs_register(&vfs_, 1) == SQLITE_OK);
  }
  ~FailingCall() {
    sqlite3_vfs_unregister(&vfs_);
    MILLRACE_CHECK(sqlite3_vfs_register(real_, 1) == SQLITE_OK);
    current() = nullptr;
  }
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  void heal() { number_ = 0; }
  // struck(): the call was reached. struck_write(): it was a write.
  bool struck() const { return struck_; }
  bool struck_write() const { return struck_write_; }

 private:
  static FailingCall*& current() {
    static FailingCall* disk = nullptr;
    return disk;
  }
  static bool strikes() {
    FailingCall& disk = *current();
    ++disk.calls_;
    const bool now =
        disk.number_ > 0 &&
        (disk.lasts_ == Lasts::kOnce ? disk.calls_ == disk.number_ : disk.calls_ >= disk.number_);
    disk.struck_ = disk.struck_ || now;
    return now;
  }
  static const sqlite3_io_methods& of(sqlite3_file* file) { return *current()->files_.at(file); }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    file->pMethods = nullptr;
    if (strikes()) return SQLITE_CANTOPEN;
    FailingCall& disk = *current();
    const int code = disk.real_->xOpen(disk.real_, name, file, flags, out_flags);
    if (code != SQLITE_OK) return code;
    disk.files_[file] = file->pMethods;
    sqlite3_io_methods& methods = disk.methods_[file->pMethods];
    methods = *file->pMethods;
    methods.xRead = &read;
    methods.xWrite = &write;
    methods.xTruncate = &truncate;
    methods.xSync = &sync;
    methods.xFileSize = &size;
    methods.xShmMap = &map;
    file->pMethods = &methods;
    return code;
  }
  static int remove(sqlite3_vfs*, const char* name, int sync_directory) {
    if (strikes()) return SQLITE_IOERR_DELETE;
    return current()->real_->xDelete(current()->real_, name, sync_directory);
  }
  static int access(sqlite3_vfs*, const char* name, int flags, int* there) {
    if (strikes()) return SQLITE_IOERR_ACCESS;
    return current()->real_->xAccess(current()->real_, name, flags, there);
  }
  static int read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
    return strikes() ? SQLITE_IOERR_READ : of(file).xRead(file, to, bytes, offset);
  }
  static int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
    if (!strikes()) return of(file).xWrite(file, from, bytes, offset);
    current()->struck_write_ = true;
    return current()->write_code_;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    return strikes() ? SQLITE_IOERR_TRUNCATE : of(file).xTruncate(file, bytes);
  }
  // No process dies in these tests, so unsynced data is not lost; real syncs would make a thousand
  // runs slow.
  static int sync(sqlite3_file*, int) { return strikes() ? SQLITE_IOERR_FSYNC : SQLITE_OK; }
  static int size(sqlite3_file* file, sqlite3_int64* bytes) {
    return strikes() ? SQLITE_IOERR_FSTAT : of(file).xFileSize(file, bytes);
  }
  static int map(sqlite3_file* file, int index, int bytes, int extend, void volatile** out) {
    return strikes() ? SQLITE_IOERR_SHMMAP : of(file).xShmMap(file, index, bytes, extend, out);
  }

  std::uint64_t number_;
  const Lasts lasts_;
  const int write_code_;
  std::uint64_t calls_ = 0;
  bool struck_ = false;
  bool struck_write_ = false;
  sqlite3_vfs* real_ = nullptr;
  sqlite3_vfs vfs_{};
  // Databases and logs have different methods.
  std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;
  std::map<sqlite3_file*, const sqlite3_io_methods*> files_;
};

}  // namespace millrace::store
