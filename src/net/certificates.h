// Makes certificates: an authority of one's own, and what it signs for nodes, servers and clients.
// Keys are of the curve P-256.
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
// Browsers and some clients refuse longer ones.
inline constexpr std::chrono::days kCertificateLife{397};

// An authority that signs itself. `name`: its common name, 1 to 64 bytes.
Result<Certified> make_authority(const std::string& name);

// A certificate for a server and client alike. `names`: host names and addresses that it is for,
// at least one; the first is its common name. Valid from an hour before now.
Result<Certified> issue_certificate(const Certified& authority,
                                    const std::vector<std::string>& names,
                                    std::chrono::days life = kCertificateLife);

}  // namespace millrace::net
