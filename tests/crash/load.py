"""The clients that load the server: one process per role, several threads in each.

    load.py ROLE --at HOST:PORT... [--token T] --records DIR --seed S --threads N

runs until its standard input ends. The seed of a thread determines its actions: some workers are
honest, some stall past their lease, some abandon jobs, some send old tokens.
"""

import argparse
import random
import sys
import threading
import time
import uuid

import actor
import flows
import history

QUEUES = ("orders", "mail", "brief", "ops")
CLAIM_WAIT_MS = 300
PAUSE_OF_LIMITED_S = 0.1  # of one producer, between jobs with a limit


class Producer(actor.Actor):
    """Submits jobs in all possible ways. An unanswered submission that has a key or an id is
    repeated until there is an answer.
    """

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.serial = 0
        self.open = []  # submissions to repeat
        self.next_limited = 0.0  # when it may submit a job with a limit, by the monotonic clock
        ways = ("bare", "keyed", "named", "batch", "atomic")
        self.weights = {way: self.dice.choice((0, 1, 2, 4)) for way in ways}
        self.weights["keyed"] += 1
        self.pause_s = self.dice.choice((0.004, 0.01, 0.02))

    def act(self):
        if self.open and self.dice.random() < 0.5:
            submission = self.open.pop(self.dice.randrange(len(self.open)))
        else:
            way = self.dice.choices(list(self.weights), self.weights.values())[0]
            submission = self.draw(way)
        if self.submit(submission) == "maybe" and submission["repeatable"]:
            self.open.append(submission)
        elif submission.get("again") and self.dice.random() < 0.3:
            self.open.append({**submission, "again": False})
        self.rest(0, 2 * self.pause_s)

    def draw(self, way):
        """Draws a new submission. Submissions with ids avoid queues whose jobs can be deleted: a
        key outlives its job, while an id would create the job again.
        """
        named = way in ("named", "batch", "atomic")
        queue = self.dice.choice(("orders", "orders", "mail", "mail" if named else "brief"))
        if not named and self.dice.random() < 0.4:
            queue = "ops"
        count = self.dice.choice((2, 10, 50, 120)) if way in ("batch", "atomic") else 1
        jobs = [self.draw_job(queue, named) for _ in range(count)]
        if history.TYPE_OF_TOMORROW and self.dice.random() < 0.5:
            for job in jobs:
                job["type"] = history.TYPE_OF_TOMORROW
        return {
            "way": way,
            "queue": queue,
            "jobs": jobs,
            "key": jobs[0]["nonce"] if way == "keyed" else None,
            "repeatable": way != "bare",
            "again": way != "bare",
        }

    def draw_job(self, queue, named):
        self.serial += 1
        size = self.dice.choice((0, 20, 200, 200, 2000))
        limits = []
        if queue in ("mail", "brief") and self.dice.random() < 0.04:
            # Few, since a worker that abandons one holds its slots for the whole lease.
            limits = [{"name": "keyed", "key": self.dice.choice(history.LIMIT_KEYS)}]
        elif queue in ("mail", "brief") and self.dice.random() < 0.2:
            limits = [{"name": "paced"}]
        # No more than the limits let through, including retries: all jobs must end.
        if limits and time.monotonic() < self.next_limited:
            limits = []
        elif limits:
            self.next_limited = time.monotonic() + PAUSE_OF_LIMITED_S
        return {
            "nonce": f"{self.name}:{self.serial}:{size}",
            "id": uuid7(self.dice) if named else None,
            "priority": self.dice.choice((0, 0, 0, 1, -1)),
            "delay_ms": self.dice.choice((0, 0, 0, 0, 50, 300, 900)),
            "max_attempts": self.dice.choice((3, 5, 8)),
            **({"limits": limits} if limits else {}),
        }

    def submit(self, submission):
        jobs, queue = submission["jobs"], submission["queue"]
        args = {
            "queue": queue,
            "key": submission["key"],
            "atomic": submission["way"] == "atomic",
            "jobs": jobs,
        }
        bodies = [body_of(job, queue) for job in jobs]
        if len(jobs) > 1:
            record = self.call(
                "submit",
                "POST",
                "/v1/jobs/batch",
                args,
                {"jobs": bodies, "atomic": args["atomic"]},
                view=actor.results,
            )
        else:
            headers = {"Idempotency-Key": submission["key"]} if submission["key"] else None
            record = self.call("submit", "POST", "/v1/jobs", args, bodies[0], headers, view=submitted)
        return record.outcome if record else "maybe"


class Worker(actor.Actor):
    """Claims jobs, works on them for a moment, and reports outcomes according to its character."""

    CHARACTERS = ("honest", "honest", "poller", "sleeper", "deserter", "forger")

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        number = int(self.name.rsplit("-", 1)[1])
        self.character = self.CHARACTERS[number % len(self.CHARACTERS)]
        self.acks = []  # to be sent with the next poll
        self.past = []  # items acked, to be sent again by a forger
        self.past_jobs = []
        self.limit = self.dice.choice((1, 10, 50, 100))

    def act(self):
        jobs = self.poll() if self.character == "poller" else self.claim()
        if not jobs:
            return
        self.rest(0, 0.02)
        if self.dice.random() < 0.25 or self.character == "sleeper":
            self.extend(jobs)
        if self.character == "deserter" and self.dice.random() < 0.3:
            return
        if self.character == "sleeper" and self.dice.random() < 0.3:
            self.rest(1.0, 2.4)
        items = [self.verdict(job) for job in jobs]
        if self.character == "poller":
            self.acks += items
            return
        if self.ack(items) == "maybe" and self.dice.random() < 0.9:
            self.ack(items)
        self.past = (self.past + items)[-50:]
        if self.character == "forger":
            self.forge()

    def claim_body(self):
        queues = list(QUEUES)
        self.dice.shuffle(queues)
        body = {"queues": queues, "limit": self.limit, "wait_ms": CLAIM_WAIT_MS}
        lease_ms = self.dice.choice((None, 1000, 1500, 3000))
        return {**body, "lease_ms": lease_ms} if lease_ms else body

    def claim(self):
        body = {**self.claim_body(), "worker": {"id": self.name}}
        lease_s = body.get("lease_ms", 2000) / 1000
        record = self.call(
            "claim",
            "POST",
            "/v1/claim",
            {"worker": self.name, "queues": body["queues"]},
            body,
            view=lambda reply, _: {"jobs": [granted(job, lease_s) for job in reply["jobs"]]},
        )
        return record.reply["jobs"] if record and record.outcome == "ok" else []

    def poll(self):
        """Sends acks and a claim in one round trip, recorded as two requests of the same time."""
        items, self.acks = self.acks, []
        claim = self.claim_body()
        lease_s = claim.get("lease_ms", 2000) / 1000
        path = f"/v1/workers/{self.name}/poll"
        whole = {}

        def view(reply, _):
            whole["acks"] = actor.results({"results": reply["acks"]})
            return {"jobs": [granted(job, lease_s) for job in reply["jobs"]]}

        body = {"acks": items, "claim": claim}
        args = {"worker": self.name, "queues": claim["queues"]}
        record = self.call("claim", "POST", path, args, body, view=view)
        if record and items:
            self.write_acks(record, items, whole.get("acks"))
        if not record or record.outcome != "ok":
            self.acks = items
        return record.reply["jobs"] if record and record.outcome == "ok" else []

    def write_acks(self, record, items, reply):
        outcome = "maybe" if record.outcome == "no" and record.status >= 500 else record.outcome
        split = history.Record(self.name, "ack", record.start, record.end, outcome, {"items": items}, reply)
        self._file.write(split.line() + "\n")

    def extend(self, jobs):
        extend_ms = self.dice.choice((1000, 2000))
        items = [{"id": job["id"], "token": job["token"], "extend_ms": extend_ms} for job in jobs]
        self.call(
            "extend",
            "POST",
            "/v1/heartbeat",
            {"items": items},
            {"items": items},
            view=actor.results,
        )

    def verdict(self, job):
        outcome = self.dice.choices(("succeeded", "failed", "snoozed", "released", "dead"), (80, 9, 4, 5, 2))[0]
        item = {"id": job["id"], "token": job["token"], "outcome": outcome}
        if outcome == "succeeded":
            item["result"] = history.result_of(job["id"], job["token"])
        elif outcome in ("failed", "dead"):
            item["error"] = {"type": "Oops", "message": "no luck"}
        if outcome == "snoozed" or (outcome == "failed" and self.dice.random() < 0.3):
            item["delay_ms"] = self.dice.choice((50, 300))
        return item

    def ack(self, items):
        record = self.call("ack", "POST", "/v1/ack", {"items": items}, {"items": items}, view=actor.results)
        return record.outcome if record else "maybe"

    def forge(self):
        """Sends old tokens: the same ack, another outcome, or a heartbeat of an ended lease."""
        if len(self.past) < 10:
            return
        items = self.dice.sample(self.past, 5)
        way = self.dice.randrange(3)
        if way == 0:
            self.ack(items)
        elif way == 1:
            other = {"outcome": "released"}
            self.ack([{"id": item["id"], "token": item["token"], **other} for item in items])
        else:
            self.extend(items)


class Operator(actor.Actor):
    """Reads jobs and queues and changes them. It does not disturb the order of "orders", and a job
    deleted in "ops" can't come back under its id.
    """

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.known = []
        acts = (self.cancel, self.retry, self.edit, self.delete, self.bulk, self.pause, self.purge)
        self.weights = {act: self.dice.choice((0, 1, 2)) for act in acts}
        self.weights[self.look] = 4

    def act(self):
        if not self.known or self.dice.random() < 0.1:
            self.list()
        else:
            self.dice.choices(list(self.weights), self.weights.values())[0]()
        self.rest(0.005, 0.04)

    def list(self):
        queue = self.dice.choice(QUEUES)
        record = self.call(
            "read",
            "GET",
            f"/v1/jobs?limit=60&queue={queue}",
            {"stale": True},
            view=lambda reply, _: {"jobs": [[job["id"], job["queue"]] for job in reply["items"]]},
        )
        if record and record.outcome == "ok":
            self.known = record.reply["jobs"]

    def pick(self, *queues):
        """An id of one of these queues, or None."""
        ids = [job_id for job_id, queue in self.known if queue in queues]
        return self.dice.choice(ids) if ids else None

    def operate(self, op, method, suffix, body, queues, shared=None):
        job_id = self.pick(*queues)
        if job_id:
            args = {"ids": [job_id], **({"shared": shared} if shared else {})}
            view = actor.seen if method != "DELETE" and op != "delete" else None
            self.call(op, method, f"/v1/jobs/{job_id}{suffix}", args, body, view=view)

    def look(self):
        self.operate("read", "GET", "", None, QUEUES)

    def cancel(self):
        self.operate("cancel", "POST", "/cancel", {"reason": "tired"}, ("orders", "mail", "ops"))

    def retry(self):
        self.operate("retry", "POST", "/retry", None, ("mail", "ops"))

    def edit(self):
        change = self.dice.choice(({"priority": 3}, {"tags": ["seen"]}, {"max_attempts": 9}))
        self.operate("edit", "PATCH", "", change, ("mail", "ops"), {"change": str(change)})

    def delete(self):
        self.operate("delete", "DELETE", "", None, ("ops",))

    def bulk(self):
        ids = [job_id for job_id, queue in self.known if queue == "ops"][:10]
        action = self.dice.choice(("cancel", "retry", "delete"))
        if ids:
            body = {"action": action, "ids": ids}
            self.call(action, "POST", "/v1/jobs/bulk", {"ids": ids}, body, view=actor.results)

    def pause(self):
        queue = self.dice.choice(("mail", "ops"))
        self.set_pause(queue, "pause")
        self.rest(0.1, 0.5)
        while self.set_pause(queue, "resume") != "ok" and not self.stop.is_set():
            self.rest(0.02, 0.05)

    def set_pause(self, queue, op):
        path = f"/v1/queues/{queue}/{op}" + ("?create=true" if op == "pause" else "")
        record = self.call(op, "POST", path, {"queue": queue})
        return record.outcome if record else "maybe"

    def purge(self):
        if self.dice.random() < 0.2:
            self.call(
                "purge",
                "POST",
                "/v1/queues/ops/purge",
                {"queue": "ops"},
                {},
                view=lambda reply, _: {"deleted": reply["deleted"]},
            )


ROLES = {"producer": Producer, "worker": Worker, "operator": Operator, "weaver": flows.Weaver}


def uuid7(dice):
    """A UUIDv7 determined by the dice except for its time, which the server ignores."""
    number = dice.getrandbits(128) & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62))


def body_of(job, queue):
    body = {
        "type": job.get("type", "work"),
        "queue": queue,
        "payload": history.payload_of(job["nonce"]),
        "priority": job["priority"],
        "max_attempts": job["max_attempts"],
    }
    if job["delay_ms"]:
        body["delay_ms"] = job["delay_ms"]
    if job.get("limits"):
        body["limits"] = job["limits"]
    return {**body, "id": job["id"]} if job["id"] else body


def submitted(job, status):
    seen = {name: job.get(name) for name in ("id", "version", "state")}
    return {"items": [{"status": status, **seen}]}


def granted(job, lease_s):
    return {
        "id": job["id"],
        "queue": job["queue"],
        "token": job["lease"]["token"],
        "attempt": job["attempt"],
        "payload": job["payload"],
        "lease_s": lease_s,
    }


def main(roles=ROLES):
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=roles)
    parser.add_argument("--at", nargs="+", required=True)
    parser.add_argument("--token")
    parser.add_argument("--records", required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    stop = threading.Event()
    targets = actor.Targets(tuple(options.at), options.token)
    actors = [
        roles[options.role](f"{options.role}-{number}", targets, options.records, options.seed, stop)
        for number in range(options.threads)
    ]
    for each in actors:
        each.start()
    sys.stdin.read()  # ends with the round, even if the round crashes
    stop.set()
    for each in actors:
        each.join()
    return 1 if any(each.failure for each in actors) else 0


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
