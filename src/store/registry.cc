#include "store/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace millrace::store {

namespace {
constexpr std::size_t kDigits = 16;
}  // namespace

std::string to_string(NodeId id) { return fmt::format("{:016x}", to_number(id)); }

std::optional<NodeId> parse_node_id(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != kDigits || !std::ranges::all_of(text, digit)) return std::nullopt;
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  return NodeId{id};
}

}  // namespace millrace::store
