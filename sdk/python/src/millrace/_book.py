"""The lease book: the attempts that a worker holds, and when they need something."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ._attempt import INFINITY, Attempt, Key
from ._constants import MOST_ITEMS
from ._link import Request

LINE_DELAY_S = 0.5
PROGRESS_DELAY_S = 0.5


class Book:
    """Used by the worker's own loop only. The book's instants are lower bounds, checked again when
    they come, so that an attempt that begins or ends needs no search through all attempts.
    """

    def __init__(self) -> None:
        self._attempts: dict[Key, Attempt] = {}
        self._watch_due = INFINITY  # a lease stops being certain, or an attempt times out
        self._beat_due = INFINITY
        self._lines_due = INFINITY

    def __len__(self) -> int:
        return len(self._attempts)

    def __iter__(self) -> Iterator[Attempt]:
        """Iterate over a copy, so that the caller may close attempts."""
        return iter(list(self._attempts.values()))

    def __contains__(self, attempt: Attempt) -> bool:
        return attempt.key in self._attempts

    def find(self, key: Key) -> Attempt | None:
        return self._attempts.get(key)

    def open(self, attempt: Attempt) -> None:
        self._attempts[attempt.key] = attempt
        self.changed(attempt)

    def close(self, attempt: Attempt) -> None:
        self._attempts.pop(attempt.key, None)

    def changed(self, attempt: Attempt) -> None:
        """Take note that the attempt's instants may be earlier than before."""
        self._watch_due = min(self._watch_due, attempt.due())
        self._beat_due = min(self._beat_due, attempt.next_beat)

    def has_news(self, attempt: Attempt, is_urgent: bool = False) -> None:
        """Take note of progress or a line that must not wait for the next heartbeat."""
        now = time.monotonic()
        if attempt.context._has_progress and not attempt.is_lost:
            attempt.next_beat = min(attempt.next_beat, now + (0 if is_urgent else PROGRESS_DELAY_S))
            self._beat_due = min(self._beat_due, attempt.next_beat)
        if attempt.context._lines:
            self._lines_due = min(self._lines_due, now + (0 if is_urgent else LINE_DELAY_S))

    def beat_again(self, attempt: Attempt, when: float, is_plain: bool = False) -> None:
        attempt.next_beat = when
        attempt.is_plain = is_plain
        self._beat_due = min(self._beat_due, when)

    def lines_again(self, when: float) -> None:
        self._lines_due = min(self._lines_due, when)

    def due(self) -> float:
        """When to check again."""
        return min(self._watch_due, self._beat_due, self._lines_due)

    def shortest_lease_s(self) -> float:
        """The shortest lease of its attempts; infinite if there are none."""
        return min((attempt.lease_s for attempt in self._attempts.values()), default=INFINITY)

    def overdue(self, now: float) -> list[Attempt]:
        """Return the attempts whose lease is no longer certain or that have timed out."""
        if now < self._watch_due:
            return []
        found = [attempt for attempt in self._attempts.values() if attempt.due() <= now]
        later = (attempt.due() for attempt in self._attempts.values() if attempt.due() > now)
        self._watch_due = min(later, default=INFINITY)
        return found

    def collect(self, now: float) -> Request:
        """Return a request with the heartbeats and lines that are due."""
        request = Request()
        if now >= self._beat_due:
            self._add_beats(request, now)
        if now >= self._lines_due:
            self._add_lines(request)
        return request

    def _add_beats(self, request: Request, now: float) -> None:
        due = INFINITY
        for attempt in self._attempts.values():
            if attempt.next_beat <= now and len(request.beats) < MOST_ITEMS:
                progress = {} if attempt.is_plain else attempt.context._take_progress()
                attempt.is_plain = False
                attempt.next_beat = now + attempt.lease_s / 3
                request.beats.append((attempt, progress))
            due = min(due, attempt.next_beat)
        self._beat_due = due

    def _add_lines(self, request: Request) -> None:
        self._lines_due = INFINITY
        for attempt in self._attempts.values():
            lines = attempt.context._take_lines(MOST_ITEMS - len(request.lines))
            if lines:
                attempt.lines_under_way += 1
                request.lines += [(attempt, line) for line in lines]
            if len(request.lines) >= MOST_ITEMS:
                self._lines_due = 0.0  # there may be more
                return
