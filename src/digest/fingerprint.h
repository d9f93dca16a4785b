// Fingerprints of content: the stored form of idempotency keys and request bodies.
#pragma once

#include <string_view>

#include "base/ids.h"

namespace millrace {

Fingerprint fingerprint(std::string_view content);
// Of two parts; it is unambiguous where the first ends.
Fingerprint fingerprint(std::string_view first, std::string_view second);

}  // namespace millrace
