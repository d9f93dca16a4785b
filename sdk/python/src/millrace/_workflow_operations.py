"""Every operation on workflows as a call; see `_operations`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ._calls import Call, Repeat, Response, body, path, read_nothing, read_object
from ._constants import LONGEST_WAIT_S, MOST_MEMBERS
from ._ids import make_id
from ._inputs import MemberInput, WorkflowInput
from ._operations import page_of, reason_of, record_of
from ._trace import Trace
from .models import (
    CreatedWorkflow,
    GraphLine,
    Member,
    MemberDetail,
    MembersAnswer,
    Page,
    Workflow,
    WorkflowWhy,
)
from .workflows import NewMember, NewWorkflow, member_wire, with_defaults, workflow_wire


class Creation:
    """The calls that create a workflow: the first, and those for members that it has no room for.

    Every call may be sent again: the first has an id or a key, the others have keys made of the id.
    """

    def __init__(self, workflow: NewWorkflow | WorkflowInput, trace: Trace) -> None:
        wire = workflow_wire(workflow)
        key = wire.pop("idempotency_key", None)
        id = wire.pop("id", None)
        if id is None and key is None:
            id = make_id(str(wire.get("queue") or "default"))
        self.id: str | None = id
        if id is not None:
            wire = {"id": id, **wire}  # always first: the server compares a repetition's bytes
        self._trace = trace
        # The server takes defaults for the members of the same call only.
        usual = wire.get("defaults", {})
        rest = wire.get("members", [])[MOST_MEMBERS:]
        self._rest = [{**one, "job": with_defaults(one["job"], usual)} for one in rest]
        self._closes = not wire.get("open")
        if self._rest:
            if key is not None:
                raise ValueError(
                    f"a workflow of more than {MOST_MEMBERS} members takes no idempotency key: "
                    "give it an id, from make_id(queue)"
                )
            wire = {**wire, "members": wire["members"][:MOST_MEMBERS], "open": True}
        headers = trace.headers()
        if key is not None:
            headers["Idempotency-Key"] = str(key)
        self.first: Call[CreatedWorkflow] = Call(
            "POST", path("workflows"), _read_created, body(wire), headers
        )

    def rest(self, made: CreatedWorkflow) -> Iterator[Call[MembersAnswer]]:
        """Yield the other calls, of which none is needed if it is whole."""
        if self.is_whole(made):
            return
        for begin in range(0, len(self._rest), MOST_MEMBERS):
            part = self._rest[begin : begin + MOST_MEMBERS]
            is_last = begin + MOST_MEMBERS >= len(self._rest)
            key = f"{made.id}.{MOST_MEMBERS + begin}"
            yield _addition(made.id, part, None, is_last and self._closes, key, self._trace)

    def is_whole(self, made: CreatedWorkflow) -> bool:
        """Whether the first call's answer is all: there are no other members, an earlier creation
        has added and closed it, or it is another workflow, which holds the unique key.
        """
        return not self._rest or made.id != self.id or not made.workflow.open


def _read_created(response: Response) -> CreatedWorkflow:
    return CreatedWorkflow(Workflow(read_object(response)), response.status == 201)


def workflow(id: str, include: Sequence[str]) -> Call[Workflow]:
    return Call("GET", path("workflows", id, include=list(include) or None), record_of(Workflow))


def wait_workflow(id: str, seconds: float) -> Call[Workflow]:
    milliseconds = round(min(seconds, LONGEST_WAIT_S) * 1000)
    target = path("workflows", id, wait_ms=milliseconds, until="final", include="result")
    return Call("GET", target, record_of(Workflow))


def workflows(filters: Mapping[str, Any], limit: int, cursor: str | None) -> Call[Page[Workflow]]:
    return Call("GET", path("workflows", **filters, limit=limit, cursor=cursor), page_of(Workflow))


def members(
    id: str, state: str | None, include: Sequence[str], limit: int, cursor: str | None
) -> Call[Page[Member]]:
    query = {"state": state, "include": list(include) or None, "limit": limit, "cursor": cursor}
    return Call("GET", path("workflows", id, "members", **query), page_of(Member))


def member(id: str, ref: str, include: Sequence[str], wait_s: float) -> Call[MemberDetail]:
    wait_ms = round(min(wait_s, LONGEST_WAIT_S) * 1000) or None
    query = {"include": list(include) or None, "wait_ms": wait_ms}
    return Call("GET", path("workflows", id, "members", ref, **query), record_of(MemberDetail))


def graph(id: str, cursor: str | None) -> Call[Page[GraphLine]]:
    return Call("GET", path("workflows", id, "graph", cursor=cursor), page_of(GraphLine))


def why(id: str) -> Call[WorkflowWhy]:
    return Call("GET", path("workflows", id, "why"), record_of(WorkflowWhy))


def add_members(
    id: str,
    members: Iterable[NewMember | MemberInput],
    by: str | None,
    close: bool,
    key: str | None,
    trace: Trace,
) -> Call[MembersAnswer]:
    wires = [member_wire(member) for member in members]
    if key is None and any(wire.get("ref") is None for wire in wires):
        key = str(uuid.uuid4())
    return _addition(id, wires, by, close, key, trace)


def _addition(
    id: str,
    wires: Sequence[Mapping[str, Any]],
    by: str | None,
    close: bool,
    key: str | None,
    trace: Trace,
) -> Call[MembersAnswer]:
    request: dict[str, Any] = {"members": wires}
    if by is not None:
        request["by"] = by
    if close:
        request["close"] = True
    headers = trace.headers()
    if key is not None:
        headers["Idempotency-Key"] = key
    target = path("workflows", id, "members")
    return Call("POST", target, record_of(MembersAnswer), body(request), headers)


def close(id: str) -> Call[Workflow]:
    return Call("POST", path("workflows", id, "close"), record_of(Workflow))


def cancel(id: str, reason: str | None) -> Call[Workflow]:
    return Call("POST", path("workflows", id, "cancel"), record_of(Workflow), reason_of(reason))


def retry(
    id: str, refs: Sequence[str] | None, reset_attempts: bool | None, drop_limits: bool | None
) -> Call[Workflow]:
    given = {
        "refs": None if refs is None else list(refs),
        "reset_attempts": reset_attempts,
        "drop_limits": drop_limits,
    }
    request = body({name: value for name, value in given.items() if value is not None})
    target = path("workflows", id, "retry")
    return Call("POST", target, record_of(Workflow), request, repeat=Repeat.IF_NOT_BEGUN)


def skip(id: str, ref: str) -> Call[Workflow]:
    return Call("POST", path("workflows", id, "members", ref, "skip"), record_of(Workflow))


def delete(id: str) -> Call[None]:
    return Call("DELETE", path("workflows", id), read_nothing)
