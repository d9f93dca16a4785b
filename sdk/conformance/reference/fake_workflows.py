"""Workflows without a server, whose members are jobs of the fake."""

from client import MUTANT, Problem, make_id

STATES = ("blocked", "active", "succeeded", "failed", "skipped")
ENDED = STATES[2:]
FINAL = ("succeeded", "failed", "cancelled")
SETTINGS = {
    "tags": [],
    "meta": {},
    "on_member_failed": "continue",
    "max_active": None,
    "timeout_ms": None,
    "result_from": None,
    "keep_members": True,
}


class Flow:
    """A workflow with its members."""

    def __init__(self, given, at):
        self.given, self.members, self.callbacks = given, [], {}
        self.id = given.get("id") or make_id(given.get("queue"))
        self.queue, self.open = given.get("queue", "default"), given.get("open", False)
        self.state, self.reason, self.cancel_reason = "running", None, None
        self.version, self.created_at, self.ended_at = 1, at, None
        self.policy = given.get("on_member_failed", "continue") if MUTANT != "fake-knows-no-policy" else "continue"

    def find(self, name):
        for member in self.members:
            if name in (member["ref"], f"@{member['number']}"):
                return member
        raise Problem("not_found", 404, "the workflow has no such member")

    def counts(self):
        return {state: sum(m["state"] == state for m in self.members) for state in STATES}

    def needing(self, member, on):
        """The members that need this end of a member."""
        need = {"ref": member["ref"], "on": on}
        return [other for other in self.members if need in other["needs"]]

    def is_caught(self, member):
        return any(other["generation"] for other in self.needing(member, "failed"))

    def may_be_caught(self, member):
        return any(other["state"] == "blocked" for other in self.needing(member, "failed"))

    def failed(self):
        """The members whose failure nobody has caught."""
        return [m for m in self.members if m["state"] == "failed" and not self.is_caught(m)]

    def met(self, need):
        """Whether a need is met; None if that is open."""
        state = self.find(need["ref"])["state"]
        return None if state not in ENDED else need["on"] in ("ended", state)

    def shape(self):
        shown = {
            "id": self.id,
            "name": self.given.get("name"),
            "queue": self.queue,
            "state": self.state,
            "reason": self.reason,
            "generation": 1,
            "version": self.version,
            "open": self.open,
            "created_at": self.created_at,
            "timeout_at": None,
            "ended_at": self.ended_at,
            "members": len(self.members),
            "counts": self.counts(),
            "callbacks": dict(self.callbacks),
            **{name: self.given.get(name, usual) for name, usual in SETTINGS.items()},
            "unique": {"key": self.given["unique"]["key"]} if self.given.get("unique") else None,
        }
        if self.cancel_reason:
            shown["cancel_reason"] = self.cancel_reason
        return shown

    # What members are made of.

    def take(self, members, usual=None):
        """Adds members, or none if one is bad. Returns how many are new."""
        known, new = {m["ref"] for m in self.members} - {None}, []
        for number, given in enumerate(members):
            ref = given.get("ref")
            if ref in known:
                continue
            if any(ref is not None and ref == each["ref"] for _, each in new):
                raise fault(f"/members/{number}", "another member has this ref")
            new.append((number, self.made(given, len(self.members) + len(new), usual or {})))
        refs = known | {each["ref"] for _, each in new}
        for number, each in new:
            if any(need["ref"] not in refs for need in each["needs"]):
                raise fault(f"/members/{number}", "no member has a ref that is named here")
        rest = {each["ref"]: (number, each) for number, each in new if each["ref"] is not None}
        while rest:
            free = [ref for ref, (_, each) in rest.items() if not any(n["ref"] in rest for n in each["needs"])]
            if not free:
                number = min(number for number, _ in rest.values())
                raise fault(f"/members/{number}", "the member needs itself, through what it needs")
            rest = {ref: each for ref, each in rest.items() if ref not in free}
        self.members += [each for _, each in new]
        return len(new)

    def made(self, given, number, usual):
        job = {"queue": self.queue, "payload": None, **usual, **given["job"]}
        needs = [{"ref": need} if isinstance(need, str) else need for need in given.get("needs", [])]
        return {
            "number": number,
            "ref": given.get("ref"),
            "state": "blocked",
            "reason": None,
            "generation": 0,
            "queue": job["queue"],
            "job_id": None,
            "needs": [{"on": "succeeded", **need} for need in needs],
            "needs_any": given.get("needs_any", False) and MUTANT != "fake-needs-all",
            "definition": job,
        }


def fault(where, detail):
    return Problem("validation_failed", 422, "1 fault", errors=[{"where": where, "detail": detail}])


class FakeWorkflows:
    """Of one Fake."""

    def __init__(self, fake):
        self.fake = fake
        self.flows, self.keys, self.of_jobs = {}, {}, {}

    # The calls.

    def create(self, workflow):
        workflow = dict(workflow)
        key = workflow.pop("idempotency_key", None)
        if "timeout_ms" in workflow:
            raise Problem("no_server", None, "the fake has no timeouts of workflows")
        known = self.keys.get(key) or self.flows.get(workflow.get("id")) or self.holder(workflow)
        if known:
            return known.shape(), False
        flow = Flow(workflow, self.fake.time(self.fake.now_ms))
        flow.take(workflow.get("members", []), workflow.get("defaults"))
        if "result_from" in workflow and not flow.open:
            if workflow["result_from"] not in [member["ref"] for member in flow.members]:
                raise fault("/result_from", "no member has this ref")
        self.flows[flow.id] = flow
        if key is not None:
            self.keys[key] = flow
        answer = flow.shape()
        self.go_on(flow)
        return answer, True

    def holder(self, workflow):
        unique = workflow.get("unique")
        for flow in self.flows.values() if unique else ():
            held = flow.given.get("unique") or {}
            same = (flow.queue, held.get("key")) == (workflow.get("queue", "default"), unique["key"])
            if same and flow.state not in FINAL and MUTANT != "fake-workflows-not-unique":
                if unique.get("on_conflict") == "reject":
                    raise Problem("duplicate_workflow", 409, "a workflow holds this unique key")
                return flow
        return None

    def found(self, workflow):
        if workflow not in self.flows:
            raise Problem("not_found", 404, "there is no such workflow")
        return self.flows[workflow]

    def get(self, workflow, include=None):
        flow = self.found(workflow)
        more = {"result": self.result_of(flow)} if "result" in (include or ()) else {}
        return {**flow.shape(), **more}

    def result_of(self, flow):
        ref = flow.given.get("result_from")
        job = ref and self.fake.jobs.get(flow.find(ref)["job_id"])
        return job["result"] if job else None

    def wait(self, workflow, timeout):
        if self.found(workflow).state not in FINAL:
            raise Problem("wait_timeout", None, "it ends by no waiting: drain the fake")
        return self.get(workflow, ("result",))

    def page(self, *parts, state=None, include=None, limit=None, cursor=None, **filters):
        if not parts:
            shown = [flow.shape() for flow in reversed(self.flows.values())]
            filters = {**filters, **({"state": state} if state else {})}
            return {"items": [s for s in shown if filters.items() <= s.items()][:limit], "next_cursor": None}
        members = [m for m in self.found(parts[0]).members if state in (None, m["state"])]
        return {"items": [self.shown(m, include) for m in members[:limit]], "next_cursor": None}

    def shown(self, member, include):
        hidden = ("needs", "needs_any", "definition")
        shown = {name: value for name, value in member.items() if name not in hidden}
        job = self.fake.jobs.get(member["job_id"])
        if "job" in (include or ()) and job:
            shown["job"] = self.fake.shape(job)
        if "result" in (include or ()):
            shown["result"] = job["result"] if job else None
        return shown

    def member(self, workflow, ref, include=None, wait_ms=None):
        flow = self.found(workflow)
        member = flow.find(ref)
        waits_for = [need["ref"] for need in member["needs"] if flow.met(need) is None]
        hidden = ("needs", "needs_any", "definition") if MUTANT != "fake-shows-no-definition" else ()
        more = {name: member[name] for name in hidden}
        return {**self.shown(member, include), **more, "waits_for": waits_for}

    def add(self, workflow, request, key=None):
        flow, by = self.found(workflow), request.get("by")
        if flow.state != "running" or not (flow.find(by)["state"] == "active" if by else flow.open):
            raise Problem("invalid_state", 409, "the workflow is closed")
        added = flow.take(request["members"])
        flow.open = flow.open and not request.get("close", False)
        self.go_on(flow)
        return {"added": added, "existing": len(request["members"]) - added, "members": len(flow.members)}

    def close(self, workflow):
        flow = self.found(workflow)
        flow.open = False
        answer = flow.shape()
        self.go_on(flow)
        return answer

    def cancel(self, workflow, reason):
        flow = self.found(workflow)
        if flow.state in FINAL:
            raise Problem("invalid_state", 409, "the workflow has ended")
        flow.cancel_reason = reason
        self.stop(flow, "cancelled")
        self.go_on(flow)
        return flow.shape()

    def skip(self, workflow, ref):
        flow = self.found(workflow)
        self.skip_member(flow, flow.find(ref))
        self.settle(flow)
        answer = flow.shape()
        self.go_on(flow)
        return answer

    def skip_member(self, flow, member):
        if member["state"] != "blocked":
            raise Problem("invalid_state", 409, "the member is not blocked")
        member.update(state="skipped", reason="by_call")

    def retry(self, workflow, request):
        if MUTANT == "fake-retries-in-silence":
            return self.get(workflow)
        raise Problem("no_server", None, "the fake has no retries of workflows")

    # What follows.

    def go_on(self, flow):
        self.settle(flow)
        if self.fake.inline and MUTANT != "fake-waits-for-drains":
            self.fake.drain(self.fake.types)

    def settle(self, flow):
        """Releases and skips what can be decided, and ends the workflow if it is over."""
        if flow.state in FINAL:
            return
        while any([self.decide(flow, each) for each in flow.members if each["state"] == "blocked"]):
            pass
        if flow.policy == "stop" and flow.state == "running":
            if any(not flow.may_be_caught(each) for each in flow.failed()):
                return self.stop(flow, "member_failed")
        if all(m["state"] in ENDED for m in flow.members) and not self.may_grow(flow):
            self.end(flow)

    @staticmethod
    def may_grow(flow):
        return flow.open and flow.state == "running" and MUTANT != "fake-ends-open-ones"

    def decide(self, flow, member):
        """Whether the member is no longer blocked."""
        met = [flow.met(need) for need in member["needs"]]
        is_ready = True in met if member["needs_any"] and met else all(met)
        is_hopeless = not is_ready and (set(met) == {False} if member["needs_any"] else False in met)
        if flow.state == "stopping":
            member.update(state="skipped", reason="cancelled")
            return True
        if is_hopeless and MUTANT != "fake-skips-nothing":
            member["state"] = "skipped"
            return True
        active, most = flow.counts()["active"], flow.given.get("max_active")
        if not is_ready or (most and active >= most):
            return False
        member.update(state="active", generation=1)
        try:
            member["job_id"] = self.release(flow, member["definition"], "member", member)
        except Problem:
            member.update(state="failed", reason="refused")
        return True

    def release(self, flow, job, role, member):
        """Submits a job, and returns its id."""
        of = {"id": flow.id, "name": flow.given.get("name"), "role": role}
        of.update({name: member[name] if member else None for name in ("ref", "number")})
        job = {"id": make_id(job.get("queue", flow.queue)), "queue": flow.queue, **job}
        made = self.fake.release(job, of)
        self.of_jobs[made["id"]] = (flow, member)
        return made["id"]

    def stop(self, flow, reason):
        """Nothing more is released, and what waits is cancelled."""
        flow.state, flow.reason = "stopping", reason
        self.settle(flow)
        for member in flow.members:
            if member["state"] == "active" and MUTANT != "fake-cancels-nothing":
                self.fake.cancel(member["job_id"])

    def end(self, flow):
        is_bad = flow.failed() and flow.policy != "ignore"
        flow.state = "cancelled" if flow.reason == "cancelled" else "failed" if flow.reason or is_bad else "succeeded"
        flow.reason = flow.reason or ("member_failed" if is_bad else None)
        flow.ended_at = self.fake.time(self.fake.now_ms)
        for name in ("on_success" if flow.state == "succeeded" else "on_failure", "on_end"):
            if name in flow.given and MUTANT != "fake-calls-nobody":
                job = {**flow.given.get("defaults", {}), **flow.given[name]}
                flow.callbacks[name] = self.release(flow, job, "callback", None)

    # What the fake tells of jobs.

    def job_ended(self, job):
        flow, member = self.of_jobs.get(job["id"], (None, None))
        if member:
            is_good = job["state"] == "succeeded"
            member.update(
                state="succeeded" if is_good else "failed",
                reason=None if is_good else job["state"],
            )
            self.settle(flow)

    def grow(self, job, grown):
        """What a handler that succeeds adds and skips."""
        flow, member = self.of_jobs.get(job["id"], (None, None))
        if not flow:
            return
        skipped = [flow.find(ref) for ref in grown.get("skip", [])]
        if any(member["ref"] not in [need["ref"] for need in other["needs"]] for other in skipped):
            raise fault("/grow/skip", "the member does not need this one")
        flow.take(grown.get("members", []))
        for other in skipped:
            self.skip_member(flow, other)

    def claim_of(self, job):
        """What a claim of the job says of its workflow."""
        flow, member = self.of_jobs.get(job["id"], (None, None))
        if not flow:
            return {}
        workflow = {**job["workflow"], "generation": 1, "state": flow.state}
        if not member:
            failed = [each["ref"] or f"@{each['number']}" for each in flow.members if each["state"] == "failed"]
            return {"workflow": {**workflow, "counts": flow.counts(), "failed": failed}}
        needed = [flow.find(need["ref"]) for need in member["needs"]]
        ended = [each for each in needed if each["state"] in ENDED and MUTANT != "fake-without-parents"]
        return {"workflow": workflow, **({"parents": {m["ref"]: self.parent(m) for m in ended}} if needed else {})}

    def parent(self, member):
        said = {"id": member["job_id"], "state": member["state"], "reason": member["reason"]}
        if member["state"] == "succeeded":
            said["result"] = self.fake.jobs[member["job_id"]]["result"]
        return said
