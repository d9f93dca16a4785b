#include "http/peer/peer_access.h"

#include <algorithm>
#include <charconv>

namespace millrace::http {

engine::PeerLevel peer_level(std::string_view told) {
  std::uint32_t level = 0;
  const char* const end = told.data() + told.size();
  const auto [rest, error] = std::from_chars(told.data(), end, level);
  if (error != std::errc() || rest != end || level == 0) return engine::PeerLevel::kFirst;
  return std::min(static_cast<engine::PeerLevel>(level), engine::kNewestPeerLevel);
}

std::string own_peer_level() {
  return std::to_string(static_cast<std::uint32_t>(engine::kNewestPeerLevel));
}

}  // namespace millrace::http
