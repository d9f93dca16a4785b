#include "http/peer/peer_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <string>

#include "base/check.h"

namespace millrace::http {

PeerNonce make_peer_nonce() {
  PeerNonce nonce{};
  MILLRACE_CHECK(RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) == 1);
  return nonce;
}

PeerMac peer_proof(std::string_view secret, PeerRole role, const PeerNonce& answerer,
                   const PeerNonce& asker) {
  MILLRACE_CHECK(!secret.empty());
  std::string content("millrace-peer/1 ");
  content += role == PeerRole::kAsker ? "asker   " : "answerer";
  content += as_text(answerer);
  content += as_text(asker);
  PeerMac mac{};
  unsigned int size = 0;
  const auto* const made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                reinterpret_cast<const unsigned char*>(content.data()),
                                content.size(), mac.data(), &size);
  MILLRACE_CHECK(made != nullptr && size == mac.size());
  return mac;
}

bool is_peer_proof(std::string_view mac, std::string_view secret, PeerRole role,
                   const PeerNonce& answerer, const PeerNonce& asker) {
  const PeerMac expected = peer_proof(secret, role, answerer, asker);
  return mac.size() == expected.size() &&
         CRYPTO_memcmp(mac.data(), expected.data(), expected.size()) == 0;
}

}  // namespace millrace::http
