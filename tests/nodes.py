"""Several servers that are the nodes of one store on PostgreSQL."""

import pathlib
import sys

import postgres

sys.path.append(str(pathlib.Path(__file__).parent / "system"))
import harness  # noqa: E402 (its folder is on the path only now)

SETTLE_TIMEOUT_S = 60


class Nodes:
    """The servers, in a fixed order; some may not be running. They serve one database of `cluster`,
    through `pooler` if there is one.
    """

    def __init__(self, count, *args, cluster=None, pooler=None, **settings):
        self.cluster = cluster or postgres.shared()
        self.database = self.cluster.new_database()
        self.pooler = pooler
        self.args, self.settings = args, settings
        self.servers = []
        for _ in range(count):
            self.add()

    def add(self):
        """Adds a server without starting it."""
        server = harness.Server(*self.args, **self.settings)
        server.database = self.pooler.leads_to(self.database) if self.pooler else self.database
        self.servers.append(server)
        return server

    def start(self):
        for server in self.servers:
            server.start()
        return self.settle()

    def __getitem__(self, number):
        return self.servers[number]

    def __len__(self):
        return len(self.servers)

    @property
    def running(self):
        return [s for s in self.servers if s.process is not None and s.process.poll() is None]

    def view(self, server=None):
        """A node's view of all nodes: the answer to GET /v1/admin/nodes."""
        api = (server or self.running[0]).client()
        try:
            reply = api.get("/v1/admin/nodes")
        finally:
            api.close()
        if reply.status != 200:
            raise AssertionError(f"GET /v1/admin/nodes: {reply}")
        return reply.json

    def id_of(self, server):
        return next(n["id"] for n in self.view(server)["nodes"] if n["self"])

    def leaders(self, server=None):
        """By shard: the server that leads it, as `server` sees it; None if no live one does."""
        view = self.view(server)
        urls = {node["id"]: node["url"] for node in view["nodes"] if node["live"]}
        servers = {each.url: each for each in self.servers}
        return {shard["shard"]: servers.get(urls.get(shard["leader"])) for shard in view["shards"]}

    def led_by(self, server):
        """The shards that `server` leads, as the first running node sees it."""
        return sorted(shard for shard, leader in self.leaders().items() if leader is server)

    def settle(self, leaders=None):
        """Waits until `leaders` (default: all running) lead their shares, and all running nodes see it."""
        expected = self.running if leaders is None else leaders

        def settled():
            seen = [self.leaders(server) for server in self.running]
            share = -(-len(seen[0]) // len(expected))
            loads = [list(seen[0].values()).count(server) for server in expected]
            return all(view == seen[0] for view in seen) and sum(loads) == len(seen[0]) and max(loads) <= share

        harness.eventually(settled, SETTLE_TIMEOUT_S, 0.05, what="every node's lead of its share")
        return self

    def queue_on_each_shard(self, prefix="on"):
        """Creates a queue on each shard. Returns them by shard."""
        api = self.running[0].client()
        api.patience_s = SETTLE_TIMEOUT_S
        try:
            shards, found, number = len(self.leaders()), {}, 0
            while len(found) < shards:
                for _ in range(2 * shards):
                    number += 1
                    reply = api.put(f"/v1/queues/{prefix}-{number}", {})
                    if reply.status not in (200, 201):
                        raise AssertionError(f"PUT queue: {reply}")
                api.get("/v1/jobs", fresh="true")  # the tables have them now
                rows = self.cluster.sql(
                    f"SELECT shard, min(name) FROM millrace.queues WHERE name LIKE '{prefix}-%' GROUP BY shard",
                    self.database,
                )
                found = {int(s): name for s, name in (row.split("|") for row in rows.split())}
            return found
        finally:
            api.close()

    def close(self):
        for server in self.servers:
            server.close()
