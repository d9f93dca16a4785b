#include "node/shard_host.h"

#include <algorithm>
#include <utility>

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;

// How often a follower reads the journal.
constexpr auto kFollowPause = 50ms;
constexpr auto kAskPause = 200ms;
constexpr auto kRetryPause = 500ms;
// For a shard whose journal cannot be trusted: each attempt writes a row of a new term.
constexpr auto kBrokenPause = 5'000ms;
// The time that a shard to be handed over has to become quiet; then it is handed over as it is.
constexpr auto kFlushPatience = 5'000ms;
constexpr auto kResignPatience = 2'000ms;
// How often to check that.
constexpr auto kGivingPause = 20ms;
// Close enough to take over: the rest is read in a moment.
constexpr std::size_t kFewRows = 200;

std::int64_t ms_between(Instant from, Instant to) {
  return std::chrono::duration_cast<Duration>(to - from).count();
}

}  // namespace

// --- News.

void ShardHost::give(HandoverRequest handover) {
  if (stage_ != Stage::kObeys) return handover.done(false);
  if (handover_) handover_->done(false);
  handover_ = std::move(handover);
}

Instant ShardHost::wakes_at() const {
  const auto pause = stage_ != Stage::kObeys ? kGivingPause
                     : follower_ != nullptr  ? kFollowPause
                                             : kRetryPause;
  return stepped_at_ + pause;
}

// --- Steps.

std::optional<HostCall> ShardHost::step() {
  stepped_at_ = now();
  if (stage_ != Stage::kObeys) return go_on_giving();
  const auto news = std::exchange(news_, std::nullopt);
  if (news && news->seen_at >= acted_at_) orders_ = *news;
  if (leads_) {
    if (const auto ended = parts_.runner.ended()) {
      step_down(ended->why);
      if (ended->broken) not_before_ = now() + kBrokenPause;
    }
  }
  if (handover_) begin_giving();
  if (stage_ != Stage::kObeys) return go_on_giving();
  if (std::exchange(received_, false) && !leads_) {
    store::ShardView mine = orders_.seen;
    mine.leader = parts_.self;
    return take(mine);
  }
  return obey();
}

std::optional<HostCall> ShardHost::obey() {
  using engine::Duty;
  if (orders_.seen_at < acted_at_ || orders_.seen_at == Instant{} || now() < not_before_) {
    return std::nullopt;
  }
  const Duty duty = orders_.assignment.duty;
  if (leads_) {
    const bool still = duty == Duty::kLead && orders_.seen.epoch == epoch_;
    if (!still) step_down("the registry names another leader or another term");
    return std::nullopt;
  }
  if (orders_.leader_url.empty() || duty == Duty::kLead) {
    parts_.router.hold(shard());
  } else {
    parts_.router.led_there(shard(), orders_.leader_url);
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
      return take(orders_.seen);
  }
  return std::nullopt;
}

// True: it has read almost everything.
bool ShardHost::follow() {
  if (follower_ == nullptr) {
    auto loaded = engine::Follower::load(shard(), parts_.options.machine, parts_.store,
                                         engine::Writers::kAnother);
    if (!loaded) {
      parts_.log.warn("this node can't follow the shard",
                      {{"shard", shard()}, {"reason", loaded.error().message}});
      not_before_ = now() + kRetryPause;
      return false;
    }
    follower_ = std::move(*loaded);
  }
  const Result<std::size_t> read = follower_->follow();
  if (!read) {
    // Usually it fell behind trimmed rows; a bad row shows up again when the shard is loaded.
    parts_.log.info("this node reloads the shard",
                    {{"shard", shard()}, {"reason", read.error().message}});
    follower_.reset();
    return false;
  }
  follower_->stored(orders_.seen.projected);
  return *read < kFewRows;
}

void ShardHost::ask_for() {
  if (now() - asked_at_ < kAskPause) return;
  asked_at_ = now();
  parts_.runner.ask_for({orders_.leader_url, shard()}, orders_.seen.epoch);
}

HostCall ShardHost::take(const store::ShardView& seen) {
  stage_ = Stage::kCalls;
  began_at_ = now();
  renewed_at_ = orders_.seen_at;
  const auto seconds = to_ms(parts_.time.wall()) / 1000;
  return TakeShard{seen, Epoch{static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0))}};
}

void ShardHost::taken(const Result<std::optional<store::Term>>& term) {
  stage_ = Stage::kObeys;
  acted_at_ = now();
  if (!term) {
    parts_.log.warn("this node can't take the shard",
                    {{"shard", shard()}, {"reason", term.error().message}});
  }
  if (!term || !*term) return parts_.runner.changed();
  if (!lead(**term)) {
    follower_.reset();
    not_before_ = now() + kRetryPause;
    return;
  }
  parts_.log.info("this node leads the shard", {{"shard", shard()},
                                                {"epoch", to_number(epoch_)},
                                                {"took_ms", ms_between(began_at_, now())}});
  parts_.runner.changed();
}

bool ShardHost::lead(const store::Term& term) {
  auto led = engine::lead_on(std::move(follower_), parts_.options, parts_.store, term,
                             parts_.time.wall(), parts_.observer);
  if (!led) {
    parts_.log.error("this node can't lead the shard",
                     {{"shard", shard()}, {"reason", led.error().message}});
    return false;
  }
  leads_ = true;
  epoch_ = term.epoch;
  parts_.router.lead_here(shard(), parts_.runner.run(std::move(*led)));
  parts_.runner.serve(epoch_, acted_at_, renewed_at_);
  parts_.router.tick();
  return true;
}

// --- The end of a term.

void ShardHost::begin_giving() {
  const bool due = leads_ && handover_->epoch == epoch_ &&
                   handover_->requester == orders_.assignment.owner && !orders_.owner_url.empty() &&
                   parts_.runner.holds();
  if (!due) return std::exchange(handover_, std::nullopt)->done(false);
  began_at_ = now();
  // It still serves, so that the successor finds the tables free.
  parts_.runner.end_flushes();
  stage_ = Stage::kEndsFlushes;
  until_ = now() + kFlushPatience;
}

std::optional<HostCall> ShardHost::go_on_giving() {
  if (stage_ == Stage::kEndsFlushes) {
    if (!parts_.runner.flushes_ended() && now() < until_) return std::nullopt;
    parts_.router.hold(shard());
    parts_.runner.resign();
    stage_ = Stage::kResigns;
    until_ = now() + kResignPatience;
  }
  if (stage_ != Stage::kResigns) return std::nullopt;
  if (!parts_.runner.resigned() && !parts_.runner.ended() && now() < until_) return std::nullopt;
  stage_ = Stage::kCalls;
  parts_.runner.give();
  return HandOverShard{epoch_, handover_->requester};
}

void ShardHost::given(const Result<bool>& given) {
  stage_ = Stage::kObeys;
  acted_at_ = now();
  const bool yes = given && *given;
  if (yes) parts_.router.led_there(shard(), orders_.owner_url);
  const HandoverRequest handover = *std::exchange(handover_, std::nullopt);
  handover.done(yes);
  parts_.router.tick();
  parts_.log.info("this node gave the shard away", {{"shard", shard()},
                                                    {"to", store::to_string(handover.requester)},
                                                    {"quiet", parts_.runner.resigned()},
                                                    {"given", yes},
                                                    {"took_ms", ms_between(began_at_, now())}});
  drop();
  parts_.runner.changed();
}

void ShardHost::step_down(const std::string& why) {
  parts_.log.warn("this node no longer leads the shard", {{"shard", shard()}, {"reason", why}});
  acted_at_ = now();
  drop();
  parts_.runner.changed();
}

void ShardHost::drop() {
  if (std::exchange(leads_, false)) parts_.runner.drop();
}

}  // namespace millrace::node
