// The inbox of a shard: what transactions of the user's own have asked for in the store's database,
// each row visible once its transaction has committed. Its leader reads it by and by, and a row
// goes with the very append that has taken it (JournalRow::taken).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "store/inbox_key.h"

namespace millrace::store {

// kFence: a transaction has raised the job's fence and not finished it. The row asks whether the
// token was the job's, and changes nothing.
enum class InboxKind : std::uint8_t { kEnqueue = 1, kFinish = 2, kFence = 3 };

struct InboxRow {
  InboxKey key;
  InboxKind kind{};
  std::uint32_t moves = 0;  // from shard to shard
  Time at{};                // of the call
  JobId job;
  LeaseToken token{};           // kFinish, kFence
  std::string spec;             // kEnqueue: a submission but for its payload, as the API has it
  std::string idempotency_key;  // kEnqueue; empty: none
  std::string payload;          // kFinish: the result; empty: none
};

// Which transactions a read could see: those below `next` but for these.
struct InboxSnapshot {
  std::uint64_t next = 0;
  std::vector<std::uint64_t> in_progress;  // ascending
};

struct InboxPage {
  std::uint32_t shard = 0;
  InboxSnapshot snapshot;
  std::vector<InboxRow> rows;  // by key
  bool cut = false;            // there are more
};

// How far a shard's inbox has been read. Rows become visible in another order than that of their
// keys, so this is a place, all before which has been read but for what transactions write that
// were open when it was passed. A read goes on after the place and after each of those: it meets
// every row once, however late its transaction commits, and never walks over what it has read
// before.
class InboxPlace {
 public:
  void advance(const InboxPage& page);

  const InboxKey& after() const { return after_; }
  // Per transaction that was open: after which of its rows to go on.
  const std::vector<InboxKey>& open() const { return open_; }

 private:
  InboxKey after_;              // none of its transaction is left, or it is settled which
  std::vector<InboxKey> open_;  // by key, all before after_
};

struct InboxReader {
  std::uint32_t shard = 0;
  InboxPlace place;
  std::chrono::steady_clock::time_point read_at{};  // when the last good read began: read() sets it
};

// Of rows that were asked for by their keys.
struct FetchedRows {
  std::vector<InboxRow> rows;  // by key
  std::vector<InboxKey> gone;
  std::vector<InboxKey> left;  // they are there, and too large to come along
};

// Of a finish or a fence that is rejected. Reopened, the job is not finished, and the fence stands
// at RejectedRow::open_to: only where the token was never the job's, so that no generation of it
// has won by it.
enum class FenceOfRejected : std::uint8_t { kStays, kReopened };

struct RejectedRow {
  InboxKey key;
  std::string reason;
  FenceOfRejected fence = FenceOfRejected::kStays;
  LeaseToken open_to = kNoToken;  // the job's live lease, or above all that were given
};

// Any thread, one call at a time a shard. Each call is a transaction of its own.
class Inbox {
 public:
  virtual ~Inbox() = default;

  // Whether there has ever been a row.
  virtual Result<bool> in_use() = 0;
  // A page for each reader, in one statement. On a connection that has not stood since their last
  // read they begin anew: the database may have come back without what it had committed
  // asynchronously, and give the numbers of those transactions again.
  virtual Result<std::vector<InboxPage>> read(std::span<InboxReader> readers) = 0;
  // Finishes and fences wherever they stand, at most 1,000 and 4 MiB of them: for whom has too much
  // in hand to read on.
  virtual Result<std::vector<InboxRow>> finishes(std::uint32_t shard) = 0;
  // At most 1,000 rows that have been read before, or what of them comes to 4 MiB, or one.
  virtual Result<FetchedRows> fetch(std::uint32_t shard, std::span<const InboxKey> keys) = 0;
  // Rows that changed nothing: they go.
  virtual Status drop(std::uint32_t shard, std::span<const InboxKey> keys) = 0;
  // Rows that can't be taken, ever: they go to where people find them.
  virtual Status reject(std::uint32_t shard, std::span<const RejectedRow> rows) = 0;
  // The fences of jobs that are no longer kept go, a day after they were written, some at a time.
  // Begins after the job `after`, all zeros at first, and returns where the next call goes on.
  virtual Result<JobId> sweep_fences(JobId after) = 0;
  // Rejected rows go after a month, some at a time.
  virtual Status sweep_rejected() = 0;
  // To another shard's inbox.
  virtual Status move(std::uint32_t shard, const InboxKey& key, std::uint32_t to) = 0;
};

}  // namespace millrace::store
