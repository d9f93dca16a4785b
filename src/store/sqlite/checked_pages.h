// A layer between SQLite and the file system. Every page of a database's main file ends with a
// checksum of its number and its content, which is written with the page and verified at each read.
// So SQLite gets the page that was written at that place, or an error. The write-ahead log is left
// alone: SQLite verifies its frames itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;

namespace millrace::store {

// How fast a connection writes.
enum class Writes : std::uint8_t {
  kAtOnce,
  // Syncs the file and its log after each MiB written, and then pauses briefly. If a hundred MiB
  // waited for one sync, they would delay the syncs of every other file.
  kPaced,
};

// Registers the layer and returns its name for sqlite3_open_v2(). At each opening it wraps the file
// system that is then the process's default. Thread-safe; may be called repeatedly.
const char* checked_pages(Writes writes = Writes::kAtOnce);

// The number of bytes that databases must reserve at the end of each page.
inline constexpr int kPageChecksumBytes = 8;

// Whether `page` has the checksum of its content and this number.
bool page_fits(std::uint32_t number, std::string_view page);

struct AlteredPage {
  std::uint32_t number = 0;     // from 1
  bool unchecked_file = false;  // the file does not declare that its pages have checksums
};
// The last altered page that a read of this connection met.
AlteredPage last_altered_page(sqlite3* connection);
std::string describe(const AlteredPage& page, const std::string& path);

}  // namespace millrace::store
