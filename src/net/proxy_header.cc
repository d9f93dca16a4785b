#include "net/proxy_header.h"

#include <algorithm>
#include <cstdint>

#include "net/address_set.h"

namespace millrace::net {
namespace {

using Verdict = ProxyHeader::Verdict;

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view kFirstVersion = "PROXY ";
constexpr std::size_t kFixedBytes = 16;

constexpr std::uint8_t kLocal = 0x20;  // together with the version
constexpr std::uint8_t kProxied = 0x21;
constexpr std::uint8_t kTcp4 = 0x11;
constexpr std::uint8_t kTcp6 = 0x21;
constexpr std::size_t kTcp4Bytes = 12;  // two addresses, two ports
constexpr std::size_t kTcp6Bytes = 36;

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

bool begins_like(std::string_view received, std::string_view whole) {
  const std::size_t common = std::min(received.size(), whole.size());
  return received.substr(0, common) == whole.substr(0, common);
}

ProxyHeader refused(std::string_view reason) { return {Verdict::kRefused, 0, {}, reason}; }

std::string address_in(std::string_view bytes) {
  IpAddress address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const std::size_t start = address.size() - bytes.size();
  for (std::size_t i = 0; i < bytes.size(); ++i) address.at(start + i) = byte_at(bytes, i);
  return to_text(address);
}

}  // namespace

ProxyHeader read_proxy_header(std::string_view received) {
  if (begins_like(received, kFirstVersion)) {
    if (received.size() < kFirstVersion.size()) return {Verdict::kNeedMore, 0, {}, {}};
    return refused(
        "the server does not take version 1 of the PROXY protocol; let the proxy send version 2");
  }
  if (!begins_like(received, kSignature)) return {};
  if (received.size() < kFixedBytes) return {Verdict::kNeedMore, 0, {}, {}};

  const std::uint8_t command = byte_at(received, 12);
  const std::uint8_t family = byte_at(received, 13);
  const std::size_t length =
      std::size_t{byte_at(received, 14)} << 8 | std::size_t{byte_at(received, 15)};
  if (command != kLocal && command != kProxied) {
    return refused("the PROXY header has a version or a command that there is not");
  }
  if (kFixedBytes + length > kMaxProxyHeaderBytes) {
    return refused("the PROXY header is longer than 1024 bytes; let the proxy add less to it");
  }
  if (received.size() < kFixedBytes + length) return {Verdict::kNeedMore, 0, {}, {}};

  ProxyHeader header{Verdict::kComplete, kFixedBytes + length, {}, {}};
  if (command == kLocal) return header;
  const std::string_view addresses = received.substr(kFixedBytes, length);
  if (family == kTcp4 && length >= kTcp4Bytes) {
    header.address = address_in(addresses.substr(0, 4));
  } else if (family == kTcp6 && length >= kTcp6Bytes) {
    header.address = address_in(addresses.substr(0, 16));
  } else {
    return refused("the PROXY header names no client of TCP over IPv4 or IPv6");
  }
  return header;
}

}  // namespace millrace::net
