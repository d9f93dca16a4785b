// The nodes of the store, and the shards that each leads.
import { get, may, post, segment } from "../lib/api";
import { count, duration, plural } from "../lib/format";
import { useResource } from "../lib/resource";
import type { Cluster } from "../lib/types";
import { ask } from "../ui/dialog";
import { Button, Panel, Shown, Time } from "../ui/parts";
import { Bar } from "../ui/shell";
import { Table } from "../ui/table";
import { toast } from "../ui/toast";

export function Nodes() {
  const cluster = useResource("nodes", (signal) => get<Cluster>("v1/admin/nodes", {}, signal), { everyMs: 2000 });
  const drain = (node: Cluster["nodes"][number]): void =>
    ask({
      title: `Drain ${node.name}?`,
      text: "It hands its shards over to the other nodes, and leads none until it is undrained. Requests to it still work.",
      yes: "Drain",
      run: async () => {
        await post(`v1/admin/nodes/${segment(node.id)}/drain`);
        toast("It hands over what it leads");
        cluster.reload();
      },
    });
  return (
    <>
      <Bar title="Nodes" />
      <div class="content">
        <Shown of={cluster} height={12}>
          {(data) => {
            const leads = (id: string): number => data.shards.filter((shard) => shard.leader === id).length;
            const nameOf = (id: string | null): string => data.nodes.find((node) => node.id === id)?.name ?? "no node";
            return (
              <>
                <Panel title={plural(data.nodes.length, "node")}>
                  <Table
                    label="Nodes"
                    items={data.nodes}
                    id={(node) => node.id}
                    columns={[
                      {
                        name: "name",
                        head: "Node",
                        rowHead: true,
                        sort: (node) => node.name,
                        cell: (node) => (
                          <span class="row">
                            {node.name}
                            {node.self && <span class="badge">this node</span>}
                          </span>
                        ),
                      },
                      {
                        name: "state",
                        head: "State",
                        cell: (node) => (
                          <span class={`badge ${!node.live ? "bad" : node.draining ? "warn" : "good"}`}>
                            {!node.live ? "silent" : node.draining ? "draining" : "live"}
                          </span>
                        ),
                      },
                      {
                        name: "leads",
                        head: "Shards led",
                        right: true,
                        sort: (node) => leads(node.id),
                        cell: (node) => count(leads(node.id)),
                      },
                      { name: "version", head: "Version", when: "lo", cell: (node) => node.version },
                      {
                        name: "url",
                        head: "Address",
                        when: "mid",
                        cell: (node) => <span class="soft">{node.url || "–"}</span>,
                      },
                      { name: "started", head: "Started", right: true, cell: (node) => <Time at={node.started_at} /> },
                      ...(may("admin") && data.nodes.length > 1
                        ? [
                            {
                              name: "act",
                              head: <span class="hidden-text">Actions</span>,
                              right: true,
                              cell: (node: Cluster["nodes"][number]) =>
                                node.draining ? (
                                  <Button
                                    size="tiny"
                                    onClick={async () => (
                                      await post(`v1/admin/nodes/${segment(node.id)}/undrain`),
                                      cluster.reload()
                                    )}
                                  >
                                    Undrain
                                  </Button>
                                ) : (
                                  <Button size="tiny" onClick={() => drain(node)}>
                                    Drain
                                  </Button>
                                ),
                            },
                          ]
                        : []),
                    ]}
                  />
                </Panel>
                <Panel title={plural(data.shards.length, "shard")}>
                  <Table
                    label="Shards"
                    items={data.shards}
                    id={(shard) => String(shard.shard)}
                    columns={[
                      {
                        name: "shard",
                        head: "Shard",
                        rowHead: true,
                        sort: (shard) => shard.shard,
                        cell: (shard) => shard.shard,
                      },
                      {
                        name: "leader",
                        head: "Leader",
                        sort: (shard) => nameOf(shard.leader),
                        cell: (shard) =>
                          shard.leader ? nameOf(shard.leader) : <span class="badge bad">no leader</span>,
                      },
                      { name: "epoch", head: "Epoch", right: true, cell: (shard) => count(shard.epoch) },
                      {
                        name: "seq",
                        head: "Journal row",
                        right: true,
                        when: "lo",
                        cell: (shard) => (shard.seq === null ? <span class="zero">–</span> : count(shard.seq)),
                      },
                      {
                        name: "projected",
                        head: "Tables at row",
                        right: true,
                        when: "lo",
                        cell: (shard) => count(shard.projected_seq),
                      },
                      {
                        name: "lag",
                        head: "Tables behind",
                        right: true,
                        sort: (shard) => shard.projection_lag_ms ?? -1,
                        cell: (shard) =>
                          shard.projection_lag_ms === null ? (
                            <span class="zero">–</span>
                          ) : (
                            <span class={shard.projection_lag_ms > 5000 ? "bad" : ""}>
                              {duration(shard.projection_lag_ms)}
                            </span>
                          ),
                      },
                    ]}
                  />
                </Panel>
              </>
            );
          }}
        </Shown>
      </div>
    </>
  );
}
