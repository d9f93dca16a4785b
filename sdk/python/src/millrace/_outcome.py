"""Converting the end of a handler to the outcome that the worker reports."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _json
from ._text import clean
from .context import Context, Line
from .outcomes import Cancel, Interrupted, NonRetryable, RetryAfter, Snooze

_logger = logging.getLogger("millrace.worker")
_MAX_STACK_BYTES = 32 << 10  # the server's bound
_MAX_MESSAGE_BYTES = 4 << 10
CANCELLATIONS = (asyncio.CancelledError, Interrupted, concurrent.futures.CancelledError)


@dataclass(frozen=True)
class Outcome:
    """An outcome. `text` has its members as JSON, without the job's id and token."""

    kind: str
    text: str
    lines: Sequence[Line] = field(default=())  # lines that the worker adds to the job's log
    error: Mapping[str, Any] | None = None  # of a failure

    def to_ack(
        self,
        id: str,
        token: int,
        lines: Sequence[Line],
        slow_down: Sequence[dict[str, Any]] = (),
    ) -> str:
        """Return the outcome as an ack's item."""
        ack = f'{{"id":"{id}","token":{token},{self.text}'
        if lines or self.lines:
            wires = [line.to_wire() for line in (*lines, *self.lines)]
            ack += f',"logs":{_json.dumps(wires)}'
        if slow_down:
            ack += f',"slow_down":{_json.dumps(list(slow_down))}'
        return ack + "}"


RELEASED = Outcome("released", '"outcome":"released"')
LOST = Outcome("lost", "")  # not sent: the handler was told that its lease is lost
CANCELLED = Outcome("cancelled", '"outcome":"cancelled"')


def succeeded(result: Any, enqueue: list[dict[str, Any]], grow: Mapping[str, list[Any]]) -> Outcome:
    try:
        text = f'"outcome":"succeeded","result":{_json.dumps(result)}'
    except Exception as error:  # also what the result's own methods raise
        why = f"the result is not JSON: {text_of(error)}"
        return failed({"type": "outcome_refused", "message": why})
    if enqueue:
        text += f',"enqueue":{_json.dumps(enqueue)}'
    if grow:
        text += f',"grow":{_json.dumps(grow)}'
    return Outcome("succeeded", text)


def failed(error: dict[str, Any], delay_ms: int | None = None) -> Outcome:
    error["message"] = clean(error["message"])[:_MAX_MESSAGE_BYTES]
    text = f'"outcome":"failed","error":{_json.dumps(error)}'
    if delay_ms is not None:
        text += f',"delay_ms":{delay_ms}'
    return Outcome("failed", text, error=error)


def outcome_of(context: Context, result: Any, error: BaseException | None) -> Outcome:
    """Return the outcome of a handler that returned `result` or raised `error`.

    Without one the slot would be lost, and the lease renewed for ever.
    """
    try:
        return _outcome_of(context, result, error)
    except Exception as own:  # a bug here, or an object of the handler's that fails when it is used
        kind = _name_of(type(own if error is None else error))
        return failed({"type": kind, "message": f"the outcome can't be described: {text_of(own)}"})


def _outcome_of(context: Context, result: Any, error: BaseException | None) -> Outcome:
    told = context._conclude()
    if told == "lease_lost":
        return LOST
    if told == "timeout":
        message = "the attempt's time was over"
        if error is not None and not isinstance(error, CANCELLATIONS):
            message += f"; then the handler raised {describe(error)}"
        return failed({"type": "timeout", "message": message})
    if error is None:
        return succeeded(result, context._enqueued, context._grown)
    if isinstance(error, CANCELLATIONS):
        if told == "cancelled":
            return CANCELLED
        if told == "stopping":
            return RELEASED
    if isinstance(error, Snooze):
        return Outcome("snoozed", f'"outcome":"snoozed","delay_ms":{error.delay_ms}')
    if isinstance(error, Cancel):
        if error.reason:
            context.log(f"cancelled by the handler: {error.reason}")
        return CANCELLED
    if isinstance(error, RetryAfter):
        return failed(_described(error), error.delay_ms)
    if isinstance(error, NonRetryable):
        return failed({**_described(error), "retryable": False})
    return failed(_described(error))


def outcome_unbegun(context: Context) -> Outcome:
    """Return the outcome of a handler that was told to end before it began."""
    told = context.stop_reason
    return RELEASED if told is None else outcome_of(context, None, Interrupted(told))


def log_failure(context: Context, outcome: Outcome, error: BaseException | None) -> None:
    """Log a failed attempt in the worker's own log, with the handler's exception."""
    if outcome.error is None:
        return
    try:
        _log_failure(context, outcome.error, error)
    except Exception:  # of the application's own logging, which must not cost the outcome
        traceback.print_exc()


def _log_failure(context: Context, told: Mapping[str, Any], error: BaseException | None) -> None:
    job = context.job
    is_dead = told.get("retryable") is False or job.attempt >= job.max_attempts
    is_meant = isinstance(error, RetryAfter)  # the handler knows why, and needs no traceback
    _logger.log(
        logging.INFO if is_meant and not is_dead else logging.WARNING,
        "job %s (%s): attempt %d of %d failed: %s: %s; %s",
        job.id,
        job.type,
        job.attempt,
        job.max_attempts,
        told["type"],
        told["message"],
        "the job is dead" if is_dead else "the server tries it again",
        exc_info=None if is_meant else error,
    )


def refused(why: str) -> Outcome:
    """Return the outcome that replaces one that the server does not accept."""
    return failed({"type": "outcome_refused", "message": f"the server refused the outcome: {why}"})


def describe(error: BaseException) -> str:
    kind = _name_of(type(error))
    text = text_of(error)
    return kind if text == kind else f"{kind}: {text}"


def text_of(error: BaseException) -> str:
    """Return an exception's text, else the name of its class; a fallback if its text fails."""
    try:
        return str(error) or _name_of(type(error))
    except Exception:
        return f"{_name_of(type(error))} (its text can't be had: its __str__ fails)"


def _name_of(kind: type) -> str:
    try:
        return str(kind.__name__)
    except Exception:  # of a metaclass
        return "Exception"


def _described(error: BaseException) -> dict[str, Any]:
    try:
        stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception:
        stack = "".join(traceback.format_tb(error.__traceback__))
    # The end names the error; the beginning has only the worker's own frames.
    tail = clean(stack).encode()[-_MAX_STACK_BYTES:].decode("utf-8", "ignore")
    return {"type": clean(_name_of(type(error))), "message": text_of(error), "stack": tail}
