"""What a handler knows of its job, and how it speaks with the worker."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from . import _json
from ._ids import make_id
from ._time import Duration, format_time, to_ms, to_seconds
from .models import UNSET, Record, ScheduleOfJob, Submission, wire_of
from .outcomes import Interrupted

__all__ = ["ClaimedJob", "Context"]

# The server's bounds.
_MAX_LINE_BYTES = 8 << 10
_MAX_LOG_BYTES = 256 << 10  # on what waits
_MAX_MESSAGE_BYTES = 1024
_MAX_CHECKPOINT_BYTES = 62 << 10  # the whole progress: 64 KiB
_SLOW_DOWN_MS = (100, 3_600_000)

_LEVELS = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "warn": "warn",
    "warning": "warn",
    "error": "error",
    "critical": "error",
    "fatal": "error",
}


class ClaimedJob(Record):
    """The job that a handler runs, as the claim brought it."""

    id: str
    queue: str
    type: str
    payload: Any
    attempt: int
    max_attempts: int
    priority: int | None
    created_at: str | None
    run_at: str | None
    deadline: str | None
    tags: list[str]
    meta: dict[str, str]
    traceparent: str | None
    tracestate: str | None
    schedule: ScheduleOfJob | None

    __slots__ = ()

    @property
    def checkpoint(self) -> Any:
        """What an earlier attempt saved with `progress(checkpoint=...)`; None if nothing."""
        progress = self.raw.get("progress")
        return progress.get("checkpoint") if progress else None


class Line(NamedTuple):
    """A log line that waits to be sent."""

    at: str
    level: str
    message: str

    def to_wire(self) -> dict[str, Any]:
        return {"at": self.at, "level": self.level, "message": self.message}


class Context:
    """One attempt at a job, as its handler sees it: `millrace.current()`.

    Any thread may use it while the handler runs. Nothing here waits for the server.

    Attributes:
        job: the job.
        token: the fencing token, which rises with each lease: a service that remembers the highest
            one can refuse a worker that was overtaken.
    """

    def __init__(
        self,
        job: ClaimedJob,
        token: int,
        *,
        news: Callable[[], None] = lambda: None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.job = job
        self.token = token
        self._news = news  # there is progress or a line to be sent
        self._lock = threading.Lock()
        self._told: str | None = None
        self._has_ended = False
        self._told_event: threading.Event | None = None
        self._observers: list[Callable[[str], None]] = []
        self._is_stopping = is_stopping
        # By member, as JSON. The server replaces all of it at each report, so all of it is sent;
        # the checkpoint of an earlier attempt with it.
        self._progress: dict[str, str] = {}
        if job.checkpoint is not None:
            self._progress["checkpoint"] = _json.dumps(job.checkpoint)
        self._has_progress = False  # that is yet to be sent
        self._lines: deque[Line] = deque()
        self._line_bytes = 0
        self._enqueued: list[dict[str, Any]] = []
        self._wishes: dict[str, dict[str, Any]] = {}  # by limit

    # What the handler is told

    @property
    def told(self) -> str | None:
        """Why the handler should end: `cancelled`, `timeout`, `lease_lost`, `stopping`; or None."""
        return self._told

    @property
    def stopping(self) -> bool:
        """Whether the worker is stopping. The handler may save a checkpoint and end."""
        return self._is_stopping()

    def check(self) -> None:
        """Raises Interrupted if the handler was told to end."""
        if self._told is not None:
            raise Interrupted(self._told)

    def wait(self, duration: Duration) -> None:
        """Sleeps, for synchronous handlers: raises Interrupted as soon as the handler is told."""
        with self._lock:
            if self._told_event is None:
                self._told_event = threading.Event()
                if self._told is not None:
                    self._told_event.set()
        self._told_event.wait(to_seconds(duration))
        self.check()

    def on_told(self, observer: Callable[[str], None]) -> None:
        """Calls `observer` with the reason when the handler is told, at once if it was.

        The call comes on a thread of the worker, which it must not hold up.
        """
        with self._lock:
            if self._told is None:
                self._observers.append(observer)
                return
        observer(self._told)

    def _tell(self, reason: str) -> bool:
        """Tells the handler; only the first reason counts, but a lost lease outranks the rest."""
        with self._lock:
            if self._has_ended:
                return False
            if self._told is not None:
                if reason == "lease_lost":
                    self._told = reason
                return False
            self._told = reason
            observers, self._observers = self._observers, []
            if self._told_event is not None:
                self._told_event.set()
        for observer in observers:
            observer(reason)
        return True

    def _conclude(self) -> str | None:
        """The handler has ended, and is told nothing more. Returns what it was told."""
        with self._lock:
            self._has_ended = True
            return self._told

    # What the handler tells

    def progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        checkpoint: Any = UNSET,
    ) -> None:
        """Reports progress, at most a second later. What is left out stays as it was.

        Args:
            percent: 0 to 100.
            message: for people; cut at 1024 bytes.
            checkpoint: what a later attempt finds in `job.checkpoint`: JSON of at most 62 KiB.

        Raises:
            TypeError, ValueError: the checkpoint is not JSON, or is too large.
        """
        given: dict[str, str] = {}
        if percent is not None and percent == percent:
            given["percent"] = _json.dumps(min(max(percent, 0), 100))
        if message is not None:
            given["message"] = _json.dumps(_cut(message.replace("\0", " "), _MAX_MESSAGE_BYTES))
        if checkpoint is not UNSET:
            text = _json.dumps(checkpoint)
            if len(text.encode()) > _MAX_CHECKPOINT_BYTES:
                raise ValueError(f"a checkpoint may have {_MAX_CHECKPOINT_BYTES} bytes of JSON")
            given["checkpoint"] = text
        with self._lock:
            self._progress.update(given)
            self._has_progress = True
        self._news()

    def log(self, message: str, level: str = "info") -> None:
        """Keeps a line with the job.

        Args:
            message: cut at 8 KiB. Over 256 KiB wait to be sent, the oldest lines go.
            level: `debug`, `info`, `warn` or `error`.
        """
        line = Line(
            format_time(time.time()),
            _LEVELS.get(level.lower(), "info"),
            _cut(message, _MAX_LINE_BYTES),
        )
        with self._lock:
            self._lines.append(line)
            self._line_bytes += len(line.message)
            while self._line_bytes > _MAX_LOG_BYTES:
                self._line_bytes -= len(self._lines.popleft().message)
        self._news()

    def enqueue(self, job: Submission) -> str:
        """Submits a job in the same commit as this attempt's success, and only then.

        Returns its id. At most 1000 jobs an attempt. A job without a `traceparent` gets this one's.
        """
        wire = wire_of(job)
        if wire.pop("idempotency_key", None) is not None:
            raise ValueError("a job that is enqueued can't have an idempotency key; it has an id")
        if wire.get("id") is None:
            wire["id"] = make_id(str(wire.get("queue") or "default"))
        if self.job.traceparent and "traceparent" not in wire:
            wire["traceparent"] = self.job.traceparent
            if self.job.tracestate:
                wire["tracestate"] = self.job.tracestate
        _json.dumps(wire)  # a payload that is not JSON is this caller's fault
        with self._lock:
            self._enqueued.append(wire)
        return str(wire["id"])

    def slow_down(self, limit: str, duration: Duration, *, key: str | None = None) -> None:
        """An upstream wants less: nothing more passes the gate of the limit for so long.

        It goes with the outcome, whatever that is; `raise Snooze(duration)` tries this job again
        then, at no cost of attempts.

        Args:
            limit: one that the job names.
            duration: 100 ms to an hour.
            key: the job's key of the limit; without one, the whole limit is slowed down.
        """
        for_ms = to_ms(duration)
        if not _SLOW_DOWN_MS[0] <= for_ms <= _SLOW_DOWN_MS[1]:
            raise ValueError("a limit is slowed down for 100 ms to an hour")
        wish: dict[str, Any] = {"limit": limit, "for_ms": for_ms}
        if key is not None:
            wish["key"] = key
        with self._lock:
            self._wishes[limit] = wish

    # For the worker

    def _slow_down(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._wishes.values())

    def _take_progress(self) -> dict[str, str]:
        with self._lock:
            taken = dict(self._progress) if self._has_progress else {}
            self._has_progress = False
        return taken

    def _give_back_progress(self, unsent: Mapping[str, str]) -> None:
        """The server has not taken it. What is sent next has it, or newer."""
        if unsent:
            self._has_progress = True

    def _take_lines(self, at_most: int) -> list[Line]:
        with self._lock:
            count = min(at_most, len(self._lines))
            taken = [self._lines.popleft() for _ in range(count)]
            self._line_bytes -= sum(len(line.message) for line in taken)
        return taken

    def _give_back_line(self, line: Line) -> None:
        """The server has not taken it. Newer lines go before it, where there is too little room."""
        with self._lock:
            size = len(line.message)
            if self._line_bytes + size <= _MAX_LOG_BYTES:
                self._lines.appendleft(line)
                self._line_bytes += size


def _cut(text: str, max_bytes: int) -> str:
    if len(text) * 4 <= max_bytes:
        return text
    data = text.encode("utf-8", "replace")
    return text if len(data) <= max_bytes else data[:max_bytes].decode("utf-8", "ignore")
