// The identity of the PostgreSQL server that a node uses. A cluster's identifier never changes, and
// each promotion raises its timeline. A lower timeline belongs to a former primary that has come
// back, and that lacks the commits of its successor.
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
