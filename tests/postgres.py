"""A PostgreSQL server for a test, from Debian's packages or the folder POSTGRES_BIN: a cluster in a
temporary directory, on a free loopback port, run as an ordinary user. It ends with the test or with
this process.
"""

import atexit
import itertools
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

USER = "millrace"
START_TIMEOUT_S = 90  # after a crash it syncs all of its files first


def program(name):
    """The program in the folder POSTGRES_BIN, or the newest one of Debian's packages."""
    chosen = pathlib.Path(os.environ.get("POSTGRES_BIN", "")) / name
    if "POSTGRES_BIN" in os.environ and chosen.exists():
        return str(chosen)
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not found:
        raise RuntimeError(f"there is no {name}: tools/setup installs PostgreSQL")
    return str(found[-1])


def as_owner(*command, dies_with_us=True):
    """The command that runs another as a user who may run a server, which refuses root."""
    words = ["setpriv"]
    if dies_with_us:
        words += ["--pdeathsig", "QUIT"]
    if os.getuid() == 0:
        words += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    return [*words, *map(str, command)] if len(words) > 1 else list(map(str, command))


PORTS_OF_A_PROCESS = 40
BLOCKS_OF_PORTS = 300
_next_port = itertools.count(1)
_guards = {}  # by process id, because a forked child needs its own guard


def _first_port():
    """The first of this process's ports. The process holds it as long as it lives. A process that
    finds it taken looks for others, so two processes never share ports.
    """
    block = me = os.getpid()
    while me not in _guards:
        held = socket.socket()
        try:
            held.bind(("127.0.0.1", 20_000 + block % BLOCKS_OF_PORTS * PORTS_OF_A_PROCESS))
            _guards[me] = held
            atexit.register(held.close)
        except OSError:
            held.close()
            block += 1
    return _guards[me].getsockname()[1]


def free_port():
    """A free port. Each process has its own range of ports, so that no other process takes it first.
    The ranges are below the ports that the system uses for outgoing connections, so that a port is
    still free when a server restarts.
    """
    first = _first_port()
    while True:
        port = first + next(_next_port) % PORTS_OF_A_PROCESS
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Cluster:
    """A running server. `settings` are such as {"synchronous_commit": "off"}. `home` is the parent of
    its directory. `host` and `within` are its address, and the command that runs it in that network.
    `standby_of` is a cluster that it copies and follows, which is restarted for that.
    """

    def __init__(self, home=None, host="127.0.0.1", within=(), standby_of=None, **settings):
        self.home = pathlib.Path(home or tempfile.mkdtemp(prefix="millrace-postgres-"))
        self.data = self.home / "data"
        self.host, self.within = host, within
        self.port = free_port()
        self.settings = {"listen_addresses": host, **settings}
        self.process = None
        self._names = itertools.count(1)
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.home, owner.pw_uid, owner.pw_gid)
        if standby_of is None:
            self._make(
                program("initdb"),
                "--pgdata",
                self.data,
                "--username",
                USER,
                "--auth",
                "trust",
                "--encoding",
                "UTF8",
                "--locale",
                "C",
                "--no-sync",
            )
            if host != "127.0.0.1":
                with (self.data / "pg_hba.conf").open("a") as rules:
                    rules.write("host all all samenet trust\n")
        else:
            standby_of.stop()
            self._make("cp", "--archive", standby_of.data, self.data)
            standby_of.start()
            self._make("touch", self.data / "standby.signal")
            self.settings["primary_conninfo"] = standby_of.url()
        self.start()

    def _make(self, name, *args):
        made = subprocess.run(as_owner(name, *args), capture_output=True, text=True, cwd=self.home, check=False)
        if made.returncode != 0:
            raise RuntimeError(f"{name}: {made.stderr}")

    def start(self):
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self.within,
                    *as_owner(program("postgres"), "-D", self.data, "-p", self.port, "-k", self.home, *settings),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.home,
            )
        return self.await_answer()

    def await_answer(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.sql("SELECT 1", check=False) != "1":
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("PostgreSQL does not start:\n" + (self.home / "log").read_text())
            time.sleep(0.05)
        return self

    def stop(self, how=signal.SIGINT):
        """SIGINT stops it fast, SIGQUIT immediately, without saving anything."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)

    def kill(self):
        """Kills the postmaster only. Its processes notice and end; waits until they have ended."""
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)

    def processes(self):
        """The processes that work in its data directory."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "cwd") == str(self.data):
                    found.append(int(entry.name))
            except OSError:
                pass  # it has ended, or is the kernel's
        return found

    def close(self):
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.home, ignore_errors=True)

    def url(self, database="postgres", port=None):
        return f"postgres://{USER}@{self.host}:{port or self.port}/{database}"

    def new_database(self):
        """Creates an empty database and returns its URL."""
        name = f"test{next(self._names)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def sql(self, statement, url=None, check=True):
        """Runs a statement and returns psql's output without headings."""
        done = subprocess.run(
            [program("psql"), "-X", "-At", "-v", "ON_ERROR_STOP=1", url or self.url(), "-c", statement],
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{statement}: {done.stderr}")
        return done.stdout.strip()


class Pooler:
    """A PgBouncer in transaction mode before a cluster, with `size` sessions to each database for all its clients."""

    def __init__(self, cluster, size):
        self.cluster = cluster
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-pgbouncer-"))
        self.home.chmod(0o755)
        self.port = free_port()
        (self.home / "settings").write_text(
            f"[databases]\n* = host={cluster.host} port={cluster.port} user={USER}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {size}\n"
        )
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(as_owner("pgbouncer", "-q", self.home / "settings"), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.cluster.sql("SELECT 1", self.leads_to(self.cluster.url()), check=False) != "1":
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("PgBouncer does not start")
            time.sleep(0.05)

    def leads_to(self, url):
        """The URL of the cluster's database at `url`, through this pooler."""
        return self.cluster.url(url.rsplit("/", 1)[1], self.port)

    def kill(self):
        """Kills it, with all its connections."""
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


_shared = None


def shared():
    """The cluster that the tests of this process share; each test has its own databases."""
    global _shared
    if _shared is None:
        _shared = Cluster()
        atexit.register(_shared.close)
    return _shared


class Session:
    """A session that is kept open, for long transactions."""

    _END = "-- end"

    def __init__(self, url):
        self.process = subprocess.Popen(
            [program("psql"), "-X", "-qAt", "-v", "VERBOSITY=verbose", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )

    def send(self, statement):
        self.process.stdin.write(f"{statement};\n\\echo '{self._END}'\n")
        self.process.stdin.flush()

    def receive(self):
        lines = iter(self.process.stdout.readline, "")
        return "\n".join(itertools.takewhile(lambda line: line != self._END, map(str.strip, lines)))

    def sql(self, statement):
        """Runs a statement and returns psql's output, including errors."""
        self.send(statement)
        return self.receive()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
