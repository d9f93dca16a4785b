"""Tests of limits, gates of types and queues, and why a job is not running, over HTTP."""

import concurrent.futures
import pathlib
import sys
import time

import harness

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import nodes  # noqa: E402 (its folder is on the path only now)


class Flow(harness.ServerCase):
    def setUp(self):
        super().setUp()
        self.limit = f"limit-{self.queue}"
        self.limit_path = f"/v1/limits/{self.limit}"

    def put(self, **settings):
        reply = self.api.put(self.limit_path, settings)
        self.assertIn(reply.status, (200, 201), reply)
        return reply.json

    def limited(self, count=1, **members):
        """Submits jobs that name the limit; returns their ids."""
        return self.submit_many(count, **{"limits": [{"name": self.limit}], **members})

    def why(self, job_id):
        reply = self.api.get(f"/v1/jobs/{job_id}/why")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def codes(self, job_id):
        return [reason["code"] for reason in self.why(job_id)["blocking"]]

    # --- Settings.

    def test_a_limit_is_made_changed_shown_and_deleted(self):
        made = self.api.put(self.limit_path, {"concurrency": 3})
        self.assertEqual((made.status, made.json["version"]), (201, 1))
        self.assertEqual(
            {name: made.json[name] for name in ("name", "concurrency", "rate", "per_key", "keys")},
            {"name": self.limit, "concurrency": 3, "rate": None, "per_key": False, "keys": {}},
        )
        again = self.api.put(self.limit_path, {"concurrency": 3})
        self.assertEqual((again.status, again.json["version"]), (200, 1))
        rate = {"limit": 100, "per_ms": 1000}
        changed = self.api.patch(self.limit_path, {"rate": rate})
        self.assertEqual((changed.json["concurrency"], changed.json["rate"]), (3, rate))
        self.assertEqual(self.api.patch(self.limit_path, {"concurrency": None}).json["rate"], rate)
        replaced = self.api.put(self.limit_path, {"concurrency": 5})
        self.assertEqual((replaced.json["concurrency"], replaced.json["rate"]), (5, None))
        listed = [limit["name"] for limit in self.api.get("/v1/limits").json["items"]]
        self.assertIn(self.limit, listed)
        self.assertEqual(self.api.delete(self.limit_path).status, 204)
        self.assert_refused(self.api.get(self.limit_path), 404, "not_found")
        self.assert_refused(self.api.patch(self.limit_path, {}), 404, "not_found")

    def test_what_is_wrong_is_refused(self):
        for settings in (
            {"concurrency": 0},
            {"concurrency": 1_000_001},
            {"rate": {"limit": 1}},
            {"rate": {"limit": 1, "per_ms": 0}},
            {"rate": {"limit": 1, "per_ms": 86_400_001}},
            {"rate": {"limit": 1_000_000_001, "per_ms": 1}},
            {"keys": {"a": {"concurrency": 1}}},
            {"per_key": True, "keys": {str(n): {} for n in range(101)}},
            {"per_key": True, "keys": {"k" * 256: {}}},
            {"limits": 1},
        ):
            self.assert_refused(self.api.put(self.limit_path, settings), 422, "validation_failed")
        self.assert_refused(self.api.put("/v1/limits/no%20name", {}), 404, "not_found")
        self.put(concurrency=1)
        self.assert_refused(self.api.put(self.limit_path, {}, headers={"If-Match": '"7"'}), 412, "version_conflict")

    def test_a_job_fits_its_limits_or_is_refused(self):
        job = {"type": "t", "queue": self.queue}
        reply = self.api.post("/v1/jobs", {**job, "limits": [{"name": self.limit}]})
        self.assert_refused(reply, 422, "unknown_limit")
        self.put(per_key=True, rate={"limit": 5, "per_ms": 1000})
        for limits in (
            [{"name": self.limit}],
            [{"name": self.limit, "key": "k", "cost": 6}],
            [{"name": self.limit, "key": "k"}, {"name": self.limit, "key": "l"}],
            [{"name": f"n{n}"} for n in range(9)],
            [{"name": self.limit, "key": "k" * 256}],
            [{"name": self.limit, "key": "k", "cost": 0}],
        ):
            reply = self.api.post("/v1/jobs", {**job, "limits": limits})
            self.assert_refused(reply, 422, "validation_failed")
        limits = [{"name": self.limit, "key": "k", "cost": 5}]
        taken = self.api.post("/v1/jobs", {**job, "limits": limits})
        self.assertEqual((taken.status, taken.json["limits"]), (201, limits))

    def test_a_limit_that_is_named_stays(self):
        self.put(concurrency=1)
        (job,) = self.limited()
        self.assert_refused(self.api.delete(self.limit_path), 409, "limit_in_use")
        self.assertEqual(self.api.delete(self.limit_path, force="true").status, 204)
        self.assertEqual(self.codes(job), [])
        self.assertEqual([one["id"] for one in self.claim(10)], [job])
        self.api.put(f"/v1/queues/{self.queue}", {})
        self.put(concurrency=1)
        self.api.patch(f"/v1/queues/{self.queue}", {"limits": [{"name": self.limit}]})
        reply = self.api.delete(self.limit_path, force="true")
        self.assert_refused(reply, 409, "limit_in_use")

    def test_a_limit_that_a_schedule_names_stays(self):
        self.put(concurrency=1)
        members = {
            "limits": [{"name": self.limit}],
            "order_key": "o",
            "order_on_failure": "pass",
            "fair_key": "f",
        }
        path = f"/v1/schedules/{self.limit}"
        job = {"type": "t", "queue": self.queue, **members}
        made = self.api.put(path, {"cron": "0 0 1 1 *", "job": job}).json["job"]
        self.assertEqual({name: made[name] for name in members}, members)
        reply = self.api.delete(self.limit_path, force="true")
        self.assert_refused(reply, 409, "limit_in_use")
        self.assertIn(f"schedule {self.limit}", reply.json["detail"])
        self.assertEqual(self.api.delete(path).status, 204)
        self.assertEqual(self.api.delete(self.limit_path).status, 204)

    def test_a_job_whose_limit_is_gone_is_retried_without_it(self):
        self.put(concurrency=1)
        (job,) = self.limited()
        self.finish(self.claim_one(), "dead", error={"type": "t", "message": "m"})
        self.assertEqual(self.api.delete(self.limit_path).status, 204)
        path = f"/v1/jobs/{job}/retry"
        self.assert_refused(self.api.post(path), 422, "unknown_limit")
        retried = self.api.post(path, {"drop_limits": True})
        self.assertEqual(retried.status, 200, retried)
        self.assertEqual(retried.json["state"], "ready")
        self.assertNotIn("limits", retried.json)

    # --- Starts.

    def test_slots(self):
        self.put(concurrency=2)
        jobs = self.limited(5)
        held = self.claim(10)
        self.assertEqual([job["id"] for job in held], jobs[:2])
        self.assertEqual(self.claim(10), [])
        shown = self.api.get(self.limit_path).json
        self.assertEqual((shown["in_use"], shown["waiting"]), (2, 3))
        reason = self.why(jobs[2])["blocking"][0]
        self.assertEqual(
            (reason["code"], reason["limit"], reason["in_use"], reason["concurrency"]),
            ("limit_full", self.limit, 2, 2),
        )
        self.assertEqual(sorted(reason["holders"]), sorted(jobs[:2]))
        holders = self.api.get(self.limit_path + "/holders", limit=1).json
        self.assertEqual(len(holders["items"]), 1)
        more = self.api.get(self.limit_path + "/holders", cursor=holders["next_cursor"]).json
        self.assertEqual(sorted(item["id"] for item in holders["items"] + more["items"]), sorted(jobs[:2]))
        self.finish(held[0])
        self.assertEqual([job["id"] for job in self.claim(10)], [jobs[2]])

    def test_a_waiting_claim_is_served_when_a_slot_is_free(self):
        self.put(concurrency=1)
        first, second = self.limited(2)
        (held,) = self.claim(10)
        self.assertEqual(held["id"], first)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(self.claim, 10, api=self.new_client(), wait_ms=20_000)
            time.sleep(0.2)
            self.finish(held)
            self.assertEqual([job["id"] for job in waiting.result()], [second])

    def test_each_key_has_its_own(self):
        self.put(per_key=True, concurrency=1, keys={"big": {"concurrency": 2}})
        for key in ("a", "a", "b", "big", "big", "big"):
            self.limited(limits=[{"name": self.limit, "key": key}])
        self.assertEqual(len(self.claim(100)), 4)  # one of a, one of b, two of big
        keys = self.api.get(self.limit_path + "/keys").json["items"]
        self.assertEqual(
            [(key["key"], key["in_use"], key["waiting"]) for key in keys],
            [("a", 1, 1), ("b", 1, 0), ("big", 2, 1)],
        )
        busiest = self.api.get(self.limit_path + "/keys", order="waiting").json["items"]
        self.assertEqual(busiest[-1]["key"], "b")

    def test_a_rate(self):
        self.put(rate={"limit": 2, "per_ms": 60_000})
        jobs = self.limited(3)
        self.assertEqual(len(self.claim(10)), 2)
        reason = self.why(jobs[2])["blocking"][0]
        self.assertEqual(reason["code"], "rate")
        wait = harness.seconds(reason["available_at"]) - time.time()
        self.assertTrue(10 < wait <= 31, wait)
        self.put(rate={"limit": 1000, "per_ms": 1000})
        self.assertEqual(len(self.claim(10, wait_ms=20_000)), 1)

    def test_a_pause(self):
        self.put(concurrency=5)
        (job,) = self.limited()
        paused = self.api.post(self.limit_path + "/pause", {"reason": "the bank is down"}).json
        self.assertEqual((paused["paused"], paused["pause_reason"]), (True, "the bank is down"))
        self.assertEqual(self.claim(10), [])
        why = self.why(job)
        self.assertEqual(why["blocking"][0]["code"], "limit_paused")
        self.assertIn("the bank is down", why["summary"])
        self.assertFalse(self.api.post(self.limit_path + "/resume").json["paused"])
        self.assertEqual(len(self.claim(10)), 1)
        self.limited()
        self.api.post(self.limit_path + "/pause", {"for_ms": 4000})
        self.assertEqual(self.claim(10), [])
        self.assertEqual(len(self.claim(10, wait_ms=30_000)), 1)

    def test_a_queue_has_a_gate_and_names_limits(self):
        path = f"/v1/queues/{self.queue}"
        self.put(concurrency=1)
        settings = self.api.put(path, {"concurrency": 2, "limits": [{"name": self.limit}]}).json
        self.assertEqual(settings["settings"]["concurrency"], 2)
        first, second = self.limited(2, limits=[])
        self.assertEqual(self.api.get(f"/v1/jobs/{first}").json["limits"], [{"name": self.limit}])
        self.assertEqual(len(self.claim(10)), 1)
        self.assertEqual(self.codes(second), ["limit_full"])
        self.api.put(path, {"concurrency": 1})
        self.api.delete(self.limit_path, force="true")
        reason = self.why(second)["blocking"][0]
        self.assertEqual((reason["code"], reason["limit_kind"]), ("limit_full", "queue"))
        self.api.patch(path, {"concurrency": None})
        self.assertEqual(len(self.claim(10)), 1)

    def test_a_type_has_a_gate(self):
        kind = f"type-{self.queue}"
        path = f"/v1/types/{kind}"
        made = self.api.put(path, {"concurrency": 1})
        self.assertEqual((made.status, made.json["type"]), (201, kind))
        jobs = self.limited(2, type=kind, limits=[])
        self.assertEqual(len(self.claim(10)), 1)
        self.assertEqual(self.why(jobs[1])["blocking"][0]["limit_kind"], "type")
        paused = self.api.put(path, {"paused": True, "pause_reason": "broken"}).json
        self.assertEqual((paused["paused"], paused["concurrency"]), (True, None))
        self.assertEqual(self.codes(jobs[1]), ["type_paused"])
        self.api.put(path, {})
        self.assertEqual(len(self.claim(10)), 1)
        self.assertIn(kind, [gate["type"] for gate in self.api.get("/v1/types").json["items"]])
        self.assertEqual(self.api.delete(path).status, 204)

    def test_an_order_key(self):
        def ordered(**members):
            return self.submit(order_key="a", **members)["id"]

        first, second, third = ordered(), ordered(priority=-5), ordered()
        shown = self.job(second)
        self.assertEqual((shown["order_key"], shown["order_on_failure"]), ("a", "hold"))
        other = self.submit(order_key="b")["id"]
        held = {job["id"]: job for job in self.claim(10)}
        self.assertEqual(set(held), {first, other})
        reason = self.why(second)["blocking"][0]
        self.assertEqual((reason["code"], reason["waits_for"]), ("order", first))
        self.fail_attempt(held[first], delay_ms=4000)
        self.assertEqual(self.claim(10), [])
        again = self.claim_within()
        self.assertEqual(again["id"], first)
        self.finish(again)
        again = self.claim_one()
        self.assertEqual(again["id"], second)
        self.finish(again, "dead", error={"type": "t", "message": "m"})
        self.assertEqual(self.claim_one()["id"], third)

    def test_an_order_key_that_lets_its_successors_pass(self):
        first = self.submit(order_key="a", order_on_failure="pass")["id"]
        second = self.submit(order_key="a", order_on_failure="pass")["id"]
        held = self.claim_one()
        self.assertEqual(held["id"], first)
        self.fail_attempt(held, delay_ms=60_000)
        self.assertEqual(self.claim_one()["id"], second)

    # --- The memory of gates.

    def slow(self, job, **wish):
        return self.ack(job, "snoozed", delay_ms=0, slow_down=[{"limit": self.limit, **wish}])

    def test_a_worker_slows_a_limit_down(self):
        self.put(concurrency=5)
        first, second = self.limited(2)
        (held,) = self.claim(1)
        self.assertEqual(self.slow(held, for_ms=6000)["status"], 200)
        self.assertEqual(self.job(first)["attempt"], 0)
        self.assertEqual(self.claim(10), [])
        reason = self.why(second)["blocking"][0]
        self.assertEqual((reason["code"], reason["limit"]), ("slow_down", self.limit))
        self.assertEqual(self.api.get(self.limit_path).json["blocked_until"], reason["until"])
        self.assertEqual(len(self.claim(10, wait_ms=30_000)), 2)

    def test_a_heartbeat_slows_a_key_down_and_resume_ends_it(self):
        self.put(per_key=True, concurrency=5)
        for key in ("a", "a", "b"):
            self.limited(limits=[{"name": self.limit, "key": key}])
        (held,) = self.claim(1)
        path = f"/v1/jobs/{held['id']}/heartbeat"
        wish = {"limit": self.limit, "key": "a", "for_ms": 3_600_000}
        beat = {"token": held["lease"]["token"], "slow_down": [wish]}
        self.assertEqual(self.api.post(path, beat).status, 200)
        self.assertEqual(len(self.claim(10)), 1)  # of b
        keys = self.api.get(self.limit_path + "/keys").json["items"]
        self.assertEqual(
            [(key["key"], key["blocked_until"] is not None) for key in keys],
            [("a", True), ("b", False)],
        )
        self.api.post(self.limit_path + "/resume", {"key": "a"})
        self.assertEqual(len(self.claim(10)), 1)
        for bad in ({**wish, "limit": "no"}, {**wish, "key": "b"}, {**wish, "for_ms": 99}):
            reply = self.api.post(path, {**beat, "slow_down": [bad]})
            self.assert_refused(reply, 422, "validation_failed")
        result = self.ack(held, slow_down=[{"limit": "no", "for_ms": 100}])
        self.assertEqual((result["status"], self.state(held["id"])), (422, "running"))

    def test_a_retry_budget(self):
        self.put(retry_rate={"limit": 1, "per_ms": 60_000})
        jobs = self.limited(2)
        for held in self.claim(10):
            self.fail_attempt(held, delay_ms=0)
        self.assertEqual(self.claim_within()["id"], jobs[0])
        self.await_state(jobs[1], "ready")
        self.assertEqual(self.claim(10), [])
        reason = self.why(jobs[1])["blocking"][0]
        self.assertEqual((reason["code"], reason["limit"]), ("retry_rate", self.limit))
        self.assertIn("available_at", reason)
        (fresh,) = self.limited()
        self.assertEqual(self.claim_one()["id"], fresh)
        self.api.patch(self.limit_path, {"retry_rate": None})
        self.assertEqual(self.claim_one()["id"], jobs[1])

    BREAKER = {
        "failure_rate": 0.5,
        "min_attempts": 2,
        "window_ms": 60_000,
        "open_ms": 6000,
        "probes": 1,
    }

    def test_a_breaker(self):
        made = self.put(breaker=self.BREAKER)
        self.assertEqual((made["breaker"], made["breaker_state"]), (self.BREAKER, "closed"))
        jobs = self.limited(4)
        for held in self.claim(2):
            self.finish(held, "dead", error={"type": "t", "message": "down"})
        shown = self.api.get(self.limit_path).json
        self.assertEqual(shown["breaker_state"], "open")
        reason = self.why(jobs[2])["blocking"][0]
        self.assertEqual((reason["code"], reason["until"]), ("breaker_open", shown["open_until"]))
        self.assertEqual(self.claim(10), [])
        probe = self.claim_within()
        self.assertEqual((probe["id"], probe["attempt"]), (jobs[2], 1))
        self.assertEqual(self.claim(10), [])
        shown = self.api.get(self.limit_path).json
        self.assertEqual((shown["breaker_state"], shown["open_until"]), ("half_open", None))
        self.finish(probe)
        self.assertEqual(self.api.get(self.limit_path).json["breaker_state"], "closed")
        self.assertEqual(self.claim_one()["id"], jobs[3])

    def test_breakers_of_types_and_queues(self):
        kind = f"type-{self.queue}"
        breaker = {**self.BREAKER, "open_ms": 60_000}
        self.api.put(f"/v1/types/{kind}", {"breaker": breaker})
        self.api.put(f"/v1/queues/{self.queue}", {"breaker": {**breaker, "min_attempts": 4}})
        self.limited(6, type=kind, limits=[])
        for held in self.claim(2):
            self.finish(held, "dead", error={"type": "t", "message": "down"})
        shown = self.api.get(f"/v1/types/{kind}").json
        self.assertEqual(shown["breaker_state"], "open")
        others = self.limited(3, limits=[])
        for held in self.claim(2):
            self.finish(held, "dead", error={"type": "t", "message": "down"})
        reason = self.why(others[2])["blocking"][0]
        self.assertEqual((reason["code"], reason["limit_kind"]), ("breaker_open", "queue"))
        for member in ("failure_rate", "min_attempts", "window_ms", "open_ms", "probes"):
            for settings in (
                {name: value for name, value in self.BREAKER.items() if name != member},
                {**self.BREAKER, member: 0},
            ):
                reply = self.api.put(self.limit_path, {"breaker": settings})
                self.assert_refused(reply, 422, "validation_failed")

    # --- Debounce and throttle.

    def submit_unique(self, payload, **unique):
        delay = unique.pop("delay_ms", 0)
        return self.api.post(
            "/v1/jobs",
            {
                "type": unique.pop("type", "work"),
                "queue": self.queue,
                "payload": payload,
                "delay_ms": delay,
                "unique": {"key": "k", **unique},
            },
        )

    def test_debounce(self):
        rule = {"on_conflict": "debounce", "max_wait_ms": 60_000, "delay_ms": 30_000}
        first = self.submit_unique(1, **rule)
        self.assertEqual(first.status, 201, first)
        second = self.submit_unique(2, **{**rule, "delay_ms": 0})
        self.assertEqual((second.status, second.json["id"]), (200, first.json["id"]))
        self.assert_refused(self.submit_unique(3, type="other", **rule), 409, "duplicate_job")
        held = self.claim_within()
        self.assertEqual((held["id"], held["payload"]), (first.json["id"], 2))
        next_one = self.submit_unique(4, on_conflict="debounce")
        self.assertEqual(next_one.status, 201)
        self.assertEqual(self.submit_unique(5, on_conflict="debounce").status, 200)
        self.fail_attempt(held)
        ended = self.job(held["id"], include="events")
        self.assertEqual(ended["state"], "cancelled")
        self.assertIn("superseded", str(ended["events"]))
        held = self.claim_within()
        self.assertEqual((held["id"], held["payload"]), (next_one.json["id"], 5))
        reply = self.submit_unique(6, on_conflict="reject", max_wait_ms=5)
        self.assert_refused(reply, 422, "validation_failed")

    def test_throttle(self):
        first = self.submit_unique(1, on_conflict="return", for_ms=5000)
        self.finish(self.claim_one())
        again = self.submit_unique(2, on_conflict="return", for_ms=5000)
        self.assertEqual((again.status, again.json["id"]), (200, first.json["id"]))
        harness.eventually(lambda: self.submit_unique(3, on_conflict="return", for_ms=5000).status == 201)

    def test_a_full_queue_says_when_to_come_back(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 2})
        self.limited(2, limits=[])
        time.sleep(0.05)
        reply = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue})
        self.assert_refused(reply, 429, "queue_full")
        self.assertEqual(reply.json["depth"], 2)
        self.assertTrue(50 <= reply.json["oldest_ready_age_ms"] < 60_000, reply.json)
        self.assertTrue(1 <= int(reply.headers["retry-after"]) <= 60)
        path = f"/v1/queues/{self.queue}"
        reply = self.api.put(path, {"max_ready_per_key": 1})
        self.assert_refused(reply, 422, "validation_failed")
        self.api.put(path, {"max_ready_per_key": 1, "fair": {}})
        job = {"type": "t", "queue": self.queue, "fair_key": "acme"}
        self.assertEqual(self.api.post("/v1/jobs", job).status, 201)
        reply = self.api.post("/v1/jobs", job)
        self.assert_refused(reply, 429, "key_full")
        self.assertEqual(reply.json["depth"], 1)
        self.assertEqual(self.api.post("/v1/jobs", {**job, "fair_key": "globex"}).status, 201)

    # --- Why.

    def test_why_in_each_state(self):
        (ready,) = self.limited(limits=[])
        why = self.why(ready)
        self.assertEqual((why["state"], why["blocking"]), ("ready", []))
        self.assertEqual([note["code"] for note in why["notes"]], ["no_worker"])
        later = self.limited(limits=[], delay_ms=60_000)[0]
        self.assertEqual(self.codes(later), ["scheduled"])
        behind = self.limited(limits=[])[0]
        reason = self.why(behind)["blocking"][0]
        self.assertEqual((reason["code"], reason["ahead"], reason["more"]), ("behind", 1, False))
        self.api.post(f"/v1/queues/{self.queue}/pause", {"reason": "tea"})
        self.assertEqual(self.codes(ready)[0], "queue_paused")
        self.api.post(f"/v1/queues/{self.queue}/resume")
        (held,) = self.claim(1)
        why = self.why(ready)
        self.assertEqual((self.codes(ready), why["blocking"][0]["worker"]), (["running"], "w1"))
        self.finish(held)
        self.assertEqual(self.codes(ready), ["ended"])
        self.assert_refused(self.api.get("/v1/jobs/019cb0b7-3f5c-737a-8def-0123456789ab/why"), 404, "not_found")

    def test_what_holds_a_queue_back(self):
        self.put(concurrency=1)
        queue_path = f"/v1/queues/{self.queue}"
        ids = self.limited(3)
        self.assertEqual(self.api.get(queue_path).json["blocked_by"], [])
        self.claim_one()
        self.submit_many(4, order_key="account-7", type="sync")
        self.api.put("/v1/types/sync", {"paused": True, "pause_reason": "a bad release"})
        self.addCleanup(self.api.delete, "/v1/types/sync")
        self.assertEqual(
            [
                {name: gate[name] for name in ("code", "waiting", "more")}
                for gate in self.api.get(queue_path).json["blocked_by"]
            ],
            [
                {"code": "order", "waiting": 3, "more": False},
                {"code": "limit_full", "waiting": 2, "more": False},
                {"code": "type_paused", "waiting": 1, "more": False},
            ],
        )
        full = self.api.get(queue_path).json["blocked_by"][1]
        self.assertEqual((full["limit"], full["in_use"], full["concurrency"]), (self.limit, 1, 1))
        self.assertNotIn("blocked_by", self.api.put(queue_path, {}).json)
        self.api.post(queue_path + "/pause", {"reason": "a move"})
        first = self.api.get(queue_path).json["blocked_by"][0]
        self.assertEqual((first["code"], first["reason"], first["waiting"]), ("queue_paused", "a move", 6))
        self.assertEqual(len(ids), 3)

    def test_how_many_workers_a_queue_needs(self):
        queue_path = f"/v1/queues/{self.queue}"
        self.assert_refused(self.api.get(queue_path + "/scale"), 404, "not_found")
        self.put(concurrency=1)
        self.limited(3)
        self.claim_one(lease_ms=600_000)  # outlasts the test of the last figure
        self.submit_many(200)
        scale = self.api.get(queue_path + "/scale?target_wait_ms=1000&slots=50").json
        # At an assumed second each: 200 slots for jobs that could start, and some for new ones.
        self.assertEqual((scale["ready"], scale["held_back"], scale["running"]), (202, 2, 1))
        self.assertGreaterEqual(scale["desired_slots"], 200)
        self.assertEqual(scale["desired_workers"], -(-scale["desired_slots"] // 50))
        self.assertIn("200 ready jobs could start", scale["because"])
        self.assertIn("2 more wait at closed gates", scale["because"])
        self.api.patch(queue_path, {"concurrency": 30})
        bounded = self.api.get(queue_path + "/scale?target_wait_ms=1000&slots=50").json
        self.assertEqual((bounded["desired_slots"], bounded["desired_workers"]), (30, 1))
        self.assertIn("The queue's own bound keeps 30 busy at most", bounded["because"])
        labels = f'{{limit="{self.limit}",kind="limit"}}'
        # A scrape may repeat the figures of an earlier one for a while.
        for line in (
            f'millrace_queue_desired_slots{{queue="{self.queue}"}} 21',
            f"millrace_limit_in_use{labels} 1",
            f"millrace_limit_waiting{labels} 2",
            f"millrace_limit_concurrency{labels} 1",
            f"millrace_limit_paused{labels} 0",
        ):
            harness.eventually(lambda: line in self.metrics(), 30, what=line)  # noqa: B023
        self.api.post(queue_path + "/pause")
        paused = self.api.get(queue_path + "/scale").json
        self.assertEqual((paused["desired_slots"], paused["desired_workers"]), (1, 1))
        for query in ("slots=0", "slots=10001", "target_wait_ms=99", "target_wait_ms=86400001"):
            self.assert_refused(self.api.get(f"{queue_path}/scale?{query}"), 422, "validation_failed")

    def test_metrics_of_breakers_and_of_the_busiest_keys(self):
        breaker = {"failure_rate": 0.5, "min_attempts": 1, "window_ms": 60000, "open_ms": 60000, "probes": 1}
        self.put(concurrency=1, per_key=True)
        self.api.put(f"/v1/limits/{self.queue}-b", {"breaker": breaker})
        for key in ("x", "x", "y"):
            self.submit(limits=[{"name": self.limit, "key": key}])
        self.submit(limits=[{"name": f"{self.queue}-b"}], max_attempts=1)
        state = f'millrace_limit_breaker_state{{limit="{self.queue}-b",kind="limit"}}'
        for line in (
            f"{state} 0",
            f'millrace_limit_key_waiting{{limit="{self.limit}",key="x"}} 2',
            f'millrace_limit_key_in_use{{limit="{self.limit}",key="y"}} 0',
        ):
            harness.eventually(lambda: line in self.metrics(), 30, what=line)  # noqa: B023
        failing = [job for job in self.claim(10) if job["max_attempts"] == 1]
        self.finish(failing[0], "failed", error={"type": "t", "message": "m"})
        harness.eventually(lambda: f"{state} 2" in self.metrics(), 30, what="the open breaker")

    def metrics(self):
        return set(self.api.get("/metrics").body.decode().splitlines())

    def test_changes_of_limits_are_events(self):
        end = self.api.get("/v1/events?cursor=end").json["next_cursor"]
        self.put(concurrency=1, per_key=True)
        self.put(concurrency=2, per_key=True)
        self.api.post(self.limit_path + "/pause", {"key": "acme", "reason": "late", "for_ms": 60000})
        self.api.post(self.limit_path + "/resume", {"key": "acme"})
        self.api.delete(self.limit_path)
        self.api.put("/v1/types/resize", {"concurrency": 2})
        self.api.delete("/v1/types/resize")
        events = self.api.get(f"/v1/events?cursor={end}").json["items"]
        # Groups of errors of other tests open a little later.
        events = [event for event in events if not event["type"].startswith("error_group.")]
        data = {event["type"]: event["data"] for event in reversed(events)}
        self.assertEqual(
            [event["type"] for event in events],
            [
                "limit.updated",
                "limit.updated",
                "limit.paused",
                "limit.resumed",
                "limit.deleted",
                "type.updated",
                "type.deleted",
            ],
        )
        created = {"limit": self.limit, "version": 1, "created": True}
        self.assertEqual(data["limit.updated"], created)
        paused = data["limit.paused"]
        self.assertEqual((paused["key"], paused["reason"], paused["version"]), ("acme", "late", 3))
        self.assertIn("until", paused)
        self.assertEqual(data["type.deleted"], {"type": "resize"})
        self.assertEqual(
            [event["type"] for event in self.api.get(f"/v1/events?cursor={end}&types=limit.deleted").json["items"]],
            ["limit.deleted"],
        )

    def test_a_search_by_limit_and_order_key(self):
        self.put(concurrency=1)
        (limited,) = self.limited(1)
        (ordered,) = self.submit_many(1, order_key="user 7")
        (plain,) = self.submit_many(1, fair_key="acme")

        def found(query):
            return {job["id"] for job in self.list_jobs(q=f"queue:{self.queue} {query}", fresh="true")}

        self.assertEqual(found(f"limit:{self.limit}"), {limited})
        self.assertEqual(found(f"limit:{self.limit[:-1]}*"), {limited})
        self.assertEqual(found("limit:other"), set())
        self.assertEqual(found('order:"user 7"'), {ordered})
        self.assertEqual(found("-limit:* -order~user"), {plain})
        self.assertEqual(found("fair:acme"), {plain})

    def test_it_survives_a_restart(self):
        self.use(self.new_server().start())
        self.put(concurrency=1, rate={"limit": 2, "per_ms": 3_600_000})
        jobs = self.limited(3)
        (held,) = self.claim(10)
        self.api.post(self.limit_path + "/pause", {"reason": "night"})
        self.server.restart(kill=True)
        self.use(self.server)
        shown = self.api.get(self.limit_path).json
        self.assertEqual((shown["in_use"], shown["paused"]), (1, True))
        self.api.post(self.limit_path + "/resume")
        self.assertEqual(self.claim(10), [])
        self.finish(held)
        (held,) = self.claim(10)
        self.finish(held)
        self.assertEqual(self.claim(10), [])
        self.assertEqual(self.codes(jobs[2]), ["rate"])

    def test_what_gates_remember_survives_a_restart(self):
        self.use(self.new_server().start())
        open_ms = 3_600_000
        self.put(breaker={**self.BREAKER, "min_attempts": 1, "open_ms": open_ms})
        jobs = self.limited(2)
        wish = {"limit": self.limit, "for_ms": open_ms}
        error = {"type": "t", "message": "down"}
        self.finish(self.claim_one(), "dead", error=error, slow_down=[wish])
        for kill in (True, False):
            self.server.restart(kill=kill)
            self.use(self.server)
            self.assertEqual(self.claim(10), [])
            self.assertEqual(self.codes(jobs[1]), ["breaker_open", "slow_down"])


class OnAllNodes(harness.MillraceCase):
    """Limits over the shards of a store that three nodes lead."""

    patience_s = harness.PATIENCE_S

    def setUp(self):
        super().setUp()
        self.nodes = nodes.Nodes(3)
        self.addCleanup(self.nodes.close)
        self.nodes.start()
        self.queues = list(self.nodes.queue_on_each_shard().values())
        self.use(self.nodes[0])

    def put(self, name, **settings):
        # Right after the start a shard's leader may not be known everywhere.
        reply = self.api.put(f"/v1/limits/{name}", settings)
        self.assertIn(reply.status, (200, 201), reply)
        return reply.json

    def submit_to_all(self, count, limits):
        for queue in self.queues:
            for _ in range(count):
                reply = self.api.post("/v1/jobs", {"type": "t", "queue": queue, "limits": limits})
                self.assertEqual(reply.status, 201, reply)

    def work(self, count, hold_s=0.02, limit=4, patience_s=120):
        """Claims from all queues and finishes, with a worker per queue, until `count` jobs have
        been held. Returns when each was certainly held: from the claim's answer until the ack was
        sent.
        """
        held = []
        until = time.monotonic() + patience_s

        def worker(queue):
            api = self.new_client(self.nodes[0])
            while len(held) < count and time.monotonic() < until:
                jobs = self.claim(limit, [queue], api=api, worker=queue, wait_ms=200)
                begin = time.monotonic()
                time.sleep(hold_s)
                end = time.monotonic()
                for job in jobs:
                    held.append((begin, end))
                    item = {"id": job["id"], "token": job["lease"]["token"]}
                    reply = api.post("/v1/ack", {"items": [{**item, "outcome": "succeeded"}]})
                    self.assertEqual(reply.json["results"][0]["status"], 200, reply)

        with concurrent.futures.ThreadPoolExecutor(len(self.queues)) as pool:
            for done in [pool.submit(worker, queue) for queue in self.queues]:
                done.result()
        return held

    @staticmethod
    def most_at_once(held):
        steps = sorted([(end, -1) for _, end in held] + [(begin, 1) for begin, _ in held])
        most = now = 0
        for _, step in steps:
            now += step
            most = max(most, now)
        return most

    def test_slots_are_shared_and_never_exceeded(self):
        made = self.put("few", concurrency=3)
        self.assertEqual(made["version"], 1)
        self.submit_to_all(5, [{"name": "few"}])
        shown = self.api.get("/v1/limits/few").json
        self.assertEqual(shown["waiting"], 5 * len(self.queues))
        self.assert_refused(self.api.delete("/v1/limits/few"), 409, "limit_in_use")
        held = self.work(5 * len(self.queues))
        self.assertEqual(len(held), 5 * len(self.queues))
        self.assertLessEqual(self.most_at_once(held), 3)
        self.assertEqual(self.api.delete("/v1/limits/few").status, 204)
        for server in self.nodes.servers:
            reply = self.new_client(server).get("/v1/limits/few")
            self.assert_refused(reply, 404, "not_found")

    def test_one_slot_goes_from_shard_to_shard(self):
        self.put("one", concurrency=1)
        self.submit_to_all(3, [{"name": "one"}])
        held = self.work(3 * len(self.queues), limit=1)
        self.assertEqual(len(held), 3 * len(self.queues))
        self.assertEqual(self.most_at_once(held), 1)

    def test_keys_have_slots_of_their_own(self):
        self.put("each", per_key=True, concurrency=1)
        for key in ("a", "b"):
            self.submit_to_all(1, [{"name": "each", "key": key}])
        held = self.work(2 * len(self.queues))
        self.assertEqual(len(held), 2 * len(self.queues))
        self.assertLessEqual(self.most_at_once(held), 2)

    def test_a_rate_is_that_of_all_shards_together(self):
        self.put("slow", rate={"limit": 10, "per_ms": 1000, "burst": 5})
        self.submit_to_all(20, [{"name": "slow"}])
        start = time.monotonic()
        held = self.work(40, hold_s=0, limit=1)
        took = time.monotonic() - start
        self.assertLessEqual(len(held), 5 + 10 * took + 1)
        self.assertGreaterEqual(len(held), 40)

    def test_a_pause_holds_everywhere_when_it_is_answered(self):
        self.put("held", concurrency=100)
        self.submit_to_all(3, [{"name": "held"}])
        self.assertEqual(self.api.post("/v1/limits/held/pause", {"reason": "r"}).status, 200)
        for queue in self.queues:
            self.assertEqual(self.claim(10, [queue]), [])
        self.api.post("/v1/limits/held/resume")
        self.assertEqual(len(self.work(3 * len(self.queues))), 3 * len(self.queues))

    def test_why_names_the_share(self):
        self.put("rest", concurrency=1)
        first, second = self.queues[0], self.queues[1]
        ids = []
        for queue in (first, second):
            reply = self.api.post("/v1/jobs", {"type": "t", "queue": queue, "limits": [{"name": "rest"}]})
            ids.append(reply.json["id"])
        held = self.claim(1, [first], wait_ms=20_000) or self.claim(1, [second], wait_ms=20_000)
        (other,) = [job for job in ids if job != held[0]["id"]]
        reason = self.api.get(f"/v1/jobs/{other}/why").json["blocking"][0]
        self.assertEqual((reason["code"], reason["limit"], reason["have"]), ("share", "rest", 0))

    def test_a_held_slot_outlives_the_leader_of_its_shard(self):
        self.put("kept", concurrency=1)
        self.submit_to_all(1, [{"name": "kept"}])
        held = []
        for queue in self.queues:
            held = held or self.claim(1, [queue], wait_ms=20_000, lease_ms=600_000)
        self.assertEqual(len(held), 1)
        # Neither the shard's new leader nor the home's hands the slot out again.
        self.nodes[2].kill()
        self.nodes.settle()
        for queue in self.queues:
            self.assertEqual(self.claim(1, [queue], wait_ms=500), [])
        harness.eventually(lambda: self.api.get("/v1/limits/kept").json["in_use"] == 1, what="the slot in use")
        self.nodes[1].kill()
        self.nodes.settle()
        for queue in self.queues:
            self.assertEqual(self.claim(1, [queue], wait_ms=500), [])
        self.finish(held[0])
        self.assertEqual(len(self.work(len(self.queues) - 1)), len(self.queues) - 1)


if __name__ == "__main__":
    harness.main()
