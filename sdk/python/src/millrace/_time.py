"""Conversion of durations (milliseconds) and instants (RFC 3339 in UTC) for the API."""

from __future__ import annotations

import datetime
from typing import Union

Duration = Union[int, float, datetime.timedelta]
"""Seconds, or a timedelta. The API's unit is the millisecond."""

Instant = Union[str, datetime.datetime]
"""RFC 3339 text, or a datetime with a time zone."""


def to_ms(name: str, duration: Duration) -> int:
    """Return whole milliseconds, rounded. ValueError, which names the argument, if it is negative
    or no duration.
    """
    try:
        seconds = (
            duration.total_seconds()
            if isinstance(duration, datetime.timedelta)
            else float(duration)
        )
        if 0 <= seconds < float("inf"):
            return round(seconds * 1000)
    except (TypeError, ValueError):
        pass  # it is told below
    raise ValueError(
        f"{name} takes seconds (0 or more) or a timedelta, not {duration!r}; "
        "write 300 or timedelta(minutes=5) for five minutes"
    )


def to_seconds(name: str, duration: Duration) -> float:
    """Return seconds; otherwise as `to_ms`."""
    return to_ms(name, duration) / 1000


def to_rfc3339(instant: Instant) -> str:
    """Return the API's text of an instant; ValueError for a datetime without a time zone."""
    if isinstance(instant, str):
        return instant
    if instant.tzinfo is None:
        raise ValueError("a time must know its zone: use datetime.now(timezone.utc) or the like")
    return format_time(instant.timestamp())


def format_time(timestamp: float) -> str:
    """Return seconds since 1970 as RFC 3339 text with milliseconds."""
    moment = datetime.datetime.fromtimestamp(timestamp, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def parse_time(text: str) -> datetime.datetime:
    """Return the instant that the API writes as `text`, in UTC."""
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment.astimezone(datetime.timezone.utc)
