"""A minimal client without a server: jobs in memory, and a manual clock."""

import datetime
import json

from client import MUTANT, Problem, make_id
from fake_workflows import FakeWorkflows

BEGIN = datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc)
USUAL = {"strategy": "exponential", "base_ms": 5000, "max_ms": 300_000, "jitter": 0.2}
FINAL = ("succeeded", "dead", "cancelled", "expired")
COMPARED = ("type", "payload", "priority", "timeout_ms", "tags", "meta")


class Fake:
    """`run(attempt)` plays a handler, as a worker's does. Not thread-safe."""

    def __init__(self, mode, types, run):
        self.inline, self.types, self.play = mode == "inline", types, run
        self.now_ms, self.tokens = 0, 0
        self.jobs, self.keys, self.limits = {}, {}, set()
        self.workflows = FakeWorkflows(self)

    def time(self, milliseconds):
        at = BEGIN + datetime.timedelta(milliseconds=milliseconds)
        return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"

    # The calls.

    def submit(self, job):
        job = dict(job)
        key = job.pop("idempotency_key", None)
        check(job)
        if key is not None and key in self.keys:
            known, said = self.keys[key]
            if said != job:
                raise Problem("idempotency_mismatch", 422, "this key was used with another body")
            return self.shape(known), False
        known = self.jobs.get(job.get("id")) or self.holder(job)
        if known:
            if known["id"] == job.get("id") and any(known[n] != self.made(job)[n] for n in COMPARED):
                raise Problem("id_mismatch", 409, "another job has this id")
            if known["id"] != job.get("id"):
                on_conflict = job["unique"].get("on_conflict", "return")
                if on_conflict == "reject":
                    raise Problem("duplicate_job", 409, "the unique key is held")
                if on_conflict == "replace":
                    self.end(known, "cancelled")
                    known = None
        if known:
            return self.shape(known), False
        self.check_limits(job)
        made = self.made(job)
        self.jobs[made["id"]] = made
        if key is not None:
            self.keys[key] = (made, job)
        answer = self.shape(made)
        if self.inline:
            self.drain(self.types)
        return answer, True

    def release(self, job, workflow):
        """Takes the job of a member, or of a callback."""
        check(job)
        self.check_limits(job)
        made = self.jobs[job["id"]] = {**self.made(job), "workflow": workflow}
        return made

    def put(self, kind, name, settings):
        """Makes a limit, or a queue, of which only the limits are looked at."""
        self.check_limits(settings)
        if kind == "limits":
            self.limits.add(name)

    def check_limits(self, named):
        for limit in named.get("limits", ()):
            if limit["name"] not in self.limits and MUTANT != "fake-takes-any-limit":
                raise Problem("unknown_limit", 422, "no limit has this name")

    def holder(self, job):
        """The job that holds this one's unique key."""
        if not job.get("unique") or MUTANT == "fake-not-unique":
            return None
        held = (job.get("queue", "default"), job["unique"]["key"])
        for each in self.jobs.values():
            if each["unique"] and each["state"] not in FINAL and (each["queue"], each["unique"]["key"]) == held:
                return each
        return None

    def made(self, job):
        queue = job.get("queue", "default")
        run_ms = self.now_ms + job.get("delay_ms", 0)
        if "run_at" in job:
            at = datetime.datetime.fromisoformat(job["run_at"].replace("Z", "+00:00"))
            run_ms = round((at - BEGIN).total_seconds() * 1000)
        unique = job.get("unique")
        retry = job.get("retry", USUAL)
        usual = {"base_ms": 5000, "max_ms": 300_000, "jitter": 0.2} if "delays_ms" not in retry else {}
        return {
            "id": job.get("id") or make_id(queue),
            "queue": queue,
            "type": job["type"],
            "state": "scheduled" if run_ms > self.now_ms else "ready",
            "priority": job.get("priority", 0),
            "attempt": 0,
            "max_attempts": job.get("max_attempts", 5),
            "crashes": 0,
            "generation": 1,
            "version": 1,
            "created_at": self.time(self.now_ms),
            "run_at": self.time(run_ms),
            "expires_at": None,
            "started_at": None,
            "finished_at": None,
            "lease_expires_at": None,
            "worker": None,
            "cancel_requested": False,
            "progress": None,
            "last_error": None,
            "retry": {**usual, **retry},
            "lease_ms": job.get("lease_ms", 30_000),
            "timeout_ms": job.get("timeout_ms"),
            "unique": unique and {"key": unique["key"], "for_ms": None, "on_conflict": "return", **unique},
            "tags": job.get("tags", []),
            "meta": job.get("meta", {}),
            "payload": job.get("payload"),
            "result": None,
            "run_ms": run_ms,
            "number": len(self.jobs),
        }

    def shape(self, job, include=()):
        hidden = {"run_ms", "number", "payload", "result"} - set(include)
        return json.loads(json.dumps({k: v for k, v in job.items() if k not in hidden}))

    def submit_batch(self, jobs, atomic):
        items = []
        for number, each in enumerate(jobs if atomic else ()):
            check(each)
            try:
                self.check_limits(each)
            except Problem as problem:
                fault = {"where": f"/jobs/{number}", "detail": str(problem)}
                raise Problem("validation_failed", 422, "1 fault", errors=[fault]) from None
        for job in jobs:
            job = {"id": make_id(job.get("queue")), **job}
            try:
                made, is_new = self.submit(job)
                items.append({"status": 201 if is_new else 200, "id": made["id"], "state": made["state"]})
            except Problem as problem:
                items.append({"status": problem.status, "id": job["id"], "error": problem.shape()})
        return items

    def found(self, job_id):
        if job_id not in self.jobs:
            raise Problem("not_found", 404, "there is no such job")
        return self.jobs[job_id]

    def get(self, job_id, include=()):
        return self.shape(self.found(job_id), include)

    def list(self, filter):
        newest = sorted(self.jobs.values(), key=lambda job: -job["number"])
        return [self.shape(j) for j in newest if all(j[name] == value for name, value in filter.items())]

    def cancel(self, job_id):
        job = self.found(job_id)
        if job["state"] in FINAL:
            raise Problem("invalid_state", 409, "the job has ended")
        self.end(job, "cancelled")
        return self.shape(job)

    def retry(self, job_id):
        job = self.found(job_id)
        if job["state"] not in FINAL:
            raise Problem("invalid_state", 409, "the job has not ended")
        job.update(state="ready", attempt=0, generation=job["generation"] + 1, finished_at=None)
        self.wait(job, 0)
        return self.shape(job)

    def enqueued(self, type):
        return [self.shape(job, ("payload",)) for job in self.jobs.values() if job["type"] == type]

    # Time and runs.

    def advance(self, milliseconds):
        self.now_ms += milliseconds

    def drain(self, types):
        ran = 0
        while True:
            due = [
                job
                for job in self.jobs.values()
                if job["state"] in ("ready", "scheduled", "retrying")
                and job["run_ms"] <= self.now_ms
                and job["type"] in types
            ]
            if not due:
                return ran
            first = due[-1] if MUTANT == "fake-newest-first" else min(due, key=by_priority)
            self.attempt(first)
            ran += 1

    def attempt(self, job):
        self.tokens += 1
        job.update(state="running", attempt=job["attempt"] + 1, started_at=self.time(self.now_ms))
        ack = self.play({**job, **self.workflows.claim_of(job)}, self.tokens)
        if ack.get("progress"):
            job["progress"] = {
                "percent": None,
                "message": None,
                "checkpoint": None,
                **ack["progress"],
            }
        if ack["outcome"] == "succeeded" or MUTANT == "fake-grows-always":
            try:
                self.workflows.grow(job, ack.get("grow", {}))
            except Problem as problem:
                ack = {"outcome": "failed", "error": {"type": "outcome_refused", "message": str(problem)}}
        outcome, error = ack["outcome"], ack.get("error")
        if outcome == "succeeded":
            job["result"] = ack.get("result")
            self.end(job, "succeeded")
            for follow in ack.get("enqueue", ()):
                self.submit(follow)
        elif outcome == "cancelled":
            self.end(job, "cancelled")
        elif outcome == "snoozed":
            job["attempt"] -= 1
            job["state"] = "scheduled"
            self.wait(job, ack["delay_ms"])
        else:
            self.fail(job, ack, error)

    def fail(self, job, ack, error):
        job["last_error"] = {
            "stack": None,
            **error,
            "attempt": job["attempt"],
            "at": self.time(self.now_ms),
        }
        if error.get("retryable") is False or job["attempt"] >= job["max_attempts"]:
            return self.end(job, "dead")
        job["state"] = "retrying"
        return self.wait(job, ack.get("delay_ms", backoff(job)))

    def wait(self, job, milliseconds):
        job["run_ms"] = self.now_ms + milliseconds
        job["run_at"] = self.time(job["run_ms"])

    def end(self, job, state):
        job.update(state=state, finished_at=self.time(self.now_ms))
        self.workflows.job_ended(job)


def by_priority(job):
    return job["priority"], job["run_ms"], job["number"]


def backoff(job):
    retry, n = job["retry"], job["attempt"]
    if retry["strategy"] == "list":
        return retry["delays_ms"][min(n, len(retry["delays_ms"])) - 1]
    factor = {"exponential": 2 ** (n - 1), "linear": n, "fixed": 1}[retry["strategy"]]
    extra = 1.1 if MUTANT == "fake-jitter" else 1
    return int(min(retry["max_ms"], retry["base_ms"] * factor) * extra)


def check(job):
    if not -32768 <= job.get("priority", 0) <= 32767:
        fault = {"where": "/priority", "detail": "must be -32768 to 32767"}
        raise Problem("validation_failed", 422, "1 fault", errors=[fault])
