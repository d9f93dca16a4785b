#include "sim/poller.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;

// As in server/inbox_poller.cc.
constexpr auto kOfferPause = 100ms;
// No more is read while so many rows are in hand; there it is a thousand.
constexpr std::size_t kEnough = 12;
// Of full queues, offered again at once; there it is a thousand.
constexpr std::size_t kMostDue = 8;

}  // namespace

core::Command Poller::command_of(const store::InboxRow& row) const {
  if (row.kind == store::InboxKind::kEnqueue) {
    return parts_.database.submissions().command(row.key);
  }
  core::AckItem item;
  item.id = row.job;
  item.token = row.token;
  item.outcome = core::AckOutcome::kSucceeded;
  item.result = SharedBytes(row.payload);
  core::Ack ack;
  ack.items.push_back(std::move(item));
  ack.right =
      row.kind == store::InboxKind::kFence ? core::AckRight::kFenceRaised : core::AckRight::kFence;
  return ack;
}

void Poller::begin() {
  end();
  leads_ = true;
}

void Poller::end() {
  leads_ = false;
  ++life_;
  calling_ = proved_ = waits_ = false;
  proof_.reset();
  not_before_ = {};
  place_ = {};
  waiting_.clear();
  behind_.clear();
  queues_ = {};
  asked_.clear();
  useless_.clear();
  astray_.clear();
  rejected_.clear();
}

bool Poller::busy() const {
  return !waiting_.empty() || !behind_.empty() || !asked_.empty() || !useless_.empty() ||
         !astray_.empty() || !rejected_.empty();
}

bool Poller::holds(const store::InboxKey& key) const {
  const bool asked =
      std::ranges::any_of(asked_, [&](const auto& entry) { return entry.second.key == key; });
  return asked || waiting_.contains(key) || useless_.contains(key) || astray_.contains(key) ||
         rejected_.contains(key) || queues_.holds(key);
}

void Poller::tick(std::chrono::nanoseconds now) {
  if (!leads_) return;
  now_ = now;
  if (std::exchange(waits_, false)) not_before_ = now + kOfferPause;
  if (proved_ && !calling_ && !tidy()) read();
  if (now >= not_before_) offer(now);
}

// --- What is asked of the database.

void Poller::call(std::function<void()> carry_out, std::function<void()> done) {
  calling_ = true;
  const auto heard = [this, life = life_](const std::function<void()>& then) {
    if (life != life_) return;
    calling_ = false;
    if (then) then();
  };
  parts_.database.begin({Call::Kind::kInbox, parts_.self, parts_.shard,
                         [carry_out = std::move(carry_out), heard, done]() -> Heard {
                           carry_out();
                           return [heard, done] { heard(done); };
                         },
                         [heard] { heard(nullptr); }});
}

// Away with a row that no append takes. False: there is none.
bool Poller::tidy() {
  Transactions& transactions = parts_.database.transactions();
  const std::uint32_t shard = parts_.shard;
  if (!useless_.empty()) {
    const std::vector<store::InboxKey> keys(useless_.begin(), useless_.end());
    call([&transactions, shard, keys] { transactions.drop(shard, keys); },
         [this, keys] {
           for (const store::InboxKey& done : keys) useless_.erase(done);
         });
  } else if (!astray_.empty()) {
    const store::InboxKey key = *astray_.begin();
    const std::uint32_t to = (shard + 1) % parts_.database.shards();
    call([&transactions, shard, key, to] { transactions.move(shard, key, to); },
         [this, key] { astray_.erase(key); });
  } else if (!rejected_.empty()) {
    std::vector<store::RejectedRow> rows;
    rows.reserve(rejected_.size());
    for (const auto& [key, row] : rejected_) rows.push_back(row);
    call([&transactions, shard, rows] { transactions.reject(shard, rows); },
         [this, rows] {
           for (const store::RejectedRow& done : rows) rejected_.erase(done.key);
         });
  } else {
    return false;
  }
  return true;
}

void Poller::read() {
  if (waiting_.size() + asked_.size() >= kEnough) return;
  const auto page = std::make_shared<store::InboxPage>();
  const store::InboxReader reader{parts_.shard, place_};
  call([page, reader,
        &transactions = parts_.database.transactions()] { *page = transactions.read(reader); },
       [this, page] { seen(*page); });
}

void Poller::seen(const store::InboxPage& page) {
  place_.advance(page);
  for (const store::InboxRow& row : page.rows) {
    if (!holds(row.key)) waiting_.emplace(row.key, row);
  }
}

// --- What is asked of the shard.

void Poller::offer(std::chrono::nanoseconds now) {
  if (!proved_) {
    if (proof_) return;
    proof_ = next_ticket();
    not_before_ = now + kOfferPause;
    return parts_.bring(core::GetJob{}, {}, *proof_);
  }
  for (const store::InboxKey& key : queues_.due(kMostDue, instant(now))) {
    waiting_.insert(behind_.extract(key));
  }
  for (auto& [key, row] : std::exchange(waiting_, {})) bring(std::move(row));
}

void Poller::bring(store::InboxRow row) {
  const store::InboxKey key = row.key;
  engine::FromInbox from{key};
  core::Command command = command_of(row);
  if (const auto* const enqueue = std::get_if<core::Enqueue>(&command)) {
    const std::string queue(enqueue->jobs.front().queue.view());
    if (!queues_.holds(key) && !queues_.add(queue, key)) {
      behind_.emplace(key, std::move(row));
      return;
    }
    from.round = queues_.round(key);
    parts_.database.submissions().brought(key, parts_.self);
    parts_.story.tell("  {} brings {} to shard {}, in round {} of queue {}", parts_.name,
                      to_string(row.job), parts_.shard, from.round, queue);
  } else {
    const bool finish = row.kind == store::InboxKind::kFinish;
    if (finish) parts_.database.finishes().brought(row.job, row.token, parts_.self);
    parts_.story.tell("  {} brings the {} of a job with token {} to shard {}", parts_.name,
                      finish ? "finish" : "fence", to_number(row.token), parts_.shard);
  }
  const engine::Ticket ticket = next_ticket();
  asked_.emplace(ticket, std::move(row));
  parts_.bring(std::move(command), from, ticket);
}

engine::InboxQueues::Clock::time_point Poller::instant(std::chrono::nanoseconds now) {
  using Clock = engine::InboxQueues::Clock;
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(now));
}

void Poller::put_off(store::InboxRow row) {
  const store::InboxKey key = row.key;
  queues_.refused(key, instant(now_));
  behind_.emplace(key, std::move(row));
}

void Poller::deliver(std::span<engine::Delivery> deliveries) {
  for (engine::Delivery& delivery : deliveries) {
    const auto* reply = std::get_if<core::Reply>(&delivery.answer);
    if (proof_ == delivery.ticket) {
      proof_.reset();
      proved_ = reply != nullptr;
      if (proved_) not_before_ = {};
      continue;
    }
    auto asked = asked_.extract(delivery.ticket);
    if (asked.empty()) continue;  // of a term that is over
    store::InboxRow& row = asked.mapped();
    if (reply == nullptr && queues_.holds(row.key)) {
      put_off(std::move(row));
    } else if (reply == nullptr) {
      const store::InboxKey key = row.key;
      waiting_.emplace(key, std::move(row));
      wait_a_moment();
    } else if (const auto* const enqueued = std::get_if<core::EnqueueReply>(reply)) {
      conclude_enqueue(std::move(row), *enqueued);
    } else {
      conclude_finish(std::move(row), std::get<core::ItemsReply>(*reply));
    }
  }
}

void Poller::conclude_enqueue(store::InboxRow row, const core::EnqueueReply& reply) {
  if (engine::is_put_off(reply)) return put_off(std::move(row));
  queues_.settle(row.key);
  switch (reply.items.front().fate) {
    case core::Fate::kCreated:  // and the row is gone
      return;
    case core::Fate::kExisting:
      useless_.insert(row.key);
      return;
    case core::Fate::kRefused:
      rejected_.emplace(row.key, store::RejectedRow{row.key, {}});
  }
}

void Poller::conclude_finish(store::InboxRow row, const core::ItemsReply& reply) {
  using core::RefusalDetail;
  const core::ItemReply& item = reply.items.front();
  if (!item.refusal) {
    if (item.version == 0) useless_.insert(row.key);  // nothing had to be changed
  } else if (item.refusal.detail == RefusalDetail::kNoSuchLease) {
    rejected_.emplace(
        row.key, store::RejectedRow{row.key, {}, store::FenceOfRejected::kReopened, item.fence});
  } else if (item.refusal.detail == RefusalDetail::kLeaseForgotten) {
    rejected_.emplace(row.key, store::RejectedRow{row.key, {}});
  } else if (row.moves + 1 < parts_.database.shards()) {
    astray_.insert(row.key);
  } else if (row.kind == store::InboxKind::kFence) {
    useless_.insert(row.key);
  } else {
    rejected_.emplace(row.key, store::RejectedRow{row.key, {}});
  }
}

}  // namespace millrace::sim
