"""A real server for tests, on a free loopback port and with its own directory."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

BINARY = os.environ.get(
    "MILLRACE_BIN", str(pathlib.Path(__file__).parents[3] / "build/release/millrace")
)


PATIENCE = 60.0  # for a busy machine
PORTS_OF_A_PROCESS = 40
_next_port = itertools.count()


def free_port() -> int:
    """Return a free port. As in tests/postgres.py, each process has its own range of ports, below
    those that the system uses for outgoing connections, so that it is still free when a server
    starts or restarts.
    """
    first = 20_000 + os.getpid() % 300 * PORTS_OF_A_PROCESS
    while True:
        port = first + next(_next_port) % PORTS_OF_A_PROCESS
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def clean_environment() -> dict[str, str]:
    """Return this process's environment without the variables that configure Millrace."""
    return {name: value for name, value in os.environ.items() if "MILLRACE_" not in name}


def eventually(condition: Callable[[], Any], timeout: float = PATIENCE) -> Any:
    """Wait for the condition to be true and return its value."""
    ends = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > ends:
            raise AssertionError(f"it did not come to hold within {timeout} s: {value!r}")
        time.sleep(0.02)


class Server:
    def __init__(self, *args: str) -> None:
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-python-"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._args = args
        self.start()

    def start(self) -> None:
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    BINARY,
                    "serve",
                    "--listen",
                    f"127.0.0.1:{self.port}",
                    "--data",
                    str(self.home / "data"),
                    *self._args,
                ],
                stdout=log,
                stderr=log,
                env=clean_environment(),
            )
        eventually(self._listens)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


_shared: Server | None = None


def listed_worker(id: str) -> dict[str, Any] | None:
    """Return a worker as the shared server lists it; None if it does not."""
    with urllib.request.urlopen(f"{server().url}/v1/workers") as answer:
        workers: list[dict[str, Any]] = json.load(answer)["items"]
    return next((worker for worker in workers if worker["id"] == id), None)


def server() -> Server:
    """Return the server that the tests of a process share; each test has its own queues."""
    global _shared
    if _shared is None:
        _shared = Server()
        atexit.register(_shared.close)
    return _shared


@contextlib.contextmanager
def own_server(*args: str) -> Iterator[Server]:
    made = Server(*args)
    try:
        yield made
    finally:
        made.close()
