#include "api/node.h"

namespace millrace::api {

void encode(JsonWriter& json, const NodeInfo& node) {
  json.begin_object();
  json.member("id", node.id);
  json.member("name", node.name);
  json.member("url", node.url);
  json.member("version", node.version);
  json.member("started_at", node.started_at);
  json.member("live", node.live);
  json.member("draining", node.draining);
  json.member("self", node.self);
  json.end_object();
}

void encode(JsonWriter& json, const ShardInfo& shard) {
  json.begin_object();
  json.member("shard", std::uint64_t{shard.shard});
  json.key("leader");
  shard.leader.empty() ? json.null() : json.string(shard.leader);
  json.member("epoch", shard.epoch);
  json.member("projected_seq", shard.projected_seq);
  json.member("seq", shard.seq);
  json.member("projection_lag_ms", shard.projection_lag_ms);
  json.end_object();
}

void encode(JsonWriter& json, const Cluster& cluster) {
  json.begin_object();
  json.key("nodes");
  json.begin_array();
  for (const NodeInfo& node : cluster.nodes) encode(json, node);
  json.end_array();
  json.key("shards");
  json.begin_array();
  for (const ShardInfo& shard : cluster.shards) encode(json, shard);
  json.end_array();
  json.end_object();
}

}  // namespace millrace::api
