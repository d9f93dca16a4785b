#include "push/ip_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/hex.h"

namespace millrace::push {
namespace {

constexpr std::size_t kMaxTextBytes = 64;

// A number as inet_aton() reads it, not greater than `most`.
std::optional<std::uint32_t> loose_number(std::string_view text, std::uint64_t most) {
  if (text.empty()) return std::nullopt;
  int base = 10;
  if (text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
    if (text.empty()) return 0;  // browsers accept "0x" as zero
  } else if (text.size() >= 2 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  for (const char c : text) {
    const int digit = hex_value(c);
    if (digit < 0 || digit >= base) return std::nullopt;
    value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit);
    if (value > most) return std::nullopt;
  }
  return static_cast<std::uint32_t>(value);
}

unsigned width_of(const IpAddress& address) { return address.is_v4 ? 32 : 128; }

}  // namespace

IpAddress IpAddress::v4(std::uint32_t host_order) {
  IpAddress address;
  address.is_v4 = true;
  for (int i = 0; i < 4; ++i) {
    address.bytes.at(static_cast<std::size_t>(i)) =
        static_cast<std::uint8_t>(host_order >> (24 - 8 * i));
  }
  return address;
}

std::optional<IpAddress> parse_ipv4(std::string_view text) {
  IpAddress address;
  address.is_v4 = true;
  if (text.size() > kMaxTextBytes) return std::nullopt;
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  if (::inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return to_string(address) == text ? std::optional(address) : std::nullopt;
}

std::optional<IpAddress> parse_ipv4_loosely(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  std::uint32_t value = 0;
  unsigned parts = 0;
  while (parts < 4) {
    const std::size_t dot = text.find('.');
    const bool is_last = dot == std::string_view::npos;
    const unsigned left = 4 - parts;  // bytes not set yet
    const std::uint64_t most = is_last ? (std::uint64_t{1} << (8 * left)) - 1 : 255;
    const auto number = loose_number(text.substr(0, dot), most);
    if (!number) return std::nullopt;
    if (is_last) return IpAddress::v4(value | *number);
    value |= *number << (8 * (left - 1));
    text.remove_prefix(dot + 1);
    ++parts;
  }
  return std::nullopt;  // a fifth part
}

std::optional<IpAddress> parse_ipv6(std::string_view text) {
  IpAddress address;
  if (text.size() > kMaxTextBytes) return std::nullopt;
  const std::string terminated(text);
  if (terminated.find('\0') != std::string::npos) return std::nullopt;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::string to_string(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(address.is_v4 ? AF_INET : AF_INET6, address.bytes.data(), text.data(), text.size());
  return text.data();
}

bool Network::contains(const IpAddress& address) const {
  if (address.is_v4 != base.is_v4) return false;
  for (unsigned bit = 0; bit < bits;) {
    const std::size_t byte = bit / 8;
    const unsigned count = std::min(8U, bits - bit);
    const unsigned mask = 0xffU & (0xffU << (8 - count));
    if (((address.bytes.at(byte) ^ base.bytes.at(byte)) & mask) != 0) return false;
    bit += count;
  }
  return true;
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  auto base = parse_ipv4(address);
  if (!base) base = parse_ipv6(address);
  if (!base) return std::nullopt;
  Network network{*base, width_of(*base)};
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), network.bits);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        network.bits > width_of(*base) || (digits.size() > 1 && digits.front() == '0')) {
      return std::nullopt;
    }
  }
  for (unsigned bit = network.bits; bit < width_of(*base); ++bit) {
    if ((base->bytes.at(bit / 8) & (0x80U >> (bit % 8))) != 0) return std::nullopt;
  }
  return network;
}

std::string to_string(const Network& network) {
  return fmt::format("{}/{}", to_string(network.base), network.bits);
}

}  // namespace millrace::push
