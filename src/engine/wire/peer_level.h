// The levels of the protocol between nodes of different versions.
#pragma once

#include <cstdint>

#include "base/tomorrow.h"

namespace millrace::engine {

// A connection between two nodes has the level of the older one (http/peer/peer_frames.h). A new
// member, value or kind of request needs a new level. Members unknown to the other node are left
// out, and a request that makes no sense without them is not sent (level_of() in request_codec.h).
enum class PeerLevel : std::uint32_t {
  kFirst = 1,
  // Adds goodbyes, watches of a lease, deletion of queues, pages of queues, the `create` flag of
  // queue changes, idempotency keys of a batch's items, and answers to requests that are not
  // understood.
  kSecond = 2,
  kThird = 3,    // adds schedules
  kFourth = 4,   // adds the catalog
  kFifth = 5,    // adds limits
  kSixth = 6,    // adds operations, groups of errors, and the origin of a change
  kSeventh = 7,  // adds details of refusals
};
inline constexpr PeerLevel kNewestPeerLevelOfToday = PeerLevel::kSeventh;
inline constexpr PeerLevel kPeerLevelOfTomorrow{
    static_cast<std::uint32_t>(kNewestPeerLevelOfToday) + 1};
inline constexpr PeerLevel kNewestPeerLevel =
    kOfTomorrow ? kPeerLevelOfTomorrow : kNewestPeerLevelOfToday;

}  // namespace millrace::engine
