// The header of the PROXY protocol, version 2, with which a proxy that passes bytes on tells whose
// they are. It stands before everything else, TLS included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::net {

// With all that may stand behind the addresses, of which nothing is used.
constexpr std::size_t kMaxProxyHeaderBytes = 1'024;

struct ProxyHeader {
  enum class Verdict : std::uint8_t {
    kAbsent,    // what came begins in another way
    kNeedMore,  // it may be one
    kComplete,
    kRefused,
  };
  Verdict verdict = Verdict::kAbsent;
  std::size_t bytes = 0;    // kComplete: its length
  std::string address;      // kComplete: the client's; empty: the proxy speaks for itself
  std::string_view reason;  // kRefused: a sentence for who runs the proxy
};

// `received`: what came first on the connection.
ProxyHeader read_proxy_header(std::string_view received);

}  // namespace millrace::net
