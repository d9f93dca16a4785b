// The session of a browser: a cookie that has the token, which no script can read.
//
// Nothing of it is kept here. So it is good on every node, ends when the token is revoked, and a
// stolen store opens nothing. The time at which it ends stands in the cookie too.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/connection/request_guard.h"

namespace millrace::http {

constexpr std::chrono::hours kSessionLife{12};

// In lower case. What a page sends with a change.
constexpr std::string_view kGuardField = "x-millrace-guard";

// The token in the request's cookie, if the session is not over.
std::optional<std::string_view> token_in_cookie(const RequestHead& head, Time now);

// The same text for the same credentials, from which they can't be told.
std::string guard_of(std::string_view credentials);
bool is_guard_of(std::string_view guard, std::string_view credentials);

// Lines of a head that set the cookie, or take it away. `secure`: the page came over TLS, so that
// the browser must never send the cookie without.
std::string cookie_field(std::string_view token, Time ends_at, bool secure);
std::string no_cookie_fields();
// The page that asks came over TLS, by its own word.
bool comes_over_tls(const RequestHead& head);

}  // namespace millrace::http
