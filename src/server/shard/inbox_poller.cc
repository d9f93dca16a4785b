#include "server/shard/inbox_poller.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/refusal.h"
#include "base/thread_name.h"
#include "server/process/system_time.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;

node::Instant now() { return system_time().since_boot(); }

}  // namespace

InboxPoller::InboxPoller(Parts parts) : parts_(std::move(parts)) {}
InboxPoller::~InboxPoller() { stop(); }

void InboxPoller::start() {
  thread_ = std::thread([this] { run(); });
}

void InboxPoller::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void InboxPoller::deliver(std::span<engine::Delivery> deliveries) {
  {
    const MutexLock lock(mutex_);
    for (engine::Delivery& delivery : deliveries) answers_.push_back(std::move(delivery));
  }
  wake_.notify_one();
}

void InboxPoller::run() {
  name_this_thread("inbox");
  auto next_poll = Clock::now();
  while (wait(next_poll)) {
    take_answers();
    if (Clock::now() < next_poll) continue;
    bool more = false;
    if (!in_use_) {
      const Result<bool> used = parts_.inbox.in_use();
      in_use_ = used && *used;
    }
    if (in_use_) {
      look_who_leads();
      more = poll();
    }
    sweep();
    next_poll = Clock::now() + (more ? 0ms : in_use_ ? kPause : kPauseWhileUnused);
  }
}

bool InboxPoller::wait(Clock::time_point until) {
  const MutexLock lock(mutex_);
  while (!stopping_ && answers_.empty()) {
    if (!wake_.wait_until(mutex_, until)) break;
  }
  return !stopping_;
}

void InboxPoller::note(const Status& done) {
  if (!done && !failing_) {
    parts_.log.warn("the server can't read the inbox", {{"reason", done.error().message}});
  } else if (done && failing_) {
    parts_.log.info("the server can read the inbox again", {});
  }
  failing_ = !done;
}

// --- Which shards this node leads.

void InboxPoller::look_who_leads() {
  for (std::uint32_t number = 0; number < parts_.terms.shards; ++number) {
    const std::shared_ptr<Driver> driver = parts_.led(number);
    const auto known = shards_.find(number);
    if (known != shards_.end() && known->second.driver.lock() == driver) continue;
    if (known != shards_.end()) {
      absl::erase_if(asked_, [&](const auto& entry) { return entry.second.shard == number; });
      shards_.erase(known);
    }
    if (driver == nullptr) continue;
    const auto command = [this, number](const store::InboxRow& row) {
      return command_of(row, number, parts_.terms);
    };
    shards_.emplace(number, Shard{driver, node::InboxIntake({.shard = number,
                                                             .shards = parts_.terms.shards,
                                                             .command_of = command,
                                                             .sentence_of = api::sentence_of,
                                                             .bounds = {}})});
  }
}

// --- One round for each shard.

bool InboxPoller::poll() {
  std::vector<store::InboxReader> readers;
  for (auto& [number, shard] : shards_) {
    shard.intake.begin_round();
    if (carry_out_calls(shard.intake)) readers.push_back(shard.intake.reader());
  }
  const bool more = read(std::move(readers));
  for (auto& [number, shard] : shards_) {
    carry_out_calls(shard.intake);
    offer(number, shard);
  }
  return more;
}

bool InboxPoller::carry_out_calls(node::InboxIntake& intake) {
  while (const auto call = intake.next_call(now())) {
    if (std::holds_alternative<node::ReadPage>(*call)) return true;
    const Status done = carry_out(*call, intake);
    note(done);
    if (!done) intake.failed(*call, now());
  }
  return false;
}

Status InboxPoller::carry_out(const node::InboxCall& call, node::InboxIntake& intake) {
  const std::uint32_t shard = intake.reader().shard;
  if (const auto* const fetch = std::get_if<node::FetchRows>(&call)) {
    auto rows = parts_.inbox.fetch(shard, fetch->keys);
    if (!rows) return std::unexpected(std::move(rows.error()));
    intake.fetched(std::move(*rows));
    return {};
  }
  if (std::holds_alternative<node::ReadFinishes>(call)) {
    auto rows = parts_.inbox.finishes(shard);
    if (!rows) return std::unexpected(std::move(rows.error()));
    intake.read(std::move(*rows));
    return {};
  }
  const auto* const reject = std::get_if<node::RejectRows>(&call);
  const auto* const move = std::get_if<node::MoveRow>(&call);
  Status done = reject != nullptr ? parts_.inbox.reject(shard, reject->rows)
                : move != nullptr ? parts_.inbox.move(shard, move->key, move->to)
                                  : parts_.inbox.drop(shard, std::get<node::DropRows>(call).keys);
  if (!done) return done;
  intake.done(call);
  if (reject == nullptr) return done;
  for (const store::RejectedRow& row : reject->rows) {
    parts_.log.warn("the server rejected a row of the inbox; see millrace.inbox_rejected",
                    {{"shard", shard}, {"id", row.key.id}, {"reason", row.reason}});
  }
  return done;
}

bool InboxPoller::read(std::vector<store::InboxReader> readers) {
  if (readers.empty()) return false;
  Result<std::vector<store::InboxPage>> pages = parts_.inbox.read(readers);
  note(pages ? Status() : std::unexpected(pages.error()));
  bool more = false;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    node::InboxIntake& intake = shards_.at(readers[i].shard).intake;
    if (!pages) {
      intake.failed(node::ReadPage{}, now());
      continue;
    }
    const auto page = std::ranges::find(*pages, readers[i].shard, &store::InboxPage::shard);
    if (page == pages->end()) continue;
    more = intake.read(std::move(readers[i]), std::move(*page)) || more;
  }
  return more;
}

void InboxPoller::offer(std::uint32_t number, Shard& shard) {
  const std::shared_ptr<Driver> driver = shard.driver.lock();
  if (driver == nullptr) return;
  while (auto offer = shard.intake.next_offer(now())) {
    asked_[next_ticket_] = {number, offer->row};
    const engine::Ticket ticket{next_ticket_++};
    if (offer->row == store::InboxKey{}) {
      driver->submit(std::move(offer->command), *this, ticket);
    } else {
      driver->submit(std::move(offer->command), offer->from, *this, ticket);
    }
  }
}

// Must run even if nobody uses the inbox, because operators' retries write fences too.
void InboxPoller::sweep() {
  if (Clock::now() < next_sweep_ || parts_.led(0) == nullptr) return;
  const Result<JobId> swept = parts_.inbox.sweep_fences(swept_);
  if (swept) swept_ = *swept;
  note(swept ? Status() : std::unexpected(swept.error()));
  note(parts_.inbox.sweep_rejected());
  next_sweep_ = Clock::now() + kSweepPause;
}

// --- Answers.

void InboxPoller::take_answers() {
  std::vector<engine::Delivery> answers;
  {
    const MutexLock lock(mutex_);
    answers.swap(answers_);
  }
  for (engine::Delivery& delivery : answers) {
    const auto found = asked_.find(static_cast<std::uint64_t>(delivery.ticket));
    if (found == asked_.end()) continue;  // of a lead that is over
    const Asked asked = found->second;
    asked_.erase(found);
    shards_.at(asked.shard).intake.answered(asked.row, delivery.answer, now());
  }
}

}  // namespace millrace::server
