// Words of findings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/words.h"

namespace millrace::service {

inline std::int64_t as_signed(std::uint64_t count) { return static_cast<std::int64_t>(count); }

inline double in_ms(Duration duration) { return static_cast<double>(duration.count()); }

// What a person gave as the reason, as a sentence of its own; nothing if there is none.
inline std::string quoted_reason(std::string_view reason) {
  return reason.empty() ? std::string() : "\"" + std::string(reason) + "\". ";
}

}  // namespace millrace::service
