"""A client without a server, for the unit tests of applications."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, List, Literal, TypeVar, cast

from . import _json
from ._app import App
from ._calls import Call, Response
from ._current import set_running
from ._fake_server import FakeJob, FakeServer
from ._handlers import Handler, check_chain, run_async, run_sync
from ._http import Transport
from ._outcome import Outcome, outcome_of
from ._time import Duration, to_ms
from .aio import AsyncMillrace
from .client import Millrace
from .context import Context
from .logs import capturing
from .models import Job

__all__ = ["Fake"]

T = TypeVar("T")
Mode = Literal["drained", "inline"]


class Fake(Millrace):
    """Keeps jobs in memory and runs them with the application's handlers on request.

    `submit`, `submit_batch`, `get`, `list`, `cancel`, `retry`, `delete`, `logs` and `wait` behave
    as with a server; ids, idempotency keys and unique keys are respected. Retries, snoozes, delays
    and dead letters behave as on the server, but without jitter. `submit_tx` takes the job at once,
    and uses no database.

    Workflows do as with a server: their members are jobs that run in `drain`. They have no
    timeouts, and `retry_workflow` is missing.

    Queues, limits and schedules can be made, read, paused and deleted. A queue's `max_attempts`,
    `retry`, `lease_ms`, `max_ready` and pause hold. A schedule fires by `trigger_schedule` only,
    and limits hold nothing back. Other calls raise NotImplementedError, and so does `worker`, also
    that of the application: a test must not start a real one.

        with Fake(app) as fake:
            sign_up("ada@example.org")  # submits with `app`
            assert [job.payload for job in fake.enqueued("email.send")] == [...]
            assert fake.drain() == 1

    Args:
        app: the application whose handlers run the jobs. Within a `with` block, its own calls go
            to the fake, too.
        mode: `drained` makes jobs wait for `drain`; `inline` runs a due job during its submission.

    The clock starts at 2030-01-01T00:00:00Z and is moved only by `advance`.
    """

    def __init__(self, app: App | None = None, *, mode: Mode = "drained") -> None:
        super().__init__("http://fake.invalid", token="")
        self._app = app
        if app is not None:
            self._handlers = app._handlers
            self._middleware = app._middleware
        self._mode = mode
        self._server = FakeServer()
        self._transport = cast(Transport, _FakeTransport(self))
        self._before: Any = None

    def __enter__(self) -> Fake:
        app = self._app
        if app is not None:
            assert isinstance(app, (Millrace, AsyncMillrace))
            self._before = app._transport
            is_sync = isinstance(app, Millrace)
            app._transport = cast(Any, self._transport if is_sync else _AsyncFakeTransport(self))
        return self

    def __exit__(self, *_: object) -> None:
        if self._app is not None:
            cast(Any, self._app)._transport = self._before

    def drain(self) -> int:
        """Run every job that is due, by priority and age, including jobs that handlers submit.

        Returns the number of attempts that ran. Jobs of types without a handler are not run. In a
        running event loop, use `drain_async`.
        """
        return _run(self.drain_async())

    async def drain_async(self) -> int:
        """Do the same from a coroutine. Asynchronous handlers run on this loop."""
        check_chain(self._handlers, self._middleware)
        count = 0
        with capturing(True):
            while True:
                job = self._server.start_next(self._handlers)
                if job is None:
                    return count
                count += 1
                await self._run_one(job)

    def advance(self, duration: Duration) -> None:
        """Move the clock forward by seconds or a timedelta. Due jobs run only in `drain`."""
        self._server.advance(to_ms("duration", duration))

    def enqueued(self, type: str | None = None) -> List[Job]:
        """Return the submitted jobs of this type, or all, oldest first, with payload and result."""
        return [Job(job) for job in self._server.jobs(type)]

    async def _run_one(self, job: FakeJob) -> None:
        context = job.context
        assert context is not None
        handler = self._handlers[context.job.type]
        task = asyncio.create_task(self._outcome_of(handler, context))
        if handler.is_async:
            loop = asyncio.get_running_loop()

            def cancel(_: str) -> None:
                loop.call_soon_threadsafe(task.cancel)

            context.on_told(cancel)
        try:
            outcome = await task
        except asyncio.CancelledError as error:  # before its first step
            outcome = outcome_of(context, None, error)
        ack = _json.loads(f"{{{outcome.text}}}")
        self._server.end_attempt(job, ack, context._take_lines(1000))

    async def _outcome_of(self, handler: Handler, context: Context) -> Outcome:
        set_running(context)
        try:
            if handler.is_async:
                result = await run_async(handler, self._middleware, context)
            else:
                result = run_sync(handler, self._middleware, context)
        except BaseException as error:  # any exception of a handler is its outcome
            return outcome_of(context, None, error)
        return outcome_of(context, result, None)

    def _submits(self, call: Call[Any]) -> bool:
        is_one = call.path.endswith(_SUBMISSIONS) or call.path.startswith("/v1/workflows")
        return self._mode == "inline" and call.method == "POST" and is_one


_SUBMISSIONS = ("/jobs", "/jobs/batch")


class _FakeTransport:
    """Replaces a Transport."""

    is_fake = True

    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def send(self, call: Call[Any], timeout: float) -> Response:
        response = self._fake._server.answer(call)
        if self._fake._submits(call):
            _run(self._fake.drain_async())
        return response

    def close(self) -> None:
        pass


class _AsyncFakeTransport:
    """Replaces an AsyncTransport."""

    is_fake = True

    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    async def send(self, call: Call[Any], timeout: float) -> Response:
        response = self._fake._server.answer(call)
        if self._fake._submits(call):
            await self._fake.drain_async()
        return response

    async def close(self) -> None:
        pass


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Return the value of a coroutine, for code that can't await, even inside a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    values: List[T] = []
    errors: List[BaseException] = []

    def run() -> None:
        try:
            values.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return values[0]
