// Which PostgreSQL server a node has met. A cluster keeps its number for good, and each promotion
// raises its timeline. A lower timeline is that of a former primary that has come back, and lacks
// what was committed on its successor.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"

namespace millrace::store {

class ServerIdentity {
 public:
  struct Server {
    std::int64_t system = 0;
    std::int64_t timeline = 0;
  };
  // An error: this server must not be trusted.
  Status meet(Server server);

 private:
  std::optional<Server> met_;
};

}  // namespace millrace::store
