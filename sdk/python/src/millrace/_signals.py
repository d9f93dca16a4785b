"""SIGTERM and SIGINT, for the workers that a program runs with `work()`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGINT") if hasattr(signal, name)]

# Used by the main thread only. Several applications of a process may work at the same time.
_stops: list[Callable[[], None]] = []
_before: dict[int, Any] = {}


@contextlib.contextmanager
def stopping_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let both signals call `stop` within a `with` block, if this is the main thread. The last
    block that ends restores the handlers from before the first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not _stops:
        for number in _SIGNALS:
            _before[number] = signal.signal(number, _stop_all)
    _stops.append(stop)
    try:
        yield
    finally:
        _stops.remove(stop)
        if not _stops:
            for number, before in _before.items():
                signal.signal(number, before)


def _stop_all(*_: object) -> None:
    for stop in list(_stops):
        stop()
