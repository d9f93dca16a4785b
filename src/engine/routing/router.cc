#include "engine/routing/router.h"

#include <algorithm>
#include <utility>

#include "engine/kinds.h"

namespace millrace::engine {
namespace {

// A ticket for an exchange: its number, and the part's.
constexpr int kPartBits = 20;
constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;

// For requests whose answer is not needed.
constexpr Ticket kNobodysTicket{0};

constexpr std::chrono::seconds kSweepPause{5};

// One shard's answer is final: nothing needs to be looked up elsewhere.
bool is_final(const Request& request) {
  const engine::Route route = facts_of(request).route;
  return route != engine::Route::kByItem && route != engine::Route::kPoll;
}

// Takes the wanted elements, in order; the others keep their order too.
template <typename T, typename Wanted>
std::vector<T> take_if(std::vector<T>& from, Wanted wanted) {
  std::vector<T> taken;
  std::vector<T> left;
  for (T& item : from) (wanted(item) ? taken : left).push_back(std::move(item));
  from = std::move(left);
  return taken;
}

}  // namespace

Ticket Router::ticket_of(std::uint64_t exchange, std::size_t part) {
  return Ticket{exchange << kPartBits | (part & kPartMask)};
}

Router::Router(ShardNumber shards, const TimeSource& time, Peers* peers)
    : time_(time), peers_(peers) {
  for (ShardNumber shard = 0; shard < shards; ++shard) {
    routes_.push_back(std::make_unique<Route>());
  }
}
Router::~Router() = default;

void Router::lead_here(ShardNumber shard, Gateway& gateway) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  route.here = &gateway;
  route.there.clear();
}

void Router::led_there(ShardNumber shard, const std::string& url) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  route.here = nullptr;
  route.there = url;
}

void Router::hold(ShardNumber shard) { led_there(shard, {}); }

void Router::no_longer_here(ShardNumber shard, const Gateway& gateway) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  if (route.here == &gateway) route.here = nullptr;
}

bool Router::has_leader(ShardNumber shard) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  return route.here != nullptr || !route.there.empty();
}

bool Router::is_led_here(ShardNumber shard) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  return route.here != nullptr;
}

void Router::submit(Request request, ReplyPort& port, Ticket ticket, std::string_view credentials) {
  const std::optional<ShardNumber> shard = only_shard(request, shards());
  if (shard && (shards() == 1 || is_final(request))) {
    Route& route = *routes_[*shard];
    const MutexLock lock(route.mutex);
    if (route.here != nullptr) {
      route.here->submit(std::move(request), port, ticket, credentials);
      return;
    }
  }
  begin(make_exchange(*this, std::move(request), shard, {&port, ticket}, std::string(credentials)));
}

void Router::begin(std::shared_ptr<Exchange> exchange) {
  std::uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = next_number_++;
    exchanges_.emplace(number, exchange);
    by_address_[exchange->reply_to()] = number;
  }
  exchange->begin(number);
}

void Router::cancel(ReplyPort& port, Ticket ticket) {
  std::shared_ptr<Exchange> exchange;
  {
    const MutexLock lock(mutex_);
    if (const auto number = by_address_.find(ReplyAddress{&port, ticket});
        number != by_address_.end()) {
      if (const auto found = exchanges_.find(number->second); found != exchanges_.end()) {
        exchange = found->second;
      }
    }
  }
  if (exchange != nullptr) {
    exchange->cancel();
    return;
  }
  // The request went straight to one of the shards.
  for (const auto& route : routes_) {
    const MutexLock lock(route->mutex);
    if (route->here != nullptr) route->here->cancel(port, ticket);
  }
}

// --- For exchanges.

bool Router::give(ShardNumber shard, std::optional<Request>& request, Ticket ticket,
                  std::string_view credentials) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  if (route.here != nullptr) {
    route.here->submit(std::move(*request), *this, ticket, credentials);
    request.reset();
    return true;
  }
  if (route.there.empty() || peers_ == nullptr) return false;
  peers_->ask({route.there, shard}, *request, credentials, *this, ticket);
  return true;
}

void Router::hold_part(Held held) {
  const MutexLock lock(mutex_);
  held_.push_back(std::move(held));
}

void Router::ring_at(std::shared_ptr<Exchange> exchange, Instant at) {
  const MutexLock lock(mutex_);
  alarms_.push_back({std::move(exchange), at});
}

void Router::cancel_part(ShardNumber shard, Ticket ticket) {
  Route& route = *routes_[shard];
  const MutexLock lock(route.mutex);
  if (route.here != nullptr) route.here->cancel(*this, ticket);
  if (peers_ != nullptr) peers_->cancel(*this, ticket);
}

void Router::over(const Exchange& exchange) {
  const MutexLock lock(mutex_);
  const auto found = by_address_.find(exchange.reply_to());
  if (found != by_address_.end() && found->second == exchange.number_) by_address_.erase(found);
  exchanges_.erase(exchange.number_);
}

void Router::release_jobs(ShardNumber shard, core::Ack releases, std::string_view credentials) {
  std::optional<Request> request = core::Command(std::move(releases));
  give(shard, request, kNobodysTicket, credentials);
}

void Router::deliver(std::span<Delivery> deliveries) {
  for (Delivery& delivery : deliveries) {
    const auto number = static_cast<std::uint64_t>(delivery.ticket);
    std::shared_ptr<Exchange> exchange;
    {
      const MutexLock lock(mutex_);
      const auto found = exchanges_.find(number >> kPartBits);
      if (found != exchanges_.end()) exchange = found->second;
    }
    if (exchange != nullptr) {
      exchange->answer_came(number & kPartMask, std::move(delivery.answer));
    }
  }
}

bool Router::tick() {
  const Instant now = this->now();
  std::vector<Held> due;
  std::vector<Alarm> ringing;
  std::vector<std::shared_ptr<Exchange>> old;
  {
    const MutexLock lock(mutex_);
    due = take_if(held_, [&](const Held& held) { return held.not_before <= now; });
    ringing = take_if(alarms_, [&](const Alarm& alarm) { return alarm.at <= now; });
    if (now - swept_at_ > kSweepPause) {
      swept_at_ = now;
      for (const auto& [number, exchange] : exchanges_) old.push_back(exchange);
    }
  }
  for (const auto& exchange : old) {
    if (exchange->over_since(now)) over(*exchange);
  }
  for (const Alarm& alarm : ringing) alarm.exchange->ring();
  bool leader_wanted = false;
  for (Held& held : due) {
    leader_wanted |= !is_led_here(held.shard);
    if (has_leader(held.shard)) {
      held.exchange->send_again(held.part);
    } else if (now >= held.until) {
      held.exchange->refuse(held.part, Unavailable::kNoLeader);
    } else {
      held.not_before = now;
      hold_part(std::move(held));
    }
  }
  return leader_wanted;
}

}  // namespace millrace::engine
