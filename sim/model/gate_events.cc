#include "sim/model/gate_events.h"

#include <string>
#include <variant>

#include "sim/violation.h"

namespace millrace::sim {
namespace {

bool is_of_gates(const core::Event& event) {
  return std::holds_alternative<core::LimitSet>(event) ||
         std::holds_alternative<core::LimitDeleted>(event) ||
         std::holds_alternative<core::SlowedDown>(event) ||
         std::holds_alternative<core::BreakerTurned>(event) ||
         std::holds_alternative<core::Debounced>(event) ||
         std::holds_alternative<core::ShareTaken>(event);
}

std::string text(const std::optional<Time>& at) {
  return at ? std::to_string(to_ms(*at)) : std::string("never");
}

}  // namespace

void GateEvents::begin(const core::EventBatch& batch) {
  events_.clear();
  at_ = 0;
  for (const core::Event& event : batch.events) {
    if (is_of_gates(event)) events_.push_back(&event);
  }
}

void GateEvents::check_over() const {
  if (at_ == events_.size()) return;
  const core::Event& event = *events_[at_];
  if (const auto* const turned = std::get_if<core::BreakerTurned>(&event)) {
    violated("F9", "the breaker of {} {} turns, to be open until {}, and nothing makes it",
             turned->name.view(), turned->key.view(), text(turned->open_until));
  }
  if (const auto* const taken = std::get_if<core::ShareTaken>(&event)) {
    violated("F8", "a share of {} {} is taken in version {}, and nobody gave it",
             taken->name.view(), taken->key.view(), taken->share.version);
  }
  violated("F3", "{} of {} events of limits are followed, and nothing explains the next", at_,
           events_.size());
}

template <typename T>
const T& GateEvents::next(const char* id, const char* what, std::string_view of) {
  const T* const event = at_ < events_.size() ? std::get_if<T>(events_[at_]) : nullptr;
  demand(event != nullptr, id, "{} should have been, of {}; {} of {} events are followed", what, of,
         at_, events_.size());
  ++at_;
  return *event;
}

void GateEvents::expect(const core::LimitSet& event) {
  const auto& is = next<core::LimitSet>("S2", "a change of a limit", event.limit.name.view());
  demand(is.change == event.change && is.limit == event.limit, "S2",
         "limit {} is stored otherwise than it was set: version {} for {}, revision {} for {}, of "
         "bounds {} for {}{}",
         event.limit.name.view(), is.limit.version, event.limit.version, is.limit.revision,
         event.limit.revision, is.limit.bounds_revision, event.limit.bounds_revision,
         is.limit.settings == event.limit.settings ? "" : ", with other settings");
}

void GateEvents::expect(const core::LimitDeleted& event) {
  const auto& is = next<core::LimitDeleted>("S2", "the deletion of a limit", event.name.view());
  demand(is.kind == event.kind && is.name == event.name && is.copied == event.copied, "S2",
         "limit {} should have been deleted, not {}", event.name.view(), is.name.view());
}

void GateEvents::expect(const core::SlowedDown& event) {
  const auto& is = next<core::SlowedDown>("S2", "a slow-down", event.name.view());
  demand(is.kind == event.kind && is.name == event.name && is.key == event.key &&
             is.until == event.until,
         "S2", "{} {} should slow down until {}, not {} {} until {}", event.name.view(),
         event.key.view(), text(event.until), is.name.view(), is.key.view(), text(is.until));
}

void GateEvents::expect(const core::BreakerTurned& event) {
  const auto& is = next<core::BreakerTurned>("F9", "a turn of a breaker", event.name.view());
  demand(is.kind == event.kind && is.name == event.name && is.key == event.key &&
             is.open_until == event.open_until,
         "F9", "the breaker of {} {} should be open until {}, not that of {} {} until {}",
         event.name.view(), event.key.view(), text(event.open_until), is.name.view(), is.key.view(),
         text(is.open_until));
}

void GateEvents::expect(const core::Debounced& event) {
  const auto& is = next<core::Debounced>("I1", "a debounced submission", to_string(event.job.id));
  demand(is.job.id == event.job.id && is.payload == event.payload && is.run_at == event.run_at &&
             is.state == event.state,
         "I1", "{} should wait until {} as {}, not until {} as {}", to_string(event.job.id),
         to_ms(event.run_at), name_of(event.state), to_ms(is.run_at), name_of(is.state));
}

const core::ShareTaken& GateEvents::expect(const core::ShareTaken& event) {
  const auto& is = next<core::ShareTaken>("F8", "a share that is given", event.name.view());
  demand(is.kind == event.kind && is.name == event.name && is.key == event.key &&
             is.share == event.share,
         "F8", "a share of {} {} in version {} should be taken, not of {} {} in version {}",
         event.name.view(), event.key.view(), event.share.version, is.name.view(), is.key.view(),
         is.share.version);
  return is;
}

}  // namespace millrace::sim
