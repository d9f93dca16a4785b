// A browser's session: a cookie that holds the token and that no script can read.
//
// The server stores nothing about it. So it is valid on every node, ends when the token is revoked,
// and can't be recovered from a stolen store. The cookie also holds the session's expiry.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/connection/request_guard.h"

namespace millrace::http {

constexpr std::chrono::hours kSessionLife{12};

// In lower case. The dashboard's page sends this field with every change.
constexpr std::string_view kGuardField = "x-millrace-guard";

// The token in the request's cookie, unless the session has expired.
std::optional<std::string_view> token_in_cookie(const RequestHead& head, Time now);

// The same credentials always give the same guard; the guard does not reveal them.
std::string guard_of(std::string_view credentials);
bool is_guard_of(std::string_view guard, std::string_view credentials);

// Head lines that set or remove the cookie. `secure`: the page came over TLS, so the browser must
// never send the cookie without it.
std::string cookie_field(std::string_view token, Time ends_at, bool secure);
std::string no_cookie_fields();
// Whether the requesting page came over TLS, according to its Origin.
bool comes_over_tls(const RequestHead& head);

}  // namespace millrace::http
