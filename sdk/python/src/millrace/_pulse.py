"""The pulse of a worker: sends heartbeats, progress and log lines when due, and watches the clock.

Each is sent in its own poll, whether an earlier one has been answered or hangs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from ._attempt import INFINITY, Attempt
from ._constants import LEAST_PATIENCE_S, PAUSE_AFTER_REFUSAL_S
from ._ledger import Ledger
from ._link import Answer, Link, Request, is_about_content
from .errors import MillraceError, is_temporary

_logger = logging.getLogger("millrace.worker")


class Pulse:
    """Used by the worker's own loop only.

    Args:
        timeout_s: the longest time that a request may take; short leases shorten it.
        take: acts on an answer.
        refused: called with a refusal that concerns the worker.
        spawn: runs a coroutine concurrently with the others.
    """

    def __init__(
        self,
        ledger: Ledger,
        link: Link,
        timeout_s: float,
        take: Callable[[Request, Answer], None],
        refused: Callable[[MillraceError], None],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._ledger = ledger
        self._book = ledger.book
        self._link = link
        self._timeout_s = timeout_s
        self._take = take
        self._refused = refused
        self._spawn = spawn
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = INFINITY

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = -INFINITY  # no timer is set again

    def arm(self) -> None:
        """Set the timer for the next instant of the book."""
        due = self._book.due()
        if due >= self._timer_at:
            return  # the timer fires earlier, and checks again
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = asyncio.get_running_loop().call_at(due, self._timer_fires)

    def _timer_fires(self) -> None:
        self._timer_at = INFINITY
        now = time.monotonic()
        # Before any request is sent, since the process may have been paused.
        for attempt in self._book.overdue(now):
            if now >= attempt.certain_until:
                self._ledger.lose(attempt)
            else:
                attempt.tell("timeout")
                self._book.changed(attempt)
        request = self._book.collect(now)
        if request.beats or request.lines:
            self._spawn(self._beat(request))
        self.arm()

    async def _beat(self, request: Request) -> None:
        shortest = min((attempt.lease_s for attempt, _ in request.beats), default=INFINITY)
        timeout = min(max(shortest / 3, LEAST_PATIENCE_S), self._timeout_s)
        answer: Answer | None = None
        try:
            answer = await self._link.poll(request, timeout)
        except MillraceError as error:
            self._beat_failed(request, error)
        carried = {attempt.key: attempt for attempt, _ in request.lines}.values()
        for attempt in carried:
            attempt.lines_under_way -= 1
        if answer is not None:
            self._take(request, answer)
        for attempt in carried:
            self._ledger.settle(attempt)
        self.arm()

    def _beat_failed(self, request: Request, error: MillraceError) -> None:
        now = time.monotonic()
        is_refused = is_about_content(error)
        pause = PAUSE_AFTER_REFUSAL_S
        if is_refused:
            _logger.warning("the server refused heartbeats or lines: %s", error)
        else:
            self._link.lost(error)
            pause = max(pause, error.retry_after or 0.0)
        for attempt, progress in request.beats:
            if not is_refused:
                attempt.context._give_back_progress(progress)
            self._book.beat_again(attempt, now + min(pause, attempt.lease_s / 6), is_refused)
        # Lines that may have arrived are not sent again: a duplicate is worse than a missing line.
        has_not_begun = error.status in (429, 503) or error._is_of_no_connection
        if has_not_begun and request.lines:
            for attempt, line in reversed(request.lines):
                attempt.context._give_back_line(line)
            self._book.lines_again(now + pause)
        if error.status in (401, 403):
            self._refused(error)

    async def learn_timeout(self, attempt: Attempt) -> None:
        """Ask by a heartbeat for the timeout of an attempt whose claim does not tell it."""
        while attempt in self._book and attempt.outcome is None:
            sent = time.monotonic()
            timeout = max(attempt.lease_s / 3, LEAST_PATIENCE_S)
            try:
                job = await self._link.job_of(attempt, min(timeout, self._timeout_s))
            except MillraceError as error:
                if error.code == "lease_lost":
                    self._ledger.lease_refused(attempt)
                if not is_temporary(error):
                    return
                await asyncio.sleep(PAUSE_AFTER_REFUSAL_S)
                continue
            attempt.extended(sent)
            if job.get("timeout_ms") is not None:
                attempt.timeout_at = attempt.came + float(job["timeout_ms"]) / 1000
            if job.get("cancel_requested") and attempt.is_started and attempt in self._book:
                attempt.tell("cancelled")
            self._book.changed(attempt)
            self.arm()
            return
