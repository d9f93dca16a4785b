// URLs that users register for the server to call. They are parsed strictly, so that no two
// programs disagree about a URL's destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "push/address_policy.h"
#include "push/ip_address.h"

namespace millrace::push {

inline constexpr std::size_t kMaxUrlBytes = 2'048;

struct Url {
  bool is_https = false;
  std::string host;                  // lower case, without brackets; an address in its usual form
  std::optional<IpAddress> literal;  // set if the host is an address
  std::uint16_t port = 0;
  std::string target;  // path and query, from "/"

  // The canonical text, which always includes the port.
  std::string text() const;
  friend bool operator==(const Url&, const Url&) = default;
};

// Accepts http and https URLs without user, fragment, or bytes that need an escape. A host that
// ends in a number is parsed as an IPv4 address in any form, or refused. The error says what is
// wrong.
Result<Url> parse_url(std::string_view text);

// Also applies the policy's rules: scheme, port, and the address if the host is one. A name's
// addresses are checked only when it is called.
Result<Url> parse_url(std::string_view text, const AddressPolicy& policy);

}  // namespace millrace::push
