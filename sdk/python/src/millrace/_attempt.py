"""An attempt that the worker holds: the lease book's entry, and the handler's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ._handlers import Handler
from ._outcome import Outcome
from ._time import parse_time
from .context import ClaimedJob, Context

Key = tuple[str, int]

_DEFAULT_LEASE_MS = 30_000  # the server's


class Attempt:
    """Owned by the worker's own thread, except for `context`.

    Instants are seconds of the monotonic clock. A lease is certain until the request that brought
    or extended it was *sent*, plus its length: the server cannot have counted from an earlier time.
    """

    def __init__(
        self,
        raw: Mapping[str, Any],
        handler: Handler,
        sent: float,
        now: float,
        news: Callable[[], None],
    ) -> None:
        lease = raw.get("lease") or {}
        self.handler = handler
        self.context = Context(ClaimedJob(raw), int(lease.get("token", 0)), news)
        self.id: str = self.context.job.id
        self.token = self.context.token
        self.lease_s: float = (lease.get("lease_ms") or _DEFAULT_LEASE_MS) / 1000
        self.certain_until = sent + self.lease_s
        # The server granted the lease before it answered: by then it is over for sure, unless a
        # heartbeat has extended it.
        self.over_at = now + self.lease_s
        self.timeout_at = now + _timeout_s(raw, lease)
        # An answer that took long leaves too little of the lease to begin at once.
        self.is_started = now - sent <= self.lease_s / 3
        self.next_beat = sent + self.lease_s / 3 if self.is_started else now
        self.is_plain = False  # the next heartbeat goes without progress, which was refused
        self.is_lost = False
        self.is_given_up = False  # released while the handler still runs
        self.lines_under_way = False
        self.outcome: Outcome | None = None  # the handler has ended; something must go first
        self.interrupt: Callable[[], None] = lambda: None

    @property
    def key(self) -> Key:
        return self.id, self.token

    def due(self) -> float:
        """When its lease stops being certain or its time is over, whichever is first."""
        if self.outcome is not None:
            return float("inf")
        certain = self.certain_until if self.is_started else self.over_at
        return certain if self.context.told else min(certain, self.timeout_at)

    def extended(self, sent: float, lease_s: float) -> None:
        self.certain_until = max(self.certain_until, sent + lease_s)
        self.next_beat = sent + lease_s / 3

    def tell(self, reason: str) -> None:
        """Tells the handler, by all means that it may have."""
        if reason == "lease_lost":
            self.is_lost = True
        if self.context._tell(reason):
            self.interrupt()

    def heartbeat(self, progress: Mapping[str, str]) -> str:
        """The item of a poll."""
        members = ",".join(f'"{name}":{value}' for name, value in progress.items())
        carried = f',"progress":{{{members}}}' if members else ""
        return f'{{"id":"{self.id}","token":{self.token}{carried}}}'


def _timeout_s(raw: Mapping[str, Any], lease: Mapping[str, Any]) -> float:
    """The length of the attempt: all three numbers are the server's, so that its clock cancels out."""
    deadline, expires_at, lease_ms = (
        raw.get("deadline"),
        lease.get("expires_at"),
        lease.get("lease_ms"),
    )
    if not deadline or not expires_at or not lease_ms:
        return float("inf")
    length = (parse_time(deadline) - parse_time(expires_at)).total_seconds() + lease_ms / 1000
    return max(length, 0.0)


Progresses = dict[Key, dict[str, str]]
