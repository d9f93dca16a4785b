// IP addresses and networks as values: no sockets, no resolver.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::push {

struct IpAddress {
  bool is_v4 = false;
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 address uses the first four

  static IpAddress v4(std::uint32_t host_order);
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// "192.0.2.1": four decimal numbers without leading zeros.
std::optional<IpAddress> parse_ipv4(std::string_view text);
// Accepts all that inet_aton() and browsers take for an IPv4 address: one to four numbers, decimal,
// octal (with a leading zero) or hexadecimal (0x). The last number fills the remaining bytes:
// "0x7f.1", "2130706433", "0177.0.0.1". A trailing dot is ignored.
std::optional<IpAddress> parse_ipv4_loosely(std::string_view text);
// Accepts no brackets and no zone.
std::optional<IpAddress> parse_ipv6(std::string_view text);
std::string to_string(const IpAddress& address);

// The addresses whose first `bits` bits equal those of `base`.
struct Network {
  IpAddress base;
  unsigned bits = 0;

  bool contains(const IpAddress& address) const;
  friend bool operator==(const Network&, const Network&) = default;
};
// "10.0.0.0/8", "fc00::/7", or a single address. The bits after the prefix must be zero.
std::optional<Network> parse_network(std::string_view text);
std::string to_string(const Network& network);

}  // namespace millrace::push
