#include "sim/cluster/host.h"

#include <algorithm>
#include <utility>

#include "sim/violation.h"

namespace millrace::sim {
namespace {

// How often a follower's state is compared.
constexpr std::uint64_t kRowsBetweenLooks = 8;

}  // namespace

Host::Host(std::uint32_t shard, const engine::ShardOptions& options, Parts parts)
    : number_(shard),
      parts_(std::move(parts)),
      lease_(parts_.self),
      host_({.self = parts_.self,
             .options = options,
             .store = parts_.store,
             .router = parts_.router,
             .time = parts_.time,
             .observer = *this,
             .runner = *this,
             .log = {}}),
      relay_(shard, *parts_.store.tables, parts_.router, parts_.effects),
      operations_(shard, parts_.shards, *parts_.store.tables, parts_.router),
      poller_({.self = parts_.self,
               .name = parts_.name,
               .shard = shard,
               .database = parts_.database,
               .bring =
                   [this](core::Command command, engine::FromInbox from, engine::Ticket ticket) {
                     const bool row = from.row != store::InboxKey{};
                     post(std::move(command), {&poller_, ticket, By::kClient, from.round},
                          row ? std::optional(from) : std::nullopt);
                   },
               .story = parts_.story}) {}

Host::~Host() = default;

void Host::order(node::ShardOrders orders) {
  host_.order(std::move(orders));
  news();
}

void Host::renewed(node::Instant at, const store::ShardView& seen) {
  lease_.renewed(at, seen);
  if (holds()) parts_.chronicle.served(term_, shard_time());
}

void Host::doubt() {
  lease_.doubt();
  doubted_ = decided_;
}

void Host::give(NodeId requester, Epoch epoch, std::function<void(bool)> done) {
  host_.give({requester, epoch, std::move(done)});
  news();
}

// --- Its thread.

void Host::run_host() {
  if (calls_ || stopped_) return;
  if (!std::exchange(news_, false) && now() < host_.wakes_at()) return;
  const std::optional<Seq> before = followed();
  if (const auto call = host_.step()) carry_out(*call);
  look_at_follower(before);
}

std::optional<Seq> Host::followed() const {
  return follows() ? std::optional(host_.follower()->head()) : std::nullopt;
}

void Host::look_at_follower(std::optional<Seq> before) {
  const std::optional<Seq> head = followed();
  if (head && !before) {
    parts_.story.tell("{} follows shard {} from row {} on", parts_.name, number_, to_number(*head));
  } else if (before && !head) {
    parts_.story.tell("{} follows shard {} no longer", parts_.name, number_);
    const auto extent = parts_.database.shard(number_).journal.extent();
    parts_.marks.hit_if(extent->oldest > next(*before), Mark::kFollowerLeftBehind);
  }
  const bool looks = head && head != before && to_number(*head) % kRowsBetweenLooks == 0;
  if (!looks || head != parts_.chronicle.newest()) return;
  demand(host_.follower()->machine().digest() == parts_.chronicle.digest(), "S7",
         "{} follows shard {} into another state at row {}", parts_.name, number_,
         to_number(*head));
}

// The host waits until it learns the result.
void Host::carry_out(const node::HostCall& call) {
  calls_ = true;
  store::MemoryRegistry& registry = parts_.database.registry();
  if (const auto* const take = std::get_if<node::TakeShard>(&call)) {
    parts_.database.begin({Call::Kind::kRegistry, parts_.self, number_,
                           [this, take = *take, self = parts_.self, &registry]() -> Heard {
                             return [this, term = registry.take(self, take.seen, take.at_least)] {
                               taken(term);
                             };
                           },
                           [this] { taken(failure("the connection is lost")); }});
  } else if (const auto* const give = std::get_if<node::HandOverShard>(&call)) {
    parts_.database.begin(
        {Call::Kind::kRegistry, parts_.self, number_,
         [this, give = *give, self = parts_.self, shard = number_, &registry]() -> Heard {
           return
               [this, to = give.to, done = registry.hand_over(self, shard, give.epoch, give.to)] {
                 given(to, done);
               };
         },
         [this, to = give->to] { given(to, failure("the connection is lost")); }});
  }
}

void Host::taken(const Result<std::optional<store::Term>>& term) {
  calls_ = false;
  if (stopped_) return;  // its node has left
  if (term && *term) parts_.database.show_taken(parts_.self, number_, (*term)->epoch);
  const std::optional<Seq> head = followed();
  const bool behind = head && *head < parts_.chronicle.newest();
  host_.taken(term);
  parts_.marks.hit_if(leads() && behind, Mark::kFollowerCaughtUp);
  news();
}

void Host::given(NodeId to, const Result<bool>& given) {
  calls_ = false;
  if (stopped_) return;
  const bool yes = given && *given;
  parts_.marks.hit_if(yes, Mark::kHandedOver);
  parts_.story.tell("{} {} shard {} to node {}", parts_.name,
                    yes ? "gives away" : "perhaps gave away", number_, store::to_string(to));
  host_.given(given);
  news();
}

void Host::ask_for(const engine::PeerShard& where, Epoch epoch) {
  parts_.story.tell("{} asks for shard {}", parts_.name, number_);
  parts_.peers.ask_for_shard(where, to_number(parts_.self), epoch, [this](bool given) {
    if (!given) return;
    host_.received();
    news();
  });
}

// --- Running the shard.

engine::Gateway& Host::run(std::unique_ptr<engine::Shard> shard) {
  ++life_;
  belief_ = {};
  loop_ = std::make_unique<node::ShardLoop>(
      std::move(shard),
      node::ShardLoop::Parts{
          .time = parts_.time, .hands = *this, .lease = &lease_.lease(), .log = {}});
  loop_->begin();
  term_ = parts_.chronicle.begin(*row_, this->shard().machine().facts().at);
  durable_ = Seq{to_number(row_->seq) - 1};
  return *this;
}

void Host::serve(Epoch epoch, node::Instant since, node::Instant renewed_at) {
  epoch_ = epoch;
  lease_.lead(epoch, since, renewed_at);
  parts_.marks.hit_if(shard().machine().live_leases() > 0, Mark::kTakenWithLeases);
  parts_.story.tell("{} leads shard {} from row {} on, epoch {}, {} jobs, {} leases", parts_.name,
                    number_, to_number(durable_) + 1, to_number(epoch),
                    shard().machine().jobs_in_memory(), shard().machine().live_leases());
  relay_.begin(*this, static_cast<std::uint64_t>(term_));
  if (parts_.operates) operations_.begin(*this);
  poller_.begin();
}

std::optional<node::ShardHost::Runner::Ended> Host::ended() const {
  if (!shard().ended()) return std::nullopt;
  return Ended{*shard().ended(), shard().broken()};
}

void Host::resign() {
  resigning_ = true;
  inbox_.resign = true;
}

void Host::stop() {
  stopped_ = true;
  host_.drop();
}

void Host::drop() {
  parts_.story.tell("{} does not lead shard {} any more{}{}", parts_.name, number_,
                    shard().ended() ? ": " : "", shard().ended().value_or(""));
  lease_.end();
  parts_.router.no_longer_here(number_, *this);
  row_ = nullptr;
  inbox_.depose = "another node leads the shard";
  inbox_.stop = true;
  run_driver();
  relay_.end();
  operations_.end();
  poller_.end();
  turn_mail_away();
  ++life_;
  loop_.reset();
  inbox_ = {};
  asked_.clear();
  row_since_.reset();
  not_before_append_ = {};
  append_failures_ = 0;
  step_budget_.decided();
  closing_ = {};
  doubt_began_.reset();
  resigning_ = turns_away_ = doubted_ = decided_ = false;
}

// Refuses mail that will not be taken any more.
void Host::turn_mail_away() {
  for (const node::ShardLoop::Mail& mail : std::exchange(inbox_.mail, {})) {
    const auto asked = asked_.extract(mail.ticket);
    if (!mail.request || asked.empty()) continue;
    engine::Delivery delivery{asked.mapped().ticket, engine::Unavailable::kNoLeader};
    asked.mapped().port->deliver({&delivery, 1});
  }
}

// Does the work of the server's inbox, which checks for leadership, and of its ticker.
void Host::run_relay() {
  relay_.tick();
  operations_.tick(now(), parts_.time.wall());
  if (!takes_requests()) poller_.end();
  poller_.tick(now());
}

bool Host::busy() const {
  const bool driver = leads() && (!inbox_.mail.empty() || inbox_.appended || inbox_.flushed ||
                                  loop_->appending() || loop_->flushing());
  return driver || relay_.busy() || operations_.busy() || calls_ || news_ || host_.giving();
}

}  // namespace millrace::sim
