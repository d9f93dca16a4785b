// A layer between SQLite and the file system: every page of a database's main file ends with a
// checksum of its number and its content, written whenever the page is and checked whenever it is
// read. What SQLite is given is what was written, at that place, or an error. What the write-ahead
// log holds is not touched: SQLite checks its frames itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct sqlite3;

namespace millrace::store {

// How fast a connection writes.
enum class Writes : std::uint8_t {
  kAtOnce,
  // The file and its log are synced after each MiB that is written, and then rest a little: a
  // hundred MiB that wait for one sync would hold up every other file's sync meanwhile.
  kPaced,
};

// Registers the layer, over whatever file system is the process's default one at each opening.
// Its name is for sqlite3_open_v2(). Any thread, any number of times.
const char* checked_pages(Writes writes = Writes::kAtOnce);

// The databases must keep so many bytes free at the end of their pages.
inline constexpr int kPageChecksumBytes = 8;

// Whether it is what was written as the page of this number.
bool page_fits(std::uint32_t number, std::string_view page);

struct AlteredPage {
  std::uint32_t number = 0;     // from 1
  bool unchecked_file = false;  // the file does not say that its pages have checksums
};
// The last one that a read of this connection met.
AlteredPage last_altered_page(sqlite3* connection);
std::string describe(const AlteredPage& page, const std::string& path);

}  // namespace millrace::store
