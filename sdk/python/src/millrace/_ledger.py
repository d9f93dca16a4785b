"""A worker's attempts and their outcomes, from the claim's answer to the ack's answer."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._attempt import INFINITY, Attempt, Key, lease_of
from ._book import Book
from ._constants import MOST_ITEMS, PAUSE_AFTER_REFUSAL_S
from ._handlers import Handler
from ._link import Answer, Request
from ._outbox import Ack, Outbox
from ._outcome import CANCELLED, LOST, RELEASED, Outcome, refused
from ._runner import Tasks, Threads
from .errors import MillraceError, Unreachable, from_problem, is_temporary

_logger = logging.getLogger("millrace.worker")


class Ledger:
    """The state of the attempts, and every change of it. Used by the worker's own loop only, unless
    a method says otherwise.

    Args:
        wake: makes the worker's loop call `hear`. Thread-safe.
        changed: called when an outcome waits or an attempt is closed.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        threads: Threads,
        tasks: Tasks | None,
        wake: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._handlers = handlers
        self._threads = threads
        self._tasks = tasks
        self._wake = wake
        self._changed = changed
        self.book = Book()
        self.outbox = Outbox()
        self.stopping = False  # written by the worker's loop only
        self.has_no_loop = False  # no asynchronous handler can run any more
        # Items handed over by other threads.
        self._ended: deque[tuple[Attempt, Outcome]] = deque()
        self._with_news: deque[Key] = deque()

    # From other threads

    def ended(self, attempt: Attempt, outcome: Outcome) -> None:
        """Hand over the outcome of a handler that has ended. Thread-safe."""
        self._ended.append((attempt, outcome))
        self._wake()

    def news(self, key: Key) -> None:
        """Tell that there is progress or a line to send. Thread-safe."""
        self._with_news.append(key)
        self._wake()

    def is_stopping(self) -> bool:
        """Whether the worker is stopping. Thread-safe."""
        return self.stopping

    # Handling answers

    def take(self, request: Request, answer: Answer) -> list[Attempt]:
        """Act on an answer, except for its commands. Returns the attempts that it brought."""
        self._take_acks(request.acks, answer.acks)
        self._take_beats(request, answer)
        return self._admit(answer) if answer.jobs else []

    def _take_acks(self, acks: Sequence[Ack], answers: Sequence[Mapping[str, Any]]) -> None:
        for index, ack in enumerate(acks):
            error = _error_at(answers, index)
            if error is None:
                continue
            if error.code == "lease_lost":
                _logger.warning("job %s: the lease was lost before the outcome came", ack.id)
            elif is_temporary(error):
                ack.since = time.monotonic() + PAUSE_AFTER_REFUSAL_S
                self.outbox.add_alone([ack])
            else:
                self.refuse(ack, error)

    def refuse(self, ack: Ack, error: MillraceError) -> None:
        """Replace an outcome that the server will never accept with a failure."""
        _logger.warning("job %s: the server refused the outcome: %s", ack.id, error)
        if not ack.is_substitute:
            text = refused(str(error)).to_ack(ack.id, ack.token, ())
            now = time.monotonic()
            self._put(Ack(ack.id, ack.token, text, now, ack.lease_s, is_substitute=True))

    def _take_beats(self, request: Request, answer: Answer) -> None:
        now = time.monotonic()
        ready: list[Attempt] = []
        for index, (attempt, progress) in enumerate(request.beats):
            error = _error_at(answer.heartbeats, index)
            if attempt not in self.book:
                continue
            if error is None:
                attempt.extended(answer.sent)
                self.book.changed(attempt)
                is_cancelled = bool(answer.heartbeats[index].get("cancel_requested"))
                self._beat_succeeded(attempt, is_cancelled, ready)
            elif error.code == "lease_lost":
                self.lease_refused(attempt)
            elif is_temporary(error):
                attempt.context._give_back_progress(progress)
                self.book.beat_again(attempt, now + PAUSE_AFTER_REFUSAL_S)
            else:
                _logger.warning("job %s: the server refused the progress: %s", attempt.id, error)
                self.book.beat_again(attempt, now + PAUSE_AFTER_REFUSAL_S, is_plain=True)
                self.settle(attempt)
        self._start(ready)

    def _beat_succeeded(self, attempt: Attempt, is_cancelled: bool, ready: list[Attempt]) -> None:
        if attempt.is_started:
            if is_cancelled and attempt.outcome is None:
                attempt.tell("cancelled")
            self.settle(attempt)
            return
        attempt.is_started = True
        if is_cancelled:
            self.finish(attempt, CANCELLED)
        elif self.stopping:
            self.finish(attempt, RELEASED)
        else:
            ready.append(attempt)

    # Attempts

    def _admit(self, answer: Answer) -> list[Attempt]:
        brought: list[Attempt] = []
        for raw in answer.jobs:
            handler = self._handlers.get(raw["type"])
            if self.stopping or handler is None:
                # Treated as if it had not been claimed.
                id, token = raw["id"], raw["lease"]["token"]
                text = RELEASED.to_ack(id, token, ())
                self._put(Ack(id, token, text, answer.came, lease_of(raw)))
                continue
            attempt = Attempt(raw, handler, answer.sent, answer.came, self.news, self.is_stopping)
            self.book.open(attempt)
            brought.append(attempt)
        self._start([attempt for attempt in brought if attempt.is_started])
        return brought

    def _start(self, attempts: Sequence[Attempt]) -> None:
        on_loop: list[Attempt] = []
        for attempt in attempts:
            if attempt.handler.is_async:
                on_loop.append(attempt)
            else:
                self._threads.start(attempt)
        if on_loop:
            assert self._tasks is not None
            try:
                self._tasks.start(on_loop)
            except RuntimeError:  # the application has closed its loop
                self.has_no_loop = True
                for attempt in on_loop:
                    self.finish(attempt, RELEASED)

    def hear(self) -> None:
        """Take the items that other threads have handed over."""
        while self._with_news:
            known = self.book.find(self._with_news.popleft())
            if known is not None:
                self.book.has_news(known)
        while self._ended:
            attempt, outcome = self._ended.popleft()
            if attempt not in self.book:
                continue
            if outcome is LOST:
                self.close(attempt)
            elif attempt.outcome is None:
                self.finish(attempt, outcome)
        self._changed()

    def finish(self, attempt: Attempt, outcome: Outcome) -> None:
        attempt.outcome = outcome
        self.settle(attempt)

    def settle(self, attempt: Attempt) -> None:
        """Send the outcome, unless progress or lines must be answered first. The server accepts
        neither for a job that has ended, and a snooze must not lose a checkpoint.
        """
        outcome, context = attempt.outcome, attempt.context
        if outcome is None or attempt not in self.book:
            return
        may_beat = not (attempt.is_plain or attempt.is_lost)
        has_progress = context._has_progress and may_beat
        has_many_lines = len(context._lines) + len(outcome.lines) > MOST_ITEMS
        if has_progress or has_many_lines:
            self.book.has_news(attempt, is_urgent=True)
        if has_progress or has_many_lines or attempt.lines_under_way:
            return
        lines = context._take_lines(MOST_ITEMS)
        text = outcome.to_ack(attempt.id, attempt.token, lines, context._slow_down())
        self.close(attempt)
        self._put(Ack(attempt.id, attempt.token, text, time.monotonic(), attempt.lease_s))

    def _put(self, ack: Ack) -> None:
        self.outbox.add(ack)
        self._changed()

    def close(self, attempt: Attempt) -> None:
        self.book.close(attempt)
        self._changed()

    def lease_refused(self, attempt: Attempt) -> None:
        """End an attempt whose lease is over for the server. It may also have timed out there."""
        now = time.monotonic()
        if attempt.outcome is None and attempt.has_timed_out(now) and now < attempt.certain_until:
            attempt.tell("timeout")
            attempt.certain_until = attempt.next_beat = INFINITY
        else:
            self.lose(attempt)

    def lose(self, attempt: Attempt) -> None:
        if attempt not in self.book or attempt.is_lost:
            return
        if not attempt.is_started or attempt.outcome is not None:
            self.close(attempt)  # there is no handler to tell
            return
        _logger.warning("job %s: the lease is lost", attempt.id)
        attempt.tell("lease_lost")


def _error_at(answers: Sequence[Mapping[str, Any]], index: int) -> MillraceError | None:
    if index >= len(answers):
        return Unreachable("the server left out an answer", code="unreachable")
    problem = answers[index].get("error")
    return from_problem(problem) if problem else None
