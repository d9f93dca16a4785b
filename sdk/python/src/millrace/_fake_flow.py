"""A workflow of the fake: its members, and what follows from their ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._fake_checks import Fault, faults_of
from ._fake_refusal import Refusal
from .models import WorkflowInput
from .workflows import with_defaults

STATES = ("blocked", "active", "succeeded", "failed", "skipped")
ENDED = frozenset(STATES[2:])
FINAL = frozenset({"succeeded", "failed", "cancelled"})
_USUAL: dict[str, Any] = {
    "tags": [],
    "meta": {},
    "on_member_failed": "continue",
    "max_active": None,
    "timeout_ms": None,
    "result_from": None,
    "keep_members": True,
}


@dataclasses.dataclass
class FakeMember:
    number: int
    ref: str | None
    needs: list[dict[str, str]]
    needs_any: bool
    definition: dict[str, Any]  # the submission of its job
    state: str = "blocked"
    reason: str | None = None
    job_id: str | None = None

    @property
    def name(self) -> str:
        return self.ref if self.ref is not None else f"@{self.number}"

    @property
    def is_released(self) -> bool:
        return self.state not in ("blocked", "skipped")

    def shown(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "ref": self.ref,
            "state": self.state,
            "reason": self.reason,
            "generation": int(self.is_released),
            "queue": self.definition["queue"],
            "job_id": self.job_id,
        }


class FakeFlow:
    """Decides what follows, and does none of it."""

    def __init__(self, id: str, given: Mapping[str, Any], created_at: str) -> None:
        self.id = id
        self.given = given
        self.queue = str(given.get("queue", "default"))
        self.members: list[FakeMember] = []
        self._by_ref: dict[str, FakeMember] = {}
        self.is_open = bool(given.get("open"))
        self.state = "running"
        self.reason: str | None = None
        self.cancel_reason: str | None = None
        self.version = 1
        self.created_at = created_at
        self.ended_at: str | None = None
        self.callbacks: dict[str, str] = {}

    @property
    def has_ended(self) -> bool:
        return self.state in FINAL

    def counts(self) -> dict[str, int]:
        counts = dict.fromkeys(STATES, 0)
        for member in self.members:
            counts[member.state] += 1
        return counts

    def shown(self) -> dict[str, Any]:
        unique = self.given.get("unique")
        cancelled = {"cancel_reason": self.cancel_reason} if self.cancel_reason else {}
        return {
            "id": self.id,
            "name": self.given.get("name"),
            "queue": self.queue,
            "state": self.state,
            "reason": self.reason,
            **cancelled,
            "generation": 1,
            "version": self.version,
            "open": self.is_open,
            "created_at": self.created_at,
            "timeout_at": None,
            "ended_at": self.ended_at,
            "members": len(self.members),
            "counts": self.counts(),
            "callbacks": dict(self.callbacks),
            **{name: self.given.get(name, usual) for name, usual in _USUAL.items()},
            "unique": {"key": unique["key"]} if unique else None,
        }

    def find(self, name: str) -> FakeMember:
        """Return the member of this ref, or of this number after an `@`."""
        if name in self._by_ref:
            return self._by_ref[name]
        number = name[1:]
        if name[:1] == "@" and number.isdigit() and int(number) < len(self.members):
            return self.members[int(number)]
        raise Refusal("not_found", "the workflow has no such member; name its ref, or @ and number")

    def job_of(self, wire: Mapping[str, Any], defaults: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return a job with what its request and its workflow say for all."""
        return {"queue": self.queue, "payload": None, **with_defaults(wire, defaults or {})}

    # Members that come

    def take(
        self, given: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any] | None = None
    ) -> int:
        """Add members, or none if one is bad. Returns how many are new.

        `defaults` are those of the request that brings them.
        """
        jobs = [self.job_of(wire["job"], defaults) for wire in given]
        refuse(
            [
                fault
                for place, job in enumerate(jobs)
                for fault in faults_at(f"/members/{place}/job", job)
            ]
        )
        new: list[tuple[int, FakeMember]] = []  # with the place of each in the request
        refs: dict[str, FakeMember] = {}
        for place, wire in enumerate(given):
            ref = wire.get("ref")
            if ref in self._by_ref:
                continue
            if ref in refs:
                raise _fault(place, "another member has this ref; give each member its own")
            member = _made(wire, len(self.members) + len(new), jobs[place])
            new.append((place, member))
            if ref is not None:
                refs[ref] = member
        for place, member in new:
            if any(
                one["ref"] not in refs and one["ref"] not in self._by_ref for one in member.needs
            ):
                raise _fault(place, "no member has a ref that is named here; check the spelling")
        _check_circles(new)
        self.members += [member for _, member in new]
        self._by_ref.update(refs)
        return len(new)

    # What follows from an end

    def is_met(self, need: Mapping[str, str]) -> bool | None:
        """Whether a need is met; None if its member has not ended."""
        state = self._by_ref[need["ref"]].state
        return need["on"] in ("ended", state) if state in ENDED else None

    def waits_for(self, member: FakeMember) -> list[str]:
        return [need["ref"] for need in member.needs if self.is_met(need) is None]

    def verdict(self, member: FakeMember) -> str | None:
        """Return `release` or `skip` for a blocked member; None if that is open."""
        if self.state == "stopping":
            return "skip"
        met = [self.is_met(need) for need in member.needs]
        if member.needs_any and met:
            is_ready, is_hopeless = True in met, set(met) == {False}
        else:
            is_ready, is_hopeless = all(met), False in met
        if is_hopeless:
            return "skip"
        most = self.given.get("max_active")
        return "release" if is_ready and (most is None or self.counts()["active"] < most) else None

    def has_to_stop(self) -> bool:
        """Whether a failure that nothing can catch any more stops the workflow."""
        return (
            self.given.get("on_member_failed") == "stop"
            and self.state == "running"
            and any(not self._may_be_caught(member) for member in self._uncaught())
        )

    def is_over(self) -> bool:
        is_waiting = self.is_open and self.state == "running"
        return not is_waiting and all(member.state in ENDED for member in self.members)

    def end(self, at: str) -> list[str]:
        """End. Returns the names of the callbacks that apply."""
        is_bad = self._uncaught() and self.given.get("on_member_failed") != "ignore"
        if self.reason is None and is_bad:
            self.reason = "member_failed"
        self.state = {None: "succeeded", "cancelled": "cancelled"}.get(self.reason, "failed")
        self.ended_at = at
        self.version += 1
        names = ["on_success" if self.state == "succeeded" else "on_failure", "on_end"]
        return [name for name in names if name in self.given]

    def _uncaught(self) -> list[FakeMember]:
        return [
            member
            for member in self.members
            if member.state == "failed"
            and not any(other.is_released for other in self._catching(member))
        ]

    def _may_be_caught(self, member: FakeMember) -> bool:
        return any(other.state == "blocked" for other in self._catching(member))

    def _catching(self, member: FakeMember) -> Iterable[FakeMember]:
        need = {"ref": member.ref, "on": "failed"}
        return (other for other in self.members if need in other.needs)


def _made(wire: Mapping[str, Any], number: int, job: dict[str, Any]) -> FakeMember:
    needs = [
        {"ref": need, "on": "succeeded"} if isinstance(need, str) else {"on": "succeeded", **need}
        for need in wire.get("needs", ())
    ]
    return FakeMember(number, wire.get("ref"), needs, bool(wire.get("needs_any")), job)


def _check_circles(new: Sequence[tuple[int, FakeMember]]) -> None:
    """Raise a Refusal if a new member needs itself, through what it needs."""
    rest = {member.ref: (place, member) for place, member in new if member.ref is not None}
    while rest:
        free = [
            ref
            for ref, (_, member) in rest.items()
            if not any(need["ref"] in rest for need in member.needs)
        ]
        if not free:
            place = min(place for place, _ in rest.values())
            raise _fault(place, "the member needs itself, through what it needs")
        for ref in free:
            del rest[ref]


def check_settings(body: Mapping[str, Any]) -> None:
    """Raise a Refusal that names each member that the API does not know."""
    known = WorkflowInput.__annotations__
    refuse(
        [{"pointer": f"/{name}", "detail": "unknown member"} for name in body if name not in known]
    )


def faults_at(where: str, job: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of a job at this place of a request."""
    return [{**fault, "pointer": where + fault["pointer"]} for fault in faults_of(job)]


def refuse(faults: list[Fault]) -> None:
    if faults:
        count = f"{len(faults)} fault{'' if len(faults) == 1 else 's'}"
        raise Refusal("validation_failed", count, faults[:20])


def _fault(place: int, detail: str) -> Refusal:
    return Refusal(
        "validation_failed", "1 fault", [{"pointer": f"/members/{place}", "detail": detail}]
    )
