// The journal: the durable, ordered log of a shard's event batches, one row a batch. (shard, seq)
// is the key; seqs have no gaps; each row holds its predecessor's checksum.
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
  // The inbox rows that the body has taken. Only the commit of this row deletes them. read() does
  // not return this member.
  std::vector<InboxKey> taken{};
};

Checksum row_checksum(std::uint32_t shard, Seq seq, Epoch epoch, const Checksum& predecessor,
                      std::string_view body);

enum class AppendOutcome : std::uint8_t {
  kDurable,  // on disk
  kFenced,   // another row stands there, or the predecessor is not the one named: this leader is
             // deposed
  kUnknown,  // may or may not be on disk; append the same row again to find out
  kFailed,   // not on disk, and not possible now (disk full); the same row may be tried again
  kBroken,  // the store can't be trusted any more (a failed sync): stop the process, the next start
            // repairs
};

struct AppendResult {
  AppendOutcome outcome{};
  std::string message;  // for the log; empty if kDurable
};

// One caller at a time for append, tidy and trim (the journal thread). Any thread may call read and
// extent.
class Journal {
 public:
  virtual ~Journal() = default;

  // Compare and append: inserts `row` only if row seq - 1 is there with checksum row.predecessor
  // (or seq is the first) and row seq is not. kDurable means that the row is on disk. Appending
  // again a row that is there with the same epoch and checksum gives kDurable. Blocks for a sync.
  virtual AppendResult append(const JournalRow& row) = 0;

  // Called after an append while nobody waits for one: does work that the next append would have to
  // do first. Bounded (about 10 ms). If it hits a fatal error, the next append reports it.
  virtual void tidy() {}

  // Reads rows in order from `from` on, until `visit` returns false or the end. Each row's checksum
  // and chain are verified; a bad row is an error that names shard and seq. Nothing is skipped: a
  // `from` that is older than the oldest row is an error.
  virtual Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) = 0;

  struct Extent {
    Seq oldest{};  // 0: empty
    Seq newest{};
    std::uint64_t bytes = 0;  // of bodies, approximate
  };
  virtual Result<Extent> extent() = 0;

  // Deletes rows below `below`, never the newest; bounded work a call (about 10 ms). Returns how
  // many it deleted. A store that deletes in larger pieces may keep some of them longer.
  virtual Result<std::uint64_t> trim(Seq below) = 0;

  // The most rows that the journal has room for, however young and small they are. Practically
  // infinite for a store without such a bound.
  virtual std::uint64_t most_rows() const { return std::uint64_t{1} << 62; }
};

}  // namespace millrace::store
