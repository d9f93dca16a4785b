// The inbox of a shard: requests that users' own transactions have written into the store's
// database. A row becomes visible when its transaction commits. The shard's leader polls the inbox,
// and the append that takes a row also deletes it (JournalRow::taken).
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

// kFence: a transaction has raised the job's fence without finishing the job. The row asks whether
// the token was the job's, and changes nothing.
enum class InboxKind : std::uint8_t {
  kEnqueue = 1,
  kFinish = 2,
  kFence = 3,
  kSetSchedule = 4,
  kDeleteSchedule = 5,
  kWorkflow = 6
};
inline bool is_of_schedule(InboxKind kind) {
  return kind == InboxKind::kSetSchedule || kind == InboxKind::kDeleteSchedule;
}

struct InboxRow {
  InboxKey key;
  InboxKind kind{};
  std::uint32_t moves = 0;      // how often it moved from shard to shard
  Time at{};                    // when the user's transaction made the call
  JobId job;                    // or workflow; zero in rows of schedules
  LeaseToken token{};           // kFinish, kFence
  std::string spec;             // kEnqueue: a submission as the API has it, without its payload
  std::string schedule;         // kSetSchedule, kDeleteSchedule: the name
  std::string idempotency_key;  // kEnqueue, kWorkflow; empty: none
  // kFinish: the result; empty: none. kSetSchedule, kWorkflow: the specification, or the workflow,
  // as the API has it.
  std::string payload;
};

// The transactions visible to a read: all below `next`, except those in progress.
struct InboxSnapshot {
  std::uint64_t next = 0;
  std::vector<std::uint64_t> in_progress;  // ascending
};

struct InboxPage {
  std::uint32_t shard = 0;
  InboxSnapshot snapshot;
  std::vector<InboxRow> rows;  // by key
  bool cut = false;            // there are more rows
};

// A reader's position in a shard's inbox. Rows do not become visible in the order of their keys: a
// transaction may commit after rows with higher keys have been read. So everything before this
// position has been read, except the rows of transactions that were open when the reader passed
// them. A read continues after the position, and within each of those transactions. It returns
// every row once, however late its transaction commits, and never scans again rows that it has
// read.
class InboxPlace {
 public:
  void advance(const InboxPage& page);

  const InboxKey& after() const { return after_; }
  // One key per transaction that was open: its rows after this key are still to be read.
  const std::vector<InboxKey>& open() const { return open_; }

 private:
  InboxKey after_;              // its transaction is over: the rows left are those after it
  std::vector<InboxKey> open_;  // by key, all before `after_`
};

struct InboxReader {
  std::uint32_t shard = 0;
  InboxPlace place;
  std::chrono::steady_clock::time_point read_at{};  // when the last good read began
};

// Rows requested by key.
struct FetchedRows {
  std::vector<InboxRow> rows;  // by key
  std::vector<InboxKey> gone;
  std::vector<InboxKey> left;  // these exist, but did not fit into the answer
};

// The fate of the fence of a rejected finish or fence row. kReopened: the job counts as not
// finished, and its fence is set to RejectedRow::open_to. Valid only if the token was never the
// job's, so that no generation of the job has won its fence with it.
enum class FenceOfRejected : std::uint8_t { kStays, kReopened };

struct RejectedRow {
  InboxKey key;
  std::string reason;
  FenceOfRejected fence = FenceOfRejected::kStays;
  LeaseToken open_to = kNoToken;  // the job's live lease; without one, above all tokens given
};

// Thread-safe; one call at a time for each shard. Each call is a transaction of its own.
class Inbox {
 public:
  virtual ~Inbox() = default;

  // Whether the database has ever held a row.
  virtual Result<bool> in_use() = 0;
  // Reads a page for each reader, in one statement. A reader starts over if the connection is newer
  // than its last read: the database may have lost asynchronous commits in between, and may assign
  // the same transaction numbers again.
  virtual Result<std::vector<InboxPage>> read(std::span<InboxReader> readers) = 0;
  // Returns finish and fence rows wherever they are in the inbox, at most 1,000 rows and 4 MiB. For
  // a reader that holds too many rows to read on.
  virtual Result<std::vector<InboxRow>> finishes(std::uint32_t shard) = 0;
  // Returns at most 1,000 rows that have been read before, as many as fit into 4 MiB but at least
  // one.
  virtual Result<FetchedRows> fetch(std::uint32_t shard, std::span<const InboxKey> keys) = 0;
  // Deletes rows that changed nothing.
  virtual Status drop(std::uint32_t shard, std::span<const InboxKey> keys) = 0;
  // Moves rows that can never be taken to the table of rejected rows, where operators find them.
  virtual Status reject(std::uint32_t shard, std::span<const RejectedRow> rows) = 0;
  // Deletes the fences of jobs that are no longer kept, a day after they were written; a bounded
  // number a call. Begins after the job `after`, all zeros at first, and returns where the next
  // call continues.
  virtual Result<JobId> sweep_fences(JobId after) = 0;
  // Deletes rejected rows after a month; a bounded number a call.
  virtual Status sweep_rejected() = 0;
  // Moves a row to another shard's inbox.
  virtual Status move(std::uint32_t shard, const InboxKey& key, std::uint32_t to) = 0;
};

}  // namespace millrace::store
