#include "digest/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "digest/sha256_sum.h"

namespace millrace {

Sha256Sum::Sha256Sum() : context_(EVP_MD_CTX_new()) {
  MILLRACE_CHECK(context_ != nullptr);
  MILLRACE_CHECK(EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
}
Sha256Sum::~Sha256Sum() { EVP_MD_CTX_free(context_); }

void Sha256Sum::add(std::string_view piece) {
  MILLRACE_CHECK(EVP_DigestUpdate(context_, piece.data(), piece.size()) == 1);
}

Sha256 Sha256Sum::finish() {
  Sha256 digest{};
  MILLRACE_CHECK(EVP_DigestFinal_ex(context_, digest.data(), nullptr) == 1);
  return digest;
}

Sha256 sha256(std::string_view first, std::string_view second) {
  Sha256Sum sum;
  sum.add(first);
  sum.add(second);
  return sum.finish();
}

}  // namespace millrace
