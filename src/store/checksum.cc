#define XXH_STATIC_LINKING_ONLY  // for the state on the stack
#include <xxhash.h>

#include <array>

#include "base/check.h"
#include "store/journal.h"

namespace millrace::store {
namespace {

// Little-endian, whatever the machine's order.
template <typename T>
char* put(char* out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) *out++ = static_cast<char>(value >> (8 * i));
  return out;
}

}  // namespace

Checksum row_checksum(std::uint32_t shard, Seq seq, Epoch epoch, const Checksum& predecessor,
                      std::string_view body) {
  std::array<char, 36> head;
  char* end = put(head.data(), shard);
  end = put(end, to_number(seq));
  end = put(end, to_number(epoch));
  end = put(end, predecessor.high);
  end = put(end, predecessor.low);
  MILLRACE_CHECK(end == head.data() + head.size());

  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, head.data(), head.size());
  XXH3_128bits_update(&state, body.data(), body.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.high64, hash.low64};
}

}  // namespace millrace::store
