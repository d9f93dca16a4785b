"""Handlers: converting a payload to the arguments of a function, and wrapping the call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from . import _json
from ._typed import Convert, Misfit, converter_of, hints_of, wrong
from .context import Context
from .models import UNSET
from .outcomes import PayloadError

Middleware = Callable[..., Any]


class Handler:
    """The function that runs the jobs of one type.

    Its parameters are the members of the payload, which must be an object. A function whose only
    parameter is positional-only (`def handle(payload, /)`) gets the payload itself, any JSON value.
    Annotations say which types the members have: see `_typed`.
    """

    def __init__(self, type: str, function: Callable[..., Any], queue: str | None) -> None:
        self.type = type
        self.function = function
        self.queue = queue
        self.is_async = inspect.iscoroutinefunction(function)
        self._signature = inspect.signature(function)
        self._converters: dict[str, Convert | None] | None = None  # by parameter, at the first use
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
        """Call the function. Returns its value, or the coroutine of an asynchronous function.

        Raises PayloadError if the payload does not fit the function's annotations.
        """
        try:
            if self.takes_payload:
                (name,) = self._signature.parameters
                argument = self._argument(name, payload)
                arguments = None
            else:
                arguments = self._arguments({} if payload is None else payload)
        except Misfit as misfit:
            where = _json.place(("payload", *misfit.path))
            raise PayloadError(f"{where}: {misfit}") from None
        return self.function(argument) if arguments is None else self.function(**arguments)

    def _arguments(self, payload: Any) -> dict[str, Any]:
        if not isinstance(payload, dict):
            raise wrong("an object, whose members are the handler's parameters", payload)
        parameters = self._signature.parameters
        rest = next((p.name for p in parameters.values() if p.kind is p.VAR_KEYWORD), None)
        arguments: dict[str, Any] = {}
        for name, value in payload.items():
            known = name if name in parameters and name != rest else rest
            if known is None:
                raise Misfit("the handler has no parameter of this name", (name,))
            try:
                arguments[name] = self._argument(known, value)
            except Misfit as misfit:
                raise misfit.within(name) from None
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in arguments and name != rest:
                raise Misfit("is missing", (name,))
        return arguments

    def _argument(self, name: str, value: Any) -> Any:
        """Return a member of the payload as its parameter's annotation wants it."""
        if self._converters is None:
            self._converters = self._find_converters()
        convert = self._converters.get(name)
        if convert is None or (value is None and self._signature.parameters[name].default is None):
            return value
        return convert(value)

    def _find_converters(self) -> dict[str, Convert | None]:
        function = inspect.unwrap(self.function)
        parameters = self._signature.parameters.values()
        annotated = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
        hints = hints_of(function, annotated, getattr(function, "__globals__", {}))
        return {name: converter_of(hint) for name, hint in hints.items()}


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
