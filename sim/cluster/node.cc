#include "sim/cluster/node.h"

#include <algorithm>
#include <utility>

#include "sim/cluster/views.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;

// How long a stopping node waits for others to take over.
constexpr auto kStopPatience = 10'000ms;
// How soon a node that is told it is too old must stop following.
constexpr auto kFollowsNoLonger = 1'000ms;

}  // namespace

Node::Node(NodeId id, std::string name, std::uint32_t reads, const engine::ShardOptions& options,
           NodeClock::Faults clock, Parts parts)
    : parts_(std::move(parts)), clock_(parts_.truth, clock) {
  const store::NodeFacts self{id, "http://" + store::to_string(id), std::move(name), "simulated",
                              reads};
  engine::Peers& peers = parts_.network.join(id, self.url, *this);
  const std::uint32_t shards = parts_.database.shards();
  router_ = std::make_unique<engine::Router>(shards, clock_, &peers);
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    Database::Shard& stored = parts_.database.shard(shard);
    fences_.push_back(std::make_unique<ShardFences>(*this, shard));
    stores_.push_back(
        open_view({.shard = shard,
                   .journal = [&stored]() -> store::MemoryJournal& { return stored.journal; },
                   .tables = [&stored]() -> store::MemoryTables& { return stored.tables; },
                   // Failed reads of jobs while a node serves are tested in the other world. After
                   // such a read only the answers tell what was done, and in this world they may be
                   // lost.
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
    mine.machine.shard = shard;
    mine.machine.shards = shards;
    mine.store_format = store_format_;
    mine.time = &clock_;
    hosts_.push_back(std::make_shared<Host>(shard, mine,
                                            Host::Parts{.self = id,
                                                        .name = self.name,
                                                        .reads = reads,
                                                        .shards = shards,
                                                        .operates = parts_.operates,
                                                        .store = stores_[shard],
                                                        .database = parts_.database,
                                                        .chronicle = *parts_.chronicles[shard],
                                                        .effects = parts_.effects,
                                                        .zones = parts_.zones,
                                                        .router = *router_,
                                                        .peers = peers,
                                                        .time = clock_,
                                                        .changed = [this] { membership_->look(); },
                                                        .next_ticket = parts_.next_ticket,
                                                        .answered = parts_.answered,
                                                        .marks = parts_.marks,
                                                        .story = parts_.story}));
  }
  std::vector<node::Host*> hosts;
  for (const auto& host : hosts_) hosts.push_back(host.get());
  membership_ =
      std::make_unique<node::Membership>(self, std::move(hosts), *store_format_, Logger());
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
  if (router_->tick()) membership_->look();
  for (const auto& host : hosts_) host->run_relay();
  check_obeys();
}

// N8: a node too old for the store follows nothing. It also gives away its shards: see Cluster.
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

// The shard waits for the result.
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

// --- The keeper thread.

void Node::run_keeper() {
  if (stopping_) go_on_stopping();
  if (renewing_ || gone_ || clock_.since_boot() < membership_->next_renewal()) return;
  renew();
}

void Node::renew() {
  renewing_ = true;
  parts_.database.renew(membership_->begin_renewal(clock_.since_boot()),
                        [this](const Result<store::ClusterView>& view) { renewed(view); });
}

void Node::renewed(const Result<store::ClusterView>& view) {
  renewing_ = false;
  parts_.marks.hit_if(!view && leads() > 0, Mark::kRenewalUnknown);
  if (!membership_->renewed(view, clock_.since_boot())) {
    refused_ = membership_->too_old();
    parts_.marks.hit_if(refused_, Mark::kOldNodeRefused);
    gone_ = true;
  } else if (membership_->too_old() && !too_old_since_) {
    parts_.marks.hit(Mark::kOldNodeTold);
    parts_.story.tell("{} is too old for the store", name());
    too_old_since_ = clock_.since_boot();
  }
}

// --- Leaving, as in server/stores/postgres_backend.cc.

void Node::drain(bool draining) {
  parts_.database.begin(
      {Call::Kind::kRegistry, id(), 0,
       [this, draining, id = id(), &registry = parts_.database.registry()]() -> Heard {
         (void)registry.set_draining(id, draining);
         return [this] { membership_->look(); };
       },
       [] {}});
}

void Node::stop() {
  if (stopping_) return;
  stopping_ = Stopping::kTells;
  stops_until_ = clock_.since_boot() + kStopPatience;
  parts_.database.begin({Call::Kind::kRegistry, id(), 0,
                         [this, id = id(), &registry = parts_.database.registry()]() -> Heard {
                           (void)registry.set_draining(id, true);
                           return [this] {
                             stopping_ = Stopping::kHandsOver;
                             membership_->look();
                           };
                         },
                         [this] { stopping_ = Stopping::kLeaves; }});
}

void Node::go_on_stopping() {
  using Handover = node::Membership::Handover;
  if (stopping_ == Stopping::kHandsOver) {
    const Handover stands = membership_->handover(clock_.since_boot(), stops_until_);
    if (stands == Handover::kGoesOn) return;
    parts_.marks.hit_if(stands == Handover::kDone, Mark::kLeftInOrder);
    stopping_ = Stopping::kLeaves;
  }
  if (stopping_ == Stopping::kLeaves && !renewing_) leave();
}

void Node::leave() {
  stopping_ = Stopping::kHasLeft;
  for (const auto& host : hosts_) host->end_intake();
  membership_->leave();
  parts_.database.begin({Call::Kind::kRegistry, id(), 0,
                         [this, id = id(), &database = parts_.database]() -> Heard {
                           database.leave(id);
                           return [this] { left(); };
                         },
                         [this] { left(); }});
}

void Node::left() {
  for (const auto& host : hosts_) host->stop();
  gone_ = true;
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

void Node::give_shard(std::uint32_t shard, std::uint64_t requester, Epoch epoch,
                      std::function<void(bool)> done) {
  hosts_.at(shard)->give(NodeId{requester}, epoch, std::move(done));
}

}  // namespace millrace::sim
