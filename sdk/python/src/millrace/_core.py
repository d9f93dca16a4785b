"""The worker's state machine. One event loop, on a thread of its own, owns all of it.

Three parts of it speak with the server, each on a connection of its own. The *claimer* has a poll
under way that claims jobs, and takes along the outcomes there are. The *reporter* sends outcomes
while a claim waits. The *pulse* sends heartbeats and log lines when they are due; nothing holds it
up. Handlers run elsewhere and hand over their outcomes through `ended`: a handler that keeps its
thread or its loop to itself stops nothing here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from ._aio_http import Grip
from ._attempt import Attempt, Key, lease_of
from ._book import Book
from ._calls import jittered
from ._handlers import Handler
from ._link import GOODBYE_S, Answer, Link, Options, Request
from ._outbox import INFINITY, MAX_ITEMS, Ack, Outbox
from ._outcome import CANCELLED, RELEASED, Outcome, refused
from ._runner import Tasks, Threads
from .errors import MillraceError, Unreachable, from_problem, is_temporary

_logger = logging.getLogger("millrace.worker")

# Outcomes are answered only when the claim beside them has waited. A refusal must be known soon.
WAIT_WITH_ACKS_S = 1.0
YOUNG_CLAIM_S = 0.5  # at a stop, a claim gets so long to come back, and its jobs are given back
LAST_WORD_S = 1.0  # what handlers have after they were told `stopping`
FLUSH_S = 10.0  # for the last outcomes
FATAL_FLUSH_S = 2.0  # the same, of a worker that the server has refused
PAUSE_AFTER_REFUSAL_S = 0.2
LEAST_TIMEOUT_S = 0.5  # of a request that a lease depends on
ACK_BYTES_PER_S = 256 << 10  # a slow line needs time for outcomes
MOST_EARLY_CLAIMS = 4


class Core:
    """See the module. Every method runs on the core's loop, unless it says otherwise."""

    def __init__(
        self,
        link: Link,
        options: Options,
        handlers: Mapping[str, Handler],
        threads: Threads,
        tasks: Tasks | None,
    ) -> None:
        self._link = link
        self._options = options
        self._handlers = handlers
        self._threads = threads
        self._tasks = tasks
        self._book = Book()
        self._outbox = Outbox()

        self._asked = 0  # jobs that claims under way may bring
        self._reporting = 0  # outcomes that the reporter has sent: their leases may still live
        self._claim: asyncio.Task[Answer] | None = None
        self._grip = Grip()  # on that claim
        self._claim_began = 0.0
        self._claim_failures = 0
        self._report_failures = 0
        self._report_not_before = 0.0
        self._leaves_acks = False  # the claimer pauses: outcomes are for the reporter

        self._stopping = False
        self._is_quiet = False
        self._is_told_stopping = False
        self._is_closing = False
        self._fatal: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = INFINITY
        self._others: set[asyncio.Handle | asyncio.Task[None]] = set()

        # What other threads hand over.
        self._ended: deque[tuple[Attempt, Outcome]] = deque()
        self._with_news: deque[Key] = deque()
        self._is_woken = False

    # From other threads

    def ended(self, attempt: Attempt, outcome: Outcome) -> None:
        """A handler has ended. Any thread."""
        self._ended.append((attempt, outcome))
        self._wake()

    def news(self, key: Key) -> None:
        """There is progress or a line. Any thread."""
        self._with_news.append(key)
        self._wake()

    def is_stopping(self) -> bool:
        """Any thread."""
        return self._stopping

    def _wake(self) -> None:
        if self._is_woken:
            return
        self._is_woken = True
        try:
            self._loop.call_soon_threadsafe(self._hear)
        except RuntimeError:
            pass  # the worker has ended

    # The run

    async def run(self, is_running: Callable[[], None]) -> None:
        """Works until the stop. Raises the refusal that time does not cure, if there was one."""
        self._loop = asyncio.get_running_loop()
        self._claimer_wakes = asyncio.Event()
        self._reporter_wakes = asyncio.Event()
        self._drain_wakes = asyncio.Event()
        is_running()
        reporter = self._loop.create_task(self._report())
        reporter.add_done_callback(self._note_end)
        try:
            await self._claim_until_stopped()
            await self._drain()
        finally:
            self._is_closing = True
            self._reporter_wakes.set()
            await asyncio.wait([reporter], timeout=GOODBYE_S)
            # What still waits for an answer waits for one that nobody needs.
            for other in (reporter, self._timer, *self._others):
                if other is not None:
                    other.cancel()
            await self._link.say_goodbye()
            await self._link.close()
        if self._fatal is not None:
            raise self._fatal

    def stop(self) -> None:
        """The first call begins the stop; the next one ends the grace time."""
        if self._stopping:
            self._end_grace()
            return
        self._stopping = True
        self._leaves_acks = True
        self._later(self._options.grace_s, self._end_grace)
        if self._claim is not None:
            age = time.monotonic() - self._claim_began
            self._later(max(YOUNG_CLAIM_S - age, 0), self._break_off)
        self._wake_all()

    def _break_off(self) -> None:
        """Asks for the claim's answer now: it may carry jobs, which are then given back. Where none
        comes, the claim ends without.
        """
        if self._claim is not None:
            self._grip.end_sending()
            self._later(YOUNG_CLAIM_S if self._grip.has_ended_sending else 0, self._claim.cancel)

    def _end_grace(self) -> None:
        if self._is_told_stopping:
            return
        self._is_told_stopping = True
        for attempt in self._book:
            if attempt.outcome is None:
                attempt.tell("stopping")
        self._later(LAST_WORD_S, self._give_up)

    def _give_up(self) -> None:
        """Releases what still runs. The handlers' later outcomes find their attempts closed."""
        for attempt in self._book:
            if attempt.is_lost:
                self._close(attempt)
            elif attempt.outcome is None:
                self._finish(attempt, RELEASED)

    async def _drain(self) -> None:
        """Waits for running handlers, then for the answers to the last outcomes."""
        while self._book:
            await self._sleep(self._drain_wakes, INFINITY)
        ends = time.monotonic() + (FLUSH_S if self._fatal is None else FATAL_FLUSH_S)
        while not self._outbox.is_empty:
            if time.monotonic() >= ends:
                _logger.warning(
                    "the worker ends before it could report all outcomes; the server will run "
                    "those jobs again"
                )
                return
            self._reporter_wakes.set()
            await self._sleep(self._drain_wakes, ends)

    async def _sleep(self, wakes: asyncio.Event, until: float) -> None:
        """Sleeps until the event is set, and no longer than `until`."""
        wakes.clear()
        timer = None if until == INFINITY else self._loop.call_at(until, wakes.set)
        await wakes.wait()
        if timer is not None:
            timer.cancel()

    def _later(self, delay: float, function: Callable[[], object]) -> None:
        self._others.add(self._loop.call_later(delay, function))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """A part of the worker that fails ends all of it: half a worker would keep its jobs."""
        if task.cancelled() or task.exception() is None:
            return
        self._fatal = self._fatal or task.exception()
        if not self._stopping:
            self.stop()

    def _wake_all(self) -> None:
        self._claimer_wakes.set()
        self._reporter_wakes.set()
        self._drain_wakes.set()

    # The claimer

    async def _claim_until_stopped(self) -> None:
        while not self._stopping:
            if self._is_quiet:
                await self._stay_quiet()
            elif self._free() > 0:
                self._leaves_acks = False
                await self._claim_once()
            else:
                await self._sleep(self._claimer_wakes, INFINITY)

    def _free(self) -> int:
        """Slots that nothing can fill. An outcome frees its slot when it is sent with the claim,
        or answered: until then the server may count its job as this worker's.
        """
        taken = len(self._book) + self._asked + self._reporting + self._outbox.count_alone
        return self._options.concurrency - taken

    async def _claim_once(self) -> None:
        request = Request()
        request.acks = self._outbox.take()
        request.limit = min(self._free() - len(self._outbox), MAX_ITEMS)
        wait_s = self._options.poll_wait_s
        request.wait_s = min(wait_s, WAIT_WITH_ACKS_S) if request.acks else wait_s
        if request.limit <= 0:  # more outcomes wait than one poll takes
            request.limit = 0
        self._asked += request.limit
        self._claim_began = time.monotonic()
        timeout = request.wait_s + self._options.timeout_s
        self._grip = Grip()
        self._claim = self._loop.create_task(self._link.poll(request, timeout, self._grip))
        try:
            answer = await self._claim
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            self._outbox.give_back(request.acks)  # broken off by the stop
        except MillraceError as error:
            self._claim = None
            await self._claim_failed(request, error)
        else:
            self._claim = None
            self._take(request, answer)
            await self._claim_answered(request, answer)
        finally:
            self._claim = None
            self._outbox.landed(request.acks)
            self._wake_all()

    async def _claim_answered(self, request: Request, answer: Answer) -> None:
        # A server that is about to end lets no claim wait.
        is_early = request.limit and answer.came - answer.sent < request.wait_s / 2
        if not is_early or answer.jobs or answer.commands:
            self._claim_failures = 0
            return
        self._claim_failures = min(self._claim_failures, MOST_EARLY_CLAIMS)
        await self._pause_claims(0.0)

    async def _claim_failed(self, request: Request, error: MillraceError) -> None:
        self._asked -= request.limit
        if self._stopping:
            self._outbox.give_back(request.acks)
            return
        is_about_acks = bool(request.acks) and _is_about_content(error)
        self._keep(request.acks, error)
        if error.status in (401, 403) or (_is_refusal(error) and not is_about_acks):
            self._end_with(error)
        elif not is_about_acks:
            self._link.lost(error)
            await self._pause_claims(error.retry_after or 0.0)

    async def _pause_claims(self, at_least: float) -> None:
        self._leaves_acks = True
        self._reporter_wakes.set()
        ends = time.monotonic() + max(jittered(self._claim_failures), at_least)
        self._claim_failures += 1
        while not self._stopping and time.monotonic() < ends:
            await self._sleep(self._claimer_wakes, ends)

    async def _stay_quiet(self) -> None:
        """Polls without a claim now and then, for the server's commands."""
        self._leaves_acks = True
        self._reporter_wakes.set()
        ends = time.monotonic() + max(self._options.poll_wait_s, 1.0)
        while not self._stopping and time.monotonic() < ends:
            await self._sleep(self._claimer_wakes, ends)
        if not self._stopping:
            await self._report_once(Request())

    def _end_with(self, error: MillraceError) -> None:
        if self._fatal is None:
            self._fatal = error
            _logger.error("the server refuses the worker, which ends: %s", error)
        if not self._stopping:
            self.stop()

    # The reporter

    async def _report(self) -> None:
        while not self._is_closing:
            due = max(min(self._acks_due(), self._outbox.due_alone()), self._report_not_before)
            if due > time.monotonic():
                await self._sleep(self._reporter_wakes, due)
            elif self._outbox.due_alone() <= time.monotonic():
                request = Request()
                request.acks = self._outbox.take_alone()
                await self._report_once(request)
            else:
                await self._report_once(self._next_report())

    def _acks_due(self) -> float:
        """When the reporter must send the outbox, if the claimer has not done so by then."""
        if self._claim is None and not self._leaves_acks:
            return INFINITY
        nothing_joins_them = self._stopping or not self._book
        return self._outbox.due(at_once=nothing_joins_them)

    def _next_report(self) -> Request:
        request = Request()
        request.acks = self._outbox.take()
        # For slots that the claimer's poll did not ask for. Not if the answer is likely to be lost,
        # which would leave its jobs leased to nobody.
        if self._claim is not None and not (self._stopping or self._is_quiet or self._link.is_lost):
            request.limit = max(min(self._free() - len(self._outbox), MAX_ITEMS), 0)
        return request

    async def _report_once(self, request: Request) -> None:
        self._asked += request.limit
        self._reporting += len(request.acks)
        try:
            answer = await self._link.poll(request, self._report_timeout(request))
        except MillraceError as error:
            self._asked -= request.limit
            self._report_failed(request, error)
        else:
            self._report_failures = 0
            self._take(request, answer)
        finally:
            self._reporting -= len(request.acks)
            self._outbox.landed(request.acks)
            self._wake_all()

    def _report_timeout(self, request: Request) -> float:
        """A connection that hangs must not hold up outcomes for long."""
        size = sum(len(ack.text) for ack in request.acks)
        shortest = min(ack.lease_s for ack in request.acks) if request.acks else INFINITY
        shortest = min(shortest, self._book.shortest_lease_s())
        bound = max(shortest / 3, LEAST_TIMEOUT_S)
        return min(bound, self._options.timeout_s) + size / ACK_BYTES_PER_S

    def _report_failed(self, request: Request, error: MillraceError) -> None:
        if len(request.acks) == 1 and _is_about_content(error):
            self._refuse(request.acks[0], error)
            return
        self._keep(request.acks, error)
        if error.status in (401, 403):
            self._end_with(error)
        if not _is_about_content(error):
            self._link.lost(error)
            pause = max(jittered(self._report_failures), error.retry_after or 0.0)
            self._report_failures += 1
            self._report_not_before = time.monotonic() + pause

    # The pulse

    def _set_timer(self) -> None:
        due = self._book.due()
        if due >= self._timer_at:
            return  # the timer comes earlier, and looks again
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_at(due, self._timer_fires)

    def _timer_fires(self) -> None:
        self._timer_at = INFINITY
        now = time.monotonic()
        # Before anything is asked of the server: the process may have been paused.
        for attempt in self._book.overdue(now):
            if now >= attempt.certain_until:
                self._lose(attempt)
            else:
                attempt.tell("timeout")
                self._book.changed(attempt)
        request = self._book.collect(now)
        if request.beats or request.lines:
            self._spawn(self._beat(request))
        self._set_timer()

    async def _beat(self, request: Request) -> None:
        shortest = min((attempt.lease_s for attempt, _ in request.beats), default=INFINITY)
        timeout = min(max(shortest / 3, LEAST_TIMEOUT_S), self._options.timeout_s)
        answer: Answer | None = None
        try:
            answer = await self._link.poll(request, timeout)
        except MillraceError as error:
            self._beat_failed(request, error)
        for attempt, _ in request.lines:
            attempt.lines_under_way = 0
        if answer is not None:
            self._take(request, answer)
        for attempt in {line[0].key: line[0] for line in request.lines}.values():
            self._settle(attempt)
        self._set_timer()

    def _beat_failed(self, request: Request, error: MillraceError) -> None:
        now = time.monotonic()
        is_refused = _is_about_content(error)
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
        # Lines that may have arrived are not sent again: a line twice is worse than one less.
        if error.status in (429, 503) and request.lines:
            for attempt, line in reversed(request.lines):
                attempt.context._give_back_line(line)
            self._book.lines_again(now + pause)
        if error.status in (401, 403):
            self._end_with(error)

    async def _learn_timeout(self, attempt: Attempt) -> None:
        """Asks for the length of an attempt whose claim does not tell it: by a heartbeat."""
        while attempt in self._book and attempt.outcome is None and not self._is_closing:
            sent = time.monotonic()
            timeout = max(attempt.lease_s / 3, LEAST_TIMEOUT_S)
            try:
                job = await self._link.job_of(attempt, min(timeout, self._options.timeout_s))
            except MillraceError as error:
                if error.code == "lease_lost":
                    self._lease_refused(attempt)
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
            self._set_timer()
            return

    # What an answer means

    def _take(self, request: Request, answer: Answer) -> None:
        self._take_acks(request.acks, answer.acks)
        self._take_beats(request, answer)
        self._asked -= request.limit
        if answer.jobs:
            self._admit(answer)
        for command in answer.commands:
            self._obey(command)
        self._set_timer()

    def _take_acks(self, acks: Sequence[Ack], answers: Sequence[Mapping[str, Any]]) -> None:
        for index, ack in enumerate(acks):
            error = _error_at(answers, index)
            if error is None:
                continue
            if error.code == "lease_lost":
                _logger.warning("job %s: the lease was lost before the outcome came", ack.id)
            elif is_temporary(error):
                ack.since = time.monotonic() + PAUSE_AFTER_REFUSAL_S
                self._outbox.add_alone([ack])
            else:
                self._refuse(ack, error)

    def _refuse(self, ack: Ack, error: MillraceError) -> None:
        """The server will never take this outcome: the attempt failed, its substitute says so."""
        _logger.warning("job %s: the server refused the outcome: %s", ack.id, error)
        if not ack.is_substitute:
            text = refused(str(error)).to_ack(ack.id, ack.token, ())
            now = time.monotonic()
            self._put(Ack(ack.id, ack.token, text, now, ack.lease_s, is_substitute=True))

    def _keep(self, acks: Sequence[Ack], error: MillraceError) -> None:
        """These were not answered. One of them may be why: alone, each gets its own answer."""
        if _is_about_content(error):
            self._outbox.add_alone(acks)
        else:
            self._outbox.give_back(acks)
        self._reporter_wakes.set()

    def _take_beats(self, request: Request, answer: Answer) -> None:
        now = time.monotonic()
        ready: list[Attempt] = []
        for index, (attempt, progress) in enumerate(request.beats):
            error = _error_at(answer.heartbeats, index)
            if attempt not in self._book:
                continue
            if error is None:
                attempt.extended(answer.sent)
                self._book.changed(attempt)
                is_cancelled = bool(answer.heartbeats[index].get("cancel_requested"))
                self._beat_succeeded(attempt, is_cancelled, ready)
            elif error.code == "lease_lost":
                self._lease_refused(attempt)
            elif is_temporary(error):
                attempt.context._give_back_progress(progress)
                self._book.beat_again(attempt, now + PAUSE_AFTER_REFUSAL_S)
            else:
                _logger.warning("job %s: the server refused the progress: %s", attempt.id, error)
                self._book.beat_again(attempt, now + PAUSE_AFTER_REFUSAL_S, is_plain=True)
                self._settle(attempt)
        self._start(ready)

    def _beat_succeeded(self, attempt: Attempt, is_cancelled: bool, ready: list[Attempt]) -> None:
        if attempt.is_started:
            if is_cancelled and attempt.outcome is None:
                attempt.tell("cancelled")
            self._settle(attempt)
            return
        attempt.is_started = True
        if is_cancelled:
            self._finish(attempt, CANCELLED)
        elif self._stopping:
            self._finish(attempt, RELEASED)
        else:
            ready.append(attempt)

    def _obey(self, command: Mapping[str, Any]) -> None:
        kind = command.get("type")
        if kind == "cancel":
            attempt = self._book.find((command["job_id"], command["token"]))
            if attempt is not None and attempt.is_started and attempt.outcome is None:
                attempt.tell("cancelled")
        elif kind == "quiet" and not self._is_quiet:
            _logger.info("the server told the worker to claim no more")
            self._is_quiet = True
            self._claimer_wakes.set()
        elif kind == "stop" and not self._stopping:
            _logger.info("the server told the worker to stop")
            self.stop()

    # Attempts

    def _admit(self, answer: Answer) -> None:
        ready: list[Attempt] = []
        for raw in answer.jobs:
            handler = self._handlers.get(raw["type"])
            if self._stopping or handler is None:
                # As if it had not been claimed.
                id, token = raw["id"], raw["lease"]["token"]
                text = RELEASED.to_ack(id, token, ())
                self._put(Ack(id, token, text, answer.came, lease_of(raw)))
                continue
            attempt = Attempt(raw, handler, answer.sent, answer.came, self.news, self.is_stopping)
            self._book.open(attempt)
            if attempt.is_started:
                ready.append(attempt)
            if not attempt.is_timeout_known:
                self._spawn(self._learn_timeout(attempt))
        self._start(ready)

    def _start(self, attempts: Sequence[Attempt]) -> None:
        on_loop: list[Attempt] = []
        for attempt in attempts:
            if attempt.handler.is_async:
                on_loop.append(attempt)
            else:
                self._threads.start(attempt)
        if on_loop:
            assert self._tasks is not None
            self._tasks.start(on_loop)

    def _hear(self) -> None:
        """Takes what other threads have handed over."""
        self._is_woken = False
        while self._with_news:
            known = self._book.find(self._with_news.popleft())
            if known is not None:
                self._book.has_news(known)
        while self._ended:
            attempt, outcome = self._ended.popleft()
            if attempt not in self._book:
                continue
            if attempt.is_lost:
                self._close(attempt)
            elif attempt.outcome is None:
                self._finish(attempt, outcome)
        self._set_timer()

    def _finish(self, attempt: Attempt, outcome: Outcome) -> None:
        attempt.outcome = outcome
        self._settle(attempt)
        self._set_timer()

    def _settle(self, attempt: Attempt) -> None:
        """Sends the outcome, unless progress or lines must be answered first: the server takes
        neither for a job that has ended, and a checkpoint must not be lost with a snooze.
        """
        outcome, context = attempt.outcome, attempt.context
        if outcome is None or attempt not in self._book:
            return
        has_progress = context._has_progress and not attempt.is_plain
        has_many_lines = len(context._lines) + len(outcome.lines) > MAX_ITEMS
        if has_progress or has_many_lines:
            self._book.has_news(attempt, is_urgent=True)
        if has_progress or has_many_lines or attempt.lines_under_way:
            return
        text = outcome.to_ack(attempt.id, attempt.token, context._take_lines(MAX_ITEMS))
        self._close(attempt)
        self._put(Ack(attempt.id, attempt.token, text, time.monotonic(), attempt.lease_s))

    def _put(self, ack: Ack) -> None:
        self._outbox.add(ack)
        self._claimer_wakes.set()
        if self._claim is not None or self._leaves_acks:
            self._reporter_wakes.set()

    def _close(self, attempt: Attempt) -> None:
        self._book.close(attempt)
        self._claimer_wakes.set()
        self._drain_wakes.set()

    def _lease_refused(self, attempt: Attempt) -> None:
        """The server says that the lease is over: by its clock, the attempt's time may be, too."""
        now = time.monotonic()
        if attempt.outcome is None and attempt.has_timed_out(now) and now < attempt.certain_until:
            attempt.tell("timeout")
            attempt.certain_until = attempt.next_beat = INFINITY
        else:
            self._lose(attempt)

    def _lose(self, attempt: Attempt) -> None:
        if attempt not in self._book or attempt.is_lost:
            return
        if not attempt.is_started or attempt.outcome is not None:
            self._close(attempt)  # no handler is there to be told
            return
        _logger.warning("job %s: the lease is lost", attempt.id)
        attempt.tell("lease_lost")


def _error_at(answers: Sequence[Mapping[str, Any]], index: int) -> MillraceError | None:
    if index >= len(answers):
        return Unreachable("the server left out an answer", code="unreachable")
    problem = answers[index].get("error")
    return from_problem(problem) if problem else None


def _is_about_content(error: MillraceError) -> bool:
    """Whether something in the request was refused, rather than the worker."""
    return error.status == 413 or (error.status in (400, 422) and error.code != "bad_answer")


def _is_refusal(error: MillraceError) -> bool:
    """Whether time does not cure it."""
    return error.status in (400, 401, 403, 404, 413, 422) and error.code != "bad_answer"
