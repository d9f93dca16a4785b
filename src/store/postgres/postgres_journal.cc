#include "store/postgres/postgres_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "store/blob.h"
#include "store/journal_check.h"
#include "store/postgres/postgres_inbox.h"
#include "store/postgres/schema.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
using Use = ConnectionPool::Use;

// The predecessor must be the newest row of its table and have the checksum that the leader knows.
// The condition uses max(seq), which reads one index entry. To ask whether a later row exists would
// read the whole table, if that was never analysed.
constexpr const char* kInsert =
    "INSERT INTO {0}(seq, epoch, predecessor, checksum, body) "
    "SELECT $1, $2, $3, $4, $5 FROM {1} AS before "
    "WHERE before.seq = $1 - 1 AND before.checksum = $3 "
    "AND (SELECT max(seq) FROM {1}) = $1 - 1 "
    "ON CONFLICT DO NOTHING RETURNING current_setting('synchronous_commit')";
constexpr const char* kInsertFirst =
    "INSERT INTO {0}(seq, epoch, predecessor, checksum, body) "
    "SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS ({1}) "
    "ON CONFLICT DO NOTHING RETURNING current_setting('synchronous_commit')";
// Used by a mutant.
constexpr const char* kOverwrite =
    "INSERT INTO {0}(seq, epoch, predecessor, checksum, body) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (seq) DO UPDATE SET epoch = excluded.epoch, predecessor = excluded.predecessor, "
    "checksum = excluded.checksum, body = excluded.body "
    "RETURNING current_setting('synchronous_commit')";
// The same with the inbox rows that the row takes: if nothing is inserted, none is deleted; if one
// of them is gone, nothing is inserted. (A row is gone if its transaction committed asynchronously
// and a crash of the server has undone it.)
constexpr const char* kTakingInsert =
    "WITH inserted AS ({0}), taken AS (DELETE FROM millrace.inbox_rows AS row "
    "USING unnest($6, $7) AS key(xid, id) WHERE row.shard = {1} AND row.xid = key.xid "
    "AND row.id = key.id AND EXISTS (SELECT FROM inserted) RETURNING row.id) "
    "SELECT inserted.*, millrace.require((SELECT count(*) FROM taken) = cardinality($6), "
    "'a row of the inbox that was read is gone') FROM inserted";
// Explains why nothing was inserted. If the same row exists already, it is written once more: a
// standby may never have received its first commit, and the commit of this update waits for all
// earlier commits.
constexpr const char* kTouch =
    "UPDATE {0} SET epoch = epoch WHERE seq = $1 AND epoch = $2 AND checksum = $3 "
    "RETURNING current_setting('synchronous_commit')";
constexpr const char* kLook =
    "SELECT (SELECT epoch = $3 AND checksum = $4 FROM {0} WHERE seq = $1), "
    "EXISTS (SELECT FROM {1} WHERE seq = $1 - 1 AND checksum = $2) "
    "AND coalesce((SELECT max(seq) FROM {1}) = $1 - 1, false), "
    "coalesce((SELECT max(seq) FROM {1}), 0) < $1 - 1";
constexpr const char* kSelectRows =
    "SELECT seq, epoch, predecessor, checksum, body FROM {} WHERE seq >= $1 AND seq < $2 "
    "ORDER BY seq LIMIT $3";
constexpr const char* kSelectChecksum = "SELECT checksum FROM {} WHERE seq = $1";
constexpr const char* kSelectBlock =
    "SELECT min(seq), max(seq) FROM {} WHERE seq >= $1 AND seq < $2";
constexpr const char* kWeighBlock =
    "SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM {} WHERE seq >= $1 AND seq < $2";
// TRUNCATE removes any rows it finds, so its precondition is checked again under its lock, in the
// same transaction. 55P03: another session reads the table, for hours if it is a dump; trimming is
// then postponed, since appends wait meanwhile. Only its own flushes lock the shard's row. A limit
// that a statement sets applies to the statements after it.
constexpr const char* kTruncate = R"sql(SET LOCAL lock_timeout = '200ms';
SET LOCAL statement_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '15s';
DO $$
DECLARE newest record;
BEGIN
  PERFORM millrace.require(count(*) = 1, 'another leader has the shard') FROM
    (SELECT FROM millrace.shards WHERE shard = {0} AND epoch = {1} FOR SHARE) AS held;
  LOCK TABLE {2} IN ACCESS EXCLUSIVE MODE NOWAIT;
  SELECT seq, at INTO newest FROM {2} ORDER BY seq DESC LIMIT 1;
  PERFORM millrace.require(newest.seq = {3}, 'the table has newer rows');
  PERFORM millrace.require(newest.at <= clock_timestamp() - interval '{4} milliseconds',
                           'the table is too young');
  TRUNCATE {2};
END $$)sql";

constexpr SqlLimits kAppendLimits{.lock = 5'000ms, .statement = 10'000ms, .silence = 15'000ms};
constexpr SqlLimits kTrimLimits{.lock = 200ms, .statement = 5'000ms, .silence = 15'000ms};
// The first piece of a read is small, since many callers want only one row.
constexpr std::uint64_t kFirstPiece = 1;
constexpr std::uint64_t kLargestPiece = 64;

AppendResult fenced(std::string message) { return {AppendOutcome::kFenced, std::move(message)}; }

Result<JournalRow> current_row(std::uint32_t shard, const SqlRow& row) {
  JournalRow read;
  read.seq = Seq{static_cast<std::uint64_t>(row.number(0))};
  read.epoch = Epoch{static_cast<std::uint64_t>(row.number(1))};
  const auto predecessor = checksum_from(row.bytes(2));
  const auto checksum = checksum_from(row.bytes(3));
  if (!predecessor || !checksum) {
    return failure(fmt::format("journal damaged: shard {}, row {}: the checksum is invalid", shard,
                               to_number(read.seq)));
  }
  read.predecessor = *predecessor;
  read.checksum = *checksum;
  read.body = row.bytes(4);
  return read;
}

}  // namespace

PostgresJournal::PostgresJournal(std::shared_ptr<PostgresShard> shard) : shard_(std::move(shard)) {}

std::string PostgresJournal::table_of(std::uint64_t seq) const {
  return fmt::format("millrace.journal_{}_{}", shard_->shard, block_of(seq) % kJournalTables);
}

std::uint64_t PostgresJournal::most_rows() const {
  // The table of the newest rows, and one that is being emptied, have no room for older rows.
  return (kJournalTables - 2) * shard_->rows_a_table;
}

// --- Appending

std::string PostgresJournal::insert_sql(std::uint64_t seq) const {
  if (mutated(Mutant::kAppendIgnoresPredecessor)) {
    return fmt::format(fmt::runtime(kInsertFirst), table_of(seq), "SELECT WHERE false");
  }
  if (mutated(Mutant::kAppendOverwrites)) {
    return fmt::format(fmt::runtime(kOverwrite), table_of(seq));
  }
  if (seq > 1) return fmt::format(fmt::runtime(kInsert), table_of(seq), table_of(seq - 1));
  std::string any_row;
  for (std::uint64_t table = 0; table < kJournalTables; ++table) {
    any_row += fmt::format("{}SELECT FROM millrace.journal_{}_{}", table == 0 ? "" : " UNION ALL ",
                           shard_->shard, table);
  }
  return fmt::format(fmt::runtime(kInsertFirst), table_of(seq), any_row);
}

AppendResult PostgresJournal::append(const JournalRow& row) {
  const std::uint64_t seq = to_number(row.seq);
  SqlMessage message = impatient(*shard_->pool, kAppendLimits);
  Parameters parameters;
  parameters.number(static_cast<std::int64_t>(seq))
      .number(static_cast<std::int64_t>(to_number(row.epoch)))
      .bytes(to_blob(row.predecessor))
      .bytes(to_blob(row.checksum))
      .large_bytes(row.body);
  std::string sql = insert_sql(seq);
  if (!row.taken.empty()) {
    add_keys(parameters, row.taken);
    sql = fmt::format(fmt::runtime(kTakingInsert), sql, shard_->shard);
  }
  message.add(std::move(sql), std::move(parameters));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return failed(replies.error());
  const SqlResult& inserted = replies->results.front();
  if (inserted.rows() == 0) return settle(row);
  return committed(*replies, inserted.row(0).bytes(0));
}

AppendResult PostgresJournal::settle(const JournalRow& row) {
  const std::uint64_t seq = to_number(row.seq);
  SqlMessage message = impatient(*shard_->pool, kAppendLimits);
  message.add(fmt::format(fmt::runtime(kTouch), table_of(seq)),
              std::move(Parameters()
                            .number(static_cast<std::int64_t>(seq))
                            .number(static_cast<std::int64_t>(to_number(row.epoch)))
                            .bytes(to_blob(row.checksum))));
  message.add(fmt::format(fmt::runtime(kLook), table_of(seq), table_of(seq - 1)),
              std::move(Parameters()
                            .number(static_cast<std::int64_t>(seq))
                            .bytes(to_blob(row.predecessor))
                            .number(static_cast<std::int64_t>(to_number(row.epoch)))
                            .bytes(to_blob(row.checksum))));
  const auto replies = shard_->pool->run(Use::kWriting, message);
  if (!replies) return failed(replies.error());
  const SqlResult& touched = replies->results[0];
  if (touched.rows() == 1) return committed(*replies, touched.row(0).bytes(0));
  const SqlRow look = replies->results[1].row(0);
  if (!look.is_null(0)) {
    if (!look.truth(0)) return fenced(fmt::format("the journal already has another row {}", seq));
    // An earlier append of this row was committed between the two checks: the next one will see it.
    return {AppendOutcome::kUnknown, fmt::format("row {} has just been written", seq)};
  }
  if (seq == 1) return fenced("the journal already has rows");
  if (look.truth(2)) {
    return fenced(
        fmt::format("the database lost row {}, which it had acknowledged as durable (somebody "
                    "promoted a standby that lagged behind, or restored a backup)",
                    seq - 1));
  }
  if (!look.truth(1)) {
    return fenced(fmt::format("row {} does not continue the newest row of the journal", seq));
  }
  // Not seeing it proves nothing.
  return {AppendOutcome::kUnknown, fmt::format("the database did not show row {}", seq)};
}

AppendResult PostgresJournal::committed(const SqlReplies& replies, std::string_view setting) const {
  if (rank_of_synchronous_commit(setting) <
      rank_of_synchronous_commit(shard_->synchronous_commit)) {
    return {AppendOutcome::kBroken,
            fmt::format("synchronous_commit is {} now and was {} at the start, so a commit may be "
                        "lost; set it back, or restart the server",
                        setting, shard_->synchronous_commit)};
  }
  // The wait for a synchronous standby was cancelled: the row is on this server, and perhaps
  // nowhere else.
  if (!replies.warning.empty()) return {AppendOutcome::kUnknown, replies.warning};
  return {AppendOutcome::kDurable, {}};
}

AppendResult PostgresJournal::failed(const SqlFailure& failed) const {
  return {append_outcome(failed), to_error(failed).error().message};
}

// --- Reading

Status PostgresJournal::read(Seq from, const std::function<bool(const JournalRow&)>& visit) {
  from = std::max(from, Seq{1});
  ChainCheck chain(shard_->shard, from);
  std::vector<JournalRow> rows;
  for (std::uint64_t piece = kFirstPiece;; piece = std::min(piece * 2, kLargestPiece)) {
    rows.clear();
    const bool first = chain.expected() == from;
    if (Status read = read_some(chain, first, piece, rows); !read) return read;
    if (first && (rows.empty() || rows.front().seq != from)) {
      const auto range = extent();
      if (!range) return std::unexpected(range.error());
      if (Status checked = check_range(shard_->shard, from, *range); !checked) return checked;
    }
    if (rows.empty()) return {};
    for (const JournalRow& row : rows) {
      if (Status checked = chain.check(row); !checked) return checked;
      if (!visit(row)) return {};
    }
  }
}

Status PostgresJournal::read_some(ChainCheck& chain, bool first, std::uint64_t limit,
                                  std::vector<JournalRow>& rows) {
  // The most bytes of bodies per piece; at least one row is read.
  constexpr std::size_t kPieceBytes = 8 * 1024 * 1024;
  const std::uint64_t from = to_number(chain.expected());
  const std::uint64_t end = (block_of(from) + 1) * shard_->rows_a_table;
  Status status;
  std::size_t bytes = 0;
  SqlMessage message({});
  // Determine the checksum to which the first row must chain.
  if (first) {
    message.add(fmt::format(fmt::runtime(kSelectChecksum), table_of(from - 1)),
                std::move(Parameters().number(static_cast<std::int64_t>(from) - 1)));
  }
  message.add(fmt::format(fmt::runtime(kSelectRows), table_of(from)),
              std::move(Parameters()
                            .number(static_cast<std::int64_t>(from))
                            .number(static_cast<std::int64_t>(end))
                            .number(static_cast<std::int64_t>(limit))),
              [&](const SqlRow& row) {
                auto read = current_row(shard_->shard, row);
                if (!read) {
                  status = std::unexpected(read.error());
                  return false;
                }
                bytes += read->body.size();
                rows.push_back(std::move(*read));
                return bytes < kPieceBytes;
              });
  const auto replies = shard_->pool->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  if (first && replies->results.front().rows() == 1) {
    const auto checksum = checksum_from(replies->results.front().row(0).bytes(0));
    if (!checksum) return std::unexpected(checksum.error());
    chain.set_predecessor(*checksum);
  }
  return status;
}

// --- Measuring

Result<std::vector<std::uint64_t>> PostgresJournal::newest_rows() {
  std::string sql;
  for (std::uint64_t table = 0; table < kJournalTables; ++table) {
    sql += fmt::format("{}SELECT coalesce(max(seq), 0) FROM millrace.journal_{}_{}",
                       table == 0 ? "" : " UNION ALL ", shard_->shard, table);
  }
  SqlMessage message({});
  message.add(std::move(sql));
  const auto replies = shard_->pool->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  std::vector<std::uint64_t> newest;
  newest.reserve(kJournalTables);
  for (int row = 0; row < replies->results.front().rows(); ++row) {
    newest.push_back(static_cast<std::uint64_t>(replies->results.front().row(row).number(0)));
  }
  return newest;
}

// Goes backwards block by block as long as they join without a gap: usually once round the ring,
// and further if tables were appended to again before they could be emptied.
Result<std::uint64_t> PostgresJournal::oldest_row(std::uint64_t newest) {
  std::uint64_t oldest = newest + 1;
  while (oldest > 1) {
    SqlMessage message({});
    const Block last = block_of(oldest - 1);
    const Block first = last - std::min(last, kJournalTables - 1);
    for (Block block = last + 1; block-- > first;) {
      const auto begin = static_cast<std::int64_t>(block * shard_->rows_a_table);
      const auto end = static_cast<std::int64_t>((block + 1) * shard_->rows_a_table);
      message.add(fmt::format(fmt::runtime(kSelectBlock), table_of(block * shard_->rows_a_table)),
                  std::move(Parameters().number(begin).number(end)));
    }
    const auto replies = shard_->pool->run(Use::kLookup, message);
    if (!replies) return to_error(replies.error());
    for (const SqlResult& result : replies->results) {
      const SqlRow row = result.row(0);
      const auto end = row.maybe_number(1);
      if (!end || static_cast<std::uint64_t>(*end) + 1 < oldest) return oldest;
      oldest = static_cast<std::uint64_t>(row.number(0));
      if (oldest % shard_->rows_a_table != 0) return oldest;
    }
  }
  return oldest;
}

Result<std::uint64_t> PostgresJournal::bytes_between(std::uint64_t oldest, std::uint64_t newest) {
  const MutexLock lock(mutex_);
  std::erase_if(weighed_, [&](const auto& entry) { return entry.first < block_of(oldest); });
  std::uint64_t bytes = 0;
  for (Block block = block_of(oldest); block <= block_of(newest); ++block) {
    const std::uint64_t from = std::max(oldest, block * shard_->rows_a_table);
    const std::uint64_t until = std::min(newest + 1, (block + 1) * shard_->rows_a_table);
    Weighed& weighed = weighed_[block];
    if (weighed.from != from || weighed.until > until) weighed = {0, from, from};
    if (weighed.until < until) {
      SqlMessage message({});
      message.add(fmt::format(fmt::runtime(kWeighBlock), table_of(from)),
                  std::move(Parameters()
                                .number(static_cast<std::int64_t>(weighed.until))
                                .number(static_cast<std::int64_t>(until))));
      const auto replies = shard_->pool->run(Use::kLookup, message);
      if (!replies) return to_error(replies.error());
      weighed.bytes += static_cast<std::uint64_t>(replies->results.front().row(0).number(0));
      weighed.until = until;
    }
    bytes += weighed.bytes;
  }
  return bytes;
}

Result<Journal::Extent> PostgresJournal::extent() {
  const auto tables = newest_rows();
  if (!tables) return std::unexpected(tables.error());
  const std::uint64_t newest = *std::ranges::max_element(*tables);
  if (newest == 0) return Extent{};
  const auto oldest = oldest_row(newest);
  if (!oldest) return std::unexpected(oldest.error());
  const auto bytes = bytes_between(*oldest, newest);
  if (!bytes) return std::unexpected(bytes.error());
  return Extent{Seq{*oldest}, Seq{newest}, *bytes};
}

// --- Trimming

Result<std::uint64_t> PostgresJournal::trim(Seq below) {
  const auto tables = newest_rows();
  if (!tables) return std::unexpected(tables.error());
  const std::uint64_t newest = *std::ranges::max_element(*tables);
  // The table whose newest row is the oldest: appends rely on this order.
  std::uint64_t last = 0;
  for (const std::uint64_t seq : *tables) {
    if (seq != 0 && (last == 0 || seq < last)) last = seq;
  }
  if (last == 0 || last >= to_number(below) || last == newest) return 0;
  const auto oldest = oldest_row(newest);
  if (!oldest) return std::unexpected(oldest.error());
  const auto done =
      shard_->pool->run_script(fmt::format(fmt::runtime(kTruncate), shard_->shard,
                                           static_cast<std::int64_t>(shard_->epoch()),
                                           table_of(last), last, shard_->trim_age.count()),
                               kTrimLimits);
  if (!done) {
    const std::string& state = done.error().state;
    if (state == kRequirementState || state == "55P03") return 0;
    return to_error(done.error());
  }
  return last + 1 - std::min(*oldest, last);
}

}  // namespace millrace::store
