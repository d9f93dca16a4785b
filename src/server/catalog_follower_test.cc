#include "server/catalog_follower.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace millrace::server {
namespace {

// The first shard, with scripted answers.
class FirstShard final : public engine::Gateway {
 public:
  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials) override {
    EXPECT_EQ(credentials, engine::kNodesOwn);
    const auto& get = std::get<core::GetCatalog>(std::get<core::Command>(request));
    engine::Delivery delivery{ticket, engine::Unavailable::kNoLeader};
    if (upgrading) {
      delivery.answer = engine::Unavailable::kUpgrading;
    } else if (led) {
      core::CatalogReply reply;
      reply.total = 1;
      if (get.since == 0) {
        core::CatalogEntry& entry = reply.entries.emplace_back();
        entry.name = SharedBytes("a");
        entry.revision = 7;
      }
      delivery.answer = core::Reply(std::move(reply));
    }
    port.deliver(std::span(&delivery, 1));
  }
  void cancel(engine::ReplyPort&, engine::Ticket) override {}

  std::atomic<bool> upgrading = false;
  std::atomic<bool> led = false;
};

bool eventually(const auto& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

TEST(CatalogFollower, HearsTheShardOnceItIsLed) {
  FirstShard shard;
  service::Catalog catalog;
  CatalogFollower follower(shard, catalog);
  std::this_thread::sleep_for(2 * service::kCatalogPause);
  EXPECT_EQ(catalog.heard_at(), Steady::min());
  shard.led = true;
  EXPECT_TRUE(eventually([&] { return catalog.heard_at() != Steady::min(); }));
  EXPECT_NE(catalog.snapshot()->find(core::CatalogKind::kToken, "a"), nullptr);
  follower.stop();
}

// Otherwise a newer node would never be ready beside older ones, and no upgrade could be completed.
TEST(CatalogFollower, AnOlderLeaderHasNoCatalog) {
  FirstShard shard;
  shard.upgrading = true;
  service::Catalog catalog;
  CatalogFollower follower(shard, catalog);
  EXPECT_TRUE(eventually([&] { return catalog.heard_at() != Steady::min(); }));
  EXPECT_TRUE(catalog.snapshot()->entries.empty());
  shard.led = true;
  shard.upgrading = false;
  EXPECT_TRUE(eventually([&] { return catalog.snapshot()->entries.size() == 1; }));
}

}  // namespace
}  // namespace millrace::server
