#include "engine/shard/waiters.h"

#include <utility>

namespace millrace::engine {
namespace {

std::string key_of(const std::vector<SharedBytes>& types) {
  std::string key;
  for (const SharedBytes& type : types) {
    key += type.view();
    key += '\n';  // no name holds one
  }
  return key;
}

}  // namespace

WaitNumber Waiters::add(ReplyAddress reply_to, Time deadline, Waiter::Wants wants,
                        core::Claim wanted, std::optional<PollReply> poll) {
  Waiter waiter{wants, std::move(wanted), std::move(poll), {}};
  waiter.types_key = key_of(waiter.claim.types);
  const WaitNumber number = waits_.add(reply_to, deadline, std::move(waiter));
  const core::Claim& claim = waits_.find(number)->item.claim;
  for (const SharedBytes& queue : claim.queues) by_queue_[queue.view()].insert(number);
  by_worker_[claim.worker.view()].insert(number);
  return number;
}

std::optional<WaitNumber> Waiters::next_of(std::string_view queue, WaitNumber after) const {
  const auto found = by_queue_.find(queue);
  if (found == by_queue_.end()) return std::nullopt;
  const auto next = found->second.upper_bound(after);
  if (next == found->second.end()) return std::nullopt;
  return *next;
}

Waiters::Entry Waiters::take(WaitNumber number) {
  Entry entry = waits_.take(number);
  for (const SharedBytes& queue : entry.item.claim.queues) forget(by_queue_, queue.view(), number);
  forget(by_worker_, entry.item.claim.worker.view(), number);
  return entry;
}

bool Waiters::cancel(const ReplyAddress& reply_to) {
  const std::optional<WaitNumber> number = waits_.number_of(reply_to);
  if (!number) return false;
  take(*number);
  return true;
}

std::vector<WaitNumber> Waiters::of_worker(std::string_view worker) const {
  const auto found = by_worker_.find(worker);
  if (found == by_worker_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void Waiters::stop_offering(WaitNumber number) {
  Entry& entry = *waits_.find(number);
  for (const SharedBytes& queue : entry.item.claim.queues) forget(by_queue_, queue.view(), number);
  entry.item.claim.queues.clear();
}

void Waiters::forget(Index& index, std::string_view name, WaitNumber number) {
  const auto found = index.find(name);
  if (found == index.end()) return;  // a queue named twice by one claim
  found->second.erase(number);
  if (found->second.empty()) index.erase(found);
}

}  // namespace millrace::engine
