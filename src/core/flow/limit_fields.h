// The members of limits and of replies about them: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/flow/limit.h"

namespace millrace::core {

constexpr auto last_of(Of<LimitKind>) { return LimitKind::kFair; }
constexpr auto last_of(Of<BlockCode>) { return BlockCode::kBehind; }
constexpr auto last_of(Of<BreakerState>) { return BreakerState::kHalfOpen; }

constexpr auto describe(Of<Rate>) {
  return std::tuple(Field(1, &Rate::limit), Field(2, &Rate::per), Field(3, &Rate::burst));
}

constexpr auto describe(Of<Bounds>) {
  return std::tuple(Field(1, &Bounds::concurrency), Field(2, &Bounds::rate));
}

constexpr auto describe(Of<KeyBounds>) {
  return std::tuple(Field(1, &KeyBounds::key), Field(2, &KeyBounds::bounds));
}

constexpr auto describe(Of<BreakerRule>) {
  return std::tuple(Field(1, &BreakerRule::failure_ppm), Field(2, &BreakerRule::min_attempts),
                    Field(3, &BreakerRule::window), Field(4, &BreakerRule::open),
                    Field(5, &BreakerRule::probes));
}

constexpr auto describe(Of<LimitSettings>) {
  return std::tuple(Field(1, &LimitSettings::bounds), Field(2, &LimitSettings::per_key),
                    Field(3, &LimitSettings::keys), Field(4, &LimitSettings::breaker),
                    Field(5, &LimitSettings::retry_rate));
}

constexpr auto describe(Of<LimitPause>) {
  return std::tuple(Field(1, &LimitPause::key), Field(2, &LimitPause::reason),
                    Field(3, &LimitPause::until));
}

constexpr auto describe(Of<Limit>) {
  return std::tuple(Field(1, &Limit::kind), Field(2, &Limit::name), Field(3, &Limit::settings),
                    Field(4, &Limit::version), Field(5, &Limit::incarnation, Form::kFixed),
                    Field(6, &Limit::pauses), Field(7, &Limit::revision),
                    Field(8, &Limit::bounds_revision), Field(9, &Limit::uncounted));
}

constexpr auto describe(Of<JobLimit>) {
  return std::tuple(Field(1, &JobLimit::name), Field(2, &JobLimit::key), Field(3, &JobLimit::cost),
                    Field(4, &JobLimit::incarnation, Form::kFixed),
                    Field(5, &JobLimit::key_from_fair));
}

constexpr auto describe(Of<BreakerSlice>) {
  return std::tuple(Field(1, &BreakerSlice::number), Field(2, &BreakerSlice::good),
                    Field(3, &BreakerSlice::failed));
}

constexpr auto describe(Of<BreakerRow>) {
  return std::tuple(Field(1, &BreakerRow::slices), Field(2, &BreakerRow::open_until),
                    Field(3, &BreakerRow::successes));
}

constexpr auto describe(Of<GateUse>) {
  return std::tuple(
      Field(1, &GateUse::key), Field(2, &GateUse::in_use), Field(3, &GateUse::waiting),
      Field(4, &GateUse::next_token_at), Field(5, &GateUse::pause), Field(6, &GateUse::breaker),
      Field(7, &GateUse::open_until), Field(8, &GateUse::slow_until), Field(9, &GateUse::weight),
      Field(10, &GateUse::share_ppm), Field(11, &GateUse::unfinished));
}

constexpr auto describe(Of<LimitView>) {
  return std::tuple(Field(1, &LimitView::limit), Field(2, &LimitView::use));
}

constexpr auto describe(Of<Blocker>) {
  return std::tuple(Field(1, &Blocker::code), Field(2, &Blocker::kind), Field(3, &Blocker::limit),
                    Field(4, &Blocker::key), Field(5, &Blocker::text), Field(6, &Blocker::since),
                    Field(7, &Blocker::until), Field(8, &Blocker::in_use),
                    Field(9, &Blocker::bound), Field(10, &Blocker::jobs),
                    Field(11, &Blocker::ahead), Field(12, &Blocker::more),
                    Field(13, &Blocker::waiting));
}

}  // namespace millrace::core
