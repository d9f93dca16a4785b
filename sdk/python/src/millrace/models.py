"""The API's objects: submissions, and the server's answers.

Members have the API's names. Instants are RFC 3339 text in UTC (`parse_time` reads them). Members
named `*_ms` are whole milliseconds.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Generic, TypeVar, Union

from ._inputs import (
    BackfillRequest,
    BulkFilter,
    BulkRequest,
    JobInput,
    LimitInput,
    MemberInput,
    MemberJobInput,
    PreviewRequest,
    QueueSettingsInput,
    ScheduleInput,
    ScheduleJobInput,
    ScheduleSet,
    WorkflowInput,
)
from ._record import UNSET, Record
from ._shapes import (
    BatchItemRecord,
    BulkAnswer,
    Event,
    GraphLine,
    JobError,
    JobLimit,
    JobRecord,
    JobState,
    Limit,
    LogLine,
    MemberCounts,
    MemberDetailRecord,
    MemberRecord,
    MembersAnswer,
    MemberState,
    NewJob,
    Operation,
    Parent,
    Progress,
    Queue,
    QueueLimit,
    RetryPolicy,
    Schedule,
    ScheduleOfJob,
    ScheduleRun,
    Stats,
    UniqueInput,
    Why,
    WorkerInfo,
    WorkflowOfClaim,
    WorkflowOfJob,
    WorkflowRecord,
    WorkflowState,
    WorkflowWhy,
)

__all__ = [
    "UNSET",
    "BackfillRequest",
    "BatchItem",
    "BulkAnswer",
    "BulkFilter",
    "BulkRequest",
    "CreatedWorkflow",
    "Event",
    "GraphLine",
    "Job",
    "JobError",
    "JobInput",
    "JobLimit",
    "JobState",
    "Limit",
    "LimitInput",
    "LogLine",
    "Member",
    "MemberCounts",
    "MemberDetail",
    "MemberInput",
    "MemberJobInput",
    "MemberState",
    "MembersAnswer",
    "NewJob",
    "Operation",
    "Page",
    "Parent",
    "PreviewRequest",
    "Progress",
    "Queue",
    "QueueLimit",
    "QueueSettingsInput",
    "Record",
    "RetryPolicy",
    "Schedule",
    "ScheduleInput",
    "ScheduleJobInput",
    "ScheduleOfJob",
    "ScheduleRun",
    "ScheduleSet",
    "Stats",
    "Submitted",
    "UniqueInput",
    "Why",
    "WorkerInfo",
    "Workflow",
    "WorkflowInput",
    "WorkflowOfClaim",
    "WorkflowOfJob",
    "WorkflowState",
    "WorkflowWhy",
]

FINAL_STATES = frozenset({"succeeded", "dead", "cancelled", "expired", "pruned"})
_ENDS_OF_WORKFLOWS = frozenset({"succeeded", "failed", "cancelled", "pruned"})

T = TypeVar("T")

Submission = Union[NewJob, JobInput]
"""A job to be submitted: a NewJob, or a mapping with the API's members."""


def wire_of(job: Submission) -> dict[str, Any]:
    return job.to_wire() if isinstance(job, NewJob) else dict(job)


class Job(JobRecord):
    """A job. Some members are present only if requested with `include`."""

    __slots__ = ()

    @property
    def has_ended(self) -> bool:
        """Whether its state is final."""
        return self.state in FINAL_STATES


@dataclasses.dataclass(frozen=True)
class Submitted:
    """The answer to a submission."""

    job: Job
    is_new: bool  # False: the id, the idempotency key or `unique` belongs to an existing job

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job.id


class BatchItem(BatchItemRecord):
    """The result for one job of a batch, in the order of the batch.

    `status` is 201 for a new job and 200 for an existing one; otherwise `error` is the problem.
    """

    __slots__ = ()

    @property
    def is_new(self) -> bool:
        """Whether this batch created the job."""
        return self.status == 201


class Workflow(WorkflowRecord):
    """A workflow. Its `result` is present only if requested with `include`, and after a wait."""

    __slots__ = ()

    @property
    def has_ended(self) -> bool:
        """Whether its state is final. A retry brings a failed or cancelled one back."""
        return self.state in _ENDS_OF_WORKFLOWS


@dataclasses.dataclass(frozen=True)
class CreatedWorkflow:
    """The answer to the creation of a workflow."""

    workflow: Workflow
    is_new: bool  # False: the id, the idempotency key or `unique` belongs to an existing one

    @property
    def id(self) -> str:
        """The workflow's id."""
        return self.workflow.id


def _job_of(record: Record) -> Job | None:
    job = record.raw.get("job")
    return None if job is None else Job(job)


class Member(MemberRecord):
    """A member of a workflow."""

    __slots__ = ()

    @property
    def job(self) -> Job | None:
        """Its job, with `include=["job"]`; None if it has none yet."""
        return _job_of(self)


class MemberDetail(MemberDetailRecord):
    """A member of a workflow, with its needs and its definition."""

    __slots__ = ()

    @property
    def job(self) -> Job | None:
        """Its job, with `include=["job"]`; None if it has none yet."""
        return _job_of(self)


@dataclasses.dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list. `next_cursor` asks for the next one; None on the last."""

    items: list[T]
    next_cursor: str | None
