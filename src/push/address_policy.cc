#include "push/address_policy.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::push {
namespace {

struct Special {
  std::string_view network;
  std::string_view kind;
};

// The registries of special-purpose addresses (RFC 6890 and later additions), and two metadata
// addresses within public ranges. The first match gives the kind.
constexpr Special kSpecial[] = {
    {"169.254.169.254/32", "an address of a cloud's metadata"},
    {"168.63.129.16/32", "an address of a cloud's metadata"},
    {"100.100.100.200/32", "an address of a cloud's metadata"},
    {"192.0.0.192/32", "an address of a cloud's metadata"},
    {"fd00:ec2::254/128", "an address of a cloud's metadata"},
    {"fd20:ce::254/128", "an address of a cloud's metadata"},
    {"0.0.0.0/8", "an address of this network"},
    {"10.0.0.0/8", "a private address"},
    {"100.64.0.0/10", "a carrier's shared address"},
    {"127.0.0.0/8", "a loopback address"},
    {"169.254.0.0/16", "a link-local address"},
    {"172.16.0.0/12", "a private address"},
    {"192.0.0.0/24", "an address for protocols"},
    {"192.0.2.0/24", "an address for documentation"},
    {"192.31.196.0/24", "an address for protocols"},
    {"192.52.193.0/24", "an address for protocols"},
    {"192.88.99.0/24", "a 6to4 relay's address"},
    {"192.168.0.0/16", "a private address"},
    {"192.175.48.0/24", "an address for protocols"},
    {"198.18.0.0/15", "an address for benchmarks"},
    {"198.51.100.0/24", "an address for documentation"},
    {"203.0.113.0/24", "an address for documentation"},
    {"224.0.0.0/4", "a multicast address"},
    {"255.255.255.255/32", "the broadcast address"},
    {"240.0.0.0/4", "a reserved address"},
    {"::/128", "the unspecified address"},
    {"::1/128", "a loopback address"},
    {"::ffff:0:0/96", "an IPv4-mapped address"},
    {"::ffff:0:0:0/96", "an IPv4-translated address"},
    {"::/96", "an IPv4-compatible address"},
    {"64:ff9b::/96", "a NAT64 address"},
    {"64:ff9b:1::/48", "a NAT64 address"},
    {"100::/64", "a discard address"},
    {"2001::/32", "a Teredo address"},
    {"2001:2::/48", "an address for benchmarks"},
    {"2001:10::/28", "an ORCHID address"},
    {"2001:20::/28", "an ORCHID address"},
    {"2001::/23", "an address for protocols"},
    {"2001:db8::/32", "an address for documentation"},
    {"2002::/16", "a 6to4 address"},
    {"2620:4f:8000::/48", "an address for protocols"},
    {"3ffe::/16", "a reserved address"},
    {"3fff::/20", "an address for documentation"},
    {"5f00::/16", "an address for segment routing"},
    {"fc00::/7", "a unique-local address"},
    {"fe80::/10", "a link-local address"},
    {"fec0::/10", "a site-local address"},
    {"ff00::/8", "a multicast address"},
};

const std::vector<std::pair<Network, std::string_view>>& special_networks() {
  static const auto kNetworks = [] {
    std::vector<std::pair<Network, std::string_view>> networks;
    for (const Special& special : kSpecial) {
      const auto network = parse_network(special.network);
      MILLRACE_CHECK(network.has_value());
      networks.emplace_back(*network, special.kind);
    }
    return networks;
  }();
  return kNetworks;
}

bool any_contains(const std::vector<Network>& networks, const IpAddress& address) {
  return std::ranges::any_of(networks,
                             [&](const Network& network) { return network.contains(address); });
}

}  // namespace

std::string_view special_kind(const IpAddress& address) {
  for (const auto& [network, kind] : special_networks()) {
    if (network.contains(address)) return kind;
  }
  // Only 2000::/3 of IPv6 has been allocated.
  if (!address.is_v4 && (address.bytes.front() & 0xe0) != 0x20) return "a reserved address";
  return {};
}

std::string_view AddressPolicy::refusal(const IpAddress& address) const {
  if (any_contains(deny, address)) return "an address that the server's configuration denies";
  if (any_contains(allow, address)) return {};
  if (std::ranges::find(own, address) != own.end()) return "an address of the server itself";
  return special_kind(address);
}

bool AddressPolicy::allows_port(std::uint16_t port) const {
  return all_ports || std::ranges::find(ports, port) != ports.end();
}

}  // namespace millrace::push
