#include "store/sqlite/checked_pages.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "base/check.h"

namespace millrace::store {
namespace {

constexpr const char* kName = "millrace-checked-pages";
constexpr const char* kPacedName = "millrace-checked-pages-paced";

// For Writes::kPaced; docs/internals/decisions.md, D40, has the measurements.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;
constexpr int kRestMicroseconds = 1'000;
// An opcode for a connection's file: returns the AlteredPage. SQLite reserves numbers up to 100.
constexpr int kTellAlteredPage = 0x6d72;

// The start of page 1, which SQLite reads alone before it knows the page size.
constexpr int kHeaderBytes = 100;
constexpr std::size_t kPageSizeAt = 16;  // big-endian, two bytes; 1 means 65,536
constexpr std::size_t kReservedAt = 20;
constexpr int kLeastPage = 512;
constexpr int kMostPage = 65'536;

// A database's main file, or the log of a paced one. The real file follows it in memory.
struct CheckedFile {
  sqlite3_file base;
  Writes writes{};
  std::int64_t unsynced = 0;  // bytes written since the last sync
  int page_size = 0;          // as stated in page 1; 0: the file is empty, or no database
  bool unchecked = false;     // page 1 states that pages reserve no room for a checksum
  AlteredPage altered;
  std::unique_ptr<char[]> page;  // kMostPage bytes, allocated when needed
};
static_assert(sizeof(CheckedFile) % sizeof(sqlite3_int64) == 0, "what stands behind it is aligned");

CheckedFile& of(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<CheckedFile*>(file) + 1);
}

char* scratch(CheckedFile& file) {
  if (file.page == nullptr) file.page.reset(new (std::nothrow) char[kMostPage]);
  return file.page.get();
}

bool is_page_size(int size) {
  return size >= kLeastPage && size <= kMostPage && std::has_single_bit(unsigned(size));
}

void learn_from_header(CheckedFile& file, const char* header) {
  const auto byte = [&](std::size_t at) { return int{static_cast<unsigned char>(header[at])}; };
  const int size = (byte(kPageSizeAt) << 8) | byte(kPageSizeAt + 1);
  file.page_size = size == 1 ? kMostPage : size;
  if (!is_page_size(file.page_size)) file.page_size = 0;
  file.unchecked = file.page_size != 0 && byte(kReservedAt) != kPageChecksumBytes;
}

// Little-endian, whatever the machine's byte order.
std::array<char, kPageChecksumBytes> checksum_of(std::uint32_t number, std::string_view page) {
  page.remove_suffix(kPageChecksumBytes);
  const std::uint64_t checksum = XXH3_64bits_withSeed(page.data(), page.size(), number);
  std::array<char, kPageChecksumBytes> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(checksum >> (8 * i));
  return bytes;
}

std::uint32_t page_number(sqlite3_int64 offset, int page_size) {
  return static_cast<std::uint32_t>(offset / page_size + 1);
}

// --- Content

int check_page(CheckedFile& file, const char* page, int size, sqlite3_int64 offset) {
  const std::uint32_t number = page_number(offset, size);
  if (!file.unchecked && page_fits(number, {page, static_cast<std::size_t>(size)})) {
    return SQLITE_OK;
  }
  file.altered = {number, file.unchecked};
  return SQLITE_IOERR_DATA;
}

// A short read returns zeros: for a missing page, the checksum does not fit them.
int read_page(sqlite3_file* base, char* out, int size, sqlite3_int64 offset) {
  const int code = real(base)->pMethods->xRead(real(base), out, size, offset);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
  return check_page(of(base), out, size, offset);
}

// Page 1 is also read in parts, or before its size is known. In these cases it is read again as a
// whole, and that is checked.
int read_first_page(sqlite3_file* base, char* out, int size, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  const int code = real(base)->pMethods->xRead(real(base), out, size, offset);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
  if (offset != 0 || size < kHeaderBytes) return code;
  learn_from_header(file, out);
  return size == file.page_size ? check_page(file, out, size, offset) : code;
}

// Newer versions of SQLite read parts of pages for long values.
int read_part(sqlite3_file* base, char* out, int size, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  char* const page = scratch(file);
  if (page == nullptr) return SQLITE_IOERR_NOMEM;
  while (size > 0) {
    const auto skipped = static_cast<int>(offset % file.page_size);
    const int part = std::min(size, file.page_size - skipped);
    const int code = read_page(base, page, file.page_size, offset - skipped);
    if (code != SQLITE_OK) return code;
    std::memcpy(out, page + skipped, static_cast<std::size_t>(part));
    out += part;
    offset += part;
    size -= part;
  }
  return SQLITE_OK;
}

int read(sqlite3_file* base, void* out, int size, sqlite3_int64 offset) {
  const int page_size = of(base).page_size;
  char* const to = static_cast<char*>(out);
  if (offset < std::max(page_size, kLeastPage)) return read_first_page(base, to, size, offset);
  const bool whole = is_page_size(size) && offset % size == 0;
  // Page 1 is damaged, or only in the log, which has the page size.
  if (page_size == 0) return whole ? read_page(base, to, size, offset) : SQLITE_IOERR_READ;
  if (size == page_size && whole) return read_page(base, to, size, offset);
  return read_part(base, to, size, offset);
}

sqlite3_vfs& beneath() { return *sqlite3_vfs_find(nullptr); }

int sync(sqlite3_file* base, int flags) {
  of(base).unsynced = 0;
  return real(base)->pMethods->xSync(real(base), flags);
}

int write_on(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
  const int code = real(base)->pMethods->xWrite(real(base), data, size, offset);
  CheckedFile& file = of(base);
  if (code != SQLITE_OK || file.writes == Writes::kAtOnce) return code;
  file.unsynced += size;
  if (file.unsynced < kPieceBytes) return SQLITE_OK;
  if (sync(base, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) != SQLITE_OK) {
    return SQLITE_IOERR_FSYNC;
  }
  beneath().xSleep(&beneath(), kRestMicroseconds);
  return SQLITE_OK;
}

// SQLite writes whole pages; anything else would leave a page whose checksum does not fit.
int write(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  if (!is_page_size(size) || offset % size != 0) return SQLITE_IOERR_WRITE;
  const char* const content = static_cast<const char*>(data);
  if (offset == 0) learn_from_header(file, content);
  if (file.page_size == 0) file.page_size = size;  // not page 1 first: the file is still empty
  // Another program's file: the ends of its pages are not reserved for checksums.
  if (file.unchecked || size != file.page_size) return SQLITE_IOERR_WRITE;
  char* const page = scratch(file);
  if (page == nullptr) return SQLITE_IOERR_NOMEM;
  std::memcpy(page, content, static_cast<std::size_t>(size - kPageChecksumBytes));
  const auto checksum =
      checksum_of(page_number(offset, size), {page, static_cast<std::size_t>(size)});
  std::memcpy(page + size - kPageChecksumBytes, checksum.data(), checksum.size());
  return write_on(base, page, size, offset);
}

// --- All other calls go to the real file.

int read_as_it_is(sqlite3_file* base, void* out, int size, sqlite3_int64 offset) {
  return real(base)->pMethods->xRead(real(base), out, size, offset);
}

int close(sqlite3_file* base) {
  const int code = real(base)->pMethods->xClose(real(base));
  of(base).~CheckedFile();
  return code;
}
int truncate(sqlite3_file* base, sqlite3_int64 size) {
  return real(base)->pMethods->xTruncate(real(base), size);
}
int file_size(sqlite3_file* base, sqlite3_int64* size) {
  return real(base)->pMethods->xFileSize(real(base), size);
}
int lock(sqlite3_file* base, int level) { return real(base)->pMethods->xLock(real(base), level); }
int unlock(sqlite3_file* base, int level) {
  return real(base)->pMethods->xUnlock(real(base), level);
}
int check_reserved_lock(sqlite3_file* base, int* reserved) {
  return real(base)->pMethods->xCheckReservedLock(real(base), reserved);
}
int file_control(sqlite3_file* base, int operation, void* argument) {
  if (operation == kTellAlteredPage) {
    *static_cast<AlteredPage*>(argument) = of(base).altered;
    return SQLITE_OK;
  }
  return real(base)->pMethods->xFileControl(real(base), operation, argument);
}
int sector_size(sqlite3_file* base) { return real(base)->pMethods->xSectorSize(real(base)); }
int device_characteristics(sqlite3_file* base) {
  return real(base)->pMethods->xDeviceCharacteristics(real(base));
}
int map_memory(sqlite3_file* base, int index, int size, int extend, void volatile** out) {
  return real(base)->pMethods->xShmMap(real(base), index, size, extend, out);
}
int lock_memory(sqlite3_file* base, int offset, int count, int flags) {
  return real(base)->pMethods->xShmLock(real(base), offset, count, flags);
}
void memory_barrier(sqlite3_file* base) { real(base)->pMethods->xShmBarrier(real(base)); }
int unmap_memory(sqlite3_file* base, int remove) {
  return real(base)->pMethods->xShmUnmap(real(base), remove);
}

// Version 2 has no memory maps, through which pages would reach SQLite unchecked.
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

constexpr sqlite3_io_methods kLogMethods = [] {
  sqlite3_io_methods methods = kMethods;
  methods.xRead = &read_as_it_is;
  methods.xWrite = &write_on;
  return methods;
}();

// --- The file system

int open(sqlite3_vfs* self, const char* name, sqlite3_file* base, int flags, int* out_flags) {
  sqlite3_vfs& vfs = beneath();
  MILLRACE_CHECK(vfs.szOsFile + static_cast<int>(sizeof(CheckedFile)) <= self->szOsFile);
  const Writes writes = self->zName == kPacedName ? Writes::kPaced : Writes::kAtOnce;
  const bool main = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  const bool paced_log = (flags & SQLITE_OPEN_WAL) != 0 && writes == Writes::kPaced;
  // Other logs, journals and temporary files are opened directly.
  if (!main && !paced_log) return vfs.xOpen(&vfs, name, base, flags, out_flags);
  base->pMethods = nullptr;
  const int code = vfs.xOpen(&vfs, name, real(base), flags, out_flags);
  if (code != SQLITE_OK) {
    // SQLite closes only a file that has methods.
    if (real(base)->pMethods != nullptr) real(base)->pMethods->xClose(real(base));
    return code;
  }
  MILLRACE_CHECK(real(base)->pMethods->iVersion >= 2);
  new (base) CheckedFile{{main ? &kMethods : &kLogMethods}, writes, 0, 0, false, {}, nullptr};
  return code;
}
int remove(sqlite3_vfs*, const char* name, int sync_directory) {
  return beneath().xDelete(&beneath(), name, sync_directory);
}
int access(sqlite3_vfs*, const char* name, int flags, int* there) {
  return beneath().xAccess(&beneath(), name, flags, there);
}
int full_pathname(sqlite3_vfs*, const char* name, int size, char* out) {
  return beneath().xFullPathname(&beneath(), name, size, out);
}
int randomness(sqlite3_vfs*, int size, char* out) {
  return beneath().xRandomness(&beneath(), size, out);
}
int sleep(sqlite3_vfs*, int microseconds) { return beneath().xSleep(&beneath(), microseconds); }
int current_time(sqlite3_vfs*, double* days) { return beneath().xCurrentTime(&beneath(), days); }
int last_error(sqlite3_vfs*, int size, char* out) {
  return beneath().xGetLastError(&beneath(), size, out);
}

// SQLite keeps both pointers.
void register_layer(sqlite3_vfs& vfs, const char* name) {
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(CheckedFile)) + beneath().szOsFile;
  vfs.mxPathname = beneath().mxPathname;
  vfs.zName = name;
  vfs.xOpen = &open;
  vfs.xDelete = &remove;
  vfs.xAccess = &access;
  vfs.xFullPathname = &full_pathname;
  vfs.xRandomness = &randomness;
  vfs.xSleep = &sleep;
  vfs.xCurrentTime = &current_time;
  vfs.xGetLastError = &last_error;
  MILLRACE_CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

}  // namespace

const char* checked_pages(Writes writes) {
  static std::once_flag once;
  static sqlite3_vfs at_once = {};
  static sqlite3_vfs paced = {};
  std::call_once(once, [] {
    register_layer(at_once, kName);
    register_layer(paced, kPacedName);
  });
  return writes == Writes::kPaced ? kPacedName : kName;
}

bool page_fits(std::uint32_t number, std::string_view page) {
  const auto expected = checksum_of(number, page);
  return page.ends_with(std::string_view(expected.data(), expected.size()));
}

AlteredPage last_altered_page(sqlite3* connection) {
  AlteredPage page;
  sqlite3_file_control(connection, "main", kTellAlteredPage, &page);
  return page;
}

std::string describe(const AlteredPage& page, const std::string& path) {
  if (page.unchecked_file) {
    return fmt::format(
        "{} has no page checksums; another program or an older version made it, or its first page "
        "is damaged",
        path);
  }
  return fmt::format(
      "{}, page {}: its checksum does not match; the disk or another program altered it", path,
      page.number);
}

}  // namespace millrace::store
