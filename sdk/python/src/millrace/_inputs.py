# Made by tools/types from docs/reference/openapi.yaml; do not edit.
"""What is sent, beside a job to submit: settings, specifications, requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._shapes import (
    Breaker,
    DstGap,
    DstOverlap,
    Fair,
    JobLimit,
    JobState,
    KeyBound,
    MissedPolicy,
    NeedOn,
    NewJob,
    OnMemberFailed,
    OrderOnFailure,
    OverlapPolicy,
    QueueLimit,
    Rate,
    RetryPolicy,
    UniqueInput,
)
from ._time import Instant

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class BulkFilter(TypedDict):
    """The filters of `GET /v1/jobs`, at least one."""

    state: NotRequired[list[JobState]]
    queue: NotRequired[str]
    type: NotRequired[str]
    tag: NotRequired[str]
    created_after: NotRequired[Instant]
    created_before: NotRequired[Instant]
    q: NotRequired[str]
    """At most 1,024 characters."""


class BulkRequest(TypedDict):
    """Either `ids` or `filter`."""

    action: Literal["retry", "cancel", "delete", "reprioritize"]
    priority: NotRequired[int]
    """Needed by `reprioritize`. -32,768 to 32,767."""
    ids: NotRequired[list[str]]
    """1 to 1,000 entries."""
    filter: NotRequired[BulkFilter]
    dry_run: NotRequired[bool]
    """Count only. Default `false`."""
    operation: NotRequired[bool]
    """With `filter`. Answer 202 with an operation, however many jobs match. Default `false`."""
    rate_per_s: NotRequired[int]
    """With `filter`. Begins an operation that changes at most this many jobs a second. 1 to
    100,000.
    """


class RetentionInput(TypedDict):
    succeeded_ms: NotRequired[int | None]
    """Of jobs that succeeded. Default a day. At most 10 years."""
    dead_ms: NotRequired[int | None]
    """Of jobs that failed for good. Default 30 days. At most 10 years."""
    cancelled_ms: NotRequired[int | None]
    """Of jobs that were cancelled. Default a day. At most 10 years."""
    expired_ms: NotRequired[int | None]
    """Of jobs that did not start in time. Default a day. At most 10 years."""


class QueueSettingsInput(TypedDict):
    limits: NotRequired[list[QueueLimit] | None]
    """Added to each job that is submitted to the queue. At most 8 entries."""
    retention: NotRequired[RetentionInput]
    """How long ended jobs are kept."""
    max_attempts: NotRequired[int]
    """For jobs that do not set their own. Default 5. 1 to 1,000."""
    max_crashes: NotRequired[int | None]
    """A job that loses its worker this many times is dead, `worker_lost`. Default the job's
    `max_attempts`. 1 to 1,000.
    """
    retry: NotRequired[RetryPolicy]
    """For jobs that do not set their own."""
    lease_ms: NotRequired[int]
    """For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000 ms."""
    max_ready: NotRequired[int | None]
    """The most ready jobs; beyond it submissions are 429 `queue_full`; null is no bound."""
    concurrency: NotRequired[int | None]
    """The most jobs of the queue that run together; null is no bound. 1 to 1,000,000."""
    rate: NotRequired[Rate | None]
    """The most jobs that start in each period; null is no bound."""
    breaker: NotRequired[Breaker | None]
    """The breaker for all attempts of the queue; null is none."""
    fair: NotRequired[Fair | None]
    """If null, fair keys have no effect. Not together with `ageing_ms`."""
    ageing_ms: NotRequired[int | None]
    """A job gains one step of priority for each such time that it waits; null: priorities are
    strict. Not together with `fair`. A change sorts at most 1,000,000 ready jobs again, and is 409
    beyond that. 1,000 to 86,400,000 ms.
    """
    max_ready_per_key: NotRequired[int | None]
    """The most ready jobs of one `fair_key`; beyond it submissions with the key are 429 `key_full`;
    null is no bound. Only with `fair`.
    """


class LimitInput(TypedDict):
    per_key: NotRequired[bool | None]
    """Each key has slots and a bucket of its own. Default `false`."""
    keys: NotRequired[dict[str, KeyBound]]
    """Other bounds by key; an absent bound is the same as for every key."""
    concurrency: NotRequired[int | None]
    """The most live leases at a time; null is no bound. 1 to 1,000,000."""
    rate: NotRequired[Rate | None]
    """The rate of starts; null is no bound."""
    breaker: NotRequired[Breaker | None]
    """Null is none."""
    retry_rate: NotRequired[Rate | None]
    """A retry budget: the rate of starts after a job's first; null is no bound."""


class ScheduleJobInput(TypedDict):
    """The submission to make at each instant; its payload has at most 64 KiB."""

    type: str
    """The type, which decides who runs the jobs."""
    expires_at: NotRequired[Instant]
    """As in a submission; not together with `expires_in_ms`. Default never."""
    queue: NotRequired[str]
    """The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
    `default`.
    """
    payload: NotRequired[Any]
    """Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
    """
    priority: NotRequired[int]
    """Lower runs first. Default `0`. -32,768 to 32,767."""
    expires_in_ms: NotRequired[int]
    """The same as `expires_at`, counted from the submission. At most 10 years."""
    max_attempts: NotRequired[int]
    """The most attempts. Default the queue's. 1 to 1,000."""
    retry: NotRequired[RetryPolicy]
    """How long the job waits after a failed attempt. Default the queue's."""
    lease_ms: NotRequired[int]
    """The length of a lease. Default the queue's. 1,000 to 86,400,000 ms."""
    timeout_ms: NotRequired[int]
    """The bound on one attempt, however often it is extended. Default none. At most 10 years."""
    unique: NotRequired[UniqueInput]
    """Allows one job for each key within the queue."""
    tags: NotRequired[list[str]]
    """Names to find the job by. Default `[]`. At most 32 entries."""
    meta: NotRequired[dict[str, str]]
    """The client's own strings, at most 8 KiB. Default `{}`."""
    traceparent: NotRequired[str]
    """W3C trace context. At most 512 characters."""
    tracestate: NotRequired[str]
    """W3C trace state, which goes with it. At most 512 characters."""
    limits: NotRequired[list[JobLimit]]
    """The limits that a job must pass to start, its queue's included; each name once. `key` is
    required if the limit counts by key, and forbidden otherwise. At most 8 entries.
    """
    order_key: NotRequired[str]
    """Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
    submission; priority does not count among them. 1 to 128 characters.
    """
    order_on_failure: NotRequired[OrderOnFailure]
    fair_key: NotRequired[str]
    """The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
    characters.
    """


class ScheduleInput(TypedDict):
    """A schedule's specification. It needs exactly one of `cron` and `every_ms`: none is a fault at
    `/cron`, both are a fault at `/every_ms`. It needs exactly one of `job` and `workflow`, too:
    none is a fault at `/job`, both are a fault at `/workflow`.
    """

    job: ScheduleJobInput | NewJob
    """The job to submit at each instant."""
    workflow: NotRequired[WorkflowInput]
    """The workflow to create at each instant, in place of a job: at most 64 KiB, and its jobs 128
    KiB with their defaults. `id`, `unique`, `open` and the `run_at` of a job are 422.
    """
    start_at: NotRequired[Instant | None]
    """No instant is before it. Default none."""
    end_at: NotRequired[Instant | None]
    """No instant is after it; then the schedule is `ended`. Not before `start_at`. Default none."""
    paused: NotRequired[bool]
    """Whether the schedule is paused. If left out, a new schedule is not paused, and an existing
    one stays as it is. Default `false`.
    """
    managed_by: NotRequired[str | None]
    """The owner: a name that `PUT /v1/schedules` and filters of lists use. In a set it may be left
    out, or be the set's. Default none. 1 to 128 characters.
    """
    cron: NotRequired[str | None]
    """Five fields (minute, hour, day of month, month, day of week), or six with the second first. A
    field is a list of `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`).
    Days of month may be `L` (the last), `15W` (the working day nearest the 15th) and `LW`; days of
    week `5#3` (the third Friday) and `5L` (the last Friday): 0 and 7 are Sunday, 5 is Friday. `?`
    is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If day of month or day of week
    begins with `*`, a day must match both, else either. An expression that never comes is refused.
    At most 512 bytes.
    """
    every_ms: NotRequired[int | None]
    """The interval, at most 10 years. The instants are its whole multiples, counted from
    `start_at`, else from the Unix epoch: a restart or an edit moves none.
    """
    timezone: NotRequired[str]
    """The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters."""
    jitter_ms: NotRequired[int]
    """How much later than its instant a job may come. The delay follows from the schedule and the
    instant. It must be less than the gap between an instant and the next. Default `0`. 0 to
    86,400,000 ms.
    """
    missed_after_ms: NotRequired[int]
    """An instant that could not be fired for longer than this is missed, and `missed` decides on
    it. Before that it is only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
    """
    missed: NotRequired[MissedPolicy]
    """The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
    `missed_limit`. Default `one`.
    """
    missed_limit: NotRequired[int]
    """With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the
    runs, with a count. Default `100`. 1 to 1,000.
    """
    overlap: NotRequired[OverlapPolicy]
    """What happens at an instant while the job or workflow of the instant before has not ended:
    `allow` the new job beside it, `skip` the instant, `queue` it (one waits until the job has
    ended, later ones are skipped), or `replace` the job: cancel it, and submit the new one when it
    has ended. Default `allow`.
    """
    dst_gap: NotRequired[DstGap]
    """The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
    Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
    time, and a gap has none. Default `run`.
    """
    dst_overlap: NotRequired[DstOverlap]
    """The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`.
    Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
    time, and are due both times. Default `once`.
    """


class NeedInput(TypedDict):
    ref: str
    """The ref of another member."""
    on: NotRequired[NeedOn]
    """The end that is waited for. Default `succeeded`."""


class MemberJobInput(TypedDict):
    """A submission without `id`, `unique` and `expires_at`: they are 422. Its `delay_ms` and
    `expires_in_ms` count from its release. Default queue: that of the workflow.
    """

    type: NotRequired[str]
    """The type, which decides who runs the job. Required, unless `defaults` has it."""
    run_at: NotRequired[Instant]
    """The earliest start; not together with `delay_ms`."""
    delay_ms: NotRequired[int]
    """The same, counted from the release. At most 10 years."""
    queue: NotRequired[str]
    """The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
    `default`.
    """
    payload: NotRequired[Any]
    """Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
    """
    priority: NotRequired[int]
    """Lower runs first. Default `0`. -32,768 to 32,767."""
    expires_in_ms: NotRequired[int]
    """The same as `expires_at`, counted from the submission. At most 10 years."""
    max_attempts: NotRequired[int]
    """The most attempts. Default the queue's. 1 to 1,000."""
    retry: NotRequired[RetryPolicy]
    """How long the job waits after a failed attempt. Default the queue's."""
    lease_ms: NotRequired[int]
    """The length of a lease. Default the queue's. 1,000 to 86,400,000 ms."""
    timeout_ms: NotRequired[int]
    """The bound on one attempt, however often it is extended. Default none. At most 10 years."""
    unique: NotRequired[UniqueInput]
    """Allows one job for each key within the queue."""
    tags: NotRequired[list[str]]
    """Names to find the job by. Default `[]`. At most 32 entries."""
    meta: NotRequired[dict[str, str]]
    """The client's own strings, at most 8 KiB. Default `{}`."""
    traceparent: NotRequired[str]
    """W3C trace context. At most 512 characters."""
    tracestate: NotRequired[str]
    """W3C trace state, which goes with it. At most 512 characters."""
    limits: NotRequired[list[JobLimit]]
    """The limits that a job must pass to start, its queue's included; each name once. `key` is
    required if the limit counts by key, and forbidden otherwise. At most 8 entries.
    """
    order_key: NotRequired[str]
    """Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
    submission; priority does not count among them. 1 to 128 characters.
    """
    order_on_failure: NotRequired[OrderOnFailure]
    fair_key: NotRequired[str]
    """The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
    characters.
    """


class MemberInput(TypedDict):
    ref: NotRequired[str]
    """A name by which other members and calls name this one."""
    needs: NotRequired[list[str | NeedInput]]
    """What the member waits for; a ref alone stands for an object with it. Default `[]`: the member
    starts at once. At most 1,000 entries.
    """
    needs_any: NotRequired[bool]
    """The first need that is met releases it. Default `false`."""
    job: MemberJobInput | NewJob


class WorkflowUniqueInput(TypedDict):
    key: str
    """One workflow for each key within the queue, until it ends. 1 to 255 characters."""
    on_conflict: NotRequired[Literal["return", "reject"]]
    """`return` the holder, or `reject` with 409 `duplicate_workflow`. Default `return`."""


class WorkflowInput(TypedDict):
    queue: NotRequired[str]
    """The queue of the workflow itself, by which tokens see it and retention keeps it. Default
    `default`.
    """
    id: NotRequired[str]
    """A UUIDv7 that the client makes, whose third group has the first 12 bits of SHA-256 of the
    queue's name. If it is left out, the server makes one.
    """
    name: NotRequired[str]
    """What it is, for people."""
    tags: NotRequired[list[str]]
    """Names to find the workflow by. Default `[]`. At most 32 entries."""
    meta: NotRequired[dict[str, str]]
    """The client's own strings, at most 8 KiB. Default `{}`."""
    defaults: NotRequired[MemberJobInput | NewJob]
    """Members for the jobs of this request that do not name them."""
    members: NotRequired[list[MemberInput]]
    """Default `[]`. A closed workflow without members succeeds at once. At most 10,000 entries."""
    open: NotRequired[bool]
    """It takes more members, and ends only after it is closed. Default `false`."""
    on_member_failed: NotRequired[OnMemberFailed]
    """What a member's failure does. Default `continue`."""
    on_success: NotRequired[MemberJobInput | NewJob]
    """A job to submit when the workflow has succeeded."""
    on_failure: NotRequired[MemberJobInput | NewJob]
    """A job to submit when it has failed or was cancelled."""
    on_end: NotRequired[MemberJobInput | NewJob]
    """A job to submit when it has ended."""
    max_active: NotRequired[int]
    """The most members that are active at once. Default no bound. 1 to 1,000,000."""
    timeout_ms: NotRequired[int]
    """After this time of a generation it stops as if cancelled, and has failed. Default none. At
    most 10 years.
    """
    result_from: NotRequired[str]
    """The ref of a member, whose result is the workflow's."""
    keep_members: NotRequired[bool]
    """Keep the members' jobs until the workflow goes, whatever their queues' retention is. Default
    `true`.
    """
    unique: NotRequired[WorkflowUniqueInput]
    """Allows one workflow for each key."""


class MembersInput(TypedDict):
    members: list[MemberInput]
    """At most 10,000 entries."""
    by: NotRequired[str]
    """The member that adds them, while it is active; needed if the workflow is closed. 1 to 128
    characters.
    """
    close: NotRequired[bool]
    """Close the workflow too. Default `false`."""


class WorkflowRetryInput(TypedDict):
    refs: NotRequired[list[str]]
    """The members to retry. Default those whose failure no other member has caught. 1 to 10,000
    entries.
    """
    reset_attempts: NotRequired[bool]
    """As of a job's retry. Default `true`."""
    drop_limits: NotRequired[bool]
    """As of a job's retry. Default `false`."""


class ScheduleSet(TypedDict):
    managed_by: str
    """The owner of the set."""
    schedules: dict[str, ScheduleInput]
    """The specifications, by name; at most 10,000."""
    prune: NotRequired[bool]
    """Delete the owner's schedules that the set does not name. Default `false`."""
    dry_run: NotRequired[bool]
    """Answer as if it were done, and do nothing. Default `false`."""
    force: NotRequired[bool]
    """Take over schedules of other owners. Default `false`."""


PreviewRequest = TypedDict(
    "PreviewRequest",
    {
        "cron": "NotRequired[str | None]",
        "every_ms": "NotRequired[int | None]",
        "timezone": "NotRequired[str]",
        "from": "NotRequired[Instant]",
        "count": "NotRequired[int]",
        "dst_gap": "NotRequired[DstGap]",
        "dst_overlap": "NotRequired[DstOverlap]",
    },
)
"""Exactly one of `cron` and `every_ms` is needed, as in a schedule."""


BackfillRequest = TypedDict(
    "BackfillRequest",
    {
        "from": "Instant",
        "to": "Instant",
        "limit": "NotRequired[int]",
        "dry_run": "NotRequired[bool]",
        "rerun": "NotRequired[bool]",
    },
)


class JobInput(TypedDict):
    """A job to submit, with the API's members."""

    type: str
    """The type, which decides who runs the job: 1 to 128 characters of `A-Za-z0-9._:/-`."""
    idempotency_key: NotRequired[str]
    """A repetition with the key returns the first job, for 24 hours (a setting). As the header
    `Idempotency-Key` of a single job; bound to the item and the batch's `defaults` as they are
    sent. Visible ASCII. 1 to 255 characters.
    """
    id: NotRequired[str]
    """A UUIDv7 that the client makes. A second submission of it to the same queue returns the
    stored job, as long as the server keeps that. If the job now has another type, payload (byte by
    byte), priority, timeout, tags, meta or unique key, it is 409 `id_mismatch`. If another queue's
    job has the id, it is 409 `duplicate_job`. If it is left out, the server makes one.
    """
    run_at: NotRequired[Instant]
    """The earliest start; not together with `delay_ms`. Default now."""
    delay_ms: NotRequired[int]
    """The same as `run_at`, counted from the submission. At most 10 years."""
    expires_at: NotRequired[Instant]
    """A job that has not started by then is `expired`; not together with `expires_in_ms`. Default
    never.
    """
    queue: NotRequired[str]
    """The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
    `default`.
    """
    payload: NotRequired[Any]
    """Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
    """
    priority: NotRequired[int]
    """Lower runs first. Default `0`. -32,768 to 32,767."""
    expires_in_ms: NotRequired[int]
    """The same as `expires_at`, counted from the submission. At most 10 years."""
    max_attempts: NotRequired[int]
    """The most attempts. Default the queue's. 1 to 1,000."""
    retry: NotRequired[RetryPolicy]
    """How long the job waits after a failed attempt. Default the queue's."""
    lease_ms: NotRequired[int]
    """The length of a lease. Default the queue's. 1,000 to 86,400,000 ms."""
    timeout_ms: NotRequired[int]
    """The bound on one attempt, however often it is extended. Default none. At most 10 years."""
    unique: NotRequired[UniqueInput]
    """Allows one job for each key within the queue."""
    tags: NotRequired[list[str]]
    """Names to find the job by. Default `[]`. At most 32 entries."""
    meta: NotRequired[dict[str, str]]
    """The client's own strings, at most 8 KiB. Default `{}`."""
    traceparent: NotRequired[str]
    """W3C trace context. At most 512 characters."""
    tracestate: NotRequired[str]
    """W3C trace state, which goes with it. At most 512 characters."""
    limits: NotRequired[list[JobLimit]]
    """The limits that a job must pass to start, its queue's included; each name once. `key` is
    required if the limit counts by key, and forbidden otherwise. At most 8 entries.
    """
    order_key: NotRequired[str]
    """Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
    submission; priority does not count among them. 1 to 128 characters.
    """
    order_on_failure: NotRequired[OrderOnFailure]
    fair_key: NotRequired[str]
    """The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
    characters.
    """
