// URLs in messages and in `config show`, without what is secret in them.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// *** stands for a password before the host, and for parameters that may hold one. For a database
// the user and the plain parameters stay; for HTTP, where either may be a token, nothing of them.
std::string shown_url(std::string_view url);

}  // namespace millrace
