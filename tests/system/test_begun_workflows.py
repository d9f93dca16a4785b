"""Tests of workflows that are begun by others: by schedules, by acks, and in users' transactions on PostgreSQL."""

import json
import time

import harness
import test_auth
from harness import eventually
from test_inbox import OnPostgres
from workflows import WorkflowWords

HOURLY = {"every_ms": 3_600_000}


class BegunWords(WorkflowWords):
    def setUp(self):
        super().setUp()
        self.name = f"s.{self.queue}"

    def schedule_path(self, call=""):
        return f"/v1/schedules/{self.name}{call}"

    def put(self, *listed, api=None, workflow=None, **members):
        """The reply to a PUT of a schedule of these members, which is deleted after the test."""
        body = {"workflow": {"queue": self.queue, "members": list(listed), **(workflow or {})}, **members}
        if "every_ms" not in body and "cron" not in body:
            body |= HOURLY
        self.addCleanup(lambda: self.server.process and self.server.process.poll() is None and self.forget())
        return (api or self.api).put(self.schedule_path(), body)

    def forget(self):
        self.api.delete(self.schedule_path())

    def scheduled(self, *listed, **members):
        reply = self.put(*listed, **members)
        self.assertIn(reply.status, (200, 201), reply)
        return reply.json

    def runs(self):
        """Oldest first."""
        reply = self.api.get(self.schedule_path("/runs"))
        self.assertEqual(reply.status, 200, reply)
        return reply.json["items"][::-1]

    def begun(self, count=1):
        """The ids of the schedule's workflows, once there are as many."""
        found = lambda: [run["workflow_id"] for run in self.runs() if "workflow_id" in run]  # noqa: E731
        return eventually(lambda: len(ids := found()) >= count and ids, what=f"{count} workflows")

    def in_queue(self):
        """The queue's workflows, newest first."""
        reply = self.api.get("/v1/workflows", queue=self.queue, fresh="true")
        self.assertEqual(reply.status, 200, reply)
        return reply.json["items"]


class Schedules(BegunWords, harness.ServerCase):
    def test_what_is_set_comes_back(self):
        made = self.scheduled(
            self.member("a", job={"payload": {"a": 1}}),
            self.member("b", "a", {"ref": "c", "on": "failed"}, needs_any=True),
            {"ref": "c", "job": {}},
            workflow={
                "name": "nightly",
                "defaults": {"type": "other", "priority": 3},
                "tags": ["x"],
                "meta": {"k": "v"},
                "on_failure": {"type": "alarm"},
                "max_active": 2,
                "timeout_ms": 60_000,
                "result_from": "b",
                "keep_members": False,
            },
            overlap="skip",
        )
        self.assertNotIn("job", made)
        workflow = made["workflow"]
        self.assertEqual(workflow["members"][0], {
            "ref": "a", "job": {"type": "work", "queue": self.queue, "payload": {"a": 1}, "priority": 3}
        })  # fmt: skip
        needs = [{"ref": "a", "on": "succeeded"}, {"ref": "c", "on": "failed"}]
        self.assertEqual((workflow["members"][1]["needs"], workflow["members"][1]["needs_any"]), (needs, True))
        self.assertEqual(workflow["members"][2]["job"]["type"], "other")
        self.assertEqual(workflow["on_failure"]["type"], "alarm")
        others = {name: workflow[name] for name in ("name", "tags", "meta", "max_active", "timeout_ms", "result_from")}
        self.assertEqual(others, {"name": "nightly", "tags": ["x"], "meta": {"k": "v"}, "max_active": 2,
                                  "timeout_ms": 60_000, "result_from": "b"})  # fmt: skip
        self.assertEqual((workflow["queue"], workflow["keep_members"]), (self.queue, False))
        # What came back can be sent again, and is the same.
        again = self.api.put(self.schedule_path(), {"workflow": workflow, **HOURLY, "overlap": "skip"})
        self.assertEqual((again.status, again.json["version"]), (200, 1), again)

    def test_an_instant_begins_one_whose_jobs_know_it(self):
        self.scheduled(self.member("a"), self.member("b", "a"), every_ms=1000, overlap="skip")
        first = self.begun()[0]
        job = self.claim_within()
        self.assertEqual((job["workflow"]["id"], job["workflow"]["ref"]), (first, "a"))
        self.assertEqual(job["schedule"], {"name": self.name, "scheduled_at": self.runs()[0]["scheduled_at"]})
        run = self.runs()[0]
        self.assertEqual((run["outcome"], run["job_id"]), ("submitted", None))
        seen = self.api.get(self.schedule_path()).json
        self.assertEqual((seen["last_workflow_id"], seen["last_job_id"]), (first, None))
        # It has not ended: the next instants are skipped.
        eventually(lambda: "skipped_overlap" in [run["outcome"] for run in self.runs()], what="a skipped instant")
        self.assertEqual([workflow["id"] for workflow in self.in_queue()], [first])
        self.finish(job)
        self.assertEqual(self.run_one("b")["schedule"]["name"], self.name)
        self.assertEqual(self.ended(first)["state"], "succeeded")
        second = self.begun(2)[1]
        self.assertEqual(self.claim_within()["workflow"]["id"], second)

    def test_the_last_one_is_replaced(self):
        self.scheduled(self.member("a"), every_ms=1000, overlap="replace")
        first = self.begun()[0]
        job = self.claim_within()
        eventually(lambda: self.workflow(first)["state"] == "stopping", what="the first one to stop")
        self.finish(job, outcome="cancelled")
        self.assertEqual(self.ended(first)["cancel_reason"], "replaced by its schedule's next run")
        self.begun(2)
        self.assertIn("replaced", [run["outcome"] for run in self.runs()])

    def test_one_waits_for_the_last(self):
        self.scheduled(self.member("a"), every_ms=1000, overlap="queue")
        job = self.claim_within()
        time.sleep(2.5)
        self.assertEqual(len(self.in_queue()), 1)
        self.finish(job)
        self.begun(2)

    def test_a_trigger_and_its_key(self):
        self.scheduled(self.member("a"))
        key = {"Idempotency-Key": f"k-{self.queue}"}
        body = {"scheduled_at": "2026-03-01T08:00:00.000Z"}
        made = self.api.post(self.schedule_path("/trigger"), body, headers=key)
        self.assertEqual((made.status, made.json["state"], made.json["members"]), (201, "running", 1), made)
        again = self.api.post(self.schedule_path("/trigger"), body, headers=key)
        self.assertEqual((again.status, again.json["id"]), (200, made.json["id"]), again)
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assertEqual([run["workflow_id"] for run in self.runs()], [made.json["id"]])
        job = self.claim_within()
        self.assertEqual(job["schedule"]["scheduled_at"], body["scheduled_at"])
        self.assertEqual(self.claim(), [])

    def test_a_backfill_begins_each_once(self):
        self.scheduled(self.member("a"), every_ms=60_000, paused=True)
        now = int(time.time()) // 60 * 60
        past = {"from": harness.rfc3339(now - 600), "to": harness.rfc3339(now - 300)}
        call = lambda **members: self.api.post(self.schedule_path("/backfill"), {**past, **members}).json  # noqa: E731
        self.assertEqual(call(dry_run=True), {"submitted": 5, "existing": 0, "more": False})
        self.assertEqual(self.in_queue(), [])
        self.assertEqual(call(limit=2), {"submitted": 2, "existing": 0, "more": True})
        self.assertEqual(call(dry_run=True), {"submitted": 3, "existing": 2, "more": False})
        self.assertEqual(call(), {"submitted": 3, "existing": 2, "more": False})
        self.assertEqual(call(), {"submitted": 0, "existing": 5, "more": False})
        self.assertEqual({run["workflow_id"] for run in self.runs()}, {each["id"] for each in self.in_queue()})
        # Those of an edited schedule are still there.
        self.scheduled(self.member("b"), every_ms=60_000, paused=True)
        self.assertEqual(call(), {"submitted": 0, "existing": 5, "more": False})

    def test_what_is_refused(self):
        member = self.member("a")
        for place, members, workflow in (
            ("/workflow/id", [], {"id": harness.uuid7()}),
            ("/workflow/unique", [], {"unique": {"key": "k"}}),
            ("/workflow/open", [], {"open": True}),
            ("/workflow/members/0/job/run_at", [self.member("a", job={"run_at": "2030-01-01T00:00:00Z"})], {}),
            ("/workflow/members/0/job/type", [{"job": {}}], {}),
            ("/workflow/members/1", [member, member], {}),
            ("/workflow/members/0", [self.member("a", "b")], {}),
            ("/workflow/members/0", [self.member("a", "a")], {}),
            ("/workflow/result_from", [member], {"result_from": "b"}),
            ("/workflow", [self.member("a", job={"payload": "x" * 65_536})], {}),
            ("/workflow", [{"job": {}}] * 30, {"defaults": {"type": "t", "payload": "x" * 10_000}}),
        ):
            with self.subTest(place=place, workflow=str(workflow)[:60]):
                self.assert_refused(self.put(*members, workflow=workflow), 422, "validation_failed", place)
        body = {"job": {"type": "t"}, "workflow": {}, **HOURLY}
        self.assert_fault(body, "/workflow", self.schedule_path(), "PUT")
        self.assert_fault(HOURLY, "/job", self.schedule_path(), "PUT")

    def test_a_set_of_schedules_may_have_workflows(self):
        owner = f"o.{self.queue}"
        body = {"managed_by": owner, "schedules": {
            self.name: {**HOURLY, "workflow": {"queue": self.queue, "members": [self.member("a")]}}
        }}  # fmt: skip
        self.addCleanup(self.forget)
        self.assertEqual(self.api.put("/v1/schedules", body).json["created"], [self.name])
        self.assertEqual(self.api.put("/v1/schedules", body).json["unchanged"], [self.name])
        body["schedules"][self.name]["workflow"]["members"][0]["needs"] = ["nobody"]
        reply = self.api.put("/v1/schedules", body)
        self.assert_refused(reply, 422, "validation_failed", f"/schedules/{self.name}/workflow/members/0")

    def test_a_limit_that_its_jobs_name_stays(self):
        limit = f"l.{self.queue}"
        self.api.put(f"/v1/limits/{limit}", {"concurrency": 1})
        self.scheduled(self.member("a", job={"limits": [{"name": limit}]}))
        self.assert_refused(self.api.delete(f"/v1/limits/{limit}"), 409, "limit_in_use")
        self.scheduled(self.member("a"))
        self.assertEqual(self.api.delete(f"/v1/limits/{limit}").status, 204)


class Acks(BegunWords, harness.ServerCase):
    def claimed(self):
        self.submit()
        return self.claim_within()

    def workflow_item(self, *listed, **members):
        return {"workflow": {"queue": self.queue, "members": list(listed), **members}}

    def test_it_begins_with_the_success(self):
        job = self.claimed()
        item = self.workflow_item(self.member("a"), self.member("b", "a"), name="after")
        enqueue = [{"type": "plain", "queue": f"{self.queue}-b"}, item]
        self.assertEqual(self.finish(job, enqueue=enqueue), "succeeded")
        self.run_one("a")
        self.run_one("b")
        workflow = self.in_queue()[0]
        self.assertEqual((workflow["name"], self.ended(workflow)["state"]), ("after", "succeeded"))
        self.assertEqual(self.claim_within(queues=[f"{self.queue}-b"])["type"], "plain")
        # A repeated ack begins nothing.
        self.assertEqual(self.ack(job, enqueue=enqueue)["status"], 200)
        self.assertEqual(len(self.in_queue()), 1)

    def test_it_does_not_begin_without(self):
        job = self.claimed()
        stale = {**job, "lease": {**job["lease"], "token": job["lease"]["token"] - 1}}
        refused = self.ack(stale, enqueue=[self.workflow_item(self.member("a"))])
        self.assertEqual(refused["error"]["code"], "lease_lost")
        bad = self.ack(job, enqueue=[{"type": "t"}, self.workflow_item(self.member("a", "nobody"))])
        self.assertEqual(bad["error"]["errors"][0]["pointer"], "/enqueue/1/workflow/members/0")
        self.assertEqual(self.in_queue(), [])
        self.assertEqual(self.finish(job), "succeeded")

    def test_by_complete_and_by_poll(self):
        job = self.claimed()
        token = {"token": job["lease"]["token"]}
        done = self.api.post(f"/v1/jobs/{job['id']}/complete", {**token, "enqueue": [self.workflow_item()]})
        self.assertEqual((done.status, done.json["state"]), (200, "succeeded"), done)
        eventually(lambda: len(self.in_queue()) == 1, what="the first workflow")
        job = self.claimed()
        ack = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
        poll = {"acks": [{**ack, "enqueue": [self.workflow_item(self.member("a"))]}]}
        self.assertEqual(self.api.post("/v1/workers/w1/poll", poll).status, 200)
        self.run_one("a")
        self.assertEqual(len(self.in_queue()), 2)

    def test_a_kill_loses_nothing_and_doubles_nothing(self):
        job = self.claimed()
        self.finish(job, enqueue=[self.workflow_item(self.member("a"))])
        self.server.restart(kill=True)
        self.use(self.server)
        self.run_one("a")
        self.assertEqual(len(self.in_queue()), 1)


class Access(BegunWords, harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        scopes = (f"--scope={scope}" for scope in test_auth.SCOPES)
        cls.token, config = test_auth.new_token("--name", "all", *scopes)
        cls.server = harness.Server(config=config, token=cls.token)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def client_with(self, *scopes, queues=None):
        body = {"name": f"t-{self.queue}-{time.monotonic_ns()}", "scopes": list(scopes)}
        reply = self.api.post("/v1/tokens", {**body, **({"queues": queues} if queues else {})})
        self.assertEqual(reply.status, 201, reply)
        return self.new_client(token=reply.json["token"])

    def test_a_schedule_needs_each_queue_that_its_workflow_names(self):
        api = self.client_with("operate", "read", queues=[self.queue])
        other = {"queue": f"{self.queue}-other"}
        self.assert_refused(self.put(self.member("a", job=other), api=api), 404, "not_found")
        self.assertEqual(self.put(self.member("a"), api=api).status, 201)
        self.assertEqual(api.get(self.schedule_path()).status, 200)
        self.assertEqual(self.put(self.member("a", job=other)).status, 200)
        for reply in (
            api.get(self.schedule_path()),
            api.get(self.schedule_path("/runs")),
            self.put(self.member("a"), api=api),
            api.post(self.schedule_path("/trigger")),
            api.post(self.schedule_path("/pause")),
            api.delete(self.schedule_path()),
        ):
            self.assert_refused(reply, 404, "not_found")
        self.assertEqual(api.get("/v1/schedules").json["items"], [])

    def test_payloads_are_for_those_who_may_see_them(self):
        self.scheduled(self.member("a", job={"payload": 1}))
        job = self.client_with("read").get(self.schedule_path()).json["workflow"]["members"][0]["job"]
        self.assertEqual((job["redacted"], job.get("payload")), (True, None))

    def test_an_ack_needs_submit_and_each_queue(self):
        self.submit()
        job = self.claim_within()
        item = {"workflow": {"queue": self.queue, "members": [self.member("a", job={"queue": f"{self.queue}-b"})]}}
        body = {"token": job["lease"]["token"], "enqueue": [item]}
        complete = f"/v1/jobs/{job['id']}/complete"
        self.assert_refused(self.client_with("work").post(complete, body), 403, "forbidden")
        api = self.client_with("work", "submit", queues=[self.queue])
        self.assert_refused(api.post(complete, body), 404, "not_found")
        self.assertEqual(self.client_with("work", "submit").post(complete, body).status, 200)


class Sql(BegunWords, OnPostgres):
    def call(self, *listed, key=None, **members):
        """A call of millrace.workflow as text."""
        body = json.dumps({"queue": self.queue, "members": list(listed), **members}).replace("'", "''")
        return f"millrace.workflow('{body}'{f', {chr(39)}{key}{chr(39)}' if key else ''})"

    def test_it_begins_if_and_only_if_the_transaction_commits(self):
        session = self.session()
        session.sql(f"BEGIN; SELECT {self.call(self.member('x'))}; ROLLBACK; BEGIN")
        made = session.sql(f"SELECT {self.call(self.member('a'), self.member('b', 'a'), name='n')}")
        self.assertEqual(self.claim(wait_ms=300), [])
        session.sql("COMMIT")
        self.assertEqual(self.run_one("a")["workflow"]["id"], made)
        self.run_one("b")
        self.assertEqual((self.ended(made)["state"], self.workflow(made)["name"]), ("succeeded", "n"))
        self.await_empty_inbox()
        self.assertEqual([each["id"] for each in self.in_queue()], [made])

    def test_it_is_taken_in_the_order_of_its_queue(self):
        self.session().sql(
            f"BEGIN; SELECT {self.enqueue()}; SELECT {self.call(self.member('a'))}; SELECT {self.enqueue()}; COMMIT"
        )
        self.await_empty_inbox()
        jobs = self.claim(limit=10)
        self.assertEqual([("workflow" in job) for job in sorted(jobs, key=lambda job: job["id"])].count(True), 1)
        self.assertEqual(len(jobs), 3)

    def test_an_idempotency_key(self):
        first = self.sql(f"SELECT {self.call(self.member('a'), key='k')}")
        self.await_empty_inbox()
        self.sql(f"SELECT {self.call(self.member('a'), key='k')}")
        self.await_empty_inbox()
        self.assertEqual([each["id"] for each in self.in_queue()], [first])

    def test_what_is_refused_at_once(self):
        for call, message in (
            ("millrace.workflow('[]')", "workflow: must be an object"),
            ("millrace.workflow(NULL)", "workflow: must be an object"),
            (self.call({"job": {}}), "members.0.job.type"),
            (self.call({}), "members.0.job must be an object"),
            (self.call(queue="a b"), "queue must have"),
            (self.call(id=harness.uuid7().replace("-7", "-4", 1)), "id must be a UUID"),
            (self.call(key="a b"), "idempotency_key: "),
        ):
            with self.subTest(call=call[:80]):
                self.assertIn(message, self.refusal(f"SELECT {call}")[1])

    def test_what_the_server_refuses_later_is_found_among_the_rejected(self):
        self.sql(f"SELECT {self.call(self.member('a', 'nobody'))}")
        self.await_empty_inbox()
        found = self.sql("SELECT kind, reason FROM millrace.inbox_rejected")
        self.assertTrue(found.startswith("workflow|"), found)

    def test_a_schedule_of_a_workflow(self):
        body = {"every_ms": 1000, "workflow": {"queue": self.queue, "members": [self.member("a")]}}
        self.sql(f"SELECT millrace.schedule('{self.name}', '{json.dumps(body)}')")
        eventually(lambda: self.api.get(self.schedule_path()).status == 200, what="the schedule")
        self.assertEqual(self.claim_within()["workflow"]["id"], self.begun()[0])
        both = json.dumps({**body, "job": {"type": "t"}})
        refusal = self.refusal(f"SELECT millrace.schedule('{self.name}', '{both}')")[1]
        self.assertIn("must not have both job and workflow", refusal)
        self.sql(f"SELECT millrace.unschedule('{self.name}')")


if __name__ == "__main__":
    harness.main()
