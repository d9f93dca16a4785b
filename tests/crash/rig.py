"""One server, or several nodes of one store, with the clients, for one round."""

import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "system"))

import actor  # noqa: E402
import checker  # noqa: E402
import flows  # noqa: E402
import harness  # noqa: E402
import history  # noqa: E402
import load  # noqa: E402
import transactions  # noqa: E402

if history.TYPE_OF_TOMORROW:  # which today's contract does not have
    harness.client.Client.contract = lambda _: harness.client.AnyContract()
harness.BINARY = os.path.abspath(harness.BINARY)  # servers run in their own directories

READY_TIMEOUT_S = 60
DRAIN_TIMEOUT_S = 120
CLIENTS_TIMEOUT_S = 60
HEAL_TIMEOUT_S = 60
LISTING = "/v1/jobs?limit=1000&fresh=true&include=payload,result"
PIPELINE = 50
READERS = 4
ATTEMPTS_SAMPLE = 60
# Only jobs in "brief" are pruned, and no key expires, even if the clock is days ahead.
SERVE = ("--log-level", "warn", "--limits-idempotency-window", "60d", "--drain", "5s")
KEEP = {f"{state}_ms": None for state in sorted(history.TERMINAL)}
QUEUE = {
    "retry": {"strategy": "fixed", "base_ms": int(checker.FAILED_DELAY_S * 1000), "jitter": 0},
    "lease_ms": 2000,
    "retention": KEEP,
}
QUEUES = {
    "orders": QUEUE,
    "mail": QUEUE,
    "brief": {**QUEUE, "retention": {name: 0 for name in KEEP}},
    "ops": {**QUEUE, "max_ready": 400},
    transactions.QUEUE: QUEUE,
}


class Trouble(Exception):
    """A fault of the product that the rig itself has detected."""


def runs(server):
    return server.process is not None and server.process.poll() is None


class Drainer(load.Worker):
    """Finishes all jobs until none is left."""

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.character, self.limit = "honest", 200

    def claim_body(self):
        return {**super().claim_body(), "queues": list(QUEUES)}

    def act(self):
        jobs = self.claim()
        items = [
            {
                "id": job["id"],
                "token": job["token"],
                "outcome": "succeeded",
                "result": history.result_of(job["id"], job["token"]),
            }
            for job in jobs
        ]
        while items and self.ack(items) == "maybe" and not self.stop.is_set():
            pass


class Rig:
    """`servers` are nodes of one store. By default there is one server."""

    def __init__(self, seed, dice, servers=None):
        self.seed, self.dice = seed, dice
        self.servers = servers or [harness.Server(*SERVE)]
        self.home = self.servers[0].home
        self.records = self.home / "records"
        self.records.mkdir()
        self.probe = actor.Actor("rig-0", self.targets, self.records, seed)
        self.probe_serial = 0
        self.clients = []
        self.undo = []  # reverts the preparation of faults
        self.kills = 0
        self.figures = collections.Counter()  # of the faults
        self.clock_offset_s = 0
        self.judges_latency = False  # whether the latency of claims under attack is judged
        self.log = []
        self.begin = time.monotonic()

    def note(self, text):
        self.log.append(f"{time.monotonic() - self.begin:7.2f} s  {text}")

    @contextlib.contextmanager
    def fault(self, name):
        """Records the time of a fault for the checker."""
        self.note(name)
        start = time.monotonic()
        yield
        record = history.Record("rig-0", "fault", start, time.monotonic(), "ok", {"name": name})
        with (self.records / "faults.jsonl").open("a") as file:
            file.write(record.line() + "\n")

    # The servers.

    @property
    def targets(self):
        addresses = tuple(f"{server.host}:{server.port}" for server in self.servers)
        return actor.Targets(addresses, self.servers[0].token)

    @property
    def server(self):
        """The first running server; if none runs, the first."""
        return next((each for each in self.servers if runs(each)), self.servers[0])

    def start(self):
        """Starts all servers that do not run."""
        started = [server.spawn() for server in self.servers if not runs(server)]
        try:
            for server in started:
                harness.eventually(server._ready, READY_TIMEOUT_S, what="readiness")
        except AssertionError as error:
            raise Trouble(f"the server does not start: {error}") from error

    def kill(self):
        """Kills all running servers."""
        for server in self.servers:
            if runs(server):
                server.kill()
                self.kills += 1

    def alive(self):
        return all(runs(server) for server in self.servers)

    def must_live(self, what):
        for server in self.servers:
            if not runs(server):
                status = server.process.returncode
                raise Trouble(f"{what}: the server ended with {status}:\n{server.log[-1500:]}")

    def submit(self, size=20, keyed=False):
        """Makes one submission by the rig itself; returns its record, or None."""
        self.probe_serial += 1
        job = {
            "nonce": f"rig-0:{self.probe_serial}:{size}",
            "id": None,
            "priority": 0,
            "delay_ms": 0,
            "max_attempts": 5,
        }
        key = job["nonce"] if keyed else None
        args = {"queue": "orders", "key": key, "jobs": [job]}
        return self.probe.call(
            "submit",
            "POST",
            "/v1/jobs",
            args,
            load.body_of(job, "orders"),
            {"Idempotency-Key": key} if key else None,
            view=load.submitted,
        )

    def await_service(self, what, timeout_s=HEAL_TIMEOUT_S):
        """Waits until a submission succeeds: the server has recovered by itself."""
        deadline = time.monotonic() + timeout_s
        while True:
            record = self.submit()
            if record and record.outcome == "ok":
                return
            self.must_live(what)
            if time.monotonic() > deadline:
                answer = record and (record.status, record.code)
                raise Trouble(f"{what}: no service {timeout_s} s later; last answer: {answer}")
            time.sleep(0.05)

    def make_queues(self):
        api = self.server.client()
        for name, settings in {**QUEUES, **dict.fromkeys(flows.QUEUES, QUEUE)}.items():
            reply = api.put(f"/v1/queues/{name}", settings)
            if reply.status not in (200, 201):
                raise Trouble(f"PUT queue {name}: {reply}")
        for name, settings in history.LIMITS.items():
            reply = api.put(f"/v1/limits/{name}", settings)
            if reply.status == 404 and self.server.binary != harness.BINARY:
                history.limits_come_later = True  # an older program has no limits
            elif reply.status not in (200, 201):
                raise Trouble(f"PUT limit {name}: {reply}")
        api.close()

    def limits_are_refused(self):
        """Checks that limits can't be created while a server does not support them."""
        api = self.server.client()
        reply = api.put("/v1/limits/early", {"concurrency": 1})
        api.close()
        if reply.status in (200, 201):
            raise Trouble(f"a limit is made while an older server takes part: {reply}")

    def make_limits(self):
        """Creates limits once all servers support them; until then, each refuses them and their
        jobs.
        """
        deadline = time.monotonic() + READY_TIMEOUT_S
        for name, settings in history.LIMITS.items():
            while True:
                api = self.server.client()
                reply = api.put(f"/v1/limits/{name}", settings)
                api.close()
                if reply.status in (200, 201):
                    break
                if time.monotonic() > deadline:
                    raise Trouble(f"PUT limit {name}, after the upgrade: {reply}")
                time.sleep(0.1)

    # The clients.

    def start_clients(self, threads):
        for role, number in threads.items():
            program = "transactions.py" if role == "clerk" else "load.py"
            self.clients.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-B",
                        str(HERE / program),
                        role,
                        "--at",
                        *self.targets.addresses,
                        *(["--token", self.targets.token] if self.targets.token else []),
                        f"--records={self.records}",
                        f"--seed={self.seed}",
                        f"--threads={number}",
                    ],
                    stdin=subprocess.PIPE,
                    env={
                        **os.environ,
                        "DATABASE_URL": self.server.database or "",
                        "PGCONNECT_TIMEOUT": "3",
                    },
                )
            )

    def stop_clients(self):
        for process in self.clients:
            process.stdin.close()
        for process in self.clients:
            if process.wait(CLIENTS_TIMEOUT_S) != 0:
                raise RuntimeError("a client of the test itself failed")
        self.clients = []

    # After the faults.

    def drain(self):
        """Lets all work end. Returns how many jobs did not end in time, and how long it took."""
        began = time.monotonic()
        for queue in QUEUES:
            self.probe.call("resume", "POST", f"/v1/queues/{queue}/resume", {"queue": queue})
        stop = threading.Event()
        kinds = (Drainer, Drainer, flows.FlowDrainer)
        drainers = [kind(f"drainer-{n}", self.targets, self.records, self.seed, stop) for n, kind in enumerate(kinds)]
        for drainer in drainers:
            drainer.start()
        try:
            while True:
                counts = self.counts()
                left = sum(
                    number
                    for states in counts.values()
                    for state, number in states.items()
                    if state not in history.TERMINAL
                )
                left += self.unfinished_flows()
                took = time.monotonic() - began
                if left == 0 or took > DRAIN_TIMEOUT_S:
                    return left, took
                time.sleep(0.05)
        finally:
            stop.set()
            for drainer in drainers:
                drainer.join()

    def unfinished_flows(self):
        """The number of workflows, and of their callbacks' jobs, that have not ended."""
        api = self.server.client()
        try:
            counts = [self.counts_of(api, name) for name in flows.QUEUES]
            jobs = sum(n for states in counts for state, n in states.items() if state not in history.TERMINAL)
            return jobs + len(flows.unfinished(api))
        finally:
            api.close()

    def counts_of(self, api, queue):
        """Retries, since a server that has just come back may not lead yet."""
        until = time.monotonic() + DRAIN_TIMEOUT_S
        while True:
            reply = api.get(f"/v1/queues/{queue}")
            if reply.status != 503 or time.monotonic() > until:
                return reply.json["counts"]
            time.sleep(0.05)

    def counts(self):
        api = self.server.client()
        try:
            return {name: self.counts_of(api, name) for name in QUEUES}
        finally:
            api.close()

    def list_jobs(self):
        """All jobs, with payloads and results, as the server lists them."""
        api, jobs, cursor = self.server.client(), [], ""
        try:
            while True:
                reply = api.get(LISTING + cursor)
                if reply.status != 200:
                    raise Trouble(f"the final listing: {reply}")
                page = reply.json
                jobs += [job for job in page["items"] if job["queue"] in QUEUES]
                if page["next_cursor"] is None:
                    return jobs
                cursor = f"&cursor={page['next_cursor']}"
        finally:
            api.close()

    def sample(self, ids):
        """On PostgreSQL, where reading a job's attempts reads the journal, only some of the ids."""
        few = self.server.database is not None and len(ids) > ATTEMPTS_SAMPLE
        return self.dice.sample(ids, ATTEMPTS_SAMPLE) if few else ids

    def attempts(self, ids):
        """Every attempt that the server knows, by job; fetches many jobs concurrently."""
        found = {}
        with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
            for some in pool.map(self.attempts_of, [ids[n::READERS] for n in range(READERS)]):
                found.update(some)
        return found

    def attempts_of(self, ids):
        token = self.server.token
        head = "HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Authorization: Bearer {token}\r\n" if token else ""
        found = {}
        with self.server.connect() as connection:
            for start in range(0, len(ids), PIPELINE):
                some = ids[start : start + PIPELINE]
                connection.send(b"".join(f"GET /v1/jobs/{job_id}/attempts {head}\r\n".encode() for job_id in some))
                for job_id in some:
                    reply = connection.read_reply()
                    if reply.status == 200:
                        found[job_id] = reply.json["items"]
                    elif reply.status != 404:  # the job may have been pruned since
                        raise Trouble(f"the attempts of {job_id}: {reply}")
        return found

    def final(self, backlog):
        """The final state, read again while retention still works on the brief queue."""
        for _ in range(8):
            before = self.counts()
            jobs = self.list_jobs()
            after = self.counts()
            if before == after and sum(sum(c.values()) for c in after.values()) == len(jobs):
                break
            time.sleep(0.4)
        api = self.server.client()
        workflows = flows.final(api)
        api.close()
        return {
            "jobs": jobs,
            "workflows": workflows,
            "counts": after,
            "attempts": self.attempts(self.sample([job["id"] for job in jobs])),
            "backlog": backlog,
            "brief_queues": ["brief"],
            "sharded": self.server.database is not None,
        }

    def close(self, keep=False):
        for process in self.clients:
            process.kill()
            process.wait()
        self.probe.close()
        for server in self.servers:
            if runs(server):
                server.process.send_signal(signal.SIGCONT)
                server.process.kill()
                server.process.wait()
        if keep:
            (self.home / "what-was-done").write_text("\n".join(self.log) + "\n")
            for number, server in enumerate(self.servers[1:], 2):
                if server.log_path.exists():
                    shutil.copy(server.log_path, self.home / f"log-{number}")
        for step in reversed(self.undo):
            step()
        for server in self.servers[keep:]:
            server.close()

    def save(self, final):
        (self.home / "final.json").write_text(json.dumps(final))
