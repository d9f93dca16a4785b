// Passes on what lies in a shard's outbox, while the shard is led here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/gateway.h"
#include "engine/peers.h"
#include "engine/reads.h"

namespace millrace::server {

// Any thread. Outlives the gateways that it asks.
class Relay final : public engine::ReplyPort {
 public:
  // Runs it later, on a thread that may block; or never, when the process ends.
  using Run = std::function<void(std::function<void()>)>;
  // `tables` are the shard's; `router` reaches every shard.
  Relay(engine::Gateway& router, store::Tables& tables, Run run, Logger log);

  // The shard is led here, through this gateway; no more.
  void begin(std::shared_ptr<engine::Gateway> shard);
  void end();
  // To be called a few times a second: asks anew where asking has failed.
  void tick();

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  struct Passing {
    JobId id;
    LeaseToken token{};
  };

  void ask();
  void complete(core::ClaimReply claim);
  void pass_on(core::ClaimReply claim);
  void passed(const Passing& job, const engine::Answer& answer);
  void settle(core::AckItem item);
  engine::Ticket next_ticket() MILLRACE_REQUIRES(mutex_);

  engine::Gateway& router_;
  const engine::Reads reads_;
  const Run run_;
  const Logger log_;
  mutable Mutex mutex_;
  std::shared_ptr<engine::Gateway> shard_ MILLRACE_GUARDED_BY(mutex_);  // null: not led here
  bool settings_told_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::uint64_t last_ticket_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::optional<engine::Ticket> claim_ MILLRACE_GUARDED_BY(mutex_);  // that is under way
  std::map<engine::Ticket, Passing> under_way_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::server
