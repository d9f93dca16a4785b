// One of the nodes that share a PostgreSQL database.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "base/thread_name.h"
#include "base/version.h"
#include "http/peer/peer_client.h"
#include "server/node.h"
#include "server/process/system_time.h"
#include "server/shard/host_thread.h"
#include "server/shard/inbox_poller.h"
#include "server/shard/operation_courier.h"
#include "server/shard/relay_courier.h"
#include "server/stores/backend.h"
#include "store/event_codec.h"
#include "store/postgres/postgres_facts.h"
#include "store/postgres/postgres_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using SteadyClock = std::chrono::steady_clock;

// A first start, or one after a crash, waits until the former lease has expired.
constexpr auto kFirstPatience = 10'000ms;
constexpr auto kRouterPause = 20ms;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

store::NodeId make_node_id() {
  store::NodeId id = store::kNobody;
  while (id == store::kNobody) id = store::NodeId{system_random()};
  return id;
}

class PostgresBackend final : public Backend {
 public:
  PostgresBackend(BackendParts outside, std::unique_ptr<store::PostgresNode> database,
                  std::unique_ptr<store::Registry> registry, std::string secret,
                  std::vector<store::Store> stores)
      : outside_(std::move(outside)),
        database_(std::move(database)),
        registry_(std::move(registry)),
        secret_(std::move(secret)),
        store_id_(stores.front().id),
        parts_(std::move(stores), outside_.observer, outside_.log),
        peers_({}, {.secret = secret_,
                    .clock = clock_,
                    .log = outside_.log,
                    .seed = system_random(),
                    .tls = outside_.tls}),
        router_(parts_.shards(), system_time(), &peers_),
        self_(make_node_id()),
        inbox_(database_->make_inbox()),
        poller_({.inbox = *inbox_,
                 .terms = {.shards = parts_.shards(),
                           .limits = {.body_bytes = outside_.config.body_bytes,
                                      .payload_bytes = outside_.config.payload_bytes,
                                      .json_depth = outside_.config.json_depth},
                           .idempotency_window = outside_.config.idempotency_window,
                           .zones = outside_.driver.shard.zones},
                 .led = [this](std::uint32_t shard) { return hosts_[shard]->led(); },
                 .log = outside_.log}) {
    std::vector<HostThread*> hosts;
    for (std::uint32_t shard = 0; shard < parts_.shards(); ++shard) {
      relays_.push_back(std::make_unique<RelayCourier>(
          router_, *parts_.store(shard).tables,
          [this](std::function<void()> work) { boost::asio::post(relay_reader_, std::move(work)); },
          outside_.log));
      operations_.push_back(std::make_unique<OperationCourier>(
          shard, parts_.shards(),
          OperationCourier::Parts{.router = router_,
                                  .tables = *parts_.store(shard).tables,
                                  .journal = *parts_.store(shard).journal,
                                  .time = system_time(),
                                  .run = [this](std::function<void()> work) {
                                    boost::asio::post(operations_reader_, std::move(work));
                                  }}));
      hosts_.push_back(host(shard));
      hosts.push_back(hosts_.back().get());
    }
    node_ = std::make_unique<Node>(
        store::NodeFacts{.id = self_,
                         .url = {},
                         .name = host_name(),
                         .version = std::string(version()),
                         .newest_format = static_cast<std::uint32_t>(store::kNewestEventFormat)},
        std::move(hosts),
        Node::Parts{.registry = *registry_,
                    .time = system_time(),
                    .store_format = *store_format_,
                    .log = outside_.log});
  }
  ~PostgresBackend() override { stop(); }

  engine::Gateway& gateway() override { return router_; }
  ShardParts& parts() override { return parts_; }
  const std::string& store_id() const override { return store_id_; }
  std::string engine_version() const override {
    return "PostgreSQL " + database_->facts().version_text;
  }
  engine::PeerService* peer_service() override { return node_.get(); }
  std::string peer_secret() const override { return secret_; }

  std::vector<ShardReport> shards() const override {
    std::vector<ShardReport> reports;
    const auto view = cluster();
    for (std::uint32_t shard = 0; shard < hosts_.size(); ++shard) {
      HostThread::Status status = hosts_[shard]->status();
      ShardReport report{.shard = shard,
                         .role = static_cast<ShardReport::Role>(status.role),
                         .leader_url = {},
                         .followed = status.head,
                         .driver = std::move(status.driver),
                         .now = status.now};
      if (view && !report.driver) report.leader_url = leader_url(*view, shard);
      reports.push_back(std::move(report));
    }
    return reports;
  }
  std::vector<std::shared_ptr<engine::Gateway>> led() const override {
    std::vector<std::shared_ptr<engine::Gateway>> led;
    for (const auto& host : hosts_) {
      if (auto gateway = host->led()) led.push_back(std::move(gateway));
    }
    return led;
  }
  bool leads(std::uint32_t shard) const override { return hosts_[shard]->led() != nullptr; }
  std::optional<store::ClusterView> cluster() const override { return node_->view(); }
  store::NodeId self() const override { return self_; }
  Result<bool> set_draining(store::NodeId node, bool draining) override {
    auto done = registry_->set_draining(node, draining);
    node_->look();
    return done;
  }
  Result<std::optional<store::DatabaseFacts>> database_facts() override {
    return store::look_at_database(*database_);
  }
  std::shared_ptr<void> hold_trimming() override { return nullptr; }

  Status begin(const std::string& url) override {
    ticker_ = std::thread([this] { tick(); });
    poller_.start();
    if (Status joined = node_->join(url); !joined) return joined;
    outside_.log.info(
        "joined", {{"node", store::to_string(self_)}, {"url", url}, {"shards", parts_.shards()}});
    const auto until = SteadyClock::now() + kFirstPatience;
    while (!every_shard_is_led() && SteadyClock::now() < until) {
      std::this_thread::sleep_for(kRouterPause);
    }
    return {};
  }

  bool broken() const override { return false; }

  bool drain(Deadline deadline) override {
    if (node_->hand_everything_over(deadline)) return true;
    // No node exists that could take over. The semaphore is shared, because a host that is not done
    // in time may release it later.
    const auto drained = std::make_shared<std::counting_semaphore<>>(0);
    for (const auto& host : hosts_) host->drain([drained] { drained->release(); });
    return std::ranges::all_of(hosts_,
                               [&](const auto&) { return drained->try_acquire_until(deadline); });
  }

  void stop() override {
    if (stopped_) return;
    stopped_ = true;
    poller_.stop();
    node_->leave();
    peers_.stop();
    relay_reader_.stop();
    relay_reader_.join();
    operations_reader_.stop();
    operations_reader_.join();
    for (const auto& host : hosts_) host->stop();
    if (ticker_.joinable()) ticker_.join();
  }

 private:
  std::unique_ptr<HostThread> host(std::uint32_t shard) {
    return std::make_unique<HostThread>(
        shard, options_of(shard),
        HostThread::Parts{
            .self = self_,
            .store = parts_.store(shard),
            .registry = *registry_,
            .router = router_,
            .peers = peers_,
            .time = system_time(),
            .observer = parts_.observer(shard),
            .probe = outside_.metrics,
            .read_until = [this, shard] { return parts_.read_until(shard); },
            .begin_leading = [this, shard](Seq durable) { parts_.begin_leading(shard, durable); },
            .led =
                [this, shard](std::shared_ptr<engine::Gateway> gateway) {
                  operations_[shard]->begin(gateway);
                  relays_[shard]->begin(std::move(gateway));
                },
            .end_leading =
                [this, shard] {
                  operations_[shard]->end();
                  relays_[shard]->end();
                  parts_.end_leading(shard);
                },
            .changed = [this] { node_->look(); },
            .flush_semaphore = flush_semaphore_,
            .log = outside_.log});
  }
  // The process's limits are divided among the shards.
  DriverOptions options_of(std::uint32_t shard) const {
    DriverOptions options = outside_.driver;
    options.shard.shard = shard;
    options.shard.shards = parts_.shards();
    options.shard.store_format = store_format_;
    options.shard.machine.shards = parts_.shards();
    options.shard.machine.keep_bytes /= parts_.shards();
    // A key has a share on its own shard, and a book of all shares on the limit's.
    const std::uint32_t gates_of_key = parts_.shards() > 1 ? 2 : 1;
    options.shard.machine.max_limit_keys /= gates_of_key * parts_.shards();
    options.shard.machine.max_queues = options.max_queues(parts_.shards());
    options.shard.max_bytes_held /= parts_.shards();
    return options;
  }

  // The URL of a shard's leader on another node; empty if it has no live leader. A former process
  // at this node's URL is not live, even if its lease has not expired. A shard that this node has
  // taken but does not serve yet has no leader either.
  std::string leader_url(const store::ClusterView& view, std::uint32_t shard) const {
    const auto seen = std::ranges::find(view.shards, shard, &store::ShardView::shard);
    if (seen == view.shards.end()) return {};
    const auto with_id = [&](const store::NodeId& id) {
      return std::ranges::find(view.nodes, id,
                               [](const store::NodeView& node) { return node.facts.id; });
    };
    const auto leader = with_id(seen->leader);
    if (leader == view.nodes.end() || leader->left <= Duration{}) return {};
    const auto self = with_id(self_);
    const bool here = self != view.nodes.end() && self->facts.url == leader->facts.url;
    return here ? std::string() : leader->facts.url;
  }
  bool every_shard_is_led() const {
    return std::ranges::all_of(shards(), [](const ShardReport& report) {
      return report.driver.has_value() || !report.leader_url.empty();
    });
  }

  void tick() {
    name_this_thread("router");
    while (!stopped_) {
      std::this_thread::sleep_for(kRouterPause);
      if (router_.tick()) node_->look();
      for (const auto& relay : relays_) relay->tick();
      for (const auto& operations : operations_) operations->tick();
    }
  }

  const BackendParts outside_;
  const SystemClock clock_;
  std::unique_ptr<store::PostgresNode> database_;
  std::unique_ptr<store::Registry> registry_;
  const std::string secret_;
  const std::string store_id_;
  ShardParts parts_;
  const std::shared_ptr<engine::StoreFormat> store_format_ =
      std::make_shared<engine::StoreFormat>();
  FlushSemaphore flush_semaphore_{store::PostgresNode::kFlushesAtOnce};
  http::PeerClient peers_;
  engine::Router router_;
  const store::NodeId self_;
  std::vector<std::unique_ptr<RelayCourier>> relays_;
  std::vector<std::unique_ptr<OperationCourier>> operations_;
  boost::asio::thread_pool operations_reader_{2};  // outlives the shards
  boost::asio::thread_pool relay_reader_{1};       // outlives the shards
  std::unique_ptr<store::Inbox> inbox_;
  InboxPoller poller_;  // outlives the shards
  std::vector<std::unique_ptr<HostThread>> hosts_;
  std::unique_ptr<Node> node_;
  std::atomic<bool> stopped_ = false;
  std::thread ticker_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_postgres_backend(BackendParts parts) {
  auto database =
      store::PostgresNode::open({.url = parts.config.postgres,
                                 .clock = [] { return SteadyClock::now(); },
                                 .log = parts.log,
                                 .allow_unsafe = parts.config.allow_unsafe_postgres,
                                 .shards = static_cast<std::uint32_t>(parts.config.shards)});
  if (!database) return std::unexpected(std::move(database.error()));
  std::vector<store::Store> stores;
  for (std::uint32_t shard = 0; shard < (*database)->shards(); ++shard) {
    auto store = (*database)->open_shard(shard);
    if (!store) return std::unexpected(std::move(store.error()));
    stores.push_back(std::move(*store));
  }
  auto registry = (*database)->make_registry();
  auto secret = registry->secret();
  if (!secret) return std::unexpected(std::move(secret.error()));
  return std::make_unique<PostgresBackend>(std::move(parts), std::move(*database),
                                           std::move(registry), std::move(*secret),
                                           std::move(stores));
}

}  // namespace millrace::server
