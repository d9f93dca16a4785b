"""Several nodes on their own PostgreSQL, with the clients, for one round."""

import os
import pathlib
import shutil
import subprocess

import actor
import rig
import transactions
from rig import Trouble, harness

import postgres  # whose folder the rig has added

HEAL_TIMEOUT_S = 90


class NodesRig(rig.Rig):
    """`cluster` is the database; a fault that needs another kind has created it before the start.
    `doors` are the proxies, one per node, that clients go through, if any.
    """

    doors = ()

    def __init__(self, seed, dice, count, servers=None):
        super().__init__(seed, dice, servers or [harness.Server(*rig.SERVE) for _ in range(count)])
        self.cluster = None

    def start(self):
        if self.cluster is None:
            self.use(postgres.Cluster())
        self.probe.targets = self.targets
        super().start()

    def use(self, cluster, url=None):
        """Creates a new database for the nodes there. `url(direct)` is the URL by which they reach
        it.
        """
        self.cluster = cluster
        self.undo.append(cluster.close)
        direct = cluster.new_database()
        for server in self.servers:
            server.database = url(direct) if url else direct

    @property
    def targets(self):
        direct = super().targets
        doors = tuple(f"127.0.0.1:{door.port}" for door in self.doors)
        return actor.Targets(doors or direct.addresses, direct.token)

    def pick(self):
        return self.dice.choice(self.servers)

    def kill_one(self, server):
        server.kill()
        self.kills += 1

    def sql(self, statement):
        return self.cluster.sql(statement, self.servers[0].database)

    def start_clients(self, threads):
        self.sql(transactions.MAKE_EFFECTS)
        super().start_clients({**threads, "clerk": 2})

    def drain(self):
        """Drains, after the leftovers of transactions are done."""
        harness.eventually(
            lambda: self.sql("SELECT count(*) FROM millrace.inbox_rows") == "0",
            HEAL_TIMEOUT_S,
            what="the inbox's being empty",
        )
        return super().drain()

    def final(self, backlog):
        rows = self.sql("SELECT job || ' ' || token FROM effects").split("\n")
        effects = [row.split()[0] for row in rows if row]
        return {**super().final(backlog), "effects": effects}

    def await_service(self, what, timeout_s=HEAL_TIMEOUT_S):
        """Also waits until every node is ready again by itself."""
        super().await_service(what, timeout_s)
        for server in self.servers:
            try:
                harness.eventually(server._ready, timeout_s, what=f"readiness of {server.url}")
            except AssertionError as error:
                raise Trouble(f"{what}: {error}") from error


NOBODY = "02:00:00:00:00:01"  # an unused hardware address on the bridge


class Network:
    """The nodes and the database each in a network namespace, on one bridge to which the clients
    belong too. Raises OSError where this machine can't.
    """

    DATABASE = "database"

    def __init__(self, nodes):
        if os.getuid() != 0 or not shutil.which("ip") or not shutil.which("bridge"):
            raise OSError("network namespaces need root and iproute2")
        self.slot = self._take_slot()
        self.bridge = f"mlr{self.slot}"
        self.members = [*range(nodes), self.DATABASE]
        try:
            ip("addr", "add", f"{self._prefix}.1/24", "dev", self.bridge)
            ip("link", "set", self.bridge, "up")
            for member in self.members:
                self._connect(member)
        except OSError:
            self.close()
            raise

    def _take_slot(self):
        """Several rounds run at a time; the one that creates a bridge owns its addresses."""
        for slot in range(250):
            try:
                ip("link", "add", f"mlr{slot}", "type", "bridge")
                return slot
            except OSError as error:
                if "exists" not in str(error):
                    raise
        raise OSError("no network is free")

    @property
    def _prefix(self):
        return f"198.18.{self.slot}"  # set aside for tests of networks: RFC 2544

    def _place(self, member):
        return f"{self.bridge}-{self.members.index(member)}"

    def address(self, member):
        return f"{self._prefix}.{10 + self.members.index(member)}"

    def within(self, member):
        """The command that runs another in the member's network."""
        return ("ip", "netns", "exec", self._place(member))

    def _connect(self, member):
        place = self._place(member)
        ip("netns", "add", place)
        ip("link", "add", place, "type", "veth", "peer", "name", "eth0", "netns", place)
        ip("link", "set", place, "master", self.bridge, "up")
        ip("-n", place, "addr", "add", f"{self.address(member)}/24", "dev", "eth0")
        ip("-n", place, "link", "set", "eth0", "up")
        ip("-n", place, "link", "set", "lo", "up")

    def cut(self, members):
        """Cuts the connections among these members, but not those to others."""
        for member in members:
            run("bridge", "link", "set", "dev", self._place(member), "isolated", "on")

    def cut_off(self, member):
        """Cuts all connections of a member."""
        ip("link", "set", self._place(member), "down")

    def mute(self, member, towards):
        """Drops the messages from one member to another, but not those in return."""
        ip(*self._neighbour("replace", member, towards), "lladdr", NOBODY, "nud", "permanent")

    def restore(self, member):
        """Undoes cut, cut_off and mute for this member."""
        run("bridge", "link", "set", "dev", self._place(member), "isolated", "off")
        ip("link", "set", self._place(member), "up")
        ip("-n", self._place(member), "neigh", "flush", "nud", "permanent", "dev", "eth0")

    def heal(self):
        for member in self.members:
            self.restore(member)

    def _neighbour(self, action, member, other):
        place = self._place(member)
        return ("-n", place, "neigh", action, self.address(other), "dev", "eth0")

    def close(self):
        for member in self.members:
            if pathlib.Path(f"/run/netns/{self._place(member)}").exists():
                ip("netns", "del", self._place(member))
        ip("link", "del", self.bridge)


def ip(*args):
    run("ip", *args)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
