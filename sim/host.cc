#include "sim/host.h"

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
      poller_({.self = parts_.self,
               .name = parts_.name,
               .shard = shard,
               .database = parts_.database,
               .bring =
                   [this](core::Command command, engine::FromInbox from, engine::Ticket ticket) {
                     mail_.push_back({&poller_, ticket, std::move(command), By::kClient, from});
                   },
               .story = parts_.story}) {}

Host::~Host() = default;

void Host::order(node::ShardOrders orders) {
  host_.order(std::move(orders));
  news();
}

void Host::renewed(node::Instant at, const store::ShardView& seen) {
  lease_.renewed(at, seen);
  if (holds()) parts_.chronicle.served(term_, clock_->now());
}

void Host::doubt() {
  lease_.doubt();
  doubted_ = decided_;
}

void Host::give(NodeId asker, Epoch epoch, std::function<void(bool)> done) {
  host_.give({asker, epoch, std::move(done)});
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

// It waits until it hears of it.
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
  if (term && *term) parts_.database.show_taken(parts_.self, number_, (*term)->epoch);
  const std::optional<Seq> head = followed();
  const bool behind = head && *head < parts_.chronicle.newest();
  host_.taken(term);
  parts_.marks.hit_if(leads() && behind, Mark::kFollowerCaughtUp);
  news();
}

void Host::given(NodeId to, const Result<bool>& given) {
  calls_ = false;
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

// --- What runs the shard.

engine::Gateway& Host::run(std::unique_ptr<engine::Shard> shard) {
  shard_ = std::move(shard);
  ++life_;
  clock_.emplace(parts_.time, shard_->machine().facts().at);
  slept_at_ = clock_->now();
  const store::JournalRow* const first = shard_->next_append();
  term_ = parts_.chronicle.begin(*first, shard_->machine().facts().at);
  durable_ = Seq{to_number(first->seq) - 1};
  begin_append(*first);
  return *this;
}

void Host::serve(Epoch epoch, node::Instant since, node::Instant renewed_at) {
  epoch_ = epoch;
  lease_.lead(epoch, since, renewed_at);
  parts_.marks.hit_if(shard_->machine().live_leases() > 0, Mark::kTakenWithLeases);
  parts_.story.tell("{} leads shard {} from row {} on, epoch {}, {} jobs, {} leases", parts_.name,
                    number_, to_number(durable_) + 1, to_number(epoch),
                    shard_->machine().jobs_in_memory(), shard_->machine().live_leases());
  relay_.begin(*this, static_cast<std::uint64_t>(term_));
  // Older programs know of no inbox.
  if (parts_.reads >= kFormatOfInbox) poller_.begin();
}

std::optional<node::ShardHost::Runner::Ended> Host::ended() const {
  if (!shard_->ended()) return std::nullopt;
  return Ended{*shard_->ended(), shard_->broken()};
}

void Host::resign() {
  closing_ = Closing::kResigning;
  if (shard_->ended()) return;
  shard_->resign();
  note([head = shard_->figures().applied](Auditor& auditor) { auditor.waits_ended(head); });
}

void Host::stop() {
  stopped_ = true;
  host_.drop();
}

void Host::drop() {
  parts_.story.tell("{} does not lead shard {} any more{}{}", parts_.name, number_,
                    shard_->ended() ? ": " : "", shard_->ended().value_or(""));
  lease_.end();
  parts_.router.no_longer_here(number_, *this);
  shard_->depose("another node leads the shard");
  release();
  turn_mail_away();
  relay_.end();
  poller_.end();
  turn_mail_away();
  ++life_;
  shard_.reset();
  clock_.reset();
  asked_.clear();
  appended_.reset();
  flushed_.reset();
  row_in_flight_ = flush_in_flight_ = flushes_end_ = false;
  closing_ = {};
  in_doubt_since_.reset();
  doubt_began_.reset();
  doubted_ = decided_ = false;
  row_since_.reset();
  failing_since_.reset();
  append_failures_ = 0;
  not_before_append_ = {};
}

// Where nobody takes it any more.
void Host::turn_mail_away() {
  for (Mail& mail : std::exchange(mail_, {})) {
    if (!mail.request) continue;
    engine::Delivery delivery{mail.ticket, engine::Unavailable::kNoLeader};
    mail.port->deliver({&delivery, 1});
  }
}

// As the server's inbox, which looks who leads, and its ticker do.
void Host::run_relay() {
  relay_.tick();
  if (!takes_requests()) poller_.end();
  poller_.tick(now());
}

bool Host::busy() const {
  return relay_.busy() || calls_ || news_ || host_.giving() || !mail_.empty() || appended_ ||
         flushed_ || row_in_flight_ || flush_in_flight_;
}

}  // namespace millrace::sim
