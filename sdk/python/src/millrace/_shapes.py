# Made by tools/types from docs/reference/openapi.yaml; do not edit.
"""The values that cross HTTP: answers, and the job to submit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

from ._record import UNSET, Record, ToSubmit
from ._time import Duration, Instant

if TYPE_CHECKING:
    from typing_extensions import NotRequired

JobState = Literal[
    "scheduled",
    "ready",
    "running",
    "retrying",
    "blocked",
    "succeeded",
    "dead",
    "cancelled",
    "expired",
    "pruned",
]
"""`scheduled` waits for `run_at`, `retrying` for its backoff, `blocked` for other jobs. Terminal
are `succeeded`, `dead`, `cancelled` and `expired` (not started before `expires_at`).
"""

OrderOnFailure = Literal["hold", "pass"]
"""`hold`: while the job waits for its next attempt, its successors wait too. `pass`: they run.
Default `hold`.
"""

LogLevel = Literal["debug", "info", "warn", "error"]

BreakerState = Literal["closed", "open", "half_open"]
"""Null without a breaker."""

MissedPolicy = Literal["skip", "one", "all"]
"""The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
`missed_limit`.
"""

OverlapPolicy = Literal["allow", "skip", "queue", "replace"]
"""What happens at an instant while the job or workflow of the instant before has not ended: `allow`
the new job beside it, `skip` the instant, `queue` it (one waits until the job has ended, later ones
are skipped), or `replace` the job: cancel it, and submit the new one when it has ended.
"""

DstGap = Literal["run", "skip"]
"""The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
and a gap has none.
"""

DstOverlap = Literal["once", "twice"]
"""The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
for expressions whose minute and hour do not begin with `*`: the others follow elapsed time, and are
due both times.
"""

WorkflowState = Literal[
    "running",
    "stopping",
    "compensating",
    "stuck",
    "succeeded",
    "failed",
    "cancelled",
]
"""`stopping`: nothing more is released, and running jobs are told. `succeeded`, `failed` and
`cancelled` are final; a retry brings a failed or cancelled workflow back. No workflow has the
states `compensating` and `stuck` yet.
"""

MemberState = Literal["blocked", "active", "succeeded", "failed", "skipped"]
"""`blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need can't
be met any more, the workflow stopped, or a call skipped it.
"""

MemberReason = Literal[
    "dead",
    "expired",
    "cancelled",
    "deleted",
    "refused",
    "by_call",
    "growth_refused",
]
"""Why a member has failed or was skipped; null if nothing is known. `refused`: its job was, at its
release. `by_call`: a call, or the ack of a member that it needs, skipped it. `growth_refused`: its
job succeeded, and the workflow refused what the ack added.
"""

NeedOn = Literal["succeeded", "failed", "ended"]
"""`failed`: a member that is released so catches the failure. `ended`: succeeded, failed or
skipped.
"""

OnMemberFailed = Literal["continue", "stop", "ignore"]
"""`continue`: what hangs on it is skipped. `stop`: once nothing can catch it, what waits is
skipped, and running jobs are cancelled. `ignore`: as `continue`, but the workflow succeeds.
"""

MemberRole = Literal["member", "callback"]
"""Whether the job is a member's, or one that the end of the workflow submitted."""

EventType = Literal[
    "job.submitted",
    "job.started",
    "job.succeeded",
    "job.retrying",
    "job.snoozed",
    "job.released",
    "job.lease_expired",
    "job.timed_out",
    "job.dead",
    "job.expired",
    "job.cancel_requested",
    "job.cancelled",
    "job.retried",
    "job.edited",
    "job.deleted",
    "queue.updated",
    "queue.paused",
    "queue.resumed",
    "queue.purged",
    "queue.deleted",
    "schedule.updated",
    "schedule.paused",
    "schedule.resumed",
    "schedule.deleted",
    "schedule.skipped",
    "schedule.broken",
    "limit.updated",
    "limit.paused",
    "limit.resumed",
    "limit.deleted",
    "type.updated",
    "type.paused",
    "type.resumed",
    "type.deleted",
    "limit.slowed_down",
    "limit.slow_down_ended",
    "breaker.opened",
    "breaker.closed",
    "job.debounced",
    "operation.started",
    "operation.paused",
    "operation.resumed",
    "operation.rate_changed",
    "operation.ended",
    "error_group.opened",
    "error_group.reopened",
    "error_group.resolved",
    "error_group.muted",
    "workflow.created",
    "workflow.grown",
    "workflow.closed",
    "workflow.stopping",
    "workflow.succeeded",
    "workflow.failed",
    "workflow.cancelled",
    "workflow.retried",
    "workflow.skipped",
    "workflow.late_success",
    "workflow.deleted",
]


class RetryPolicy(TypedDict):
    """The delay before attempt n+1 is `base_ms * 2^(n-1)` (exponential), `base_ms * n` (linear) or
    `base_ms` (fixed), at most `max_ms`, and then changes by up to `jitter` of itself either way.
    `list` names the delays.
    """

    strategy: Literal["exponential", "linear", "fixed", "list"]
    """How the delay grows."""
    base_ms: NotRequired[int]
    """The first delay. Default `5000`. At most 10 years."""
    max_ms: NotRequired[int]
    """The longest delay. Default `300000`. At most 10 years."""
    jitter: NotRequired[float]
    """The part by which a delay varies either way. Default `0.2`. 0 to 1."""
    delays_ms: NotRequired[list[int]]
    """The delay after each attempt; the last one repeats. 1 to 100 entries."""


class UniqueInput(TypedDict):
    """One job for each key within the queue, while the job is not terminal and for `for_ms` after
    the submission.
    """

    key: str
    """The key. 1 to 255 characters."""
    for_ms: NotRequired[int]
    """How long the key is held at least. Default until the job has ended. At most 10 years."""
    on_conflict: NotRequired[Literal["return", "reject", "replace", "debounce"]]
    """`return` the holder, `reject` with 409 `duplicate_job`, or `replace`: cancel a waiting holder
    (a running one is 409). `debounce`: a waiting holder takes the new payload, and starts
    `delay_ms` after the newest submission (its backoff is never shortened; another type is 409). A
    running holder lets one new job wait; if it fails without having ended, it is cancelled as
    `superseded`. With `for_ms`, `return` is a throttle. Default `return`.
    """
    max_wait_ms: NotRequired[int]
    """With `debounce`: the longest time from the first submission to the start. At most 10 years.
    """


class Unique(TypedDict):
    key: str
    """The key."""
    for_ms: int | None
    """How long the key is held at least; null: until the job has ended."""
    on_conflict: Literal["return", "reject", "replace", "debounce"]
    """What another submission with the key does."""
    max_wait_ms: NotRequired[int]
    """With `debounce`: the longest time from the first submission to the start."""


class ScheduleOfJob(TypedDict):
    """The schedule that made the job. Left out if there is none."""

    name: str
    """The schedule's name."""
    scheduled_at: str
    """The instant that the job is for; the job may come later."""


class Progress(TypedDict):
    percent: float | None
    """From 0 to 100; null if it was not told."""
    message: str | None
    """At most 1,024 bytes; null if it was not told."""
    checkpoint: Any
    """State for the next attempt; opaque JSON."""


class JobError(TypedDict):
    type: str
    """The type that the worker reported, or one of the server's: `lease_expired`, `timeout` or
    `worker_lost`.
    """
    message: str
    """At most 4 KiB."""
    stack: str | None
    """At most 32 KiB; null if there is none."""
    fingerprint: str | None
    """Equal for errors of the same group."""
    attempt: int
    """The attempt that failed, from 1."""
    at: str
    """When it failed."""
    redacted: NotRequired[bool]
    """The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
    are null, `message` of an error or a log line is empty. Always `true`.
    """


class Attempt(TypedDict):
    n: int
    """Counts every start, from 1."""
    attempt: int
    """The attempt's number, from 1. Snoozed and released attempts do not count."""
    worker: str | None
    """The worker's name; null if it is not known."""
    started_at: str
    """When a worker got the job."""
    finished_at: str | None
    """When it ended; null while it runs."""
    outcome: Literal[
        "running",
        "succeeded",
        "failed",
        "snoozed",
        "released",
        "cancelled",
        "dead",
        "lease_expired",
        "timed_out",
    ]
    """How it ended."""
    error: JobError | None
    """Why it failed; null if it did not."""


class ItemResult(TypedDict):
    status: int
    id: NotRequired[str]
    """Left out if the item had none."""
    state: NotRequired[
        Literal[
            "scheduled",
            "ready",
            "running",
            "retrying",
            "blocked",
            "succeeded",
            "dead",
            "cancelled",
            "expired",
            "pruned",
            "deleted",
        ]
    ]
    """The job's state after the call."""
    error: NotRequired[Problem]


class Lease(TypedDict):
    token: int
    """Names one lease; rises with every lease of a shard. 0 to 9,007,199,254,740,991."""
    expires_at: str
    """When it ends, unless it is extended."""
    lease_ms: int
    """The lease's length, by which a heartbeat extends it; send one after a third of it. Unlike
    `expires_at` it depends on no clock. 1,000 to 86,400,000 ms.
    """


class RunningJob(TypedDict):
    id: str
    queue: str
    type: str
    attempt: int
    started_at: str
    lease_expires_at: str


class QueueLimit(TypedDict):
    name: str
    """The limit's name."""
    key: NotRequired[str]
    """The job's key, if the limit counts by key. 1 to 255 characters."""
    key_from: NotRequired[Literal["fair_key"]]
    """The key is the job's own `fair_key`. The limit does not apply to a job without one."""
    cost: NotRequired[int]
    """Default `1`. 1 to 1,000,000."""


class Fair(TypedDict):
    """Within one priority of the queue, `fair_key`s get service in proportion to their weights.
    Jobs without a key share the key `""`.
    """

    weights: NotRequired[dict[str, int]]
    """At most 1,000 keys with a weight of their own."""
    default_weight: NotRequired[int]
    """Default `1`. 1 to 1,000."""
    by: NotRequired[Literal["time", "starts"]]
    """`time`: keys share running time. `starts`: keys share starts. Default `time`."""


class Retention(TypedDict):
    succeeded_ms: int | None
    """Of jobs that succeeded. Default a day. At most 10 years."""
    dead_ms: int | None
    """Of jobs that failed for good. Default 30 days. At most 10 years."""
    cancelled_ms: int | None
    """Of jobs that were cancelled. Default a day. At most 10 years."""
    expired_ms: int | None
    """Of jobs that did not start in time. Default a day. At most 10 years."""


class QueueSettings(TypedDict):
    limits: list[QueueLimit]
    """Added to each job that is submitted to the queue. At most 8 entries."""
    retention: Retention
    """How long ended jobs are kept."""
    max_attempts: int
    """For jobs that do not set their own. Default 5. 1 to 1,000."""
    max_crashes: int | None
    """A job that loses its worker this many times is dead, `worker_lost`. Default the job's
    `max_attempts`. 1 to 1,000.
    """
    retry: RetryPolicy
    """For jobs that do not set their own."""
    lease_ms: int
    """For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000 ms."""
    max_ready: int | None
    """The most ready jobs; beyond it submissions are 429 `queue_full`; null is no bound."""
    concurrency: int | None
    """The most jobs of the queue that run together; null is no bound. 1 to 1,000,000."""
    rate: Rate | None
    """The most jobs that start in each period; null is no bound."""
    breaker: Breaker | None
    """The breaker for all attempts of the queue; null is none."""
    fair: Fair | None
    """If null, fair keys have no effect. Not together with `ageing_ms`."""
    ageing_ms: int | None
    """A job gains one step of priority for each such time that it waits; null: priorities are
    strict. Not together with `fair`. A change sorts at most 1,000,000 ready jobs again, and is 409
    beyond that. 1,000 to 86,400,000 ms.
    """
    max_ready_per_key: int | None
    """The most ready jobs of one `fair_key`; beyond it submissions with the key are 429 `key_full`;
    null is no bound. Only with `fair`.
    """


class Breaker(TypedDict):
    """If at least `min_attempts` attempts ran in the last `window_ms` and a part of `failure_rate`
    failed, no job starts for `open_ms`. After that at most `probes` jobs run; that many successes
    close the breaker, one failure opens it again. Jobs wait meanwhile, and lose no attempts.
    """

    failure_rate: float
    """The part of attempts that may fail, above 0. At most 1."""
    min_attempts: int
    """The fewest attempts that say anything. 1 to 100,000."""
    window_ms: int
    """How far back attempts count. 1,000 to 3,600,000 ms."""
    open_ms: int
    """How long nothing starts. 100 to 86,400,000 ms."""
    probes: int
    """Jobs that run after that; the breaker closes if all succeed. 1 to 1,000."""


class Rate(TypedDict):
    """A token bucket of starts."""

    limit: int
    """Starts in each period. 1 to 1,000,000,000."""
    per_ms: int
    """The period. 1 to 86,400,000 ms."""
    burst: NotRequired[int]
    """The most starts at once after a pause; `limit` by default. 1 to 1,000,000,000."""


class JobLimit(TypedDict):
    name: str
    """The limit's name."""
    key: NotRequired[str]
    """The job's key, if the limit counts by key. 1 to 255 characters."""
    cost: NotRequired[int]
    """The tokens of the limit's rate that a start takes. Default `1`. 1 to 1,000,000."""


class KeyBound(TypedDict):
    concurrency: NotRequired[int | None]
    """1 to 1,000,000."""
    rate: NotRequired[Rate | None]


class WhyNote(TypedDict):
    code: Literal["no_worker"]
    last_seen: NotRequired[str]


class Blocking(TypedDict):
    """The members depend on the code. `limit_kind` distinguishes a limit from the gate of a type or
    of a queue.
    """

    code: Literal[
        "running",
        "ended",
        "scheduled",
        "backoff",
        "parents",
        "expired",
        "queue_paused",
        "type_paused",
        "limit_paused",
        "order",
        "limit_full",
        "rate",
        "retry_rate",
        "breaker_open",
        "slow_down",
        "share",
        "behind",
    ]
    """What holds the job, or the jobs, back."""
    limit: NotRequired[str]
    """The name of the limit, or of the type or queue that has the gate."""
    limit_kind: NotRequired[Literal["limit", "type", "queue"]]
    """Whose gate it is."""
    key: NotRequired[str]
    """The key of the limit, if only that is closed."""
    worker: NotRequired[str]
    """The worker that runs the job."""
    reason: NotRequired[str]
    """The reason of a pause."""
    in_use: NotRequired[int]
    """How many slots are taken."""
    concurrency: NotRequired[int]
    """How many slots there are."""
    have: NotRequired[int]
    """For a share: the slots that the job's shard may use, or the burst if the limit has no
    concurrency. Other shards have the rest.
    """
    wanted_since: NotRequired[str]
    """For a share: since when the shard has wanted more."""
    waits_for: NotRequired[str]
    """The job that comes first."""
    holders: NotRequired[list[str]]
    """Up to five jobs that hold it."""
    waiting: NotRequired[int]
    """In `blocked_by` of a queue: the number of its ready jobs that wait for the gate."""
    ahead: NotRequired[int]
    """The number of jobs before it, at most 1,000."""
    more: NotRequired[bool]
    """There are more than were counted."""
    since: NotRequired[str]
    """Since when it holds."""
    until: NotRequired[str]
    """When it ends by itself."""
    available_at: NotRequired[str]
    """When a token comes."""


class Counts(TypedDict):
    """Exact, by state."""

    scheduled: int
    """Wait for their time."""
    ready: int
    """Wait for a worker."""
    running: int
    """Have a lease."""
    retrying: int
    """Wait for their next attempt."""
    blocked: int
    """Wait for other jobs."""
    succeeded: int
    """Have succeeded, and are kept."""
    dead: int
    """Have failed for good, and are kept."""
    cancelled: int
    """Were cancelled, and are kept."""
    expired: int
    """Did not start in time, and are kept."""


class QueueRates(TypedDict):
    """Over the last 60 s."""

    submitted_per_s: float
    """New jobs a second."""
    started_per_s: float
    """Attempts that began, a second."""
    succeeded_per_s: float
    """Attempts that succeeded, a second."""
    failed_per_s: float
    """Attempts that failed, a second."""


class ScheduleJob(TypedDict):
    """The job as it was given, with its queue; a member that was left out may be left out here.
    `payload` comes back byte for byte.
    """

    type: str
    """The type, which decides who runs the jobs."""
    expires_at: NotRequired[str]
    redacted: NotRequired[bool]
    """The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
    are null, `message` of an error or a log line is empty. Always `true`.
    """
    queue: str
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


class ScheduleMember(TypedDict):
    ref: NotRequired[str]
    """The name by which other members name this one. Left out if it has none."""
    needs: NotRequired[list[Need]]
    """What the member waits for. Left out if it waits for nothing."""
    needs_any: NotRequired[bool]
    """The first need that is met releases it. Left out if false."""
    job: MemberJob
    """The job, with what `defaults` gave it."""


class ScheduleWorkflow(TypedDict):
    """The workflow as it was given, with its defaults applied to its jobs; a member that was left
    out may be left out here.
    """

    queue: str
    """The queue of the workflow itself."""
    name: NotRequired[str]
    """What it is, for people."""
    tags: NotRequired[list[str]]
    """Names to find its workflows by. At most 32 entries."""
    meta: NotRequired[dict[str, str]]
    """The client's own strings, at most 8 KiB."""
    members: list[ScheduleMember]
    on_member_failed: OnMemberFailed
    on_success: NotRequired[MemberJob]
    """The job to submit when the workflow has succeeded."""
    on_failure: NotRequired[MemberJob]
    """The job to submit when it has failed or was cancelled."""
    on_end: NotRequired[MemberJob]
    """The job to submit when it has ended."""
    max_active: NotRequired[int]
    """The most members that are active at once. 1 to 1,000,000."""
    timeout_ms: NotRequired[int]
    """After this time of a generation it stops as if cancelled, and has failed. At most 10 years.
    """
    result_from: NotRequired[str]
    """The ref of a member, whose result is the workflow's."""
    keep_members: bool
    """Whether the members' jobs stay until the workflow goes."""


class MemberCounts(TypedDict):
    """The number of members by state."""

    blocked: int
    active: int
    succeeded: int
    failed: int
    skipped: int


class WorkflowCallbacks(TypedDict):
    """The ids of the callbacks' jobs, once they are submitted."""

    on_success: NotRequired[str]
    on_failure: NotRequired[str]
    on_end: NotRequired[str]


class WorkflowUnique(TypedDict):
    key: str


class Need(TypedDict):
    ref: str
    """The ref of another member, or `@` and its number. 1 to 128 characters."""
    on: NeedOn


class MemberJob(TypedDict):
    run_at: NotRequired[str]
    delay_ms: NotRequired[int]
    """From its release. At most 10 years."""
    type: str
    """The type, which decides who runs the jobs."""
    expires_at: NotRequired[str]
    redacted: NotRequired[bool]
    """The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
    are null, `message` of an error or a log line is empty. Always `true`.
    """
    queue: str
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


class WorkflowBlocking(TypedDict):
    """The members depend on the code."""

    code: Literal["open", "active", "max_active", "releasing", "in_transit", "overloaded", "ended"]
    """`open`: it is not closed. `active`: members have jobs that have not ended. `max_active`:
    members wait, because as many as that are active. `releasing`: members are about to be
    submitted. `in_transit`: jobs are on the way to another shard. `overloaded`: the server's memory
    is full. `ended`: the workflow has.
    """
    shard: NotRequired[int]
    """The shard to which the jobs are on the way."""
    count: NotRequired[int]
    """How many."""
    jobs: NotRequired[list[str]]
    """The first 20 of them. Left out for a token that is limited to queues."""


class WorkflowOfJob(TypedDict):
    """The workflow that the job belongs to."""

    id: str
    name: str | None
    """The workflow's; null if it has none."""
    ref: str | None
    """The member's; null if it has none."""
    number: int | None
    """The member's; null for a callback."""
    role: MemberRole


class WorkflowOfClaim(TypedDict):
    generation: int
    """The workflow's."""
    state: WorkflowState
    """The workflow's when the job was submitted."""
    counts: NotRequired[MemberCounts]
    """For a callback, the number of members by state."""
    failed: NotRequired[list[str]]
    """For a callback, refs of members that failed, at most 20."""
    id: str
    name: str | None
    """The workflow's; null if it has none."""
    ref: str | None
    """The member's; null if it has none."""
    number: int | None
    """The member's; null for a callback."""
    role: MemberRole


class Parent(TypedDict):
    """A member that the job's member needs, as it ended."""

    id: str | None
    """Its job; null if it never had one."""
    state: MemberState
    reason: MemberReason | None
    result: NotRequired[Any]
    """If it succeeded. Together at most 1 MiB with a job."""
    omitted: NotRequired[Literal["size", "unreachable", "pruned"]]
    """Why the result is left out: `size`, or `unreachable` for now, or its job is `pruned`."""


class Percentiles(TypedDict):
    p50: list[float | None]
    """Milliseconds; null if nothing ran."""
    p95: list[float | None]
    """Milliseconds; null if nothing ran."""
    p99: list[float | None]
    """Milliseconds; null if nothing ran."""


class StatsGroup(TypedDict):
    queue: NotRequired[str | None]
    """With `by=queue`; null of the group `others`."""
    type: NotRequired[str | None]
    """With `by=type`; null of the group `others`."""
    fair_key: NotRequired[str | None]
    """With `by=fair_key`; null of the group `others`."""
    tag: NotRequired[str | None]
    """With `by=tag`; null of the group `others`."""
    others: NotRequired[bool]
    """The sum of all that have no group of their own. `true`, or absent."""
    submitted: list[int]
    started: list[int]
    succeeded: list[int]
    failed: list[int]
    dead: list[int]
    wait_ms: Percentiles
    """Time from due to started."""
    run_ms: Percentiles
    """Time from started to the end of the attempt."""


class Deploy(TypedDict):
    at: str
    type: str | None
    version: str
    worker_sdk: str | None


StatsGap = TypedDict(
    "StatsGap",
    {
        "from": "str",
        "to": "str",
    },
)


class FieldError(TypedDict):
    pointer: NotRequired[str]
    """A JSON Pointer to the member, or to the place of a missing one."""
    parameter: NotRequired[str]
    """The query parameter, if the fault is in one."""
    header: NotRequired[str]
    """The header, if the fault is in one."""
    detail: str


class Problem(TypedDict):
    type: str
    title: str
    status: int
    """400 to 599."""
    code: Literal[
        "invalid_request",
        "invalid_json",
        "unauthenticated",
        "forbidden",
        "not_found",
        "method_not_allowed",
        "idempotency_mismatch",
        "across_shards",
        "duplicate_job",
        "duplicate_workflow",
        "id_mismatch",
        "too_many_queues",
        "too_many_schedules",
        "too_many_entries",
        "unknown_limit",
        "limit_in_use",
        "lease_lost",
        "gone",
        "invalid_state",
        "version_conflict",
        "payload_too_large",
        "unsupported_media_type",
        "validation_failed",
        "rate_limited",
        "queue_full",
        "key_full",
        "draining",
        "storage_unavailable",
        "overloaded",
        "internal",
        "request_timeout",
        "uri_too_long",
        "headers_too_large",
    ]
    """Stable: clients should switch on it."""
    detail: str
    request_id: str
    depth: NotRequired[int]
    """With `queue_full` and `key_full`, how many jobs are ready."""
    oldest_ready_age_ms: NotRequired[int]
    """With these, how long the oldest of them has been ready."""
    errors: NotRequired[list[FieldError]]
    """With `validation_failed`, every fault, at most 20."""


class JobRecord(Record):
    id: str
    """A UUIDv7."""
    queue: str
    """The queue's name."""
    type: str
    """The type's name."""
    state: JobState
    priority: int
    """Lower runs first. -32,768 to 32,767."""
    redacted: bool | None
    """The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
    are null, `message` of an error or a log line is empty. Always `true`.
    """
    attempt: int
    """The number of started attempts, without those that were snoozed or released."""
    max_attempts: int
    """The most attempts. 1 to 1,000."""
    crashes: int
    """The number of expired leases; at the queue's `max_crashes` the job is dead, `worker_lost`."""
    generation: int
    """Rises with every retry by hand."""
    version: int
    """Rises with every change; `ETag` and `If-Match` carry it."""
    created_at: str
    """When it was submitted."""
    run_at: str
    """When it is, or was, due."""
    expires_at: str | None
    """When it expires if it has not started; null: never."""
    started_at: str | None
    """The last start."""
    finished_at: str | None
    """When it ended; null until then."""
    lease_expires_at: str | None
    """Null unless running."""
    worker: str | None
    """The worker's name (see WorkerName); null unless running."""
    cancel_requested: bool
    """Whether it was cancelled while it ran."""
    progress: Progress | None
    """The progress that was reported last; null if none was."""
    last_error: JobError | None
    """Why the last attempt failed; null if none did."""
    retry: RetryPolicy | None
    """Null if the queue's policy applies."""
    lease_ms: int | None
    """Null if the queue's length applies."""
    timeout_ms: int | None
    """The bound on one attempt; null if there is none."""
    unique: Unique | None
    """Its unique key; null if it has none."""
    tags: list[str]
    """Names to find the job by. At most 32 entries."""
    meta: dict[str, str]
    """The client's own strings, at most 8 KiB."""
    traceparent: str | None
    """W3C trace context of the submission. Left out if it had none."""
    schedule: ScheduleOfJob | None
    """The schedule that made the job. Left out if none did."""
    workflow: WorkflowOfJob | None
    """The workflow that the job belongs to. Left out if it belongs to none."""
    payload: Any
    """With `include=payload`."""
    result: Any
    """With `include=result`; null until there is one."""
    attempts: list[Attempt] | None
    """With `include=attempts`."""
    logs: list[LogLine] | None
    """With `include=logs`."""
    events: list[Event] | None
    """With `include=events`."""
    limits: list[JobLimit] | None
    """The limits that a job must pass to start, its queue's included; each name once. `key` is
    required if the limit counts by key, and forbidden otherwise. At most 8 entries.
    """
    order_key: str | None
    """Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
    submission; priority does not count among them. 1 to 128 characters.
    """
    order_on_failure: OrderOnFailure | None
    fair_key: str | None
    """The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
    characters.
    """

    __slots__ = ()


class LogLine(Record):
    seq: int
    """Rises along the job's lines."""
    attempt: int
    """The attempt that wrote the line, from 1."""
    at: str
    """When it was written, by the worker's clock."""
    level: LogLevel
    """Its level; `info` if the worker gave none."""
    message: str
    """At most 8 KiB."""
    redacted: bool | None
    """The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
    are null, `message` of an error or a log line is empty. Always `true`.
    """

    __slots__ = ()


class BatchItemRecord(Record):
    status: int
    id: str | None
    state: (
        Literal[
            "scheduled",
            "ready",
            "running",
            "retrying",
            "blocked",
            "succeeded",
            "dead",
            "cancelled",
            "expired",
            "pruned",
        ]
        | None
    )
    error: Problem | None
    """The reason of the refusal; pointers are relative to the item."""

    __slots__ = ()


class Operation(Record):
    id: str
    kind: Literal["bulk", "purge", "error_group", "reproject"]
    action: Literal["retry", "cancel", "delete", "reprioritize"] | None
    query: str | None
    """The filter in the language of searches."""
    queue: str | None
    """The one queue that the operation is about."""
    error_group: str | None
    """The fingerprint of an error group."""
    state: Literal["running", "paused", "completed", "cancelled", "failed"]
    matched: int | None
    """How many jobs matched at the beginning; an estimate. Null if they could not be counted within
    a second. Of `reproject`, rows of the log, in `done` and `changed` too.
    """
    done: int
    """The jobs that had their turn: the sum of `changed` and `failed`."""
    changed: int
    failed: int
    """The jobs that were left alone, because they had left their state or because something forbids
    the action.
    """
    rate_per_s: int | None
    """Jobs a second; null means no bound. 1 to 100,000."""
    created_at: str
    created_by: str | None
    """The name of the token."""
    updated_at: str
    ended_at: str | None
    """Null until the operation has ended."""
    estimated_end_at: str | None
    """At the rate, or at the pace so far; null if that is not known."""
    reason: str | None
    """Why the operation failed."""

    __slots__ = ()


class BulkAnswer(Record):
    matched: int
    changed: int
    failed: int
    more: bool
    results: list[ItemResult] | None
    """With `ids`, in their order."""

    __slots__ = ()


class ClaimedJobRecord(Record):
    id: str
    """A UUIDv7."""
    queue: str
    """The queue's name."""
    type: str
    """The type's name."""
    payload: Any
    """Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte."""
    attempt: int
    """The number of this attempt, from 1."""
    max_attempts: int
    """The most attempts. If this attempt is the last, the job is dead when it fails. 1 to 1,000."""
    lease: Lease
    """The worker's hold on the job, as it was when the job was claimed."""
    deadline: str | None
    """The time at which the attempt times out, if the job has `timeout_ms`."""
    timeout_ms: int | None
    """The length of the attempt, if it is bounded. A worker measures it by its own monotonic clock,
    so that its wall clock need not agree with the server's.
    """
    priority: int | None
    """Lower runs first. -32,768 to 32,767."""
    created_at: str | None
    """When it was submitted."""
    tags: list[str] | None
    """At most 32 entries."""
    meta: dict[str, str]
    """The client's own strings, at most 8 KiB."""
    traceparent: str | None
    """W3C trace context of the submission."""
    tracestate: str | None
    """W3C trace state, which goes with it."""
    schedule: ScheduleOfJob | None
    """The schedule that made the job. Left out if none did."""
    workflow: WorkflowOfClaim | None
    """The workflow that the job belongs to. Left out if it belongs to none."""
    parents: dict[str, Parent] | None
    """What the job's member needs. Left out if it needs nothing."""
    progress: Progress | None
    """The progress that an earlier attempt reported, with its checkpoint."""

    __slots__ = ()


class WorkerInfo(Record):
    id: str
    """The worker's id; if its token is limited to queues, followed by `~` and the token's id. Use
    this name to tell the worker to be quiet or to stop.
    """
    queues: list[str]
    types: list[str] | None
    """Null if the worker takes every type."""
    state: Literal["active", "quiet", "stopping"]
    first_seen_at: str
    last_seen_at: str
    running: list[RunningJob]
    host: str | None
    pid: int | None
    sdk: str | None
    version: str | None
    """The version of the user's program, not of the SDK."""
    labels: dict[str, str]

    __slots__ = ()


class Limit(Record):
    name: str
    per_key: bool
    keys: dict[str, KeyBound]
    """Other bounds by key; an absent bound is the same as for every key."""
    version: int
    """Rises with every change; `ETag` and `If-Match` carry it."""
    concurrency: int | None
    """The most live leases at a time; null is no bound. 1 to 1,000,000."""
    rate: Rate | None
    """The rate of starts; null is no bound."""
    breaker: Breaker | None
    """Null is none."""
    retry_rate: Rate | None
    """A retry budget: the rate of starts after a job's first; null is no bound."""
    paused: bool
    pause_reason: str | None
    paused_until: str | None
    in_use: int
    """Live leases."""
    waiting: int
    """The number of ready jobs that name it."""
    next_token_at: str | None
    """When the rate allows the next start; null when it does now, or there is none."""
    breaker_state: BreakerState | None
    open_until: str | None
    """When an open breaker lets probes through."""
    blocked_until: str | None
    """The end of a pause, or of a worker's `slow_down`; the later one."""

    __slots__ = ()


class Why(Record):
    id: str
    state: JobState
    at: str
    summary: str
    """Sentences for a person."""
    blocking: list[Blocking]
    """Every reason why the job waits, in the order in which a claim meets it. Empty: the next claim
    of its queue and type gets it.
    """
    notes: list[WhyNote]
    """`no_worker`: nobody has asked for its queue and type for a minute."""

    __slots__ = ()


class Queue(Record):
    name: str
    """The queue's name."""
    paused: bool
    """Whether the server hands out none of its jobs."""
    pause_reason: str | None
    """Why it is paused; null if it is not, or no reason was given."""
    counts: Counts
    """The numbers of its jobs, by state."""
    oldest_ready_age_ms: int | None
    """How long the oldest ready job has been due; null if none is ready."""
    rates: QueueRates
    """Its rates over the last 60 s."""
    settings: QueueSettings
    """All its settings, with their defaults."""
    version: int
    """Rises with every change of the settings, pause or resume."""
    blocked_by: list[Blocking] | None
    """The gates that hold back ready jobs of the queue, most jobs first; at most 20. Only in the
    answer to GET of one queue. The keys of a limit count together; `key` is present if only one is
    closed. `more` says that the server looked only at a part of the jobs.
    """

    __slots__ = ()


class MembersAnswer(Record):
    added: int
    """How many members were added."""
    existing: int
    """How many were there already."""
    members: int
    """How many the workflow has now."""

    __slots__ = ()


class WorkflowRecord(Record):
    id: str
    """A UUIDv7."""
    name: str | None
    queue: str
    """The queue of the workflow itself."""
    state: WorkflowState
    reason: Literal["member_failed", "cancelled", "timeout"] | None
    """Why it stops, or has failed; null if it does not."""
    cancel_reason: str | None
    """As the cancellation gave it. Left out if it gave none."""
    generation: int
    """Grows with each retry after the end."""
    version: int
    """Grows with each change of the workflow itself, not with those of its members."""
    open: bool
    """Whether it takes members from outside."""
    created_at: str
    timeout_at: str | None
    """When this generation times out; null if it does not."""
    ended_at: str | None
    """Null until it has ended."""
    members: int
    """The number of members."""
    counts: MemberCounts
    callbacks: WorkflowCallbacks
    tags: list[str]
    """At most 32 entries."""
    meta: dict[str, str]
    """The client's own strings, at most 8 KiB."""
    on_member_failed: OnMemberFailed
    max_active: int | None
    """Null if there is no bound."""
    timeout_ms: int | None
    """Null if there is none."""
    result_from: str | None
    """The ref of the member whose result is the workflow's; null if there is none."""
    keep_members: bool
    """Whether the members' jobs stay until the workflow goes."""
    unique: WorkflowUnique | None
    """Null if it has no unique key."""
    result: Any
    """With `include=result`; null until there is one."""
    redacted: bool | None
    """Jobs of queues that the token does not open, or results that it may not see, are left out.
    Always `true`.
    """

    __slots__ = ()


class MemberRecord(Record):
    number: int
    """Its place in the workflow, from 0."""
    ref: str | None
    """Null if it has none."""
    state: MemberState
    reason: MemberReason | None
    generation: int
    """How often it was released."""
    queue: str | None
    """The queue of its job. Left out, as is what follows, if the token does not open it."""
    job_id: str | None
    """Null until it is released."""
    result: Any
    """With `include=result`; null if there is none."""
    redacted: bool | None
    """Jobs of queues that the token does not open, or results that it may not see, are left out.
    Always `true`.
    """

    __slots__ = ()


class MemberDetailRecord(Record):
    needs: list[Need]
    needs_any: bool
    """Whether the first need that is met releases it."""
    definition: MemberJob | None
    """The job as it was given. Left out if the token does not open its queue."""
    waits_for: list[str]
    """Needs that have not ended, at most 20."""
    number: int
    """Its place in the workflow, from 0."""
    ref: str | None
    """Null if it has none."""
    state: MemberState
    reason: MemberReason | None
    generation: int
    """How often it was released."""
    queue: str | None
    """The queue of its job. Left out, as is what follows, if the token does not open it."""
    job_id: str | None
    """Null until it is released."""
    result: Any
    """With `include=result`; null if there is none."""
    redacted: bool | None
    """Jobs of queues that the token does not open, or results that it may not see, are left out.
    Always `true`.
    """

    __slots__ = ()


class GraphLine(Record):
    number: int
    ref: str | None
    """Null if it has none."""
    kind: Literal["job"]
    """What the member is."""
    state: MemberState
    needs: list[Need]

    __slots__ = ()


class WorkflowWhy(Record):
    id: str
    state: WorkflowState
    at: str
    summary: str
    """Sentences for a person."""
    blocking: list[WorkflowBlocking]
    redacted: bool | None
    """Jobs of queues that the token does not open, or results that it may not see, are left out.
    Always `true`.
    """

    __slots__ = ()


class Schedule(Record):
    name: str
    """The schedule's name."""
    job: ScheduleJob
    """The job that it submits, as it was given. Left out if it creates workflows."""
    workflow: ScheduleWorkflow | None
    """The workflow that it creates, as it was given. Left out if it submits jobs."""
    start_at: str | None
    """No instant is before it."""
    end_at: str | None
    """No instant is after it."""
    paused: bool
    """Whether somebody has paused it."""
    managed_by: str | None
    """The owner; null if it has none."""
    version: int
    """Rises with every change of the specification, pause or resume; `ETag` and `If-Match` carry
    it. Firing leaves it alone.
    """
    state: Literal["active", "paused", "ended", "broken"]
    """`ended`: no instant is left. `broken`: the server can't compute the instants, and `error`
    says why; the schedule does not fire until that is fixed.
    """
    reason: str | None
    """The reason of the pause; null if it is not paused, or none was given."""
    error: str | None
    """Why it is `broken` (say, a zone that is no longer there); else null."""
    created_at: str
    """When it was made."""
    updated_at: str
    """The last change of `version`."""
    last_scheduled_at: str | None
    """The newest instant that made a job or workflow; null before the first."""
    last_job_id: str | None
    """The job of `last_scheduled_at`, which the queue may have forgotten; null before the first,
    and if that was a workflow.
    """
    last_workflow_id: str | None
    """The workflow of `last_scheduled_at`. Left out if there is none."""
    next: list[str]
    """The next instants, at most five, without jitter. For a paused schedule, those that it would
    have; none if it is `ended` or `broken`. At most 5 entries.
    """
    description: str
    """The schedule in words."""
    warnings: list[str] | None
    """Sentences about settings that are valid but probably mistakes, and one that begins with
    `delayed` if the server has no room to fire it. Left out if there are none.
    """
    cron: str | None
    """Five fields (minute, hour, day of month, month, day of week), or six with the second first. A
    field is a list of `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`).
    Days of month may be `L` (the last), `15W` (the working day nearest the 15th) and `LW`; days of
    week `5#3` (the third Friday) and `5L` (the last Friday): 0 and 7 are Sunday, 5 is Friday. `?`
    is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If day of month or day of week
    begins with `*`, a day must match both, else either. An expression that never comes is refused.
    At most 512 bytes.
    """
    every_ms: int | None
    """The interval, at most 10 years. The instants are its whole multiples, counted from
    `start_at`, else from the Unix epoch: a restart or an edit moves none.
    """
    timezone: str
    """The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters."""
    jitter_ms: int
    """How much later than its instant a job may come. The delay follows from the schedule and the
    instant. It must be less than the gap between an instant and the next. Default `0`. 0 to
    86,400,000 ms.
    """
    missed_after_ms: int
    """An instant that could not be fired for longer than this is missed, and `missed` decides on
    it. Before that it is only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
    """
    missed: MissedPolicy
    """The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
    `missed_limit`. Default `one`.
    """
    missed_limit: int
    """With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the
    runs, with a count. Default `100`. 1 to 1,000.
    """
    overlap: OverlapPolicy
    """What happens at an instant while the job or workflow of the instant before has not ended:
    `allow` the new job beside it, `skip` the instant, `queue` it (one waits until the job has
    ended, later ones are skipped), or `replace` the job: cancel it, and submit the new one when it
    has ended. Default `allow`.
    """
    dst_gap: DstGap
    """The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
    Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
    time, and a gap has none. Default `run`.
    """
    dst_overlap: DstOverlap
    """The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`.
    Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
    time, and are due both times. Default `once`.
    """

    __slots__ = ()


class ScheduleRun(Record):
    scheduled_at: str
    """The instant; with `count`, the newest of them."""
    at: str
    """When this was decided."""
    job_id: str | None
    """The job, if one was submitted; else null."""
    workflow_id: str | None
    """The workflow, if one was created. Left out if none was."""
    outcome: Literal["submitted", "skipped_overlap", "skipped_missed", "replaced", "refused"]
    """`submitted`: a job or workflow was made. `replaced`: a job was made after the previous one
    was cancelled. `skipped_overlap`: no job, because of `overlap`; also if the instant waited and a
    later one replaced it. `skipped_missed`: no job, because the instant was missed and `missed`
    skips it. `refused`: the job could not be submitted, for instance because the queue was full.
    The schedule retries it until the next instant, and only then makes this entry.
    """
    count: int | None
    """With `skipped_missed`, how many instants the entry stands for, if not one."""
    error: str | None
    """With `refused`, why."""

    __slots__ = ()


class Stats(Record):
    step_ms: int
    groups: list[StatsGroup]
    deploys: list[Deploy]
    """Versions of workers that were first seen within the window. With `by=type` each entry is for
    a type of job that the version ran.
    """
    gaps: list[StatsGap]
    """Periods without data, because the log no longer had them."""
    as_of: str

    __slots__ = ()


class Event(Record):
    id: str
    """A position, opaque."""
    at: str
    """When it happened."""
    type: EventType
    """What happened."""
    queue: str | None
    """The queue's name, if it is about one."""
    job_id: str | None
    """The job's id, if it is about one."""
    job_type: str | None
    """The job's type."""
    attempt: int | None
    """The attempt's number."""
    worker: str | None
    """The worker's name."""
    data: dict[str, Any]
    """What else is known, by the type of the event."""

    __slots__ = ()


@dataclasses.dataclass
class NewJob(ToSubmit):
    """A job to be submitted. Only `type` is required. Durations are seconds or a timedelta.

    Args:
        type: The type, which decides who runs the job: 1 to 128 characters of `A-Za-z0-9._:/-`.
        payload: Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte.
            Default `null`.
        idempotency_key: A repetition with the key returns the first job, for 24 hours (a setting).
            As the header `Idempotency-Key` of a single job; bound to the item and the batch's
            `defaults` as they are sent. Visible ASCII. 1 to 255 characters.
        id: A UUIDv7 that the client makes. A second submission of it to the same queue returns the
            stored job, as long as the server keeps that. If the job now has another type, payload
            (byte by byte), priority, timeout, tags, meta or unique key, it is 409 `id_mismatch`. If
            another queue's job has the id, it is 409 `duplicate_job`. If it is left out, the server
            makes one.
        run_at: The earliest start; not together with `delay`. Default now.
        delay: The same as `run_at`, counted from the submission. At most 10 years.
        expires_at: A job that has not started by then is `expired`; not together with `expires_in`.
            Default never.
        queue: The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left
            out, `default`.
        priority: Lower runs first. Default `0`. -32,768 to 32,767.
        expires_in: The same as `expires_at`, counted from the submission. At most 10 years.
        max_attempts: The most attempts. Default the queue's. 1 to 1,000.
        retry: How long the job waits after a failed attempt. Default the queue's.
        lease: The length of a lease. Default the queue's. 1,000 to 86,400,000 ms.
        timeout: The bound on one attempt, however often it is extended. Default none. At most 10
            years.
        unique: Allows one job for each key within the queue.
        tags: Names to find the job by. Default `[]`. At most 32 entries.
        meta: The client's own strings, at most 8 KiB. Default `{}`.
        traceparent: W3C trace context. At most 512 characters.
        tracestate: W3C trace state, which goes with it. At most 512 characters.
        limits: The limits that a job must pass to start, its queue's included; each name once.
            `key` is required if the limit counts by key, and forbidden otherwise. At most 8
            entries.
        order_key: Jobs of one key of a queue run one at a time, by due time as submitted, then by
            order of submission; priority does not count among them. 1 to 128 characters.
        order_on_failure: `hold`: while the job waits for its next attempt, its successors wait too.
            `pass`: they run. Default `hold`.
        fair_key: The key, such as a tenant, whose share the job uses in a queue that shares fairly.
            1 to 128 characters.
    """

    type: str
    payload: Any = UNSET
    idempotency_key: str | None = None
    id: str | None = None
    run_at: Instant | None = None
    delay: Duration | None = None
    expires_at: Instant | None = None
    queue: str | None = None
    priority: int | None = None
    expires_in: Duration | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    lease: Duration | None = None
    timeout: Duration | None = None
    unique: UniqueInput | None = None
    tags: list[str] | None = None
    meta: Mapping[str, str] | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    limits: list[JobLimit] | None = None
    order_key: str | None = None
    order_on_failure: OrderOnFailure | None = None
    fair_key: str | None = None

    _plain: ClassVar = (
        "idempotency_key",
        "id",
        "queue",
        "priority",
        "max_attempts",
        "retry",
        "unique",
        "tags",
        "meta",
        "traceparent",
        "tracestate",
        "limits",
        "order_key",
        "order_on_failure",
        "fair_key",
    )
    _instants: ClassVar = ("run_at", "expires_at")
    _durations: ClassVar = {
        "delay": "delay_ms",
        "expires_in": "expires_in_ms",
        "lease": "lease_ms",
        "timeout": "timeout_ms",
    }


class JobOptions(TypedDict, total=False):
    """Options of a submission. NewJob documents them."""

    idempotency_key: str | None
    id: str | None
    run_at: Instant | None
    delay: Duration | None
    expires_at: Instant | None
    queue: str | None
    priority: int | None
    expires_in: Duration | None
    max_attempts: int | None
    retry: RetryPolicy | None
    lease: Duration | None
    timeout: Duration | None
    unique: UniqueInput | None
    tags: list[str] | None
    meta: Mapping[str, str] | None
    traceparent: str | None
    tracestate: str | None
    limits: list[JobLimit] | None
    order_key: str | None
    order_on_failure: OrderOnFailure | None
    fair_key: str | None
