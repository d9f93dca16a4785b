#include "http/browser_session.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>

#include "base/hex.h"
#include "digest/sha256.h"

namespace millrace::http {
namespace {

constexpr std::string_view kName = "millrace";
// Browsers accept a cookie of this name only from the host itself, over TLS.
constexpr std::string_view kSecureName = "__Host-millrace";
constexpr std::string_view kAttributes = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=";

std::int64_t seconds_of(Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// The value of a cookie; none if it is absent.
std::optional<std::string_view> cookie_named(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view cookie = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (!cookie.empty() && cookie.front() == ' ') cookie.remove_prefix(1);
    if (!cookie.starts_with(name)) continue;
    cookie.remove_prefix(name.size());
    if (cookie.starts_with('=')) return cookie.substr(1);
  }
  return std::nullopt;
}

std::string cookie_line(std::string_view name, std::string_view value, std::int64_t life_s) {
  std::string line = "Set-Cookie: ";
  line.append(name).append("=").append(value).append(kAttributes);
  line.append(std::to_string(life_s));
  if (name == kSecureName) line.append("; Secure");
  return line.append("\r\n");
}

}  // namespace

std::optional<std::string_view> token_in_cookie(const RequestHead& head, Time now) {
  const Field* const field = head.find("cookie");
  if (field == nullptr) return std::nullopt;
  auto value = cookie_named(field->value, kSecureName);
  if (!value) value = cookie_named(field->value, kName);
  if (!value) return std::nullopt;
  const std::size_t dot = value->find('.');
  std::int64_t ends_at_s = 0;
  const std::string_view digits = value->substr(0, dot);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), ends_at_s);
  const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  if (dot == std::string_view::npos || !whole || ends_at_s <= seconds_of(now)) return std::nullopt;
  return value->substr(dot + 1);
}

std::string guard_of(std::string_view credentials) {
  const Sha256 digest = sha256("millrace guard of ", credentials);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size() / 2});
}

bool is_guard_of(std::string_view guard, std::string_view credentials) {
  const std::string expected = guard_of(credentials);
  return guard.size() == expected.size() &&
         CRYPTO_memcmp(guard.data(), expected.data(), expected.size()) == 0;
}

std::string cookie_field(std::string_view token, Time ends_at, bool secure) {
  const std::string value = std::to_string(seconds_of(ends_at)) + "." + std::string(token);
  return cookie_line(secure ? kSecureName : kName, value,
                     std::chrono::seconds(kSessionLife).count());
}

std::string no_cookie_fields() {
  return cookie_line(kName, "", 0) + cookie_line(kSecureName, "", 0);
}

bool comes_over_tls(const RequestHead& head) {
  const Field* const origin = head.find("origin");
  return origin != nullptr && origin->value.starts_with("https://");
}

}  // namespace millrace::http
