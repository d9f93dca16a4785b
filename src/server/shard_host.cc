#include "server/shard_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using SteadyClock = std::chrono::steady_clock;

// How often a follower reads on.
constexpr auto kFollowPause = 50ms;
constexpr auto kAskPause = 200ms;
constexpr auto kRetryPause = 500ms;
// Of a shard whose journal can't be trusted: each try writes a row of a new term.
constexpr auto kBrokenPause = 5'000ms;
// A shard that is handed over is quiet after so long, or it is handed over as it is.
constexpr auto kFlushPatience = 5'000ms;
constexpr auto kResignPatience = 2'000ms;
// Close enough behind to take over: what is left is read in a moment.
constexpr std::size_t kFewRows = 200;

}  // namespace

ShardHost::ShardHost(std::uint32_t shard, DriverOptions options, Parts parts)
    : shard_(shard),
      options_(std::move(options)),
      parts_(std::move(parts)),
      thread_([this] { run(); }) {}

ShardHost::~ShardHost() { stop(); }

void ShardHost::stop() {
  if (!thread_.joinable()) return;
  post([](Mail& mail) { mail.stop = true; });
  thread_.join();
}

template <typename Change>
void ShardHost::post(Change change) {
  {
    const MutexLock lock(mutex_);
    change(mail_);
  }
  wake_.notify_one();
}

void ShardHost::order(node::ShardOrders orders) {
  post([&](Mail& mail) { mail.orders = std::move(orders); });
}

void ShardHost::give(store::NodeId asker, Epoch epoch, std::function<void(bool)> done) {
  std::optional<Gift> older;
  post([&](Mail& mail) { older = std::exchange(mail.gift, Gift{asker, epoch, std::move(done)}); });
  if (older) older->done(false);
}

void ShardHost::drain(std::function<void()> drained) {
  post([&](Mail& mail) { mail.drained = std::move(drained); });
}

void ShardHost::renewed(node::Instant at, const store::ShardView& seen) {
  const MutexLock lock(mutex_);
  in_doubt_ = false;
  if (giving_) return;
  // It may have looked before the shard was taken.
  if (driver_ != nullptr && at < led_since_) return;
  if (driver_ == nullptr || seen.leader != parts_.self || seen.epoch != epoch_) {
    lease_.doubt();
    return;
  }
  lease_.renewed(at);
  driver_->look_at_lease();
}

void ShardHost::doubt() {
  const MutexLock lock(mutex_);
  in_doubt_ = true;
  lease_.doubt();
  // An idle shard too says that it is not ready.
  if (driver_ != nullptr) driver_->look_at_lease();
}

bool ShardHost::leads() const {
  const MutexLock lock(mutex_);
  return driver_ != nullptr;
}

Epoch ShardHost::epoch() const {
  const MutexLock lock(mutex_);
  return epoch_;
}

ShardHost::Status ShardHost::status() const {
  std::shared_ptr<Driver> driver;
  Status status;
  {
    const MutexLock lock(mutex_);
    driver = driver_;
    status.head = followed_;
    status.role = follows_ ? Status::Role::kFollows : Status::Role::kNone;
  }
  if (driver == nullptr) return status;
  status.role = Status::Role::kLeads;
  status.driver = driver->status();
  status.now = driver->now();
  return status;
}

std::shared_ptr<Driver> ShardHost::led() const {
  const MutexLock lock(mutex_);
  return resigning_ ? nullptr : driver_;
}

// --- The thread.

void ShardHost::run() {
  name_this_thread("shard host");
  while (true) {
    Mail mail = wait();
    if (mail.stop) break;
    if (mail.orders && mail.orders->seen_at >= acted_at_) orders_ = std::move(*mail.orders);
    if (mail.drained) {
      drained_ = std::move(mail.drained);
      begin_drain();
    }
    if (mail.settled) {
      const Status now = status();
      if (now.driver && now.driver->ended) {
        step_down(*now.driver->ended);
        if (now.driver->broken) not_before_ = parts_.time.since_boot() + kBrokenPause;
      }
      if (drained_ && (!now.driver || now.driver->drained)) std::exchange(drained_, nullptr)();
    }
    if (mail.gift) give_away(std::move(*mail.gift));
    if (mail.received && status().role != Status::Role::kLeads) {
      store::ShardView mine = orders_.seen;
      mine.leader = parts_.self;
      take(mine);
    }
    obey();
  }
  drop_driver();
}

ShardHost::Mail ShardHost::wait() {
  const bool reads_on = follower_ != nullptr;
  const auto until = SteadyClock::now() + (reads_on ? kFollowPause : kRetryPause);
  const MutexLock lock(mutex_);
  while (!mail_.any()) {
    if (!wake_.wait_until(mutex_, until)) break;
  }
  return std::exchange(mail_, {});
}

void ShardHost::obey() {
  using engine::Duty;
  const bool leads = status().role == Status::Role::kLeads;
  if (orders_.seen_at < acted_at_ || parts_.time.since_boot() < not_before_) return;
  const Duty duty = orders_.assignment.duty;
  if (leads) {
    const bool still = duty == Duty::kLead && orders_.seen.epoch == epoch();
    if (!still) step_down("the registry names another leader, or another term");
    return;
  }
  if (orders_.leader_url.empty() || duty == Duty::kLead) {
    parts_.router.hold(shard_);
  } else {
    parts_.router.led_there(shard_, orders_.leader_url);
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
  const MutexLock lock(mutex_);
  follows_ = follower_ != nullptr;
  followed_ = follows_ ? follower_->head() : Seq{};
}

// True: it has read almost everything.
bool ShardHost::follow() {
  if (follower_ == nullptr) {
    auto loaded = engine::Follower::load(shard_, options_.shard.machine, parts_.store,
                                         engine::Writers::kAnother);
    if (!loaded) {
      parts_.log.warn("a shard can't be followed",
                      {{"shard", shard_}, {"reason", loaded.error().message}});
      not_before_ = parts_.time.since_boot() + kRetryPause;
      return false;
    }
    follower_ = std::move(*loaded);
  }
  const Result<std::size_t> read = follower_->follow();
  if (!read) {
    // Most often it fell behind what was trimmed; a bad row shows again when it is loaded.
    parts_.log.info("a shard is loaded anew",
                    {{"shard", shard_}, {"reason", read.error().message}});
    follower_.reset();
    return false;
  }
  follower_->stored(orders_.seen.projected);
  return *read < kFewRows;
}

void ShardHost::ask_for() {
  const auto now = parts_.time.since_boot();
  if (now - asked_at_ < kAskPause) return;
  asked_at_ = now;
  parts_.peers.ask_for_shard({orders_.leader_url, shard_}, to_number(parts_.self),
                             orders_.seen.epoch, [this](bool given) {
                               if (given) post([](Mail& mail) { mail.received = true; });
                             });
}

void ShardHost::take(const store::ShardView& seen) {
  const auto begin = SteadyClock::now();
  const auto renewed_at = orders_.seen_at;
  const auto seconds = to_ms(parts_.time.wall()) / 1000;
  const Epoch at_least{static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0))};
  const auto term = parts_.registry.take(parts_.self, seen, at_least);
  acted_at_ = parts_.time.since_boot();
  if (!term || !*term) {
    if (!term) {
      parts_.log.warn("a shard can't be taken",
                      {{"shard", shard_}, {"reason", term.error().message}});
    }
    parts_.changed();
    return;
  }
  if (!lead(**term, renewed_at)) {
    follower_.reset();
    not_before_ = parts_.time.since_boot() + kRetryPause;
    return;
  }
  const auto took = std::chrono::duration_cast<Duration>(SteadyClock::now() - begin);
  parts_.log.info("leading a shard",
                  {{"shard", shard_}, {"epoch", to_number(epoch())}, {"took_ms", took.count()}});
  parts_.changed();
}

bool ShardHost::lead(const store::Term& term, std::chrono::nanoseconds renewed_at) {
  lease_.doubt();  // until all of it is there
  const auto fail = [&](const Error& error) {
    parts_.log.error("a shard can't be led", {{"shard", shard_}, {"reason", error.message}});
    return false;
  };
  auto shard = engine::lead_on(std::move(follower_), options_.shard, parts_.store, term,
                               parts_.time.wall(), parts_.observer);
  if (!shard) return fail(shard.error());
  parts_.begin_leading((*shard)->figures().durable);
  std::shared_ptr<Driver> driver =
      Driver::lead(options_,
                   {.store = parts_.store,
                    .time = parts_.time,
                    .observer = parts_.observer,
                    .probe = parts_.probe,
                    .chores = parts_.chores,
                    .on_settled = [this] { post([](Mail& mail) { mail.settled = true; }); },
                    .log = parts_.log,
                    .lease = &lease_,
                    .flush_turns = &parts_.flush_turns},
                   std::move(*shard));
  parts_.router.lead_here(shard_, *driver);
  {
    const MutexLock lock(mutex_);
    driver_ = driver;
    epoch_ = term.epoch;
    led_since_ = acted_at_;
    follows_ = false;
    if (!in_doubt_) lease_.renewed(renewed_at);
  }
  driver->look_at_lease();
  parts_.led(std::move(driver));
  parts_.router.tick();
  return true;
}

void ShardHost::give_away(Gift gift) {
  const bool due = status().role == Status::Role::kLeads && gift.epoch == epoch() &&
                   gift.asker == orders_.assignment.owner && !orders_.owner_url.empty() &&
                   lease_.holds(parts_.time.since_boot());
  if (!due) return gift.done(false);
  const auto begin = SteadyClock::now();
  const bool quiet = resign();
  {
    const MutexLock lock(mutex_);
    giving_ = true;
    lease_.doubt();
  }
  const Result<bool> given = parts_.registry.hand_over(parts_.self, shard_, epoch(), gift.asker);
  acted_at_ = parts_.time.since_boot();
  if (given && *given) {
    parts_.router.led_there(shard_, orders_.owner_url);
  }
  gift.done(given && *given);
  parts_.router.tick();
  const auto took = std::chrono::duration_cast<Duration>(SteadyClock::now() - begin);
  parts_.log.info("gave a shard away", {{"shard", shard_},
                                        {"to", store::to_string(gift.asker)},
                                        {"quiet", quiet},
                                        {"given", given && *given},
                                        {"took_ms", took.count()}});
  drop_driver();
  parts_.changed();
}

// From its return on nothing is decided here any more. True: all that was decided is durable.
bool ShardHost::resign() {
  std::shared_ptr<Driver> driver;
  {
    const MutexLock lock(mutex_);
    driver = driver_;
  }
  // While it still serves: the successor finds the tables free.
  const auto flushed = std::make_shared<std::binary_semaphore>(0);
  driver->end_flushes([flushed] { flushed->release(); });
  (void)flushed->try_acquire_for(kFlushPatience);
  parts_.router.hold(shard_);
  {
    // What other nodes asked from now on would be decided, and perhaps not be written any more.
    const MutexLock lock(mutex_);
    resigning_ = true;
  }
  driver->resign();
  const auto until = SteadyClock::now() + kResignPatience;
  const MutexLock lock(mutex_);
  while (SteadyClock::now() < until) {
    const DriverStatus status = driver->status();
    if (status.resigned) return true;
    if (status.ended) return false;
    wake_.wait_until(mutex_, std::min(until, SteadyClock::now() + 20ms));
  }
  return false;
}

void ShardHost::step_down(const std::string& why) {
  parts_.log.warn("not leading a shard any more", {{"shard", shard_}, {"reason", why}});
  acted_at_ = parts_.time.since_boot();
  drop_driver();
  parts_.changed();
}

void ShardHost::drop_driver() {
  std::shared_ptr<Driver> driver;
  {
    const MutexLock lock(mutex_);
    driver = std::exchange(driver_, nullptr);
    resigning_ = giving_ = false;
  }
  if (driver == nullptr) return;
  parts_.router.no_longer_here(shard_, *driver);
  driver->depose("another node leads the shard");
  driver->stop();
  parts_.end_leading();
  if (drained_) std::exchange(drained_, nullptr)();
}

void ShardHost::begin_drain() {
  std::shared_ptr<Driver> driver;
  {
    const MutexLock lock(mutex_);
    driver = driver_;
  }
  if (driver == nullptr) {
    std::exchange(drained_, nullptr)();
  } else {
    driver->drain();
  }
}

}  // namespace millrace::server
