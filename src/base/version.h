// The version of this program.
#pragma once

#include <string_view>

namespace millrace {

std::string_view version();  // "0.1.0"
// The abbreviated commit that the build was configured at; "unknown" outside a repository.
std::string_view build_commit();

}  // namespace millrace
