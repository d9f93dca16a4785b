"""Workflows to be created: their members, and what these need."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Union

from ._inputs import MemberInput, MemberJobInput, WorkflowInput, WorkflowUniqueInput
from ._shapes import NeedOn, OnMemberFailed
from ._time import Duration, to_ms
from .models import NewJob, Submission, wire_of

__all__ = ["Need", "NewMember", "NewWorkflow"]

# The members of a submission that the job of a workflow can't have.
_REFUSED = ("id", "unique", "expires_at", "idempotency_key")


@dataclasses.dataclass(frozen=True)
class Need:
    """The end of another member: `succeeded`, `failed` or `ended` (also skipped)."""

    ref: str
    on: NeedOn = "succeeded"


class NewMember:
    """A member to be added to a workflow. Other members may need it, by itself or by its `failed`
    or `ended`.

    Args:
        ref: a name by which other members and calls name this one; None for none.
        job: as of `Millrace.submit`. It has no `id`, `unique`, `expires_at` and idempotency key;
            its delay counts from its release.
        needs: what it waits for: members, refs, or a Need. Without any it starts at once.
        needs_any: the first need that is met releases it.
    """

    def __init__(
        self,
        ref: str | None,
        job: Submission | MemberJobInput,
        *,
        needs: Iterable[Needed] = (),
        needs_any: bool = False,
    ) -> None:
        self.ref = ref
        self.job = job_wire(job)
        self.needs = [_need(one) for one in ([needs] if isinstance(needs, str) else needs)]
        self.needs_any = needs_any

    @property
    def failed(self) -> Need:
        """The need of its failure, which so is caught."""
        return Need(self._named(), "failed")

    @property
    def ended(self) -> Need:
        """The need of its end, however it ends; also if it is skipped."""
        return Need(self._named(), "ended")

    def _named(self) -> str:
        if self.ref is None:
            raise ValueError("a member that others need has a ref; give it one")
        return self.ref

    def to_wire(self) -> dict[str, Any]:
        """Return the member in the API's form."""
        wire: dict[str, Any] = {} if self.ref is None else {"ref": self.ref}
        if self.needs:
            wire["needs"] = [
                need.ref if need.on == "succeeded" else {"ref": need.ref, "on": need.on}
                for need in self.needs
            ]
        if self.needs_any:
            wire["needs_any"] = True
        return {**wire, "job": self.job}


Needed = Union[str, Need, NewMember]
"""What a member may need: a ref, a member, or its failure or end."""


def _need(needed: Needed) -> Need:
    if isinstance(needed, NewMember):
        return Need(needed._named())
    return Need(needed) if isinstance(needed, str) else needed


@dataclasses.dataclass
class NewWorkflow:
    """A workflow to be created.

        flow = NewWorkflow("nightly", queue="sales", max_active=10)
        load = flow.add("load", load_sales.new(day=day))
        clean = flow.add("clean", NewJob("sales.clean"), needs=[load])
        flow.add("publish", publish.new(), needs=[clean])
        flow.on_failure = page_me.new()
        app.create_workflow(flow)

    Args:
        name: what it is, for people.
        queue: the queue of the workflow itself, by which tokens see it and retention keeps it, and
            that of its jobs that name none. Default `default`.
        id: a UUIDv7 of this queue, from `make_id(queue)`. If it is left out, the client makes one.
        idempotency_key: instead of an id: the same key names the same workflow for 24 hours.
        defaults: members of the API's, for the jobs and callbacks that do not name them.
        on_success, on_failure, on_end: a job to submit when it has succeeded; when it has failed or
            was cancelled; when it has ended.
        on_member_failed: what an uncaught failure does: `continue` (the rest runs), `stop`, or
            `ignore` (as `continue`, but it succeeds).
        max_active: the most members that are active at once.
        timeout: after this time it stops and has failed; seconds or a timedelta.
        open: it takes more members, and ends only after `close_workflow`.
        result_from: a member, or its ref, whose result is the workflow's.
        keep_members: keep the members' jobs until the workflow goes. Default True.
        tags, meta: as of a job.
        unique: one workflow for each key within the queue, until it ends:
            `{"key": "order-17", "on_conflict": "reject"}`.
    """

    name: str | None = None
    queue: str | None = None
    id: str | None = None
    idempotency_key: str | None = None
    defaults: MemberJobInput | None = None
    on_success: Submission | None = None
    on_failure: Submission | None = None
    on_end: Submission | None = None
    on_member_failed: OnMemberFailed | None = None
    max_active: int | None = None
    timeout: Duration | None = None
    open: bool | None = None
    result_from: str | NewMember | None = None
    keep_members: bool | None = None
    tags: list[str] | None = None
    meta: Mapping[str, str] | None = None
    unique: WorkflowUniqueInput | None = None
    members: list[NewMember] = dataclasses.field(default_factory=list, init=False)

    _plain: ClassVar = (
        "name",
        "queue",
        "id",
        "idempotency_key",
        "defaults",
        "on_member_failed",
        "max_active",
        "open",
        "keep_members",
        "tags",
        "meta",
        "unique",
    )

    def __post_init__(self) -> None:
        self._refs: set[str] = set()

    def add(
        self,
        ref: str | None,
        job: Submission | MemberJobInput,
        *,
        needs: Iterable[Needed] = (),
        needs_any: bool = False,
    ) -> NewMember:
        """Add a member and return it, for the `needs` of others. NewMember says what it takes.

        Raises ValueError if another member has this ref.
        """
        member = NewMember(ref, job, needs=needs, needs_any=needs_any)
        if ref is not None:
            if ref in self._refs:
                raise ValueError(f"another member has the ref {ref!r}; give each its own")
            self._refs.add(ref)
        self.members.append(member)
        return member

    def to_wire(self) -> dict[str, Any]:
        """Return the workflow in the API's form, with all its members."""
        wire: dict[str, Any] = {}
        for name in self._plain:
            value = getattr(self, name)
            if value is not None:
                wire[name] = value
        if self.timeout is not None:
            wire["timeout_ms"] = to_ms("timeout", self.timeout)
        if self.result_from is not None:
            wire["result_from"] = _need(self.result_from).ref
        for name in CALLBACKS:
            job = getattr(self, name)
            if job is not None:
                wire[name] = job_wire(job)
        return {**wire, "members": [member.to_wire() for member in self.members]}


CALLBACKS = ("on_success", "on_failure", "on_end")


def job_wire(job: Submission | MemberJobInput) -> dict[str, Any]:
    """Return a job of a workflow in the API's form; ValueError for what it can't have."""
    wire = wire_of(job) if isinstance(job, NewJob) else dict(job)
    for name in _REFUSED:
        if name in wire:
            raise ValueError(
                f"the job of a workflow has no {name}: the workflow makes it, once, when it is due"
            )
    return wire


def with_defaults(job: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job with the defaults that it does not name, as the server applies them."""
    named = set(job)
    for group in _TOGETHER:
        if not named.isdisjoint(group):
            named.update(group)
    return {**{name: value for name, value in defaults.items() if name not in named}, **job}


# If a job names one of these, the defaults give it none of them.
_TOGETHER = (("run_at", "delay_ms"), ("traceparent", "tracestate"))


def member_wire(member: NewMember | MemberInput) -> dict[str, Any]:
    """Return a member in the API's form."""
    if isinstance(member, NewMember):
        return member.to_wire()
    return {**member, "job": job_wire(member["job"])} if "job" in member else dict(member)


def workflow_wire(workflow: NewWorkflow | WorkflowInput) -> dict[str, Any]:
    """Return a workflow in the API's form."""
    if isinstance(workflow, NewWorkflow):
        return workflow.to_wire()
    wire: dict[str, Any] = dict(workflow)
    if "members" in wire:
        wire["members"] = [member_wire(member) for member in wire["members"]]
    for name in CALLBACKS:
        if name in wire:
            wire[name] = job_wire(wire[name])
    return wire
