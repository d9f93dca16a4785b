#include "sim/cluster/relay.h"

#include <utility>
#include <variant>
#include <vector>

#include "sim/violation.h"

namespace millrace::sim {

void Relay::begin(engine::Gateway& shard, std::uint64_t term) {
  shard_ = &shard;
  term_ = term;
  relay_.begin();
  ask();
}

void Relay::end() {
  shard_ = nullptr;
  relay_.end();
}

void Relay::tick() {
  relay_.tick();
  ask();
}

void Relay::deliver(std::span<engine::Delivery> deliveries) {
  for (engine::Delivery& delivery : deliveries) {
    relay_.answered(delivery.ticket, std::move(delivery.answer));
  }
  ask();
}

void Relay::ask() {
  using Asking = node::Relay::Asking;
  // Reads of jobs do not fail while a node serves.
  for (node::Relay::Incomplete& claim : relay_.take_incomplete()) {
    const Status read = reads_.complete(claim.claim);
    relay_.completed(std::move(claim), read);
  }
  for (Asking& asking : relay_.take_asks()) {
    look(asking);
    if (asking.whom == Asking::Whom::kOwner) {
      router_.submit(std::move(asking.request), *this, asking.ticket, engine::kNodesOwn);
    } else if (shard_ != nullptr) {
      shard_->submit(std::move(asking.request), *this, asking.ticket);
    }
  }
}

void Relay::look(const node::Relay::Asking& asking) {
  if (asking.whom == node::Relay::Asking::Whom::kOwner) {
    if (asking.box == JobId{}) return;  // a question about a job, or its cancellation
    return effects_.taken(number_, asking.box, term_);
  }
  const auto* const command = std::get_if<core::Command>(&asking.request);
  const auto* const ack = command == nullptr ? nullptr : std::get_if<core::Ack>(command);
  if (ack == nullptr) return;
  const core::AckItem& item = ack->items.front();
  if (item.outcome == core::AckOutcome::kSnoozed) effects_.put_off();
  // Nothing is damaged in this world.
  const bool damaged = item.error && item.error->type.view() == "damaged_submission";
  demand(!damaged, "N7", "{}, which lies in the outbox of shard {}: {}", to_string(item.id),
         number_, damaged ? item.error->message.view() : "");
}

}  // namespace millrace::sim
