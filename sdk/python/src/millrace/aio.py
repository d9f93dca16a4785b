"""The client for asyncio."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Sequence,
    TypeVar,
)

from . import _operations as operations
from ._aio_http import AsyncTransport
from ._app import App
from ._calls import Call, Lost, Tries
from ._options import JobOptions, WorkerOptions
from ._time import Duration, to_seconds
from ._trace import TraceSource, current_trace
from .client import new_job
from .errors import InvalidState, WaitTimeout
from .jobs import AsyncJobType, P, R
from .models import (
    FINAL_STATES,
    UNSET,
    BatchItem,
    Job,
    LogLine,
    NewJob,
    Page,
    Queue,
    Record,
    Schedule,
    Submission,
    Submitted,
)
from .worker import AsyncWorker

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class AsyncMillrace(App):
    """A client, and an application: the jobs that it can run, and their worker.

    Connections are kept for later calls. It is for one event loop at a time; on another loop it
    makes new connections.

    Args:
        url: the server's address. Default `MILLRACE_URL`, else `http://127.0.0.1:7600`.
        token: default `MILLRACE_TOKEN`, else none.
        timeout: the deadline of a call, all its tries and pauses together: seconds or a timedelta.
        ca_file: certificates (PEM) to trust instead of the platform's.
        ssl_context: the platform's own TLS object, instead of `ca_file`.
        current_trace: gives the current `traceparent` (or it and the `tracestate`) for
            submissions. Without it, or if it gives None, that of the running handler.

    Every call raises a MillraceError if it fails; after a lost connection, 429, 502, 503 and 504 it
    is tried again, where that is safe, until the deadline.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: Duration = 30.0,
        ca_file: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
        current_trace: TraceSource | None = None,
    ) -> None:
        super().__init__(url, token, timeout, ca_file, ssl_context, current_trace)
        self._transport = AsyncTransport(self._config)

    async def __aenter__(self) -> AsyncMillrace:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections that are kept. The client can still be used."""
        await self._transport.close()

    # The application

    def job(
        self, type: str, **options: Unpack[JobOptions]
    ) -> Callable[[Callable[P, R]], AsyncJobType[P, R]]:
        """Makes a function the handler of a type of jobs.

        The function's parameters are the members of the payload, an object. If its only parameter
        is positional-only (`def handle(payload, /)`), it gets the payload itself. It may be
        asynchronous. What it returns is the job's result; what it raises fails the attempt.

        Args:
            type: the type of the jobs.
            options: those of NewJob, for what is submitted: `queue`, `max_attempts`, `timeout` ...
        """

        def decorate(function: Callable[P, R]) -> AsyncJobType[P, R]:
            NewJob(type, **options)  # TypeError for a name that it does not have
            handler = self._add_handler(type, function, options.get("queue"))
            made = AsyncJobType(function, handler, options)
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
        capture_logs: bool = True,
    ) -> AsyncWorker:
        """A worker for the handlers that the application has now. It is yet to be run.

        Args:
            queues: in order of preference. Default those that the handlers name.
            concurrency: how many handlers run at a time; it never holds more jobs than that.
            lease: the length of the leases that it asks for; default the job's or the queue's.
            poll_wait: how long a claim waits at the server, at most 60 s.
            grace: how long running handlers have after a stop.
            id: the worker's name. Default made of host, process id and a random part.
            capture_logs: keep what handlers write to Python's logging with their jobs.
        """
        return AsyncWorker(
            self,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            poll_wait=poll_wait,
            grace=grace,
            id=id,
            capture_logs=capture_logs,
        )

    async def work(self, **options: Unpack[WorkerOptions]) -> None:
        """Runs a worker until SIGTERM or SIGINT. Options as of `worker`."""
        await self.worker(**options).run()

    # Jobs

    async def submit(
        self, job: str | Submission, payload: Any = UNSET, **options: Unpack[JobOptions]
    ) -> Submitted:
        """Submits one job, and returns it when the server has it on disk.

        Args:
            job: the type, with the payload and the options of NewJob beside it; or a NewJob, or a
                mapping with the API's members.
            payload: any JSON value, at most 1 MiB.
        """
        new = new_job(job, payload, options)
        return await self._call(operations.submit(new, current_trace(self._current_trace)))

    async def submit_batch(
        self, jobs: Iterable[Submission], *, atomic: bool = False
    ) -> List[BatchItem]:
        """Submits 1 to 1000 jobs in one commit, and returns what became of each, in their order.

        With `atomic` the server stores all or none, and a refusal of one raises the error.
        """
        return await self._call(
            operations.submit_batch(jobs, atomic, current_trace(self._current_trace))
        )

    async def get(self, id: str, *, include: Sequence[str] = ()) -> Job:
        """The job as it is now. `include`: `payload`, `result`, `attempts`, `logs`, `events`."""
        return await self._call(operations.get(id, include))

    async def wait(self, id: str, timeout: Duration | None = None) -> Job:
        """Waits until the job has ended, and returns it with its result; `state` tells how.

        Args:
            timeout: how long to wait; None waits as long as it takes.

        Raises:
            WaitTimeout: the job has not ended in that time.
        """
        ends = None if timeout is None else time.monotonic() + to_seconds(timeout)
        while True:
            left = operations.MAX_WAIT_S if ends is None else ends - time.monotonic()
            wait_s = min(max(left, 0.0), operations.MAX_WAIT_S)
            job = await self._call(operations.wait(id, wait_s), wait_s + self._timeout)
            if job.state in FINAL_STATES:
                return job
            if ends is not None and time.monotonic() >= ends:
                raise WaitTimeout(f"job {id} is still {job.state}", code="wait_timeout")

    async def list(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Any
    ) -> Page[Job]:
        """A page of at most `limit` (1 to 1000) jobs, newest first.

        Filters: `state` (one, or a list), `queue`, `type`, `tag`, `created_after`,
        `created_before`, `q` (a search), `fresh`, `include`.
        """
        return await self._call(operations.list_jobs(filters, limit, cursor))

    async def list_all(self, *, limit: int = 100, **filters: Any) -> AsyncIterator[Job]:
        """All jobs that match, newest first, fetched in pages of `limit`. Filters as of `list`."""
        cursor: str | None = None
        while True:
            page = await self.list(limit=limit, cursor=cursor, **filters)
            for job in page.items:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return

    async def logs(self, id: str, *, limit: int = 1000, cursor: str | None = None) -> Page[LogLine]:
        """A page of the job's log, oldest line first."""
        return await self._call(operations.logs(id, limit, cursor))

    async def cancel(self, id: str, reason: str | None = None) -> Job:
        """Cancels a waiting job at once; a running one is told, and `cancel_requested` is true.

        `reason` is for people, at most 1024 bytes. InvalidState if the job has ended.
        """
        try:
            return await self._call(operations.cancel(id, reason))
        except InvalidState as error:
            if error._is_of_a_repetition:
                job = await self.get(id)
                if job.state == "cancelled":
                    return job  # by an earlier try, whose answer was lost
            raise

    async def retry(self, id: str) -> Job:
        """Makes a job that has ended ready again. InvalidState if it has not ended."""
        return await self._call(operations.retry(id))

    async def delete(self, id: str) -> None:
        """Deletes a job. InvalidState if it runs."""
        await self._call(operations.delete(id))

    # Queues

    async def queues(self, *, limit: int = 1000, cursor: str | None = None) -> Page[Queue]:
        """A page of the queues, by name."""
        return await self._call(operations.queues(limit, cursor))

    async def queue(self, name: str) -> Queue:
        """A queue with its counts and settings."""
        return await self._call(operations.queue(name))

    async def put_queue(
        self,
        name: str,
        settings: Mapping[str, Any],
        *,
        if_match: int | str | None = None,
    ) -> Queue:
        """Makes the queue, or replaces all its settings. `if_match` is the version expected."""
        return await self._call(operations.put_queue(name, settings, if_match))

    async def patch_queue(
        self,
        name: str,
        settings: Mapping[str, Any],
        *,
        if_match: int | str | None = None,
        create: bool = False,
    ) -> Queue:
        """Changes the settings that are named. NotFound without such a queue, unless `create`."""
        return await self._call(operations.patch_queue(name, settings, if_match, create))

    async def pause_queue(self, name: str, reason: str | None = None) -> Queue:
        """The server hands out no more jobs of the queue."""
        return await self._call(operations.pause_queue(name, reason))

    async def resume_queue(self, name: str) -> Queue:
        """Ends a pause."""
        return await self._call(operations.resume_queue(name))

    async def delete_queue(self, name: str, *, force: bool = False) -> None:
        """Deletes a queue; with `force` also one that has jobs."""
        await self._call(operations.delete_queue(name, force))

    # Schedules

    async def schedules(
        self, *, limit: int = 1000, cursor: str | None = None, **filters: Any
    ) -> Page[Schedule]:
        """A page of the schedules, by name. Filters: `managed_by`, `queue`."""
        return await self._call(operations.schedules(filters, limit, cursor))

    async def schedule(self, name: str) -> Schedule:
        """A schedule with its next instants."""
        return await self._call(operations.schedule(name))

    async def put_schedule(
        self, name: str, spec: Mapping[str, Any], *, if_match: int | str | None = None
    ) -> Schedule:
        """Makes the schedule, or replaces its specification; the same again changes nothing.

        `spec` has the API's members: `cron` or `every_ms`, `timezone`, `job` and so on.
        """
        return await self._call(operations.put_schedule(name, spec, if_match))

    async def delete_schedule(self, name: str) -> None:
        """Deletes a schedule. Its jobs stay."""
        await self._call(operations.delete_schedule(name))

    async def pause_schedule(self, name: str, reason: str | None = None) -> Schedule:
        """The schedule fires no more until it is resumed."""
        return await self._call(operations.pause_schedule(name, reason))

    async def resume_schedule(self, name: str) -> Schedule:
        """Ends a pause. Instants that have passed meanwhile are not made up for."""
        return await self._call(operations.resume_schedule(name))

    async def trigger_schedule(self, name: str) -> Job:
        """Submits one job of the schedule now."""
        return await self._call(operations.trigger_schedule(name))

    async def backfill_schedule(self, name: str, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Submits the jobs of a past range: `from`, `to`, `limit`, `dry_run`, `rerun`.

        Returns `submitted`, `existing` and `more`.
        """
        return await self._call(operations.backfill_schedule(name, request))

    async def schedule_runs(self, name: str) -> List[Record]:
        """What became of the last 100 instants, newest first."""
        return await self._call(operations.schedule_runs(name))

    async def preview_schedule(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """What a `cron` or an `every_ms` means: `description`, `next`, perhaps `warnings`."""
        return await self._call(operations.preview_schedule(request))

    async def apply_schedules(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Makes and changes the schedules of an owner: `managed_by`, `schedules`, `prune` ...

        Returns the names under `created`, `updated`, `unchanged` and `deleted`.
        """
        return await self._call(operations.apply_schedules(request))

    async def _call(self, call: Call[T], timeout: float | None = None) -> T:
        tries = Tries(call, self._timeout if timeout is None else timeout)
        while True:
            try:
                response = await self._transport.send(call, tries.left())
            except Lost as lost:
                pause = tries.lost(lost)
            else:
                again = tries.answered(response)
                if again is None:
                    return call.read(response)
                pause = again
            await asyncio.sleep(pause)
