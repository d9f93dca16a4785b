#include "push/signature.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "digest/hmac.h"

namespace millrace::push {
namespace {

constexpr std::size_t kMinKeyBytes = 24;
constexpr std::size_t kMaxKeyBytes = 64;

}  // namespace

Result<std::string> secret_key(std::string_view secret) {
  std::string key;
  const bool is_named = secret.starts_with(kSecretPrefix);
  if (is_named) secret.remove_prefix(kSecretPrefix.size());
  // Encoded again and compared, because the decoder is lenient.
  const bool is_base64 = is_named && absl::Base64Unescape({secret.data(), secret.size()}, &key) &&
                         std::string_view(absl::Base64Escape(key)) == secret;
  if (!is_base64 || key.size() < kMinKeyBytes || key.size() > kMaxKeyBytes) {
    return failure(
        fmt::format("must be \"whsec_\" and {} to {} random bytes in base64, as of "
                    "`echo whsec_$(openssl rand -base64 32)`",
                    kMinKeyBytes, kMaxKeyBytes));
  }
  return key;
}

std::string signature(const std::vector<std::string>& keys, std::string_view id,
                      std::int64_t unix_seconds, std::string_view body) {
  const std::string text = fmt::format("{}.{}.{}", id, unix_seconds, body);
  std::string out;
  for (const std::string& key : keys) {
    const Sha256 digest = hmac_sha256(key, text);
    if (!out.empty()) out += ' ';
    out += "v1,";
    out += absl::Base64Escape({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }
  return out;
}

}  // namespace millrace::push
