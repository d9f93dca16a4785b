// Passes the requests that users' own transactions wrote into the database (store/inbox.h) to a
// shard, for one term in which this node leads the shard. It only decides: its caller makes the
// calls to the inbox, and gives its offers to the shard.
//
// It reads each row once and offers it to the shard as a command. The append that makes the result
// durable also deletes the row. Until then the intake holds the row: it offers again a row that the
// shard cannot take now, and rejects one that the shard can never take (to
// millrace.inbox_rejected). A term begins without rows held, and reads all of them. It does not
// read before an answer of the shard has proved that the term's first row is durable; until then
// another node might still take rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/command.h"
#include "engine/request.h"
#include "engine/shard/inbox_order.h"
#include "node/inbox_queues.h"
#include "node/instant.h"
#include "store/inbox.h"

namespace millrace::node {

// The calls of the shard's inbox, store::Inbox:
struct DropRows {
  std::vector<store::InboxKey> keys;
};
struct MoveRow {
  store::InboxKey key;
  std::uint32_t to = 0;
};
struct RejectRows {
  std::vector<store::RejectedRow> rows;
};
struct ReadPage {};  // with InboxIntake::reader()
struct ReadFinishes {};
struct FetchRows {
  std::vector<store::InboxKey> keys;
};
using InboxCall = std::variant<DropRows, MoveRow, RejectRows, ReadPage, ReadFinishes, FetchRows>;

// One thread, one owner. It runs in rounds: begin_round(); then next_call() and the result of that
// call, until there is none; then next_offer() until there is none. The shard's answers arrive
// between rounds.
class InboxIntake {
 public:
  struct Bounds {
    // It stops reading while it holds this many rows or this many bytes of payloads.
    std::size_t rows = 1'000;
    std::size_t bytes = std::size_t{4} << 20;
    // It reads only finishes, and those at intervals, while this many rows wait for full queues.
    std::size_t rows_of_queues = 100'000;
    // The most rows of full queues that are offered again at once.
    std::size_t rows_due = 1'000;
  };
  struct Parts {
    std::uint32_t shard = 0;
    std::uint32_t shards = 0;
    // The command in a row. The error says why the row can never be taken.
    std::function<std::expected<core::Command, std::string>(const store::InboxRow&)> command_of;
    // What a user reads about a refusal.
    std::string_view (*sentence_of)(core::RefusalDetail detail);
    Bounds bounds;
  };
  explicit InboxIntake(Parts parts);

  void begin_round() { stage_ = Stage::kDrop; }
  // The next call of the inbox. Exactly one of the next five functions must follow.
  std::optional<InboxCall> next_call(Instant now);
  const store::InboxReader& reader() const { return reader_; }
  // A call that dropped, moved or rejected rows succeeded.
  void done(const InboxCall& call);
  // A page was read with that reader. True: there are more rows.
  bool read(store::InboxReader reader, store::InboxPage page);
  void read(std::vector<store::InboxRow> finishes);
  void fetched(store::FetchedRows rows);
  // The outcome of the call is unknown.
  void failed(const InboxCall& call, Instant now);

  struct Offer {
    store::InboxKey row;  // zero: not a row, only the proof of the term's first one
    core::Command command;
    engine::FromInbox from;  // only for a row
  };
  std::optional<Offer> next_offer(Instant now);
  void answered(const store::InboxKey& row, const engine::Answer& answer, Instant now);

 private:
  using Rows = std::map<store::InboxKey, store::InboxRow>;
  enum class Stage : std::uint8_t { kDrop, kMove, kReject, kRead, kFetch, kOver };

  bool holds(const store::InboxKey& key) const;
  bool has_enough() const;
  bool add(store::InboxRow row);  // false: it is held already
  std::optional<InboxCall> next_read(Instant now);
  void wait_a_moment(Instant now);
  std::string reason_of(const core::Refusal& refusal) const;
  void reject(store::RejectedRow row) { rejected_.emplace(row.key, std::move(row)); }
  void conclude_enqueue(const store::InboxKey& key, const core::EnqueueReply& reply, Instant now);
  void conclude_workflow(const store::InboxKey& key, const core::WorkflowReply& reply, Instant now);
  void conclude_schedule(const store::InboxKey& key, const core::ScheduleReply& reply, Instant now);
  void conclude_finish(const store::InboxRow& row, const core::ItemsReply& reply);

  const Parts parts_;
  Stage stage_ = Stage::kOver;
  bool proved_ = false;  // the term's first row is durable
  store::InboxReader reader_;
  Rows waiting_;        // to be offered
  Rows asked_;          // offered to the shard, not answered yet
  InboxQueues queues_;  // the order of rows that submit jobs or change schedules
  // Rows that are finished here but still in the table:
  std::set<store::InboxKey> useless_;
  std::set<store::InboxKey> astray_;  // they belong to another shard
  std::map<store::InboxKey, store::RejectedRow> rejected_;
  Instant not_before_{};     // for the next offer
  Instant next_finishes_{};  // while it reads only finishes
};

}  // namespace millrace::node
