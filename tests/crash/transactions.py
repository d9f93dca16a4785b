"""A client that submits and completes jobs in its own transactions, with effects of its own."""

import contextlib
import functools
import json
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import history  # noqa: E402
import load  # noqa: E402
import postgres  # noqa: E402

QUEUE = "books"  # no other client claims from it or changes it while there are faults
PATIENCE_S = 6  # how long to wait for the database before giving up the session
MAKE_EFFECTS = "CREATE TABLE effects(job text NOT NULL, token bigint NOT NULL)"


class Lost(Exception):
    """The session broke, or a statement was refused."""


class Clerk(load.Worker):
    """Records transactions together with their requests, as "maybe", because the job follows the
    commit a moment later. `enqueued` and `finished` tell the checker (H19) which ones certainly
    committed.
    """

    def __init__(self, *args, database, **settings):
        super().__init__(*args, **settings)
        self.character, self.limit = "honest", 5
        self.database = database
        self.session = None
        self.serial = 0

    def act(self):
        if self.dice.random() < 0.5:
            self.enqueue()
        else:
            for job in self.claim():
                self.finish(job)
        self.rest(0, 0.02)

    def claim_body(self):
        return {"queues": [QUEUE], "limit": self.limit, "wait_ms": 100, "lease_ms": 1500}

    def enqueue(self):
        self.serial += 1
        job = {
            "nonce": f"{self.name}:{self.serial}:{self.dice.choice((0, 20, 200))}",
            "id": load.uuid7(self.dice),
            "priority": 0,
            "delay_ms": 0,
            "max_attempts": 1000,
        }
        payload = history.payload_of(job["nonce"])
        body = (
            f"SELECT millrace.enqueue('work', '{json.dumps(payload)}', queue => '{QUEUE}', "
            f"id => '{job['id']}', max_attempts => {job['max_attempts']})"
        )
        args = {"queue": QUEUE, "key": None, "jobs": [job]}
        self.transaction(body, "submit", args, "enqueued", job["id"])

    def finish(self, job):
        token, result = job["token"], history.result_of(job["id"], job["token"])
        if self.dice.random() < 0.1:
            self.rest(1.0, 2.0)
        body = (
            f"INSERT INTO effects VALUES ('{job['id']}', {token}); "
            f"SELECT millrace.finish('{job['id']}', {token}, '{json.dumps(result)}')"
        )
        item = {"id": job["id"], "token": token, "outcome": "succeeded", "result": result}
        self.transaction(body, "ack", {"items": [item]}, "finished", job["id"])

    def transaction(self, body, op, args, done, job_id):
        start, outcome = time.monotonic(), "no"
        try:
            self.tell(f"BEGIN; {body}")
            if self.dice.random() < 0.15:
                self.tell("ROLLBACK")
            else:
                outcome = "maybe"
                if self.dice.random() < 0.1:
                    self.session.send("COMMIT")
                    raise Lost("its client died")
                self.tell("COMMIT")
                outcome = "ok"
        except Lost:
            self.hang_up()
            self.rest(0.02, 0.1)
        if outcome == "ok":
            self.write(done, start, "ok", {"ids": [job_id]})
            outcome = "maybe"
        self.write(op, start, outcome, args)

    def write(self, op, start, outcome, args):
        record = history.Record(self.name, op, start, time.monotonic(), outcome, args)
        self._file.write(record.line() + "\n")

    def tell(self, statements):
        """Runs statements. Raises Lost unless all of them succeed."""
        if self.session is None:
            self.session = postgres.Session(self.database)
        session = self.session
        watch = threading.Timer(PATIENCE_S, session.process.kill)
        watch.start()
        try:
            said = session.sql(f"\\set ON_ERROR_STOP on\n{statements}; SELECT 'all ' || 'is well'")
        except OSError as error:
            raise Lost(str(error)) from error
        finally:
            watch.cancel()
        troubled = any(word in said for word in ("ERROR", "FATAL", "WARNING", "error:"))
        if troubled or not said.endswith("all is well"):
            raise Lost(said)

    def hang_up(self):
        if self.session is not None:
            with contextlib.suppress(OSError):
                self.session.close()
            self.session = None

    def close(self):
        self.hang_up()
        super().close()


if __name__ == "__main__":
    clerk = functools.partial(Clerk, database=os.environ["DATABASE_URL"])
    sys.exit(load.main({"clerk": clerk}))
