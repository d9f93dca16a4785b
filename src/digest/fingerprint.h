// Fingerprints of content: what an idempotency key and a request's body are kept as.
#pragma once

#include <string_view>

#include "base/ids.h"

namespace millrace {

Fingerprint fingerprint(std::string_view content);
// Of two parts, unambiguous about where the first ends.
Fingerprint fingerprint(std::string_view first, std::string_view second);

}  // namespace millrace
