"""Handlers: converting a payload to the arguments of a function, and wrapping the call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from .context import Context
from .models import UNSET

Middleware = Callable[..., Any]


class Handler:
    """The function that runs the jobs of one type.

    Its parameters are the members of the payload, which must be an object. A function whose only
    parameter is positional-only (`def handle(payload, /)`) gets the payload itself, any JSON value.
    """

    def __init__(self, type: str, function: Callable[..., Any], queue: str | None) -> None:
        self.type = type
        self.function = function
        self.queue = queue
        self.is_async = inspect.iscoroutinefunction(function)
        self._signature = inspect.signature(function)
        parameters = list(self._signature.parameters.values())
        positional = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
        self.takes_payload = len(positional) == 1 and len(parameters) == 1
        if not self.takes_payload and (
            positional or any(p.kind is p.VAR_POSITIONAL for p in parameters)
        ):
            raise TypeError(
                f"the handler of {type!r} must have parameters that can be named, or the payload "
                "as its only, positional-only one"
            )

    def payload_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the payload of a job that calls the function with these arguments.

        Raises TypeError if the function does not take them.
        """
        bound = self._signature.bind(*args, **kwargs)
        if self.takes_payload:
            return bound.args[0]
        members: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if self._signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                members.update(value)
            else:
                members[name] = value
        return members or UNSET

    def call(self, payload: Any) -> Any:
        """Call the function. Returns its value, or the coroutine of an asynchronous function."""
        if self.takes_payload:
            return self.function(payload)
        if payload is None:
            return self.function()
        if not isinstance(payload, dict):
            raise TypeError(
                f"the handler of {self.type!r} takes the members of an object, and the payload is "
                f"of type {type(payload).__name__}"
            )
        return self.function(**payload)


def check_middleware(function: Middleware) -> Middleware:
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return function
    raise TypeError("middleware must be a generator function or an async function")


def check_chain(handlers: Mapping[str, Handler], middleware: Sequence[Middleware]) -> None:
    """Raise TypeError if asynchronous middleware would have to wrap a synchronous handler."""
    for function in middleware:
        for handler in handlers.values():
            if inspect.iscoroutinefunction(function) and not handler.is_async:
                raise TypeError(
                    f"the middleware {function.__name__!r} is asynchronous and can't wrap the "
                    f"synchronous handler of {handler.type!r}"
                )


def run_sync(handler: Handler, middleware: Sequence[Middleware], context: Context) -> Any:
    """Return the result of a synchronous handler within its middleware."""
    if not middleware:
        return handler.call(context.job.payload)
    wrapper = middleware[0](context)
    try:
        next(wrapper)
    except StopIteration as stop:
        return stop.value  # the middleware chose not to run the handler
    try:
        result = run_sync(handler, middleware[1:], context)
    except BaseException as error:
        return _thrown(wrapper, error)
    return _sent(wrapper, result)


async def run_async(handler: Handler, middleware: Sequence[Middleware], context: Context) -> Any:
    """Return the result of an asynchronous handler within its middleware."""
    if not middleware:
        return await handler.call(context.job.payload)
    outer = middleware[0]
    if inspect.iscoroutinefunction(outer):
        return await outer(context, lambda: run_async(handler, middleware[1:], context))
    wrapper = outer(context)
    try:
        next(wrapper)
    except StopIteration as stop:
        return stop.value
    try:
        result = await run_async(handler, middleware[1:], context)
    except BaseException as error:
        return _thrown(wrapper, error)
    return _sent(wrapper, result)


def _sent(wrapper: Any, result: Any) -> Any:
    try:
        wrapper.send(result)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("middleware must yield once")


def _thrown(wrapper: Any, error: BaseException) -> Any:
    try:
        wrapper.throw(error)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("middleware must yield once")
