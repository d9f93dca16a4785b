"""The W3C trace context of submissions: the application's, else the running handler's."""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Union

from ._current import running

TraceSource = Callable[[], Union[str, tuple[str, Optional[str]], None]]
"""Returns the current `traceparent`, or both it and the `tracestate`, or None."""


class Trace(NamedTuple):
    traceparent: str | None = None
    tracestate: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the trace as headers, which idempotency keys ignore, unlike members."""
        if self.traceparent is None:
            return {}
        headers = {"traceparent": self.traceparent}
        if self.tracestate:
            headers["tracestate"] = self.tracestate
        return headers


def current_trace(source: TraceSource | None) -> Trace:
    if source is not None:
        given = source()
        if isinstance(given, str):
            return Trace(given)
        if given is not None:
            return Trace(*given)
    context = running()
    if context is None:
        return Trace()
    return Trace(context.job.traceparent, context.job.tracestate)
