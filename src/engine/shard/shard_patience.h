// How long the shard loop waits for what, before it does something else.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace millrace::engine {

// While a row is in flight, a step makes another row only if this many requests wait for it.
inline constexpr std::size_t kDecideAheadAt = 64;
// New requests are refused when appends have failed, or one append has lasted, for this long.
inline constexpr Duration kRefuseAfterFailing{1'000};
inline constexpr Duration kRefuseAfterStalling{5'000};
// After this time earlier requests are answered as well, with kUnknown.
inline constexpr Duration kGiveUpAfterFailing{3'000};
inline constexpr Duration kGiveUpAfterStalling{10'000};
// Workflows that wait for room in memory try again after this pause.
inline constexpr Duration kWorkflowsPause{50};
// A wait for the projection is refused after this time.
inline constexpr Duration kProjectionPatience{5'000};

}  // namespace millrace::engine
