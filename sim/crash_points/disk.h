// A disk in memory that can lose power. Each file has the content that programs see (the page
// cache) and the content on the platter; a sync copies the former to the latter. Names behave
// alike: a created, renamed or deleted name survives a power failure only if its directory was
// synced.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace millrace::crash_points {

enum class CallKind : std::uint8_t {
  kOpen,  // of an existing file
  kCreate,
  kRead,
  kWrite,
  kTruncate,
  kSync,
  kSyncDirectory,
  kDelete,
  kRename,
};
std::string_view to_string(CallKind kind);

// A call to the disk.
struct Call {
  CallKind kind{};
  std::string_view path{};
  std::uint64_t offset = 0;   // kRead, kWrite; kTruncate: the new size
  std::string_view data{};    // kWrite
  std::uint64_t size = 0;     // kRead
  std::string_view target{};  // kRename
};

enum class Verdict : std::uint8_t {
  kProceed,
  kIoError,
  kNoSpace,
  kShortRead,  // half of the bytes, at least one
};

// Called before each call takes effect; may choose not to return.
class CallHook {
 public:
  virtual ~CallHook() = default;
  virtual Verdict before(const Call& call) = 0;
};

// What a death leaves behind.
enum class Death : std::uint8_t {
  kKilled,   // only the process dies: everything it wrote remains, synced or not
  kDropped,  // power is lost, and with it everything that was not synced
  kPart,     // any of the unsynced sectors remain, in any mixture of their versions
  kTorn,     // everything remains, including a part of the write in progress
};
std::string_view to_string(Death death);

class Disk {
 public:
  struct Change {  // not synced yet
    std::uint64_t offset = 0;
    std::string data;
    std::optional<std::uint64_t> truncated_to;
  };
  struct File {
    std::string content;
    std::string durable;
    std::vector<Change> unsynced;  // in order; they turn `durable` into `content`
    bool locked = false;           // by flock
  };
  using FilePtr = std::shared_ptr<File>;

  // Null: every call proceeds.
  void set_hook(CallHook* hook) { hook_ = hook; }
  CallHook* hook() const { return hook_; }

  FilePtr find(std::string_view path) const;

  // --- Calls. Each asks the hook first. A call that the hook stops changes nothing and returns the
  // verdict.
  struct Opened {
    FilePtr file;  // null: the file does not exist, or the call failed
    Verdict verdict = Verdict::kProceed;
  };
  enum class IfMissing : std::uint8_t { kFail, kCreate };
  Opened open(const std::string& path, IfMissing if_missing);
  // Copies to `out`; fewer than `size` bytes at the end of the file.
  Verdict read(const std::string& path, const File& file, std::uint64_t offset, std::size_t size,
               std::string& out);
  Verdict write(const std::string& path, File& file, std::uint64_t offset, std::string_view data);
  Verdict truncate(const std::string& path, File& file, std::uint64_t size);
  // A failed sync loses the data that it should have written: the system forgets that those pages
  // are not on the platter, and may or may not still show them for a while.
  Verdict sync(const std::string& path, File& file);
  Verdict sync_directory(const std::string& path);
  Verdict remove(const std::string& path);
  Verdict rename(const std::string& from, const std::string& to);

  // Restarts the machine after a death during `under_way`. No process holds anything on it.
  void die(Death death, const Call& under_way, Random random);
  // Used for the random effects of failing syncs.
  void set_random(Random random) { random_ = random; }

  // Flips a bit on the platter and in the cache, to simulate damage.
  void flip_bit(const std::string& path, std::uint64_t offset, unsigned bit);

 private:
  using Names = std::map<std::string, FilePtr, std::less<>>;
  // One change that is durable as a whole or not at all. Null: the name is removed.
  using NameChange = std::vector<std::pair<std::string, FilePtr>>;

  Verdict ask(const Call& call) {
    return hook_ == nullptr ? Verdict::kProceed : hook_->before(call);
  }
  void change_names(NameChange change);
  static void apply(const NameChange& change, Names& names);
  static void apply(const Change& change, std::string& content);
  void lose_unsynced(File& file);
  void add_under_way(Death death, const Call& call, Random& random);
  static void settle(File& file, Death death, Random& random);

  CallHook* hook_ = nullptr;
  Names names_;
  Names durable_names_;
  std::vector<NameChange> unsynced_names_;
  Random random_{0};
};

// The directory that contains a path.
std::string_view directory_of(std::string_view path);

}  // namespace millrace::crash_points
