"""The API's objects: submissions, and the server's answers.

Members have the API's names. Instants are RFC 3339 text in UTC (`parse_time` reads them). Members
named `*_ms` are whole milliseconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    Union,
)

from ._time import Duration, Instant, to_ms, to_rfc3339

__all__ = [
    "BatchItem",
    "Job",
    "JobError",
    "JobState",
    "LogLine",
    "NewJob",
    "Page",
    "Progress",
    "Queue",
    "Record",
    "Schedule",
    "ScheduleOfJob",
    "Submitted",
]

JobState = Literal[
    "scheduled",
    "ready",
    "running",
    "retrying",
    "blocked",
    "succeeded",
    "dead",
    "cancelled",
    "expired",
    "pruned",
]
"""The state of a job. A `scheduled` job waits for `run_at`, a `retrying` one for its backoff. The
final states are `succeeded`, `dead`, `cancelled`, `expired` (did not start in time) and `pruned`
(has ended and was removed).
"""


class Progress(TypedDict):
    """The progress that a handler reported."""

    percent: float | None
    message: str | None
    checkpoint: Any


class JobError(TypedDict):
    """The reason why an attempt failed."""

    type: str
    message: str
    stack: str | None
    fingerprint: str | None
    attempt: int
    at: str


class ScheduleOfJob(TypedDict):
    """The schedule that created a job, and the instant that the job is for."""

    name: str
    scheduled_at: str


FINAL_STATES = frozenset({"succeeded", "dead", "cancelled", "expired", "pruned"})

T = TypeVar("T")


class _Unset:
    """The type of a missing payload. None is a payload: JSON's null."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


@dataclasses.dataclass
class NewJob:
    """A job to be submitted. Only `type` is required.

    Args:
        type: decides which handler runs it; 1 to 128 characters of `A-Za-z0-9._:/-`.
        payload: any JSON value, at most 1 MiB (a server setting).
        queue: the queue in which it waits; `default` if None.
        id: a UUIDv7 (`make_id`); the client makes one if this and `idempotency_key` are None.
        idempotency_key: 1 to 255 visible ASCII characters. A repetition within 24 h (a server
            setting) returns the first job.
        priority: -32768 to 32767; lower runs first. Default 0.
        run_at: the earliest start; excludes `delay`.
        delay: the same, counted from now; seconds or a timedelta, at most 10 years.
        expires_at: a job that has not started by then is `expired`; excludes `expires_in`.
        expires_in: the same, counted from now; seconds or a timedelta.
        max_attempts: 1 to 1000. Default the queue's, which is 5 unless set.
        retry: a retry policy in the API's form, e.g. `{"strategy": "fixed", "base_ms": 500}`.
        lease: the length of its leases, 1 s to 1 day. Default the queue's, 30 s unless set.
        timeout: bounds each attempt, at least 1 ms. Default none.
        unique: `{"key": ..., "for_ms": ..., "on_conflict": "return" | "reject" | "replace"}`, or
            `"debounce"` with `max_wait_ms`.
        limits: the limits that it must pass, at most 8: `{"name": ..., "key": ..., "cost": ...}`;
            a key if the limit counts by key, a cost against its rate, 1 unless set.
        order_key: a queue's jobs with the same key run one at a time, in order; 1 to 128 bytes.
        order_on_failure: `hold` (the default) lets its successors wait while it retries; or `pass`.
        fair_key: the key whose share of a queue with `fair` it uses; 1 to 128 bytes.
        tags: at most 32 names.
        meta: strings of the application, at most 8 KiB.
        traceparent: W3C trace context; default that of the running handler.
        tracestate: W3C trace state, which accompanies it.
    """

    type: str
    payload: Any = UNSET
    queue: str | None = None
    id: str | None = None
    idempotency_key: str | None = None
    priority: int | None = None
    run_at: Instant | None = None
    delay: Duration | None = None
    expires_at: Instant | None = None
    expires_in: Duration | None = None
    max_attempts: int | None = None
    retry: Mapping[str, Any] | None = None
    lease: Duration | None = None
    timeout: Duration | None = None
    unique: Mapping[str, Any] | None = None
    tags: list[str] | None = None
    meta: Mapping[str, str] | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    limits: list[Mapping[str, Any]] | None = None
    order_key: str | None = None
    order_on_failure: str | None = None
    fair_key: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the submission in the API's form. Members that are None are left out."""
        wire: dict[str, Any] = {"type": self.type}
        if self.payload is not UNSET:
            wire["payload"] = self.payload
        for name in _PLAIN:
            value = getattr(self, name)
            if value is not None:
                wire[name] = value
        for limit in self.limits or ():
            if not isinstance(limit, Mapping):
                raise ValueError(
                    'limits takes mappings, such as {"name": "api", "key": "acme"}, '
                    f"not {limit!r}"
                )
        for name in ("run_at", "expires_at"):
            instant = getattr(self, name)
            if instant is not None:
                wire[name] = to_rfc3339(instant)
        for name, member in _DURATIONS.items():
            duration = getattr(self, name)
            if duration is not None:
                wire[member] = to_ms(name, duration)
        return wire


_PLAIN = (
    "queue",
    "id",
    "idempotency_key",
    "priority",
    "max_attempts",
    "retry",
    "unique",
    "tags",
    "meta",
    "traceparent",
    "tracestate",
    "limits",
    "order_key",
    "order_on_failure",
    "fair_key",
)
_DURATIONS = {
    "delay": "delay_ms",
    "expires_in": "expires_in_ms",
    "lease": "lease_ms",
    "timeout": "timeout_ms",
}

Submission = Union[NewJob, Mapping[str, Any]]
"""A job to be submitted: a NewJob, or a mapping with the API's members."""


def wire_of(job: Submission) -> dict[str, Any]:
    return job.to_wire() if isinstance(job, NewJob) else dict(job)


class Record:
    """An object of an answer. Its members are attributes; missing members are None.

    `raw` is the JSON object as received, including members unknown to this version.
    """

    __slots__ = ("raw",)

    _members: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._members = cls._members | frozenset(cls.__annotations__)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in self.raw:
                return self.raw[name]
            if name in self._members:
                return None
            raise AttributeError(f"{type(self).__name__!r} has no member {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.raw == self.raw

    __hash__ = None  # type: ignore[assignment]  # its members may be lists

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self.raw)!r})"

    def __reduce__(self) -> Any:
        return type(self), (dict(self.raw),)


class Job(Record):
    """A job. Some members are present only if requested with `include`."""

    id: str
    queue: str
    type: str
    state: JobState
    priority: int
    attempt: int
    max_attempts: int
    crashes: int
    generation: int
    version: int
    created_at: str
    run_at: str
    expires_at: str | None
    started_at: str | None
    finished_at: str | None
    lease_expires_at: str | None
    worker: str | None
    cancel_requested: bool
    progress: Progress | None
    last_error: JobError | None
    retry: dict[str, Any] | None
    lease_ms: int | None
    timeout_ms: int | None
    unique: dict[str, Any] | None
    tags: list[str]
    meta: dict[str, str]
    traceparent: str | None
    schedule: ScheduleOfJob | None
    payload: Any
    result: Any
    attempts: list[dict[str, Any]] | None
    logs: list[dict[str, Any]] | None
    events: list[dict[str, Any]] | None

    __slots__ = ()

    @property
    def has_ended(self) -> bool:
        """Whether its state is final."""
        return self.state in FINAL_STATES


@dataclasses.dataclass(frozen=True)
class Submitted:
    """The answer to a submission."""

    job: Job
    is_new: bool  # False: the id, the idempotency key or `unique` belongs to an existing job

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job.id


class BatchItem(Record):
    """The result for one job of a batch, in the order of the batch.

    `status` is 201 for a new job and 200 for an existing one; otherwise `error` is the problem.
    """

    status: int
    id: str | None
    state: JobState | None
    error: dict[str, Any] | None

    __slots__ = ()

    @property
    def is_new(self) -> bool:
        """Whether this batch created the job."""
        return self.status == 201


class LogLine(Record):
    """A line of a job's log."""

    seq: int
    attempt: int
    at: str
    level: str
    message: str

    __slots__ = ()


class Queue(Record):
    """A queue, with its counts by state, its settings and its rates over the last 60 s."""

    name: str
    paused: bool
    pause_reason: str | None
    counts: dict[str, int]
    oldest_ready_age_ms: int | None
    rates: dict[str, float]
    settings: dict[str, Any]
    version: int

    __slots__ = ()


class Schedule(Record):
    """A schedule: its specification, its state and its next instants."""

    name: str
    cron: str | None
    every_ms: int | None
    timezone: str
    job: dict[str, Any]
    start_at: str | None
    end_at: str | None
    jitter_ms: int
    missed_after_ms: int
    missed: str
    missed_limit: int
    overlap: str
    dst_gap: str
    dst_overlap: str
    paused: bool
    managed_by: str | None
    version: int
    state: str
    reason: str | None
    error: str | None
    created_at: str
    updated_at: str
    last_scheduled_at: str | None
    last_job_id: str | None
    next: list[str]
    description: str
    warnings: list[str] | None

    __slots__ = ()


@dataclasses.dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list. `next_cursor` asks for the next one; None on the last."""

    items: list[T]
    next_cursor: str | None
