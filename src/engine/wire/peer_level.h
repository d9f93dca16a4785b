// The levels of the protocol between nodes of different versions.
#pragma once

#include <cstdint>

#include "base/tomorrow.h"

namespace millrace::engine {

// A connection between two nodes has the level of the older one (http/peer/peer_frames.h). A new
// member, value or kind of request needs a new level. Members unknown to the other node are left
// out, and a request that makes no sense without them is not sent (level_of() in request_codec.h).
// A later level is called by the feature that brings it.
enum class PeerLevel : std::uint32_t {
  kFirst = 1,  // everything that 0.1.0 sends
  kWorkflows = 2,
};
inline constexpr PeerLevel kNewestPeerLevelOfToday = PeerLevel::kWorkflows;
inline constexpr PeerLevel kPeerLevelOfTomorrow{
    static_cast<std::uint32_t>(kNewestPeerLevelOfToday) + 1};
inline constexpr PeerLevel kNewestPeerLevel =
    kOfTomorrow ? kPeerLevelOfTomorrow : kNewestPeerLevelOfToday;

}  // namespace millrace::engine
