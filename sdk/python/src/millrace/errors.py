"""The errors of the client: one base class, and a subclass for each code that programs handle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "DuplicateJob",
    "DuplicateWorkflow",
    "Forbidden",
    "IdMismatch",
    "IdempotencyMismatch",
    "InvalidState",
    "KeyFull",
    "LeaseLost",
    "MillraceError",
    "NotFound",
    "PayloadTooLarge",
    "QueueFull",
    "RateLimited",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "ValidationFailed",
    "VersionConflict",
    "WaitTimeout",
]


class MillraceError(Exception):
    """A call failed: the server refused it or could not be reached.

    Attributes:
        code: the stable name of the error. Programs should test it, or the class.
        status: the HTTP status; 0 if there was no answer.
        message: for people.
        errors: for `validation_failed`, each fault as `{"where": ..., "detail": ...}`.
        request_id: identifies the request in the server's log; None if there was no answer.
        retry_after: the pause in seconds that the server asked for; None if it asked for none.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int = 0,
        errors: Sequence[Mapping[str, str]] = (),
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.errors = list(errors)
        self.request_id = request_id
        self.retry_after = retry_after
        self._is_of_no_connection = False  # the server cannot have received the request
        self._is_of_a_repetition = False  # an earlier try may have carried out the call

    def __str__(self) -> str:
        faults = "; ".join(f"{fault['where']}: {fault['detail']}" for fault in self.errors)
        head = f"{self.code}: {self.message}"
        return f"{head} ({faults})" if faults else head

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.message, self.__dict__)


def _rebuild(kind: type[MillraceError], message: str, state: Mapping[str, Any]) -> MillraceError:
    error = kind(message, code=state["code"])
    error.__dict__.update(state)
    return error


class NotFound(MillraceError):
    """The job, workflow, queue or schedule does not exist, or the token may not see it (404)."""


class ValidationFailed(MillraceError):
    """The request is invalid; `errors` lists its faults (422)."""


class DuplicateJob(MillraceError):
    """Another job holds the unique key or the id (409)."""


class DuplicateWorkflow(MillraceError):
    """Another workflow holds the unique key (409)."""


class IdMismatch(MillraceError):
    """A job or workflow with this id and other content exists (409)."""


class IdempotencyMismatch(MillraceError):
    """The idempotency key was used with another job (422)."""


class InvalidState(MillraceError):
    """The state does not allow the call, e.g. to cancel a job or workflow that has ended (409)."""


class LeaseLost(MillraceError):
    """The token is not that of the job's current lease (409)."""


class VersionConflict(MillraceError):
    """`if_match` is not the present version (412)."""


class QueueFull(MillraceError):
    """The queue has as many ready jobs as its `max_ready` allows (429)."""


class KeyFull(MillraceError):
    """The queue has as many ready jobs of this `fair_key` as `max_ready_per_key` allows (429)."""


class RateLimited(MillraceError):
    """The client sent too many requests (429)."""


class Unauthenticated(MillraceError):
    """The token is missing or unknown (401)."""


class Forbidden(MillraceError):
    """The token lacks the scope that the call needs (403)."""


class PayloadTooLarge(MillraceError):
    """The payload, the result or the request is over its limit (413)."""


class Unavailable(MillraceError):
    """The server is unavailable: it is draining, overloaded, or can't use its storage (503)."""


class Unreachable(MillraceError):
    """There was no answer: the connection failed or was lost, or the deadline passed.

    The server may or may not have carried out the call.
    """


class WaitTimeout(MillraceError):
    """The job or workflow had not ended when the timeout of the wait was over."""


_BY_CODE = {
    "not_found": NotFound,
    "validation_failed": ValidationFailed,
    "duplicate_job": DuplicateJob,
    "duplicate_workflow": DuplicateWorkflow,
    "id_mismatch": IdMismatch,
    "idempotency_mismatch": IdempotencyMismatch,
    "invalid_state": InvalidState,
    "lease_lost": LeaseLost,
    "version_conflict": VersionConflict,
    "queue_full": QueueFull,
    "key_full": KeyFull,
    "rate_limited": RateLimited,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "payload_too_large": PayloadTooLarge,
    "unreachable": Unreachable,
    "wait_timeout": WaitTimeout,
}


def from_problem(problem: Mapping[str, Any], retry_after: float | None = None) -> MillraceError:
    """Return the error for a problem document (RFC 9457) of the server."""
    status = problem.get("status")
    code = problem.get("code")
    if not isinstance(status, int) or not isinstance(code, str):
        return bad_answer(status if isinstance(status, int) else 0, "a problem without a code")
    kind = Unavailable if status == 503 else _BY_CODE.get(code, MillraceError)
    faults = [
        {
            "where": str(fault.get("pointer", fault.get("parameter", fault.get("header", "")))),
            "detail": str(fault.get("detail", "")),
        }
        for fault in problem.get("errors") or ()
        if isinstance(fault, dict)
    ]
    request_id = problem.get("request_id")
    return kind(
        str(problem.get("detail") or problem.get("title") or code),
        code=code,
        status=status,
        errors=faults,
        request_id=request_id if isinstance(request_id, str) else None,
        retry_after=retry_after,
    )


def bad_answer(status: int, what: str, retry_after: float | None = None) -> MillraceError:
    """Return the error for an answer that is not Millrace's; a proxy may have sent it."""
    kind = Unavailable if status == 503 else MillraceError
    return kind(
        f"the answer is not a Millrace server's: {what}",
        code="bad_answer",
        status=status,
        retry_after=retry_after,
    )


def is_temporary(error: MillraceError) -> bool:
    """Return whether the same request may succeed later."""
    return error.status == 0 or error.status == 429 or error.status >= 500
