"""Workflows: the builder, the calls of both clients on a real server, parents and growth."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import unittest
from typing import Any

from support import eventually, server

import millrace
from millrace import (
    AsyncMillrace,
    ClaimedJob,
    Context,
    DuplicateWorkflow,
    InvalidState,
    Millrace,
    NewJob,
    NewMember,
    NewWorkflow,
    NotFound,
    ParentError,
    WaitTimeout,
    make_id,
)
from millrace._constants import MOST_MEMBERS
from millrace._outcome import outcome_of
from millrace._trace import Trace
from millrace._workflow_operations import Creation
from millrace.testing import Fake


class BuilderTest(unittest.TestCase):
    def test_a_graph_reads_like_the_language(self):
        flow = NewWorkflow("nightly", queue="sales", max_active=10, timeout=60, tags=["a"])
        load = flow.add("load", NewJob("sales.load", {"day": 1}, delay=5))
        clean = flow.add("clean", {"type": "sales.clean"}, needs=[load])
        flow.add("tell", NewJob("tell"), needs=[load.failed, clean.ended, "load"], needs_any=True)
        flow.add(None, NewJob("other"), needs="clean")
        flow.on_failure = NewJob("page.me")
        flow.result_from = clean
        needs = [{"ref": "load", "on": "failed"}, {"ref": "clean", "on": "ended"}, "load"]
        wanted = {
            "name": "nightly",
            "queue": "sales",
            "max_active": 10,
            "tags": ["a"],
            "timeout_ms": 60_000,
            "result_from": "clean",
            "on_failure": {"type": "page.me"},
            "members": [
                {
                    "ref": "load",
                    "job": {"type": "sales.load", "payload": {"day": 1}, "delay_ms": 5000},
                },
                {"ref": "clean", "needs": ["load"], "job": {"type": "sales.clean"}},
                {"ref": "tell", "needs": needs, "needs_any": True, "job": {"type": "tell"}},
                {"needs": ["clean"], "job": {"type": "other"}},
            ],
        }
        self.assertEqual(flow.to_wire(), wanted)

    def test_what_is_wrong_is_refused_at_once(self):
        flow = NewWorkflow()
        flow.add("a", NewJob("t"))
        with self.assertRaisesRegex(ValueError, "another member has the ref 'a'"):
            flow.add("a", NewJob("t"))
        unnamed = flow.add(None, NewJob("t"))
        for need in (lambda: unnamed.failed, lambda: flow.add("b", NewJob("t"), needs=[unnamed])):
            with self.assertRaisesRegex(ValueError, "has a ref"):
                need()
        for name, value in (
            ("id", make_id()),
            ("unique", {"key": "k"}),
            ("expires_at", "2030-01-01T00:00:00Z"),
            ("idempotency_key", "k"),
        ):
            with self.assertRaisesRegex(ValueError, f"has no {name}"):
                flow.add("c", NewJob("t", **{name: value}))
        self.assertEqual(len(flow.members), 2)

    def test_many_members_go_in_parts(self):
        flow = NewWorkflow(defaults={"queue": "q", "run_at": "2030-01-01T00:00:00Z"})
        for _ in range(2 * MOST_MEMBERS):
            flow.add(None, NewJob("t"))
        flow.add(None, NewJob("t", delay=5))
        creation = Creation(flow, Trace())
        said = millrace._json.loads(creation.first.body)
        self.assertEqual((len(said["members"]), said["open"]), (MOST_MEMBERS, True))
        made = millrace.CreatedWorkflow(millrace.Workflow({"id": said["id"], "open": True}), True)
        rest = list(creation.rest(made))
        keys = [call.headers["Idempotency-Key"] for call in rest]
        self.assertEqual(keys, [f"{made.id}.10000", f"{made.id}.20000"])
        parts = [millrace._json.loads(call.body) for call in rest]
        self.assertEqual([part.get("close") for part in parts], [None, True])
        self.assertEqual([len(part["members"]) for part in parts], [MOST_MEMBERS, 1])
        jobs = [part["members"][-1]["job"] for part in parts]  # with the defaults
        first = {"type": "t", "queue": "q", "run_at": "2030-01-01T00:00:00Z"}
        self.assertEqual(jobs, [first, {"type": "t", "queue": "q", "delay_ms": 5000}])
        other = millrace.CreatedWorkflow(millrace.Workflow({"id": make_id()}), False)
        self.assertEqual(list(creation.rest(other)), [])  # `unique` found a holder
        self.assertTrue(creation.is_whole(other))
        whole = millrace.CreatedWorkflow(
            millrace.Workflow({"id": said["id"], "open": False}), False
        )
        self.assertEqual(list(creation.rest(whole)), [])  # it was created before
        flow.idempotency_key = "k"
        with self.assertRaisesRegex(ValueError, "give it an id"):
            Creation(flow, Trace())


@dataclasses.dataclass
class Rows:
    count: int
    at: datetime.date


def context_of(**members: Any) -> Context:
    job = {"id": "j", "type": "t", "queue": "q", "payload": None, "attempt": 1, "meta": {}}
    return Context(ClaimedJob({**job, "max_attempts": 1, **members}), 7)


OF_MEMBER = {"id": "w", "name": None, "ref": "me", "number": 0, "generation": 1, "state": "running"}


class ContextTest(unittest.TestCase):
    def test_results_of_parents(self):
        said = {"id": "p", "state": "succeeded", "reason": None}
        context = context_of(
            parents={
                "load": {**said, "result": {"count": 3, "at": "2030-01-02"}},
                "none": {**said, "result": None},
                "large": {**said, "omitted": "size"},
                "bad": {"id": "p", "state": "failed", "reason": "dead"},
            }
        )
        self.assertEqual(context.parent("load")["count"], 3)
        self.assertIsNone(context.parent("none"))
        rows = context.parent("load", Rows)
        self.assertEqual(rows, Rows(3, datetime.date(2030, 1, 2)))
        with self.assertRaisesRegex(LookupError, "'lode'; there are: 'load', 'none'"):
            context.parent("lode")
        for ref, why in (("large", "left out .size."), ("bad", "failed: dead")):
            with self.assertRaisesRegex(ParentError, f"{ref}. .job p.: .*{why}"):
                context.parent(ref)
        with self.assertRaisesRegex(ParentError, "result.at of 'load'|must be null|result"):
            context.parent("none", Rows)

    def test_what_does_not_fit_is_named(self):
        said = {"id": "p", "state": "succeeded", "reason": None, "result": {"count": "3"}}
        with self.assertRaisesRegex(ParentError, r"result.count of 'load' \(job p\): must be an"):
            context_of(parents={"load": said}).parent("load", Rows)

    def test_a_job_of_no_workflow(self):
        context = context_of()
        self.assertIsNone(context.workflow)
        self.assertEqual(context.parents, {})
        with self.assertRaisesRegex(LookupError, "there are: none"):
            context.parent("load")
        for grow in (lambda: context.add("x", NewJob("t")), lambda: context.skip("x")):
            with self.assertRaisesRegex(RuntimeError, "not a member of a workflow"):
                grow()
        callback = context_of(workflow={**OF_MEMBER, "role": "callback"})
        with self.assertRaises(RuntimeError):
            callback.skip("x")

    def test_growth_goes_with_a_success_only(self):
        def grown() -> Context:
            context = context_of(workflow={**OF_MEMBER, "role": "member"}, traceparent="00-1")
            first = context.add("x", NewJob("t"), needs=["me"])
            context.add("y", {"type": "t"}, needs=[first.ended])
            context.skip("idle")
            return context

        done = millrace._json.loads(f"{{{outcome_of(grown(), 1, None).text}}}")
        job = {"type": "t", "traceparent": "00-1"}
        wanted = {
            "members": [
                {"ref": "x", "needs": ["me"], "job": job},
                {"ref": "y", "needs": [{"ref": "x", "on": "ended"}], "job": job},
            ],
            "skip": ["idle"],
        }
        self.assertEqual(done["grow"], wanted)
        self.assertNotIn("grow", outcome_of(grown(), None, ValueError("no")).text)
        with self.assertRaises(TypeError):
            context_of(workflow={**OF_MEMBER, "role": "member"}).add("x", NewJob("t", object()))


class CallsTest(unittest.TestCase):
    def setUp(self):
        self.queue = self.id().rpartition(".")[2]
        self.client = Millrace(server().url)
        self.addCleanup(self.client.close)

    def flow(self, **options: Any) -> NewWorkflow:
        return NewWorkflow(queue=self.queue, **options)

    def test_creates_reads_and_lists(self):
        flow = self.flow(name="n", tags=["t"])
        a = flow.add("a", NewJob("t", {"n": 1}))
        flow.add("b/c", NewJob("t"), needs=[a.ended])
        made = self.client.create_workflow(flow)
        self.assertTrue(made.is_new)
        self.assertFalse(made.workflow.has_ended)
        read = self.client.workflow(made.id)
        self.assertEqual((read.name, read.members, read.queue), ("n", 2, self.queue))
        member = self.client.workflow_member(made.id, "b/c")
        self.assertEqual((member.number, member.waits_for, member.job), (1, ["a"], None))
        self.assertEqual(member.definition["type"], "t")
        first = next(self.client.all_members(made.id, include=["job"], limit=1))
        self.assertEqual((first.ref, first.job.type), ("a", "t"))
        blocked = self.client.workflow_members(made.id, state="blocked").items
        self.assertEqual([one.ref for one in blocked], ["b/c"])
        lines = list(self.client.whole_graph(made.id))
        self.assertEqual([(line.ref, len(line.needs)) for line in lines], [("a", 0), ("b/c", 1)])
        self.assertEqual(self.client.why_workflow(made.id).blocking[0]["code"], "active")
        other = self.client.create_workflow({"queue": self.queue, "open": True})
        found = self.client.all_workflows(limit=1, queue=self.queue, fresh=True)
        self.assertEqual([one.id for one in found], [other.id, made.id])
        page = self.client.workflows(queue=self.queue, tag="t")
        self.assertEqual([one.id for one in page.items], [made.id])

    def test_operates(self):
        flow = self.flow(unique={"key": "k", "on_conflict": "reject"}, open=True)
        flow.add("a", NewJob("t"))
        made = self.client.create_workflow(flow)
        with self.assertRaises(DuplicateWorkflow):
            self.client.create_workflow(flow)
        members = [NewMember("b", NewJob("t"), needs=["a"]), {"job": NewJob("t"), "needs": ["b"]}]
        answer = self.client.add_members(made.id, members)
        self.assertEqual((answer.added, answer.members), (2, 3))
        self.assertEqual(self.client.add_members(made.id, members[:1]).existing, 1)
        self.assertGreater(self.client.skip_member(made.id, "b").counts["skipped"], 0)
        eventually(lambda: self.client.workflow(made.id).counts["skipped"] == 2)
        with self.assertRaises(WaitTimeout) as caught:
            self.client.wait_workflow(made.id, 0.1)
        self.assertIn(f"workflow {made.id} is still running", str(caught.exception))
        self.assertFalse(self.client.close_workflow(made.id).open)
        with self.assertRaises(InvalidState):
            self.client.retry_workflow(made.id, refs=["a"])
        self.client.cancel_workflow(made.id, "enough")
        done = self.client.wait_workflow(made.id)
        self.assertEqual(
            (done.state, done.cancel_reason, done.has_ended), ("cancelled", "enough", True)
        )
        self.client.delete_workflow(made.id)
        with self.assertRaises(NotFound):
            self.client.workflow(made.id)

    def test_a_worker_runs_it(self):
        @self.client.job("load", queue=self.queue)
        def load(day: datetime.date) -> Rows:
            return Rows(12, day)

        @self.client.job("publish", queue=self.queue)
        def publish() -> int:
            context = millrace.current()
            context.add("more", load.new(datetime.date(2031, 1, 1)))
            return context.parent("load", Rows).count

        flow = self.flow()
        first = flow.add("load", load.new(datetime.date(2030, 1, 1)))
        flow.result_from = flow.add("publish", publish.new(), needs=[first])
        made = self.client.create_workflow(flow)
        with self.client.worker(poll_wait=1):
            done = self.client.wait_workflow(made.id, 60)
        self.assertEqual((done.state, done.result, done.members), ("succeeded", 12, 3))

    def test_the_client_for_asyncio(self):
        async def calls() -> None:
            async with AsyncMillrace(server().url) as client:
                flow = self.flow(open=True)
                flow.add("a", NewJob("t"))
                made = await client.create_workflow(flow)
                self.assertEqual((await client.workflow(made.id)).members, 1)
                await client.add_members(made.id, [NewMember("b", NewJob("t"), needs=["a"])])
                refs = [one.ref async for one in client.all_members(made.id, limit=1)]
                self.assertEqual(refs, ["a", "b"])
                self.assertEqual([one.number async for one in client.whole_graph(made.id)], [0, 1])
                self.assertEqual((await client.workflow_member(made.id, "b")).waits_for, ["a"])
                await client.skip_member(made.id, "b")
                await client.close_workflow(made.id)
                await client.cancel_workflow(made.id)
                done = await client.wait_workflow(made.id, 60)
                self.assertEqual(done.state, "cancelled")
                found = client.all_workflows(queue=self.queue, fresh=True)
                self.assertEqual([one.id async for one in found], [made.id])
                with self.assertRaises(InvalidState):
                    await client.cancel_workflow(made.id)
                await client.delete_workflow(made.id)

        asyncio.run(calls())


class FakeWorkflowTest(unittest.TestCase):
    def setUp(self):
        self.app = Millrace("http://127.0.0.1:1")  # no server listens there

        @self.app.job("load", queue="q")
        def load(rows: int) -> dict[str, int]:
            if not rows:
                raise millrace.NonRetryable("nothing there")
            return {"rows": rows}

        @self.app.job("sum", queue="q")
        async def total() -> int:
            context = millrace.current()
            return sum(context.parent(ref)["rows"] for ref in context.parents)

        self.load, self.total = load, total

    def flow(self, *rows: int) -> NewWorkflow:
        flow = NewWorkflow(queue="q")
        loads = [flow.add(f"load/{n}", self.load.new(number)) for n, number in enumerate(rows)]
        flow.result_from = flow.add("sum", self.total.new(), needs=loads)
        flow.on_failure = NewJob("page", queue="q")
        return flow

    def test_runs_a_workflow(self):
        with Fake(self.app) as fake:
            made = self.app.create_workflow(self.flow(3, 4))
            with self.assertRaisesRegex(WaitTimeout, "call drain"):
                self.app.wait_workflow(made.id)
            self.assertEqual(fake.drain(), 3)
            done = self.app.wait_workflow(made.id)
            self.assertEqual((done.state, done.result), ("succeeded", 7))
            self.assertEqual(fake.enqueued("page"), [])

    def test_tells_of_failures(self):
        with Fake(self.app, mode="inline") as fake:
            made = self.app.create_workflow(self.flow(3, 0))
            self.assertEqual(self.app.wait_workflow(made.id).state, "failed")
            (page,) = fake.enqueued("page")
            self.assertEqual(page.workflow["role"], "callback")
            states = [one.state for one in self.app.all_members(made.id, limit=2)]
            self.assertEqual(states, ["succeeded", "failed", "skipped"])
            failed = self.app.workflow_member(made.id, "load/1", include=["job"]).job
            self.assertEqual((failed.state, failed.workflow["ref"]), ("dead", "load/1"))
            with self.assertRaisesRegex(NotImplementedError, "the fake"):
                self.app.retry_workflow(made.id)
            with self.assertRaisesRegex(NotImplementedError, "the fake"):
                self.app.retry(failed.id)

    def test_refuses_what_the_server_refuses(self):
        with Fake(self.app):
            for bad, where in (
                ({"name": "n", "colour": 1}, "/colour"),
                (
                    {"members": [{"job": {"type": "t", "priority": 1 << 20}}]},
                    "/members/0/job/priority",
                ),
                ({"members": [{"job": {}}]}, "/members/0/job/type"),
                ({"on_end": {"type": "t", "queue": ""}}, "/on_end/queue"),
            ):
                with self.assertRaises(millrace.ValidationFailed) as caught:
                    self.app.create_workflow(bad)
                self.assertEqual(caught.exception.errors[0]["where"], where)

    def test_a_result_of_a_member_that_never_came(self):
        with Fake(self.app):
            made = self.app.create_workflow(NewWorkflow(open=True, result_from="late"))
            self.app.close_workflow(made.id)
            done = self.app.wait_workflow(made.id)
            self.assertEqual((done.state, done.result), ("succeeded", None))

    def test_a_member_that_expires(self):
        with Fake(self.app) as fake:
            flow = NewWorkflow(queue="q")
            late = flow.add("late", self.load.options(expires_in=5).new(1))
            flow.add("then", NewJob("t"), needs=[late.failed])
            made = self.app.create_workflow(flow)
            fake.advance(6)
            member = self.app.workflow_member(made.id, "late")
            self.assertEqual((member.state, member.reason), ("failed", "expired"))
            self.assertEqual(self.app.workflow(made.id).counts["active"], 1)


if __name__ == "__main__":
    unittest.main()
