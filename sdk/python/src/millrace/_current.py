"""The context of the handler that runs in this thread or task."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context

_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar(
    "millrace_context", default=None
)


def running() -> Context | None:
    """Return the context of the running handler; None outside of one."""
    return _current.get()


def set_running(context: Context | None) -> contextvars.Token[Context | None]:
    return _current.set(context)


def current() -> Context:
    """Return the context of the running handler.

    Raises:
        RuntimeError: no handler runs here. Threads started by a handler inherit the context only
            through `contextvars.copy_context` or `asyncio.to_thread`.
    """
    context = _current.get()
    if context is None:
        raise RuntimeError("no handler runs here")
    return context
