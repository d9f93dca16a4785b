// A database's facts about itself, for diagnosis.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace millrace::store {

struct DatabaseFacts {
  // The session with the oldest open transaction, among those visible to this user.
  struct Oldest {
    std::int64_t pid = 0;
    std::string user, application, state;
    Duration age{};
  };
  Time now{};  // by the database's clock
  std::optional<Oldest> oldest;
  std::int64_t prepared = 0;  // prepared transactions that were not ended
  std::int64_t connections = 0;
  std::int64_t max_connections = 0;
};

}  // namespace millrace::store
