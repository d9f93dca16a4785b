#include "digest/fingerprint.h"

#include <cstring>
#include <string>

#include "digest/sha256.h"

namespace millrace {
namespace {

Fingerprint first_half(const Sha256& digest) {
  Fingerprint result;
  std::memcpy(result.bytes.data(), digest.data(), result.bytes.size());
  return result;
}

}  // namespace

Fingerprint fingerprint(std::string_view content) { return first_half(sha256(content)); }

Fingerprint fingerprint(std::string_view first, std::string_view second) {
  const std::string head = std::to_string(first.size()) + ':' + std::string(first);
  return first_half(sha256(head, second));
}

}  // namespace millrace
