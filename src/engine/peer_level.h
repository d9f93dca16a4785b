// What nodes of several versions can say to each other.
#pragma once

#include <cstdint>

#include "base/tomorrow.h"

namespace millrace::engine {

// Each connection between nodes has the level of the older of the two (http/peer_frames.h). A new
// member, value or kind of request needs a new level: members that the other does not know are left
// out, and a request that means nothing without them is not sent (level_of() in request_codec.h).
enum class PeerLevel : std::uint32_t {
  kFirst = 1,
  // Goodbyes, watches of a lease, deleted queues, pages of queues, queues that are made only if
  // asked for, keys of a batch's items, and answers to what is not understood.
  kSecond = 2,
};
inline constexpr PeerLevel kNewestPeerLevelOfToday = PeerLevel::kSecond;
inline constexpr PeerLevel kPeerLevelOfTomorrow{
    static_cast<std::uint32_t>(kNewestPeerLevelOfToday) + 1};
inline constexpr PeerLevel kNewestPeerLevel =
    kOfTomorrow ? kPeerLevelOfTomorrow : kNewestPeerLevelOfToday;

}  // namespace millrace::engine
