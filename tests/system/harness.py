"""Real servers for the system tests. Each runs the binary MILLRACE_BIN on a free loopback port with
its own directory, and is ended by its process id. Its log is shown when a test fails.
"""

import datetime
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import client

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import postgres  # noqa: E402 (its folder is on the path only now)

BINARY = os.environ.get("MILLRACE_BIN", str(pathlib.Path(__file__).parents[2] / "build/release/millrace"))
SUPPRESSIONS = pathlib.Path(__file__).parents[1] / "thread_sanitizer.supp"
# The store of the servers under test: "sqlite" or "postgres".
STORE = os.environ.get("MILLRACE_STORE", "sqlite")
SHARDS = 1 if STORE == "sqlite" else 8
sqlite_only = unittest.skipUnless(STORE == "sqlite", "a story of the SQLite store alone")


def is_sanitized():
    """Whether the binary has a sanitizer's allocator, which uses a multiple of the memory."""
    binary = pathlib.Path(BINARY).read_bytes()
    return b"__asan_init" in binary or b"__tsan_init" in binary


def is_slow():
    """Whether the server runs many times slower than alone: see test_memcheck.py."""
    return "MILLRACE_SLOW" in os.environ


# How long a busy machine may take; other machines are much faster.
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60
PATIENCE_S = 30
TERMINAL = {"succeeded", "dead", "cancelled", "expired"}


def environment(**settings):
    """This process's environment without variables that configure Millrace, and with `settings`.
    The C library fills memory that is freed, so that its use shows without a sanitizer, too.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    env.setdefault("MALLOC_PERTURB_", "165")
    env.setdefault("TSAN_OPTIONS", f"suppressions={SUPPRESSIONS}")
    env.update({name: str(value) for name, value in settings.items()})
    return env


def eventually(condition, timeout_s=PATIENCE_S, every_s=0.02, what="the condition"):
    """Waits for `condition()` to be true and returns its value."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come to hold within {timeout_s} s; last value: {value!r}")
        time.sleep(every_s)


def run(*args, stdin=None, env=None, cwd=None, timeout=60):
    """Runs the binary to its end. Returns the CompletedProcess, with text streams."""
    return subprocess.run(
        [BINARY, *map(str, args)],
        input=stdin,
        env=env or environment(),
        cwd=cwd,
        timeout=timeout,
        capture_output=True,
        text=True,
        check=False,
    )


def read_database(path, statement):
    """The first value of a statement's result, from a database that no server has open."""
    program = (
        "import json, os, sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1])\n"
        "print(json.dumps(database.execute(sys.argv[2]).fetchone()[0]), flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), statement],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def change_database(path, *statements):
    """Runs statements on a database that no server has open, and returns how many rows the last one
    changed. Python's SQLite does not support the checksums of pages, so it ends before it moves its
    change from the write-ahead log, which has none, to the file. The server does that.
    """
    program = (
        "import os, sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "database.execute('PRAGMA wal_autocheckpoint = 0')\n"
        "database.execute('BEGIN')\n"
        "for statement in sys.argv[2:]: changed = database.execute(statement).rowcount\n"
        "database.execute('COMMIT')\n"
        "print(changed, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), *statements],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def uuid7():
    """A UUIDv7 as a client would make it."""
    number = int(time.time() * 1000) << 80 | uuid.uuid4().int & (2**80 - 1)
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=number))


def neighbour(queue):
    """Another queue on the same shard, whatever their number. Ids of the queue are known there."""

    def bits(name):
        return hashlib.sha256(name.encode()).hexdigest()[:3]

    names = (f"{queue}-{n}" for n in itertools.count())
    return next(name for name in names if bits(name)[-1] == bits(queue)[-1])


def seconds(text):
    """The instant `text` in seconds since the epoch."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def rfc3339(instant):
    """The text of an instant in seconds since the epoch."""
    return datetime.datetime.fromtimestamp(instant, datetime.timezone.utc).isoformat()


class Server:
    """A server process and its data directory, which outlives restarts; `close` removes it."""

    def __init__(self, *args, config=None, data=None, token=None, env=None, tls=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-test-"))
        self.data = pathlib.Path(data) if data else self.home / "data"
        self.host, self.port = "127.0.0.1", postgres.free_port()
        self.within = ()  # the command that runs it in another network
        self.binary = BINARY
        self.args = list(args)
        # On PostgreSQL, a database takes the place of the directory.
        self.database = postgres.shared().new_database() if STORE == "postgres" else None
        self.token = token
        self.tls = tls  # the clients' ssl.SSLContext, if the server uses TLS
        self.env = env or {}
        self.process = None
        self.log_path = self.home / "log"
        if config is not None:
            path = self.home / "millrace.toml"
            path.write_text(config)
            path.chmod(0o600)
            self.args += ["--config", str(path)]

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def spawn(self):
        """Starts the process without waiting for anything."""
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self.within,
                    self.binary,
                    "serve",
                    "--listen",
                    f"{self.host}:{self.port}",
                    "--data",
                    str(self.data),
                    *(["--postgres", self.database] if self.database else []),
                    *self.args,
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment(**self.env),
                cwd=self.home,
            )
        return self

    def start(self):
        self.spawn()
        eventually(self._ready, START_TIMEOUT_S, what=f"readiness of {self.url}")
        return self

    def _ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the server exited with {self.process.returncode}:\n{self.log[-4000:]}")
        try:
            with client.RawConnection(self.host, self.port, timeout=5, tls=self.tls) as probe:
                probe.send(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                reply = probe.read_reply()
                return reply is not None and reply.status == 200
        except OSError:
            return False

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout_s=STOP_TIMEOUT_S):
        """The exit status, or the negative number of the signal that ended the process."""
        return self.process.wait(timeout_s)

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()

    def restart(self, kill=False):
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def close(self):
        """Ends the process in any state, and removes its directory."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(STOP_TIMEOUT_S)
        shutil.rmtree(self.home, ignore_errors=True)

    def client(self, token=None):
        return client.Client(self.host, self.port, token or self.token, self.token, self.tls)

    def connect(self, timeout=PATIENCE_S):
        return client.RawConnection(self.host, self.port, timeout, self.tls)

    def cli(self, *args, stdin=None, timeout=60, **env):
        """Runs a command of the binary against this server."""
        settings = {
            "MILLRACE_URL": self.url,
            **({"MILLRACE_TOKEN": self.token} if self.token else {}),
            **env,
        }
        return run(*args, stdin=stdin, env=environment(**settings), cwd=self.home, timeout=timeout)


class MillraceCase(unittest.TestCase):
    """Tests with methods for the actions of producers, workers and operators. `api` is a Client,
    `queue` the test's own queue.
    """

    maxDiff = None
    # On PostgreSQL, a node that was paused for longer than its lease leads nothing until it has
    # joined again. Requests that failed then are repeated; tests of that set no patience.
    patience_s = PATIENCE_S if STORE == "postgres" else 0
    _names = itertools.count(1)
    server = None
    api = None
    queue = None

    def setUp(self):
        self.queue = f"q{next(self._names)}"
        if self.server:
            self.use(self.server)

    def use(self, server):
        """Uses `server` from now on."""
        self.server = server
        self.api = self.new_client(server)

    def new_client(self, server=None, token=None):
        made = (server or self.server).client(token)
        made.patience_s = self.patience_s
        self.addCleanup(made.close)
        return made

    def new_server(self, *args, **settings):
        """A server for this test only, not started yet."""
        made = Server(*args, **settings)
        self.addCleanup(made.close)
        return made

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        outcome = super().run(result)
        if result and len(result.failures) + len(result.errors) > before and self.server and self.server.log:
            print(
                f"--- the server's log, its end ({self.id()}):\n{self.server.log[-3000:]}---",
                file=sys.stderr,
            )
        return outcome

    # Actions of producers.

    def submit(self, type="work", **members):
        """Submits a job to this test's queue and returns it; it must be accepted."""
        members.setdefault("queue", self.queue)
        reply = self.api.post("/v1/jobs", {"type": type, **members})
        self.assertIn(reply.status, (200, 201), reply)
        return reply.json

    def submit_many(self, count, **members):
        """Submits `count` jobs whose payload is their number, in order; returns their ids."""
        ids = []
        for start in range(0, count, 1000):
            jobs = [
                {"type": "work", "queue": self.queue, "payload": number, **members}
                for number in range(start, min(start + 1000, count))
            ]
            reply = self.api.post("/v1/jobs/batch", {"jobs": jobs})
            self.assertEqual(reply.status, 200, reply)
            ids += [result["id"] for result in reply.json["results"]]
        return ids

    # Actions of workers.

    def claim(self, limit=1, queues=None, api=None, worker="w1", wait_ms=0, **members):
        """The jobs of a claim, perhaps none."""
        reply = (api or self.api).post(
            "/v1/claim",
            {
                "queues": queues or [self.queue],
                "limit": limit,
                "wait_ms": wait_ms,
                "worker": {"id": worker},
                **members,
            },
        )
        self.assertEqual(reply.status, 200, reply)
        return reply.json["jobs"]

    def claim_one(self, **members):
        jobs = self.claim(**members)
        self.assertEqual(len(jobs), 1)
        return jobs[0]

    def claim_within(self, wait_ms=20000, **members):
        """Waits for one job and claims it."""
        return self.claim_one(wait_ms=wait_ms, **members)

    def ack(self, job, outcome="succeeded", **members):
        """Acks one claimed job; returns its entry of `results`."""
        item = {"id": job["id"], "token": job["lease"]["token"], "outcome": outcome, **members}
        reply = self.api.post("/v1/ack", {"items": [item]})
        self.assertEqual(reply.status, 200, reply)
        return reply.json["results"][0]

    def finish(self, job, outcome="succeeded", **members):
        """Acks one claimed job, which must be accepted. Returns the job's new state."""
        result = self.ack(job, outcome, **members)
        self.assertEqual(result["status"], 200, result)
        return result["state"]

    def fail_attempt(self, job, message="no luck", **members):
        return self.finish(job, "failed", error={"type": "Oops", "message": message}, **members)

    # Reads.

    def job(self, job_id, **query):
        reply = self.api.get(f"/v1/jobs/{job_id}", **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def state(self, job_id):
        return self.job(job_id)["state"]

    def await_state(self, job_id, state, timeout_s=PATIENCE_S):
        return eventually(lambda: self.state(job_id) == state, timeout_s, what=f"state {state} of job {job_id}")

    def final(self, job_id, wait_ms=30000, **query):
        """The job after it has ended."""
        job = self.job(job_id, wait_ms=wait_ms, until="final", **query)
        self.assertIn(job["state"], TERMINAL)
        return job

    def list_jobs(self, **query):
        """All jobs of this test's queue that match the filters, newest first."""
        return self.search(**{"queue": self.queue, **query})

    def search(self, q=None, **query):
        """All jobs found, fetched page by page, newest first."""
        query = {"fresh": "true", "limit": 1000, **query}
        if q is not None:
            query["q"] = q
        found = []
        while True:
            reply = self.api.get("/v1/jobs", **query)
            self.assertEqual(reply.status, 200, reply)
            found += reply.json["items"]
            if reply.json["next_cursor"] is None:
                return found
            query["cursor"] = reply.json["next_cursor"]

    def counts(self, queue=None, made=True):
        """The queue's counts that are not zero. With `made=False`, the queue may not exist yet,
        because jobs from elsewhere (the inbox) create it when they come.
        """
        reply = self.api.get(f"/v1/queues/{queue or self.queue}")
        if not made and reply.status == 404 and reply.code == "not_found":
            return {}
        self.assertEqual(reply.status, 200, reply)
        return {state: count for state, count in reply.json["counts"].items() if count}

    def assert_refused(self, reply, status, code, *places):
        """Asserts that `reply` is a problem with this status and code and exactly these places, in
        any order.
        """
        self.assertEqual((reply.status, reply.code), (status, code), reply)
        if places:
            self.assertEqual(sorted(reply.places), sorted(places), reply)

    def assert_fault(self, body, places, path="/v1/jobs", method="POST"):
        """Asserts that `body` is refused for faults at exactly these pointers (one or more)."""
        reply = self.api.request(method, path, body)
        places = [places] if isinstance(places, str) else places
        self.assert_refused(reply, 422, "validation_failed", *places)


class ServerCase(MillraceCase):
    """Tests that share one server, which must stop cleanly at the end."""

    serve_args = ()
    serve_config = None
    serve_token = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.serve_args, config=cls.serve_config, token=cls.serve_token)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        if status != 0:
            raise AssertionError(f"the server stopped with {status}:\n{cls.server.log[-4000:]}")


def main():
    unittest.main(verbosity=2)
