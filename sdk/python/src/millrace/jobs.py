"""Types of jobs: a handler, and how to submit its jobs."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import sys
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

from ._handlers import Handler
from ._options import JobOptions
from .models import NewJob, Submitted

if sys.version_info >= (3, 10):
    from typing import ParamSpec
elif TYPE_CHECKING:
    from typing_extensions import ParamSpec
else:
    ParamSpec = TypeVar  # good enough to name the parameters of a Generic

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .aio import AsyncMillrace
    from .client import Millrace

__all__ = ["AsyncJobType", "JobType"]

P = ParamSpec("P")
R = TypeVar("R")
Self = TypeVar("Self", bound="_JobType[Any, Any]")


class _JobType(Generic[P, R]):
    def __init__(self, function: Callable[P, R], handler: Handler, options: JobOptions) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._handler = handler
        self._options = options

    @property
    def type(self) -> str:
        """The type of these jobs."""
        return self._handler.type

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function directly, without a job."""
        return self._function(*args, **kwargs)

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """Return a job with these arguments, for a batch, a workflow or `Context.enqueue`."""
        payload = self._handler.payload_of(args, kwargs)
        return NewJob(self.type, payload, **self._options)

    def options(self: Self, **options: Unpack[JobOptions]) -> Self:
        """Return the same type with other options for its submissions: those of NewJob.

        For example `send.options(delay=30, priority=-5).submit(to="a@b.example")`.
        """
        NewJob(self.type, **options)  # raises TypeError for an unknown option
        other = copy.copy(self)
        other._options = {**self._options, **options}
        return other


class JobType(_JobType[P, R]):
    """The result of `@app.job`: a function that can be called directly or submitted as a job."""

    _app: Millrace

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Submitted:
        """Submit a job that calls the function with these arguments. See `Millrace.submit`."""
        return self._app.submit(self.new(*args, **kwargs))

    def submit_tx(self, connection: Any, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Submit a job if and only if a transaction of yours commits. See `Millrace.submit_tx`."""
        return self._app.submit_tx(connection, self.new(*args, **kwargs))

    async def submit_async(self, *args: P.args, **kwargs: P.kwargs) -> Submitted:
        """Submit from a coroutine: the call runs in a thread and does not block the loop."""
        new = self.new(*args, **kwargs)
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, context.run, self._app.submit, new)


class AsyncJobType(_JobType[P, R]):
    """The result of `@app.job` of an AsyncMillrace."""

    _app: AsyncMillrace

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> Submitted:
        """Submit a job that calls the function with these arguments. See `AsyncMillrace.submit`."""
        return await self._app.submit(self.new(*args, **kwargs))

    async def submit_tx(self, connection: Any, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Submit a job if and only if a transaction of yours commits. See
        `AsyncMillrace.submit_tx`.
        """
        return await self._app.submit_tx(connection, self.new(*args, **kwargs))
