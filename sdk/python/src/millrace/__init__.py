"""Submit jobs to Millrace and run them. See the classes Millrace and AsyncMillrace."""

from __future__ import annotations

from ._current import current
from ._ids import make_id
from ._options import JobOptions, WorkerOptions
from ._time import parse_time
from ._version import __version__
from .aio import AsyncMillrace
from .client import Millrace
from .context import ClaimedJob, Context
from .errors import (
    DuplicateJob,
    Forbidden,
    IdempotencyMismatch,
    IdMismatch,
    InvalidState,
    LeaseLost,
    MillraceError,
    NotFound,
    PayloadTooLarge,
    QueueFull,
    RateLimited,
    Unauthenticated,
    Unavailable,
    Unreachable,
    ValidationFailed,
    VersionConflict,
    WaitTimeout,
)
from .jobs import AsyncJobType, JobType
from .logs import JobLogHandler
from .models import (
    BatchItem,
    Job,
    LogLine,
    NewJob,
    Page,
    Queue,
    Record,
    Schedule,
    ScheduleRun,
    Submitted,
)
from .outcomes import Cancel, Interrupted, NonRetryable, PayloadError, RetryAfter, Snooze
from .worker import AsyncWorker, Worker

__all__ = [
    "AsyncJobType",
    "AsyncMillrace",
    "AsyncWorker",
    "BatchItem",
    "Cancel",
    "ClaimedJob",
    "Context",
    "DuplicateJob",
    "Forbidden",
    "IdMismatch",
    "IdempotencyMismatch",
    "Interrupted",
    "InvalidState",
    "Job",
    "JobLogHandler",
    "JobOptions",
    "JobType",
    "LeaseLost",
    "LogLine",
    "Millrace",
    "MillraceError",
    "NewJob",
    "NonRetryable",
    "NotFound",
    "Page",
    "PayloadError",
    "PayloadTooLarge",
    "Queue",
    "QueueFull",
    "RateLimited",
    "Record",
    "RetryAfter",
    "Schedule",
    "ScheduleRun",
    "Snooze",
    "Submitted",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "ValidationFailed",
    "VersionConflict",
    "WaitTimeout",
    "Worker",
    "WorkerOptions",
    "__version__",
    "current",
    "make_id",
    "parse_time",
]
