#include "store/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hex.h"

namespace millrace::store {

namespace {
constexpr std::size_t kDigits = 16;
}  // namespace

std::string to_string(NodeId id) { return fmt::format("{:016x}", to_number(id)); }

std::optional<NodeId> parse_node_id(std::string_view text) {
  if (text.size() != kDigits || !std::ranges::all_of(text, is_lower_hex)) return std::nullopt;
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  return NodeId{id};
}

}  // namespace millrace::store
