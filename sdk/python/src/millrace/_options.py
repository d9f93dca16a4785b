"""The options that calls take by name, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ._time import Duration, Instant

__all__ = ["JobOptions", "WorkerOptions"]


class JobOptions(TypedDict, total=False):
    """Options of a submission. NewJob documents them."""

    queue: str | None
    id: str | None
    idempotency_key: str | None
    priority: int | None
    run_at: Instant | None
    delay: Duration | None
    expires_at: Instant | None
    expires_in: Duration | None
    max_attempts: int | None
    retry: Mapping[str, Any] | None
    lease: Duration | None
    timeout: Duration | None
    unique: Mapping[str, Any] | None
    tags: list[str] | None
    meta: Mapping[str, str] | None
    traceparent: str | None
    tracestate: str | None
    limits: list[Mapping[str, Any]] | None
    order_key: str | None
    order_on_failure: str | None
    fair_key: str | None


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
