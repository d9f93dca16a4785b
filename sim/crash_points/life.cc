#include "sim/crash_points/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/shard/recovery.h"
#include "sim/crash_points/checker.h"
#include "store/sqlite/sqlite_store.h"

namespace millrace::crash_points {
namespace {

// Rows kept in the journal although the tables have them, as the retention of events does.
constexpr std::uint64_t kRowsKept = 40;
constexpr int kPatience = 24;
constexpr Duration kPause{100};

}  // namespace

Result<std::unique_ptr<Life>> Life::start(const std::string& directory, Disk& disk, Ledger& ledger,
                                          const Logger& log) {
  ledger.forget_waiting();
  auto store = store::open_sqlite_store(
      {directory, [] { return std::chrono::steady_clock::time_point(); }, log});
  if (!store) return std::unexpected(store.error());
  std::unique_ptr<Life> life(new Life(ledger, std::move(*store)));
  auto shard = engine::Shard::recover({}, life->store_, ledger.now, std::nullopt, *life);
  if (!shard) return std::unexpected(shard.error());
  life->shard_ = std::move(*shard);
  life->examine(disk);
  ledger.digests[life->shard_->figures().applied] = life->shard_->machine().digest();
  return life;
}

// Reads the recovered state a second time: the shard has decided since, but has written nothing.
void Life::examine(Disk& disk) {
  CallHook* const hook = disk.hook();
  disk.set_hook(nullptr);
  const auto recovered = engine::recover_state(0, {}, store_);
  if (recovered) {
    std::ranges::copy(examine_state(*recovered, store_, ledger_),
                      std::back_inserter(ledger_.problems));
  } else {
    ledger_.problems.push_back("recovered once, not twice: " + recovered.error().message);
  }
  disk.set_hook(hook);
}

void Life::ask(engine::Request request) {
  const engine::Ticket ticket = ledger_.asked(request);
  shard_->offer(std::move(request), *this, ticket);
}

void Life::step() {
  const Seq before = shard_->figures().applied;
  shard_->step(ledger_.now);
  const Seq after = shard_->figures().applied;
  if (after != before) ledger_.digests[after] = shard_->machine().digest();
  collect();
}

bool Life::append() {
  const store::JournalRow* const row = shard_->next_append();
  if (row == nullptr) return false;
  const Seq seq = row->seq;
  const store::AppendResult result = store_.journal->append(*row);
  const bool durable = result.outcome == store::AppendOutcome::kDurable;
  if (durable) ledger_.durable = std::max(ledger_.durable, seq);
  broken_ = broken_ || result.outcome == store::AppendOutcome::kBroken;
  shard_->append_done(result, ledger_.now);
  collect();
  return durable;
}

bool Life::flush() {
  const auto flush = shard_->next_flush(ledger_.now);
  if (!flush) return false;
  const Status done = store_.tables->flush(*flush->changes, flush->from, flush->to);
  shard_->flush_done(done, ledger_.now);
  collect();
  return done.has_value();
}

void Life::sync() {
  if (const auto synced = store_.tables->sync()) ledger_.synced = *synced;
}

void Life::trim() {
  const std::uint64_t newest = to_number(ledger_.durable);
  const Seq below{std::min(to_number(ledger_.synced), newest - std::min(newest, kRowsKept))};
  static_cast<void>(store_.journal->trim(below));
}

void Life::settle() {
  for (int quiet = 0, rounds = 0; quiet < 2 && rounds < kPatience && !ended(); ++rounds) {
    step();
    const bool appended = append();
    const bool flushed = flush();
    quiet = appended || flushed || ledger_.waiting() > 0 ? 0 : quiet + 1;
    if (!appended && !flushed) ledger_.now += kPause;
  }
}

void Life::collect() {
  for (const engine::Outgoing& out : shard_->take_answers()) {
    const auto& [ticket, answer] = out.delivery;
    if (broken_ && !std::holds_alternative<engine::Unavailable>(answer)) {
      ledger_.problems.push_back("something was answered after the journal had broken");
    }
    ledger_.answered(ticket, answer);
  }
}

}  // namespace millrace::crash_points
