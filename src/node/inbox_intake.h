// Brings what transactions of the user's own have asked for in the database (store/inbox.h) to a
// shard, while it is led here: one term of it. It decides; whoever runs it carries out what it asks
// of the inbox, and gives the shard what it offers.
//
// A row is read once, given to the shard as a command, and gone with the append that makes what it
// asked for durable. Until then it stays in hand here: what the shard can't take at the moment is
// offered again, what it can't ever take goes to millrace.inbox_rejected. A term begins with
// nothing in hand and reads everything, once an answer of the shard has proved that the term's
// first row is durable, so that nothing is read that another may yet take.
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
#include "engine/inbox_order.h"
#include "engine/request.h"
#include "node/inbox_queues.h"
#include "node/instant.h"
#include "store/inbox.h"

namespace millrace::node {

// What is asked of the shard's inbox: calls of store::Inbox.
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

// One thread, one owner. It runs in rounds: begin_round(), then next_call() and what came of the
// call, until there is none, then next_offer() until there is none. Answers of the shard come
// between rounds.
class InboxIntake {
 public:
  struct Bounds {
    // No more is read while so many rows are in hand, or so many bytes of payloads.
    std::size_t rows = 1'000;
    std::size_t bytes = std::size_t{4} << 20;
    // And nothing but finishes, now and then, while so many rows of queues that are full wait.
    std::size_t rows_of_queues = 100'000;
    // Of full queues, offered again at once.
    std::size_t rows_due = 1'000;
  };
  struct Parts {
    std::uint32_t shard = 0;
    std::uint32_t shards = 0;
    // What a row asks of its shard. The error says why that can't ever be taken.
    std::function<std::expected<core::Command, std::string>(const store::InboxRow&)> command_of;
    Bounds bounds;
  };
  explicit InboxIntake(Parts parts);

  void begin_round() { stage_ = Stage::kDrop; }
  // What to ask of the inbox now. Exactly one of the next five follows.
  std::optional<InboxCall> next_call(Instant now);
  const store::InboxReader& reader() const { return reader_; }
  // Rows were dropped, moved or rejected.
  void done(const InboxCall& call);
  // A page was read with that reader. True: there is more.
  bool read(store::InboxReader reader, store::InboxPage page);
  void read(std::vector<store::InboxRow> finishes);
  void fetched(store::FetchedRows rows);
  // It is not known what came of the call.
  void failed(const InboxCall& call, Instant now);

  struct Offer {
    store::InboxKey row;  // zero: it brings none, and its answer is the proof
    core::Command command;
    engine::FromInbox from;  // where it brings a row
  };
  std::optional<Offer> next_offer(Instant now);
  void answered(const store::InboxKey& row, const engine::Answer& answer, Instant now);

 private:
  using Rows = std::map<store::InboxKey, store::InboxRow>;
  enum class Stage : std::uint8_t { kDrop, kMove, kReject, kRead, kFetch, kOver };

  bool holds(const store::InboxKey& key) const;
  bool has_enough() const;
  bool add(store::InboxRow row);  // false: it is here already
  std::optional<InboxCall> next_read(Instant now);
  void wait_a_moment(Instant now);
  void reject(store::RejectedRow row) { rejected_.emplace(row.key, std::move(row)); }
  void conclude_enqueue(const store::InboxKey& key, const core::EnqueueReply& reply, Instant now);
  void conclude_finish(const store::InboxRow& row, const core::ItemsReply& reply);

  const Parts parts_;
  Stage stage_ = Stage::kOver;
  bool proved_ = false;  // see above
  store::InboxReader reader_;
  Rows waiting_;        // to be offered
  Rows asked_;          // of the shard; no answer yet
  InboxQueues queues_;  // of rows that submit
  // Done with here, and still in the table.
  std::set<store::InboxKey> useless_;
  std::set<store::InboxKey> astray_;  // for another shard
  std::map<store::InboxKey, store::RejectedRow> rejected_;
  Instant not_before_{};     // of the next offer
  Instant next_finishes_{};  // while it reads nothing else
};

}  // namespace millrace::node
