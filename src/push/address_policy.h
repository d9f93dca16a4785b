// Which addresses the server may call. By default only those of the public Internet: a URL
// registered by a user must not reach the server's own machine, its network, or its cloud's
// metadata service.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "push/ip_address.h"

namespace millrace::push {

struct AddressPolicy {
  std::vector<Network> deny;   // set by the operator; stronger than `allow`
  std::vector<Network> allow;  // set by the operator; exceptions to the rules below
  std::vector<IpAddress> own;  // the addresses of this machine's interfaces
  bool allow_http = false;     // plain HTTP too
  std::vector<std::uint16_t> ports{443};
  bool all_ports = false;

  // The reason why the server must not connect to the address, such as "a loopback address"; empty
  // if it may. The view is of a constant or empty.
  std::string_view refusal(const IpAddress& address) const;
  bool allows_port(std::uint16_t port) const;
};

// The kind of an address that is not on the public Internet; empty if it is. An IPv4 address
// embedded in an IPv6 address is never taken for public.
std::string_view special_kind(const IpAddress& address);

}  // namespace millrace::push
