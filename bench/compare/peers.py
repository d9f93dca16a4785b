"""The peers: how each is started, its resulting durability, and its client."""

import argparse
import contextlib
import dataclasses
import os
import subprocess
import sys

import install
from processes import Skipped, data_folder, free_port, lifecycles, ordinary_user, reason_in, server

HERE = install.HERE


@dataclasses.dataclass
class Row:
    """One figure of the table. `is_synced`: every step is on disk before it is answered."""

    name: str
    label: str
    mode: str
    durability: str
    is_synced: bool | None
    measure: object  # (options) -> (figure, version); raises Skipped
    group: str = "peer"
    unit: str = "lifecycles/s"
    on_postgres: bool = False
    batch: int | None = None  # jobs a call; none: as the run says


def by_thousand(row):
    """The same with calls of 1,000 jobs, at which the peers are fastest."""

    def measure(options):
        return row.measure(argparse.Namespace(**{**vars(options), "batch": 1000}))

    return dataclasses.replace(row, label=f"{row.label}, by 1,000", measure=measure, batch=1000)


def beanstalkd(sync):
    def measure(options):
        debian = install.Debian(options.cache, "beanstalkd", options.say)
        port = free_port()
        with data_folder(options.data_parent) as folder:
            command = [debian.program("beanstalkd"), "-l", "127.0.0.1", "-p", port]
            if sync is not None:
                (folder / "log").mkdir()
                command += ["-b", folder / "log", "-f", sync]
            with server(command, port, folder, debian.environment()):
                client = [sys.executable, HERE / "peers/beanstalkd/client.py"]
                return lifecycles(client, folder, options, port, {}, folder), debian.version

    return measure


def nats(options):
    debian = install.Debian(options.cache, "nats-server", options.say)
    client, packages, version = install.node_client(options.cache, "nats", "nats", options.say)
    port = free_port()
    with data_folder(options.data_parent) as folder:
        command = [
            debian.program("nats-server"),
            "--addr",
            "127.0.0.1",
            "--port",
            port,
            "--jetstream",
            "--store_dir",
            folder / "store",
        ]
        with server(command, port, folder, debian.environment()):
            figure = lifecycles(client, folder, options, port, {}, packages)
    return figure, f"{debian.version}, its client {version}"


@contextlib.contextmanager
def redis(options, *settings):
    debian = install.Debian(options.cache, "redis-server", options.say)
    port = free_port()
    with data_folder(options.data_parent) as folder:
        command = [
            debian.program("redis-server"),
            "--bind",
            "127.0.0.1",
            "--port",
            port,
            "--dir",
            folder,
            "--save",
            "",
            *settings,
        ]
        with server(command, port, folder, debian.environment()):
            yield folder, port, debian.version


def bullmq(*settings):
    def measure(options):
        client, packages, version = install.node_client(options.cache, "bullmq", "bullmq", options.say)
        with redis(options, *settings) as (folder, port, redis_version):
            figure = lifecycles(client, folder, options, port, {}, packages)
        return figure, f"{version}, Redis {redis_version}"

    return measure


def sidekiq(options):
    debian = install.Debian(options.cache, "ruby-sidekiq", options.say)
    with redis(options) as (folder, port, redis_version):
        client = [debian.program("ruby"), HERE / "peers/sidekiq/client.rb"]
        figure = lifecycles(client, folder, options, port, debian.ruby_environment(), folder)
    return figure, f"{debian.version}, Redis {redis_version}"


# Settings of a careful administrator for a machine of this size; durability keeps its default, full durability.
POSTGRES_SETTINGS = [
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "max_connections=100",
    "checkpoint_timeout=15min",
    "wal_compression=off",
    "log_min_messages=fatal",
]


@contextlib.contextmanager
def postgres(options):
    programs, environment, version = install.postgres_programs(options.cache, options.say)
    user = ordinary_user()
    port = free_port()
    with data_folder(options.data_parent, owner=user) as folder:
        cluster = folder / "cluster"
        made = subprocess.run(
            [
                programs / "initdb",
                "--username=bench",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                f"--pgdata={cluster}",
            ],
            capture_output=True,
            text=True,
            user=user,
            cwd=folder,
            check=False,
            env={**os.environ, **environment},
        )
        if made.returncode != 0:
            raise Skipped(f"initdb failed: {reason_in(made.stderr)}")
        command = [programs / "postgres", "-D", cluster, "-p", port, "-k", "", "-h", "127.0.0.1"]
        for setting in POSTGRES_SETTINGS:
            command += ["-c", setting]
        with server(command, port, folder, environment, user):
            make_database(programs, environment, port)
            yield folder, port, version


def make_database(programs, environment, port):
    """Returns once the cluster answers: it listens before it accepts statements."""
    run = None
    for _ in range(100):
        run = subprocess.run(
            [
                programs / "psql",
                "-h",
                "127.0.0.1",
                "-p",
                str(port),
                "-U",
                "bench",
                "-d",
                "postgres",
                "-c",
                "CREATE DATABASE bench",
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **environment},
        )
        if run.returncode == 0:
            return
        if "starting up" not in run.stderr:
            break
    raise Skipped(f"no database: {reason_in(run.stderr)}")


def on_postgres(peer, environment):
    def measure(options):
        client, packages, version = install.node_client(options.cache, peer, peer, options.say)
        with postgres(options) as (folder, port, postgres_version):
            figure = lifecycles(client, folder, options, port, environment, packages)
        return figure, f"{version}, PostgreSQL {postgres_version}"

    return measure


def with_thousand(row):
    return [row, by_thousand(row)]


AOF = ("--appendonly", "yes", "--appendfsync", "always")

ROWS = [
    Row("beanstalkd", "beanstalkd, memory", "windows of a batch", "none: memory", False, beanstalkd(None)),
    Row(
        "beanstalkd",
        "beanstalkd, sync every 50 ms",
        "windows of a batch",
        "log, synced every 50 ms",
        False,
        beanstalkd(50),
    ),
    Row("beanstalkd", "beanstalkd, sync each", "windows of a batch", "log, every write synced", True, beanstalkd(0)),
    Row(
        "nats",
        "NATS JetStream",
        "asynchronous publish in 8 windows, consume with 1,000 buffered",
        "files, synced every 2 min",
        False,
        nats,
    ),
    Row("bullmq", "BullMQ, memory", "addBulk of a batch, concurrency 50", "none: memory", False, bullmq()),
    *with_thousand(
        Row(
            "bullmq",
            "BullMQ, appendfsync always",
            "addBulk of a batch, concurrency 50",
            "log, every write synced",
            True,
            bullmq(*AOF),
        )
    ),
    Row(
        "sidekiq",
        "Sidekiq",
        "push_bulk of a batch, 10 threads",
        "none: memory; a claimed job dies with its worker",
        False,
        sidekiq,
    ),
    *with_thousand(
        Row(
            "graphile-worker",
            "graphile-worker, batched",
            "addJobs of a batch, local queue of a batch (500 at most), batched completion",
            "every commit synced",
            True,
            on_postgres("graphile-worker", {"MODE": "batched"}),
            on_postgres=True,
        )
    ),
    Row(
        "graphile-worker",
        "graphile-worker, defaults",
        "addJobs of a batch, concurrency 24",
        "every commit synced",
        True,
        on_postgres("graphile-worker", {"MODE": "defaults"}),
        on_postgres=True,
    ),
    *with_thousand(
        Row(
            "pg-boss",
            "pg-boss",
            "insert of a batch, fetch and complete of a batch (500 at most), 4 loops; completed jobs stay as rows",
            "every commit synced",
            True,
            on_postgres("pg-boss", {}),
            on_postgres=True,
        )
    ),
]
