"""Exceptions that a handler raises to choose the outcome of its attempt."""

from __future__ import annotations

from ._time import Duration, to_ms

__all__ = [
    "Cancel",
    "Interrupted",
    "NonRetryable",
    "ParentError",
    "PayloadError",
    "RetryAfter",
    "Snooze",
]


class NonRetryable(Exception):
    """The job failed, and no retry would help: it is dead at once."""


class RetryAfter(Exception):
    """The attempt failed. The next one comes after `delay`, regardless of the retry policy.

    Args:
        delay: seconds, or a timedelta; at most 10 years.
        message: for people.
    """

    def __init__(self, delay: Duration, message: str = "") -> None:
        super().__init__(message or "the handler asked for a later retry")
        self.delay_ms = to_ms("delay", delay)


class Snooze(Exception):
    """The job runs again after `delay`, and this attempt does not count.

    Args:
        delay: seconds, or a timedelta; at most 10 years.
    """

    def __init__(self, delay: Duration) -> None:
        super().__init__(f"snoozed for {delay}")
        self.delay_ms = to_ms("delay", delay)


class Cancel(Exception):
    """The job is cancelled; `reason` becomes a line in its log."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class PayloadError(ValueError):
    """The payload does not fit the handler's annotations; its text names the member.

    The handler has not run. The attempt fails as by any other exception, and is tried again: a new
    version of the program may take the payload.
    """


class ParentError(ValueError):
    """The result of a parent can't be had, or does not fit the type that the handler asked for.

    Its text says why and names the parent's job.
    """


class Interrupted(BaseException):
    """Raised by `Context.check` and `Context.wait` once the handler was told to end.

    It is the synchronous counterpart of `asyncio.CancelledError`. It is not an `Exception`, so that
    a handler's `except Exception` does not catch it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
