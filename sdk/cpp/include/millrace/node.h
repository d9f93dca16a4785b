// The nodes of a store, as described by one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

struct Node {
  std::string id{};
  std::string name{};
  std::string url{};
  std::string version{};
  std::optional<Timestamp> started_at{};
  bool live = false;
  bool draining = false;
  bool self = false;
};

struct Shard {
  std::int64_t shard = 0;
  std::string leader{};  // a node's id; empty: no leader
  std::int64_t epoch = 0;
  std::int64_t projected_seq = 0;
  std::optional<std::int64_t> seq{};  // only for shards that the answering node leads or follows
  std::optional<std::int64_t> projection_lag_ms{};
};

struct Cluster {
  std::vector<Node> nodes{};
  std::vector<Shard> shards{};
  std::string json{};  // as the server sent it
};

}  // namespace millrace::sdk
