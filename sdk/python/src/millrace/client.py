"""The synchronous client."""

from __future__ import annotations

import ssl
import time
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Literal,
    Mapping,
    Sequence,
    TypeVar,
)

from . import _operations as operations
from ._app import App
from ._calls import Call, Lost, Tries, Waiting, all_pages
from ._constants import COMMIT_PAUSE_S
from ._http import Transport
from ._options import JobFilters, JobOptions, ScheduleFilters, WorkerOptions
from ._signals import stopping_by_signals
from ._sql import execute, statement_of
from ._time import Duration, to_seconds
from ._trace import TraceSource, current_trace
from ._workflow_client import WorkflowCalls
from .errors import InvalidState, NotFound
from .jobs import JobType, P, R
from .models import (
    UNSET,
    BackfillRequest,
    BatchItem,
    BulkAnswer,
    BulkRequest,
    Event,
    Job,
    Limit,
    LimitInput,
    LogLine,
    NewJob,
    Operation,
    Page,
    PreviewRequest,
    Queue,
    QueueSettingsInput,
    Schedule,
    ScheduleInput,
    ScheduleRun,
    ScheduleSet,
    Stats,
    Submission,
    Submitted,
    Why,
    WorkerInfo,
    Workflow,
)
from .worker import Worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
E = TypeVar("E", Job, Workflow)


class Millrace(App, WorkflowCalls):
    """A client of a server, and an application with handlers of jobs and a worker.

    Thread-safe. Connections are kept open for later calls.

    Args:
        url: the server's address. Default `MILLRACE_URL`, else `http://127.0.0.1:7600`.
        token: the bearer token. Default `MILLRACE_TOKEN`, else none. Blanks around it are ignored.
        timeout: the deadline of a call, including its tries and pauses; seconds or a timedelta.
        queue_full_timeout: how long a submission is tried again while its queue is full; 0 means
            not at all. Short, so that a web request can answer its own user.
        ca_file: certificates (PEM) to trust instead of the platform's.
        ssl_context: an `ssl.SSLContext`, instead of `ca_file`.
        current_trace: returns the current `traceparent` (or it and the `tracestate`) for
            submissions. Without it, or if it returns None, the running handler's is used.

    A call that fails raises a MillraceError. After a lost connection and after the statuses 429,
    502, 503 and 504 it is retried until the deadline, if that is safe; a full queue only for
    `queue_full_timeout`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: Duration = 30.0,
        queue_full_timeout: Duration = 2.0,
        ca_file: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
        current_trace: TraceSource | None = None,
    ) -> None:
        super().__init__(
            url, token, timeout, ca_file, ssl_context, current_trace, queue_full_timeout
        )
        self._transport = Transport(self._config)

    def __enter__(self) -> Millrace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections. The client can still be used."""
        self._transport.close()

    # The application

    def job(
        self, type: str, **options: Unpack[JobOptions]
    ) -> Callable[[Callable[P, R]], JobType[P, R]]:
        """Make a function the handler of a type of jobs.

        The function's parameters are the members of the payload, an object. If its only parameter
        is positional-only (`def handle(payload, /)`), it gets the payload itself. It may be
        asynchronous. Its return value is the job's result; an exception fails the attempt.

        Args:
            type: the type of the jobs.
            options: options of NewJob for its submissions: `queue`, `max_attempts`, `timeout` ...
        """

        def decorate(function: Callable[P, R]) -> JobType[P, R]:
            NewJob(type, **options)  # raises TypeError for an unknown option
            handler = self._add_handler(type, function, options.get("queue"))
            made = JobType(function, handler, options)
            made._app = self
            return made

        return decorate

    def worker(
        self,
        *,
        queues: Sequence[str] | None = None,
        concurrency: int = 10,
        lease: Duration | None = None,
        poll_wait: Duration = 10.0,
        grace: Duration = 25.0,
        id: str | None = None,
        version: str | None = None,
        capture_logs: bool = True,
    ) -> Worker:
        """Return a worker for the application's present handlers. It does not run yet.

        Args:
            queues: the queues in order of preference. Default those that the handlers name.
            concurrency: how many handlers run at a time. It never holds more jobs than that.
            lease: the length of the leases that it asks for. Default the job's or the queue's.
            poll_wait: how long a claim waits at the server, at most 60 s.
            grace: how long handlers may run on after a stop.
            id: the worker's name. Default: host, process id and a random part.
            version: the version of your program, which the server notes with each failed attempt
                and marks in charts. Default `MILLRACE_WORKER_VERSION`, else none.
            capture_logs: add lines that handlers write to Python's logging to their jobs' logs.
        """
        if self._transport.is_fake:
            raise NotImplementedError("a fake has no worker; call drain()")
        return Worker(
            self,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            poll_wait=poll_wait,
            grace=grace,
            id=id,
            version=version,
            capture_logs=capture_logs,
        )

    def work(self, **options: Unpack[WorkerOptions]) -> None:
        """Run a worker until SIGTERM or SIGINT; a second signal ends its grace time.

        The options are those of `worker`. Only the main thread gets signals.
        """
        worker = self.worker(**options)
        with stopping_by_signals(worker.stop):
            worker.run()

    # Jobs

    def submit(
        self, job: str | Submission, payload: Any = UNSET, **options: Unpack[JobOptions]
    ) -> Submitted:
        """Submit one job, and return it when the server has it on disk.

        Args:
            job: the type, with `payload` and options of NewJob as further arguments; or a NewJob,
                or a mapping with the API's members.
            payload: any JSON value, at most 1 MiB.
        """
        new = new_job(job, payload, options)
        return self._call(operations.submit(new, current_trace(self._current_trace)))

    def submit_tx(
        self,
        connection: Any,
        job: str | Submission,
        payload: Any = UNSET,
        **options: Unpack[JobOptions],
    ) -> str:
        """Submit one job if and only if a transaction of yours commits, and return its id.

        The server must keep its jobs in that PostgreSQL database. It is not asked: the job waits in
        the database until the server takes it, usually within 50 ms of the commit.

        Args:
            connection: of psycopg, or its cursor; a Session or Connection of SQLAlchemy; Django's
                `connection`. It is within a transaction.
            job: as of `submit`, with `payload` and options.
        """
        new = new_job(job, payload, options)
        trace = current_trace(self._current_trace)
        if self._transport.is_fake:
            return (self.submit(new)).id
        statement = statement_of(operations.wire_in_sql(new, trace))
        return execute(connection, statement)

    def submit_batch(self, jobs: Iterable[Submission], *, atomic: bool = False) -> List[BatchItem]:
        """Submit 1 to 1000 jobs in one commit, and return a result for each, in their order.

        With `atomic` the server stores all jobs or none, and the refusal of one raises an error.
        """
        return self._call(operations.submit_batch(jobs, atomic, current_trace(self._current_trace)))

    def get(self, id: str, *, include: Sequence[str] = ()) -> Job:
        """Return a job. `include` may name `payload`, `result`, `attempts`, `logs`, `events`."""
        return self._call(operations.get(id, include))

    def wait(self, id: str, timeout: Duration | None = None) -> Job:
        """Wait until a job has ended, and return it with its result. Check its `state`.

        Args:
            timeout: how long to wait; None means without a bound.

        Raises:
            WaitTimeout: the job has not ended within the timeout.
            NotFound: there is no such job, also 2 s later: one that was submitted in a transaction
                comes a moment after the commit.
        """
        return self._wait(lambda wait_s: operations.wait(id, wait_s), f"job {id}", timeout)

    def _wait(self, call_at: Callable[[float], Call[E]], what: str, timeout: Duration | None) -> E:
        """Return what has ended; `call_at` asks for it, and waits so long at the server."""
        waiting = Waiting(what, timeout)
        while True:
            wait_s = waiting.next_s()
            try:
                found = self._call(call_at(wait_s), wait_s + self._timeout)
            except NotFound:
                if waiting.is_too_late_to_come():
                    raise
                time.sleep(COMMIT_PAUSE_S)
                continue
            if found.has_ended:
                return found
            waiting.check(found.state)

    def list(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[JobFilters]
    ) -> Page[Job]:
        """Return a page of at most `limit` (1 to 1000) jobs, newest first.

        Filters: `state` (one or a list), `queue`, `type`, `tag`, `created_after`,
        `created_before`, `q` (a search: `type:email.* tag:vip`), `fresh`, `include`.
        """
        return self._call(operations.list_jobs(filters, limit, cursor))

    def list_all(self, *, limit: int = 100, **filters: Unpack[JobFilters]) -> Iterator[Job]:
        """Iterate over all matching jobs, newest first. Fetches pages of `limit`; see `list`."""
        return all_pages(lambda cursor: self.list(limit=limit, cursor=cursor, **filters))

    def logs(self, id: str, *, limit: int = 1000, cursor: str | None = None) -> Page[LogLine]:
        """Return a page of a job's log, oldest line first."""
        return self._call(operations.logs(id, limit, cursor))

    def cancel(self, id: str, reason: str | None = None) -> Job:
        """Cancel a job. A waiting job is cancelled at once; a running one gets `cancel_requested`.

        `reason` is for people, at most 1024 bytes. Raises InvalidState if the job has ended.
        """
        try:
            return self._call(operations.cancel(id, reason))
        except InvalidState as error:
            if error._is_of_a_repetition:
                job = self.get(id)
                if job.state == "cancelled":
                    return job  # an earlier try cancelled it, and its answer was lost
            raise

    def retry(self, id: str) -> Job:
        """Make a job that has ended ready again. Raises InvalidState if it has not ended."""
        return self._call(operations.retry(id))

    def delete(self, id: str) -> None:
        """Delete a job. Raises InvalidState if it is running."""
        self._call(operations.delete(id))

    # Queues

    def queues(self, *, limit: int = 1000, cursor: str | None = None) -> Page[Queue]:
        """Return a page of the queues, by name."""
        return self._call(operations.queues(limit, cursor))

    def queue(self, name: str) -> Queue:
        """Return a queue with its counts and settings."""
        return self._call(operations.queue(name))

    def put_queue(
        self,
        name: str,
        settings: QueueSettingsInput,
        *,
        if_match: int | str | None = None,
    ) -> Queue:
        """Create a queue or replace all its settings. `if_match` is the expected version."""
        return self._call(operations.put_queue(name, settings, if_match))

    def patch_queue(
        self,
        name: str,
        settings: QueueSettingsInput,
        *,
        if_match: int | str | None = None,
        create: bool = False,
    ) -> Queue:
        """Change some settings. Raises NotFound if there is no such queue, unless `create`."""
        return self._call(operations.patch_queue(name, settings, if_match, create))

    def pause_queue(self, name: str, reason: str | None = None) -> Queue:
        """Stop handing out the queue's jobs."""
        return self._call(operations.pause_queue(name, reason))

    def resume_queue(self, name: str) -> Queue:
        """Resume handing out the queue's jobs."""
        return self._call(operations.resume_queue(name))

    def delete_queue(self, name: str, *, force: bool = False) -> None:
        """Delete a queue; with `force`, even if it has jobs."""
        self._call(operations.delete_queue(name, force))

    # Schedules

    def schedules(
        self, *, limit: int = 1000, cursor: str | None = None, **filters: Unpack[ScheduleFilters]
    ) -> Page[Schedule]:
        """Return a page of the schedules, by name. Filters: `managed_by`, `queue`."""
        return self._call(operations.schedules(filters, limit, cursor))

    def schedule(self, name: str) -> Schedule:
        """Return a schedule with its next instants."""
        return self._call(operations.schedule(name))

    def put_schedule(
        self, name: str, spec: ScheduleInput, *, if_match: int | str | None = None
    ) -> Schedule:
        """Create a schedule or replace its specification. An equal one changes nothing.

        `spec` has the API's members: `cron` or `every_ms`, `timezone`, `job` and so on.
        """
        return self._call(operations.put_schedule(name, spec, if_match))

    def delete_schedule(self, name: str) -> None:
        """Delete a schedule. Its jobs remain."""
        self._call(operations.delete_schedule(name))

    def pause_schedule(self, name: str, reason: str | None = None) -> Schedule:
        """Stop a schedule from firing until it is resumed."""
        return self._call(operations.pause_schedule(name, reason))

    def resume_schedule(self, name: str) -> Schedule:
        """Resume a schedule. Instants that passed during the pause do not fire."""
        return self._call(operations.resume_schedule(name))

    def trigger_schedule(self, name: str) -> Job:
        """Submit one job of the schedule now."""
        return self._call(operations.trigger_schedule(name))

    def backfill_schedule(self, name: str, request: BackfillRequest) -> Dict[str, Any]:
        """Submit the jobs of a past range: `from`, `to`, `limit`, `dry_run`, `rerun`.

        Returns `submitted`, `existing` and `more`.
        """
        return self._call(operations.backfill_schedule(name, request))

    def schedule_runs(self, name: str) -> List[ScheduleRun]:
        """Return the results of the last 100 instants, newest first."""
        return self._call(operations.schedule_runs(name))

    def preview_schedule(self, request: PreviewRequest) -> Dict[str, Any]:
        """Describe a `cron` or an `every_ms`: `description`, `next`, perhaps `warnings`."""
        return self._call(operations.preview_schedule(request))

    def apply_schedules(self, request: ScheduleSet) -> Dict[str, Any]:
        """Create and change the schedules of an owner: `managed_by`, `schedules`, `prune` ...

        Returns the names under `created`, `updated`, `unchanged` and `deleted`.
        """
        return self._call(operations.apply_schedules(request))

    # Limits

    def limits(self, *, limit: int = 1000, cursor: str | None = None) -> Page[Limit]:
        """Return a page of the limits, by name, with their use."""
        return self._call(operations.limits(limit, cursor))

    def limit(self, name: str) -> Limit:
        """Return a limit with its use now."""
        return self._call(operations.limit(name))

    def put_limit(
        self, name: str, settings: LimitInput, *, if_match: int | str | None = None
    ) -> Limit:
        """Make a limit or replace its settings: `concurrency`, `rate`, `per_key` and so on.

        Jobs that name it start only while it lets them.
        """
        return self._call(operations.put_limit(name, settings, if_match))

    def patch_limit(
        self, name: str, settings: LimitInput, *, if_match: int | str | None = None
    ) -> Limit:
        """Change some settings of a limit."""
        return self._call(operations.patch_limit(name, settings, if_match))

    def pause_limit(
        self,
        name: str,
        reason: str | None = None,
        *,
        key: str | None = None,
        duration: Duration | None = None,
    ) -> Limit:
        """Start no more jobs that name the limit, or one key of it, perhaps for a time."""
        return self._call(operations.pause_limit(name, reason, key, duration))

    def resume_limit(self, name: str, *, key: str | None = None) -> Limit:
        """Resume a limit, or one key of it."""
        return self._call(operations.resume_limit(name, key))

    def delete_limit(self, name: str, *, force: bool = False) -> None:
        """Delete a limit; with `force`, even if jobs name it."""
        self._call(operations.delete_limit(name, force))

    # Many jobs at once

    def bulk(self, request: BulkRequest) -> BulkAnswer | Operation:
        """Retry, cancel, delete or reprioritize many jobs, by `ids` or by a `filter`.

        Returns the counts; or an Operation, which goes on by itself, if the request asks for one or
        very many jobs match.
        """
        return self._call(operations.bulk(request))

    def operations(
        self, *, state: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[Operation]:
        """Return a page of the operations on many jobs, newest first."""
        return self._call(operations.operations(state, limit, cursor))

    def operation(self, id: str) -> Operation:
        """Return an operation with its progress."""
        return self._call(operations.operation(id))

    def pause_operation(self, id: str) -> Operation:
        """Touch no more jobs until the operation is resumed."""
        return self._call(operations.operation(id, "pause"))

    def resume_operation(self, id: str) -> Operation:
        """Let a paused operation go on."""
        return self._call(operations.operation(id, "resume"))

    def cancel_operation(self, id: str) -> Operation:
        """End an operation. What it has done stays."""
        return self._call(operations.operation(id, "cancel"))

    # What the server tells

    def workers(self, *, limit: int = 1000, cursor: str | None = None) -> Page[WorkerInfo]:
        """Return a page of the workers that the server has heard of, with their jobs."""
        return self._call(operations.workers(limit, cursor))

    def events(
        self,
        *,
        job: str | None = None,
        types: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        wait: Duration = 0,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Event]:
        """Return a page of the event log, oldest first. Its `next_cursor` is never None.

        Args:
            job: only events of this job.
            wait: how long to wait for the next event, at most 60 s.
            cursor: where to go on; `end` is after the newest event.
        """
        filters = {"job": job, "types": types, "queues": queues, "limit": limit, "cursor": cursor}
        wait_s = to_seconds("wait", wait)
        return self._call(operations.events(filters, wait_s), wait_s + self._timeout)

    def stats(
        self,
        *,
        window: Duration | None = None,
        step: Duration | None = None,
        by: Literal["queue", "type", "fair_key", "tag"] | None = None,
        name: str | None = None,
    ) -> Stats:
        """Return numbers of events in columns of time, and percentiles of wait and run time.

        Args:
            window: how far back to look. Default an hour.
            step: the width of a column.
            by: one group for each of these; without it there is one group.
            name: only the group of this name.
        """
        return self._call(operations.stats(window, step, by, name))

    def why(self, id: str) -> Why:
        """Say what a job waits for: a `summary` in words, and each reason under `blocking`."""
        return self._call(operations.why(id))

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = UNSET,
    ) -> Any:
        """Send any other request of the API, and return the JSON of its answer.

        For example `app.call("GET", "/v1/findings")`. Retries and errors are those of the other
        calls; a POST or PATCH is sent again only if the server cannot have begun.
        """
        return self._call(operations.any_call(method, path, query, body))

    def _call(self, call: Call[T], timeout: float | None = None) -> T:
        left = self._timeout if timeout is None else timeout
        tries = Tries(call, left, self._queue_full_timeout)
        while True:
            try:
                response = self._transport.send(call, tries.left())
            except Lost as lost:
                pause = tries.lost(lost)
            else:
                again = tries.answered(response)
                if again is None:
                    return call.read(response)
                pause = again
            time.sleep(pause)


def new_job(job: str | Submission, payload: Any, options: JobOptions) -> Submission:
    if isinstance(job, str):
        return NewJob(job, payload, **options)
    if payload is not UNSET or options:
        raise TypeError("give the payload and the options within the job, or give a type")
    return job
