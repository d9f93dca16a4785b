"""A handler's view of its job, and its communication with the worker."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Callable, NamedTuple, TypeVar, overload

from . import _json
from ._ids import make_id
from ._shapes import ClaimedJobRecord, Parent, WorkflowOfClaim
from ._text import cut
from ._time import Duration, format_time, to_ms, to_seconds
from ._typed import Misfit, converter_of
from .models import UNSET, MemberJobInput, Submission, wire_of
from .outcomes import Interrupted, ParentError
from .workflows import Needed, NewMember

__all__ = ["ClaimedJob", "Context"]

R = TypeVar("R")

_logger = logging.getLogger("millrace.worker")

# The server's bounds.
_MAX_LINE_BYTES = 8 << 10
_MAX_LOG_BYTES = 256 << 10  # of waiting lines
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


class ClaimedJob(ClaimedJobRecord):
    """The job that a handler runs, as it was claimed."""

    __slots__ = ()

    @property
    def checkpoint(self) -> Any:
        """The value that an earlier attempt saved with `progress(checkpoint=...)`; None if none."""
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

    Thread-safe while the handler runs. No method waits for the server.

    Attributes:
        job: the job.
        token: the fencing token, which rises with each lease. A service that remembers the highest
            token can refuse a worker whose lease is over.
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
        self._news = news  # called when there is progress or a line to send
        self._lock = threading.Lock()
        self._told: str | None = None
        self._has_ended = False
        self._told_event: threading.Event | None = None
        self._observers: list[Callable[[str], None]] = []
        self._is_stopping = is_stopping
        # By member, as JSON. The server replaces all members at each report, so all are sent,
        # including the checkpoint of an earlier attempt.
        self._progress: dict[str, str] = {}
        if job.checkpoint is not None:
            self._progress["checkpoint"] = _json.dumps(job.checkpoint)
        self._has_progress = False  # there is progress to send
        self._lines: deque[Line] = deque()
        self._line_bytes = 0
        self._enqueued: list[dict[str, Any]] = []
        self._grown: dict[str, list[Any]] = {}  # `members` and `skip`, if there are any
        self._wishes: dict[str, dict[str, Any]] = {}  # by limit

    # The job's workflow

    @property
    def workflow(self) -> WorkflowOfClaim | None:
        """The workflow that the job belongs to: its `id`, `name`, `generation` and `state`; the
        `ref`, `number` and `role` of this member. For a callback also `counts`, and the refs of
        members that `failed`. None if it belongs to none.
        """
        return self.job.workflow

    @property
    def parents(self) -> Mapping[str, Parent]:
        """What this member needs, as it ended, by ref. A parent has `id`, `state`, `reason`, and
        its `result` if it succeeded and that was not left out (`omitted` says why).
        """
        return self.job.parents or {}

    @overload
    def parent(self, ref: str) -> Any: ...

    @overload
    def parent(self, ref: str, type: type[R]) -> R: ...

    def parent(self, ref: str, type: Any = Any) -> Any:
        """Return the result of a parent.

        Args:
            type: what to make of it: a type as in a handler's annotations, such as a dataclass.

        Raises:
            LookupError: this member does not need one of that ref, or that one has not ended.
            ParentError: there is no result, or it does not fit the type.
        """
        parent = self.parents.get(ref)
        if parent is None:
            there = ", ".join(map(repr, self.parents)) or "none"
            raise LookupError(f"no parent has the ref {ref!r}; there are: {there}")
        if "result" not in parent:
            why = parent.get("omitted")
            said = f"it was left out ({why})" if why else f"the member is {_end_of(parent)}"
            raise ParentError(f"there is no result of {ref!r} (job {parent['id']}): {said}")
        convert = converter_of(type)
        try:
            return parent["result"] if convert is None else convert(parent["result"])
        except Misfit as misfit:
            where = _json.place(("result", *misfit.path))
            raise ParentError(f"{where} of {ref!r} (job {parent['id']}): {misfit}") from None

    def add(
        self,
        ref: str,
        job: Submission | MemberJobInput,
        *,
        needs: Iterable[Needed] = (),
        needs_any: bool = False,
    ) -> NewMember:
        """Add a member to this job's workflow, in the commit of this attempt's success, and only on
        success. Returns it, for the `needs` of others.

        At most 1000 members per attempt. They may need any member, also this one.

        Args:
            ref: one that is there already is left alone. NewMember says what the others are.

        Raises:
            RuntimeError: this job is not a member of a workflow.
        """
        member = NewMember(ref, job, needs=needs, needs_any=needs_any)
        wire = member.to_wire()
        wire["job"] = self._traced(wire["job"])
        self._grow("members", wire)
        return member

    def skip(self, ref: str) -> None:
        """Skip a blocked member that needs this one, in the commit of this attempt's success, and
        only on success.

        Raises RuntimeError if this job is not a member of a workflow.
        """
        self._grow("skip", ref)

    def _grow(self, kind: str, what: Any) -> None:
        if self.workflow is None or self.workflow["role"] != "member":
            raise RuntimeError(f"job {self.job.id} is not a member of a workflow, which could grow")
        _json.dumps(what)  # raises here, in the caller, if the payload is not JSON
        with self._lock:
            self._grown.setdefault(kind, []).append(what)

    # Signals to the handler

    @property
    def stop_reason(self) -> str | None:
        """Why the handler should end: `cancelled`, `timeout`, `lease_lost`, `stopping`; or None."""
        return self._told

    @property
    def stopping(self) -> bool:
        """Whether the worker is stopping. The handler may save a checkpoint and end."""
        return self._is_stopping()

    def check(self) -> None:
        """Raise Interrupted if the handler was told to end."""
        if self._told is not None:
            raise Interrupted(self._told)

    def wait(self, duration: Duration) -> None:
        """Sleep in a synchronous handler. Raises Interrupted as soon as it is told to end."""
        with self._lock:
            if self._told_event is None:
                self._told_event = threading.Event()
                if self._told is not None:
                    self._told_event.set()
        self._told_event.wait(to_seconds("duration", duration))
        self.check()

    def on_told(self, observer: Callable[[str], None]) -> None:
        """Call `observer` with the reason when the handler is told to end, or now if it was told.

        The worker's thread makes the call, so `observer` must not block.
        """
        with self._lock:
            if self._told is None:
                self._observers.append(observer)
                return
        observer(self._told)

    def _tell(self, reason: str) -> bool:
        """Tell the handler to end. The first reason counts, but a lost lease overrides others."""
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
            try:
                observer(reason)
            except Exception:  # this is the worker's thread, which must go on
                _logger.exception("job %s: an observer of on_told failed", self.job.id)
        return True

    def _conclude(self) -> str | None:
        """Stop telling the handler, which has ended. Returns the reason that it was told."""
        with self._lock:
            self._has_ended = True
            return self._told

    # Reports of the handler

    def progress(
        self,
        percent: float | None = None,
        message: str | None = None,
        checkpoint: Any = UNSET,
    ) -> None:
        """Report progress within a second. Arguments that are left out stay unchanged.

        Args:
            percent: 0 to 100.
            message: for people; truncated to 1024 bytes.
            checkpoint: the `job.checkpoint` of a later attempt; JSON of at most 62 KiB.

        Raises:
            TypeError, ValueError: the checkpoint is not JSON or is too large.
        """
        given: dict[str, str] = {}
        if percent is not None and percent == percent:  # not NaN
            given["percent"] = _json.dumps(min(max(percent, 0), 100))
        if message is not None:
            given["message"] = _json.dumps(cut(message, _MAX_MESSAGE_BYTES))
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
        """Add a line to the job's log.

        Args:
            message: truncated to 8 KiB. If more than 256 KiB wait to be sent, the oldest lines are
                dropped.
            level: `debug`, `info`, `warn` or `error`.
        """
        line = Line(
            format_time(time.time()),
            _LEVELS.get(level.lower(), "info"),
            cut(message, _MAX_LINE_BYTES),
        )
        with self._lock:
            self._lines.append(line)
            self._line_bytes += len(line.message)
            while self._line_bytes > _MAX_LOG_BYTES:
                self._line_bytes -= len(self._lines.popleft().message)
        self._news()

    def enqueue(self, job: Submission) -> str:
        """Submit a job in the same commit as this attempt's success, and only on success.

        Returns its id. At most 1000 jobs per attempt. A job without a `traceparent` gets this
        job's.
        """
        wire = wire_of(job)
        if wire.pop("idempotency_key", None) is not None:
            raise ValueError("a job that is enqueued can't have an idempotency key; it has an id")
        if wire.get("id") is None:
            wire["id"] = make_id(str(wire.get("queue") or "default"))
        wire = self._traced(wire)
        _json.dumps(wire)  # raises here, in the caller, if the payload is not JSON
        with self._lock:
            self._enqueued.append(wire)
        return str(wire["id"])

    def _traced(self, wire: dict[str, Any]) -> dict[str, Any]:
        """Return a submission with this job's trace, unless it has one."""
        if not self.job.traceparent or "traceparent" in wire:
            return wire
        state = {"tracestate": self.job.tracestate} if self.job.tracestate else {}
        return {**wire, "traceparent": self.job.traceparent, **state}

    def slow_down(self, limit: str, duration: Duration, *, key: str | None = None) -> None:
        """Let nothing pass a limit for a time, because an upstream asks for fewer requests.

        The request is sent with the outcome, of any kind. Use `raise Snooze(duration)` to try this
        job again after the time without costing an attempt.

        Args:
            limit: the name of a limit of the job.
            duration: 100 ms to an hour.
            key: the job's key of the limit; if None, the whole limit is slowed down.
        """
        for_ms = to_ms("duration", duration)
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
        """Put back progress that the server has not received. The next report has it, or newer."""
        if unsent:
            self._has_progress = True

    def _take_lines(self, at_most: int) -> list[Line]:
        with self._lock:
            count = min(at_most, len(self._lines))
            taken = [self._lines.popleft() for _ in range(count)]
            self._line_bytes -= sum(len(line.message) for line in taken)
        return taken

    def _give_back_line(self, line: Line) -> None:
        """Put back a line that the server has not received. Newer lines take precedence."""
        with self._lock:
            size = len(line.message)
            if self._line_bytes + size <= _MAX_LOG_BYTES:
                self._lines.appendleft(line)
                self._line_bytes += size


def _end_of(parent: Parent) -> str:
    return parent["state"] + (f": {parent['reason']}" if parent["reason"] else "")
