"""The options that calls take by name, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ._shapes import JobOptions
from ._time import Duration

__all__ = ["JobOptions", "WorkerOptions"]


class WorkerOptions(TypedDict, total=False):
    """Options of a worker. `Millrace.worker` documents them."""

    queues: Sequence[str] | None
    concurrency: int
    lease: Duration | None
    poll_wait: Duration
    grace: Duration
    id: str | None
    version: str | None
    capture_logs: bool
