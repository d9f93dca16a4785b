"""The servers: each measurement has its own, empty, on a disk."""

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import urllib.request

import install
import peers
from processes import Skipped, data_folder, free_port, server
from programs import DEBIAN

BATCH = 1000


@dataclasses.dataclass
class Store:
    """A running server. `pid` is the root of its processes; `left` counts the jobs that have not succeeded."""

    port: int
    pid: int
    version: str
    left: object
    enqueue: object = None  # (jobs); none: the worker's program does it in its own way


def call(port, path, body=None):
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", content, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@contextlib.contextmanager
def millrace(options, _):
    port = free_port()

    def enqueue(jobs):
        for first in range(0, jobs, BATCH):
            item = {"type": "bench.empty", "payload": {"to": "ada@example.org"}}
            answer = call(port, "/v1/jobs/batch", {"jobs": [item] * min(BATCH, jobs - first)})
            if any(each["status"] != 201 for each in answer["results"]):
                raise Skipped("the server refused a job")

    def left():
        counts = call(port, "/v1/queues/default")["counts"]
        return sum(count for state, count in counts.items() if state != "succeeded")

    with data_folder(options.data_parent) as folder:
        command = [
            options.millrace,
            "serve",
            "--listen",
            f"127.0.0.1:{port}",
            "--data",
            "data",
            "--log-level",
            "warn",
            "--retention-succeeded",
            "0s",
        ]
        with server(command, port, folder) as process:
            said = subprocess.run([options.millrace, "version"], capture_output=True, text=True, check=False).stdout
            yield Store(port, process.pid, said.split("\n")[0].strip().capitalize(), left, enqueue)


def ask_redis(port, command):
    """The answer of a command that returns a number."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection, connection.makefile("rb") as answers:
        connection.sendall(command.encode() + b"\r\n")
        return int(answers.readline().decode().lstrip(":"))


def redis(*settings):
    """With Debian's defaults, except for the settings."""

    @contextlib.contextmanager
    def started(options, unfinished):
        debian = install.Debian(DEBIAN, "redis-server", options.say)
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
                *settings,
            ]
            with server(command, port, folder, debian.environment()) as process:
                yield Store(
                    port,
                    process.pid,
                    f"Redis {debian.version}",
                    lambda: sum(ask_redis(port, command) for command in unfinished),
                )

    return started


@contextlib.contextmanager
def postgres(options, unfinished):
    """With the settings of bench/compare."""
    programs, environment, _ = install.postgres_programs(DEBIAN, options.say)
    with peers.postgres(options) as (folder, port, version):

        def left():
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
                    "bench",
                    "-tA",
                    "-c",
                    unfinished,
                ],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, **environment},
            )
            if run.returncode != 0:
                raise Skipped(f"psql failed: {run.stderr.strip()[:200]}")
            return int(run.stdout)

        pid = int((folder / "cluster/postmaster.pid").read_text().split("\n", 1)[0])
        yield Store(port, pid, f"PostgreSQL {version}", left)


ALWAYS = ("--appendonly", "yes", "--appendfsync", "always")
