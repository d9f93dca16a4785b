"""Workers claim jobs, run the application's handlers, and report the outcomes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ._core import Core
from ._handlers import Handler, check_chain
from ._link import Link, Options
from ._runner import Tasks, Threads
from ._time import Duration, to_seconds
from .logs import capturing

if TYPE_CHECKING:
    from ._app import App

__all__ = ["AsyncWorker", "Worker"]

class _Worker:
    """The common part of both workers: the core on its own thread."""

    def __init__(
        self,
        app: App,
        *,
        queues: Sequence[str] | None = None,
        concurrency: int = 10,
        lease: Duration | None = None,
        poll_wait: Duration = 10.0,
        grace: Duration = 25.0,
        id: str | None = None,
        version: str | None = None,
        capture_logs: bool = True,
    ) -> None:
        if not app.handlers:
            raise ValueError("the application has no handlers")
        if concurrency < 1:
            raise ValueError("concurrency must be 1 or more")
        check_chain(app.handlers, app._middleware)
        host = socket.gethostname()
        pid = os.getpid()
        self._app = app
        self._capture_logs = capture_logs
        self._handlers: Mapping[str, Handler] = dict(app.handlers)
        self._options = Options(
            id=id or f"{_name(host)}-{pid}-{secrets.token_hex(4)}",
            queues=_queues(queues, self._handlers),
            types=list(self._handlers),
            concurrency=concurrency,
            lease_s=None if lease is None else to_seconds("lease", lease),
            poll_wait_s=min(to_seconds("poll_wait", poll_wait), 60.0),
            grace_s=to_seconds("grace", grace),
            timeout_s=app._timeout,
            host=host,
            pid=pid,
            version=version or os.environ.get("MILLRACE_WORKER_VERSION"),
        )
        self._lock = threading.Lock()
        self._core: Core | None = None
        self._core_loop: asyncio.AbstractEventLoop | None = None
        self._stops = 0  # calls of `stop` before the core ran
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()

    @property
    def id(self) -> str:
        """The worker's name."""
        return self._options.id

    @property
    def is_running(self) -> bool:
        """Whether it runs: False before `start`, and after its end, whatever ended it."""
        return self._core is not None and not self._ended.done()

    def stop(self) -> None:
        """Begin the stop: the worker claims no more, and handlers have the grace time.

        A second call ends the grace time. Returns at once. Threads and signal handlers may call it.
        """
        with self._lock:
            loop, core = self._core_loop, self._core
            if loop is None or core is None:
                self._stops += 1
                return
        try:
            loop.call_soon_threadsafe(core.stop)
        except RuntimeError:
            pass  # it has ended

    def _launch(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Start the core. Asynchronous handlers will run on `loop`."""
        if self._core is not None:
            raise RuntimeError("a worker runs once; make another")
        middleware = list(self._app._middleware)
        core: Core
        threads = Threads(middleware, lambda attempt, outcome: core.ended(attempt, outcome))
        tasks = None
        if loop is not None:
            tasks = Tasks(loop, middleware, lambda attempt, outcome: core.ended(attempt, outcome))
        link = Link(self._app._config, self._options)
        core = Core(link, self._options, self._handlers, threads, tasks)
        self._core = core
        is_running = threading.Event()

        def note_loop() -> None:
            with self._lock:
                self._core_loop = asyncio.get_running_loop()
                for _ in range(self._stops):
                    self._core_loop.call_soon(core.stop)
            is_running.set()

        def work() -> None:
            try:
                with capturing(self._capture_logs):
                    asyncio.run(core.run(note_loop))
            except BaseException as error:
                self._ended.set_exception(error)
            else:
                self._ended.set_result(None)
            finally:
                threads.close()
                is_running.set()

        threading.Thread(target=work, name="millrace-worker", daemon=True).start()
        is_running.wait()


class Worker(_Worker):
    """A worker of a synchronous application, created by `Millrace.worker`.

    Synchronous handlers run in threads, asynchronous ones on an event loop in a thread.
    """

    def run(self) -> None:
        """Work until `stop()` or the server's command. `Millrace.work` also ends at signals.

        Raises:
            MillraceError: the server refused the worker permanently, e.g. because of its token.
        """
        self.start()
        self.join()

    def start(self) -> None:
        """Start the worker and return. A worker runs once."""
        self._loop: asyncio.AbstractEventLoop | None = None
        if any(handler.is_async for handler in self._handlers.values()):
            self._loop = asyncio.new_event_loop()
            threading.Thread(
                target=_run_loop, args=(self._loop,), name="millrace-handlers", daemon=True
            ).start()
            self._ended.add_done_callback(self._end_loop)
        self._launch(self._loop)

    def join(self, timeout: Duration | None = None) -> bool:
        """Wait for the worker's end. Returns whether it has ended.

        Raises:
            MillraceError: the server refused the worker permanently.
        """
        ends_in = None if timeout is None else to_seconds("timeout", timeout)
        try:
            self._ended.result(ends_in)
        except concurrent.futures.TimeoutError:
            if self._ended.done():
                raise
            return False
        return True

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.join()

    def _end_loop(self, _: object) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(_stop_when_idle(), self._loop)


class AsyncWorker(_Worker):
    """A worker of an asynchronous application, created by `AsyncMillrace.worker`.

    Asynchronous handlers run on the loop that started it, synchronous ones in threads. It leaves
    signals to its host: a web server that starts it in its lifespan stops it there.

        async with app.worker():
            ...  # it works
    """

    async def run(self) -> None:
        """Work until `stop()`, the server's command or cancellation. `AsyncMillrace.work` also ends
        at signals.

        Raises:
            MillraceError: the server refused the worker permanently, e.g. because of its token.
        """
        self.start()
        try:
            await self.join()
        except asyncio.CancelledError:
            self.stop()
            await self.join()
            raise

    def start(self) -> None:
        """Start the worker on the running loop, and return. A worker runs once."""
        self._launch(asyncio.get_running_loop())

    async def join(self) -> None:
        """Wait for the worker's end. If this call is cancelled, the worker runs on.

        Raises:
            MillraceError: the server refused the worker permanently.
        """
        await asyncio.shield(asyncio.wrap_future(self._ended))

    async def __aenter__(self) -> AsyncWorker:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        await self.join()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def _stop_when_idle() -> None:
    """Stop the handlers' loop once the handlers that outlived the grace time have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others)
    asyncio.get_running_loop().stop()


def _queues(given: Sequence[str] | None, handlers: Mapping[str, Handler]) -> list[str]:
    """Return the given queues, else those that the handlers name."""
    if isinstance(given, str):
        raise TypeError("queues must be a list of names, not one name")
    if given is not None:
        if not given:
            raise ValueError("a worker needs a queue")
        return list(given)
    return list(dict.fromkeys(handler.queue or "default" for handler in handlers.values()))


def _name(host: str) -> str:
    """Return a host's name as part of a worker's name, which allows only some characters."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in host)[:80]
