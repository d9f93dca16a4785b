"""Tests of workflows: their members and what these need, their ends, callbacks, and the calls that change them."""

import hashlib
import time
import uuid

import harness
import test_auth
from workflows import WorkflowWords

NOBODY = "0190a0a0-0000-7000-8000-000000000000"
TEN_YEARS_MS = 315_360_000_000
NO_COUNTS = {"blocked": 0, "active": 0, "succeeded": 0, "failed": 0, "skipped": 0}


def id_of(queue):
    """A UUIDv7 as a client makes it for a workflow of the queue."""
    bits = hashlib.sha256(queue.encode()).hexdigest()[:3]
    made = harness.uuid7()
    return f"{made[:15]}{bits}{made[18:]}"


class Creation(WorkflowWords, harness.ServerCase):
    def test_what_is_set_comes_back(self):
        given = {
            "name": "nightly",
            "tags": ["a", "b"],
            "meta": {"tenant": "acme"},
            "open": True,
            "on_member_failed": "stop",
            "max_active": 3,
            "timeout_ms": 60_000,
            "result_from": "last",
            "keep_members": False,
            "unique": {"key": "k", "on_conflict": "reject"},
        }
        made = self.made(**given)
        for name, value in {**given, "unique": {"key": "k"}}.items():
            self.assertEqual(made[name], value, name)
        self.assertEqual((made["state"], made["reason"], made["generation"]), ("running", None, 1))
        self.assertEqual((made["members"], made["counts"], made["callbacks"]), (0, NO_COUNTS, {}))
        late = harness.seconds(made["timeout_at"]) - harness.seconds(made["created_at"])
        self.assertAlmostEqual(late, 60, 2)
        reply = self.api.get(self.path(made))
        self.assertEqual(reply.json, made)
        self.assertEqual(reply.headers["etag"], f'"{made["version"]}"')

    def test_an_empty_one_succeeds(self):
        made = self.api.post("/v1/workflows", {})
        self.assertEqual((made.status, made.json["queue"]), (201, "default"), made)
        self.assertEqual(self.ended(made.json)["state"], "succeeded")

    def test_defaults_are_for_all_jobs_and_the_queue_is_the_workflows(self):
        made = self.made(
            {"ref": "a", "job": {"type": "t"}},
            {"ref": "b", "needs": ["a"], "job": {"priority": 7, "queue": f"{self.queue}-b"}},
            defaults={"type": "u", "priority": 3, "tags": ["x"]},
            on_end={"payload": 1},
        )
        one = self.one(made, "a", include="job")
        self.assertEqual((one["job"]["type"], one["job"]["priority"], one["queue"]), ("t", 3, self.queue))
        two = self.one(made, "b")["definition"]
        self.assertEqual((two["type"], two["priority"], two["tags"]), ("u", 7, ["x"]))
        self.assertEqual(two["queue"], f"{self.queue}-b")
        self.run_one("a")
        self.run_one("b", queues=[f"{self.queue}-b"])
        callback = self.claim_within()
        self.assertEqual((callback["type"], callback["payload"], callback["priority"]), ("u", 1, 3))

    def test_the_same_id_is_the_same_workflow(self):
        chosen = id_of(self.queue)
        body = {"queue": self.queue, "id": chosen, "members": [self.member("a")]}
        made = self.api.post("/v1/workflows", body)
        self.assertEqual((made.status, made.json["id"]), (201, chosen), made)
        again = self.api.post("/v1/workflows", body)
        self.assertEqual((again.status, again.json), (200, self.workflow(chosen)))
        self.assert_refused(self.api.post("/v1/workflows", {**body, "name": "x"}), 409, "id_mismatch")
        self.run_one("a")
        self.ended(chosen)
        self.assertEqual(self.api.post("/v1/workflows", body).json["state"], "succeeded")

    def test_an_id_of_another_queue_is_refused(self):
        other = id_of(self.queue + "-other")
        self.assert_refused(self.create(id=other), 422, "across_shards")
        self.assert_fault({"id": str(uuid.uuid4())}, "/id", "/v1/workflows")

    def test_an_idempotency_key(self):
        key = {"Idempotency-Key": "k1"}
        made = self.create(self.member("a"), headers=key)
        again = self.create(self.member("a"), headers=key)
        self.assertEqual((made.status, again.status), (201, 200))
        self.assertEqual(again.json["id"], made.json["id"])
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assert_refused(self.create(headers=key), 422, "idempotency_mismatch")

    def test_a_unique_key_is_held_until_the_end(self):
        unique = {"unique": {"key": "k"}}
        made = self.made(self.member("a"), **unique)
        found = self.create(self.member("b"), **unique)
        self.assertEqual((found.status, found.json["id"]), (200, made["id"]))
        reject = {"unique": {"key": "k", "on_conflict": "reject"}}
        refused = self.create(self.member("c"), **reject)
        self.assert_refused(refused, 409, "duplicate_workflow")
        self.assertIn(made["id"], refused.json["detail"])
        self.run_one("a")
        self.ended(made)
        self.assertEqual(self.create(**reject).status, 201)

    def assert_place(self, place, **members):
        with self.subTest(**{name: str(value)[:80] for name, value in members.items()}):
            self.assert_fault({"queue": self.queue, **members}, place, "/v1/workflows")

    def test_one_past_every_bound(self):
        for place, members in (
            ("/name", {"name": "x" * 129}),
            ("/tags", {"tags": ["t"] * 33}),
            ("/meta", {"meta": {"m": "x" * 8192}}),
            ("/max_active", {"max_active": 0}),
            ("/max_active", {"max_active": 1_000_001}),
            ("/timeout_ms", {"timeout_ms": 999}),
            ("/timeout_ms", {"timeout_ms": TEN_YEARS_MS + 1}),
            ("/unique/key", {"unique": {"key": "x" * 256}}),
            ("/unique/key", {"unique": {}}),
            ("/unique/on_conflict", {"unique": {"key": "k", "on_conflict": "replace"}}),
            ("/on_member_failed", {"on_member_failed": "retry"}),
            ("/members", {"members": [{"job": {"type": "t"}}] * 10_001}),
            ("/result_from", {"result_from": "nobody"}),
        ):
            self.assert_place(place, **members)
        large = self.create(*({"job": {}} for _ in range(17)), defaults={"type": "t", "payload": "x" * 1_000_000})
        self.assert_refused(large, 413, "payload_too_large")
        needs = [f"n{i}" for i in range(1_001)]
        self.assert_place("/members/0/needs", members=[self.member("a", *needs)])

    def test_faults_of_members_have_pointers(self):
        member, a = self.member, self.member("a")
        for place, listed in (
            ("/members/0/job", [{"ref": "a"}]),
            ("/members/0/job/type", [{"job": {}}]),
            ("/members/1/ref", [a, member("b c")]),
            ("/members/0/job/id", [member(job={"id": harness.uuid7()})]),
            ("/members/0/job/unique", [member(job={"unique": {"key": "k"}})]),
            ("/members/0/job/expires_at", [member(job={"expires_at": "2999-01-01T00:00:00Z"})]),
            ("/members/0/job/idempotency_key", [member(job={"idempotency_key": "k"})]),
            ("/members/0/needs_any", [{**a, "needs_any": True}]),
            ("/members/0/needs/0", [member("b", 1)]),
            ("/members/0/needs/0/ref", [member("b", {"on": "failed"})]),
            ("/members/1/needs/0/on", [a, member("b", {"ref": "a", "on": "dead"})]),
            ("/members/1/needs/0/signal", [a, member("b", {"ref": "a", "signal": "s"})]),
            ("/members/0/compensate", [{**a, "compensate": {}}]),
            ("/members/0/workflow", [{**a, "workflow": {}}]),
            # What only the graph shows:
            ("/members/2", [a, member("b"), member("a")]),
            ("/members/1", [a, member("b", "nobody")]),
            ("/members/1", [a, member("b", "a", {"ref": "a", "on": "failed"})]),
            ("/members/0", [member("b", "b")]),
            ("/members/1/job/limits", [a, member(job={"limits": [{"name": "nobody"}]})]),
        ):
            self.assert_place(place, members=listed)
        circle = self.create(a, member("b", "c"), member("c", "b"))
        self.assert_refused(circle, 422, "validation_failed")
        self.assertIn(circle.places[0], ("/members/1", "/members/2"))
        self.assertEqual(self.claim(), [])

    def test_what_comes_later_is_refused(self):
        self.assert_place("/owner", owner={"id": NOBODY, "token": 1})
        self.assert_place("/defaults/unique", defaults={"unique": {"key": "k"}})
        self.assert_place("/on_end/unique", on_end={"type": "t", "unique": {"key": "k"}})


class Running(WorkflowWords, harness.ServerCase):
    def test_a_batch_and_its_callback(self):
        made = self.made(
            *(self.member() for _ in range(3)),
            name="batch",
            on_success={"type": "done"},
            on_failure={"type": "never"},
            on_end={"type": "end"},
        )
        self.assertEqual((made["members"], made["counts"]["blocked"] + made["counts"]["active"]), (3, 3))
        jobs = self.claim_all(3)
        self.assertEqual({job["workflow"]["number"] for job in jobs}, {0, 1, 2})
        for job in jobs:
            self.assertNotIn("parents", job)
            self.finish(job)
        ended = self.ended(made)
        self.assertEqual((ended["state"], ended["reason"]), ("succeeded", None))
        self.assertEqual(ended["counts"], {**NO_COUNTS, "succeeded": 3})
        self.assertEqual(set(ended["callbacks"]), {"on_success", "on_end"})
        callbacks = {job["type"]: job for job in self.claim_all(2)}
        self.assertEqual(set(callbacks), {"done", "end"})
        told = callbacks["done"]["workflow"]
        self.assertEqual(
            told,
            {
                "id": made["id"],
                "name": "batch",
                "ref": None,
                "number": None,
                "generation": 1,
                "role": "callback",
                "state": "succeeded",
                "counts": {**NO_COUNTS, "succeeded": 3},
                "failed": [],
            },
        )
        self.assertEqual(callbacks["done"]["id"], ended["callbacks"]["on_success"])

    def claim_all(self, count):
        jobs = []
        harness.eventually(lambda: jobs.extend(self.claim(limit=count)) or len(jobs) >= count, what=f"{count} jobs")
        self.assertEqual(len(jobs), count)
        return jobs

    def test_a_diamond_hands_results_on(self):
        made = self.made(
            self.member("a"),
            self.member("b", "a"),
            self.member("c", "a"),
            self.member("d", "b", {"ref": "c", "on": "ended"}),
            result_from="d",
        )
        job = self.run_one("a", result={"n": 1})
        self.assertEqual(job["workflow"]["role"], "member")
        middle = {job["workflow"]["ref"]: job for job in self.claim_all(2)}
        for job in middle.values():
            parent = job["parents"]["a"]
            self.assertEqual((parent["state"], parent["reason"], parent["result"]), ("succeeded", None, {"n": 1}))
        self.finish(middle["b"], result=2)
        self.finish(middle["c"], "dead", error={"type": "Oops", "message": "m"})
        last = self.run_one("d", result="all")
        self.assertEqual(last["parents"]["b"]["result"], 2)
        self.assertEqual(last["parents"]["c"], {"id": middle["c"]["id"], "state": "failed", "reason": "dead"})
        ended = self.ended(made, include="result")
        # That c may end as it likes is not to catch its failure.
        self.assertEqual((ended["state"], ended["reason"], ended["result"]), ("failed", "member_failed", "all"))

    def test_jobs_and_searches_show_the_workflow(self):
        made = self.made(self.member("a"), self.member("b", "a"), name="n")
        self.submit()
        job = harness.eventually(lambda: self.search(q=f"workflow:{made['id']}"))[0]
        self.assertEqual(job["workflow"], {"id": made["id"], "name": "n", "ref": "a", "number": 0, "role": "member"})
        self.assertEqual(self.search(q=f"workflow:{NOBODY}"), [])
        for q in ("workflow:x", f"-workflow:{NOBODY}", f"workflow:{NOBODY},{NOBODY}"):
            self.assert_refused(self.api.get("/v1/jobs", q=q), 422, "validation_failed", "q")
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/cancel").status, 200)
        self.assertEqual(self.ended(made)["state"], "failed")

    def test_a_failure_skips_what_hangs_on_it(self):
        made = self.made(self.member("a"), self.member("b", "a"), self.member("c", "b"), self.member("d"))
        for job in self.claim_all(2):
            if job["workflow"]["ref"] == "a":
                self.finish(job, "dead", error={"type": "Oops", "message": "m"})
            else:
                self.finish(job)
        ended = self.ended(made)
        self.assertEqual((ended["state"], ended["reason"]), ("failed", "member_failed"))
        self.assertEqual(self.states(made), {"a": "failed", "b": "skipped", "c": "skipped", "d": "succeeded"})
        self.assertEqual(self.one(made, "a")["reason"], "dead")

    def test_a_failure_that_is_caught(self):
        made = self.made(self.member("a"), self.member("b", "a"), self.member("rescue", {"ref": "a", "on": "failed"}))
        self.fail_one("a")
        rescue = self.run_one("rescue")
        self.assertEqual(rescue["parents"]["a"]["reason"], "dead")
        self.assertEqual(self.ended(made)["state"], "succeeded")
        self.assertEqual(self.states(made), {"a": "failed", "b": "skipped", "rescue": "succeeded"})

    def test_the_first_need_that_is_met(self):
        made = self.made(
            self.member("a"), self.member("b", job={"delay_ms": 3_600_000}), self.member("c", "a", "b", needs_any=True)
        )
        self.run_one("a")
        self.run_one("c")
        self.await_states(made, a="succeeded", b="active", c="succeeded")
        self.call(made, "cancel")
        self.assertEqual(self.ended(made)["state"], "cancelled")

    def test_stop_cancels_what_waits(self):
        made = self.made(
            self.member("a", job={"priority": -1}),
            self.member("b", job={"delay_ms": 3_600_000}),
            self.member("c", "b"),
            on_member_failed="stop",
            on_failure={"type": "sorry"},
        )
        self.fail_one("a")
        ended = self.ended(made)
        self.assertEqual((ended["state"], ended["reason"]), ("failed", "member_failed"))
        self.assertEqual(self.states(made), {"a": "failed", "b": "failed", "c": "skipped"})
        self.assertEqual(self.one(made, "b")["reason"], "cancelled")
        callback = self.claim_within()
        self.assertEqual((callback["type"], sorted(callback["workflow"]["failed"])), ("sorry", ["a", "b"]))

    def test_ignore_succeeds_all_the_same(self):
        made = self.made(self.member("a"), on_member_failed="ignore")
        self.fail_one("a")
        self.assertEqual(self.ended(made)["state"], "succeeded")

    def test_no_more_than_max_active_at_once(self):
        made = self.made(*(self.member(f"m{n}") for n in range(4)), max_active=2)
        jobs = self.claim_all(2)
        self.assertEqual(self.claim(limit=4), [])
        why = self.api.get(self.path(made, "/why")).json
        codes = {reason["code"]: reason for reason in why["blocking"]}
        self.assertEqual(codes["active"]["count"], 2)
        self.assertEqual(sorted(codes["active"]["jobs"]), sorted(job["id"] for job in jobs))
        self.assertIn("max_active", codes)
        for job in jobs:
            self.finish(job)
        for job in self.claim_all(2):
            self.finish(job)
        self.assertEqual(self.ended(made)["state"], "succeeded")
        ended = self.api.get(self.path(made, "/why")).json
        self.assertEqual([reason["code"] for reason in ended["blocking"]], ["ended"])

    def test_a_timeout_stops_it(self):
        made = self.made(self.member("a"), self.member("b", "a"), timeout_ms=1_000)
        job = self.claim_within()
        harness.eventually(lambda: self.workflow(made)["state"] == "stopping")
        self.assertEqual(self.workflow(made)["reason"], "timeout")
        harness.eventually(lambda: self.job(job["id"])["cancel_requested"])
        self.finish(job, "cancelled")
        ended = self.ended(made)
        self.assertEqual((ended["state"], ended["reason"]), ("failed", "timeout"))

    def test_waits(self):
        made = self.made(self.member("a"), self.member("b", "a"))
        started = time.monotonic()
        self.assertEqual(self.workflow(made, wait_ms=300, until="final")["state"], "running")
        self.assertEqual(self.one(made, "b", wait_ms=300)["state"], "blocked")
        self.assertGreater(time.monotonic() - started, 0.5)
        self.run_one("a")
        self.assertEqual(self.one(made, "a", wait_ms=20_000)["state"], "succeeded")
        self.run_one("b")
        self.assertEqual(self.one(made, "@1", wait_ms=20_000)["state"], "succeeded")
        self.assert_refused(self.api.get(self.path(made), wait_ms=1), 422, "validation_failed", "until")
        self.assert_refused(self.api.get(self.path(made), wait_ms=60_001), 422, "validation_failed", "wait_ms")


class Reads(WorkflowWords, harness.ServerCase):
    def test_the_list(self):
        tagged = self.made(name="n", tags=["t"])
        first = self.made(self.member("a"))
        query = {"queue": self.queue, "fresh": "true"}

        def found(**more):
            reply = self.api.get("/v1/workflows", **{**query, **more})
            self.assertEqual(reply.status, 200, reply)
            return [workflow["id"] for workflow in reply.json["items"]]

        self.ended(tagged)
        self.assertEqual(found(), [first["id"], tagged["id"]])
        self.assertEqual(found(name="n"), [tagged["id"]])
        self.assertEqual(found(tag="t"), [tagged["id"]])
        self.assertEqual(found(state="running"), [first["id"]])
        self.assertEqual(found(state="running,succeeded"), [first["id"], tagged["id"]])
        self.assertEqual(found(created_before=tagged["created_at"]), [])
        self.assertEqual(len(found(created_after=tagged["created_at"])), 2)
        page = self.api.get("/v1/workflows", limit=1, **query).json
        self.assertEqual([each["id"] for each in page["items"]], [first["id"]])
        self.assertEqual(found(cursor=page["next_cursor"]), [tagged["id"]])
        for name, value in (("state", "dead"), ("limit", 0), ("limit", 1_001), ("cursor", "x"), ("cursor", "1.x")):
            reply = self.api.get("/v1/workflows", **{name: value})
            self.assert_refused(reply, 422, "validation_failed", name)

    def test_members_by_page_state_and_ref(self):
        made = self.made(*(self.member(f"m{n}", *([f"m{n - 1}"] if n else [])) for n in range(5)))
        self.run_one("m0", result=[1])
        self.assertEqual([one["number"] for one in self.members(made, limit=2)], [0, 1, 2, 3, 4])
        harness.eventually(lambda: self.members(made, state="active"))
        self.assertEqual([one["ref"] for one in self.members(made, state="blocked")], ["m2", "m3", "m4"])
        first = self.members(made, include="job,result", limit=1)[0]
        self.assertEqual((first["result"], first["job"]["state"]), ([1], "succeeded"))
        self.assertEqual(first["job"]["id"], first["job_id"])
        one = self.one(made, "m2")
        self.assertEqual((one["needs"], one["needs_any"]), ([{"ref": "m1", "on": "succeeded"}], False))
        self.assertEqual((one["waits_for"], one["job_id"], one["generation"]), (["m1"], None, 0))
        self.assertEqual(one["definition"]["type"], "work")
        self.assertEqual(self.one(made, "@2"), one)
        for ref in ("m5", "@5", "@", "@x"):
            self.assert_refused(self.api.get(self.path(made, f"/members/{ref}")), 404, "not_found")
        self.assert_refused(self.api.get(self.path(made, "/members"), cursor="x"), 422, "validation_failed", "cursor")
        graph = self.api.get(self.path(made, "/graph")).json
        self.assertEqual([line["ref"] for line in graph["items"]], [f"m{n}" for n in range(5)])
        self.assertEqual(graph["items"][1]["needs"], [{"ref": "m0", "on": "succeeded"}])
        self.assertIsNone(graph["next_cursor"])

    def test_the_graph_has_10000_a_page(self):
        made = self.made(*(self.member() for _ in range(10_000)), open=True, max_active=1)
        added = self.add(made, self.member("last"))
        self.assertEqual((added.status, added.json), (200, {"added": 1, "existing": 0, "members": 10_001}))
        page = self.api.get(self.path(made, "/graph")).json
        self.assertEqual(len(page["items"]), 10_000)
        rest = self.api.get(self.path(made, "/graph"), cursor=page["next_cursor"]).json
        self.assertEqual(([line["ref"] for line in rest["items"]], rest["next_cursor"]), (["last"], None))
        self.call(made, "cancel")

    def test_one_that_has_left_memory(self):
        """A workflow that succeeded wholly is read from the tables."""
        made = self.made(self.member("a"), self.member("b", "a"), result_from="b")
        self.run_one("a")
        self.run_one("b", result=7)
        self.ended(made)
        self.api.get("/v1/workflows", fresh="true", limit=1)
        self.server.restart()
        self.use(self.server)
        ended = self.workflow(made, include="result")
        self.assertEqual((ended["state"], ended["result"], ended["counts"]["succeeded"]), ("succeeded", 7, 2))
        self.assertEqual(self.states(made), {"a": "succeeded", "b": "succeeded"})
        self.assertEqual(self.one(made, "b")["needs"], [{"ref": "a", "on": "succeeded"}])
        for call in ("cancel", "retry"):
            self.assert_refused(self.api.post(self.path(made, "/" + call)), 409, "invalid_state")
        self.assertEqual(self.call(made, "close")["state"], "succeeded")
        self.assert_refused(self.add(made, self.member("c")), 409, "invalid_state")

    def test_what_is_not_there(self):
        for path in ("", "/members", "/members/a", "/graph", "/why"):
            self.assert_refused(self.api.get(self.path(NOBODY, path)), 404, "not_found")
        for path in ("/close", "/cancel", "/retry", "/members/a/skip"):
            self.assert_refused(self.api.post(self.path(NOBODY, path)), 404, "not_found")
        self.assert_refused(self.add(NOBODY, self.member("a")), 404, "not_found")
        self.assert_refused(self.api.delete(self.path(NOBODY)), 404, "not_found")
        self.assert_refused(self.api.get(self.path("x")), 404, "not_found")


class Changes(WorkflowWords, harness.ServerCase):
    def test_cancel(self):
        made = self.made(self.member("a"), self.member("b", "a"), on_failure={"type": "sorry"})
        job = self.claim_within()
        self.assert_refused(self.api.post(self.path(made, "/cancel"), {"compensate": True}), 422, "validation_failed")
        stopping = self.call(made, "cancel", {"reason": "not wanted"})
        self.assertEqual((stopping["state"], stopping["reason"]), ("stopping", "cancelled"))
        self.assertEqual(stopping["cancel_reason"], "not wanted")
        harness.eventually(lambda: self.job(job["id"])["cancel_requested"])
        self.assert_refused(self.api.post(self.path(made, "/retry")), 409, "invalid_state")
        self.finish(job, "cancelled")
        ended = self.ended(made)
        self.assertEqual((ended["state"], set(ended["callbacks"])), ("cancelled", {"on_failure"}))
        self.assertEqual(self.states(made), {"a": "failed", "b": "skipped"})
        self.assert_refused(self.api.post(self.path(made, "/cancel")), 409, "invalid_state")

    def test_retry_begins_a_generation(self):
        made = self.made(self.member("a"), self.member("b", "a"), on_end={"type": "end"})
        self.assert_refused(self.api.post(self.path(made, "/retry")), 409, "invalid_state")
        failed = self.fail_one("a")
        self.assertEqual(self.ended(made)["state"], "failed")
        callback = self.run_one(None)
        self.assertEqual((callback["type"], callback["workflow"]["state"]), ("end", "failed"))
        again = self.call(made, "retry", {"reset_attempts": True})
        self.assertEqual((again["state"], again["generation"], again["callbacks"]), ("running", 2, {}))
        job = self.run_one("a")
        self.assertEqual((job["id"], job["workflow"]["generation"]), (failed["id"], 2))
        self.run_one("b")
        ended = self.ended(made)
        self.assertEqual((ended["state"], ended["counts"]["succeeded"]), ("succeeded", 2))
        second = self.run_one(None)
        self.assertNotEqual(second["id"], callback["id"])
        self.assertEqual(second["workflow"]["state"], "succeeded")

    def test_retry_of_refs(self):
        made = self.made(self.member("a"), self.member("rescue", {"ref": "a", "on": "failed"}))
        self.fail_one("a")
        self.run_one("rescue")
        self.ended(made)
        self.assert_refused(self.api.post(self.path(made, "/retry")), 409, "invalid_state")  # it was caught
        for refs, status in ((["rescue"], 409), (["nobody"], 404), ([], 422), (["a b"], 422)):
            self.assertEqual(self.api.post(self.path(made, "/retry"), {"refs": refs}).status, status, refs)
        self.assertEqual(self.call(made, "retry", {"refs": ["@0"]})["generation"], 2)
        self.run_one("a")
        self.assertEqual(self.ended(made)["counts"]["failed"], 0)

    def test_a_retry_drops_limits_that_are_gone(self):
        """Also those of a job that was refused for them."""
        limit = f"/v1/limits/{self.queue}"
        self.assertEqual(self.api.put(limit, {"concurrency": 1}).status, 201)
        limited = {"limits": [{"name": self.queue}]}
        made = self.made(self.member("a", job=limited), self.member("b", "a", job=limited))
        self.fail_one("a")
        self.ended(made)
        self.assertEqual(self.api.delete(limit, force="true").status, 204)
        self.call(made, "retry", {"drop_limits": True})
        self.run_one("a")
        self.run_one("b")
        self.assertEqual(self.ended(made)["state"], "succeeded")

    def test_skip(self):
        made = self.made(self.member("a"), self.member("b", "a"), self.member("c", {"ref": "b", "on": "ended"}))
        skipped = self.api.post(self.path(made, "/members/b/skip"))
        self.assertEqual(skipped.status, 200, skipped)
        self.assertEqual((self.one(made, "b")["state"], self.one(made, "b")["reason"]), ("skipped", "by_call"))
        self.assert_refused(self.api.post(self.path(made, "/members/a/skip")), 409, "invalid_state")
        self.assert_refused(self.api.post(self.path(made, "/members/x/skip")), 404, "not_found")
        refs = {self.claim_within()["workflow"]["ref"] for _ in range(2)}
        self.assertEqual(refs, {"a", "c"})

    def test_growth_and_close(self):
        made = self.made(self.member("a"), open=True)
        self.run_one("a")
        self.assertEqual(self.workflow(made, wait_ms=200, until="final")["state"], "running")
        why = self.api.get(self.path(made, "/why")).json
        self.assertEqual([reason["code"] for reason in why["blocking"]], ["open"])
        both = (self.member("a"), self.member("b", "a"))
        self.assertEqual(self.add(made, *both).json, {"added": 1, "existing": 1, "members": 2})
        self.assertEqual(self.add(made, *both).json, {"added": 0, "existing": 2, "members": 2})
        self.assertEqual(self.run_one("b")["parents"]["a"]["state"], "succeeded")
        closed = self.call(made, "close")
        self.assertFalse(closed["open"])
        self.assertEqual(self.ended(made)["state"], "succeeded")
        self.assertEqual(self.call(made, "close")["state"], "succeeded")

    def test_members_without_refs_need_a_key(self):
        made = self.made(open=True)
        self.assert_refused(self.add(made, self.member()), 422, "validation_failed", "Idempotency-Key")
        key = {"Idempotency-Key": "k"}
        self.assertEqual(self.add(made, self.member(), headers=key).json["added"], 1)
        self.assertEqual(self.add(made, self.member(), headers=key).json, {"added": 0, "existing": 1, "members": 1})
        self.assert_refused(self.add(made, headers=key), 422, "idempotency_mismatch")
        self.assertEqual(self.add(made, close=True).status, 200)
        self.run_one()
        self.ended(made)

    def test_growth_by_an_active_member(self):
        made = self.made(self.member("a"), self.member("b", "a"))
        self.assert_refused(self.add(made, self.member("c")), 409, "invalid_state")
        self.assert_refused(self.add(made, self.member("c"), by="b"), 409, "invalid_state")
        job = self.claim_within()
        self.assertEqual(self.add(made, self.member("c", "b"), by="a").json["added"], 1)
        path = self.path(made, "/members")
        self.assert_fault({"members": [self.member("d", "nobody")], "by": "a"}, "/members/0", path)
        self.assert_fault({"members": [], "by": "a b"}, "/by", path)
        self.finish(job)
        self.run_one("b")
        self.run_one("c")
        self.assertEqual(self.ended(made)["counts"]["succeeded"], 3)

    def test_growth_by_an_ack(self):
        made = self.made(self.member("a"), self.member("left", "a"), self.member("right", "a"))
        job = self.claim_within()
        refused = lambda grow: self.ack_with(job, grow=grow)["error"]  # noqa: E731
        self.assertEqual(refused({"members": [self.member("c", "nobody")]})["status"], 422)
        self.assertEqual(refused({"skip": ["nobody"]})["status"], 422)
        self.assertEqual(refused({"members": [{"job": {"type": "t"}}]})["errors"][0]["pointer"], "/grow/members/0/ref")
        self.assertEqual(self.states(made)["a"], "active")
        added = [self.member("c", "a"), {"ref": "d", "needs": ["c"], "job": {"type": "work"}}]
        grow = {"members": added, "skip": ["left"]}
        self.assertEqual(self.ack_with(job, grow=grow)["status"], 200)
        self.assertEqual(self.ack_with(job, grow=grow)["status"], 200)  # a repetition adds nothing
        self.await_states(made, a="succeeded", left="skipped", right="active", c="active", d="blocked")
        for _ in ("right", "c", "d"):
            self.run_one()
        self.assertEqual(self.ended(made)["counts"]["succeeded"], 4)

    def test_one_past_the_bounds_of_growth(self):
        self.made(self.member("a"))
        job = self.claim_within()
        payload = "x" * (1 << 19)
        large = [self.member(f"m{i}", job={"payload": payload}) for i in range(3)]
        self.assertEqual(self.ack_with(job, grow={"members": large})["error"]["code"], "payload_too_large")
        many = [{"ref": f"m{i}", "job": {"type": "t"}} for i in range(1001)]
        self.assertEqual(self.ack_with(job, grow={"members": many})["error"]["status"], 422)
        self.assertEqual(self.ack_with(job, grow={"members": many[:1000]})["status"], 200)

    def test_growth_of_a_job_that_is_no_member(self):
        self.submit()
        job = self.claim_within()
        answer = self.ack_with(job, grow={"members": [self.member("b")]})
        self.assertEqual((answer["status"], answer["error"]["code"]), (409, "invalid_state"))
        body = {"token": job["lease"]["token"], "grow": {"members": [{"ref": "b", "job": {"type": "t"}}]}}
        self.assert_refused(self.api.post(f"/v1/jobs/{job['id']}/complete", body), 409, "invalid_state")
        self.finish(job)

    def test_a_members_job_retried_by_hand(self):
        made = self.made(self.member("a"), self.member("b", "a"))
        path = f"/v1/jobs/{self.fail_one('a')['id']}/retry"
        self.assertEqual(self.ended(made)["state"], "failed")
        self.assert_refused(self.api.post(path, {"run_at": "2030-01-01T00:00:00Z"}), 409, "invalid_state")
        reply = self.api.post(path)
        self.assertEqual((reply.status, reply.json["state"]), (202, "dead"), reply)
        self.run_one("a")
        self.run_one("b")
        self.assertEqual(self.ended(made)["generation"], 2)
        self.assert_refused(self.api.post(path), 409, "invalid_state")

    def test_members_jobs_retried_in_bulk(self):
        made = self.made(*(self.member(f"m{i}") for i in range(5)))
        for _ in range(5):
            self.fail_one()
        self.ended(made)
        bulk = {"action": "retry", "filter": {"queue": self.queue, "state": ["dead"]}}
        reply = self.api.post("/v1/jobs/bulk", bulk)
        self.assertIn(reply.status, (200, 202), reply)
        for _ in range(5):
            self.run_one()
        ended = self.ended(made)
        self.assertEqual((ended["state"], ended["generation"]), ("succeeded", 2))
        if reply.status == 202:
            operation = self.api.get(f"/v1/operations/{reply.json['id']}").json
            self.assertEqual((operation["changed"], operation["failed"]), (5, 0))

    def test_if_match(self):
        made = self.made(self.member("a"), open=True)
        old = {"If-Match": str(made["version"] + 1)}
        for reply in (
            self.add(made, self.member("b"), headers=old),
            *(self.api.post(self.path(made, call), headers=old) for call in ("/close", "/cancel", "/members/a/skip")),
        ):
            self.assert_refused(reply, 412, "version_conflict")
        added = self.add(made, self.member("b"), headers={"If-Match": f'"{made["version"]}"'})
        self.assertEqual(added.status, 200, added)
        version = self.workflow(made)["version"]
        self.assertEqual(added.headers["etag"], f'"{version}"')
        self.assertGreater(version, made["version"])
        self.assertEqual(self.call(made, "cancel", headers={"If-Match": str(version)})["reason"], "cancelled")
        ended = self.ended(made)
        for reply in (
            self.api.post(self.path(made, "/retry"), headers=old),
            self.api.delete(self.path(made), headers=old),
        ):
            self.assert_refused(reply, 412, "version_conflict")
        current = {"If-Match": str(ended["version"])}
        self.assertEqual(self.api.delete(self.path(made), headers=current).status, 204)

    def test_delete(self):
        made = self.made(self.member("a"))
        self.assert_refused(self.api.delete(self.path(made)), 409, "invalid_state")
        job = self.run_one("a")
        self.ended(made)
        self.assertEqual(self.api.delete(self.path(made)).status, 204)
        self.assert_refused(self.api.get(self.path(made)), 404, "not_found")
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job['id']}").status == 404, what="the end of the job")
        self.assert_refused(self.api.delete(self.path(made)), 404, "not_found")
        self.assertNotIn(made["id"], str(self.api.get("/v1/workflows", fresh="true", queue=self.queue).json))

    def test_retention_takes_the_workflow_and_its_jobs(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 1000}})
        kept = f"{self.queue}-kept"
        made = self.made(self.member("a", job={"queue": kept}))
        job = self.run_one("a", queues=[kept])
        self.ended(made)
        harness.eventually(lambda: self.api.get(self.path(made)).status == 404, what="the end of the workflow")
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job['id']}").status == 404, what="the end of its job")

    def test_kept_members_outlive_their_queues_retention(self):
        short = f"{self.queue}-short"
        self.api.put(f"/v1/queues/{short}", {"retention": {"succeeded_ms": 0}})
        listed = (self.member("a", job={"queue": short}), self.member("b", "a"))
        kept = self.made(*listed)
        self.run_one("a", queues=[short], result=5)
        self.assertEqual(self.run_one("b")["parents"]["a"]["result"], 5)
        self.assertEqual(self.members(kept, include="result")[0]["result"], 5)
        loose = self.made(*listed, keep_members=False)
        job = self.run_one("a", queues=[short], result=5)
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job['id']}").status == 404)
        self.assertEqual(self.run_one("b")["parents"]["a"]["omitted"], "pruned")
        self.assertEqual(self.ended(loose)["state"], "succeeded")


class Restarts(WorkflowWords, harness.MillraceCase):
    def test_in_the_middle(self):
        for kill in (False, True):
            with self.subTest(kill=kill):
                self.use(self.new_server().start())
                made = self.made(
                    self.member("a"), self.member("b", "a"), self.member("c", "b"), on_success={"type": "done"}
                )
                self.run_one("a", result=1)
                harness.eventually(lambda: self.states(made)["b"] == "active")  # noqa: B023
                self.server.restart(kill=kill)
                self.use(self.server)
                self.assertEqual(self.states(made), {"a": "succeeded", "b": "active", "c": "blocked"})
                self.assertEqual(self.run_one("b")["parents"]["a"]["result"], 1)
                self.run_one("c")
                ended = self.ended(made)
                self.assertEqual(ended["counts"], {**NO_COUNTS, "succeeded": 3})
                self.assertEqual(self.run_one()["type"], "done")


class Access(WorkflowWords, harness.MillraceCase):
    """Tokens that are limited to queues, or have few scopes."""

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

    def test_each_queue_that_is_named_must_be_open(self):
        api = self.client_with("submit", "read", queues=[self.queue])
        other = {"queue": f"{self.queue}-other"}
        self.assertEqual(self.create(self.member("a"), api=api).status, 201)
        for reply in (
            self.create(self.member("a", job=other), api=api),
            self.create(api=api, on_end={"type": "t", **other}),
            self.create(api=api, **other),
        ):
            self.assert_refused(reply, 404, "not_found")
        made = self.made(open=True)
        add = lambda job: api.post(  # noqa: E731
            self.path(made, "/members"), {"members": [self.member("b", job=job)]}
        )
        self.assert_refused(add(other), 404, "not_found")
        self.assertEqual(add({}).status, 200)

    def test_growth_needs_its_queues_and_the_scope_submit(self):
        made = self.made(self.member("a"), queue=f"{self.queue}-home")
        job = self.claim_within()
        grown = lambda api, **of: self.ack_with(
            job, api=api, grow={"members": [{"ref": "b", "job": {"type": "t", **of}}]}
        )  # noqa: E731, E501
        here = {"queue": self.queue}
        worker = self.client_with("work")
        self.assertEqual(grown(worker, **here)["error"]["code"], "forbidden")
        narrow = self.client_with("work", "submit", queues=[self.queue])
        self.assertEqual(grown(narrow)["error"]["status"], 404)  # the workflow's queue
        self.assertEqual(grown(narrow, **here)["status"], 200)
        self.assertEqual(self.states(made), {"a": "succeeded", "b": "active"})

    def test_what_is_not_open_is_left_out(self):
        api = self.client_with("read", "payload", queues=[self.queue])
        hidden = {"queue": f"{self.queue}-hidden"}
        made = self.made(
            self.member("a"), self.member("b", job=hidden), result_from="b", on_end={"type": "t", **hidden}
        )
        self.run_one("a", result=1)
        self.run_one("b", queues=[hidden["queue"]], result=2)
        self.ended(made)
        seen = api.get(self.path(made), include="result")
        self.assertEqual((seen.status, seen.json["redacted"], seen.json["callbacks"]), (200, True, {}), seen)
        self.assertNotIn("result", seen.json)
        a, b = api.get(self.path(made, "/members"), include="job,result").json["items"]
        self.assertEqual((a["result"], a["job"]["id"]), (1, a["job_id"]))
        self.assertEqual(set(b), {"number", "ref", "state", "reason", "generation", "redacted"})
        self.assertNotIn("definition", api.get(self.path(made, "/members/b")).json)
        running = self.made(self.member(job={"delay_ms": 3_600_000}))
        why = api.get(self.path(running, "/why")).json
        self.assertTrue(why["redacted"])
        self.assertNotIn("jobs", why["blocking"][0])
        blind = self.client_with("read")
        self.assertNotIn("result", blind.get(self.path(made), include="result").json)
        elsewhere = self.client_with("read", queues=[hidden["queue"]])
        self.assert_refused(elsewhere.get(self.path(made)), 404, "not_found")
        self.assertEqual(elsewhere.get("/v1/workflows", fresh="true").json["items"], [])

    def test_operating_needs_all_of_its_queues(self):
        hidden = {"queue": f"{self.queue}-hidden"}
        made = self.made(self.member("a"), on_end={"type": "t", **hidden})
        api = self.client_with("operate", "read", queues=[self.queue])
        for call in ("/cancel", "/retry", "/members/a/skip"):
            self.assert_refused(api.post(self.path(made, call)), 404, "not_found")
        self.assert_refused(api.delete(self.path(made)), 404, "not_found")
        wide = self.client_with("operate", "read", queues=[f"{self.queue}*"])
        self.assertEqual(wide.post(self.path(made, "/cancel")).status, 200)
        self.ended(made)
        entry = self.api.get("/v1/admin/audit", object=made["id"], fresh="true").json["items"][0]
        self.assertEqual(entry["action"], "workflow.cancelled")
        self.assertEqual(entry["object"], {"kind": "workflow", "name": made["id"]})

    def test_scopes(self):
        made = self.made(self.member("a"), open=True)
        reader, submitter = self.client_with("read"), self.client_with("submit")
        for call, api in (("/close", reader), ("/cancel", submitter), ("/retry", submitter)):
            self.assert_refused(api.post(self.path(made, call)), 403, "forbidden")
        self.assert_refused(self.create(api=reader), 403, "forbidden")
        self.assertEqual(submitter.post(self.path(made, "/close")).status, 200)


class Events(WorkflowWords, harness.ServerCase):
    def test_what_happens_is_told(self):
        made = self.made(self.member("a"), self.member("b", "a"), name="told", open=True)
        self.add(made, self.member("c"))
        self.api.post(self.path(made, "/members/b/skip"))
        self.call(made, "close")
        self.call(made, "cancel")
        self.ended(made)
        self.call(made, "retry")
        self.call(made, "cancel")
        self.ended(made)
        self.api.delete(self.path(made))

        def told():
            events = self.api.get("/v1/events", limit=1000).json["items"]
            return [event for event in events if event["data"].get("workflow") == made["id"]]

        types = ["created", "grown", "skipped", "closed", "stopping", "cancelled", "retried"]
        types += ["stopping", "cancelled", "deleted"]
        harness.eventually(lambda: len(told()) == len(types), what="the events")
        self.assertEqual(sorted(event["type"] for event in told()), sorted(f"workflow.{type}" for type in types))
        created = next(event for event in told() if event["type"] == "workflow.created")
        self.assertEqual((created["queue"], created["data"]["name"]), (self.queue, "told"))


if __name__ == "__main__":
    harness.main()
