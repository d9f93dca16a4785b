// Arbitrary events for tests: see arbitrary.h.
#pragma once

#include "store/testing/arbitrary.h"

namespace millrace::store {

// One maker an alternative, by its index in core::Event.
template <std::size_t Index>
core::Event arbitrary_event(Arbitrary& make) {
  using Made = std::variant_alternative_t<Index, core::Event>;
  const auto u64 = [&] { return make.number<std::uint64_t>(); };
  const auto time = [&] { return make.time(); };
  const auto claimed_item = [&] {
    return core::Claimed::Item{make.ref(),      make.token(),     make.time(),
                               make.duration(), make.maybe(time), make.duration()};
  };
  if constexpr (std::same_as<Made, core::QueueChanged>) {
    return Made{make.name(), make.enumerator(core::QueueChange::kResumed), make.settings(),
                make.bytes()};
  } else if constexpr (std::same_as<Made, core::Submitted>) {
    const auto key = [&] {
      return core::IdempotencyKey{make.fingerprint(), make.fingerprint(), make.time()};
    };
    return Made{make.job(), make.maybe(key)};
  } else if constexpr (std::same_as<Made, core::Claimed>) {
    return Made{make.name(), make.several(4, claimed_item)};
  } else if constexpr (std::same_as<Made, core::Extended>) {
    return Made{make.several(
        4, [&] { return core::Extended::Item{make.id(), make.time(), make.progress()}; })};
  } else if constexpr (std::same_as<Made, core::AttemptEnded>) {
    return Made{make.ref(),
                make.token(),
                make.name(),
                make.enumerator(kLastOutcome),
                make.enumerator(kLastState),
                make.maybe(time),
                make.coin(),
                make.coin(),
                make.keep(),
                make.duration(),
                make.bytes(),
                make.error()};
  } else if constexpr (std::same_as<Made, core::Logged>) {
    return Made{make.id(), make.several(4, [&] { return make.log_line(); }),
                make.number<std::uint32_t>()};
  } else if constexpr (std::same_as<Made, core::BecameDue>) {
    return Made{make.several(4, [&] { return make.ref(); })};
  } else if constexpr (std::same_as<Made, core::Expired>) {
    return Made{make.ref(), make.keep()};
  } else if constexpr (std::same_as<Made, core::CancelRequested>) {
    return Made{make.ref(), make.name(), make.token(), make.bytes()};
  } else if constexpr (std::same_as<Made, core::Cancelled>) {
    return Made{make.ref(), make.bytes(), make.keep()};
  } else if constexpr (std::same_as<Made, core::Retried>) {
    return Made{make.job(), make.enumerator(kLastState)};
  } else if constexpr (std::same_as<Made, core::Finished>) {
    return Made{make.job(), make.enumerator(kLastState), make.token(), make.keep()};
  } else if constexpr (std::same_as<Made, core::Edited>) {
    return Made{make.ref(),
                make.maybe([&] { return make.number<std::int16_t>(); }),
                make.maybe(time),
                make.maybe([&] { return make.enumerator(kLastState); }),
                make.bytes(),
                make.maybe([&] { return make.number<std::uint32_t>(); }),
                make.maybe([&] { return make.several(3, [&] { return make.bytes(); }); })};
  } else if constexpr (std::same_as<Made, core::Deleted>) {
    return Made{make.enumerator(core::DeleteCause::kPurge), make.several(4, [&] {
                  return core::Deleted::Item{make.ref(), make.enumerator(kLastState), make.bytes()};
                })};
  } else if constexpr (std::same_as<Made, core::QueuePurged>) {
    return Made{make.name(), u64()};
  } else if constexpr (std::same_as<Made, core::QueueDeleted>) {
    return Made{make.name()};
  } else if constexpr (std::same_as<Made, core::KeysExpired> ||
                       std::same_as<Made, core::UniquesReleased>) {
    return Made{make.time()};
  } else if constexpr (std::same_as<Made, core::EpochStarted>) {
    return Made{Epoch{u64()}, u64()};
  } else {
    static_assert(std::same_as<Made, core::LeasesExtended>);
    return Made{make.duration()};
  }
}

inline core::Event Arbitrary::event() {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    using Make = core::Event (*)(Arbitrary&);
    static constexpr Make kMakers[] = {&arbitrary_event<Index>...};
    return kMakers[below(sizeof...(Index))](*this);
  }(std::make_index_sequence<std::variant_size_v<core::Event>>());
}

}  // namespace millrace::store
