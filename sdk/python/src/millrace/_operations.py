"""Every operation of the client as a call: its request, and how to read the answer."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import (
    Any,
    Callable,
    TypeVar,
)

from ._calls import (
    Call,
    Repeat,
    Response,
    body,
    path,
    query_text,
    read_json,
    read_nothing,
    read_object,
)
from ._constants import LONGEST_WAIT_S
from ._ids import make_id
from ._inputs import (
    BackfillRequest,
    BulkRequest,
    LimitInput,
    PreviewRequest,
    QueueSettingsInput,
    ScheduleInput,
    ScheduleSet,
)
from ._time import Duration, to_ms
from ._trace import Trace
from .errors import bad_answer
from .models import (
    UNSET,
    BatchItem,
    BulkAnswer,
    Event,
    Job,
    Limit,
    LogLine,
    NewJob,
    Operation,
    Page,
    Queue,
    Record,
    Schedule,
    ScheduleRun,
    Stats,
    Submission,
    Submitted,
    Why,
    WorkerInfo,
    wire_of,
)

R = TypeVar("R", bound=Record)


def submit(job: Submission, trace: Trace) -> Call[Submitted]:
    wire = wire_of(job)
    headers = trace.headers()
    key = wire.pop("idempotency_key", None)
    if key is not None:
        headers["Idempotency-Key"] = str(key)
    _give_id(wire, key)

    def read(response: Response) -> Submitted:
        return Submitted(Job(read_object(response)), response.status == 201)

    return Call("POST", path("jobs"), read, body(wire), headers)


def wire_in_sql(job: Submission, trace: Trace) -> dict[str, Any]:
    """Return a submission with its id and its trace, for `millrace.enqueue`."""
    wire = {**trace.headers(), **wire_of(job)}
    _give_id(wire, wire.get("idempotency_key"))
    return wire


def submit_batch(jobs: Iterable[Submission], atomic: bool, trace: Trace) -> Call[list[BatchItem]]:
    wires = [wire_of(job) for job in jobs]
    for wire in wires:
        _give_id(wire, wire.get("idempotency_key"))
    request: dict[str, Any] = {"jobs": wires}
    if atomic:
        request["atomic"] = True
    return Call(
        "POST", path("jobs", "batch"), _items("results", BatchItem), body(request), trace.headers()
    )


def _give_id(wire: dict[str, Any], key: str | None) -> None:
    if key is None and wire.get("id") is None:
        wire["id"] = make_id(str(wire.get("queue") or "default"))


def get(id: str, include: Sequence[str]) -> Call[Job]:
    return Call("GET", path("jobs", id, include=list(include) or None), record_of(Job))


def wait(id: str, seconds: float) -> Call[Job]:
    milliseconds = round(min(seconds, LONGEST_WAIT_S) * 1000)
    target = path("jobs", id, wait_ms=milliseconds, until="final", include="result")
    return Call("GET", target, record_of(Job))


def list_jobs(filters: Mapping[str, Any], limit: int, cursor: str | None) -> Call[Page[Job]]:
    return Call("GET", path("jobs", **filters, limit=limit, cursor=cursor), page_of(Job))


def logs(id: str, limit: int, cursor: str | None) -> Call[Page[LogLine]]:
    return Call("GET", path("jobs", id, "logs", limit=limit, cursor=cursor), page_of(LogLine))


def cancel(id: str, reason: str | None) -> Call[Job]:
    return Call("POST", path("jobs", id, "cancel"), record_of(Job), reason_of(reason))


def retry(id: str) -> Call[Job]:
    return Call(
        "POST", path("jobs", id, "retry"), record_of(Job), b"{}", repeat=Repeat.IF_NOT_BEGUN
    )


def delete(id: str) -> Call[None]:
    return Call("DELETE", path("jobs", id), read_nothing)


def queues(limit: int, cursor: str | None) -> Call[Page[Queue]]:
    return Call("GET", path("queues", limit=limit, cursor=cursor), page_of(Queue))


def queue(name: str) -> Call[Queue]:
    return Call("GET", path("queues", name), record_of(Queue))


def put_queue(name: str, settings: QueueSettingsInput, if_match: int | str | None) -> Call[Queue]:
    return Call(
        "PUT", path("queues", name), record_of(Queue), body(dict(settings)), _if_match(if_match)
    )


def patch_queue(
    name: str, settings: QueueSettingsInput, if_match: int | str | None, create: bool
) -> Call[Queue]:
    return Call(
        "PATCH",
        path("queues", name, create=True if create else None),
        record_of(Queue),
        body(dict(settings)),
        _if_match(if_match),
        Repeat.IF_NOT_BEGUN,
    )


def pause_queue(name: str, reason: str | None) -> Call[Queue]:
    return Call("POST", path("queues", name, "pause"), record_of(Queue), reason_of(reason))


def resume_queue(name: str) -> Call[Queue]:
    return Call("POST", path("queues", name, "resume"), record_of(Queue))


def delete_queue(name: str, force: bool) -> Call[None]:
    return Call("DELETE", path("queues", name, force=True if force else None), read_nothing)


def schedules(filters: Mapping[str, Any], limit: int, cursor: str | None) -> Call[Page[Schedule]]:
    return Call("GET", path("schedules", **filters, limit=limit, cursor=cursor), page_of(Schedule))


def schedule(name: str) -> Call[Schedule]:
    return Call("GET", path("schedules", name), record_of(Schedule))


def put_schedule(name: str, spec: ScheduleInput, if_match: int | str | None) -> Call[Schedule]:
    return Call(
        "PUT", path("schedules", name), record_of(Schedule), body(_spec(spec)), _if_match(if_match)
    )


def delete_schedule(name: str) -> Call[None]:
    return Call("DELETE", path("schedules", name), read_nothing)


def pause_schedule(name: str, reason: str | None) -> Call[Schedule]:
    return Call("POST", path("schedules", name, "pause"), record_of(Schedule), reason_of(reason))


def resume_schedule(name: str) -> Call[Schedule]:
    return Call("POST", path("schedules", name, "resume"), record_of(Schedule))


def trigger_schedule(name: str) -> Call[Job]:
    return Call("POST", path("schedules", name, "trigger"), record_of(Job), headers=_new_key())


def backfill_schedule(name: str, request: BackfillRequest) -> Call[dict[str, Any]]:
    return Call(
        "POST", path("schedules", name, "backfill"), read_object, body(dict(request)), _new_key()
    )


def schedule_runs(name: str) -> Call[list[ScheduleRun]]:
    return Call("GET", path("schedules", name, "runs"), _items("items", ScheduleRun))


def preview_schedule(request: PreviewRequest) -> Call[dict[str, Any]]:
    return Call("POST", path("schedules", "preview"), read_object, body(dict(request)))


def apply_schedules(request: ScheduleSet) -> Call[dict[str, Any]]:
    wire: dict[str, Any] = dict(request)
    if "schedules" in request:
        wire["schedules"] = {name: _spec(spec) for name, spec in request["schedules"].items()}
    return Call("PUT", path("schedules"), read_object, body(wire))


def _spec(spec: ScheduleInput) -> dict[str, Any]:
    """Return a specification in the API's form."""
    job = spec.get("job")
    return {**spec, "job": job.to_wire()} if isinstance(job, NewJob) else dict(spec)


def limits(limit: int, cursor: str | None) -> Call[Page[Limit]]:
    return Call("GET", path("limits", limit=limit, cursor=cursor), page_of(Limit))


def limit(name: str) -> Call[Limit]:
    return Call("GET", path("limits", name), record_of(Limit))


def put_limit(name: str, settings: LimitInput, if_match: int | str | None) -> Call[Limit]:
    return Call(
        "PUT", path("limits", name), record_of(Limit), body(dict(settings)), _if_match(if_match)
    )


def patch_limit(name: str, settings: LimitInput, if_match: int | str | None) -> Call[Limit]:
    return Call(
        "PATCH",
        path("limits", name),
        record_of(Limit),
        body(dict(settings)),
        _if_match(if_match),
        Repeat.IF_NOT_BEGUN,
    )


def pause_limit(
    name: str, reason: str | None, key: str | None, duration: Duration | None
) -> Call[Limit]:
    for_ms = None if duration is None else to_ms("duration", duration)
    request = {"reason": reason, "key": key, "for_ms": for_ms}
    given = {member: value for member, value in request.items() if value is not None}
    return Call("POST", path("limits", name, "pause"), record_of(Limit), body(given))


def resume_limit(name: str, key: str | None) -> Call[Limit]:
    request = body({} if key is None else {"key": key})
    return Call("POST", path("limits", name, "resume"), record_of(Limit), request)


def delete_limit(name: str, force: bool) -> Call[None]:
    return Call("DELETE", path("limits", name, force=True if force else None), read_nothing)


def bulk(request: BulkRequest) -> Call[BulkAnswer | Operation]:
    def read(response: Response) -> BulkAnswer | Operation:
        answer = read_object(response)
        return Operation(answer) if response.status == 202 else BulkAnswer(answer)

    return Call("POST", path("jobs", "bulk"), read, body(dict(request)), repeat=Repeat.IF_NOT_BEGUN)


def operations(state: str | None, limit: int, cursor: str | None) -> Call[Page[Operation]]:
    return Call(
        "GET", path("operations", state=state, limit=limit, cursor=cursor), page_of(Operation)
    )


def operation(id: str, action: str | None = None) -> Call[Operation]:
    """Return the call that reads an operation, or that pauses, resumes or cancels it."""
    if action is None:
        return Call("GET", path("operations", id), record_of(Operation))
    return Call("POST", path("operations", id, action), record_of(Operation))


def workers(limit: int, cursor: str | None) -> Call[Page[WorkerInfo]]:
    return Call("GET", path("workers", limit=limit, cursor=cursor), page_of(WorkerInfo))


def events(filters: Mapping[str, Any], wait_s: float) -> Call[Page[Event]]:
    wait_ms = round(min(wait_s, LONGEST_WAIT_S) * 1000) or None
    return Call("GET", path("events", **filters, wait_ms=wait_ms), page_of(Event))


def stats(
    window: Duration | None, step: Duration | None, by: str | None, name: str | None
) -> Call[Stats]:
    query = {"window_ms": window, "step_ms": step}
    lengths = {
        member: to_ms(member[:-3], value) for member, value in query.items() if value is not None
    }
    return Call("GET", path("stats", **lengths, by=by, name=name), record_of(Stats))


def why(id: str) -> Call[Why]:
    return Call("GET", path("jobs", id, "why"), record_of(Why))


def any_call(method: str, target: str, query: Mapping[str, Any] | None, content: Any) -> Call[Any]:
    if not target.startswith("/"):
        raise ValueError(f"path must begin with a slash, as /v1/queues does, not {target!r}")

    def read(response: Response) -> Any:
        return read_json(response) if response.body else {}

    return Call(
        method.upper(),
        target + query_text(query or {}),
        read,
        None if content is UNSET else body(content),
        repeat=Repeat.ALWAYS
        if method.upper() in ("GET", "HEAD", "PUT", "DELETE")
        else Repeat.IF_NOT_BEGUN,
    )


def poll(worker: str, request: bytes) -> Call[dict[str, Any]]:
    return Call("POST", path("workers", worker, "poll"), read_object, request)


def heartbeat(id: str, token: int) -> Call[dict[str, Any]]:
    return Call("POST", path("jobs", id, "heartbeat"), read_object, body({"token": token}))


def record_of(kind: type[R]) -> Callable[[Response], R]:
    return lambda response: kind(read_object(response))


def page_of(kind: type[R]) -> Callable[[Response], Page[R]]:
    def read(response: Response) -> Page[R]:
        page = read_object(response)
        items = _list_of(page, "items", response)
        return Page([kind(item) for item in items], page.get("next_cursor"))

    return read


def _items(member: str, kind: type[R]) -> Callable[[Response], list[R]]:
    return lambda response: [
        kind(item) for item in _list_of(read_object(response), member, response)
    ]


def _list_of(answer: Mapping[str, Any], member: str, response: Response) -> list[Any]:
    items = answer.get(member)
    if not isinstance(items, list):
        raise bad_answer(response.status, f"it has no list {member!r}")
    return items


def reason_of(reason: str | None) -> bytes:
    return body({} if reason is None else {"reason": reason})


def _if_match(version: int | str | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{str(version).strip(chr(34))}"'}


def _new_key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}
