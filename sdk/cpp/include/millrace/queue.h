// The server itself, as it describes itself; queues are in shapes.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

// The answer of GET /v1/meta.
struct ServerInfo {
  std::string version{};
  std::string commit{};
  std::string store{};
  std::string node{};
  std::optional<Timestamp> started_at{};
  std::optional<Timestamp> server_time{};
  std::string json{};
};

// Whether the server can serve, and the conditions for it.
struct Readiness {
  struct Check {
    std::string name{};
    bool is_ok = false;
    std::string detail{};
  };
  bool is_ready = false;
  std::string status{};
  std::vector<Check> checks{};
  std::string json{};
};

}  // namespace millrace::sdk
