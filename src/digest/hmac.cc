#include "digest/hmac.h"

#include <algorithm>
#include <string>

namespace millrace {
namespace {

constexpr std::size_t kBlockBytes = 64;

std::string_view bytes_of(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Sha256 hmac_sha256(std::string_view key, std::string_view text) {
  std::string block(key.size() > kBlockBytes ? std::string(bytes_of(sha256(key)))
                                             : std::string(key));
  block.resize(kBlockBytes, '\0');
  const auto mixed = [&block](char with) {
    std::string out = block;
    std::ranges::for_each(out, [with](char& c) { c = static_cast<char>(c ^ with); });
    return out;
  };
  const Sha256 inner = sha256(mixed(0x36), text);
  return sha256(mixed(0x5c), bytes_of(inner));
}

}  // namespace millrace
