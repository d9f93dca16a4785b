#include "sim/node.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "sim/views.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;

// As in server/node.cc.
constexpr auto kLookPause = 20ms;
constexpr auto kRetryPause = 100ms;
constexpr auto kOverhang = 5ms;
// How long a node that stops waits for others to take over.
constexpr auto kStopPatience = 10'000ms;
// Who is told that it is too old follows nothing after so long.
constexpr auto kFollowsNoLonger = 1'000ms;

}  // namespace

Node::Node(NodeId id, std::string name, std::uint32_t reads, const engine::ShardOptions& options,
           NodeClock::Faults clock, Parts parts)
    : facts_{id, "http://" + store::to_string(id), std::move(name), "simulated", reads},
      parts_(std::move(parts)),
      clock_(parts_.truth, clock) {
  engine::Peers& peers = parts_.network.join(id, facts_.url, *this);
  const std::uint32_t shards = parts_.database.shards();
  router_ = std::make_unique<engine::Router>(shards, clock_, &peers);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    Database::Shard& stored = parts_.database.shard(shard);
    fences_.push_back(std::make_unique<ShardFences>(*this, shard));
    stores_.push_back(
        open_view({.shard = shard,
                   .journal = [&stored]() -> store::MemoryJournal& { return stored.journal; },
                   .tables = [&stored]() -> store::MemoryTables& { return stored.tables; },
                   // What a read that fails while it serves comes to is the other world's: after it
                   // only the answers tell what was done, and here they may be lost.
                   .fault = [this](View::Read read) -> std::optional<Error> {
                     if (!cut_off_ || read == View::Read::kJobs) return std::nullopt;
                     return Error{"the database can't be reached"};
                   },
                   .reads = reads,
                   .fences = fences_.back().get()}));
  }
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    engine::ShardOptions mine = options;
    mine.shard = shard;
    mine.shards = shards;
    mine.store_format = store_format_;
    hosts_.push_back(std::make_shared<Host>(shard, mine,
                                            Host::Parts{.self = id,
                                                        .name = facts_.name,
                                                        .reads = reads,
                                                        .store = stores_[shard],
                                                        .database = parts_.database,
                                                        .chronicle = *parts_.chronicles[shard],
                                                        .effects = parts_.effects,
                                                        .router = *router_,
                                                        .peers = peers,
                                                        .time = clock_,
                                                        .changed = [this] { look_ = true; },
                                                        .next_ticket = parts_.next_ticket,
                                                        .answered = parts_.answered,
                                                        .marks = parts_.marks,
                                                        .story = parts_.story}));
  }
}

Node::~Node() { parts_.network.leave(id()); }

void Node::run_heard() {
  while (!heard_.empty()) {
    const Heard heard = std::move(heard_.front());
    heard_.pop_front();
    heard();
  }
}

void Node::run() {
  run_heard();
  run_keeper();
  for (const auto& host : hosts_) {
    host->run_host();
    host->run_driver();
  }
  router_->tick();
  for (const auto& host : hosts_) host->run_relay();
  check_obeys();
}

// N8: who is too old for the store follows nothing. What it leads it gives away: see Cluster.
void Node::check_obeys() {
  if (!too_old_since_) return;
  for (const auto& host : hosts_) {
    if (host->waits()) return;
  }
  for (const auto& host : hosts_) {
    demand(!host->follows() || clock_.since_boot() - *too_old_since_ <= kFollowsNoLonger, "N8",
           "{} follows a shard, and was told {} ms ago that the store is too new for it", name(),
           (clock_.since_boot() - *too_old_since_) / 1ms);
  }
}

// The shard waits meanwhile.
Result<std::vector<JobId>> Node::raise(std::uint32_t shard, std::span<const JobId> jobs,
                                       LeaseToken token) {
  using Fate = Database::Fate;
  const auto carry_out = [&database = parts_.database, shard, token, term = hosts_[shard]->epoch(),
                          those = std::vector<JobId>(jobs.begin(), jobs.end())] {
    return database.raise(shard, those, token, term);
  };
  Call call{Call::Kind::kFences, id(), shard,
            [carry_out]() -> Heard {
              (void)carry_out();
              return [] {};
            },
            [] {}};
  const Fate fate = parts_.fate(call);
  if (fate == Fate::kHeard) return carry_out();
  if (fate == Fate::kUnheard) (void)carry_out();
  if (fate == Fate::kLate) parts_.database.begin_late(std::move(call));
  return failure("the connection is lost");
}

// --- The keeper's thread.

void Node::run_keeper() {
  if (stopping_) go_on_stopping();
  if (renewing_ || gone_ || (stopping_ && stopping_->left)) return;
  if (look_) next_ = std::min(next_, renewed_at_ + kLookPause);
  if (clock_.since_boot() >= next_) renew();
}

void Node::renew() {
  look_ = false;
  renewing_ = true;
  const Instant seen_at = clock_.since_boot();
  renewed_at_ = seen_at;
  parts_.database.renew(
      facts_, [this, seen_at](const Result<store::ClusterView>& view) { renewed(seen_at, view); });
}

void Node::renewed(Instant seen_at, const Result<store::ClusterView>& view) {
  renewing_ = false;
  if (!view) {
    parts_.marks.hit_if(leads() > 0, Mark::kRenewalUnknown);
    if (!mutated(Mutant::kDoubtIgnored)) {
      lease_.doubt();
      for (const auto& host : hosts_) host->doubt();
    }
    next_ = clock_.since_boot() + kRetryPause;
    return;
  }
  const bool too_new = too_old(view->format);
  if (!std::exchange(joined_, true) && too_new) {
    parts_.marks.hit(Mark::kOldNodeRefused);
    refused_ = gone_ = true;
    return;
  }
  if (too_new && !too_old_since_) {
    parts_.marks.hit(Mark::kOldNodeTold);
    parts_.story.tell("{} is too old for the store", name());
    too_old_since_ = clock_.since_boot();
  }
  store_format_->heard(store::EventFormat{view->format});
  lease_.renewed(seen_at);
  for (const store::ShardView& shard : view->shards) hosts_[shard.shard]->renewed(seen_at, shard);
  give_orders(*view, seen_at);
  view_ = *view;
  next_ = next_renewal(view_);
}

void Node::give_orders(const store::ClusterView& view, Instant seen_at) {
  for (const auto& assignment : engine::assign(view, id())) {
    Orders orders{seen_at, view.shards[assignment.shard], assignment, {}, {}};
    orders.leader_url = url_of(view, orders.seen.leader);
    orders.owner_url = url_of(view, assignment.owner);
    hosts_[assignment.shard]->order(std::move(orders));
  }
}

std::string Node::url_of(const store::ClusterView& view, NodeId id) const {
  for (const store::NodeView& node : view.nodes) {
    if (node.facts.id == id && node.left > Duration{}) return node.facts.url;
  }
  return {};
}

Node::Instant Node::next_renewal(const store::ClusterView& view) const {
  Instant next = renewed_at_ + engine::Lease::kRenewPause;
  for (const store::NodeView& node : view.nodes) {
    if (node.facts.id == id() || node.left <= Duration{}) continue;
    next = std::min<Instant>(next, renewed_at_ + node.left + kOverhang);
  }
  return std::max<Instant>(next, clock_.since_boot() + kLookPause);
}

// --- Its end.

void Node::drain(bool draining) {
  parts_.database.begin(
      {Call::Kind::kRegistry, id(), 0,
       [this, draining, id = id(), &registry = parts_.database.registry()]() -> Heard {
         (void)registry.set_draining(id, draining);
         return [this] { look_ = true; };
       },
       [] {}});
}

void Node::stop() {
  if (stopping_) return;
  stopping_ = {clock_.since_boot() + kStopPatience, false};
  drain(true);
}

void Node::go_on_stopping() {
  if (stopping_->left) return;
  if (leads() > 0 && clock_.since_boot() < stopping_->until) return;
  parts_.marks.hit_if(leads() == 0, Mark::kLeftInOrder);
  for (const auto& host : hosts_) host->stop();
  stopping_->left = true;
  parts_.database.begin({Call::Kind::kRegistry, id(), 0,
                         [this, id = id(), &database = parts_.database]() -> Heard {
                           database.leave(id);
                           return [this] { gone_ = true; };
                         },
                         [this] { gone_ = true; }});
}

bool Node::busy() const {
  return !heard_.empty() ||
         std::ranges::any_of(hosts_, [](const auto& host) { return host->busy(); });
}

std::uint32_t Node::leads() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(hosts_, [](const auto& host) { return host->leads(); }));
}

std::shared_ptr<engine::Gateway> Node::led_shard(std::uint32_t shard) {
  return hosts_.at(shard)->takes_requests() ? hosts_[shard] : nullptr;
}

void Node::give_shard(std::uint32_t shard, std::uint64_t asker, Epoch epoch,
                      std::function<void(bool)> done) {
  hosts_.at(shard)->give(NodeId{asker}, epoch, std::move(done));
}

}  // namespace millrace::sim
