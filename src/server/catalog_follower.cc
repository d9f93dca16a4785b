#include "server/catalog_follower.h"

#include <chrono>
#include <utility>
#include <variant>

#include "base/thread_name.h"

namespace millrace::server {
namespace {

constexpr engine::Ticket kTicket{1};

}  // namespace

CatalogFollower::CatalogFollower(engine::Gateway& gateway, service::Catalog& catalog)
    : gateway_(gateway), catalog_(catalog), thread_([this] { run(); }) {}

CatalogFollower::~CatalogFollower() { stop(); }

void CatalogFollower::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CatalogFollower::run() {
  name_this_thread("catalog");
  const MutexLock lock(mutex_);
  while (!stopping_) {
    const auto asked_at = std::chrono::steady_clock::now();
    std::optional<core::CatalogReply> reply = ask();
    if (reply && catalog_.take(std::move(*reply), asked_at)) continue;
    const auto until = asked_at + service::kCatalogPause;
    while (!stopping_ && changed_.wait_until(mutex_, until)) {
    }
  }
}

std::optional<core::CatalogReply> CatalogFollower::ask() {
  answer_.reset();
  core::Command command = catalog_.next();
  // The answer may come before submit() returns.
  mutex_.unlock();
  gateway_.submit(std::move(command), *this, kTicket, engine::kNodesOwn);
  mutex_.lock();
  // Every request is answered, even if its shard has no leader or stops.
  while (!answer_) changed_.wait(mutex_);
  // An older node leads the first shard. No entry can be made while it takes part, so the catalog
  // is empty.
  const auto* const why = std::get_if<engine::Unavailable>(&*answer_);
  if (why != nullptr && *why == engine::Unavailable::kUpgrading) return core::CatalogReply{};
  auto* const reply = std::get_if<core::Reply>(&*answer_);
  auto* const catalog = reply == nullptr ? nullptr : std::get_if<core::CatalogReply>(reply);
  if (catalog == nullptr) return std::nullopt;
  return std::move(*catalog);
}

void CatalogFollower::deliver(std::span<engine::Delivery> deliveries) {
  const MutexLock lock(mutex_);
  for (engine::Delivery& delivery : deliveries) answer_ = std::move(delivery.answer);
  changed_.notify_all();
}

}  // namespace millrace::server
