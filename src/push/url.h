// URLs that the server may be told to call: read strictly, so that no two programs disagree about
// where one leads.
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
  std::string host;                  // lower case, without brackets; of an address its usual form
  std::optional<IpAddress> literal;  // the host is an address
  std::uint16_t port = 0;
  std::string target;  // path and query, from "/"

  // The URL in its one form: the port always stands in it.
  std::string text() const;
  friend bool operator==(const Url&, const Url&) = default;
};

// http or https; no user, no fragment, no byte that needs an escape. A host that ends in a number
// is an IPv4 address in some form, or refused. The error says what is wrong.
Result<Url> parse_url(std::string_view text);

// The same, and the policy's own rules: scheme, port, and the address where the host is one. What a
// name leads to shows only when it is called.
Result<Url> parse_url(std::string_view text, const AddressPolicy& policy);

}  // namespace millrace::push
