// Which PostgreSQL server a node has met. A cluster keeps its number for good, and its timeline
// goes up with each promotion: a lower one is that of a former primary that has come back, and
// knows nothing of what its successor was told.
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
  // An error: this one must not be believed.
  Status meet(Server server);

 private:
  std::optional<Server> met_;
};

}  // namespace millrace::store
