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
    read_nothing,
    read_object,
)
from ._ids import make_id
from ._trace import Trace
from .errors import bad_answer
from .models import (
    BatchItem,
    Job,
    LogLine,
    Page,
    Queue,
    Record,
    Schedule,
    ScheduleRun,
    Submission,
    Submitted,
    wire_of,
)

R = TypeVar("R", bound=Record)

MAX_WAIT_S = 60.0  # the longest time that one request may wait at the server


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
    return Call("GET", path("jobs", id, include=list(include) or None), _record(Job))


def wait(id: str, seconds: float) -> Call[Job]:
    milliseconds = round(min(seconds, MAX_WAIT_S) * 1000)
    target = path("jobs", id, wait_ms=milliseconds, until="final", include="result")
    return Call("GET", target, _record(Job))


def list_jobs(filters: Mapping[str, Any], limit: int, cursor: str | None) -> Call[Page[Job]]:
    return Call("GET", path("jobs", **filters, limit=limit, cursor=cursor), _page(Job))


def logs(id: str, limit: int, cursor: str | None) -> Call[Page[LogLine]]:
    return Call("GET", path("jobs", id, "logs", limit=limit, cursor=cursor), _page(LogLine))


def cancel(id: str, reason: str | None) -> Call[Job]:
    return Call("POST", path("jobs", id, "cancel"), _record(Job), _reason(reason))


def retry(id: str) -> Call[Job]:
    return Call("POST", path("jobs", id, "retry"), _record(Job), b"{}", repeat=Repeat.IF_NOT_BEGUN)


def delete(id: str) -> Call[None]:
    return Call("DELETE", path("jobs", id), read_nothing)


def queues(limit: int, cursor: str | None) -> Call[Page[Queue]]:
    return Call("GET", path("queues", limit=limit, cursor=cursor), _page(Queue))


def queue(name: str) -> Call[Queue]:
    return Call("GET", path("queues", name), _record(Queue))


def put_queue(name: str, settings: Mapping[str, Any], if_match: int | str | None) -> Call[Queue]:
    return Call(
        "PUT", path("queues", name), _record(Queue), body(dict(settings)), _if_match(if_match)
    )


def patch_queue(
    name: str, settings: Mapping[str, Any], if_match: int | str | None, create: bool
) -> Call[Queue]:
    return Call(
        "PATCH",
        path("queues", name, create=True if create else None),
        _record(Queue),
        body(dict(settings)),
        _if_match(if_match),
        Repeat.IF_NOT_BEGUN,
    )


def pause_queue(name: str, reason: str | None) -> Call[Queue]:
    return Call("POST", path("queues", name, "pause"), _record(Queue), _reason(reason))


def resume_queue(name: str) -> Call[Queue]:
    return Call("POST", path("queues", name, "resume"), _record(Queue))


def delete_queue(name: str, force: bool) -> Call[None]:
    return Call("DELETE", path("queues", name, force=True if force else None), read_nothing)


def schedules(filters: Mapping[str, Any], limit: int, cursor: str | None) -> Call[Page[Schedule]]:
    return Call("GET", path("schedules", **filters, limit=limit, cursor=cursor), _page(Schedule))


def schedule(name: str) -> Call[Schedule]:
    return Call("GET", path("schedules", name), _record(Schedule))


def put_schedule(name: str, spec: Mapping[str, Any], if_match: int | str | None) -> Call[Schedule]:
    return Call(
        "PUT", path("schedules", name), _record(Schedule), body(dict(spec)), _if_match(if_match)
    )


def delete_schedule(name: str) -> Call[None]:
    return Call("DELETE", path("schedules", name), read_nothing)


def pause_schedule(name: str, reason: str | None) -> Call[Schedule]:
    return Call("POST", path("schedules", name, "pause"), _record(Schedule), _reason(reason))


def resume_schedule(name: str) -> Call[Schedule]:
    return Call("POST", path("schedules", name, "resume"), _record(Schedule))


def trigger_schedule(name: str) -> Call[Job]:
    return Call("POST", path("schedules", name, "trigger"), _record(Job), headers=_new_key())


def backfill_schedule(name: str, request: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call(
        "POST", path("schedules", name, "backfill"), read_object, body(dict(request)), _new_key()
    )


def schedule_runs(name: str) -> Call[list[ScheduleRun]]:
    return Call("GET", path("schedules", name, "runs"), _items("items", ScheduleRun))


def preview_schedule(request: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call("POST", path("schedules", "preview"), read_object, body(dict(request)))


def apply_schedules(request: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call("PUT", path("schedules"), read_object, body(dict(request)))


def poll(worker: str, request: bytes) -> Call[dict[str, Any]]:
    return Call("POST", path("workers", worker, "poll"), read_object, request)


def heartbeat(id: str, token: int) -> Call[dict[str, Any]]:
    return Call("POST", path("jobs", id, "heartbeat"), read_object, body({"token": token}))


def _record(kind: type[R]) -> Callable[[Response], R]:
    return lambda response: kind(read_object(response))


def _page(kind: type[R]) -> Callable[[Response], Page[R]]:
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


def _reason(reason: str | None) -> bytes:
    return body({} if reason is None else {"reason": reason})


def _if_match(version: int | str | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{str(version).strip(chr(34))}"'}


def _new_key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}
