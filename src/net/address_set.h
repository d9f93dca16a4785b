// IP addresses and networks as operators write them: "10.0.0.0/8", "192.0.2.7", "fd00::/8".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::net {

// Sixteen bytes; an IPv4 address is held in its IPv4-mapped IPv6 form. parse_ip() returns nullopt
// if `text` is not an address. It accepts no brackets, port or zone.
using IpAddress = std::array<std::uint8_t, 16>;
std::optional<IpAddress> parse_ip(std::string_view text);
// In its shortest usual form.
std::string to_text(const IpAddress& address);

class AddressSet {
 public:
  static constexpr std::size_t kMaxNetworks = 256;

  // The error names the entry and says what it must be.
  static Result<AddressSet> parse(const std::vector<std::string>& networks);

  bool empty() const { return networks_.empty(); }
  // Returns false also if `address` is not an IP address.
  bool contains(std::string_view address) const;

 private:
  struct Network {
    IpAddress address{};
    int bits = 0;  // of the sixteen bytes of `address`
  };
  std::vector<Network> networks_;
};

}  // namespace millrace::net
