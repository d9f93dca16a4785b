"""The stage of one scenario: its own server, the program, and the way between them."""

import itertools
import time

from . import paths  # noqa: F401 (makes the next import possible)
from .checks import check_history
from .failure import Failure, expect_equal, shown
from .program import START_S, Program
from .tls import TlsFront
from .way import Way
import harness

SERVE = ("--log-level", "warn")
PATIENCE_S = 60  # for a busy machine
WORKER = {"concurrency": 4, "poll_wait_ms": 2000, "grace_ms": 1000}


class Stage:
    """`serve` is additional options of the server, `config` additional lines of its configuration
    file. `program` starts the program before the scenario. `history` checks all observations
    against the rules at the end. `end` ends the program's input and expects a clean exit.
    """

    def __init__(self, command, title, serve=(), config=None, program=True, history=True, end=True, env=None):
        self.command = command
        self.queue = title.replace("_", "-")[:100]
        self.holds_history, self.ends_program = history, end
        self.env = dict(env or {})
        self.server = harness.Server(*SERVE, *serve, config=config)
        self.ways, self.programs, self.apis = [], [], []
        self.begin = time.monotonic()
        self.wants_program = program
        self.program = self.way = self.api = None

    def __enter__(self):
        self.server.start()
        self.way = self.new_way()
        self.api = self.new_api()
        if self.wants_program:
            self.program = self.start_program()
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.finish()
        finally:
            for each in [*self.programs, *self.apis, *self.ways, self.server]:
                each.close()

    def finish(self):
        """The final checks of every scenario."""
        for program in self.programs:
            if self.ends_program and program.process.poll() is None:
                expect_equal(program.end(), 0, "the program's exit status, once its input had ended")
        for program in self.programs:
            if program.faults:
                raise Failure(program.faults[0])
        if self.holds_history:
            check_history(self)

    # The parts.

    def new_way(self):
        way = Way(self.server.host, self.server.port)
        self.ways.append(way)
        return way

    def tls(self):
        """A TLS front of the way, as a context manager."""
        return TlsFront(self.way.port)

    def new_api(self, token=None):
        """The driver's own connection to the server, which bypasses the way."""
        api = self.server.client(token)
        self.apis.append(api)
        return api

    def start_program(self, configure=True, env=None, **settings):
        """Starts another program, whose client uses the way."""
        program = Program([str(self.command)], {**self.env, **(env or {})})
        self.programs.append(program)
        if configure:
            settings.setdefault("url", self.way.url)
            program.do("configure", timeout_s=START_S, **settings)
        return program

    # The server's life.

    def kill_server(self):
        self.server.kill()
        self._forget_connections()

    def stop_server(self):
        """Drains the server and waits for its end."""
        self.server.stop()
        self._forget_connections()

    def start_server(self):
        self.server.start()
        self._forget_connections()

    def restart_with(self, config, token):
        """Restarts the server with additional lines of configuration. From then on the driver uses
        this token.
        """
        self.stop_server()
        path = self.server.home / "millrace.toml"
        path.write_text(config)
        path.chmod(0o600)
        self.server.args += ["--config", str(path)]
        self.server.token = token
        self.apis.clear()
        self.start_server()
        self.api = self.new_api()

    def _forget_connections(self):
        for api in self.apis:
            api.close()

    # Actions of producers and operators, without the program.

    def submit(self, *script, type="work", **members):
        """Submits a job with this script, to the scenario's queue; returns its id."""
        members.setdefault("queue", self.queue)
        members.setdefault("payload", {"script": [list(step) for step in script]})
        reply = self.api.post("/v1/jobs", {"type": type, **members})
        if reply.status not in (200, 201):
            raise Failure(f"the server refuses the driver's job: {reply}")
        return reply.json["id"]

    def submit_many(self, count, *script, **members):
        """Submits `count` such jobs in one batch, and returns their ids."""
        job = {"type": "work", "queue": self.queue, "payload": {"script": [*map(list, script)]}}
        reply = self.api.post("/v1/jobs/batch", {"jobs": [{**job, **members}] * count})
        return [result["id"] for result in reply.json["results"]]

    def job(self, job_id, *include):
        reply = self.api.get(f"/v1/jobs/{job_id}", **({"include": include} if include else {}))
        if reply.status != 200:
            raise Failure(f"GET of job {job_id}: {reply}")
        return reply.json

    def final(self, job_id, timeout_s=PATIENCE_S, state=None):
        """The job after its end, with its result and attempts; it must be in `state`, if given."""
        reply = self.api.get(
            f"/v1/jobs/{job_id}",
            wait_ms=int(timeout_s * 1000),
            until="final",
            include=("result", "attempts"),
        )
        job = reply.json
        if job.get("state") not in harness.TERMINAL:
            raise Failure(f"job {job_id} did not end within {timeout_s} s: {shown(job)}")
        if state:
            expect_equal(job["state"], state, f"the state in which job {job_id} ended")
        return job

    def await_state(self, job_id, *states, timeout_s=PATIENCE_S):
        """The job once it is in one of these states."""

        def there():
            job = self.job(job_id, "result", "attempts")
            return job if job["state"] in states else None

        return self.eventually(there, f"job {job_id} in the state {' or '.join(states)}", timeout_s)

    def attempts(self, job_id):
        """The outcomes of its attempts, oldest first."""
        return [attempt["outcome"] for attempt in self.job(job_id, "attempts")["attempts"]]

    def eventually(self, condition, what, timeout_s=PATIENCE_S):
        """Waits until `condition()` is true, and returns its value."""
        deadline = time.monotonic() + timeout_s
        for pause in itertools.chain((0.01, 0.02, 0.03), itertools.repeat(0.05)):
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failure(f"not within {timeout_s} s: {what}")
            time.sleep(pause)

    # Actions of workers.

    def worker(self, name="w", program=None, **options):
        """Starts a worker in the program, for the scenario's queue and the type "work"; its id."""
        options = {"queues": [self.queue], "types": ["work"], **WORKER, **options}
        return (program or self.program).do("worker", name=name, **options)["worker_id"]
