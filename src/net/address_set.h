// Addresses and networks of IP, as operators name them: "10.0.0.0/8", "192.0.2.7", "fd00::/8".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::net {

// As sixteen bytes; one of IPv4 in the form that IPv6 has for it. None: it is no address. Without
// brackets, port and zone.
using IpAddress = std::array<std::uint8_t, 16>;
std::optional<IpAddress> parse_ip(std::string_view text);
// In its shortest usual form.
std::string to_text(const IpAddress& address);

class AddressSet {
 public:
  static constexpr std::size_t kMaxNetworks = 256;

  // The error names the entry, and says what it must be.
  static Result<AddressSet> parse(const std::vector<std::string>& networks);

  bool empty() const { return networks_.empty(); }
  // False also for what is no address.
  bool contains(std::string_view address) const;

 private:
  struct Network {
    IpAddress address{};
    int bits = 0;  // of the sixteen bytes
  };
  std::vector<Network> networks_;
};

}  // namespace millrace::net
