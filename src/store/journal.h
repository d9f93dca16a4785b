// The journal: the durable, ordered log of a shard's event batches, one row a batch. (shard, seq)
// is its key; seqs have no gaps; each row names its predecessor's checksum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/inbox_key.h"

namespace millrace::store {

// XXH3-128 over shard, seq, epoch, the predecessor's checksum and the body.
struct Checksum {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;
};

struct JournalRow {
  Seq seq{};
  Epoch epoch{};
  Checksum predecessor;  // all zero before the first row
  Checksum checksum;
  std::string body;  // an encoded core::EventBatch: store/event_codec.h
  // What of the shard's inbox the body has taken: gone with the commit that this row comes with,
  // and only with that one. Not part of what is read back.
  std::vector<InboxKey> taken{};
};

Checksum row_checksum(std::uint32_t shard, Seq seq, Epoch epoch, const Checksum& predecessor,
                      std::string_view body);

enum class AppendOutcome : std::uint8_t {
  kDurable,  // on disk
  kFenced,   // another row stands there, or the predecessor is not the one named: this leader is
             // deposed
  kUnknown,  // may or may not be on disk: settle it by appending the same row again
  kFailed,   // not applied, and can't be now (disk full): may be tried again with the same row
  kBroken,  // the store can't be trusted any more (a failed sync): stop the process, the next start
            // repairs
};

struct AppendResult {
  AppendOutcome outcome{};
  std::string message;  // for the log where not kDurable
};

// One caller at a time for append, tidy and trim (the journal thread); read and tail may be called
// from any thread.
class Journal {
 public:
  virtual ~Journal() = default;

  // Compare and append: inserts `row` only if row seq-1 is there with checksum row.predecessor (or
  // seq is the first) and row seq is not. Durable when it returns kDurable. Appending a row that
  // stands already, with the same epoch and checksum, is kDurable. Blocks for a sync.
  virtual AppendResult append(const JournalRow& row) = 0;

  // Called after an append, while nobody waits for one: does what the next would have to do first.
  // Bounded work (about 10 ms). The next append tells what failed here and can't be got over.
  virtual void tidy() {}

  // Rows from `from` on, in order, each verified (checksum and chain), until `visit` returns false
  // or the end. A bad row is an error that names shard and seq. Nothing is skipped: if `from` is
  // older than the oldest row, that is an error.
  virtual Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) = 0;

  struct Extent {
    Seq oldest{};  // 0: empty
    Seq newest{};
    std::uint64_t bytes = 0;  // of bodies, about
  };
  virtual Result<Extent> extent() = 0;

  // Deletes rows below `below`, never the newest; bounded work a call (about 10 ms): returns how
  // many it deleted. A store that deletes them in larger pieces may keep some of them for longer.
  virtual Result<std::uint64_t> trim(Seq below) = 0;

  // More rows than this are not to be kept, however young and small: there is no room for them. All
  // but for ever where there is no such bound.
  virtual std::uint64_t most_rows() const { return std::uint64_t{1} << 62; }
};

}  // namespace millrace::store
