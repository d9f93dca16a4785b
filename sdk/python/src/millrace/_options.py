"""The options that calls take by name, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ._shapes import JobOptions, JobState, WorkflowState
from ._time import Duration, Instant

__all__ = ["JobFilters", "JobOptions", "ScheduleFilters", "WorkerOptions", "WorkflowFilters"]


class JobFilters(TypedDict, total=False):
    """What a list of jobs is narrowed to. `q` is a search; `include` is as of `Millrace.get`."""

    state: JobState | Sequence[JobState]
    queue: str
    type: str
    tag: str
    created_after: Instant
    created_before: Instant
    q: str
    fresh: bool
    include: Sequence[str]


class ScheduleFilters(TypedDict, total=False):
    """What a list of schedules is narrowed to."""

    managed_by: str
    queue: str


class WorkflowFilters(TypedDict, total=False):
    """What a list of workflows is narrowed to."""

    state: WorkflowState | Sequence[WorkflowState]
    queue: str
    name: str
    tag: str
    created_after: Instant
    created_before: Instant
    fresh: bool


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
