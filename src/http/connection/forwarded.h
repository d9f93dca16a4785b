// The client of a request that a proxy passes on, from the header X-Forwarded-For of trusted
// proxies.
#pragma once

#include <string>
#include <string_view>

#include "http/connection/request_guard.h"
#include "net/address_set.h"

namespace millrace::http {

// At most this many addresses are read, from the end.
constexpr std::size_t kMaxForwardedHops = 32;

// The client's address. It is `peer`, the address of the connection, unless that is a proxy's.
// Otherwise it is the last address in the header that is not a proxy's, or the first address if all
// are proxies'. The client may have written the addresses before it itself. The search ends at a
// text that is not an address.
std::string client_of(const RequestHead& head, std::string_view peer,
                      const net::AddressSet& proxies);

}  // namespace millrace::http
