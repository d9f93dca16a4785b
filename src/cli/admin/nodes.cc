// millrace admin nodes, drain, undrain: the nodes that serve the store, and the shards they lead.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

// "0 2 5"; "-" if there are none.
std::string shards_of(const sdk::Cluster& cluster, std::string_view leader) {
  std::string shards;
  for (const sdk::Shard& shard : cluster.shards) {
    if (shard.leader == leader)
      shards += fmt::format("{}{}", shards.empty() ? "" : " ", shard.shard);
  }
  return shards.empty() ? "-" : shards;
}

std::string state_of(const sdk::Node& node) {
  if (!node.live) return "gone";
  return node.draining ? "draining" : "live";
}

std::string node_table(const sdk::Cluster& cluster) {
  Table table({{"NODE"}, {"NAME"}, {"URL"}, {"VERSION"}, {"STARTED"}, {"STATE"}, {"LEADS"}});
  for (const sdk::Node& node : cluster.nodes) {
    table.add({printable(node.id) + (node.self ? " *" : ""), printable(node.name, 24),
               node.url.empty() ? "-" : printable(node.url, 48), printable(node.version, 16),
               relative_time(node.started_at, now()), state_of(node), shards_of(cluster, node.id)});
  }
  return table.text();
}

std::string shard_table(const sdk::Cluster& cluster) {
  Table table({{"SHARD", Align::kRight},
               {"LEADER"},
               {"EPOCH", Align::kRight},
               {"IN TABLES", Align::kRight},
               {"NEWEST", Align::kRight},
               {"BEHIND", Align::kRight}});
  for (const sdk::Shard& shard : cluster.shards) {
    const auto lag = shard.projection_lag_ms;
    table.add(
        {fmt::to_string(shard.shard), shard.leader.empty() ? "nobody" : printable(shard.leader),
         fmt::to_string(shard.epoch), fmt::to_string(shard.projected_seq),
         shard.seq ? fmt::to_string(*shard.seq) : "-", lag ? fmt::format("{} ms", *lag) : "-"});
  }
  return table.text();
}

void show(const sdk::Result<sdk::Cluster>& cluster, Session& session) {
  if (!cluster) return session.fail(cluster.error());
  if (session.json()) return print_line(cluster->json);
  print(node_table(*cluster));
  print("\n");
  print(shard_table(*cluster));
}

using Call = sdk::Result<sdk::Cluster> (sdk::Client::*)(std::string_view);

void add_on_node(CLI::App& admin, Session& session, const std::string& name,
                 const std::string& description, const std::string& footer, Call call) {
  CLI::App& command = *admin.add_subcommand(name, description);
  const auto node = std::make_shared<std::string>();
  command.add_option("NODE", *node, "Id of the node, as `millrace admin nodes` shows it")
      ->required();
  command.footer(footer);
  command.callback([node, call, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) { show((client.*call)(*node), session); });
  });
}

}  // namespace

void add_admin_nodes(CLI::App& admin, Session& session) {
  CLI::App& command =
      *admin.add_subcommand("nodes", "List the nodes of the store, and the shards that each leads");
  command.footer(
      "Examples:\n"
      "  millrace admin nodes\n"
      "  millrace admin nodes -o json\n"
      "A * marks the node that answers. It knows NEWEST and BEHIND of the shards that it leads, "
      "and\n"
      "NEWEST of the shards that it follows.");
  command.callback([&session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) { show(client.cluster(), session); });
  });
  add_on_node(admin, session, "drain", "Move the shards of a node to the others",
              "Examples:\n"
              "  millrace admin drain 4f1c09a2b7e35d86\n"
              "The node still answers requests. It leads no shard until `millrace admin undrain` "
              "or a restart.\n"
              "A node that gets SIGTERM drains by itself.",
              &sdk::Client::drain_node);
  add_on_node(admin, session, "undrain", "Let a drained node lead again",
              "Examples:\n"
              "  millrace admin undrain 4f1c09a2b7e35d86",
              &sdk::Client::undrain_node);
}

}  // namespace millrace::cli
