// A shard's journal, damaged or forged, and its recovery. The input selects a life (see life.h),
// how far the tables had come, and the changes to the rows after them.
//
// Damaged: the checksums are left as they were. Either the state after the intact rows is
// recovered, or the first damaged row is refused, by shard and number. Forged: the checksums are
// made to fit. No disk and no crash does that, only a faulty writer. A row that is not a batch is
// refused by shard and number. Events that contradict the state are stopped by a CHECK in the
// machine, before any answer depends on them. Accepted rows leave a valid machine. One exception:
// for a job that is not in memory, the machine must believe an event that deletes or retries it,
// since only the tables know the job; then its counts may be wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/arbitrary.h"
#include "core/machine.h"
#include "engine/shard/recovery.h"
#include "life.h"
#include "store/event_codec.h"
#include "store/journal_check.h"
#include "store/memory/memory_store.h"

namespace millrace {

// Replaces the function in base/, which ends the process.
struct CheckFailed {
  std::string_view expression;
  std::string_view file;
};
[[noreturn]] void check_failed(const char* expression, const char* file, int) {
  throw CheckFailed{expression, file};
}

}  // namespace millrace

namespace {

using namespace millrace;
using store::JournalRow;

constexpr std::uint64_t kLives = 32;

// A condition of this test. MILLRACE_CHECK itself is under test.
void demand(bool holds, std::string_view what, std::string_view about = {}) {
  if (holds) return;
  std::fprintf(stderr, "recovery: %.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(about.size()), about.data());
  std::abort();
}

// The input, consumed from the front; zeros once it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::size_t below(std::size_t bound) {
    const std::size_t number = byte() | std::size_t{byte()} << 8;
    return bound == 0 ? 0 : number % bound;
  }
  std::string text(std::size_t size) {
    std::string text;
    for (; size > 0 && left_ > 0; --size) text.push_back(static_cast<char>(byte()));
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// Holds the given rows, and reads them as every journal does.
class GivenJournal final : public store::Journal {
 public:
  explicit GivenJournal(std::map<Seq, JournalRow> rows) : rows_(std::move(rows)) {}

  store::AppendResult append(const JournalRow&) override {
    return {store::AppendOutcome::kBroken, "for reading only"};
  }
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) override {
    if (Status checked = store::check_range(store::kOnlyShard, from, *extent()); !checked) {
      return checked;
    }
    store::ChainCheck chain(store::kOnlyShard, from);
    for (auto row = rows_.lower_bound(from); row != rows_.end(); ++row) {
      if (Status checked = chain.check(row->second); !checked) return checked;
      if (!visit(row->second)) break;
    }
    return {};
  }
  Result<Extent> extent() override {
    if (rows_.empty()) return Extent{};
    return Extent{rows_.begin()->first, rows_.rbegin()->first, 0};
  }
  Result<std::uint64_t> trim(Seq) override { return std::uint64_t{0}; }

 private:
  std::map<Seq, JournalRow> rows_;
};

void seal(JournalRow& row, const store::Checksum& predecessor) {
  row.predecessor = predecessor;
  row.checksum =
      store::row_checksum(store::kOnlyShard, row.seq, row.epoch, row.predecessor, row.body);
}

struct Written {
  std::vector<core::EventBatch> batches;
  std::vector<JournalRow> rows;  // row i has seq i + 1
};

const Written& written(std::uint64_t seed) {
  static std::map<std::uint64_t, Written> lives;
  const auto [found, fresh] = lives.try_emplace(seed);
  Written& life = found->second;
  if (!fresh) return life;
  life.batches = fuzz::Life(seed).batches();
  store::Checksum last;
  for (const core::EventBatch& batch : life.batches) {
    JournalRow& row = life.rows.emplace_back();
    row.seq = Seq{life.rows.size()};
    row.epoch = Epoch{1};
    store::encode_events(batch, row.body);
    seal(row, last);
    last = row.checksum;
  }
  return life;
}

void apply(core::Machine& machine, const core::EventBatch& batch) {
  for (const core::Event& event : batch.events) machine.apply(event, batch.at);
  machine.take_woken_queues();
  machine.take_endings();
  machine.end_step();
}

// The same lives recur, so their results are cached.
template <typename Value>
using PerRow = std::map<std::pair<const Written*, std::size_t>, Value>;

Fingerprint digest_after(const Written& life, std::size_t newest) {
  static PerRow<Fingerprint> known;
  const auto [found, fresh] = known.try_emplace({&life, newest});
  if (!fresh) return found->second;
  core::Machine machine{core::MachineOptions{}};
  for (std::size_t i = 0; i < newest; ++i) apply(machine, life.batches[i]);
  return found->second = machine.digest();
}

struct Projection {
  std::unique_ptr<const core::Changes> changes;
  store::Progress progress;
};

const Projection& projection_of(const Written& life, std::size_t projected) {
  static PerRow<Projection> known;
  const auto [found, fresh] = known.try_emplace({&life, projected});
  Projection& projection = found->second;
  if (!fresh) return projection;
  core::Machine machine{core::MachineOptions{}};
  for (std::size_t i = 0; i < projected; ++i) apply(machine, life.batches[i]);
  const JournalRow& row = life.rows[projected - 1];
  projection = {machine.take_changes(), {row.seq, row.checksum, machine.facts()}};
  return projection;
}

store::Store tables_after(const Written& life, std::size_t projected) {
  store::Store store = store::make_memory_store();
  if (projected == 0) return store;
  const Projection& projection = projection_of(life, projected);
  const Status flushed = store.tables->flush(*projection.changes, Seq{0}, projection.progress);
  demand(flushed.has_value(), "the tables take the changes");
  return store;
}

// Replaces the batch in `row` by another one: events left out, doubled, moved, invented.
void rewrite_batch(JournalRow& row, const Written& life, Bytes& input) {
  auto batch = store::decode_events(row.body);
  if (!batch) return;
  std::vector<core::Event>& events = batch->events;
  const std::size_t at = input.below(events.size());
  switch (input.byte() % 6) {
    case 0:
      if (!events.empty()) events.erase(events.begin() + static_cast<long>(at));
      break;
    case 1:
      if (!events.empty()) events.push_back(events[at]);
      break;
    case 2:
      if (!events.empty()) std::swap(events[at], events.back());
      break;
    case 3:
      batch->at += Duration{static_cast<std::int64_t>(input.below(0x10000)) - 0x8000};
      break;
    case 4: {
      const core::EventBatch& other = life.batches[input.below(life.batches.size())];
      events.push_back(other.events[input.below(other.events.size())]);
      break;
    }
    default:
      events.push_back(core::Arbitrary(input.below(0x10000)).any<core::Event>());
      break;
  }
  store::encode_events(*batch, row.body);
}

// Changes the row at `at`, or this row and another one.
void change(std::map<Seq, JournalRow>& rows, std::map<Seq, JournalRow>::iterator at,
            const Written& life, Bytes& input) {
  JournalRow& row = at->second;
  switch (input.byte() % 10) {
    case 0: {
      if (row.body.empty()) break;
      char& byte = row.body[input.below(row.body.size())];
      byte = static_cast<char>(byte ^ input.byte());
      break;
    }
    case 1:
      row.body.resize(input.below(row.body.size() + 1));
      break;
    case 2:
      row.body.insert(input.below(row.body.size() + 1), input.text(input.byte() % 16));
      break;
    case 3: {
      auto other = std::next(rows.begin(), static_cast<long>(input.below(rows.size())));
      if (other->first < at->first) break;
      std::swap(row, other->second);
      std::swap(row.seq, other->second.seq);  // the key under which a row is found does not change
      break;
    }
    case 4:
      rows.erase(at);
      break;
    case 5:
      row.epoch = Epoch{input.byte()};
      break;
    case 6:
      row.predecessor.low ^= input.byte();
      break;
    case 7:
      row.checksum.high ^= input.byte();
      break;
    case 8:
      row.body = input.text(input.below(256));
      break;
    default:
      rewrite_batch(row, life, input);
      break;
  }
}

// Numbers and seals the rows after the tables' ones anew, so that the change can't be detected.
void forge(std::map<Seq, JournalRow>& rows, std::size_t projected) {
  std::map<Seq, JournalRow> forged;
  store::Checksum last;
  for (auto& [seq, row] : rows) {
    row.seq = Seq{forged.size() + 1};
    if (to_number(row.seq) > projected) seal(row, last);
    last = row.checksum;
    forged.emplace(row.seq, std::move(row));
  }
  rows = std::move(forged);
}

bool same(const JournalRow& a, const JournalRow& b) {
  return a.seq == b.seq && a.epoch == b.epoch && a.predecessor == b.predecessor &&
         a.checksum == b.checksum && a.body == b.body;
}

// The first row from `from` on that is missing or not as written.
std::optional<std::uint64_t> first_damaged(const std::map<Seq, JournalRow>& rows, Seq from,
                                           const Written& life) {
  for (auto row = rows.lower_bound(from); row != rows.end(); ++row) {
    if (row->first != from) return to_number(from);
    if (!same(row->second, life.rows[to_number(from) - 1])) return to_number(from);
    from = next(from);
  }
  return std::nullopt;
}

struct Recovery {
  Result<engine::Recovered> result = failure("not tried");
  std::optional<CheckFailed> check;
};

Recovery recover(const Written& life, std::size_t projected,
                 const std::map<Seq, JournalRow>& rows) {
  store::Store store = tables_after(life, projected);
  store.journal = std::make_unique<GivenJournal>(rows);
  Recovery recovery;
  try {
    recovery.result = engine::recover_state(store::kOnlyShard, core::MachineOptions{}, store);
    if (recovery.result) recovery.result->machine->check_invariants();
  } catch (const CheckFailed& failed) {
    recovery.check = failed;
  }
  return recovery;
}

void judge_damaged(const Written& life, std::size_t projected,
                   const std::map<Seq, JournalRow>& rows, const Recovery& recovery) {
  demand(!recovery.check, "damage reaches the machine",
         recovery.check ? recovery.check->expression : "");
  const bool success = recovery.result.has_value();
  const std::string message = success ? "" : recovery.result.error().message;
  const std::uint64_t oldest = rows.empty() ? 0 : to_number(rows.begin()->first);
  const std::uint64_t newest = rows.empty() ? 0 : to_number(rows.rbegin()->first);
  if (newest < projected || oldest > projected + 1) {
    return demand(!success && message.contains("rows"), "a gap to the tables is told", message);
  }
  const Seq from = Seq{std::max<std::uint64_t>(projected, oldest)};
  if (const auto damaged = first_damaged(rows, from, life)) {
    demand(!success, "a damaged row is refused");
    demand(message.contains(fmt::format("shard 0, row {}", *damaged)), "the row is named", message);
    return;
  }
  demand(success, "rows as they were written are taken", message);
  demand(to_number(recovery.result->head) == newest, "all rows are taken");
  demand(recovery.result->machine->digest() == digest_after(life, newest),
         "the state is that of the rows");
}

// Whether an event is about a job that may be only in the tables.
bool revisits(const std::map<Seq, JournalRow>& rows) {
  for (const auto& [seq, row] : rows) {
    const auto batch = store::decode_events(row.body);
    if (!batch) continue;
    for (const core::Event& event : batch->events) {
      if (std::holds_alternative<core::Deleted>(event)) return true;
      if (std::holds_alternative<core::Retried>(event)) return true;
    }
  }
  return false;
}

void judge_forged(const std::map<Seq, JournalRow>& rows, const Recovery& recovery) {
  if (recovery.check) {
    const std::string_view file = recovery.check->file;
    demand(file.contains("src/core/"), "only the machine may stop", recovery.check->expression);
    demand(!file.contains("invariants.cc") || revisits(rows), "what was taken is sound",
           recovery.check->expression);
    return;
  }
  if (recovery.result) return;
  const std::string& message = recovery.result.error().message;
  demand(message.contains("shard 0, row "), "the row is named", message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes input(data, size);
  const std::uint8_t first = input.byte();
  const bool forged = (first & 1) != 0;
  const Written& life = written(first / 2 % kLives);
  const std::size_t projected = input.byte() % (life.rows.size() + 1);

  std::map<Seq, JournalRow> rows;
  for (const JournalRow& row : life.rows) rows.emplace(row.seq, row);
  while (!input.empty() && !rows.empty()) {
    const auto at = std::next(rows.begin(), input.byte() % static_cast<long>(rows.size()));
    // A forger does not change rows from which the tables were made.
    if (forged && to_number(at->first) <= projected) continue;
    change(rows, at, life, input);
  }
  if (forged) forge(rows, projected);

  const Recovery recovery = recover(life, projected, rows);
  if (forged) {
    judge_forged(rows, recovery);
  } else {
    judge_damaged(life, projected, rows, recovery);
  }
  return 0;
}
