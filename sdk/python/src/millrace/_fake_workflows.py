"""The fake's workflows: the API's calls on them. Their members' jobs are jobs of the fake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Protocol

from ._fake_checks import Fault
from ._fake_flow import ENDED, FakeFlow, FakeMember, check_settings, faults_at, refuse
from ._fake_refusal import Refusal
from ._ids import make_id
from .errors import WaitTimeout
from .workflows import CALLBACKS


class FakeJobs(Protocol):
    """What workflows want of the fake's jobs."""

    def release(self, wire: dict[str, Any], workflow: dict[str, Any]) -> str:
        """Submit a job of this workflow and return its id. Raises a Refusal."""

    def cancel(self, id: str) -> None:
        """Cancel a job that has not ended, or tell its handler."""

    def shown(self, id: str) -> dict[str, Any] | None:
        """Return a job as the API shows it, with its result; None if it was deleted."""

    def now(self) -> str:
        """Return the fake's time, as the API writes it."""


class FakeWorkflows:
    """Not thread-safe."""

    def __init__(self, jobs: FakeJobs) -> None:
        self._jobs = jobs
        self._flows: dict[str, FakeFlow] = {}
        self._keys: dict[str, tuple[Mapping[str, Any], FakeFlow]] = {}
        self._of_jobs: dict[str, tuple[FakeFlow, FakeMember | None]] = {}  # None: of a callback

    def answer(
        self,
        method: str,
        names: list[str],
        query: Mapping[str, str],
        body: dict[str, Any],
        key: str | None,
    ) -> tuple[int, Any] | None:
        """Return status and value of an answer; None for a call that the fake does not know."""
        if len(names) == 1:
            return self._create(body, key) if method == "POST" else (200, self._list(query))
        flow = self._find(names[1])
        if names[2:3] == ["members"] and len(names) <= 5:
            return self._answer_of_members(method, flow, names[3:], query, body)
        action = names[2] if len(names) == 3 else method
        calls: dict[str, Callable[[], dict[str, Any]]] = {
            "GET": lambda: self._get(flow, query),
            "close": lambda: self._close(flow),
            "cancel": lambda: self._cancel(flow, body.get("reason")),
        }
        return (200, calls[action]()) if action in calls else None

    def _answer_of_members(
        self,
        method: str,
        flow: FakeFlow,
        names: list[str],
        query: Mapping[str, str],
        body: Mapping[str, Any],
    ) -> tuple[int, Any] | None:
        if not names:
            return 200, self._add(flow, body) if method == "POST" else self._members(flow, query)
        if len(names) == 1 and method == "GET":
            return 200, self._member(flow, flow.find(names[0]), query)
        return (200, self._skip(flow, names[0])) if names[1:] == ["skip"] else None

    # Workflows

    def _create(self, body: dict[str, Any], key: str | None) -> tuple[int, dict[str, Any]]:
        check_settings(body)
        if "timeout_ms" in body:
            raise NotImplementedError("the fake knows no timeout of a workflow")
        if key in self._keys:
            first, flow = self._keys[key]
            if first != body:
                raise Refusal("idempotency_mismatch", "another body came with this key")
            return 200, flow.shown()
        known = self._same_id(body) or self._holder(body)
        if known is not None:
            return 200, known.shown()
        queue = str(body.get("queue", "default"))
        flow = FakeFlow(body.get("id") or make_id(queue), body, self._jobs.now())
        flow.take(body.get("members", ()), body.get("defaults"))
        refuse([fault for name in CALLBACKS for fault in self._faults_of_callback(flow, name)])
        self._check_result_from(flow)
        self._flows[flow.id] = flow
        if key is not None:
            self._keys[key] = body, flow
        shown = flow.shown()  # as the server: members are released after the answer
        self._settle(flow)
        return 201, shown

    @staticmethod
    def _faults_of_callback(flow: FakeFlow, name: str) -> list[Fault]:
        if name not in flow.given:
            return []
        return faults_at(f"/{name}", flow.job_of(flow.given[name], flow.given.get("defaults")))

    def _same_id(self, body: Mapping[str, Any]) -> FakeFlow | None:
        known = self._flows.get(body.get("id", ""))
        if known is not None and known.given != body:
            raise Refusal("id_mismatch", "the workflow with this id has other content")
        return known

    def _holder(self, body: Mapping[str, Any]) -> FakeFlow | None:
        unique, queue = body.get("unique"), body.get("queue", "default")
        if not unique:
            return None
        for flow in self._flows.values():
            held = flow.given.get("unique") or {}
            if not flow.has_ended and (flow.queue, held.get("key")) == (queue, unique["key"]):
                if unique.get("on_conflict") == "reject":
                    raise Refusal("duplicate_workflow", f"workflow {flow.id} holds this unique key")
                return flow
        return None

    def _check_result_from(self, flow: FakeFlow) -> None:
        ref = flow.given.get("result_from")
        if ref is not None and not flow.is_open and all(ref != one.ref for one in flow.members):
            fault = {"pointer": "/result_from", "detail": "no member has this ref"}
            raise Refusal("validation_failed", "1 fault", [fault])

    def _find(self, id: str) -> FakeFlow:
        if id not in self._flows:
            raise Refusal("not_found", "there is no such workflow")
        return self._flows[id]

    def _get(self, flow: FakeFlow, query: Mapping[str, str]) -> dict[str, Any]:
        if query.get("until") == "final" and not flow.has_ended:
            raise WaitTimeout(
                f"workflow {flow.id} is {flow.state}, and ends by no waiting: call drain()",
                code="wait_timeout",
            )
        if "result" not in query.get("include", ""):
            return flow.shown()
        named = [one for one in flow.members if one.ref == flow.given.get("result_from")]
        job = self._job(named[0]) if "result_from" in flow.given and named else None
        return {**flow.shown(), "result": job and job["result"]}

    def _list(self, query: Mapping[str, str]) -> dict[str, Any]:
        states = query["state"].split(",") if "state" in query else None
        found = [
            shown
            for shown in (flow.shown() for flow in reversed(list(self._flows.values())))
            if (states is None or shown["state"] in states)
            and query.get("queue") in (None, shown["queue"])
            and query.get("name") in (None, shown["name"])
            and ("tag" not in query or query["tag"] in shown["tags"])
        ]
        return _page(found, query)

    def _close(self, flow: FakeFlow) -> dict[str, Any]:
        flow.version += flow.is_open
        flow.is_open = False
        shown = flow.shown()
        self._settle(flow)
        return shown

    def _cancel(self, flow: FakeFlow, reason: str | None) -> dict[str, Any]:
        if flow.has_ended:
            raise Refusal("invalid_state", "the workflow has ended")
        if flow.state == "running":
            flow.cancel_reason = reason
            self._stop(flow, "cancelled")
        return flow.shown()

    # Members

    def _job(self, member: FakeMember) -> dict[str, Any] | None:
        return None if member.job_id is None else self._jobs.shown(member.job_id)

    def _shown(self, member: FakeMember, query: Mapping[str, str]) -> dict[str, Any]:
        names = query.get("include", "").split(",")
        shown, job = member.shown(), self._job(member)
        if "job" in names and job is not None:
            shown["job"] = {name: value for name, value in job.items() if name != "result"}
        if "result" in names:
            shown["result"] = job and job["result"]
        return shown

    def _members(self, flow: FakeFlow, query: Mapping[str, str]) -> dict[str, Any]:
        found = [one for one in flow.members if query.get("state") in (None, one.state)]
        return _page([self._shown(member, query) for member in found], query)

    def _member(
        self, flow: FakeFlow, member: FakeMember, query: Mapping[str, str]
    ) -> dict[str, Any]:
        return {
            **self._shown(member, query),
            "needs": member.needs,
            "needs_any": member.needs_any,
            "definition": member.definition,
            "waits_for": flow.waits_for(member)[:20],
        }

    def _add(self, flow: FakeFlow, body: Mapping[str, Any]) -> dict[str, Any]:
        given, by = body["members"], body.get("by")
        is_allowed = flow.is_open if by is None else flow.find(by).state == "active"
        if not is_allowed or flow.state != "running":
            what = "takes members only from an active member of its own"
            raise Refusal("invalid_state", f"the workflow is closed, and {what}")
        added = flow.take(given)
        if body.get("close"):
            flow.is_open = False
        flow.version += 1
        total = len(flow.members)
        self._settle(flow)
        return {"added": added, "existing": len(given) - added, "members": total}

    def _skip(self, flow: FakeFlow, ref: str) -> dict[str, Any]:
        _skip_one(flow.find(ref))
        self._settle(flow)
        return flow.shown()

    # What follows

    def _settle(self, flow: FakeFlow) -> None:
        """Release and skip what can be decided, and end the workflow if it is over."""
        is_changed = True
        while is_changed and not flow.has_ended:
            is_changed = False
            for member in [one for one in flow.members if one.state == "blocked"]:
                verdict = flow.verdict(member)
                is_changed = is_changed or verdict is not None
                if verdict == "skip":
                    member.state = "skipped"
                    member.reason = "cancelled" if flow.state == "stopping" else None
                elif verdict == "release":
                    self._release(flow, member)
        if flow.has_ended:
            return
        if flow.has_to_stop():
            self._stop(flow, "member_failed")
        elif flow.is_over():
            for name in flow.end(self._jobs.now()):
                job = flow.job_of(flow.given[name], flow.given.get("defaults"))
                flow.callbacks[name] = self._submit(flow, job, None)

    def _release(self, flow: FakeFlow, member: FakeMember) -> None:
        member.state = "active"
        try:
            member.job_id = self._submit(flow, member.definition, member)
        except Refusal:
            member.state, member.reason = "failed", "refused"

    def _submit(self, flow: FakeFlow, job: dict[str, Any], member: FakeMember | None) -> str:
        workflow = {
            "id": flow.id,
            "name": flow.given.get("name"),
            "ref": member and member.ref,
            "number": member and member.number,
            "role": "member" if member else "callback",
        }
        id = self._jobs.release(job, workflow)
        self._of_jobs[id] = flow, member
        return id

    def _stop(self, flow: FakeFlow, reason: str) -> None:
        """Release nothing more, and cancel what has not ended."""
        flow.state, flow.reason = "stopping", reason
        flow.version += 1
        self._settle(flow)
        for member in flow.members:
            if member.state == "active" and member.job_id is not None:
                self._jobs.cancel(member.job_id)

    # For jobs

    def job_ended(self, id: str, state: str) -> None:
        """Take note that a job has ended."""
        flow, member = self._of_jobs.get(id, (None, None))
        if flow is None or member is None:
            return
        member.state = "succeeded" if state == "succeeded" else "failed"
        member.reason = None if state == "succeeded" else state
        self._settle(flow)

    def grow(self, id: str, grown: Mapping[str, Any]) -> None:
        """Add and skip what a handler that succeeds says. Raises a Refusal, and does nothing."""
        flow, grower = self._of_jobs[id]
        assert grower is not None  # the context refuses it in a callback
        found = [flow.find(ref) for ref in grown.get("skip", ())]
        skipped = [member for member in found if member.state != "skipped"]
        for member in skipped:
            if all(need["ref"] != grower.ref for need in member.needs):
                raise Refusal("validation_failed", f"{member.name} does not need {grower.name}")
            _check_blocked(member)
        flow.take(grown.get("members", ()))
        for member in skipped:
            _skip_one(member)

    def claimed(self, id: str) -> dict[str, Any]:
        """Return what a claim says of a job's workflow and parents."""
        flow, member = self._of_jobs.get(id, (None, None))
        if flow is None:
            return {}
        job = self._jobs.shown(id)
        assert job is not None
        workflow = {**job["workflow"], "generation": 1, "state": flow.state}
        if member is None:
            failed = [one.name for one in flow.members if one.state == "failed"]
            return {"workflow": {**workflow, "counts": flow.counts(), "failed": failed[:20]}}
        needed = [flow.find(need["ref"]) for need in member.needs]
        parents = {one.name: self._parent(one) for one in needed if one.state in ENDED}
        return {"workflow": workflow, **({"parents": parents} if needed else {})}

    def _parent(self, member: FakeMember) -> dict[str, Any]:
        said = {"id": member.job_id, "state": member.state, "reason": member.reason}
        if member.state != "succeeded":
            return said
        job = self._job(member)
        return {**said, **({"omitted": "pruned"} if job is None else {"result": job["result"]})}


def _check_blocked(member: FakeMember) -> None:
    if member.state != "blocked":
        raise Refusal("invalid_state", "the member is not blocked, so it can't be skipped")


def _skip_one(member: FakeMember) -> None:
    _check_blocked(member)
    member.state, member.reason = "skipped", "by_call"


def _page(found: list[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    first, limit = int(query.get("cursor", 0)), int(query.get("limit", 50))
    more = str(first + limit) if first + limit < len(found) else None
    return {"items": found[first : first + limit], "next_cursor": more}
