"""An attempt that the worker holds: its entry in the lease book, and its handler's state."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

from ._handlers import Handler
from ._outcome import Outcome
from ._time import parse_time
from .context import ClaimedJob, Context

Key = tuple[str, int]  # id and token

INFINITY = float("inf")
_DEFAULT_LEASE_MS = 30_000  # the server's


class Attempt:
    """Owned by the worker's own thread, except for `context`.

    Instants are seconds of the monotonic clock. A lease is certain for its length after the request
    that brought or extended it was *sent*: the server cannot have counted from an earlier time.
    """

    def __init__(
        self,
        raw: Mapping[str, Any],
        handler: Handler,
        sent: float,
        came: float,
        news: Callable[[Key], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        lease = raw["lease"]
        self.handler = handler
        self.id: str = raw["id"]
        self.token: int = lease["token"]
        self.key: Key = (self.id, self.token)
        self.context = Context(
            ClaimedJob(raw),
            self.token,
            news=functools.partial(news, self.key),
            is_stopping=is_stopping,
        )
        self.lease_s = lease_of(raw)
        self.came = came
        self.answer_took_s = min(came - sent, 1.0)  # bounded, since a claim may have waited
        # A late answer leaves too little of the lease to begin at once. The server granted the
        # lease before it answered, so without a heartbeat the lease is certainly over once its
        # length has passed since the answer.
        self.is_started = came - sent <= self.lease_s / 3
        self.certain_until = (sent if self.is_started else came) + self.lease_s
        self.next_beat = sent + self.lease_s / 3 if self.is_started else came
        length = timeout_of(raw)
        self.is_timeout_known = length is not None
        self.timeout_at = INFINITY if length is None else came + length
        self.is_plain = False  # the next heartbeat carries no progress, which was refused
        self.is_lost = False
        self.lines_under_way = 0  # polls that carry lines of this attempt
        self.outcome: Outcome | None = None  # it has ended, but lines or progress must go first
        self.interrupt: Callable[[], None] = nothing  # interrupts the handler's thread or task

    def due(self) -> float:
        """When its lease stops being certain or it times out, whichever comes first."""
        if self.outcome is not None or self.is_lost:
            return INFINITY
        if self.context.stop_reason or not self.is_started:
            return self.certain_until
        return min(self.certain_until, self.timeout_at)

    def may_begin(self) -> bool:
        """Whether its handler may still begin. It may have waited for a thread or its loop, or the
        process may have been paused. Thread-safe.
        """
        return self.context.stop_reason is None and time.monotonic() < self.certain_until

    def has_timed_out(self, now: float) -> bool:
        """Whether the server may have timed the attempt out. The server began to count before the
        claim's answer arrived, but not before the claim was sent.
        """
        return now >= self.timeout_at - self.answer_took_s

    def extended(self, sent: float) -> None:
        """Extend the lease after the success of a heartbeat sent at this time."""
        self.certain_until = max(self.certain_until, sent + self.lease_s)
        self.next_beat = sent + self.lease_s / 3

    def tell(self, reason: str) -> None:
        """Tell the handler to end, in every available way."""
        if reason == "lease_lost":
            self.is_lost = True
            self.next_beat = INFINITY
        if self.context._tell(reason):
            self.interrupt()

    def heartbeat(self, progress: Mapping[str, str]) -> str:
        """Return the heartbeat as an item of a poll."""
        members = ",".join(f'"{name}":{value}' for name, value in progress.items())
        carried = f',"progress":{{{members}}}' if members else ""
        return f'{{"id":"{self.id}","token":{self.token}{carried}}}'


def lease_of(raw: Mapping[str, Any]) -> float:
    """Return the length of a claimed job's lease, in seconds."""
    return float(raw["lease"].get("lease_ms") or _DEFAULT_LEASE_MS) / 1000


def timeout_of(raw: Mapping[str, Any]) -> float | None:
    """Return the attempt's timeout in seconds; None if the claim does not say.

    Only the server's times are used, so the difference between the clocks does not matter.
    """
    if raw.get("timeout_ms") is not None:
        return float(raw["timeout_ms"]) / 1000
    lease, deadline = raw["lease"], raw.get("deadline")
    if not deadline:
        return INFINITY
    left = (parse_time(deadline) - parse_time(lease["expires_at"])).total_seconds()
    # If the lease ends with the attempt's deadline, the two instants are equal and say nothing.
    return left + lease_of(raw) if left > 0 else None


def nothing() -> None:
    pass
