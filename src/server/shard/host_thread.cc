#include "server/shard/host_thread.h"

#include <chrono>
#include <utility>

#include "base/thread_name.h"

namespace millrace::server {

HostThread::HostThread(std::uint32_t shard, DriverOptions options, Parts parts)
    : shard_(shard),
      options_(std::move(options)),
      parts_(std::move(parts)),
      lease_(parts_.self),
      host_({.self = parts_.self,
             .options = options_.shard,
             .store = parts_.store,
             .router = parts_.router,
             .time = parts_.time,
             .observer = parts_.observer,
             .runner = *this,
             .log = parts_.log}),
      thread_([this] { thread(); }) {}

HostThread::~HostThread() { stop(); }

void HostThread::stop() {
  if (!thread_.joinable()) return;
  post([](Mail& mail) { mail.stop = true; });
  thread_.join();
}

template <typename Change>
void HostThread::post(Change change) {
  {
    const MutexLock lock(mutex_);
    change(mail_);
  }
  wake_.notify_one();
}

void HostThread::order(node::ShardOrders orders) {
  post([&](Mail& mail) { mail.orders = std::move(orders); });
}

void HostThread::give(store::NodeId requester, Epoch epoch, std::function<void(bool)> done) {
  std::optional<HandoverRequest> older;
  post([&](Mail& mail) {
    older = std::exchange(mail.handover, HandoverRequest{requester, epoch, std::move(done)});
  });
  if (older) older->done(false);
}

void HostThread::drain(std::function<void()> drained) {
  post([&](Mail& mail) { mail.drained = std::move(drained); });
}

void HostThread::renewed(node::Instant at, const store::ShardView& seen) {
  const MutexLock lock(mutex_);
  lease_.renewed(at, seen);
  if (driver_ != nullptr) driver_->look_at_lease();
}

void HostThread::doubt() {
  const MutexLock lock(mutex_);
  lease_.doubt();
  // So that even an idle shard reports that it is not ready.
  if (driver_ != nullptr) driver_->look_at_lease();
}

bool HostThread::leads() const { return driver() != nullptr; }

std::shared_ptr<Driver> HostThread::driver() const {
  const MutexLock lock(mutex_);
  return driver_;
}

HostThread::Status HostThread::status() const {
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

std::shared_ptr<Driver> HostThread::led() const {
  const MutexLock lock(mutex_);
  return resigning_ ? nullptr : driver_;
}

// --- The thread.

void HostThread::thread() {
  name_this_thread("shard host");
  while (true) {
    Mail mail = wait();
    if (mail.stop) break;
    read(std::move(mail));
    while (const auto call = host_.step()) carry_out(*call);
    look_at_drain();
    const engine::Follower* const follower = host_.follower();
    const MutexLock lock(mutex_);
    follows_ = follower != nullptr;
    followed_ = follows_ ? follower->head() : Seq{};
  }
  host_.drop();
  look_at_drain();
}

HostThread::Mail HostThread::wait() {
  const auto until =
      std::chrono::steady_clock::now() + (host_.wakes_at() - parts_.time.since_boot());
  const MutexLock lock(mutex_);
  while (!mail_.any()) {
    if (!wake_.wait_until(mutex_, until)) break;
  }
  return std::exchange(mail_, {});
}

void HostThread::read(Mail mail) {
  if (mail.orders) host_.order(std::move(*mail.orders));
  if (mail.handover) host_.give(std::move(*mail.handover));
  if (mail.received) host_.received();
  if (!mail.drained) return;
  drained_ = std::move(mail.drained);
  if (const auto driver = this->driver()) driver->drain();
}

// Tells a waiting drain() that it is complete, even if this node leads nothing any more.
void HostThread::look_at_drain() {
  if (!drained_) return;
  const auto driver = this->driver();
  if (driver == nullptr || driver->status().drained) std::exchange(drained_, nullptr)();
}

void HostThread::carry_out(const node::HostCall& call) {
  if (const auto* const take = std::get_if<node::TakeShard>(&call)) {
    host_.taken(parts_.registry.take(parts_.self, take->seen, take->at_least));
  } else if (const auto* const give = std::get_if<node::HandOverShard>(&call)) {
    host_.given(parts_.registry.hand_over(parts_.self, shard_, give->epoch, give->to));
  }
}

// --- Running the shard.

engine::Gateway& HostThread::run(std::unique_ptr<engine::Shard> shard) {
  parts_.begin_leading(shard->figures().durable);
  const engine::LeaderLease* const lease = [this] {
    const MutexLock lock(mutex_);
    return &lease_.lease();
  }();
  std::shared_ptr<Driver> driver =
      Driver::lead(options_,
                   {.store = parts_.store,
                    .time = parts_.time,
                    .observer = parts_.observer,
                    .probe = parts_.probe,
                    .read_until = parts_.read_until,
                    .on_settled = [this] { post([](Mail& mail) { mail.settled = true; }); },
                    .log = parts_.log,
                    .lease = lease,
                    .flush_semaphore = &parts_.flush_semaphore},
                   std::move(shard));
  const MutexLock lock(mutex_);
  driver_ = std::move(driver);
  flushes_ended_ = resigning_ = false;
  return *driver_;
}

void HostThread::serve(Epoch epoch, node::Instant since, node::Instant renewed_at) {
  {
    const MutexLock lock(mutex_);
    lease_.lead(epoch, since, renewed_at);
    driver_->look_at_lease();
  }
  parts_.led(driver());
}

bool HostThread::holds() const {
  const MutexLock lock(mutex_);
  return lease_.lease().holds(parts_.time.since_boot());
}

std::optional<node::ShardHost::Runner::Ended> HostThread::ended() const {
  const DriverStatus status = driver()->status();
  if (!status.ended) return std::nullopt;
  return Ended{*status.ended, status.broken};
}

void HostThread::end_flushes() {
  driver()->end_flushes([this] {
    {
      const MutexLock lock(mutex_);
      flushes_ended_ = true;
    }
    post([](Mail& mail) { mail.settled = true; });
  });
}

bool HostThread::flushes_ended() const {
  const MutexLock lock(mutex_);
  return flushes_ended_;
}

void HostThread::resign() {
  {
    // Later requests from other nodes might be decided without being written.
    const MutexLock lock(mutex_);
    resigning_ = true;
  }
  driver()->resign();
}

bool HostThread::resigned() const { return driver()->status().resigned; }

void HostThread::give() {
  const MutexLock lock(mutex_);
  lease_.give();
}

void HostThread::drop() {
  std::shared_ptr<Driver> driver;
  {
    const MutexLock lock(mutex_);
    driver = std::exchange(driver_, nullptr);
    lease_.end();
  }
  parts_.router.no_longer_here(shard_, *driver);
  driver->depose("another node leads the shard");
  driver->stop();
  parts_.end_leading();
}

void HostThread::ask_for(const engine::PeerShard& where, Epoch epoch) {
  parts_.peers.ask_for_shard(where, to_number(parts_.self), epoch, [this](bool given) {
    if (given) post([](Mail& mail) { mail.received = true; });
  });
}

}  // namespace millrace::server
