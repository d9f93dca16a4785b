#include "server/inbox_poller.h"

#include <utility>
#include <variant>

#include "base/thread_name.h"
#include "server/inbox_command.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;

// After a shard could not take what it was offered.
constexpr auto kOfferPause = 100ms;
// No more is read while a shard has so many rows in hand, or so many bytes of payloads.
constexpr std::size_t kEnough = 1'000;
constexpr std::size_t kEnoughBytes = std::size_t{4} << 20;
// And nothing but finishes, now and then, while so many rows of queues that are full wait.
constexpr std::size_t kEnoughOfQueues = 100'000;
constexpr auto kFinishesPause = 500ms;
// Of full queues, offered again at once.
constexpr std::size_t kMostDue = 1'000;

std::string reason_of(const core::Refusal& refusal) {
  if (refusal.detail != core::RefusalDetail::kNone) {
    return std::string(core::to_string(refusal.detail));
  }
  return "the shard refuses it";
}

}  // namespace

bool InboxPoller::Shard::holds(const store::InboxKey& key) const {
  return waiting.contains(key) || asked.contains(key) || useless.contains(key) ||
         astray.contains(key) || rejected.contains(key) || queues.holds(key);
}

bool InboxPoller::Shard::has_enough() const {
  if (waiting.size() + asked.size() >= kEnough) return true;
  std::size_t bytes = 0;
  for (const auto& [key, row] : waiting) bytes += row.payload.size();
  for (const auto& [key, row] : asked) bytes += row.payload.size();
  return bytes >= kEnoughBytes;
}

bool InboxPoller::Shard::add(store::InboxRow row) {
  const store::InboxKey key = row.key;
  return !holds(key) && waiting.emplace(key, std::move(row)).second;
}

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
      for (auto& [number, shard] : shards_) tidy(shard);
      more = poll();
      for (auto& [number, shard] : shards_) offer(shard);
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
    parts_.log.warn("the inbox can't be read", {{"reason", done.error().message}});
  } else if (done && failing_) {
    parts_.log.info("the inbox is read again", {});
  }
  failing_ = !done;
}

// --- Who leads.

void InboxPoller::look_who_leads() {
  for (std::uint32_t number = 0; number < parts_.shards; ++number) {
    const std::shared_ptr<Driver> driver = parts_.led(number);
    const auto known = shards_.find(number);
    if (known != shards_.end() && known->second.driver.lock() == driver) continue;
    if (known != shards_.end()) {
      absl::erase_if(asked_, [&](const auto& entry) { return entry.second.shard == number; });
      shards_.erase(known);
    }
    if (driver == nullptr) continue;
    Shard& shard = shards_[number];
    shard.driver = driver;
    shard.reader.shard = number;
  }
}

// --- Reading.

bool InboxPoller::poll() {
  std::vector<store::InboxReader> readers;
  for (auto& [number, shard] : shards_) {
    if (!shard.proved || shard.has_enough()) continue;
    if (shard.queues.size() < kEnoughOfQueues) {
      readers.push_back(shard.reader);
    } else {
      read_finishes(shard);
    }
  }
  if (readers.empty()) return false;
  Result<std::vector<store::InboxPage>> pages = parts_.inbox.read(readers);
  for (store::InboxReader& reader : readers) {
    shards_.at(reader.shard).reader = std::move(reader);
  }
  if (!pages) {
    note(std::unexpected(pages.error()));
    return false;
  }
  note({});
  bool more = false;
  for (store::InboxPage& page : *pages) {
    Shard& shard = shards_.at(page.shard);
    shard.reader.place.advance(page);
    for (store::InboxRow& row : page.rows) {
      if (shard.add(std::move(row))) more = more || page.cut;
    }
  }
  return more;
}

// What was done must not wait for others' room: its job would be done again meanwhile, in vain.
void InboxPoller::read_finishes(Shard& shard) {
  if (Clock::now() < shard.next_finishes) return;
  shard.next_finishes = Clock::now() + kFinishesPause;
  Result<std::vector<store::InboxRow>> rows = parts_.inbox.finishes(shard.reader.shard);
  note(rows ? Status() : std::unexpected(rows.error()));
  if (!rows) return;
  for (store::InboxRow& row : *rows) shard.add(std::move(row));
}

// --- Offering.

void InboxPoller::wait_a_moment(Shard& shard) const {
  shard.not_before = Clock::now() + kOfferPause;
}

void InboxPoller::offer(Shard& shard) {
  const std::shared_ptr<Driver> driver = shard.driver.lock();
  if (driver == nullptr || Clock::now() < shard.not_before) return;
  const std::uint32_t number = shard.reader.shard;
  if (!shard.proved) {
    wait_a_moment(shard);
    asked_[next_ticket_] = {number, {}};
    driver->submit(core::Command(core::GetJob{}), *this, engine::Ticket{next_ticket_++});
    return;
  }
  fetch_due(shard);
  const InboxTerms terms{parts_.shards, parts_.limits, parts_.idempotency_window};
  while (!shard.waiting.empty()) {
    auto node = shard.waiting.extract(shard.waiting.begin());
    const store::InboxKey key = node.key();
    auto command = command_of(node.mapped(), number, terms);
    if (!command) {
      shard.queues.settle(key);
      shard.reject({key, std::move(command.error())});
      continue;
    }
    engine::FromInbox from{key};
    if (const auto* const enqueue = std::get_if<core::Enqueue>(&*command)) {
      const std::string queue(enqueue->jobs.front().queue.view());
      if (!shard.queues.holds(key) && !shard.queues.add(queue, key)) continue;
      from.round = shard.queues.round(key);
    }
    shard.asked.insert(std::move(node));
    asked_[next_ticket_] = {number, key};
    driver->submit(std::move(*command), from, *this, engine::Ticket{next_ticket_++});
  }
}

void InboxPoller::fetch_due(Shard& shard) {
  const std::vector<store::InboxKey> keys = shard.queues.due(kMostDue, Clock::now());
  if (keys.empty()) return;
  Result<store::FetchedRows> fetched = parts_.inbox.fetch(shard.reader.shard, keys);
  note(fetched ? Status() : std::unexpected(fetched.error()));
  if (!fetched) {
    for (const store::InboxKey& key : keys) shard.queues.put_back(key);
    return wait_a_moment(shard);
  }
  for (const store::InboxKey& key : fetched->left) shard.queues.put_back(key);
  for (const store::InboxKey& key : fetched->gone) shard.queues.settle(key);
  for (store::InboxRow& row : fetched->rows) {
    const store::InboxKey key = row.key;
    shard.waiting.emplace(key, std::move(row));
  }
}

// Away with rows that no append takes.
void InboxPoller::tidy(Shard& shard) {
  const std::uint32_t number = shard.reader.shard;
  if (!shard.useless.empty()) {
    const std::vector<store::InboxKey> keys(shard.useless.begin(), shard.useless.end());
    const Status done = parts_.inbox.drop(number, keys);
    note(done);
    if (done) shard.useless.clear();
  }
  while (!shard.astray.empty()) {
    const Status done =
        parts_.inbox.move(number, *shard.astray.begin(), (number + 1) % parts_.shards);
    note(done);
    if (!done) break;
    shard.astray.erase(shard.astray.begin());
  }
  if (!shard.rejected.empty()) {
    std::vector<store::RejectedRow> rows;
    rows.reserve(shard.rejected.size());
    for (const auto& [key, row] : shard.rejected) rows.push_back(row);
    const Status done = parts_.inbox.reject(number, rows);
    note(done);
    if (!done) return;
    for (const store::RejectedRow& row : rows) {
      parts_.log.warn("a row of the inbox is rejected: see millrace.inbox_rejected",
                      {{"shard", number}, {"id", row.key.id}, {"reason", row.reason}});
    }
    shard.rejected.clear();
  }
}

// Fences are written by operators' retries too, where nobody uses the inbox.
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
    conclude(asked, std::move(delivery.answer));
  }
}

void InboxPoller::conclude(const Asked& asked, engine::Answer answer) {
  Shard& shard = shards_.at(asked.shard);
  const auto* const reply = std::get_if<core::Reply>(&answer);
  if (asked.key == store::InboxKey{}) {
    if (reply == nullptr) return wait_a_moment(shard);
    shard.proved = true;
    shard.not_before = {};
    return;
  }
  auto node = shard.asked.extract(asked.key);
  if (reply == nullptr) {
    if (shard.queues.holds(asked.key)) return shard.queues.refused(asked.key, Clock::now());
    shard.waiting.insert(std::move(node));
    return wait_a_moment(shard);
  }
  if (const auto* const enqueued = std::get_if<core::EnqueueReply>(reply)) {
    conclude_enqueue(shard, asked.key, *enqueued);
  } else {
    conclude_finish(shard, node.mapped(), std::get<core::ItemsReply>(*reply));
  }
}

void InboxPoller::conclude_enqueue(Shard& shard, const store::InboxKey& key,
                                   const core::EnqueueReply& reply) {
  const core::EnqueueReply::Item& item = reply.items.front();
  if (engine::is_put_off(reply)) return shard.queues.refused(key, Clock::now());
  shard.queues.settle(key);
  switch (item.fate) {
    case core::Fate::kCreated:  // and the row is gone
      return;
    case core::Fate::kExisting:
      shard.useless.insert(key);
      return;
    case core::Fate::kRefused:
      shard.reject({key, reason_of(item.refusal)});
  }
}

// And of fences.
void InboxPoller::conclude_finish(Shard& shard, const store::InboxRow& row,
                                  const core::ItemsReply& reply) {
  const core::ItemReply& item = reply.items.front();
  using core::RefusalDetail;
  if (!item.refusal) {
    if (item.version == 0) shard.useless.insert(row.key);  // nothing had to be changed
  } else if (item.refusal.detail == RefusalDetail::kNoSuchLease) {
    shard.reject({row.key, reason_of(item.refusal), store::FenceOfRejected::kReopened, item.fence});
  } else if (item.refusal.detail == RefusalDetail::kLeaseForgotten) {
    shard.reject({row.key, reason_of(item.refusal)});
  } else if (row.moves + 1 < parts_.shards) {
    shard.astray.insert(row.key);  // an id that a client has made says nothing of the shard
  } else if (row.kind == store::InboxKind::kFence) {
    shard.useless.insert(row.key);
  } else {
    // It may have been there when the transaction committed: by that one its generation has ended.
    shard.reject({row.key, "there is no such job: it may have been pruned"});
  }
}

}  // namespace millrace::server
