"""What a handler raises to end its attempt in another way than by success or failure."""

from __future__ import annotations

from ._time import Duration, to_ms

__all__ = ["Cancel", "Interrupted", "NonRetryable", "RetryAfter", "Snooze"]


class NonRetryable(Exception):
    """The job failed, and no retry can cure it: it is dead at once."""


class RetryAfter(Exception):
    """The attempt failed; the next one comes after `delay`, whatever the retry policy says.

    Args:
        delay: seconds, or a timedelta; at most 10 years.
        message: for people.
    """

    def __init__(self, delay: Duration, message: str = "") -> None:
        super().__init__(message or "the handler asked for a later retry")
        self.delay_ms = to_ms(delay)


class Snooze(Exception):
    """The job runs again after `delay`, and this attempt does not count.

    Args:
        delay: seconds, or a timedelta; at most 10 years.
    """

    def __init__(self, delay: Duration) -> None:
        super().__init__(f"snoozed for {delay}")
        self.delay_ms = to_ms(delay)


class Cancel(Exception):
    """The job is cancelled; `reason` becomes a line in its log."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Interrupted(BaseException):
    """Raised by `Context.check` and `Context.wait` once the handler was told to end.

    It is the synchronous counterpart of `asyncio.CancelledError`: no `Exception`, so that a
    handler's `except Exception` does not swallow it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
