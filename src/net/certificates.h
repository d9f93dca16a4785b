// Makes certificates: a private authority, and certificates that it signs for nodes, servers and
// clients.
// Keys use the curve P-256.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::net {

// Both in PEM.
struct Certified {
  std::string certificate{};
  std::string key{};
};

inline constexpr std::chrono::days kAuthorityLife{3650};
// Browsers and some clients refuse certificates with a longer life.
inline constexpr std::chrono::days kCertificateLife{397};

// A self-signed authority. `name`: its common name, 1 to 64 bytes.
Result<Certified> make_authority(const std::string& name);

// A certificate for both server and client use. `names`: the host names and addresses it covers, at
// least one; the first is its common name. It is valid from one hour before now.
Result<Certified> issue_certificate(const Certified& authority,
                                    const std::vector<std::string>& names,
                                    std::chrono::days life = kCertificateLife);

}  // namespace millrace::net
