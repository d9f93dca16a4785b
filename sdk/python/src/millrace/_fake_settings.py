"""The fake's queues, limits and schedules: what an application makes at its start, and reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable

from ._fake_checks import Fault, faults_of
from ._fake_refusal import Refusal
from .models import LimitInput, QueueSettingsInput, ScheduleInput

# What the answer has by the name of the API, and which members a request may have.
_KINDS: dict[str, tuple[str, Any]] = {
    "queues": ("queue", QueueSettingsInput),
    "limits": ("limit", LimitInput),
    "schedules": ("schedule", ScheduleInput),
}
_QUEUE: dict[str, Any] = {
    "max_attempts": 5,
    "retry": {"strategy": "exponential", "base_ms": 5000, "max_ms": 300_000, "jitter": 0.2},
    "lease_ms": 30_000,
    "max_ready": None,
    "concurrency": None,
    "rate": None,
    "limits": [],
}
_LIMIT: dict[str, Any] = {
    "concurrency": None,
    "rate": None,
    "per_key": False,
    "keys": {},
    "in_use": 0,
}
_SCHEDULE: dict[str, Any] = {
    "timezone": "UTC",
    "managed_by": None,
    "cron": None,
    "every_ms": None,
    "next": [],
}
_WHEN = "must be absent; the schedule decides when a job is due"
_NOT_OF_SCHEDULES = {
    "id": "must be absent; the server chooses an id for each job of a schedule",
    "idempotency_key": (
        "belongs to the jobs of a batch; send the key of a single job in the header Idempotency-Key"
    ),
    "run_at": _WHEN,
    "delay_ms": _WHEN,
}


class FakeSettings:
    """Not thread-safe.

    Args:
        submit: submits a job of a schedule, and returns it as the API shows it.
        count: returns how many jobs of a queue there are, by state.
    """

    def __init__(
        self,
        submit: Callable[[dict[str, Any]], dict[str, Any]],
        count: Callable[[str], dict[str, int]],
    ) -> None:
        self._submit = submit
        self._count = count
        self._kept: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in _KINDS}

    def settings_of(self, queue: str) -> Mapping[str, Any]:
        return {**_QUEUE, **self._kept["queues"].get(queue, {}).get("given", {})}

    def is_paused(self, queue: str) -> bool:
        return bool(self._kept["queues"].get(queue, {}).get("paused"))

    def check_limits(self, wanted: Iterable[Mapping[str, Any]] | None) -> None:
        """Raise a Refusal if a job or a queue names a limit that does not exist."""
        if any(limit["name"] not in self._kept["limits"] for limit in wanted or ()):
            what = "no limit has this name; check the spelling, or create the limit"
            raise Refusal("unknown_limit", what)

    def answer(
        self, method: str, names: list[str], query: Mapping[str, str], body: dict[str, Any]
    ) -> tuple[int, Any] | None:
        """Return status and value of an answer; None for a call that the fake does not know."""
        kind = names[0]
        if kind not in _KINDS:
            return None
        if len(names) == 1:
            if method == "GET":
                return 200, self._list(kind, query)
            return (200, self._apply(body)) if (kind, method) == ("schedules", "PUT") else None
        name = names[1]
        if len(names) == 2 and method in ("PUT", "PATCH"):
            return 200, self._put(kind, name, body, method == "PATCH", "create" in query)
        if (kind, method, len(names)) == ("queues", "POST", 3) and names[2] in ("pause", "resume"):
            self._kept[kind].setdefault(name, _new({}))  # queues come into being by their use
        kept = self._find(kind, name)
        action = method if len(names) == 2 else names[2]
        if action == "GET":
            return 200, self._shown(kind, name)
        if action == "DELETE":
            del self._kept[kind][name]
            return 204, {}
        if action in ("pause", "resume"):
            kept.update(paused=action == "pause", pause_reason=body.get("reason"))
            kept["version"] += 1
            return 200, self._shown(kind, name)
        if (kind, action) == ("schedules", "trigger"):
            return 201, self._submit({**kept["given"]["job"]})
        return (200, {"items": []}) if (kind, action) == ("schedules", "runs") else None

    def _find(self, kind: str, name: str) -> dict[str, Any]:
        if name not in self._kept[kind]:
            raise Refusal("not_found", f"there is no {_KINDS[kind][0]} {name!r}")
        return self._kept[kind][name]

    def _list(self, kind: str, query: Mapping[str, str]) -> dict[str, Any]:
        owner = query.get("managed_by")
        names = [
            name
            for name, kept in sorted(self._kept[kind].items())
            if owner in (None, kept["given"].get("managed_by"))
        ]
        return {"items": [self._shown(kind, name) for name in names], "next_cursor": None}

    def _put(
        self, kind: str, name: str, body: dict[str, Any], is_patch: bool, may_create: bool
    ) -> dict[str, Any]:
        _check(kind, body)
        if kind == "queues":
            self.check_limits(body.get("limits"))
        if is_patch and not (may_create and name not in self._kept[kind]):
            known = self._find(kind, name)
            body = {**known["given"], **body}
        known = self._kept[kind].get(name, _new({}))
        if known["given"] != body or name not in self._kept[kind]:
            known = {**known, "given": body, "version": known["version"] + 1}
        if "paused" in body:
            known["paused"] = body["paused"]
        self._kept[kind][name] = known
        return self._shown(kind, name)

    def _apply(self, body: dict[str, Any]) -> dict[str, list[str]]:
        """Set the schedules of an owner. Nothing is changed if one is refused."""
        owner, wanted = body["managed_by"], body["schedules"]
        kept = self._kept["schedules"]
        for spec in wanted.values():
            _check("schedules", spec)
        told: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": [], "deleted": []}
        for name, given in sorted(wanted.items()):
            spec = {**given, "managed_by": owner}
            is_same = name in kept and kept[name]["given"] == spec
            told["unchanged" if is_same else "updated" if name in kept else "created"].append(name)
            if not body.get("dry_run"):
                self._put("schedules", name, spec, False, False)
        if body.get("prune"):
            mine = {name for name, one in kept.items() if one["given"].get("managed_by") == owner}
            told["deleted"] = sorted(mine - wanted.keys())
            for name in () if body.get("dry_run") else told["deleted"]:
                del kept[name]
        return told

    def _shown(self, kind: str, name: str) -> dict[str, Any]:
        kept = self._kept[kind][name]
        state = {member: kept[member] for member in ("paused", "pause_reason", "version")}
        if kind == "queues":
            settings = self.settings_of(name)
            return {"name": name, **state, "settings": settings, "counts": self._count(name)}
        usual = _LIMIT if kind == "limits" else _SCHEDULE
        shown = {"name": name, **usual, **kept["given"], **state}
        if kind == "schedules":
            shown["state"] = "paused" if kept["paused"] else "active"
            shown["job"] = {"queue": "default", **kept["given"]["job"]}
        return shown


def _new(given: dict[str, Any]) -> dict[str, Any]:
    return {"given": given, "paused": False, "pause_reason": None, "version": 0}


def _check(kind: str, body: Mapping[str, Any]) -> None:
    """Raise a Refusal that names each member that the API does not know, or that is missing."""
    known = _KINDS[kind][1].__annotations__
    faults: list[Fault] = [
        {"pointer": f"/{name}", "detail": "unknown member"} for name in body if name not in known
    ]
    if kind == "schedules":
        job = body.get("job")
        faults += _faults_of_job(job if isinstance(job, dict) else {})
        if (body.get("cron") is None) == (body.get("every_ms") is None):
            faults.append({"pointer": "/cron", "detail": "give either cron or every_ms"})
    if faults:
        raise Refusal("validation_failed", f"{len(faults)} faults", faults)


def _faults_of_job(job: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of a schedule's job."""
    refused = {name: what for name, what in _NOT_OF_SCHEDULES.items() if name in job}
    wire = {name: value for name, value in job.items() if name not in refused}
    faults = [(f"/{name}", what) for name, what in refused.items()]
    faults += [(fault["pointer"], fault["detail"]) for fault in faults_of(wire)]
    return [{"pointer": f"/job{where}", "detail": what} for where, what in faults]
