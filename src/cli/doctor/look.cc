#include "cli/doctor/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/shown_url.h"
#include "cli/limit/calls.h"
#include "cli/output.h"
#include "cli/session.h"

namespace millrace::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Limits on the calls made by one run.
constexpr std::size_t kMostQueues = 50;
constexpr std::size_t kMostGates = 50;
constexpr std::size_t kMostSchedules = 200;
constexpr std::size_t kMostGroups = 50;  // groups whose jobs are read

void look_at_node(sdk::Client& client, NodeSeen& node) {
  const Time before = now();
  const auto meta = client.server_info();
  const Time after = now();
  if (!meta) {
    node.problem = explain(meta.error());
    return;
  }
  node.version = meta->version;
  if (meta->server_time) {
    node.clock_ahead = {*meta->server_time - after, *meta->server_time - before};
  }
  const auto diagnosis = send(client, "GET", "/v1/admin/diagnosis");
  if (diagnosis) {
    node.diagnosis = *diagnosis;
  } else {
    node.problem = explain(diagnosis.error());
  }
}

void look_at_nodes(sdk::Client& client, const OpenClient& open, DoctorFacts& facts) {
  const auto cluster = client.cluster();
  NodeSeen& self = facts.nodes.emplace_back();
  self.url = shown_url(client.url());
  self.name = "the server";
  look_at_node(client, self);
  if (!cluster) {
    facts.overview.unknown.push_back("the nodes: " + explain(cluster.error()));
    return;
  }
  for (const sdk::Shard& shard : cluster->shards) {
    if (shard.leader.empty()) facts.leaderless.push_back(shard.shard);
  }
  if (cluster->nodes.size() > 1) {
    for (const sdk::Node& node : cluster->nodes) {
      if (node.self) self.name = fmt::format("node {}", node.name.empty() ? node.id : node.name);
    }
  }
  for (const sdk::Node& node : cluster->nodes) {
    if (node.self) continue;
    const std::string name =
        fmt::format("node {} at {}", node.name.empty() ? node.id : node.name, node.url);
    if (!node.live) {
      facts.gone.push_back(name);
      continue;
    }
    NodeSeen& seen =
        facts.nodes.emplace_back(NodeSeen{.name = name, .url = node.url, .version = node.version});
    auto other = open(node.url);
    if (!other) {
      seen.problem = other.error().message;
      continue;
    }
    const std::string told = seen.version;
    look_at_node(*other, seen);
    if (seen.version.empty()) seen.version = told;
  }
}

void look_at_gates(sdk::Client& client, DoctorFacts& facts) {
  std::size_t asked = 0;
  const auto look_at = [&](const std::string& item, bool of_type) {
    const sdk::JsonView gate(item);
    if (number_of(gate, "waiting") == 0 || truth_of(gate, "paused")) return;
    if (++asked > kMostGates) return;
    const std::string name = text_of(gate, of_type ? "type" : "name");
    const auto bound = gate["concurrency"].integer();
    if (!of_type && bound && number_of(gate, "in_use") >= *bound) {
      facts.holders.emplace_back(item,
                                 first_page(client, limit_path(false, name, "/holders?limit=1000"),
                                            "the holders of " + name, facts.overview));
    }
    if (!of_type && gate["rate"].is_object()) {
      const std::string query = fmt::format("state:ready limit:{}", in_quotes(name));
      facts.waiting.emplace_back(item, first_page(client, search(query, kMostJobs),
                                                  "jobs of the limit " + name, facts.overview));
    }
  };
  for (const std::string& limit : facts.overview.limits) look_at(limit, false);
}

void look_at_groups(sdk::Client& client, DoctorFacts& facts) {
  read_list(client, "/v1/error-groups?status=open", "the groups of errors", facts.groups,
            facts.overview);
  // First the groups whose jobs wait for their next attempt, then the others, each newest first.
  std::vector<const std::string*> tried, others;
  for (const std::string& item : facts.groups) {
    const sdk::JsonView group(item);
    const bool waits = number_of(group, "waiting") > number_of(group, "dead");
    if (number_of(group, "total") >= kManyCrashes) (waits ? tried : others).push_back(&item);
  }
  tried.insert(tried.end(), others.begin(), others.end());
  if (tried.size() > kMostGroups) tried.resize(kMostGroups);
  for (const std::string* const item : tried) {
    const sdk::JsonView group(*item);
    const std::string id = text_of(group, "id");
    const bool lost = text_of(group, "error_type") == kLostLease;
    const std::string query = fmt::format("state:retrying,ready,running attempt>={} error:{}",
                                          lost ? kManyCrashes : kManyAttempts, id);
    facts.tried.emplace_back(
        *item, first_page(client, search(query, kMostJobs),
                          "jobs that are tried again of the error " + id, facts.overview));
  }
}

}  // namespace

sdk::Result<DoctorFacts> look_closely(sdk::Client& client, const OpenClient& open) {
  auto overview = look(client);
  if (!overview) return std::unexpected(overview.error());
  DoctorFacts facts{.overview = std::move(*overview)};
  look_at_nodes(client, open, facts);
  read_list(client, "/v1/tokens", "the tokens", facts.tokens, facts.overview);
  look_at_groups(client, facts);
  look_for_untaken(client, kMostQueues, facts.overview);
  look_at_gates(client, facts);
  for (const std::string& item : facts.overview.schedules) {
    if (facts.runs.size() >= kMostSchedules) break;
    const sdk::JsonView schedule(item);
    if (text_of(schedule, "state") != "active") continue;
    const std::string name = text_of(schedule, "name");
    const auto runs = send(client, "GET", "/v1/schedules/" + sdk::url_encode(name) + "/runs");
    if (runs) facts.runs.emplace_back(name, *runs);
  }
  return facts;
}

}  // namespace millrace::cli
