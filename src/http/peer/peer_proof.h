// Two nodes prove to each other that they know the secret of their database, without sending it.
// Each sends an HMAC-SHA256, keyed with the secret, of its role and of both nonces. The role
// prevents a proof from being reflected to its maker, the nonces prevent replay.
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

// Uses OpenSSL's random generator and no seed, so that no nonce is repeated.
PeerNonce make_peer_nonce();

PeerMac peer_proof(std::string_view secret, PeerRole role, const PeerNonce& answerer,
                   const PeerNonce& asker);
// Compares in constant time.
bool is_peer_proof(std::string_view mac, std::string_view secret, PeerRole role,
                   const PeerNonce& answerer, const PeerNonce& asker);

template <std::size_t Size>
std::string_view as_text(const std::array<std::uint8_t, Size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace millrace::http
