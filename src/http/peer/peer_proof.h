// Two nodes prove to each other that they know the secret of their database, without sending it:
// each sends an HMAC-SHA256, under the secret, of its role and of both sides' nonces. Because of
// the roles a proof can't be sent back to its maker; because of the nonces it can't be used again.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::http {

constexpr std::size_t kPeerNonceBytes = 32;
constexpr std::size_t kPeerMacBytes = 32;
using PeerNonce = std::array<std::uint8_t, kPeerNonceBytes>;
using PeerMac = std::array<std::uint8_t, kPeerMacBytes>;

enum class PeerRole : std::uint8_t { kAsker, kAnswerer };

// From OpenSSL's random generator, never from a seed, so that no nonce comes twice.
PeerNonce make_peer_nonce();

PeerMac peer_proof(std::string_view secret, PeerRole role, const PeerNonce& answerer,
                   const PeerNonce& asker);
// In constant time.
bool is_peer_proof(std::string_view mac, std::string_view secret, PeerRole role,
                   const PeerNonce& answerer, const PeerNonce& asker);

template <std::size_t Size>
std::string_view as_text(const std::array<std::uint8_t, Size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace millrace::http
