// The client of a request that a trusted proxy forwards, from the header X-Forwarded-For.
#pragma once

#include <string>
#include <string_view>

#include "http/connection/request_guard.h"
#include "net/address_set.h"

namespace millrace::http {

// The most addresses that are read, from the end.
constexpr std::size_t kMaxForwardedHops = 32;

// The client's address. It is `peer`, the address of the connection, unless that is a proxy's.
// Otherwise it is the last address in the header that is not a proxy's, or the first address if all
// are proxies'. The client could have forged any address before it. The search ends at a text that
// is not an address.
std::string client_of(const RequestHead& head, std::string_view peer,
                      const net::AddressSet& proxies);

}  // namespace millrace::http
