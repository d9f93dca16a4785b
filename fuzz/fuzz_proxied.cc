// Proxies' statements about their clients: any bytes as the start of a connection, as the values of
// X-Forwarded-For, and as a network. The verdict on a header does not depend on how it is cut, and
// nothing beyond its bound is read. An accepted client is an address.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "http/connection/forwarded.h"
#include "net/address_set.h"
#include "net/proxy_header.h"

namespace {

using namespace millrace;
using Verdict = net::ProxyHeader::Verdict;

void check_header(std::string_view bytes) {
  const net::ProxyHeader whole = net::read_proxy_header(bytes);
  if (whole.verdict == Verdict::kRefused) MILLRACE_CHECK(!whole.reason.empty());
  if (whole.verdict == Verdict::kComplete) {
    MILLRACE_CHECK(whole.bytes >= 16 && whole.bytes <= bytes.size());
    MILLRACE_CHECK(whole.bytes <= net::kMaxProxyHeaderBytes);
    MILLRACE_CHECK(whole.address.empty() || net::parse_ip(whole.address));
  }
  if (whole.verdict == Verdict::kNeedMore) {
    MILLRACE_CHECK(bytes.size() < net::kMaxProxyHeaderBytes);
  }
  // A part either needs more bytes or gets the same verdict as the whole.
  for (std::size_t size = 1; size < std::min<std::size_t>(bytes.size(), 64); ++size) {
    const net::ProxyHeader part = net::read_proxy_header(bytes.substr(0, size));
    if (part.verdict == Verdict::kNeedMore) continue;
    MILLRACE_CHECK(part.verdict == whole.verdict && part.bytes == whole.bytes &&
                   part.address == whole.address);
  }
}

void check_forwarded(std::string_view text) {
  static const auto kProxies = *net::AddressSet::parse({"10.0.0.0/8", "fd00::/8"});
  http::RequestHead head;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    head.fields.push_back({"X-Forwarded-For", text.substr(0, end)});
    if (end == text.size() || head.fields.size() > 64) break;
    text.remove_prefix(end + 1);
  }
  MILLRACE_CHECK(http::client_of(head, "192.0.2.1", kProxies) == "192.0.2.1");
  const std::string client = http::client_of(head, "10.0.0.1", kProxies);
  const auto address = net::parse_ip(client);
  MILLRACE_CHECK(address && net::to_text(*address) == client);
  // Entries that the client itself puts in front change nothing, once an address is not a proxy's.
  if (!kProxies.contains(client)) {
    std::vector<http::Field> longer = {{"X-Forwarded-For", "198.51.100.9, 10.0.0.3"}};
    longer.insert(longer.end(), head.fields.begin(), head.fields.end());
    head.fields = longer;
    MILLRACE_CHECK(http::client_of(head, "10.0.0.1", kProxies) == client);
  }
}

void check_network(const std::string& text) {
  const auto set = net::AddressSet::parse({text});
  if (!set) return;
  const std::string address = text.substr(0, text.find('/'));
  MILLRACE_CHECK(set->contains(address));
  MILLRACE_CHECK(net::parse_ip(net::to_text(*net::parse_ip(address))) == net::parse_ip(address));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> memory(data, data + size);
  const std::string_view bytes(memory.data(), memory.size());
  check_header(bytes);
  check_forwarded(bytes);
  check_network(std::string(bytes));
  return 0;
}
