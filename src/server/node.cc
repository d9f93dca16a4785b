#include "server/node.h"

#include <chrono>
#include <utility>

#include "base/thread_name.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;

// How often a stopping node checks whether its shards have gone to other nodes.
constexpr auto kHandoverPause = 20ms;

}  // namespace

Node::Node(store::NodeFacts self, std::vector<HostThread*> hosts, Parts parts)
    : self_(self.id),
      hosts_(std::move(hosts)),
      parts_(std::move(parts)),
      membership_(std::move(self), {hosts_.begin(), hosts_.end()}, parts_.store_format,
                  parts_.log) {}

Node::~Node() { stop_renewing(); }

void Node::stop_renewing() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Node::join(const std::string& url) {
  {
    const MutexLock lock(mutex_);
    membership_.reached_at(url);
  }
  if (Status joined = renew(); !joined) return joined;
  thread_ = std::thread([this] { run(); });
  return {};
}

void Node::run() {
  name_this_thread("node");
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!stopping_) {
        const auto left = membership_.next_renewal() - parts_.time.since_boot();
        if (left <= std::chrono::nanoseconds{0}) break;
        wake_.wait_until(mutex_, Clock::now() + left);
      }
      if (stopping_) return;
    }
    (void)renew();  // only the first renewal can be refused
  }
}

Status Node::renew() {
  store::NodeFacts self;
  {
    const MutexLock lock(mutex_);
    self = membership_.begin_renewal(parts_.time.since_boot());
  }
  auto view = parts_.registry.renew(self, Duration{engine::LeaderLease::kLength});
  const MutexLock lock(mutex_);
  return membership_.renewed(std::move(view), parts_.time.since_boot());
}

void Node::look() {
  {
    const MutexLock lock(mutex_);
    membership_.look();
  }
  wake_.notify_all();
}

store::ClusterView Node::view() const {
  const MutexLock lock(mutex_);
  return membership_.view();
}

bool Node::hand_everything_over(Clock::time_point until) {
  if (const auto set = parts_.registry.set_draining(self_, true); !set) {
    parts_.log.warn("this node can't tell the others that it is stopping",
                    {{"reason", set.error().message}});
    return false;
  }
  look();
  const auto end = parts_.time.since_boot() + (until - Clock::now());
  while (true) {
    {
      const MutexLock lock(mutex_);
      using Handover = node::Membership::Handover;
      const Handover stands = membership_.handover(parts_.time.since_boot(), end);
      if (stands != Handover::kGoesOn) return stands == Handover::kDone;
    }
    std::this_thread::sleep_for(kHandoverPause);
  }
}

void Node::leave() {
  stop_renewing();
  {
    const MutexLock lock(mutex_);
    membership_.leave();
  }
  if (const Status left = parts_.registry.leave(self_); !left) {
    parts_.log.warn(
        "this node could not end its lease; the others notice its stop when the lease expires",
        {{"reason", left.error().message}});
  }
}

std::shared_ptr<engine::Gateway> Node::led_shard(std::uint32_t shard) {
  return shard < hosts_.size() ? hosts_[shard]->led() : nullptr;
}

void Node::give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                      std::function<void(bool)> done) {
  if (shard >= hosts_.size()) return done(false);
  hosts_[shard]->give(store::NodeId{requester}, epoch, std::move(done));
}

}  // namespace millrace::server
