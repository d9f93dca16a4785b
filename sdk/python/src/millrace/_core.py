"""The worker's state machine. One event loop, on its own thread, owns all of it.

Three parts of it talk to the server, each on its own connection. The *claimer* keeps a poll under
way that claims jobs and carries the outcomes there are. The *reporter* sends outcomes while a claim
waits. The *pulse* sends heartbeats and log lines when they are due; nothing delays it. All three
act on the *ledger* of attempts. Handlers run elsewhere and hand their outcomes to the ledger, so a
handler that blocks its thread or its loop does not block the worker.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from ._aio_http import Grip
from ._calls import jittered
from ._constants import (
    GOODBYE_S,
    LAST_FLUSH_S,
    LAST_SECOND_S,
    LEAST_PATIENCE_S,
    MOST_ITEMS,
    QUIET_POLL_S,
    REFUSED_FLUSH_S,
    SLOW_LINE_BYTES_PER_S,
    YOUNG_CLAIM_S,
)
from ._handlers import Handler
from ._ledger import Ledger
from ._link import Answer, Link, Options, Request, is_about_content, is_refusal
from ._outbox import INFINITY, Ack
from ._outcome import RELEASED
from ._pulse import Pulse
from ._runner import Tasks, Threads
from .errors import MillraceError

_logger = logging.getLogger("millrace.worker")

# Outcomes are answered only after their poll's claim has waited. A refusal must be known soon.
WAIT_WITH_ACKS_S = 1.0
LEAST_CLAIM_S = 0.05  # a claim that returns nothing sooner than this is followed by a pause
MOST_EARLY_CLAIMS = 4  # the number of such claims that lengthen the pause


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
        self._ledger = Ledger(handlers, threads, tasks, self._wake, self._note_change)
        self._book, self._outbox = self._ledger.book, self._ledger.outbox
        self._pulse = Pulse(
            self._ledger, link, options.timeout_s, self._take, self._note_refusal, self._spawn
        )
        self.ended = self._ledger.ended  # for the handlers' threads

        self._asked = 0  # jobs requested by claims under way
        self._reporting = 0  # outcomes that the reporter is sending; their leases may still be live
        self._claim: asyncio.Task[Answer] | None = None
        self._grip = Grip()  # on that claim
        self._claim_began = 0.0
        self._claim_failures = 0
        self._report_failures = 0
        self._report_not_before = 0.0
        self._leaves_acks = False  # the claimer pauses and leaves outcomes to the reporter

        self._is_quiet = False
        self._is_told_stopping = False
        self._is_closing = False
        self._fatal: BaseException | None = None
        self._others: set[asyncio.Handle | asyncio.Task[None]] = set()
        self._is_woken = False

    def _wake(self) -> None:
        """Wake the parts of the worker. Thread-safe."""
        if self._is_woken:
            return
        self._is_woken = True
        try:
            self._loop.call_soon_threadsafe(self._hear)
        except RuntimeError:
            pass  # the worker has ended

    def _hear(self) -> None:
        self._is_woken = False
        self._ledger.hear()

    # The run

    async def run(self, is_running: Callable[[], None]) -> None:
        """Work until the stop. Raises the permanent refusal, if there was one."""
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
            # Nobody needs the answers that are still pending.
            self._pulse.stop()
            for other in (reporter, *self._others):
                other.cancel()
            await self._link.say_goodbye()
            await self._link.close()
        if self._fatal is not None:
            raise self._fatal

    def stop(self) -> None:
        """Begin the stop. The next call ends the grace time."""
        if self._ledger.stopping:
            self._end_grace()
            return
        self._ledger.stopping = True
        self._leaves_acks = True
        self._later(self._options.grace_s, self._end_grace)
        if self._claim is not None:
            age = time.monotonic() - self._claim_began
            self._later(max(YOUNG_CLAIM_S - age, 0), self._break_off)
        self._wake_all()

    def _break_off(self) -> None:
        """Ask for the claim's answer now. It may carry jobs, which are then released. If no answer
        comes, the claim is aborted.
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
        self._later(LAST_SECOND_S, self._give_up)

    def _give_up(self) -> None:
        """Release jobs that still run. Their attempts are closed, so later outcomes are ignored."""
        for attempt in self._book:
            if attempt.is_lost:
                self._ledger.close(attempt)
            elif attempt.outcome is None:
                self._ledger.finish(attempt, RELEASED)

    async def _drain(self) -> None:
        """Wait for running handlers, then for the answers to the last outcomes."""
        while self._book:
            await self._sleep(self._drain_wakes, INFINITY)
        ends = time.monotonic() + (LAST_FLUSH_S if self._fatal is None else REFUSED_FLUSH_S)
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
        """Sleep until the event is set, but no longer than `until`."""
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
        """End the whole worker if a part of it has failed: half a worker would keep its jobs."""
        if task.cancelled() or task.exception() is None:
            return
        self._fatal = self._fatal or task.exception()
        if not self._ledger.stopping:
            self.stop()

    def _note_change(self) -> None:
        if self._ledger.has_no_loop and not self._ledger.stopping:
            _logger.error("the event loop of the handlers is closed; the worker ends")
            self.stop()
        self._wake_all()
        self._pulse.arm()

    def _wake_all(self) -> None:
        self._claimer_wakes.set()
        self._reporter_wakes.set()
        self._drain_wakes.set()

    # The claimer

    async def _claim_until_stopped(self) -> None:
        while not self._ledger.stopping:
            if self._is_quiet:
                await self._stay_quiet()
            elif self._free() > 0:
                self._leaves_acks = False
                await self._claim_once()
            else:
                await self._sleep(self._claimer_wakes, INFINITY)

    def _free(self) -> int:
        """Return the number of free slots. An outcome frees its slot when it is sent with the claim
        or is answered: until then the server may count its job as this worker's.
        """
        taken = len(self._book) + self._asked + self._reporting + self._outbox.count_alone
        return self._options.concurrency - taken

    async def _claim_once(self) -> None:
        request = Request()
        request.acks = self._outbox.take()
        # No slot is free if more outcomes wait than fit into one poll.
        request.limit = max(min(self._free() - len(self._outbox), MOST_ITEMS), 0)
        wait_s = self._options.poll_wait_s
        request.wait_s = min(wait_s, WAIT_WITH_ACKS_S) if request.acks else wait_s
        self._asked += request.limit
        self._claim_began = time.monotonic()
        timeout = request.wait_s + self._options.timeout_s
        self._grip = Grip()
        self._claim = self._loop.create_task(self._link.poll(request, timeout, self._grip))
        try:
            answer = await self._claim
        except asyncio.CancelledError:
            if not self._ledger.stopping:
                raise
            self._outbox.give_back(request.acks)  # aborted by the stop
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
        # A server that is stopping does not let claims wait, and a `poll_wait` of 0 asks for that.
        least = max(request.wait_s / 2, LEAST_CLAIM_S)
        is_early = request.limit and answer.came - answer.sent < least
        if not is_early or answer.jobs or answer.commands:
            self._claim_failures = 0
            return
        self._claim_failures = min(self._claim_failures, MOST_EARLY_CLAIMS)
        await self._pause_claims(0.0)

    async def _claim_failed(self, request: Request, error: MillraceError) -> None:
        self._asked -= request.limit
        if self._ledger.stopping:
            self._outbox.give_back(request.acks)
            return
        is_about_acks = bool(request.acks) and is_about_content(error)
        self._keep(request.acks, error)
        if error.status in (401, 403) or (is_refusal(error) and not is_about_acks):
            self._end_with(error)
        elif not is_about_acks:
            self._link.lost(error)
            await self._pause_claims(error.retry_after or 0.0)

    async def _pause_claims(self, at_least: float) -> None:
        self._leaves_acks = True
        self._reporter_wakes.set()
        ends = time.monotonic() + max(jittered(self._claim_failures), at_least)
        self._claim_failures += 1
        while not self._ledger.stopping and time.monotonic() < ends:
            await self._sleep(self._claimer_wakes, ends)

    async def _stay_quiet(self) -> None:
        """Poll without a claim now and then, for the server's commands."""
        self._leaves_acks = True
        self._reporter_wakes.set()
        ends = time.monotonic() + QUIET_POLL_S
        while not self._ledger.stopping and time.monotonic() < ends:
            await self._sleep(self._claimer_wakes, ends)
        if not self._ledger.stopping:
            await self._report_once(Request())

    def _note_refusal(self, error: MillraceError) -> None:
        """End the worker if the server has refused it permanently."""
        if error.status in (401, 403):
            self._end_with(error)

    def _end_with(self, error: MillraceError) -> None:
        if self._fatal is None:
            self._fatal = error
            _logger.error("the server refuses the worker, which ends: %s", error)
        if not self._ledger.stopping:
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
        """Return when the reporter must send the outbox, unless the claimer does so first."""
        if self._claim is None and not self._leaves_acks:
            return INFINITY
        nothing_joins_them = self._ledger.stopping or not self._book
        return self._outbox.due(at_once=nothing_joins_them)

    def _next_report(self) -> Request:
        request = Request()
        request.acks = self._outbox.take()
        # For slots that the claimer's poll did not ask for. Not if the answer is likely to be lost,
        # which would leave its jobs leased but not running.
        if self._claim is not None and not (
            self._ledger.stopping or self._is_quiet or self._link.is_lost
        ):
            request.limit = max(min(self._free() - len(self._outbox), MOST_ITEMS), 0)
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
        """Return a timeout such that a hanging connection does not delay outcomes for long."""
        size = sum(len(ack.text) for ack in request.acks)
        shortest = min(ack.lease_s for ack in request.acks) if request.acks else INFINITY
        shortest = min(shortest, self._book.shortest_lease_s())
        bound = max(shortest / 3, LEAST_PATIENCE_S)
        return min(bound, self._options.timeout_s) + size / SLOW_LINE_BYTES_PER_S

    def _report_failed(self, request: Request, error: MillraceError) -> None:
        if len(request.acks) == 1 and is_about_content(error):
            self._ledger.refuse(request.acks[0], error)
            return
        self._keep(request.acks, error)
        self._note_refusal(error)
        if not is_about_content(error):
            self._link.lost(error)
            pause = max(jittered(self._report_failures), error.retry_after or 0.0)
            self._report_failures += 1
            self._report_not_before = time.monotonic() + pause

    # What an answer means

    def _take(self, request: Request, answer: Answer) -> None:
        brought = self._ledger.take(request, answer)
        self._asked -= request.limit
        for attempt in brought:
            if not attempt.is_timeout_known:
                self._spawn(self._pulse.learn_timeout(attempt))
        for command in answer.commands:
            self._obey(command)
        self._pulse.arm()

    def _keep(self, acks: Sequence[Ack], error: MillraceError) -> None:
        """Keep unanswered outcomes. If one may be the reason, each is then sent alone."""
        if is_about_content(error):
            self._outbox.add_alone(acks)
        else:
            self._outbox.give_back(acks)
        self._reporter_wakes.set()

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
        elif kind == "stop" and not self._ledger.stopping:
            _logger.info("the server told the worker to stop")
            self.stop()
