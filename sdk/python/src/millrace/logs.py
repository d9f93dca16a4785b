"""Copying lines that a handler writes to Python's logging to its job's log."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

from ._current import running

__all__ = ["JobLogHandler"]


class JobLogHandler(logging.Handler):
    """Passes records written by a job's handler to `Context.log`, and ignores all others.

    A worker adds one to the root logger while it runs. The loggers' levels decide which records
    reach it: `logging.basicConfig(level=logging.INFO)` lets INFO pass.
    """

    def emit(self, record: logging.LogRecord) -> None:
        context = running()
        if context is None or record.name.partition(".")[0] == "millrace":
            return
        try:
            context.log(self.format(record), record.levelname)
        except Exception:
            self.handleError(record)


class _OnRoot(JobLogHandler):
    """The worker's handler. If it is the only one on the root logger, it does what Python does
    without any handler there: warnings still appear on standard error.
    """

    def handle(self, record: logging.LogRecord) -> bool:
        last = logging.lastResort
        if last is not None and logging.getLogger().handlers == [self]:
            if record.levelno >= last.level:
                last.handle(record)
        return bool(super().handle(record))


_lock = threading.Lock()
_installed = 0  # the number of workers that use the handler
_handler = _OnRoot()


@contextlib.contextmanager
def capturing(is_wanted: bool) -> Iterator[None]:
    """Keep the handler on the root logger within a `with` block."""
    if not is_wanted:
        yield
        return
    _install(+1)
    try:
        yield
    finally:
        _install(-1)


def _install(change: int) -> None:
    global _installed
    with _lock:
        _installed += change
        if change > 0 and _installed == 1:
            logging.getLogger().addHandler(_handler)
        elif _installed == 0:
            logging.getLogger().removeHandler(_handler)
