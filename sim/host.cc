#include "sim/host.h"

#include <algorithm>
#include <utility>

#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;
using engine::Duty;

// As in server/shard_host.cc.
constexpr auto kFollowPause = 50ms;
constexpr auto kAskPause = 200ms;
constexpr auto kRetryPause = 500ms;
constexpr auto kFlushPatience = 5'000ms;
constexpr auto kResignPatience = 2'000ms;
constexpr std::size_t kFewRows = 200;
// How often a follower's state is compared.
constexpr std::uint64_t kRowsBetweenLooks = 8;

}  // namespace

Host::Host(std::uint32_t shard, const engine::ShardOptions& options, Parts parts)
    : number_(shard),
      options_(options),
      parts_(std::move(parts)),
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

void Host::renewed(Instant at, const store::ShardView& seen) {
  node_in_doubt_ = false;
  if (gift_ && gift_->stage == Gift::Stage::kGiving) return;
  if (leads() && at < led_since_) return;
  if (!leads() || seen.leader != parts_.self || seen.epoch != epoch_) {
    lease_.doubt();
    return;
  }
  lease_.renewed(at);
  if (lease_.holds(now())) parts_.chronicle.served(term_, clock_->now());
}

void Host::give(NodeId asker, Epoch epoch, std::function<void(bool)> done) {
  if (gift_ && gift_->stage != Gift::Stage::kAsked) return done(false);
  if (gift_) gift_->done(false);
  gift_ = Gift{asker, epoch, std::move(done), Gift::Stage::kAsked, {}};
}

// --- Its thread.

void Host::run_host() {
  if (blocked_ || stopped_) return;
  if (gift_ && gift_->stage != Gift::Stage::kAsked) return go_on_giving();
  if (auto orders = std::exchange(orders_mail_, std::nullopt)) {
    if (orders->seen_at >= acted_at_) orders_ = std::move(*orders);
  }
  if (shard_ && shard_->ended()) step_down(*shard_->ended());
  if (gift_) {
    const bool due = leads() && gift_->epoch == epoch_ &&
                     gift_->asker == orders_.assignment.owner && !orders_.owner_url.empty() &&
                     lease_.holds(now());
    if (due) {
      flushes_end_ = true;
      gift_->stage = Gift::Stage::kFlushing;
      gift_->until = now() + kFlushPatience;
      return;
    }
    std::exchange(gift_, std::nullopt)->done(false);
  }
  if (std::exchange(received_, false) && !leads()) {
    store::ShardView mine = orders_.seen;
    mine.leader = parts_.self;
    return take(mine);
  }
  obey();
}

void Host::obey() {
  if (orders_.seen_at < acted_at_ || now() < not_before_ || orders_.seen_at == Instant{}) return;
  const Duty duty = orders_.assignment.duty;
  if (leads()) {
    const bool still = duty == Duty::kLead && orders_.seen.epoch == epoch_;
    if (!still) step_down("the registry names another leader, or another term");
    return;
  }
  if (orders_.leader_url.empty() || duty == Duty::kLead) {
    parts_.router.hold(number_);
  } else {
    parts_.router.led_there(number_, orders_.leader_url);
  }
  switch (duty) {
    case Duty::kNothing:
      follower_.reset();
      break;
    case Duty::kFollow:
      follow();
      break;
    case Duty::kAskFor:
      if (follow()) ask_for();
      break;
    case Duty::kTake:
    case Duty::kLead:
      take(orders_.seen);
      break;
  }
}

bool Host::follow() {
  if (follower_ != nullptr && now() < follow_at_) return false;
  follow_at_ = now() + kFollowPause;
  if (follower_ == nullptr) {
    auto loaded = engine::Follower::load(options_.shard, options_.machine, parts_.store,
                                         engine::Writers::kAnother);
    if (!loaded) {
      not_before_ = now() + kRetryPause;
      return false;
    }
    follower_ = std::move(*loaded);
    parts_.story.tell("{} follows shard {} from row {} on", parts_.name, number_,
                      to_number(follower_->head()));
  }
  const Result<std::size_t> read = follower_->follow();
  if (!read) {
    parts_.story.tell("{} loads shard {} anew: {}", parts_.name, number_, read.error().message);
    const auto extent = parts_.database.shard(number_).journal.extent();
    parts_.marks.hit_if(extent->oldest > next(follower_->head()), Mark::kFollowerLeftBehind);
    follower_.reset();
    return false;
  }
  follower_->stored(orders_.seen.projected);
  const bool looks = *read > 0 && to_number(follower_->head()) % kRowsBetweenLooks == 0;
  if (looks && follower_->head() == parts_.chronicle.newest()) {
    demand(follower_->machine().digest() == parts_.chronicle.digest(), "S7",
           "{} follows shard {} into another state at row {}", parts_.name, number_,
           to_number(follower_->head()));
  }
  return *read < kFewRows;
}

void Host::ask_for() {
  if (now() - asked_at_ < kAskPause) return;
  asked_at_ = now();
  parts_.story.tell("{} asks for shard {}", parts_.name, number_);
  parts_.peers.ask_for_shard({orders_.leader_url, number_}, to_number(parts_.self),
                             orders_.seen.epoch, [this](bool given) { received_ |= given; });
}

void Host::take(const store::ShardView& seen) {
  blocked_ = true;
  renewed_at_ = orders_.seen_at;
  const auto seconds = to_ms(parts_.time.wall()) / 1000;
  const Epoch at_least{static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0))};
  parts_.database.begin(
      {Call::Kind::kRegistry, parts_.self, number_,
       [this, seen, at_least, self = parts_.self, &registry = parts_.database.registry()] {
         return [this, term = registry.take(self, seen, at_least)] { taken(term); };
       },
       [this] { taken(failure("the connection is lost")); }});
}

void Host::taken(const Result<std::optional<store::Term>>& term) {
  blocked_ = false;
  acted_at_ = now();
  if (!term || !*term) return parts_.changed();
  parts_.database.show_taken(parts_.self, number_, (*term)->epoch);
  if (!lead(**term)) {
    follower_.reset();
    not_before_ = now() + kRetryPause;
    return;
  }
  parts_.changed();
}

bool Host::lead(const store::Term& term) {
  lease_.doubt();
  const bool warm = follower_ != nullptr;
  const std::uint64_t behind =
      warm ? to_number(parts_.chronicle.newest()) - to_number(follower_->head()) : 0;
  auto shard = engine::lead_on(std::move(follower_), options_, parts_.store, term,
                               parts_.time.wall(), *this);
  if (!shard) {
    parts_.story.tell("{} can't lead shard {}: {}", parts_.name, number_, shard.error().message);
    return false;
  }
  parts_.marks.hit_if(warm && behind > 0, Mark::kFollowerCaughtUp);
  shard_ = std::move(*shard);
  epoch_ = term.epoch;
  led_since_ = acted_at_;
  if (!node_in_doubt_) lease_.renewed(renewed_at_);
  ++life_;
  clock_.emplace(parts_.time, shard_->machine().facts().at);
  slept_at_ = clock_->now();
  const store::JournalRow* const first = shard_->next_append();
  term_ = parts_.chronicle.begin(*first, shard_->machine().facts().at);
  durable_ = Seq{to_number(first->seq) - 1};
  parts_.marks.hit_if(shard_->machine().live_leases() > 0, Mark::kTakenWithLeases);
  parts_.story.tell("{} leads shard {} from row {} on, epoch {} ({}), {} jobs, {} leases",
                    parts_.name, number_, to_number(first->seq), to_number(first->epoch),
                    warm ? "it followed" : "loaded", shard_->machine().jobs_in_memory(),
                    shard_->machine().live_leases());
  begin_append(*first);
  parts_.router.lead_here(number_, *this);
  relay_.begin(*this, static_cast<std::uint64_t>(term_));
  // Older programs know of no inbox.
  if (parts_.reads >= kFormatOfInbox) poller_.begin();
  parts_.router.tick();
  return true;
}

// --- Giving it away.

void Host::go_on_giving() {
  switch (gift_->stage) {
    case Gift::Stage::kAsked:
    case Gift::Stage::kGiving:
      return;
    case Gift::Stage::kFlushing:
      if (flush_in_flight_ && now() < gift_->until) return;
      parts_.router.hold(number_);
      poller_.end();
      if (!shard_->ended()) {
        shard_->resign();
        closing_ = Closing::kResigning;
        note([head = shard_->figures().applied](Auditor& auditor) { auditor.waits_ended(head); });
      }
      gift_->stage = Gift::Stage::kResigning;
      gift_->until = now() + kResignPatience;
      return;
    case Gift::Stage::kResigning:
      break;
  }
  const bool quiet = !row_in_flight_ && shard_->quiet();
  if (!quiet && !shard_->ended() && now() < gift_->until) return;
  gift_->stage = Gift::Stage::kGiving;
  lease_.doubt();
  blocked_ = true;
  parts_.database.begin({Call::Kind::kRegistry, parts_.self, number_,
                         [this, self = parts_.self, shard = number_, epoch = epoch_,
                          to = gift_->asker, &registry = parts_.database.registry()] {
                           return [this, result = registry.hand_over(self, shard, epoch, to)] {
                             given(result);
                           };
                         },
                         [this] { given(failure("the connection is lost")); }});
}

void Host::given(const Result<bool>& given) {
  blocked_ = false;
  acted_at_ = now();
  const bool yes = given && *given;
  parts_.marks.hit_if(yes, Mark::kHandedOver);
  parts_.story.tell("{} {} shard {}", parts_.name, yes ? "gives away" : "perhaps gave away",
                    number_);
  if (yes) parts_.router.led_there(number_, orders_.owner_url);
  std::exchange(gift_, std::nullopt)->done(yes);
  parts_.router.tick();
  drop();
  parts_.changed();
}

void Host::step_down(const std::string& why) {
  parts_.story.tell("{} does not lead shard {} any more: {}", parts_.name, number_, why);
  acted_at_ = now();
  drop();
  parts_.changed();
}

void Host::stop() {
  stopped_ = true;
  if (leads()) drop();
}

void Host::drop() {
  if (!leads()) return;
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

bool Host::busy() const {
  return relay_.busy() || blocked_ || received_ || gift_ || !mail_.empty() || appended_ ||
         flushed_ || row_in_flight_ || flush_in_flight_;
}

}  // namespace millrace::sim
