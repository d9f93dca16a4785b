// The nodes of a store and the shards that each one leads: GET /v1/admin/nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

struct NodeInfo {
  std::string id;
  std::string name;
  std::string url;
  std::string version;
  std::optional<Time> started_at;
  bool live = false;      // its lease has not expired
  bool draining = false;  // it hands over its shards
  bool self = false;      // it is the answering node
};
void encode(JsonWriter& json, const NodeInfo& node);

struct ShardInfo {
  std::uint32_t shard = 0;
  std::string leader{};  // a node's id; empty: null, the shard has no leader
  std::uint64_t epoch = 0;
  std::uint64_t projected_seq = 0;  // the row that the tables have reached
  // Known only to the answering node, for the shards that it leads or follows: the newest row that
  // it holds, and how far the tables lag.
  std::optional<std::uint64_t> seq{};
  std::optional<std::int64_t> projection_lag_ms{};
};
void encode(JsonWriter& json, const ShardInfo& shard);

struct Cluster {
  std::vector<NodeInfo> nodes;
  std::vector<ShardInfo> shards;
};
void encode(JsonWriter& json, const Cluster& cluster);

}  // namespace millrace::api
