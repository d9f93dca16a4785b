#include "base/version.h"

#include "build_commit.h"

namespace millrace {

std::string_view version() { return MILLRACE_VERSION; }
std::string_view build_commit() { return MILLRACE_COMMIT; }

}  // namespace millrace
