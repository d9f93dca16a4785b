"""The story's chapter about workflows: it makes each of their events. The jobs of a workflow have the type and the
role WORKFLOW.REF, or WORKFLOW.CALLBACK.
"""

import hashlib
import json
import time

import sample
from sample import harness
from workflows import WorkflowWords

# Requests repeated on each sample that has them, so they must never change.
WITH_A_KEY = {"Idempotency-Key": "flow-66"}
COMPLETE = {
    "name": "complete:1/a.flow_of-its",
    "tags": ["vip", "a:b/c.d_e-f"],
    "meta": {"": "", "k": 'v\n"ü"'},
    "on_member_failed": "stop",
    "max_active": 5,
    "timeout_ms": sample.TEN_YEARS_S * 1000,
    "result_from": "last",
    "open": True,
}
HELD = {"unique": {"key": "one at a time"}}
RESULT = "[  -0.10, 999999999999999999999999999999 ]"
ERROR = {"type": "Oops", "message": "no luck"}


class Chapter(WorkflowWords, harness.MillraceCase):
    """`story` is the Story that it belongs to."""

    def __init__(self, story):
        super().__init__()
        self.story, self.queue, self.far = story, story.FLOWS, story.FAR_FLOWS
        self.server, self.api = story.server, story.api

    # Helpers.

    def line(self, name, ref, *needs, far=False, **members):
        """A member of the workflow `name`; with `far`, its job is on another shard if there are two."""
        job = {"max_attempts": 1, "queue": self.far if far else self.queue, **members.pop("job", {})}
        return self.member(ref, *needs, type=f"{name}.{ref}", job=job, **members)

    def callbacks(self, name):
        """A job for each kind of end."""
        return {kind: {"type": f"{name}.{kind}"} for kind in ("on_success", "on_failure", "on_end")}

    def write(self, name, *listed, headers=None, **members):
        """Creates the workflow `name`, which the story knows from then on."""
        made = self.made(*listed, headers=headers, **{"name": name, **members})
        self.story.workflows[name] = made["id"]
        return made["id"]

    def knows(self, name, *refs):
        """Waits for the jobs of members; the story knows them from then on."""
        for ref in refs:
            harness.eventually(lambda ref=ref: self.job_there(name, ref), what=f"the job of {name}.{ref}")

    def job_there(self, name, ref):
        """Whether the member has a job that its shard has."""
        job = self.one(self.story.workflows[name], ref)["job_id"]
        if job is None or self.api.get(f"/v1/jobs/{job}").status != 200:
            return False
        self.story.jobs[f"{name}.{ref}"] = job
        return True

    def begin(self, name, ref, far=False, **members):
        self.knows(name, ref)
        return self.story.begin(f"{name}.{ref}", self.far if far else self.queue, **members)

    def run_through(self, name, ref, outcome="succeeded", far=False, **members):
        """Runs a member's job. Only then the story goes on that its workflow knows of its end."""
        self.begin(name, ref, far)
        if outcome != "succeeded":
            members["error"] = ERROR
        self.story.end(f"{name}.{ref}", outcome, **members)
        self.await_member(name, ref, "succeeded" if outcome == "succeeded" else "failed")

    def await_member(self, name, ref, state):
        flow = self.story.workflows[name]
        harness.eventually(lambda: self.one(flow, ref)["state"] == state, what=f"{name}.{ref} {state}")

    def calls_back(self, name, *kinds, run=True):
        """The end of a workflow has submitted these callbacks."""
        found = self.ended(self.story.workflows[name])["callbacks"]
        self.assertEqual(set(found), set(kinds))
        for kind, job in found.items():
            role = f"{name}.{kind}"
            harness.eventually(lambda job=job: self.api.get(f"/v1/jobs/{job}").status == 200, what=role)
            self.story.jobs[role] = job
            if run:
                self.story.begin(role, self.queue)
                self.story.end(role)

    # The workflows.

    def tell(self):
        for queue in {self.queue, self.far}:
            self.story.put_queue(queue)
            self.story.queues.add(queue)
        self.one_is_complete()
        self.one_has_failed()
        self.one_goes_on_after_a_retry()
        self.one_waits_for_its_bound()
        self.one_stops()
        self.one_was_cancelled()
        self.one_timed_out()
        self.one_is_deleted()
        self.acks_grow_one()
        self.a_schedule_begins_one()
        self.an_ack_begins_one()

    def create_the_complete_one(self):
        """Also used for the repetition."""
        listed = (self.line("complete", "first"), self.line("complete", "last", "first"))
        callbacks = self.callbacks("complete")
        return self.create(*listed, headers=WITH_A_KEY, **COMPLETE, **callbacks)

    def one_is_complete(self):
        """Only the tables keep it: nothing can change it any more."""
        name = "complete"
        reply = self.create_the_complete_one()
        self.assertEqual(reply.status, 201, reply)
        flow = self.story.workflows[name] = reply.json["id"]
        self.begin(name, "first")
        more = (
            self.line(name, "grown", "first", far=True),
            self.line(name, "spared", {"ref": "first", "on": "failed"}),
            self.line(name, "unwanted", "last"),
        )
        self.assertEqual(self.add(flow, *more, by="first").json["added"], 3)
        self.assertEqual(self.add(flow, self.line(name, "any", "first", "last", needs_any=True)).status, 200)
        self.assertEqual(self.api.post(self.path(flow, "/members/unwanted/skip")).status, 200)
        self.story.end(f"{name}.first", result=RESULT)
        for ref, far in (("any", False), ("grown", True), ("last", False)):
            self.run_through(name, ref, far=far, result=RESULT)
        self.await_member(name, "spared", "skipped")
        self.call(flow, "close")
        self.calls_back(name, "on_success", "on_end")

    def one_has_failed(self):
        """Its end has submitted a callback, which nobody has run yet."""
        name = "failed"
        self.story.set("/v1/limits/soon-gone", concurrency=1)
        self.write(
            name,
            self.line(name, "broken"),
            self.line(name, "after", "broken"),
            self.line(name, "rescue", {"ref": "broken", "on": "failed"}),
            self.line(name, "refused", {"ref": "rescue", "on": "ended"}, job={"limits": [{"name": "soon-gone"}]}),
            self.line(name, "far-off", far=True),
            on_failure={"type": f"{name}.on_failure"},
        )
        self.story.delete("/v1/limits/soon-gone", force="true")
        self.story.settings.remove("/v1/limits/soon-gone")
        self.run_through(name, "broken", "dead")
        self.run_through(name, "rescue")
        self.run_through(name, "far-off", "dead", far=True)
        self.await_member(name, "refused", "failed")
        self.calls_back(name, "on_failure", run=False)

    def one_goes_on_after_a_retry(self):
        """Of its second generation one member has run, two run, one is ready, and one is blocked."""
        name = "goes-on"
        flow = self.write(
            name,
            self.line(name, "once"),
            self.line(name, "twice", far=True),
            self.line(name, "near", "once", "twice"),
            self.line(name, "away", "twice", far=True),
            self.line(name, "ready", "twice"),
            self.line(name, "last", "near", {"ref": "away", "on": "ended"}, "ready"),
            result_from="last",
            timeout_ms=COMPLETE["timeout_ms"],
            **HELD,
            **self.callbacks(name),
        )
        self.run_through(name, "once", result=RESULT)
        self.run_through(name, "twice", "dead", far=True)
        self.calls_back(name, "on_failure", "on_end")
        for kind in ("on_failure", "on_end"):  # there will be others
            self.story.jobs[f"{name}.first-{kind}"] = self.story.jobs.pop(f"{name}.{kind}")
            self.story.ended[f"{name}.first-{kind}"] = self.story.ended.pop(f"{name}.{kind}")
        self.call(flow, "retry", {"reset_attempts": False, "drop_limits": True})
        self.run_through(name, "twice", far=True, result=RESULT)
        self.begin(name, "near")
        self.begin(name, "away", far=True)
        self.knows(name, "ready")

    def one_waits_for_its_bound(self):
        """It is open, and its next member waits for the one before it to end."""
        name = "bounded"
        self.write(name, self.line(name, "one"), self.line(name, "two"), max_active=1, open=True, keep_members=False)
        self.knows(name, "one")

    def one_stops(self):
        """The worker of its member has not answered yet."""
        name = "stops"
        flow = self.write(
            name, self.line(name, "runs", far=True), self.line(name, "after", "runs"), **self.callbacks(name)
        )
        self.begin(name, "runs", far=True)
        self.call(flow, "cancel", {"reason": "stop, «bitte»"})
        job = self.story.jobs[f"{name}.runs"]
        harness.eventually(lambda: self.job(job)["cancel_requested"], what="the request")
        self.await_member(name, "after", "skipped")

    def one_was_cancelled(self):
        """And before that, jobs of it ended otherwise."""
        name = "cancelled"
        flow = self.write(
            name,
            self.line(name, "waits"),
            self.line(name, "far-off", far=True),
            self.line(name, "expires", job={"delay_ms": 60_000, "expires_in_ms": 50}),
            self.line(name, "deleted"),
        )
        self.knows(name, "waits", "far-off", "expires", "deleted")
        self.story.delete(f"/v1/jobs/{self.story.jobs.pop(f'{name}.deleted')}")
        for ref in ("expires", "deleted"):
            self.await_member(name, ref, "failed")
        self.call(flow, "cancel")
        self.assertEqual(self.ended(flow)["state"], "cancelled")

    def one_timed_out(self):
        name = "overdue"
        flow = self.write(name, self.line(name, "waits", job={"delay_ms": 60_000}), timeout_ms=1000)
        self.knows(name, "waits")
        self.assertEqual(self.ended(flow)["reason"], "timeout")

    def one_is_deleted(self):
        name = "gone"
        flow = self.write(name, self.line(name, "near"), self.line(name, "far-off", far=True))
        self.run_through(name, "near")
        self.run_through(name, "far-off", far=True)
        self.ended(flow)
        self.story.delete(self.path(flow))
        del self.story.workflows[name]
        for ref in ("near", "far-off"):
            role = f"{name}.{ref}"
            job = self.story.jobs.pop(role)
            del self.story.ended[role]
            harness.eventually(lambda job=job: self.api.get(f"/v1/jobs/{job}").status == 404, what=f"the end of {role}")

    def acks_grow_one(self):
        """From the other shard it comes with the report, and may be refused then."""
        name = "by-growth"
        flow = self.write(name, self.line(name, "near"), self.line(name, "far-off", far=True))
        self.run_through(name, "near", grow={"members": [self.line(name, "grown", far=True)]})
        self.run_through(name, "grown", far=True)
        unfit = {"members": [self.line(name, "lost", "nobody")]} if self.story.plan_shards > 1 else {}
        self.begin(name, "far-off", far=True)
        self.story.end(f"{name}.far-off", grow=unfit)
        self.assertEqual(self.ended(flow)["state"], "failed" if unfit else "succeeded")

    def body(self, name):
        """Of a workflow that others begin."""
        listed = [self.line(name, "one"), self.line(name, "two", {"ref": "one", "on": "ended"}, far=True)]
        return {"queue": self.queue, "name": name, "members": listed, "on_end": {"type": f"{name}.on_end"}}

    def finds(self, name, identifier):
        """Waits for a workflow that others begin; the story knows it from then on. Its tables may not have it."""
        found = lambda: self.api.get(self.path(identifier)).status == 200  # noqa: E731
        harness.eventually(found, what=f"the workflow {name}")
        self.story.workflows[name] = identifier
        self.knows(name, "one")

    def a_schedule_begins_one(self):
        """Once: it never fires again."""
        name, soon = "by-schedule-flow", time.time() + 1
        path = sample.path_of_schedule(name)
        once = {"every_ms": 1000, "start_at": harness.rfc3339(soon), "end_at": harness.rfc3339(soon + 0.5)}
        self.story.set(path, **once, overlap="skip", workflow=self.body(name))
        self.story.settings.remove(path)
        self.story.schedules.add(name)
        harness.eventually(lambda: self.api.get(path).json["state"] == "ended", what="the end of its schedule")
        self.finds(name, self.api.get(path).json["last_workflow_id"])

    def an_ack_begins_one(self):
        name = "by-ack"
        self.story.make(name, queue=self.queue)
        self.story.begin(name, self.queue)
        bits = hashlib.sha256(self.queue.encode()).hexdigest()[:3]
        made = harness.uuid7()
        identifier = f"{made[:15]}{bits}{made[18:]}"
        self.story.end(name, enqueue=[{"workflow": {"id": identifier, **self.body(name)}}])
        self.finds(name, identifier)

    def a_transaction_begins_one(self, database):
        name = "by-sql"
        body = json.dumps(self.body(name))
        made = database.sql(f"SELECT millrace.workflow('{body}')")
        self.finds(name, made)

    def one_succeeds_late(self, database):
        """A transaction finishes a job after its lease, and after the end of its workflow."""
        name = "late"
        flow = self.write(name, self.line(name, "slow"), self.line(name, "after", "slow"))
        self.begin(name, "slow", lease_ms=1000)
        self.assertEqual(self.ended(flow)["state"], "failed")
        token = self.story.leases.pop(f"{name}.slow")
        database.sql(f"SELECT millrace.finish('{self.story.jobs[f'{name}.slow']}', {token}, '[1, 2]')")
        self.await_member(name, "slow", "succeeded")
