// What the home of a limit does to the book of one of its gates. Pure: the book and what the shards
// need go in, the book from now on comes out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/limits.h"
#include "core/share.h"

namespace millrace::core {

// What no shard has grows by the rate that no shard has.
void grow(ShareBook& book, Time now);
// A book in which no shard has anything.
ShareBook new_book(const Bounds& bounds, std::uint64_t of, Time now);
// The bounds are these from now on: every share is called back. `uncounted`: each of the `shards`
// may have leases that the book does not count.
void rebind(ShareBook& book, const Bounds& bounds, std::uint64_t of, bool uncounted,
            std::uint32_t shards, std::uint64_t& next_version, Time now);
// What a shard has said of its share.
void settle(ShareBook& book, std::uint32_t shard, const ShareReport& report, Time now);
// Gives what is free, and calls back what others should have. `needs`: at most one a shard.
void allot(ShareBook& book, std::vector<ShareNeed>& needs, std::uint64_t& next_version, Time now);
// Forgets who has nothing. The book that remains may be forgotten too from the returned time on;
// none: it must stay.
std::optional<Time> tidy(ShareBook& book, Time now);

// What is counted for no shard.
Portion free_of(const ShareBook& book);
// F8. Not while shares of earlier, higher bounds are being called back.
bool within_bounds(const ShareBook& book);

}  // namespace millrace::core
