"""The common part of both clients: the server's address, the handlers, the middleware."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Callable, TypeVar

from ._config import Config
from ._handlers import Handler, Middleware, check_middleware
from ._time import Duration, to_seconds
from ._trace import TraceSource

M = TypeVar("M", bound=Callable[..., Any])


class App:
    """The base of the clients: handlers by type, and the middleware around them."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        timeout: Duration,
        ca_file: str | None,
        ssl_context: ssl.SSLContext | None,
        current_trace: TraceSource | None,
        queue_full_timeout: Duration = 2.0,
    ) -> None:
        self._config = Config(url, token, ca_file, ssl_context)
        self._timeout = to_seconds("timeout", timeout)
        self._queue_full_timeout = to_seconds("queue_full_timeout", queue_full_timeout)
        self._current_trace = current_trace
        self._handlers: dict[str, Handler] = {}
        self._middleware: list[Middleware] = []

    @property
    def url(self) -> str:
        """The server's address."""
        return self._config.url

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers, by type."""
        return self._handlers

    def middleware(self, function: M) -> M:
        """Wrap each handler in `function`. Middleware added first is the outermost.

        A generator function wraps synchronous and asynchronous handlers. It is given the context.
        The handler runs at its `yield`, which returns the handler's result or raises its exception.
        The generator's return value is the result:

            @app.middleware
            def timed(ctx):
                began = time.monotonic()
                result = yield
                print(ctx.job.type, time.monotonic() - began)
                return result

        An `async def` wraps asynchronous handlers only. It is given the context and the next step:
        `return await call_next()`.

        Either may raise, before or after the handler, to change the outcome.
        """
        self._middleware.append(check_middleware(function))
        return function

    def _add_handler(self, type: str, function: Callable[..., Any], queue: str | None) -> Handler:
        if type in self._handlers:
            raise ValueError(f"the type {type!r} has a handler already")
        handler = Handler(type, function, queue)
        self._handlers[type] = handler
        return handler
