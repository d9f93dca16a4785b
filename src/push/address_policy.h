// Which addresses the server may call. By default those of the public Internet alone: a URL that a
// user registers must not reach the server's own machine, its network, or the metadata of its
// cloud.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "push/ip_address.h"

namespace millrace::push {

struct AddressPolicy {
  std::vector<Network> deny;   // by the operator: stronger than `allow`
  std::vector<Network> allow;  // by the operator: exceptions from what is below
  std::vector<IpAddress> own;  // of this machine's interfaces
  bool allow_http = false;     // plain HTTP too
  std::vector<std::uint16_t> ports{443};
  bool all_ports = false;

  // Why the server must not connect to the address, as "a loopback address"; empty: it may. A
  // constant, or a view of nothing.
  std::string_view refusal(const IpAddress& address) const;
  bool allows_port(std::uint16_t port) const;
};

// What kind of address it is, if it is none of the public Internet; empty: it is. IPv4 addresses
// within those of IPv6 are never taken for public, whatever they are.
std::string_view special_kind(const IpAddress& address);

}  // namespace millrace::push
