#include "digest/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace millrace {

Sha256 sha256(std::string_view first, std::string_view second) {
  Sha256 digest{};
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  MILLRACE_CHECK(context != nullptr);
  MILLRACE_CHECK(EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1);
  MILLRACE_CHECK(EVP_DigestUpdate(context, first.data(), first.size()) == 1);
  MILLRACE_CHECK(EVP_DigestUpdate(context, second.data(), second.size()) == 1);
  MILLRACE_CHECK(EVP_DigestFinal_ex(context, digest.data(), nullptr) == 1);
  EVP_MD_CTX_free(context);
  return digest;
}

}  // namespace millrace
