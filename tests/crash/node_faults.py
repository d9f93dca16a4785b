"""The faults of several nodes and their PostgreSQL, like faults.py, for a NodesRig. After each
fault all nodes are ready again by themselves, or it raises Trouble.
"""

import pathlib
import signal
import subprocess
import tempfile
import time

import faults
from cutting_proxy import WAYS, CuttingProxy
from faults import Skipped
from nodes_rig import Network
from rig import runs
from rough_proxy import RoughProxy, Roughness

import postgres
import test_auth

LEASE_S = 2
DATABASE_DISK_BYTES = 160 << 20
SYNC_TIMEOUT_S = 90


# The nodes.


def kill(rig):
    """Kills a node and restarts it, either before its lease is over or after a takeover."""
    rig.kill_one(rig.pick())
    time.sleep(rig.dice.choice((0, 0.3, LEASE_S + 1)))
    rig.start()
    rig.await_service("a node was killed")


def kill_all(rig):
    rig.kill()
    time.sleep(rig.dice.choice((0, 0.5)))
    rig.start()
    rig.await_service("all nodes were killed")


def pause(rig):
    """Pauses a node for longer than its lease; it wakes up and finds itself replaced."""
    server = rig.pick()
    server.signal(signal.SIGSTOP)
    time.sleep(rig.dice.uniform(LEASE_S + 0.5, LEASE_S + 3))
    server.signal(signal.SIGCONT)
    rig.await_service("a node stood still")


def short_pauses(rig):
    for _ in range(rig.dice.randint(4, 10)):
        server = rig.pick()
        server.signal(signal.SIGSTOP)
        time.sleep(rig.dice.uniform(0.05, 0.6))
        server.signal(signal.SIGCONT)
    rig.await_service("many short pauses")


def stop(rig):
    """Stops a node gracefully and restarts it."""
    faults.stop(rig.pick())
    time.sleep(rig.dice.choice((0, 1)))
    rig.start()
    rig.await_service("a node was stopped")


# The network between them.


def partition(rig):
    """Cuts a node off from the database, from the other nodes, or from everything."""
    for _ in range(rig.dice.randint(1, 2)):
        lonely = rig.dice.randrange(len(rig.servers))
        way = rig.dice.choice(("database", "nodes", "everybody"))
        rig.note(f"partition: node {lonely + 1} from {way}")
        if way == "database":
            rig.network.cut([lonely, Network.DATABASE])
        elif way == "nodes":
            rig.network.cut(range(len(rig.servers)))
        else:
            rig.network.cut_off(lonely)
        heal_after(rig, f"a node was cut off from {way}, and is not any more")


def one_way(rig):
    """Drops the messages from one node to another for a while, but not those in return."""
    members = [*range(len(rig.servers)), Network.DATABASE]
    for _ in range(rig.dice.randint(1, 3)):
        mute, deaf = rig.dice.sample(members, 2)
        rig.note(f"one way: nothing from {name_of(mute)} reaches {name_of(deaf)}")
        rig.network.mute(mute, deaf)
    heal_after(rig, "links led one way only, and do not any more")


def flapping(rig):
    """Takes a node's link down and up, quickly."""
    lonely = rig.dice.randrange(len(rig.servers))
    rig.note(f"flapping: node {lonely + 1}")
    until = time.monotonic() + rig.dice.uniform(2, LEASE_S + 4)
    while time.monotonic() < until:
        rig.network.cut_off(lonely)
        time.sleep(rig.dice.uniform(0.02, 0.6))
        rig.network.restore(lonely)
        time.sleep(rig.dice.uniform(0.02, 0.6))
    rig.await_service("a node's link went up and down")


def swizzle(rig):
    """Takes all links down one by one, and brings them back in another order."""
    members = [*range(len(rig.servers)), Network.DATABASE]
    for change in (rig.network.cut_off, rig.network.restore):
        rig.dice.shuffle(members)
        rig.note(f"{change.__name__}: {', '.join(map(name_of, members))}")
        for member in members:
            change(member)
            time.sleep(rig.dice.uniform(0.05, 1))
    rig.await_service("all links went down, and came back")


def name_of(member):
    return member if member == Network.DATABASE else f"node {member + 1}"


def heal_after(rig, what):
    time.sleep(rig.dice.choice((0.5, LEASE_S + 1, LEASE_S + 3)))
    rig.must_live("a partition")
    rig.network.heal()
    rig.await_service(what)


def on_a_network(rig):
    try:
        rig.network = Network(len(rig.servers))
    except OSError as error:
        raise Skipped(str(error)) from error
    rig.undo.append(rig.network.close)
    scopes = [word for scope in test_auth.SCOPES for word in ("--scope", scope)]
    token, block = test_auth.new_token("--name", "rig", *scopes)
    for number, server in enumerate(rig.servers):
        server.host, server.within = rig.network.address(number), rig.network.within(number)
        server.token = token
        config = server.home / "millrace.toml"
        config.write_text(block)
        config.chmod(0o600)
        server.args += ["--config", str(config)]
    database = Network.DATABASE
    rig.use(postgres.Cluster(host=rig.network.address(database), within=rig.network.within(database)))


def rough(rig):
    """Delays and splits the data between nodes, to the database and from clients. Connections
    break, so that requests and answers are lost, and data that a node received on one of them is
    sent to it again.
    """
    late_s = rig.dice.choice((0.002, 0.02, 0.2))
    breaks = rig.dice.choice((0, 0.002, 0.02))
    rig.note(f"rough links: up to {late_s * 1000:.0f} ms late, {breaks:.1%} break")
    *between_nodes, to_database = rig.links
    for link in between_nodes:
        link.rough(Roughness(late_s=late_s, breaks=breaks, again=0.5))
    for link in (*rig.doors, to_database):
        link.rough(Roughness(late_s=late_s, breaks=breaks))
    time.sleep(rig.dice.uniform(3, 6))
    for link in (*rig.links, *rig.doors):
        link.smooth()
    rig.await_service("links were rough, and are not any more")
    for link in (*rig.links, *rig.doors):
        for what in list(link.counts):
            rig.figures[what] += link.counts.pop(what)


def over_links_of_ours(rig):
    """Puts proxies between the nodes, before them for clients, and before the database."""
    cluster = postgres.Cluster()
    nodes = [(server.host, server.port) for server in rig.servers]
    rig.links = [RoughProxy(*address, seed=rig.dice.random()) for address in (*nodes, (cluster.host, cluster.port))]
    rig.doors = [RoughProxy(*address, seed=rig.dice.random()) for address in nodes]
    for server, link in zip(rig.servers, rig.links, strict=False):
        server.args += ["--advertise", f"http://127.0.0.1:{link.port}"]
    rig.undo += [link.close for link in (*rig.links, *rig.doors)]
    rig.use(cluster, rig.links[-1].postgres_url)


# The database.


def restart_database(rig, end, what):
    end(rig.cluster)
    time.sleep(rig.dice.choice((0, 0.5, LEASE_S + 1)))
    rig.cluster.start()
    rig.await_service(what)


def database_stopped_fast(rig):
    restart_database(rig, lambda cluster: cluster.stop(signal.SIGINT), "a fast stop of PostgreSQL")


def database_stopped_at_once(rig):
    restart_database(rig, lambda cluster: cluster.stop(signal.SIGQUIT), "an immediate stop")


def database_killed(rig):
    restart_database(rig, lambda cluster: cluster.kill(), "PostgreSQL was killed")


def connections_cut(rig):
    """Cuts the connections of transactions: before one, after one, or inside its answer."""
    before = dict(rig.proxy.cuts)
    likely = rig.dice.choice((0.02, 0.1, 0.3))
    rig.proxy.cut(lambda: rig.dice.choice(WAYS) if rig.dice.random() < likely else None)
    time.sleep(rig.dice.uniform(2, 4))
    rig.proxy.let_pass()
    rig.note(f"cut so far: {rig.proxy.cuts}")
    rig.await_service("connections to PostgreSQL were cut")
    for way in WAYS:
        rig.figures[f"connections cut {way}"] += rig.proxy.cuts[way] - before[way]


def through_a_proxy(rig):
    cluster = postgres.Cluster()
    rig.proxy = CuttingProxy(cluster.host, cluster.port)
    rig.undo.append(rig.proxy.close)
    rig.use(cluster, rig.proxy.postgres_url)


def standby_promoted(rig):
    """Kills the primary and promotes its synchronous standby. (Once per round.)"""
    if rig.standby is None:
        return
    rig.cluster.kill()
    time.sleep(rig.dice.choice((0, 1)))
    rig.cluster, rig.standby = rig.standby, None
    rig.cluster.sql("SELECT pg_promote()")
    rig.await_service("the standby was promoted")


def with_a_standby(rig):
    primary = postgres.Cluster(wal_keep_size="256MB")
    rig.undo.append(primary.close)
    rig.standby = postgres.Cluster(standby_of=primary)
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.sql("SELECT pg_reload_conf()")
    faults.harness.eventually(
        lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync",
        SYNC_TIMEOUT_S,
        what="the standby's being synchronous",
    )
    both = f"{primary.host}:{primary.port},{rig.standby.host}:{rig.standby.port}/"
    rig.undo.append(rig.standby.close)
    rig.use(
        primary,
        lambda direct: direct.replace(f"{primary.host}:{primary.port}/", both) + "?target_session_attrs=read-write",
    )


def database_disk_full(rig):
    """Fills PostgreSQL's disk for a while. If it ends, it is restarted when there is room."""
    ballast = rig.cluster.home / "ballast"
    faults.fill(ballast, rig.dice.choice((0, 200_000, 2_000_000)))
    deadline = time.monotonic() + rig.dice.uniform(2, 6)
    refused = None
    while time.monotonic() < deadline:
        record = rig.submit(size=100_000)
        refused = refused or (record and record.status == 503)
        rig.must_live("PostgreSQL's disk full")
    ballast.unlink()
    if not runs(rig.cluster):
        rig.note("PostgreSQL ended")
        rig.cluster.start()
    rig.note("refused" if refused else "nothing was refused")
    rig.await_service("PostgreSQL's disk full, and room again")


def on_a_small_disk(rig):
    where = pathlib.Path(tempfile.mkdtemp(prefix="millrace-postgres-"))
    options = f"size={DATABASE_DISK_BYTES},mode=700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "millrace", str(where)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        where.rmdir()
        raise Skipped(f"no small disk can be mounted: {done.stderr.strip()}")
    rig.undo.append(lambda: subprocess.run(["umount", "-l", str(where)], check=False))
    rig.use(postgres.Cluster(home=where, max_wal_size="48MB", min_wal_size="32MB"))


FAULTS = {
    "kill": kill,
    "kill-all": kill_all,
    "pause": pause,
    "short-pauses": short_pauses,
    "stop": stop,
    "upgrade": faults.upgrade,
    "partition": partition,
    "one-way": one_way,
    "flapping": flapping,
    "swizzle": swizzle,
    "rough": rough,
    "terminate": faults.sessions_ended,
    "pg-backend": faults.backend_killed,
    "pg-fast": database_stopped_fast,
    "pg-immediate": database_stopped_at_once,
    "pg-kill": database_killed,
    "cut": connections_cut,
    "standby": standby_promoted,
    "disk-full": database_disk_full,
}
PREPARE = {
    "partition": on_a_network,
    "one-way": on_a_network,
    "flapping": on_a_network,
    "swizzle": on_a_network,
    "rough": over_links_of_ours,
    "cut": through_a_proxy,
    "standby": with_a_standby,
    "disk-full": on_a_small_disk,
}
# Faults that may be added to a round's own fault.
COMPANIONS = ("kill", "kill", "pause", "short-pauses", "stop", "terminate")
