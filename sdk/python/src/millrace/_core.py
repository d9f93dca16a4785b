"""The worker's state machine. One event loop, on a thread of its own, owns all of it.

Two tasks speak with the server. The *claimer* has a poll under way that claims jobs and takes
along the outcomes there are. The *reporter*, on a second connection, sends what cannot wait for the
claimer: outcomes while a claim waits, heartbeats, log lines. Handlers run elsewhere and hand over
their outcomes through `ended`; that a handler keeps its thread or its loop to itself stops nothing
here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from . import _json
from ._aio_http import AsyncTransport
from ._attempt import Attempt, Key
from ._calls import Lost, error_of, jittered
from ._config import Config
from ._handlers import Handler
from ._operations import poll
from ._outcome import CANCELLED, RELEASED, Outcome, refused
from ._runner import Tasks, Threads
from ._version import __version__
from .context import Line
from .errors import MillraceError, Unreachable, from_problem, is_temporary

_logger = logging.getLogger("millrace.worker")

INFINITY = float("inf")
ACK_DELAY_S = 0.005
ACK_BATCH = 64
LINE_DELAY_S = 0.5
PROGRESS_DELAY_S = 0.5
# Outcomes are answered only when the claim beside them has waited. A refusal must be known soon.
WAIT_WITH_ACKS_S = 1.0
# At a stop, a claim that is younger may still be answered, and its jobs given back.
YOUNG_CLAIM_S = 0.5
GOODBYE_S = 1.0  # for what nobody depends on
LAST_WORD_S = 1.0  # what handlers have after they were told `stopping`
FLUSH_S = 10.0  # for the last outcomes
PAUSE_AFTER_REFUSAL_S = 0.2
MAX_ITEMS = 1000
MAX_ACK_BYTES = 4 << 20  # in one poll; the server takes 16 MiB


@dataclass(frozen=True)
class Options:
    """What a worker is to do. Durations in seconds."""

    id: str
    queues: Sequence[str]
    concurrency: int
    lease_s: float | None
    poll_wait_s: float
    grace_s: float
    timeout_s: float
    host: str
    pid: int


class Ack:
    """An outcome that the server has not answered yet. Sent again, it is the same text."""

    __slots__ = ("id", "is_substitute", "since", "text", "token")

    def __init__(self, id: str, token: int, text: str, since: float, is_substitute: bool = False):
        self.id = id
        self.token = token
        self.text = text
        self.since = since
        self.is_substitute = is_substitute


class Request:
    """What goes into one poll."""

    def __init__(self) -> None:
        self.acks: list[Ack] = []
        self.beats: list[tuple[Attempt, dict[str, str]]] = []
        self.lines: list[tuple[Attempt, Line]] = []
        self.limit = 0  # of the claim; 0: no claim
        self.wait_s = 0.0

    def is_empty(self) -> bool:
        return not (self.acks or self.beats or self.lines or self.limit)


class Core:
    """See the module. Every method runs on the core's loop, unless it says otherwise."""

    def __init__(
        self,
        config: Config,
        options: Options,
        handlers: Mapping[str, Handler],
        threads: Threads,
        tasks: Tasks | None,
    ) -> None:
        self._config = config
        self._options = options
        self._handlers = handlers
        self._threads = threads
        self._tasks = tasks
        self._transport = AsyncTransport(config)
        self._types = list(handlers)
        self._worker_info = {
            "host": options.host,
            "pid": options.pid,
            "sdk": "python",
            "version": __version__,
        }

        self._attempts: dict[Key, Attempt] = {}
        self._outbox: deque[Ack] = deque()
        self._alone: deque[Ack] = deque()  # each goes in a poll of its own
        self._asked = 0  # jobs that claims under way may bring
        self._reporting = 0  # outcomes on the reporter's connection: their leases may still live
        self._in_flight = 0  # outcomes on either connection
        self._beat_due = INFINITY  # not later than the earliest heartbeat
        self._lines_due = INFINITY
        self._report_not_before = 0.0
        self._claim_began = 0.0
        self._claim_failures = 0
        self._report_failures = 0
        self._is_claiming = False
        self._is_away = False  # the claimer pauses: the reporter takes the outcomes
        self._is_lost = False  # the server
        self._was_reached = False

        self.stopping = False
        self._is_told_stopping = False
        self._is_closing = False
        self._fatal: MillraceError | None = None
        self._claim: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = INFINITY
        self._breaker: asyncio.TimerHandle | None = None
        self._grace: asyncio.TimerHandle | None = None

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
        self._idle = asyncio.Event()
        is_running()
        reporter = self._loop.create_task(self._report())
        try:
            await self._claim_until_stopped()
            await self._drain()
        finally:
            self._is_closing = True
            for timer in (self._timer, self._breaker, self._grace):
                if timer is not None:
                    timer.cancel()
            self._reporter_wakes.set()
            await asyncio.wait([reporter], timeout=GOODBYE_S)
            reporter.cancel()  # if it still waits for an answer that nobody needs
            await self._say_goodbye()
            await self._transport.close()
        if self._fatal is not None:
            raise self._fatal

    def stop(self) -> None:
        """The first call begins the stop; the next one ends the grace time."""
        if self.stopping:
            self._end_grace()
            return
        self.stopping = True
        self._is_away = True
        self._grace = self._loop.call_later(self._options.grace_s, self._end_grace)
        self._claimer_wakes.set()
        self._reporter_wakes.set()
        if self._claim is not None:
            age = time.monotonic() - self._claim_began
            self._breaker = self._loop.call_later(max(YOUNG_CLAIM_S - age, 0), self._break_off)
        self._note_idle()

    def _break_off(self) -> None:
        if self._claim is not None:
            self._claim.cancel()

    def _end_grace(self) -> None:
        if self._is_told_stopping:
            return
        self._is_told_stopping = True
        if self._grace is not None:
            self._grace.cancel()
        for attempt in list(self._attempts.values()):
            if attempt.outcome is None:
                attempt.tell("stopping")
        self._grace = self._loop.call_later(LAST_WORD_S, self._give_up)

    def _give_up(self) -> None:
        """Releases what still runs; the handlers' later outcomes are ignored."""
        for attempt in list(self._attempts.values()):
            if attempt.outcome is not None:
                continue
            attempt.is_given_up = True
            if attempt.is_lost:
                self._forget(attempt)
            else:
                self._finish(attempt, RELEASED)

    async def _drain(self) -> None:
        """Waits for running handlers, then for the answers to the last outcomes."""
        while self._attempts:
            await self._sleep(self._idle, INFINITY)
        ends = time.monotonic() + (2.0 if self._fatal is not None else FLUSH_S)
        while self._outbox or self._alone or self._in_flight:
            if time.monotonic() >= ends:
                _logger.warning(
                    "the worker stops before it could report all outcomes; the server will run "
                    "those jobs again"
                )
                return
            self._reporter_wakes.set()
            await self._sleep(self._idle, ends)

    async def _sleep(self, wakes: asyncio.Event, until: float) -> None:
        """Sleeps until the event is set, and no longer than `until`."""
        wakes.clear()
        timer = None if until == INFINITY else self._loop.call_at(until, wakes.set)
        await wakes.wait()
        if timer is not None:
            timer.cancel()

    def _note_idle(self) -> None:
        self._idle.set()

    async def _say_goodbye(self) -> None:
        """Takes the worker off the server's list. Nothing depends on it, so it is tried once."""
        if not self._was_reached or self._is_lost:
            return
        with contextlib.suppress(Lost, MillraceError):
            await self._transport.send(poll(self._options.id, b'{"goodbye":true}'), GOODBYE_S)

    # The claimer

    async def _claim_until_stopped(self) -> None:
        while not self.stopping:
            self._is_away = False
            if self._free() <= 0:
                await self._sleep(self._claimer_wakes, INFINITY)
                continue
            await self._claim_once()

    def _free(self) -> int:
        """Slots that nothing can fill. An outcome frees its slot when it is sent with the claim,
        or answered: until then the server may count the job as this worker's.
        """
        taken = len(self._attempts) + self._asked + self._reporting + len(self._alone)
        return self._options.concurrency - taken

    async def _claim_once(self) -> None:
        request = Request()
        request.acks = self._take_acks()
        request.limit = min(self._free() - len(self._outbox), MAX_ITEMS)
        if request.limit <= 0:  # more outcomes wait than one poll takes
            self._is_away = True
            self._outbox.extendleft(reversed(request.acks))
            self._reporter_wakes.set()
            await self._sleep(self._claimer_wakes, INFINITY)
            return
        request.wait_s = self._options.poll_wait_s
        if request.acks:
            request.wait_s = min(request.wait_s, WAIT_WITH_ACKS_S)
        began = self._claim_began = time.monotonic()
        self._asked += request.limit
        self._in_flight += len(request.acks)
        self._is_claiming = True
        self._claim = self._loop.create_task(
            self._exchange(request, request.wait_s + self._options.timeout_s)
        )
        try:
            brought = await self._claim
        except asyncio.CancelledError:
            if not self.stopping:
                raise
            self._keep(request.acks)  # broken off by the stop
        except MillraceError as error:
            self._keep_or_isolate(request.acks, error)
            if _is_for_good(error) and not request.acks:
                self._end_with(error)
                return
            if error.status in (401, 403):
                self._end_with(error)
                return
            if not _is_about_content(error):
                self._server_lost(error)
            await self._pause_claims(error.retry_after or 0.0)
        else:
            self._claim_failures = 0
            # A server that is about to end lets no claim wait.
            is_early = time.monotonic() - began < request.wait_s / 2
            if is_early and not brought and request.wait_s > 0.1:
                await self._pause_claims(0.0)
                self._claim_failures = min(self._claim_failures, 4)
        finally:
            self._claim = None
            self._is_claiming = False
            self._asked -= request.limit
            self._in_flight -= len(request.acks)
            self._note_idle()

    async def _pause_claims(self, at_least: float) -> None:
        self._is_away = True
        self._is_claiming = False
        self._reporter_wakes.set()
        pause = max(jittered(self._claim_failures), at_least)
        self._claim_failures += 1
        ends = time.monotonic() + pause
        while not self.stopping and time.monotonic() < ends:
            await self._sleep(self._claimer_wakes, ends)

    def _end_with(self, error: MillraceError) -> None:
        self._fatal = self._fatal or error
        if not self.stopping:
            _logger.error("the worker ends: %s", error)
            self.stop()

    # The reporter

    async def _report(self) -> None:
        while not self._is_closing:
            due = self._report_due()
            if due > time.monotonic():
                await self._sleep(self._reporter_wakes, due)
                continue
            self._tick()
            if self._alone and self._alone[0].since <= time.monotonic():
                await self._send_report(self._alone_request())
                continue
            request = self._next_report(time.monotonic())
            if not request.is_empty():
                await self._send_report(request)

    def _report_due(self) -> float:
        due = min(self._acks_due(), self._beat_due, self._lines_due)
        if self._alone:
            due = min(due, self._alone[0].since)
        return due if due == INFINITY else max(due, self._report_not_before)

    def _acks_due(self) -> float:
        """When the reporter must send the outbox, if the claimer has not done so by then."""
        if not self._outbox or not (self._is_claiming or self._is_away):
            return INFINITY
        nothing_joins_them = self.stopping or not self._attempts
        if nothing_joins_them or len(self._outbox) >= ACK_BATCH:
            return self._outbox[0].since
        return self._outbox[0].since + ACK_DELAY_S

    def _next_report(self, now: float) -> Request:
        request = Request()
        if self._acks_due() <= now:
            request.acks = self._take_acks()
        if now >= self._beat_due:
            self._add_beats(request, now)
        if now >= self._lines_due:
            self._add_lines(request)
        if request.acks and self._is_claiming and not self.stopping and not self._is_lost:
            # For slots that the claimer's poll did not ask for. Those that these outcomes leave
            # are free once they are answered, as this claim is.
            free = self._free() - len(self._outbox)
            if self._claim_began + 0.001 < now and free > 0:
                request.limit = min(free, MAX_ITEMS)
        return request

    def _add_beats(self, request: Request, now: float) -> None:
        due = INFINITY
        for attempt in self._attempts.values():
            if attempt.next_beat <= now and len(request.beats) < MAX_ITEMS:
                progress = {} if attempt.is_plain else attempt.context._take_progress()
                attempt.is_plain = False
                attempt.next_beat = now + attempt.lease_s / 3
                request.beats.append((attempt, progress))
            due = min(due, attempt.next_beat)
        self._beat_due = due

    def _add_lines(self, request: Request) -> None:
        self._lines_due = INFINITY
        for attempt in self._attempts.values():
            lines = attempt.context._take_lines(MAX_ITEMS - len(request.lines))
            if lines:
                attempt.lines_under_way = True
                request.lines += [(attempt, line) for line in lines]
            if len(request.lines) == MAX_ITEMS:
                self._lines_due = 0.0  # there may be more
                return

    def _alone_request(self) -> Request:
        request = Request()
        request.acks = [self._alone.popleft()]
        return request

    async def _send_report(self, request: Request) -> None:
        self._asked += request.limit
        self._reporting += len(request.acks)
        self._in_flight += len(request.acks)
        try:
            await self._exchange(request, self._report_timeout(request))
        except MillraceError as error:
            self._report_failed(request, error)
        else:
            self._report_failures = 0
        finally:
            self._asked -= request.limit
            self._reporting -= len(request.acks)
            self._in_flight -= len(request.acks)
            self._lines_told(request)
            self._claimer_wakes.set()
            self._note_idle()

    def _report_timeout(self, request: Request) -> float:
        """A connection that hangs must not cost the leases."""
        if not self._attempts:
            return self._options.timeout_s
        shortest = min(attempt.lease_s for attempt in self._attempts.values()) / 3
        size = sum(len(ack.text) for ack in request.acks)
        return max(shortest, 0.5) + size / (256 << 10)  # a slow line needs a second for 256 KiB

    def _report_failed(self, request: Request, error: MillraceError) -> None:
        now = time.monotonic()
        is_alone = len(request.acks) == 1 and not request.beats and not request.lines
        if is_alone and _is_about_content(error):
            self._refuse(request.acks[0], error)
        else:
            self._keep_or_isolate(request.acks, error)
        pause = 0.0
        if not _is_about_content(error):
            self._server_lost(error)
            pause = max(jittered(self._report_failures), error.retry_after or 0.0)
            self._report_failures += 1
        elif request.beats:
            _logger.warning("the server refused heartbeats: %s", error)
        if self._attempts:
            pause = min(pause, min(a.lease_s for a in self._attempts.values()) / 6)
        self._report_not_before = now + pause
        for attempt, progress in request.beats:
            if not _is_about_content(error):
                attempt.context._give_back_progress(progress)
            self._beat_again(attempt, now + pause, is_plain=_is_about_content(error))
        # Lines are not sent again: they may have arrived, and a line twice is worse than one less.
        if error.status in (401, 403):
            self._end_with(error)

    def _beat_again(self, attempt: Attempt, when: float, is_plain: bool = False) -> None:
        attempt.next_beat = when
        attempt.is_plain = is_plain
        self._beat_due = min(self._beat_due, when)

    def _lines_told(self, request: Request) -> None:
        """Arrived or lost: what had to wait behind the lines may go."""
        for attempt in {attempt.key: attempt for attempt, _ in request.lines}.values():
            attempt.lines_under_way = False
            self._settle_if_ready(attempt)

    # A round trip

    async def _exchange(self, request: Request, timeout: float) -> bool:
        """Sends a poll and acts on its answer. Returns whether it brought jobs or commands."""
        sent = time.monotonic()
        call = poll(self._options.id, self._body_of(request))
        try:
            response = await self._transport.send(call, timeout)
        except Lost as lost:
            raise Unreachable(str(lost), code="unreachable") from None
        if response.status != 200:
            raise error_of(response)
        answer = call.read(response)
        self._server_back()
        self._settle_acks(request.acks, answer.get("acks") or [])
        self._settle_beats(request.beats, answer.get("heartbeats") or [], sent)
        jobs = answer.get("jobs") or []
        if jobs:
            self._admit(jobs, sent)
        commands = answer.get("commands") or []
        for command in commands:
            self._obey(command)
        self._set_timer()
        return bool(jobs or commands)

    def _body_of(self, request: Request) -> bytes:
        members = []
        if request.acks:
            members.append(f'"acks":[{",".join(ack.text for ack in request.acks)}]')
        if request.beats:
            beats = ",".join(attempt.heartbeat(progress) for attempt, progress in request.beats)
            members.append(f'"heartbeats":[{beats}]')
        if request.lines:
            lines = [
                {"id": attempt.id, "token": attempt.token, **line.to_wire()}
                for attempt, line in request.lines
            ]
            members.append(f'"logs":{_json.dumps(lines)}')
        if request.limit:
            claim: dict[str, Any] = {
                "queues": list(self._options.queues),
                "types": self._types,
                "limit": request.limit,
                "wait_ms": round(request.wait_s * 1000),
                "worker": self._worker_info,
            }
            if self._options.lease_s is not None:
                claim["lease_ms"] = round(self._options.lease_s * 1000)
            members.append(f'"claim":{_json.dumps(claim)}')
        return f"{{{','.join(members)}}}".encode()

    def _settle_acks(self, acks: Sequence[Ack], answers: Sequence[Mapping[str, Any]]) -> None:
        now = time.monotonic()
        for index, ack in enumerate(acks):
            error = _item_error(answers, index)
            if error is None:
                continue
            if error.code == "lease_lost":
                _logger.warning("job %s: the lease was lost before its outcome was known", ack.id)
            elif is_temporary(error):
                ack.since = now + PAUSE_AFTER_REFUSAL_S
                self._alone.append(ack)
            else:
                self._refuse(ack, error)

    def _settle_beats(
        self,
        beats: Sequence[tuple[Attempt, dict[str, str]]],
        answers: Sequence[Mapping[str, Any]],
        sent: float,
    ) -> None:
        now = time.monotonic()
        started: list[Attempt] = []
        for index, (attempt, progress) in enumerate(beats):
            if attempt.key not in self._attempts:
                continue
            error = _item_error(answers, index)
            if error is None:
                attempt.extended(sent, attempt.lease_s)
                self._beat_due = min(self._beat_due, attempt.next_beat)
                self._beat_succeeded(attempt, answers[index], started)
            elif error.code == "lease_lost":
                self._lose(attempt)
            elif is_temporary(error):
                attempt.context._give_back_progress(progress)
                self._beat_again(attempt, now + PAUSE_AFTER_REFUSAL_S)
            else:
                _logger.warning("job %s: the server refused the progress: %s", attempt.id, error)
                self._beat_again(attempt, now if progress else attempt.next_beat, is_plain=True)
                self._settle_if_ready(attempt)
        self._start(started)

    def _beat_succeeded(
        self, attempt: Attempt, answer: Mapping[str, Any], started: list[Attempt]
    ) -> None:
        is_cancelled = bool(answer.get("cancel_requested"))
        if not attempt.is_started:
            attempt.is_started = True
            if is_cancelled:
                self._finish(attempt, CANCELLED)
            elif self.stopping:
                self._finish(attempt, RELEASED)
            else:
                started.append(attempt)
            return
        if attempt.outcome is not None:
            self._settle_if_ready(attempt)
        elif is_cancelled:
            attempt.tell("cancelled")

    def _refuse(self, ack: Ack, error: MillraceError) -> None:
        """The server will never take this outcome: the attempt failed, and the substitute says why."""
        _logger.warning("job %s: the server refused the outcome: %s", ack.id, error)
        if not ack.is_substitute:
            text = refused(str(error)).to_ack(ack.id, ack.token, ())
            self._put(Ack(ack.id, ack.token, text, time.monotonic(), is_substitute=True))

    def _keep(self, acks: Sequence[Ack]) -> None:
        """These were not answered. If the server had them already, it answers as the first time."""
        self._outbox.extendleft(reversed(acks))
        self._reporter_wakes.set()

    def _keep_or_isolate(self, acks: Sequence[Ack], error: MillraceError) -> None:
        """One of the outcomes may be why the request was refused: alone, each gets its answer."""
        if _is_about_content(error):
            self._alone.extend(acks)
            self._reporter_wakes.set()
        else:
            self._keep(acks)

    # Attempts

    def _admit(self, jobs: Sequence[Mapping[str, Any]], sent: float) -> None:
        now = time.monotonic()
        ready: list[Attempt] = []
        for raw in jobs:
            handler = self._handlers.get(raw["type"])
            if self.stopping or handler is None:
                # As if it had not been claimed.
                token = raw["lease"]["token"]
                self._put(Ack(raw["id"], token, RELEASED.to_ack(raw["id"], token, ()), now))
                continue
            attempt = Attempt(raw, handler, sent, now, lambda: None)
            key = attempt.key
            attempt.context._news = lambda key=key: self.news(key)  # type: ignore[misc]
            attempt.context._stopping = self._says_stopping
            self._attempts[key] = attempt
            self._beat_due = min(self._beat_due, attempt.next_beat)
            if attempt.is_started:
                ready.append(attempt)
        self._reporter_wakes.set()
        self._start(ready)

    def _says_stopping(self) -> bool:
        return self.stopping

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
        while self._ended:
            attempt, outcome = self._ended.popleft()
            if attempt.key not in self._attempts or attempt.is_given_up:
                continue
            if attempt.is_lost:
                self._forget(attempt)
            else:
                self._finish(attempt, outcome)
        now = time.monotonic()
        while self._with_news:
            key = self._with_news.popleft()
            known = self._attempts.get(key)
            if known is None:
                continue
            if known.context._progress:
                known.next_beat = min(known.next_beat, now + PROGRESS_DELAY_S)
                self._beat_due = min(self._beat_due, known.next_beat)
            if known.context._lines:
                self._lines_due = min(self._lines_due, now + LINE_DELAY_S)
        if self._report_due() < INFINITY:
            self._reporter_wakes.set()

    def _finish(self, attempt: Attempt, outcome: Outcome) -> None:
        attempt.outcome = outcome
        self._settle_if_ready(attempt)

    def _settle_if_ready(self, attempt: Attempt) -> None:
        """Sends the outcome, unless progress or lines must be answered first: the server takes
        neither for a job that has ended, and a checkpoint must not be lost with a snooze.
        """
        outcome = attempt.outcome
        if outcome is None or attempt.key not in self._attempts:
            return
        now = time.monotonic()
        context = attempt.context
        must_wait = attempt.lines_under_way
        if context._progress and not attempt.is_plain:
            must_wait = True
            self._beat_again(attempt, now)
        if len(context._lines) >= MAX_ITEMS - len(outcome.lines):
            must_wait = True
            self._lines_due = now
        if must_wait:
            self._reporter_wakes.set()
            return
        lines = context._take_lines(MAX_ITEMS)
        self._forget(attempt)
        text = outcome.to_ack(attempt.id, attempt.token, lines)
        self._put(Ack(attempt.id, attempt.token, text, now))

    def _put(self, ack: Ack) -> None:
        self._outbox.append(ack)
        self._claimer_wakes.set()
        if self._is_claiming or self._is_away:
            self._reporter_wakes.set()

    def _forget(self, attempt: Attempt) -> None:
        self._attempts.pop(attempt.key, None)
        self._claimer_wakes.set()
        self._note_idle()

    def _lose(self, attempt: Attempt) -> None:
        if not attempt.is_started or attempt.outcome is not None:
            self._forget(attempt)
            return
        if not attempt.is_lost:
            _logger.warning("job %s: the lease is lost", attempt.id)
        attempt.next_beat = INFINITY
        attempt.tell("lease_lost")

    def _obey(self, command: Mapping[str, Any]) -> None:
        kind = command.get("type")
        if kind == "cancel":
            attempt = self._attempts.get((str(command.get("job_id")), int(command.get("token", 0))))
            if attempt is not None and attempt.is_started and attempt.outcome is None:
                attempt.tell("cancelled")
        elif kind == "stop" and not self.stopping:
            _logger.info("the server told the worker to stop")
            self.stop()
        # `quiet` needs nothing done: the claims of a quiet worker come back empty.

    # The clock

    def _set_timer(self) -> None:
        due = min((attempt.due() for attempt in self._attempts.values()), default=INFINITY)
        if due >= self._timer_at:
            return  # the timer comes earlier, and looks again
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = self._loop.call_at(due, self._timer_fires)

    def _timer_fires(self) -> None:
        self._timer_at = INFINITY
        self._tick()
        self._set_timer()

    def _tick(self) -> None:
        """Tells handlers whose lease is no longer certain, or whose time is over."""
        now = time.monotonic()
        for attempt in list(self._attempts.values()):
            if attempt.due() > now:
                continue
            if now >= (attempt.certain_until if attempt.is_started else attempt.over_at):
                self._lose(attempt)
                attempt.certain_until = attempt.over_at = INFINITY
            elif attempt.is_started:
                attempt.tell("timeout")

    def _take_acks(self) -> list[Ack]:
        taken: list[Ack] = []
        size = 0
        while self._outbox and len(taken) < MAX_ITEMS and size < MAX_ACK_BYTES:
            ack = self._outbox.popleft()
            size += len(ack.text)
            taken.append(ack)
        return taken

    # The server

    def _server_lost(self, error: MillraceError) -> None:
        if not self._is_lost:
            self._is_lost = True
            _logger.warning("%s; the worker tries again", error.message)

    def _server_back(self) -> None:
        self._was_reached = True
        if self._is_lost:
            self._is_lost = False
            _logger.info("the worker reached %s again", self._config.url)


def _item_error(answers: Sequence[Mapping[str, Any]], index: int) -> MillraceError | None:
    if index >= len(answers):
        return Unreachable("the server left out an answer", code="unreachable")
    problem = answers[index].get("error")
    return from_problem(problem) if problem else None


def _is_about_content(error: MillraceError) -> bool:
    """Whether something in the request was refused, rather than the request."""
    return error.status in (400, 413, 422) and (error.code != "bad_answer" or error.status == 413)


def _is_for_good(error: MillraceError) -> bool:
    return error.status in (400, 401, 403, 404, 413, 422) and error.code != "bad_answer"
