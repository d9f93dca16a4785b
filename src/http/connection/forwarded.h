// Whose request it is that a proxy passes on: the header X-Forwarded-For, of trusted proxies alone.
#pragma once

#include <string>
#include <string_view>

#include "http/connection/request_guard.h"
#include "net/address_set.h"

namespace millrace::http {

// Of so many addresses at most, the last ones.
constexpr std::size_t kMaxForwardedHops = 32;

// The client's address: that of the connection, `peer`, unless it is a proxy's. Then the last
// address in the header that is no proxy's, or the first one of all if each is. What stands before
// it, the client may have written itself. What is no address ends the search.
std::string client_of(const RequestHead& head, std::string_view peer,
                      const net::AddressSet& proxies);

}  // namespace millrace::http
