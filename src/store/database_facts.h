// What a database says about itself, for a person who looks for what is wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace millrace::store {

struct DatabaseFacts {
  // The session whose transaction has been open longest, of those that this user may see.
  struct Oldest {
    std::int64_t pid = 0;
    std::string user, application, state;
    Duration age{};
  };
  Time now{};  // by the database's clock
  std::optional<Oldest> oldest;
  std::int64_t prepared = 0;  // transactions that somebody prepared and did not end
  std::int64_t connections = 0;
  std::int64_t max_connections = 0;
};

}  // namespace millrace::store
