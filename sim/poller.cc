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

core::Command command_of(const store::InboxRow& row) {
  core::AckItem item;
  item.id = row.job;
  item.token = row.token;
  item.outcome = core::AckOutcome::kSucceeded;
  item.result = SharedBytes(row.payload);
  core::Ack ack;
  ack.items.push_back(std::move(item));
  ack.right = core::AckRight::kFence;
  return ack;
}

}  // namespace

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
  asked_.clear();
  useless_.clear();
  astray_.clear();
  rejected_.clear();
}

bool Poller::busy() const {
  return !waiting_.empty() || !asked_.empty() || !useless_.empty() || !astray_.empty() ||
         !rejected_.empty();
}

bool Poller::holds(const store::InboxKey& key) const {
  const bool asked =
      std::ranges::any_of(asked_, [&](const auto& entry) { return entry.second.key == key; });
  return asked || waiting_.contains(key) || useless_.contains(key) || astray_.contains(key) ||
         rejected_.contains(key);
}

void Poller::tick(std::chrono::nanoseconds now) {
  if (!leads_) return;
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
    const std::vector<store::InboxKey> keys(rejected_.begin(), rejected_.end());
    call([&transactions, shard, keys] { transactions.reject(shard, keys); },
         [this, keys] {
           for (const store::InboxKey& done : keys) rejected_.erase(done);
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
  for (auto& [key, row] : std::exchange(waiting_, {})) {
    const engine::Ticket ticket = next_ticket();
    parts_.story.tell("  {} brings the finish of a job with token {} to shard {}", parts_.name,
                      to_number(row.token), parts_.shard);
    parts_.database.finishes().brought(row.job, row.token, parts_.self);
    core::Command command = command_of(row);
    asked_.emplace(ticket, std::move(row));
    parts_.bring(std::move(command), key, ticket);
  }
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
    if (reply != nullptr) {
      conclude(std::move(row), std::get<core::ItemsReply>(*reply));
    } else {
      const store::InboxKey key = row.key;
      waiting_.emplace(key, std::move(row));
      wait_a_moment();
    }
  }
}

void Poller::conclude(store::InboxRow row, const core::ItemsReply& reply) {
  const core::ItemReply& item = reply.items.front();
  if (!item.refusal) {
    if (item.version == 0) useless_.insert(row.key);  // it had succeeded already
  } else if (item.refusal.why == core::Rejection::kNotFound &&
             row.moves + 1 < parts_.database.shards()) {
    astray_.insert(row.key);
  } else {
    rejected_.insert(row.key);
  }
}

}  // namespace millrace::sim
