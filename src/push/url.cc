#include "push/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/hex.h"

namespace millrace::push {
namespace {

constexpr std::size_t kMaxHostBytes = 253;
constexpr std::size_t kMaxLabelBytes = 63;

// The characters allowed in paths and queries (RFC 3986), except "%".
bool may_stand_in_target(char c) {
  return is_unreserved(c) || std::string_view("!$&'()*+,;=:@/?").find(c) != std::string_view::npos;
}

Status check_target(std::string_view target) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '#') return failure("the URL must have no fragment (\"#\")");
    if (target[i] == '%') {
      const bool is_escape =
          i + 2 < target.size() && hex_value(target[i + 1]) >= 0 && hex_value(target[i + 2]) >= 0;
      if (!is_escape) return failure("a \"%\" in the URL must begin an escape such as %20");
      i += 2;
    } else if (!may_stand_in_target(target[i])) {
      return failure("the URL has a character that must be escaped");
    }
  }
  return {};
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabelBytes && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_';
         });
}

std::string_view last_label(std::string_view host) {
  return host.substr(host.rfind('.') + 1);  // npos + 1 is 0
}

// Browsers take such a host for an IPv4 address or reject it (the URL standard's "ends in a
// number").
bool ends_in_number(std::string_view host) {
  const std::string_view last = last_label(host);
  if (std::ranges::all_of(last, is_digit)) return true;
  return last.starts_with("0x") &&
         std::ranges::all_of(last.substr(2), [](char c) { return hex_value(c) >= 0; });
}

Status read_host(std::string_view text, Url& url) {
  if (text.starts_with('[')) {
    url.literal = text.ends_with(']') ? parse_ipv6(text.substr(1, text.size() - 2)) : std::nullopt;
    if (!url.literal) return failure("the URL's host is no IPv6 address");
    url.host = to_string(*url.literal);
    return {};
  }
  std::string host = lowered(text);
  if (host.ends_with('.')) host.pop_back();
  if (host.empty() || host.ends_with('.')) return failure("the URL must name a host");
  if (ends_in_number(host)) {
    url.literal = parse_ipv4_loosely(host);
    if (!url.literal) return failure("the URL's host ends in a number, but is no IPv4 address");
    url.host = to_string(*url.literal);
    return {};
  }
  if (host.size() > kMaxHostBytes) return failure("the URL's host is too long");
  for (std::string_view rest = host;;) {
    const std::size_t dot = rest.find('.');
    if (!is_label(rest.substr(0, dot))) {
      return failure(
          "the URL's host must be a name of letters, digits and \"-\"; write other letters in "
          "their xn-- form");
    }
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  url.host = std::move(host);
  return {};
}

Status read_port(std::string_view text, Url& url) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), url.port);
  const bool is_port = error == std::errc() && end == text.data() + text.size() && url.port != 0;
  return is_port && text.front() != '0' ? Status() : failure("the URL's port must be 1 to 65535");
}

}  // namespace

std::string Url::text() const {
  const bool has_brackets = literal && !literal->is_v4;
  return fmt::format("{}://{}{}{}:{}{}", is_https ? "https" : "http", has_brackets ? "[" : "", host,
                     has_brackets ? "]" : "", port, target);
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes) {
    return failure(fmt::format("the URL must be at most {} bytes long", kMaxUrlBytes));
  }
  Url url;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string scheme = lowered(text.substr(0, colon));
  if ((scheme != "https" && scheme != "http") || !text.substr(colon).starts_with("://")) {
    return failure("the URL must begin with https:// or http://");
  }
  url.is_https = scheme == "https";
  url.port = url.is_https ? 443 : 80;
  text.remove_prefix(colon + 3);
  const std::size_t end = std::min(text.find_first_of("/?#\\"), text.size());
  std::string_view authority = text.substr(0, end);
  const std::string_view target = text.substr(end);
  if (authority.find('@') != std::string_view::npos) {
    return failure("the URL must have no user or password; use a header or the secret");
  }
  const std::size_t bracket = authority.rfind(']');
  const std::size_t port = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (port != std::string_view::npos) {
    if (Status read = read_port(authority.substr(port + 1), url); !read) {
      return std::unexpected(read.error());
    }
    authority = authority.substr(0, port);
  }
  if (Status read = read_host(authority, url); !read) return std::unexpected(read.error());
  if (Status checked = check_target(target); !checked) return std::unexpected(checked.error());
  url.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  return url;
}

Result<Url> parse_url(std::string_view text, const AddressPolicy& policy) {
  auto url = parse_url(text);
  if (!url) return url;
  if (!url->is_https && !policy.allow_http) {
    return failure("the URL must begin with https://, unless the server has push.allow_http");
  }
  if (!policy.allows_port(url->port)) {
    return failure(
        fmt::format("the URL's port {} is not one of the server's push.ports", url->port));
  }
  std::optional<IpAddress> address = url->literal;
  if (url->host == "localhost" || url->host.ends_with(".localhost")) {
    address = IpAddress::v4(0x7f000001);
  }
  if (!address) return url;
  const std::string_view refusal = policy.refusal(*address);
  if (refusal.empty()) return url;
  return failure(
      fmt::format("the URL leads to {}; an operator can permit it in push.allow", refusal));
}

}  // namespace millrace::push
