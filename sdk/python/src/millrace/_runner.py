"""Running handlers: synchronous ones in threads, asynchronous ones on an event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from typing import Any, Callable

from ._attempt import Attempt, nothing
from ._current import set_running
from ._handlers import Middleware, run_async, run_sync
from ._outcome import Outcome, log_failure, outcome_of, outcome_unbegun

Ended = Callable[[Attempt, Outcome], None]
"""Takes the outcome of a handler, on the thread that ran it."""


class Threads:
    """Runs synchronous handlers. A thread is created if none is idle, and is kept.

    Threads are daemons: a handler that outlives the worker's grace time does not keep the process
    alive.
    """

    def __init__(self, middleware: Sequence[Middleware], ended: Ended) -> None:
        self._middleware = middleware
        self._ended = ended
        self._waiting: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    def start(self, attempt: Attempt) -> None:
        with self._lock:
            has_idle = self._idle > 0
            if has_idle:
                self._idle -= 1  # the thread is reserved
            else:
                self._count += 1
        self._waiting.put(attempt)
        if not has_idle:
            threading.Thread(target=self._run, name="millrace-handler", daemon=True).start()

    def close(self) -> None:
        """End the threads, each as soon as it is idle."""
        for _ in range(self._count):
            self._waiting.put(None)

    def _run(self) -> None:
        while True:
            attempt = self._waiting.get()
            if attempt is None:
                return
            outcome = self._handle(attempt)
            with self._lock:
                self._idle += 1
            self._ended(attempt, outcome)
            del attempt, outcome

    def _handle(self, attempt: Attempt) -> Outcome:
        context = attempt.context
        if not attempt.may_begin():
            return outcome_unbegun(context)
        set_running(context)
        try:
            result = run_sync(attempt.handler, self._middleware, context)
            outcome = outcome_of(context, result, None)
            log_failure(context, outcome, None)
        except BaseException as error:  # any exception of a handler is its outcome
            outcome = outcome_of(context, None, error)
            log_failure(context, outcome, error)
        finally:
            set_running(None)  # the thread lives on and must not keep this job's objects
        return outcome


class Tasks:
    """Runs asynchronous handlers, each as a task of `loop`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, middleware: Sequence[Middleware], ended: Ended
    ) -> None:
        self._loop = loop
        self._middleware = middleware
        self._ended = ended
        self._tasks: set[asyncio.Task[Any]] = set()  # the loop itself keeps only weak references

    def start(self, attempts: list[Attempt]) -> None:
        """Start the handlers of attempts. Thread-safe."""
        self._loop.call_soon_threadsafe(self._start, attempts)

    def _start(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            _Task(self, attempt)


class _Task:
    def __init__(self, tasks: Tasks, attempt: Attempt) -> None:
        self._tasks = tasks
        self._attempt = attempt
        self._has_ended = False
        self._task: asyncio.Task[None] = tasks._loop.create_task(self._handle())
        tasks._tasks.add(self._task)
        self._task.add_done_callback(self._done)
        attempt.interrupt = self._interrupt
        if attempt.context.stop_reason is not None:
            self._cancel()  # the handler was told before this task could be reached

    async def _handle(self) -> None:
        context = self._attempt.context
        if not self._attempt.may_begin():
            self._has_ended = True
            self._tasks._ended(self._attempt, outcome_unbegun(context))
            return
        set_running(context)
        try:
            result = await run_async(self._attempt.handler, self._tasks._middleware, context)
        except BaseException as error:  # any exception of a handler is its outcome
            self._end(None, error)
        else:
            self._end(result, None)

    def _end(self, result: Any, error: BaseException | None) -> None:
        self._has_ended = True
        self._attempt.interrupt = nothing
        outcome = outcome_of(self._attempt.context, result, error)
        log_failure(self._attempt.context, outcome, error)
        self._tasks._ended(self._attempt, outcome)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks._tasks.discard(task)
        if not self._has_ended:  # cancelled before its first step
            self._end(None, asyncio.CancelledError())

    def _interrupt(self) -> None:
        """Interrupt the handler. Called by the worker's thread."""
        try:
            self._tasks._loop.call_soon_threadsafe(self._cancel)
        except RuntimeError:
            pass  # the loop is closed, and the handler ended with it

    def _cancel(self) -> None:
        if not self._has_ended:
            self._task.cancel()
