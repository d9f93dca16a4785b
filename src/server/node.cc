#include "server/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;

// Between two looks that were asked for.
constexpr auto kLookPause = 20ms;
constexpr auto kRetryPause = 100ms;
// After another node's lease is over, so that the look finds it so.
constexpr auto kOverhang = 5ms;

std::string too_new(const store::ClusterView& view, const store::NodeFacts& self) {
  return fmt::format(
      "the store is of format {}, written by a newer Millrace: this one ({}) reads up to {}. "
      "Start the newer version",
      view.format, self.version, self.newest_format);
}

}  // namespace

Node::Node(store::NodeFacts self, std::vector<ShardHost*> hosts, Parts parts)
    : self_(std::move(self)), hosts_(std::move(hosts)), parts_(std::move(parts)) {}

Node::~Node() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Node::join(const std::string& url) {
  self_.url = url;
  if (Status joined = renew(); !joined) return joined;
  if (const auto seen = view(); seen.format > self_.newest_format) {
    return failure(too_new(seen, self_));
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

void Node::run() {
  name_this_thread("node");
  auto next = next_renewal(view());
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && Clock::now() < next) {
        if (look_ && failures_ == 0) next = std::min(next, renewed_at_ + kLookPause);
        if (Clock::now() < next) wake_.wait_until(mutex_, next);
      }
      if (stopping_) return;
      look_ = false;
    }
    next = renew() ? next_renewal(view()) : Clock::now() + kRetryPause;
  }
}

Status Node::renew() {
  const auto seen_at = parts_.time.since_boot();
  renewed_at_ = Clock::now();
  auto renewed = parts_.registry.renew(self_, Duration{engine::Lease::kLength});
  if (!renewed) {
    lease_.doubt();
    for (ShardHost* const host : hosts_) host->doubt();
    if (failures_++ == 0) {
      parts_.log.warn("the lease can't be renewed", {{"reason", renewed.error().message}});
    }
    return std::unexpected(std::move(renewed.error()));
  }
  if (std::exchange(failures_, 0) > 0) parts_.log.info("the lease is renewed again", {});
  parts_.store_format.heard(store::EventFormat{renewed->format});
  lease_.renewed(seen_at);
  for (const store::ShardView& shard : renewed->shards) {
    if (shard.shard < hosts_.size()) hosts_[shard.shard]->renewed(seen_at, shard);
  }
  if (renewed->format > self_.newest_format && view().format <= self_.newest_format) {
    parts_.log.error("this node leads and follows nothing any more",
                     {{"reason", too_new(*renewed, self_)}});
  }
  give_orders(*renewed, seen_at);
  const MutexLock lock(mutex_);
  view_ = std::move(*renewed);
  return {};
}

void Node::give_orders(const store::ClusterView& view, std::chrono::nanoseconds seen_at) {
  for (const engine::Assignment& assignment : engine::assign(view, self_.id)) {
    if (assignment.shard >= hosts_.size()) continue;
    ShardOrders orders{seen_at, {}, assignment, {}, url_of(view, assignment.owner)};
    const auto seen = std::ranges::find(view.shards, assignment.shard, &store::ShardView::shard);
    orders.seen = *seen;
    orders.leader_url = url_of(view, seen->leader);
    hosts_[assignment.shard]->order(std::move(orders));
  }
}

std::string Node::url_of(const store::ClusterView& view, store::NodeId id) const {
  for (const store::NodeView& node : view.nodes) {
    if (node.facts.id == id && node.left > Duration{}) return node.facts.url;
  }
  return {};
}

// The own lease's time, or the end of another's who leads something.
Node::Clock::time_point Node::next_renewal(const store::ClusterView& view) const {
  auto next = renewed_at_ + engine::Lease::kRenewPause;
  for (const store::NodeView& node : view.nodes) {
    if (node.facts.id == self_.id || node.left <= Duration{}) continue;
    next = std::min(next, renewed_at_ + node.left + kOverhang);
  }
  return std::max(next, Clock::now() + kLookPause);
}

void Node::look() {
  {
    const MutexLock lock(mutex_);
    look_ = true;
  }
  wake_.notify_all();
}

store::ClusterView Node::view() const {
  const MutexLock lock(mutex_);
  return view_;
}

bool Node::leads_nothing() const {
  return std::ranges::all_of(hosts_, [](const ShardHost* host) {
    return host->status().role != ShardHost::Status::Role::kLeads;
  });
}

bool Node::hand_everything_over(Clock::time_point until) {
  if (const auto set = parts_.registry.set_draining(self_.id, true); !set) {
    parts_.log.warn("the others can't be told that this node stops",
                    {{"reason", set.error().message}});
    return false;
  }
  look();
  while (!leads_nothing()) {
    const store::ClusterView view = this->view();
    const auto could_lead = [&](const store::NodeView& node) {
      return node.facts.id != self_.id && engine::can_lead(node, view);
    };
    if (std::ranges::none_of(view.nodes, could_lead) || Clock::now() >= until) return false;
    std::this_thread::sleep_for(kLookPause);
  }
  return true;
}

void Node::leave() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Another may lead from the moment that the registry knows.
  lease_.doubt();
  for (ShardHost* const host : hosts_) host->doubt();
  if (const Status left = parts_.registry.leave(self_.id); !left) {
    parts_.log.warn("the others learn that this node is gone when its lease is over",
                    {{"reason", left.error().message}});
  }
}

std::shared_ptr<engine::Gateway> Node::led_shard(std::uint32_t shard) {
  return shard < hosts_.size() ? hosts_[shard]->led() : nullptr;
}

void Node::give_shard(std::uint32_t shard, std::uint64_t asker, Epoch epoch,
                      std::function<void(bool)> done) {
  if (shard >= hosts_.size()) return done(false);
  hosts_[shard]->give(store::NodeId{asker}, epoch, std::move(done));
}

}  // namespace millrace::server
