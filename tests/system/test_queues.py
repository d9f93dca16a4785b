"""Queues: settings, counts, pause, purge, bounds, retention."""

import threading
import time

import harness

DEFAULTS = {
    "max_attempts": 5,
    "max_crashes": None,
    "lease_ms": 30000,
    "max_ready": None,
    "concurrency": None,
    "rate": None,
    "breaker": None,
    "limits": [],
    "fair": None,
    "ageing_ms": None,
    "max_ready_per_key": None,
    "retry": {"strategy": "exponential", "base_ms": 5000, "max_ms": 300000, "jitter": 0.2},
    "retention": {
        "succeeded_ms": 86_400_000,
        "dead_ms": 2_592_000_000,
        "cancelled_ms": 86_400_000,
        "expired_ms": 86_400_000,
    },
}


class Queues(harness.ServerCase):
    @property
    def path(self):
        return f"/v1/queues/{self.queue}"

    def get_queue(self):
        return self.api.get(self.path).json

    def test_a_name_never_used_is_404(self):
        self.assert_refused(self.api.get(self.path), 404, "not_found")
        for reply in (
            self.api.patch(self.path, {}),
            self.api.post(self.path + "/resume"),
            self.api.post(self.path + "/purge"),
            self.api.post(self.path + "/pause"),
            self.api.delete(self.path),
            self.api.delete(self.path, force="true"),
        ):
            self.assert_refused(reply, 404, "not_found")
        self.assertIn("?create=true", self.api.post(self.path + "/pause").json["detail"])
        self.assertIn("?create=true", self.api.patch(self.path, {}).json["detail"])
        self.assert_refused(self.api.get(self.path), 404, "not_found")

    def test_who_says_create_makes_one(self):
        paused = self.api.post(self.path + "/pause", {"reason": "early"}, create="true")
        self.assertEqual((paused.status, paused.json["paused"]), (200, True))
        self.assertEqual(self.api.post(self.path + "/pause").status, 200)
        other = self.api.patch(self.path + "b", {"max_attempts": 3}, create="true")
        self.assertEqual((other.status, other.json["settings"]["max_attempts"]), (201, 3))
        again = self.api.patch(self.path + "b", {"max_attempts": 4}, create="true")
        self.assertEqual(again.status, 200)
        for query in ({"create": "maybe"}, {"force": "true"}):
            reply = self.api.post(self.path + "/pause", **query)
            self.assert_refused(reply, 422, "validation_failed")

    def test_an_empty_queue_can_be_deleted(self):
        self.api.put(self.path, {"max_attempts": 9})
        self.assertEqual(self.api.delete(self.path).status, 204)
        self.assert_refused(self.api.delete(self.path), 404, "not_found")
        self.assertNotIn(self.queue, [q["name"] for q in self.api.get("/v1/queues", limit=1000).json["items"]])
        self.submit()
        self.assertEqual(self.get_queue()["settings"], DEFAULTS)

    def test_one_that_has_jobs_is_deleted_with_force_alone(self):
        self.submit_many(3)
        self.finish(self.claim_one())
        reply = self.api.delete(self.path)
        self.assert_refused(reply, 409, "invalid_state")
        self.assertIn("?force=true", reply.json["detail"])
        running = self.claim_one()
        reply = self.api.delete(self.path, force="true")
        self.assert_refused(reply, 409, "invalid_state")
        self.assertIn("running jobs (1)", reply.json["detail"])
        self.assertEqual(self.counts(), {"ready": 1, "running": 1, "succeeded": 1})
        self.finish(running)
        self.assertEqual(self.api.delete(self.path, force="true").status, 204)
        self.assert_refused(self.api.get(self.path), 404, "not_found")
        self.assertEqual(self.list_jobs(), [])
        for query in ({"force": "maybe"}, {"create": "true"}):
            self.assert_refused(self.api.delete(self.path, **query), 422, "validation_failed")

    def test_pages_reach_every_queue_by_name(self):
        names = [f"{self.queue}.{i}" for i in range(25)]
        for name in names:
            self.api.put(f"/v1/queues/{name}")
        found, cursor = [], None
        while True:
            query = {"limit": 7, **({"cursor": cursor} if cursor else {})}
            page = self.api.get("/v1/queues", **query).json
            self.assertLessEqual(len(page["items"]), 7)
            found += [queue["name"] for queue in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.assertEqual(found, sorted(set(found)))
        self.assertEqual([name for name in found if name in names], sorted(names))

    def test_a_submission_makes_a_queue_with_the_defaults(self):
        self.submit()
        queue = self.get_queue()
        self.assertEqual((queue["name"], queue["paused"], queue["pause_reason"]), (self.queue, False, None))
        self.assertEqual(queue["settings"], DEFAULTS)

    def test_put_makes_then_replaces(self):
        made = self.api.put(self.path, {"max_attempts": 9, "lease_ms": 5000})
        self.assertEqual(
            (made.status, made.json["settings"]),
            (201, {**DEFAULTS, "max_attempts": 9, "lease_ms": 5000}),
        )
        replaced = self.api.put(self.path, {"max_crashes": 3, "retention": {"dead_ms": None}})
        self.assertEqual(replaced.status, 200)
        self.assertEqual(
            replaced.json["settings"],
            {**DEFAULTS, "max_crashes": 3, "retention": {**DEFAULTS["retention"], "dead_ms": None}},
        )
        self.assertGreater(replaced.json["version"], made.json["version"])

    def test_patch_changes_only_what_it_names(self):
        self.api.put(self.path, {"max_attempts": 9, "max_ready": 10, "retention": {"dead_ms": 1000}})
        changed = self.api.patch(self.path, {"max_ready": None, "retention": {"succeeded_ms": 5}}).json
        self.assertEqual(
            changed["settings"],
            {
                **DEFAULTS,
                "max_attempts": 9,
                "retention": {**DEFAULTS["retention"], "dead_ms": 1000, "succeeded_ms": 5},
            },
        )

    def test_only_the_version_expected(self):
        made = self.api.put(self.path, {})
        ok = self.api.patch(self.path, {"max_attempts": 2}, headers={"If-Match": made.headers["etag"]})
        self.assertEqual(ok.status, 200)
        self.assert_refused(
            self.api.patch(self.path, {"max_attempts": 3}, headers={"If-Match": made.headers["etag"]}),
            412,
            "version_conflict",
        )
        self.assert_refused(
            self.api.put(self.path, {}, headers={"If-Match": str(made.json["version"])}),
            412,
            "version_conflict",
        )
        self.assertEqual(self.get_queue()["settings"]["max_attempts"], 2)

    def test_jobs_take_what_they_leave_out_from_their_queue(self):
        self.api.put(
            self.path,
            {
                "max_attempts": 2,
                "lease_ms": 7000,
                "retry": {"strategy": "fixed", "base_ms": 60000, "jitter": 0},
            },
        )
        job = self.submit()
        self.assertEqual(job["max_attempts"], 2)
        claimed = self.claim_one()
        self.assertEqual(claimed["max_attempts"], 2)
        self.fail_attempt(claimed)
        self.assertEqual(self.state(job["id"]), "retrying")
        self.assertEqual(self.submit(max_attempts=7)["max_attempts"], 7)

    def test_counts_are_exact(self):
        self.submit_many(10)
        self.submit(delay_ms=60000)
        jobs = self.claim(limit=6)
        self.finish(jobs[0])
        self.finish(jobs[1], "dead", error={"type": "E", "message": "m"})
        self.fail_attempt(jobs[2], delay_ms=60000)
        self.finish(jobs[3], "cancelled")
        self.finish(jobs[4], "released")
        expired = self.submit(expires_in_ms=1, priority=9)
        self.await_state(expired["id"], "expired")
        self.assertEqual(
            self.counts(),
            {
                "scheduled": 1,
                "ready": 5,
                "running": 1,
                "retrying": 1,
                "succeeded": 1,
                "dead": 1,
                "cancelled": 1,
                "expired": 1,
            },
        )
        self.assertEqual(len(self.list_jobs()), 12)

    def test_the_age_of_the_oldest_ready_job(self):
        self.submit()
        time.sleep(0.2)
        self.submit()
        self.assertTrue(190 <= self.get_queue()["oldest_ready_age_ms"] < 5000)
        self.claim(limit=2)
        self.assertIsNone(self.get_queue()["oldest_ready_age_ms"])

    def test_rates_show_what_just_happened(self):
        self.submit_many(60)
        for job in self.claim(limit=30):
            self.finish(job)
        rates = harness.eventually(lambda: (r := self.get_queue()["rates"])["succeeded_per_s"] > 0 and r)
        self.assertGreater(rates["submitted_per_s"], rates["succeeded_per_s"] - 1e-9)

    def test_pause_and_resume(self):
        self.submit()
        paused = self.api.post(self.path + "/pause", {"reason": "deploy"}, create="true").json
        self.assertEqual((paused["paused"], paused["pause_reason"]), (True, "deploy"))
        self.assertEqual(self.claim(), [])
        again = self.api.post(self.path + "/pause").json
        self.assertTrue(again["paused"])
        resumed = self.api.post(self.path + "/resume").json
        self.assertEqual((resumed["paused"], resumed["pause_reason"]), (False, None))
        self.assertEqual(len(self.claim()), 1)
        self.assertFalse(self.api.post(self.path + "/resume").json["paused"])

    def test_pausing_does_not_disturb_what_runs(self):
        self.submit()
        job = self.claim_one()
        self.api.post(self.path + "/pause")
        self.assertEqual(self.finish(job), "succeeded")

    def test_purge_takes_the_waiting_ones(self):
        self.submit_many(5)
        self.submit(delay_ms=60000)
        job, other = self.claim(limit=2)
        self.finish(other)
        self.assertEqual(self.api.post(self.path + "/purge").json, {"deleted": 4})
        self.assertEqual(self.counts(), {"running": 1, "succeeded": 1})
        self.assertEqual(self.finish(job), "succeeded")

    def test_purge_takes_the_states_named(self):
        self.submit_many(3)
        self.finish(self.claim_one(), "dead", error={"type": "E", "message": "m"})
        self.finish(self.claim_one())
        self.assertEqual(
            self.api.post(self.path + "/purge", {"states": ["dead", "succeeded"]}).json,
            {"deleted": 2},
        )
        self.assertEqual(self.counts(), {"ready": 1})
        self.assertEqual([job["state"] for job in self.list_jobs()], ["ready"])
        self.assert_refused(
            self.api.post(self.path + "/purge", {"states": ["running"]}),
            422,
            "validation_failed",
            "/states/0",
        )

    def test_purging_thousands(self):
        self.submit_many(4000)
        self.assertEqual(self.api.post(self.path + "/purge").json, {"deleted": 4000})
        self.assertEqual((self.counts(), self.list_jobs()), ({}, []))

    def test_names_with_every_character(self):
        name = f"A/z:0_9.-{self.queue}"
        self.submit(queue=name)
        encoded = name.replace("/", "%2F").replace(":", "%3A")
        self.assertEqual(self.api.get(f"/v1/queues/{encoded}").json["name"], name)
        self.assertEqual(self.api.post(f"/v1/queues/{encoded}/pause").json["name"], name)

    def test_the_list_is_by_name_and_in_pages(self):
        names = [f"list-{n:03}" for n in range(25)]
        for name in reversed(names):
            self.api.put(f"/v1/queues/{name}")
        found, cursor = [], None
        while True:
            page = self.api.get("/v1/queues", limit=10, **({"cursor": cursor} if cursor else {})).json
            self.assertLessEqual(len(page["items"]), 10)
            found += [queue["name"] for queue in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        self.assertEqual([name for name in found if name.startswith("list-")], names)
        self.assertEqual(len(found), len(set(found)))


class Bounds(harness.ServerCase):
    def test_a_full_queue_refuses_until_there_is_room(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 3})
        self.submit_many(3)
        reply = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue})
        self.assert_refused(reply, 429, "queue_full")
        batch = self.api.post("/v1/jobs/batch", {"jobs": [{"type": "t", "queue": self.queue}]})
        self.assertEqual(batch.json["results"][0]["error"]["code"], "queue_full")
        self.claim_one()
        self.assertEqual(self.submit()["state"], "ready")

    def test_a_full_queue_still_takes_repetitions(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 1})
        headers = {"Idempotency-Key": "k"}
        body = {"type": "t", "queue": self.queue}
        self.assertEqual(self.api.post("/v1/jobs", body, headers=headers).status, 201)
        self.assertEqual(self.api.post("/v1/jobs", body, headers=headers).status, 200)


class ManyNames(harness.ServerCase):
    MEMORY_MIB = 128
    serve_args = ("--memory", f"{MEMORY_MIB}MiB")

    def test_names_leave_memory_for_the_jobs_of_others(self):
        """A queue is memory until it is deleted: names alone must not fill what all queues share."""
        self.submit()
        most = self.MEMORY_MIB * 1024 // 16
        refused = 0
        for first in range(0, most + 1_000, 1_000):
            jobs = [{"type": "t", "queue": f"{self.queue}.{n}"} for n in range(first, first + 1_000)]
            results = self.api.post("/v1/jobs/batch", {"jobs": jobs}).json["results"]
            codes = [result["error"]["code"] for result in results if "error" in result]
            self.assertEqual(set(codes) - {"too_many_queues"}, set())
            refused += len(codes)
        self.assertGreater(refused, 0)
        self.assertEqual(self.submit()["state"], "ready")


class Retention(harness.ServerCase):
    def test_zero_leaves_nothing_behind(self):
        self.api.put(
            f"/v1/queues/{self.queue}",
            {"retention": {"succeeded_ms": 0, "dead_ms": 0, "cancelled_ms": 0, "expired_ms": 0}},
        )
        self.submit_many(3)
        first, second, third = self.claim(limit=3)
        self.assertEqual(self.finish(first), "succeeded")
        self.finish(second, "dead", error={"type": "E", "message": "m"})
        self.finish(third, "cancelled")
        self.submit(expires_in_ms=1)
        harness.eventually(lambda: self.counts() == {}, what="an empty queue")
        self.assertEqual(self.list_jobs(), [])
        self.assertEqual(self.api.get(f"/v1/jobs/{first['id']}").status, 404)

    def test_who_waits_still_gets_the_end(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 0}})
        job = self.submit()
        claimed = self.claim_one()
        ends = []
        waiter = threading.Thread(
            target=lambda: ends.append(
                self.new_client().get(f"/v1/jobs/{job['id']}", wait_ms=30000, until="final", include="result")
            )
        )
        waiter.start()
        time.sleep(0.2)
        self.finish(claimed, result=42)
        waiter.join()
        self.assertEqual((ends[0].status, ends[0].json["state"], ends[0].json["result"]), (200, "succeeded", 42))

    def test_a_repeated_ack_still_is_answered(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 0}})
        self.submit()
        claimed = self.claim_one()
        first = self.ack(claimed)
        time.sleep(0.3)
        self.assertEqual(self.ack(claimed), first)

    def test_gone_at_its_time_and_not_before(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 4000}})
        job = self.submit()
        self.finish(self.claim_one())
        ended = harness.seconds(self.job(job["id"])["finished_at"])
        self.submit()
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job['id']}").status == 404, what="its end")
        self.assertGreater(time.time(), ended + 3.9)
        self.assertEqual(self.counts(), {"ready": 1})
        self.assertEqual(len(self.list_jobs()), 1)

    def test_it_holds_for_the_state_only(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 0}})
        self.submit()
        self.finish(self.claim_one(), "dead", error={"type": "E", "message": "m"})
        time.sleep(1.2)
        self.assertEqual(self.counts(), {"dead": 1})


if __name__ == "__main__":
    harness.main()
