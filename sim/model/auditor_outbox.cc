// Jobs that acks submit to other shards wait in an outbox, as the contract requires.
#include <algorithm>
#include <utility>

#include "engine/routing/scatter_gather.h"
#include "sim/model/auditor.h"

namespace millrace::sim {

// None: all submitted jobs belong to this shard.
std::optional<Auditor::Boxing> Auditor::put_in_outbox(const core::AckItem& ack,
                                                      const Choices& choices) const {
  const auto belongs_here = [&](const core::JobSpec& spec) {
    return engine::shard_of(spec.queue.view(), place_.shards) == place_.shard;
  };
  if (std::ranges::all_of(ack.enqueue, belongs_here)) return std::nullopt;
  Boxing boxing{ack, {}};
  for (std::size_t i = 0; i < ack.enqueue.size(); ++i) {
    const core::JobSpec& spec = ack.enqueue[i];
    if (belongs_here(spec)) continue;
    core::JobSpec box = boxed(spec);
    auto was = Effects::Was::kNothing;
    const auto is_it = [&](const core::JobSpec& other) { return other.id == box.id; };
    if (const core::Job* standing = model_.find(box.id)) {
      was = core::is_terminal(standing->state) ? Effects::Was::kOver : Effects::Was::kWaiting;
    } else if (std::any_of(boxing.item.enqueue.begin(), boxing.item.enqueue.begin() + i, is_it)) {
      was = Effects::Was::kWaiting;
    }
    // The form in which the outbox holds the job is checked when it comes out.
    const auto stored = std::ranges::find_if(
        choices.submitted.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(
                                        model_.created_in_batch(), choices.submitted.size())),
        choices.submitted.end(),
        [&](const core::Submitted* event) { return event->job.id == box.id; });
    if (stored != choices.submitted.end()) box.payload = (*stored)->job.payload;
    boxing.item.enqueue[i] = std::move(box);
    boxing.asked.emplace_back(spec, was);
  }
  return boxing;
}

core::Rejection Auditor::follow_ack(const core::AckItem& ack, const Choices& choices,
                                    std::optional<bool> admitted) {
  const auto boxing = put_in_outbox(ack, choices);
  const core::Rejection why = model_.ack(boxing ? boxing->item : ack, choices, admitted);
  if (why != core::Rejection::kNone) return why;
  if (boxing) {
    for (const auto& [spec, was] : boxing->asked) {
      place_.effects->asked(place_.shard, spec, model_.now(), was);
    }
  }
  const core::Job* const job = model_.find(ack.id);
  if (job != nullptr && job->queue.view() == kOutbox && job->state == core::State::kDead) {
    place_.effects->given_up(place_.shard, *job);
  }
  return why;
}

}  // namespace millrace::sim
