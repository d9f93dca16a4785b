// The operations of a limit's home on the book of one gate. Pure functions of the book and the
// shards' needs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/bounds.h"
#include "core/flow/share.h"

namespace millrace::core {

// Adds the tokens of the rate that no shard has.
void grow(ShareBook& book, Time now);
// A book in which no shard has anything.
ShareBook new_book(const Bounds& bounds, std::uint64_t of, Time now);
// Replaces the bounds: every share is called back. `uncounted`: each of the `shards` may have
// leases that the book does not count.
void rebind(ShareBook& book, const Bounds& bounds, std::uint64_t of, bool uncounted,
            std::uint32_t shards, std::uint64_t& next_version, Time now);
// Applies a shard's report about its share.
void settle(ShareBook& book, std::uint32_t shard, const ShareReport& report, Time now);
// Grants what is free, and calls back shares for others that need them. `needs`: at most one per
// shard.
void allot(ShareBook& book, std::vector<ShareNeed>& needs, std::uint64_t& next_version, Time now);
// Removes shards that have nothing. Returns the time from which the remaining book may be removed
// too; none: it must stay.
std::optional<Time> tidy(ShareBook& book, Time now);

// The part counted for no shard.
Portion free_of(const ShareBook& book);
// F8. Does not hold while shares of earlier, higher bounds are being called back.
bool within_bounds(const ShareBook& book);

}  // namespace millrace::core
