// Queues and the server itself, as described by the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

struct QueueCounts {
  std::int64_t scheduled = 0;
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t retrying = 0;
  std::int64_t blocked = 0;
  std::int64_t succeeded = 0;
  std::int64_t dead = 0;
  std::int64_t cancelled = 0;
  std::int64_t expired = 0;
};

// Averages over the last minute.
struct QueueRates {
  double submitted_per_s = 0;
  double started_per_s = 0;
  double succeeded_per_s = 0;
  double failed_per_s = 0;
};

struct Queue {
  std::string name{};
  bool paused = false;
  std::string pause_reason{};
  QueueCounts counts{};
  std::optional<Milliseconds> oldest_ready_age{};
  QueueRates rates{};
  std::string settings{};  // raw JSON
  std::int64_t version = 0;
  std::string json{};  // the complete object as the server sent it
};

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
