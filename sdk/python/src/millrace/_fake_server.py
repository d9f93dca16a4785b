"""The fake's server: the API's calls on jobs, with a store in memory and a manual clock."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from . import _json
from ._calls import Call, Response
from ._fake_checks import faults_of
from ._fake_refusal import Refusal
from ._fake_settings import FakeSettings
from ._fake_workflows import FakeWorkflows
from ._ids import make_id
from ._outcome import refused
from ._time import format_time, parse_time
from .context import ClaimedJob, Context, Line
from .errors import WaitTimeout
from .models import FINAL_STATES, Job

START_MS = 1_893_456_000_000  # 2030-01-01T00:00:00Z
_WAITING = frozenset({"scheduled", "ready", "retrying"})


class FakeJob:
    """A job of the fake: the members that the API shows always, and those it shows on request."""

    def __init__(self, wire: dict[str, Any], submission: Mapping[str, Any], number: int) -> None:
        self.wire = wire
        self.submission = submission
        self.number = number  # of the submission
        self.result: Any = None
        self.lines: list[dict[str, Any]] = []
        self.due_ms = 0
        self.expires_ms: int | None = None
        self.held_until_ms = 0  # until when it holds its unique key, even after its end
        self.context: Context | None = None  # while it runs

    @property
    def state(self) -> str:
        return str(self.wire["state"])

    def order(self) -> tuple[int, int, int]:
        return self.wire["priority"], self.due_ms, self.number

    def shown(self, include: str = "") -> dict[str, Any]:
        shown = dict(self.wire)
        names = include.split(",")
        if "payload" in names:
            shown["payload"] = self.submission.get("payload")
        if "result" in names:
            shown["result"] = self.result
        if "logs" in names:
            shown["logs"] = self.lines
        return shown


class FakeServer:
    """Answers calls. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._now_ms = START_MS
        self._jobs: dict[str, FakeJob] = {}
        self._keys: dict[tuple[str, str], tuple[Any, str]] = {}
        self._unique: dict[tuple[str, str], str] = {}
        self._count = 0
        self._tokens = 0
        self._settings = FakeSettings(lambda wire: self._submit(wire, None)[1], self._counts)
        self._workflows = FakeWorkflows(self)

    def advance(self, ms: int) -> None:
        with self._lock:
            self._now_ms += ms

    def jobs(self, type: str | None) -> list[dict[str, Any]]:
        """Return the submitted jobs, oldest first, with payloads and results."""
        with self._lock:
            self._let_time_work()
            found = sorted(self._jobs.values(), key=lambda job: job.number)
            return [
                job.shown("payload,result") for job in found if type in (None, job.wire["type"])
            ]

    # Calls

    def answer(self, call: Call[Any]) -> Response:
        parts = urlsplit(call.path)
        names = [unquote(part) for part in parts.path.split("/")[2:]]
        query = dict(parse_qsl(parts.query))
        body = _json.loads(call.body) if call.body else {}
        with self._lock:
            self._let_time_work()
            try:
                status, value = self._route(call, names, query, body)
            except Refusal as refusal:
                status, value = refusal.problem["status"], refusal.problem
            # A full queue becomes no emptier while the caller waits.
            headers = {"retry-after": "3600"} if status == 429 else {}
            return Response(status, headers, _json.dumps(value).encode())

    def _route(
        self, call: Call[Any], names: list[str], query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, Any]:
        if names[0] == "jobs" and len(names) <= 3:
            if len(names) == 1 and call.method == "GET":
                return 200, self._list(query)
            if len(names) == 1:
                trace = {name: call.headers[name] for name in _TRACE if name in call.headers}
                return self._submit({**trace, **body}, call.headers.get("Idempotency-Key"))
            if names[1] == "batch":
                return 200, self._submit_batch(body)
            action = names[2] if len(names) == 3 else call.method
            job = self._find(names[1])
            if action == "GET":
                return 200, self._get(job, query)
            if action == "cancel":
                return 200, self._cancel(job)
            if action == "retry":
                return 200, self._retry(job)
            if action == "logs":
                return 200, {"items": job.lines, "next_cursor": None}
            if action == "DELETE":
                return 204, self._delete(job)
        if names[0] == "workflows":
            key = call.headers.get("Idempotency-Key")
            answered = self._workflows.answer(call.method, names, query, body, key)
        else:
            answered = self._settings.answer(call.method, names, query, body)
        if answered is None:
            raise NotImplementedError(f"the fake knows nothing of {call.method} {call.path}")
        return answered

    def _counts(self, queue: str) -> dict[str, int]:
        counts: dict[str, int] = {}
        for job in self._jobs.values():
            if job.wire["queue"] == queue:
                counts[job.state] = counts.get(job.state, 0) + 1
        return counts

    def _find(self, id: str) -> FakeJob:
        if id not in self._jobs:
            raise Refusal("not_found", "there is no such job")
        return self._jobs[id]

    def _get(self, job: FakeJob, query: Mapping[str, str]) -> dict[str, Any]:
        if query.get("until") == "final" and job.state not in FINAL_STATES:
            raise WaitTimeout(
                f"job {job.wire['id']} is {job.state}, and ends by no waiting: call drain()",
                code="wait_timeout",
            )
        return job.shown(query.get("include", ""))

    def _list(self, query: Mapping[str, str]) -> dict[str, Any]:
        if "q" in query:
            raise NotImplementedError("the fake has no search")
        newest_first = sorted(self._jobs.values(), key=lambda job: -job.number)
        found = [job for job in newest_first if _matches(job, query)]
        first, limit = int(query.get("cursor", 0)), int(query.get("limit", 50))
        page = found[first : first + limit]
        return {
            "items": [job.shown(query.get("include", "")) for job in page],
            "next_cursor": str(first + limit) if first + limit < len(found) else None,
        }

    # Submissions

    def _submit_batch(self, body: Mapping[str, Any]) -> dict[str, Any]:
        is_atomic = bool(body.get("atomic"))
        before = copy.copy((self._jobs, self._keys, self._unique, self._count))
        if is_atomic:
            self._jobs = copy.deepcopy(self._jobs)
            self._keys, self._unique = dict(self._keys), dict(self._unique)
        results = []
        for number, job in enumerate(body["jobs"]):
            wire = {**body.get("defaults", {}), **job}
            try:
                status, shown = self._submit(wire, wire.pop("idempotency_key", None))
            except Refusal as refusal:
                if is_atomic:
                    self._jobs, self._keys, self._unique, self._count = before
                    raise refusal.within(number) from None
                named = {"id": wire["id"]} if "id" in wire else {}
                problem = refusal.problem
                results.append({"status": problem["status"], **named, "error": problem})
            else:
                results.append({"status": status, "id": shown["id"], "state": shown["state"]})
        return {"results": results}

    def _submit(self, wire: dict[str, Any], key: str | None) -> tuple[int, dict[str, Any]]:
        _check(wire if key is None else {**wire, "idempotency_key": key})
        queue = str(wire.get("queue", "default"))
        if key is not None and (queue, key) in self._keys:
            first, id = self._keys[queue, key]
            if first != _without_trace(wire):
                raise Refusal("idempotency_mismatch", "another body came with this key")
            return 200, self._jobs[id].shown() if id in self._jobs else {
                "id": id,
                "state": "pruned",
            }
        if wire.get("id") in self._jobs:
            return 200, self._same_id(self._jobs[wire["id"]], wire, queue).shown()
        holder = self._holder(queue, wire.get("unique"))
        if holder is not None:
            on_conflict = wire["unique"].get("on_conflict", "return")
            if on_conflict == "return":
                return 200, holder.shown()
            if on_conflict == "reject" or holder.state == "running":
                raise Refusal("duplicate_job", "a job holds this unique key")
            self._end(holder, "cancelled")
        self._settings.check_limits(wire.get("limits"))
        most = self._settings.settings_of(queue)["max_ready"]
        if most is not None and self._counts(queue).get("ready", 0) >= most:
            raise Refusal("queue_full", f"the queue {queue!r} has {most} ready jobs")
        job = self._make(wire, queue)
        if key is not None:
            self._keys[queue, key] = (_without_trace(wire), job.wire["id"])
        return 201, job.shown()

    def _same_id(self, known: FakeJob, wire: Mapping[str, Any], queue: str) -> FakeJob:
        if known.wire["queue"] != queue:
            raise Refusal("duplicate_job", "a job of another queue has this id; use a new id")
        if _content(known.submission) != _content(wire):
            raise Refusal("id_mismatch", "the job with this id has other content; use a new id")
        return known

    def _holder(self, queue: str, unique: Mapping[str, Any] | None) -> FakeJob | None:
        if not unique:
            return None
        holder = self._jobs.get(self._unique.get((queue, unique["key"]), ""))
        if holder is None:
            return None
        holds = holder.state not in FINAL_STATES or holder.held_until_ms > self._now_ms
        return holder if holds else None

    def _make(self, wire: Mapping[str, Any], queue: str) -> FakeJob:
        now = self._now_ms
        run_ms = _ms(wire["run_at"]) if "run_at" in wire else now + wire.get("delay_ms", 0)
        expires_ms = None
        if "expires_in_ms" in wire:
            expires_ms = now + wire["expires_in_ms"]
        elif "expires_at" in wire:
            expires_ms = _ms(wire["expires_at"])
        unique = wire.get("unique")
        settings = self._settings.settings_of(queue)
        shown: dict[str, Any] = {
            "id": wire.get("id") or make_id(queue),
            "queue": queue,
            "type": wire["type"],
            "state": "scheduled" if run_ms > now else "ready",
            "priority": wire.get("priority", 0),
            "attempt": 0,
            "max_attempts": wire.get("max_attempts", settings["max_attempts"]),
            "crashes": 0,
            "generation": 1,
            "version": 1,
            "created_at": _text(now),
            "run_at": _text(run_ms),
            "expires_at": None if expires_ms is None else _text(expires_ms),
            "started_at": None,
            "finished_at": None,
            "lease_expires_at": None,
            "worker": None,
            "cancel_requested": False,
            "progress": None,
            "last_error": None,
            "retry": _policy(wire.get("retry", settings["retry"])),
            "lease_ms": wire.get("lease_ms", settings["lease_ms"]),
            "timeout_ms": wire.get("timeout_ms"),
            "unique": {"for_ms": None, "on_conflict": "return", **unique} if unique else None,
            "tags": wire.get("tags", []),
            "meta": wire.get("meta", {}),
        }
        # The fake does not apply limits, orders and shares; it only stores a job's members.
        for name in Job._members & wire.keys() - shown.keys() - {"payload"}:
            shown[name] = wire[name]
        self._count += 1
        job = FakeJob(shown, dict(wire), self._count)
        job.due_ms, job.expires_ms = run_ms, expires_ms
        if unique:
            job.held_until_ms = now + (unique.get("for_ms") or 0)
            self._unique[queue, unique["key"]] = shown["id"]
        self._jobs[shown["id"]] = job
        return job

    # For workflows

    def release(self, wire: dict[str, Any], workflow: dict[str, Any]) -> str:
        """Submit a job of this workflow and return its id. Raises a Refusal."""
        _check(wire)
        self._settings.check_limits(wire.get("limits"))
        return str(self._make({**wire, "workflow": workflow}, wire["queue"]).wire["id"])

    def cancel(self, id: str) -> None:
        """Cancel a job that has not ended, or tell its handler."""
        if id in self._jobs and self._jobs[id].state not in FINAL_STATES:
            self._cancel(self._jobs[id])

    def shown(self, id: str) -> dict[str, Any] | None:
        """Return a job as the API shows it, with its result; None if it was deleted."""
        return self._jobs[id].shown("result") if id in self._jobs else None

    def now(self) -> str:
        """Return the fake's time, as the API writes it."""
        return _text(self._now_ms)

    # Changes of a job

    def _let_time_work(self) -> None:
        for job in list(self._jobs.values()):  # the end of one may release others
            if job.state not in _WAITING:
                continue
            if job.expires_ms is not None and job.expires_ms <= self._now_ms:
                self._end(job, "expired")
            elif job.state != "ready" and job.due_ms <= self._now_ms:
                job.wire["state"] = "ready"

    def _end(self, job: FakeJob, state: str) -> None:
        job.wire.update(state=state, finished_at=_text(self._now_ms))
        job.wire["version"] += 1
        self._workflows.job_ended(job.wire["id"], state)

    def _cancel(self, job: FakeJob) -> dict[str, Any]:
        if job.state in FINAL_STATES:
            raise Refusal("invalid_state", "the job's state does not allow this")
        if job.context is None:
            self._end(job, "cancelled")
        else:
            job.wire["cancel_requested"] = True
            job.context._tell("cancelled")
        return job.shown()

    def _retry(self, job: FakeJob) -> dict[str, Any]:
        if job.state not in FINAL_STATES:
            raise Refusal("invalid_state", "the job's state does not allow this")
        if job.wire.get("workflow", {}).get("role") == "member":
            raise NotImplementedError("the fake knows no retry of a workflow's member")
        wire = job.wire
        wire.update(state="ready", attempt=0, run_at=_text(self._now_ms), finished_at=None)
        wire.update(expires_at=None, progress=None, cancel_requested=False)
        wire["generation"] += 1
        wire["version"] += 1
        job.due_ms, job.expires_ms, job.result = self._now_ms, None, None
        return job.shown()

    def _delete(self, job: FakeJob) -> dict[str, Any]:
        if job.context is not None:
            raise Refusal("invalid_state", "the job's state does not allow this")
        del self._jobs[job.wire["id"]]
        return {}

    # For running jobs

    def start_next(self, types: Mapping[str, Any]) -> FakeJob | None:
        """Start and return the next job that is due and has a handler."""
        with self._lock:
            self._let_time_work()
            ready = [
                job
                for job in self._jobs.values()
                if job.state == "ready"
                and job.wire["type"] in types
                and not self._settings.is_paused(job.wire["queue"])
            ]
            if not ready:
                return None
            job = min(ready, key=FakeJob.order)
            self._tokens += 1
            wire = job.wire
            wire.update(state="running", started_at=_text(self._now_ms), worker="fake")
            wire["attempt"] += 1
            wire["version"] += 1
            claimed = {**wire, "payload": job.submission.get("payload")}
            claimed.update(self._workflows.claimed(wire["id"]))
            if "tracestate" in job.submission:
                claimed["tracestate"] = job.submission["tracestate"]
            # A copy, since the handler may change its payload.
            job.context = Context(ClaimedJob(copy.deepcopy(claimed)), self._tokens)
            job.expires_ms = None
            return job

    def end_attempt(self, job: FakeJob, ack: Mapping[str, Any], lines: list[Line]) -> None:
        with self._lock:
            assert job.context is not None
            progress = job.context._take_progress()
            job.context = None
            wire = job.wire
            wire.update(worker=None, cancel_requested=False)
            if progress:
                members = ("percent", "message", "checkpoint")
                given = {name: _json.loads(text) for name, text in progress.items()}
                wire["progress"] = {name: given.get(name) for name in members}
            for line in lines:
                number = len(job.lines) + 1
                kept = {"seq": number, "attempt": wire["attempt"], **line.to_wire()}
                job.lines.append({**kept, "at": _text(self._now_ms)})
            self._conclude(job, ack)

    def _conclude(self, job: FakeJob, ack: Mapping[str, Any]) -> None:
        wire, outcome = job.wire, ack["outcome"]
        if "grow" in ack:
            try:
                self._workflows.grow(wire["id"], ack["grow"])
            except Refusal as refusal:
                return self._conclude(job, _json.loads(f"{{{refused(str(refusal)).text}}}"))
        if outcome == "succeeded":
            job.result = ack["result"]
            self._end(job, "succeeded")
            for follow_up in ack.get("enqueue", ()):
                self._submit(dict(follow_up), None)
        elif outcome == "failed":
            error = dict(ack["error"])
            is_retryable = error.pop("retryable", True)
            at = {"attempt": wire["attempt"], "at": _text(self._now_ms)}
            wire["last_error"] = {"stack": None, "fingerprint": None, **error, **at}
            if is_retryable and wire["attempt"] < wire["max_attempts"]:
                usual = _backoff_ms(wire["retry"], wire["attempt"])
                self._wait(job, "retrying", ack.get("delay_ms", usual))
            else:
                self._end(job, "dead")
        elif outcome == "snoozed":
            wire["attempt"] -= 1
            self._wait(job, "scheduled", ack["delay_ms"])
        else:
            self._end(job, "cancelled")

    def _wait(self, job: FakeJob, state: str, delay_ms: int) -> None:
        job.due_ms = self._now_ms + delay_ms
        job.wire.update(state=state, run_at=_text(job.due_ms))
        job.wire["version"] += 1


def _check(wire: Mapping[str, Any]) -> None:
    faults = faults_of(wire)
    if faults:
        count = f"{len(faults)} fault{'' if len(faults) == 1 else 's'}"
        raise Refusal("validation_failed", count, faults)


_TRACE = ("traceparent", "tracestate")
_CONTENT = ("type", "payload", "priority", "timeout_ms", "tags", "meta", "unique")


def _content(submission: Mapping[str, Any]) -> list[Any]:
    """Return the content that a submission with a known id must repeat."""
    return [submission.get(name) for name in _CONTENT]


def _without_trace(wire: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wire.items() if name not in _TRACE}


def _matches(job: FakeJob, query: Mapping[str, str]) -> bool:
    wire = job.wire
    _ms(wire["created_at"])
    return (
        ("state" not in query or wire["state"] in query["state"].split(","))
        and query.get("queue") in (None, wire["queue"])
        and query.get("type") in (None, wire["type"])
        and ("tag" not in query or query["tag"] in wire["tags"])
        and ("created_after" not in query or _ms(wire["created_at"]) >= _ms(query["created_after"]))
        and (
            "created_before" not in query or _ms(wire["created_at"]) < _ms(query["created_before"])
        )
    )


def _policy(given: Mapping[str, Any] | None) -> dict[str, Any]:
    given = given or {"strategy": "exponential"}
    if given["strategy"] == "list":
        return dict(given)
    return {"strategy": None, "base_ms": 5000, "max_ms": 300_000, "jitter": 0.2, **given}


def _backoff_ms(policy: Mapping[str, Any], attempt: int) -> int:
    """Return the pause after this attempt, without jitter."""
    if policy["strategy"] == "list":
        delays = policy["delays_ms"]
        return int(delays[min(attempt, len(delays)) - 1])
    factor = {"exponential": 2 ** min(attempt - 1, 60), "linear": attempt, "fixed": 1}
    return int(min(policy["base_ms"] * factor[policy["strategy"]], policy["max_ms"]))


def _text(ms: int) -> str:
    return format_time(ms / 1000)


def _ms(text: str) -> int:
    return round(parse_time(text).timestamp() * 1000)
