// The PROXY protocol header, version 2. A proxy that forwards raw bytes sends it to name the
// client. It precedes all other bytes, TLS included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::net {

// Includes the extensions that may follow the addresses; all of them are ignored.
constexpr std::size_t kMaxProxyHeaderBytes = 1'024;

struct ProxyHeader {
  enum class Verdict : std::uint8_t {
    kAbsent,    // the bytes are not a PROXY header
    kNeedMore,  // they may be the start of one
    kComplete,
    kRefused,
  };
  Verdict verdict = Verdict::kAbsent;
  std::size_t bytes = 0;    // kComplete: its length
  std::string address;      // kComplete: the client's; empty: a connection of the proxy itself
  std::string_view reason;  // kRefused: a sentence for the proxy's operator
};

// `received`: the first bytes of the connection.
ProxyHeader read_proxy_header(std::string_view received);

}  // namespace millrace::net
