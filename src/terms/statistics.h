// What statistics are grouped by.
#pragma once

#include <cstdint>

#include "terms/names.h"

namespace millrace::terms {

enum class StatsBy : std::uint8_t { kAll, kQueue, kType, kFairKey, kTag };
template <>
inline constexpr auto kNames<StatsBy> = names_up_to<StatsBy::kTag>({
    {StatsBy::kAll, ""},
    {StatsBy::kQueue, "queue"},
    {StatsBy::kType, "type"},
    {StatsBy::kFairKey, "fair_key"},
    {StatsBy::kTag, "tag"},
});

}  // namespace millrace::terms
