// Passes on what lies in a shard's outbox, while the shard is led here: what server/relay.h does
// there on the shard's thread and the router's, told again for one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "engine/gateway.h"
#include "engine/reads.h"
#include "sim/effects.h"

namespace millrace::sim {

class Relay final : public engine::ReplyPort {
 public:
  // `tables` are the shard's; `router` reaches every shard.
  Relay(std::uint32_t shard, store::Tables& tables, engine::Gateway& router, Effects& effects)
      : number_(shard), reads_(tables), router_(router), effects_(effects) {}

  // The shard is led here, through this gateway, in a term of that number (above 0); no more.
  void begin(engine::Gateway& shard, std::uint64_t term);
  void end();
  void tick() { ask(); }
  bool busy() const { return !under_way_.empty(); }

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  struct Passing {
    JobId id;
    LeaseToken token{};
  };

  void ask();
  void pass_on(core::ClaimReply claim);
  void passed(const Passing& job, const engine::Answer& answer);
  void settle(core::AckItem item);
  engine::Ticket next_ticket() { return engine::Ticket{++last_ticket_}; }

  const std::uint32_t number_;
  const engine::Reads reads_;
  engine::Gateway& router_;
  Effects& effects_;
  engine::Gateway* shard_ = nullptr;  // null: not led here
  std::uint64_t term_ = 0;
  bool settings_told_ = false;
  std::uint64_t last_ticket_ = 0;
  std::optional<engine::Ticket> claim_;  // that is under way
  std::map<engine::Ticket, Passing> under_way_;
};

}  // namespace millrace::sim
