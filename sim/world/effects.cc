#include "sim/world/effects.h"

#include <algorithm>

#include "core/bounds.h"
#include "engine/shard/outbox.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

// A job that names a limit which is never made is dead after this long.
constexpr Duration kInVain{60'000};

// Whether this is the requested job, wherever it came from. Delays count from the ack.
bool is_same(const core::JobSpec& is, const core::JobSpec& should, Time asked_at) {
  const auto since_ack = [&](Duration by) { return add_saturating(asked_at, by); };
  std::optional<Time> run_at = should.run_at;
  if (!run_at && should.delay > Duration{0}) run_at = since_ack(should.delay);
  std::optional<Time> expires_at = should.expires_at;
  if (!expires_at && should.expires_in) expires_at = since_ack(*should.expires_in);
  const auto alike = [](const auto& a, const auto& b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
  };
  return is.type == should.type && is.payload == should.payload && is.priority == should.priority &&
         is.max_attempts == should.max_attempts && is.run_at == run_at &&
         is.expires_at == expires_at && is.lease == should.lease && is.timeout == should.timeout &&
         alike(is.retry, should.retry) && alike(is.extras, should.extras);
}

}  // namespace

core::JobSpec boxed(const core::JobSpec& spec) {
  core::JobSpec box;
  box.id = engine::outbox_id_of(spec.id, spec.queue.view());
  box.queue = SharedBytes(kOutbox);
  box.type = SharedBytes("submission");
  box.priority = spec.priority;
  box.max_attempts = core::kMaxAttempts;
  return box;
}

void Effects::asked(std::uint32_t shard, const core::JobSpec& spec, Time at, Was was) {
  const std::string queue(spec.queue.view());
  Effect& effect = effects_[{spec.id, queue}];
  Box& box = boxes_[{shard, boxed(spec).id}];
  effect.asked.push_back({spec, at});
  if (was == Was::kNothing) {
    marks_.hit(Mark::kPutInOutbox);
    ++effect.boxes;
    box = {spec.id, queue, 0};
    effect.open = true;
    return;
  }
  // The existing outbox job serves both submissions if it is the same one and is still to be passed
  // on, or was passed on. A repeated id is the same submission, even if the first was refused for
  // good and is dead.
  const bool served =
      box.queue == queue && (was == Was::kWaiting || effect.there || effect.refused);
  if (!served) effect.open = true;
}

void Effects::passed_on(const core::JobSpec& spec, const Verdict& verdict) {
  const auto found = effects_.find({spec.id, std::string(spec.queue.view())});
  demand(found != effects_.end(), "N7",
         "{} was submitted to queue {}, and no durable ack asks for it", to_string(spec.id),
         spec.queue.view());
  Effect& effect = found->second;
  effect.without_limit = verdict.why == core::Rejection::kUnknownLimit;
  switch (verdict.fate) {
    case core::Fate::kCreated:
      marks_.hit(Mark::kPassedOn);
      ++effect.made;
      demand(effect.made <= effect.boxes, "N7",
             "{} of queue {} was asked for {} times, and made {} times", to_string(spec.id),
             spec.queue.view(), effect.boxes, effect.made);
      demand(std::ranges::any_of(
                 effect.asked,
                 [&](const Asked& asked) { return is_same(spec, asked.spec, asked.at); }),
             "N7", "{} of queue {} is not what was asked for", to_string(spec.id),
             spec.queue.view());
      effect.there = true;
      effect.open = false;
      return;
    case core::Fate::kExisting:
      marks_.hit_if(effect.made > 0, Mark::kPassedOnTwice);
      effect.there = true;
      effect.open = false;
      return;
    case core::Fate::kRefused:
      if (verdict.why != core::Rejection::kDuplicateJob &&
          verdict.why != core::Rejection::kIdMismatch &&
          verdict.why != core::Rejection::kUnfitLimit) {
        return;
      }
      marks_.hit(Mark::kOutboxRefused);
      effect.refused = true;
      effect.open = false;
      return;
  }
}

void Effects::taken(std::uint32_t shard, const JobId& box, std::uint64_t term) {
  const auto found = boxes_.find({shard, box});
  demand(found != boxes_.end(), "N7",
         "{} lies in the outbox of shard {}, and no durable ack put it there", to_string(box),
         shard);
  const std::uint64_t before = std::exchange(found->second.term, term);
  if (before == 0 || before == term) return;
  marks_.hit(Mark::kOutboxTakenOver);
  const Effect& effect = effects_.at({found->second.job, found->second.queue});
  marks_.hit_if(effect.made > 0, Mark::kRelayDiedBetween);
}

void Effects::given_up(std::uint32_t shard, const core::Job& box) {
  const auto found = boxes_.find({shard, box.id});
  if (found == boxes_.end()) return;  // check_dead() reports it
  Effect& effect = effects_.at({found->second.job, found->second.queue});
  if (effect.refused || !effect.without_limit) return;
  if (box.latest.started_at - box.created_at < kInVain) return;
  marks_.hit(Mark::kOutboxInVain);
  effect.refused = true;
  effect.open = false;
}

void Effects::check_all_there() const {
  for (const auto& [name, effect] : effects_) {
    demand(!effect.open, "N7", "a durable ack asks for {} of queue {}, and it was never there",
           to_string(name.first), name.second);
  }
}

void Effects::check_dead(std::uint32_t shard, const core::Job& box) const {
  const auto found = boxes_.find({shard, box.id});
  const bool known = found != boxes_.end();
  demand(known && effects_.at({found->second.job, found->second.queue}).refused, "N7",
         "{} in the outbox of shard {} is dead, and was not refused where it belongs",
         to_string(box.id), shard);
}

}  // namespace millrace::sim
