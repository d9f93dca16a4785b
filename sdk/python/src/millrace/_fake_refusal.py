"""What the fake refuses, as the server would."""

from __future__ import annotations

from typing import Any

from ._fake_checks import Fault

_TITLES = {
    "not_found": (404, "Not found"),
    "duplicate_job": (409, "The job already exists"),
    "duplicate_workflow": (409, "The workflow already exists"),
    "id_mismatch": (409, "The id belongs to a job with other content"),
    "queue_full": (429, "The queue is full"),
    "invalid_state": (409, "The state does not allow the operation"),
    "unknown_limit": (422, "No limit has this name"),
    "idempotency_mismatch": (422, "An earlier request used the key with another body"),
    "validation_failed": (422, "The request is not valid"),
}


class Refusal(Exception):
    """A refusal that the server would answer with a problem."""

    def __init__(self, code: str, detail: str, faults: list[Fault] | None = None) -> None:
        super().__init__(detail)
        status, title = _TITLES[code]
        self.problem: dict[str, Any] = {
            "type": "about:blank",
            "title": title,
            "status": status,
            "detail": detail,
            "code": code,
            "request_id": "r-fake",
        }
        if faults:
            self.problem["errors"] = faults

    def within(self, number: int) -> Refusal:
        """Return the refusal of an atomic batch whose job of this number is refused."""
        problem, at = self.problem, f"/jobs/{number}"
        if problem["status"] != 422:
            return self
        faults = problem.get("errors", [{"pointer": "", "detail": problem["detail"]}])
        faults = [{**fault, "pointer": at + fault["pointer"]} for fault in faults]
        return Refusal("validation_failed", "the server refuses some of the jobs", faults)
