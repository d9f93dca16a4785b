"""The errors of the client: one base class, and a subclass for each code that programs act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "DuplicateJob",
    "Forbidden",
    "IdMismatch",
    "InvalidState",
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
    """A call that failed: the server refused it, or it was not reached.

    Attributes:
        code: what went wrong, stable: programs should switch on it (or on the class).
        status: the HTTP status; 0 if there was no answer.
        message: for people.
        errors: with `validation_failed`, each fault as `{"where": ..., "detail": ...}`.
        request_id: names the request in the server's log; None if there was no answer.
        retry_after: the pause that the server asked for, in seconds; None if it asked for none.
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
        self._is_of_no_connection = False  # the server cannot have seen the request
        self._is_of_a_repetition = False  # an earlier try may have done what this one asked for

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
    """There is no such job, queue or schedule, or the token may not see it (404)."""


class ValidationFailed(MillraceError):
    """The request has faults; `errors` has each of them (422)."""


class DuplicateJob(MillraceError):
    """Another job holds the unique key or the id (409)."""


class IdMismatch(MillraceError):
    """A job with this id and other content exists (409)."""


class InvalidState(MillraceError):
    """The job's state does not allow the call, e.g. cancelling a job that has ended (409)."""


class LeaseLost(MillraceError):
    """The token is not the job's live one (409)."""


class VersionConflict(MillraceError):
    """`if_match` names another version than the present one (412)."""


class QueueFull(MillraceError):
    """The queue has as many ready jobs as its `max_ready` allows (429)."""


class RateLimited(MillraceError):
    """Too many requests (429)."""


class Unauthenticated(MillraceError):
    """The server wants a token, or does not know this one (401)."""


class Forbidden(MillraceError):
    """The token lacks the scope that the call needs (403)."""


class PayloadTooLarge(MillraceError):
    """The payload, the result or the request is over its limit (413)."""


class Unavailable(MillraceError):
    """The server can't answer now: it drains, is overloaded, or lacks its storage (503)."""


class Unreachable(MillraceError):
    """There was no answer: no connection, or it was lost, or the deadline passed.

    The server may or may not have done what the call asked for.
    """


class WaitTimeout(MillraceError):
    """The job had not ended when the time of `wait` was over."""


_BY_CODE = {
    "not_found": NotFound,
    "validation_failed": ValidationFailed,
    "duplicate_job": DuplicateJob,
    "id_mismatch": IdMismatch,
    "invalid_state": InvalidState,
    "lease_lost": LeaseLost,
    "version_conflict": VersionConflict,
    "queue_full": QueueFull,
    "rate_limited": RateLimited,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "payload_too_large": PayloadTooLarge,
    "unreachable": Unreachable,
    "wait_timeout": WaitTimeout,
}


def from_problem(problem: Mapping[str, Any], retry_after: float | None = None) -> MillraceError:
    """The error that a problem document (RFC 9457) of the server stands for."""
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
    """The error for an answer that no Millrace server gives; a proxy may have sent it."""
    kind = Unavailable if status == 503 else MillraceError
    return kind(
        f"the answer is not a Millrace server's: {what}",
        code="bad_answer",
        status=status,
        retry_after=retry_after,
    )


def is_temporary(error: MillraceError) -> bool:
    """Whether the same request may succeed later."""
    return error.status == 0 or error.status == 429 or error.status >= 500
